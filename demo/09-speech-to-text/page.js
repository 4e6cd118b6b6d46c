import { openMicrophone } from '../../js/src/media/audio.js';
import { element, fetchBlob, milliseconds, showError } from '../shared/page.js';
import { decodeRecording } from '../shared/recording.js';
import { loadTextModel } from '../shared/text.js';
import { Captions } from './captions.js';

const FOLDER = '../../build/demo/09-speech-to-text';
const RATE = 16000;
const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const [audio, microphone, words] = ['audio', 'microphone', 'words'].map(byId);

/** @typedef {import('./captions.js').TimedText} TimedText */
let turn = 0; // number of the last request; the words of older ones are dropped
let request = new AbortController(); // ends its transcription
let before = Promise.resolve(); // the last transcription: a model has one at a time
/** @type {AbortController | undefined} */ let live; // closes the microphone

const ready = loadTextModel(FOLDER, byId('status'));
ready.catch((error) => showError(byId('status'), error));

/** Transcribes sound after the last transcription has ended. @param {Float32Array} samples @returns {Promise<any>} */
function transcribe(samples) {
  const { signal } = request,
    made = before.then(async () => (await ready).loaded.transcribe(samples, { timestamps: 'word', signal }));
  before = made.then(
    () => {},
    () => {},
  );
  return made;
}

/**
 * Shows words, which play their part of the recording.
 * @param {readonly TimedText[]} certain @param {readonly TimedText[]} open
 */
function show(certain, open = []) {
  const made = certain.map((word) => {
    const title = `${word.start.toFixed(2)} – ${word.end.toFixed(2)} s`,
      button = element('button', { type: 'button', title }, word.text.trim());
    Object.assign(button.dataset, { start: word.start, end: word.end });
    button.addEventListener('click', () => {
      if (audio.hidden) return;
      audio.currentTime = word.start;
      audio.play().catch((/** @type {Error} */ error) => {
        if (error.name !== 'AbortError') fail(error); // a pause before the start is not a failure
      });
    });
    return button;
  });
  const rest = open.map(({ text }) => text).join('');
  words.replaceChildren(...made, ...(rest ? [element('span', { className: 'open' }, rest)] : []));
}

/** Marks the word that is heard. */
function follow() {
  const now = audio.currentTime;
  for (const button of words.querySelectorAll('button'))
    button.toggleAttribute('aria-current', now > 0 && now >= button.dataset.start && now < button.dataset.end);
  if (!audio.paused) requestAnimationFrame(follow);
}

/** Shows an error in place of the answer. @param {unknown} error */
function fail(error) {
  words.replaceChildren();
  showError(byId('time'), error);
}

/** Ends all activity and empties the answer. */
function begin() {
  live?.abort();
  request.abort();
  request = new AbortController();
  audio.pause();
  audio.hidden = true;
  for (const id of ['words', 'time', 'agreement']) byId(id).replaceChildren();
  return ++turn;
}

/**
 * Transcribes a whole recording.
 * @param {Blob | Promise<Blob>} given @param {string} name
 * @param {TimedText[]} [wanted] transformers' words
 */
async function hear(given, name, wanted) {
  const mine = begin();
  byId('time').textContent = 'Listening to the recording …';
  try {
    const blob = await given,
      { samples } = await decodeRecording(new Uint8Array(await blob.arrayBuffer()), name, [RATE]);
    if (mine !== turn) return;
    URL.revokeObjectURL(audio.src);
    audio.src = URL.createObjectURL(blob);
    audio.hidden = false;
    const start = performance.now(),
      { words: found } = await transcribe(samples);
    if (mine !== turn) return;
    show(found);
    const seconds = (samples.length / RATE).toFixed(1);
    byId('time').textContent =
      `${found.length} words in ${seconds} s of sound, found in ${milliseconds(performance.now() - start)}.`;
    if (wanted) agree(found, wanted);
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

/** Compares words with transformers'. @param {TimedText[]} found @param {TimedText[]} wanted */
function agree(found, wanted) {
  const same = found.length === wanted.length && found.every(({ text }, i) => text === wanted[i].text),
    late = Math.max(...found.map(({ start }, i) => Math.abs(start - (wanted[i]?.start ?? Infinity))));
  byId('agreement').textContent = same
    ? `The words are those of transformers, and begin at most ${late.toFixed(2)} s from its times.`
    : 'The words differ from those of transformers.';
}

async function listen() {
  const mine = begin(),
    stop = (live = new AbortController());
  microphone.textContent = 'Stop listening';
  try {
    const captions = new Captions({ transcribe });
    /** @type {Promise<void> | undefined} */ let passing;
    const pass = async (/** @type {{ last?: boolean }} */ options = {}) => {
      const start = performance.now(),
        { certain, open } = await captions.pass(options);
      if (mine !== turn) return;
      show(certain, open);
      byId('time').textContent = `Each pass takes ${milliseconds(performance.now() - start)}.`;
    };
    for await (const samples of await openMicrophone({ sampleRate: RATE, block: RATE / 2, signal: stop.signal })) {
      captions.add(samples);
      passing ??= pass()
        .catch((error) => (fail(error), stop.abort()))
        .finally(() => (passing = undefined));
    }
    await passing;
    await pass({ last: true });
  } catch (error) {
    if (mine === turn && !stop.signal.aborted) fail(error);
  }
  if (live === stop) live = undefined;
  if (!live) microphone.textContent = 'Listen to the microphone';
}

microphone.addEventListener('click', () => (live ? live.abort() : listen()));
byId('file').addEventListener('change', (/** @type {any} */ { target }) => {
  if (target.files?.[0]) hear(target.files[0], target.files[0].name);
  target.value = '';
});
for (const event of ['play', 'pause', 'seeked']) audio.addEventListener(event, follow);

try {
  const { manifest } = await ready,
    sample = byId('sample');
  sample.disabled = microphone.disabled = false;
  sample.addEventListener('click', () =>
    hear(fetchBlob(`${FOLDER}/${manifest.sample}`), manifest.sample, manifest.words),
  );
  sample.click();
} catch {} // ready.catch() shows the error
