import { readNpy } from '../../js/src/media/npy.js';
import { difference } from '../shared/agreement.js';
import { element, fetchBlob, loadModel, milliseconds, showError } from '../shared/page.js';
import { decodeRecording } from '../shared/recording.js';
import { Chunker, Listener, RATES, chunks, stretches } from './vad.js';

const FOLDER = '../../build/demo/05-voice-activity';
const RATE = 16000;
const LIVE = 10 * RATE; // samples that the picture shows of the microphone
const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const canvas = /** @type {HTMLCanvasElement} */ (byId('picture'));
const audio = /** @type {HTMLAudioElement} */ (byId('audio'));
const microphone = /** @type {HTMLButtonElement} */ (byId('microphone'));

/** The data in the picture. @typedef {{ rate: number, size: number, samples: Float32Array, heard: number[] }} Heard */
/** @type {Heard | undefined} */ let shown;
let turn = 0; // number of the last request; older ones stop
/** @type {(() => void) | undefined} */ let stopMicrophone;

const ready = loadModel(FOLDER, byId('status'));
ready.catch((error) => showError(byId('status'), error));

/** @param {string} name */
const color = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();

/** Draws the sound, the probabilities, the stretches of speech and the playback position. */
function draw() {
  const width = (canvas.width = Math.round(canvas.clientWidth * devicePixelRatio));
  const height = (canvas.height = Math.round(canvas.clientHeight * devicePixelRatio));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  if (!shown || shown.samples.length === 0) return;
  const { samples, heard, size, rate } = shown;
  const x = (/** @type {number} */ sample) => (sample / samples.length) * width;
  context.fillStyle = color('--bar');
  context.globalAlpha = 0.35;
  for (const { from, to } of stretches(heard))
    context.fillRect(x(from * size), 0, x(to * size) - x(from * size), height);
  context.globalAlpha = 1;
  context.fillStyle = color('--quiet');
  let loudest = 0.05;
  for (const v of samples) loudest = Math.max(loudest, Math.abs(v));
  for (let column = 0; column < width; column++) {
    let low = 0,
      high = 0;
    const end = Math.floor(((column + 1) / width) * samples.length);
    for (let i = Math.floor((column / width) * samples.length); i < end; i++) {
      low = Math.min(low, samples[i]);
      high = Math.max(high, samples[i]);
    }
    const top = (0.5 - (high / loudest) * 0.45) * height;
    context.fillRect(column, top, 1, Math.max(1, (0.5 - (low / loudest) * 0.45) * height - top));
  }
  context.strokeStyle = color('--flame');
  context.lineWidth = 2 * devicePixelRatio;
  context.lineJoin = 'round';
  context.beginPath();
  heard.forEach((p, i) => context.lineTo(x((i + 0.5) * size), (0.96 - p * 0.92) * height));
  context.stroke();
  if (audio.currentTime > 0) {
    context.fillStyle = color('--text');
    context.fillRect(x(audio.currentTime * rate) - devicePixelRatio, 0, 2 * devicePixelRatio, height);
  }
}

/** Describes the picture in words. @param {number} took total ms */
function showSummary(took) {
  const { heard, size, rate } = /** @type {Heard} */ (shown);
  const found = stretches(heard);
  const seconds = (/** @type {number} */ n) => ((n * size) / rate).toFixed(1);
  const spoken = found.reduce((sum, { from, to }) => sum + to - from, 0);
  const text = `Speech in ${seconds(spoken)} of ${seconds(heard.length)} s.`;
  canvas.setAttribute('aria-label', text);
  byId('time').textContent = `${text} ${heard.length} chunks of 32 ms, ${milliseconds(took / heard.length)} each.`;
  byId('stretches').replaceChildren(
    ...found.map(({ from, to }) => {
      const button = element(
        'button',
        { type: 'button', title: 'Play this part' },
        `${seconds(from)} – ${seconds(to)} s`,
      );
      Object.assign(button.dataset, { from: (from * size) / rate, to: (to * size) / rate });
      button.addEventListener('click', () => {
        audio.currentTime = (from * size) / rate;
        audio.play().catch((error) => {
          if (error.name !== 'AbortError') showError(byId('time'), error); // a pause before the start is not a failure
        });
      });
      return element('li', {}, button);
    }),
  );
}

/** Shows the probability of speech. @param {number} probability */
function meter(probability) {
  byId('now').hidden = false;
  byId('meter').style.setProperty('--part', String(probability));
  byId('level').textContent = `${Math.round(probability * 100)} %`;
}

/** Follows the playback of the recording. */
function follow() {
  if (!shown || stopMicrophone) return;
  draw();
  const now = audio.currentTime;
  for (const button of byId('stretches').querySelectorAll('button')) {
    button.toggleAttribute(
      'aria-current',
      now > 0 && now >= Number(button.dataset.from) && now < Number(button.dataset.to),
    );
  }
  if (now > 0) meter(shown.heard[Math.floor((now * shown.rate) / shown.size)] ?? 0);
  if (!audio.paused) requestAnimationFrame(follow);
}

/** Ends all activity and clears the answer. */
function begin() {
  stopMicrophone?.();
  audio.pause();
  audio.hidden = byId('now').hidden = true;
  for (const id of ['time', 'agreement', 'stretches']) byId(id).replaceChildren();
  return ++turn;
}

/**
 * Analyzes a whole recording.
 * @param {Blob | Promise<Blob>} given
 * @param {string} name
 * @param {string} [reference] PyTorch's probabilities
 */
async function hear(given, name, reference) {
  const mine = begin();
  try {
    const [{ model }, blob] = await Promise.all([ready, given]);
    const { rate, samples } = await decodeRecording(new Uint8Array(await blob.arrayBuffer()), name, RATES);
    if (mine !== turn) return;
    const listener = new Listener(model, rate);
    shown = { rate, size: listener.size, samples, heard: [] };
    URL.revokeObjectURL(audio.src);
    audio.src = URL.createObjectURL(blob);
    audio.hidden = false;
    await listener.reset();
    let took = 0;
    for (const chunk of chunks(samples, listener.size)) {
      const start = performance.now();
      const probability = await listener.hear(chunk);
      took += performance.now() - start;
      if (mine !== turn) return;
      shown.heard.push(probability);
      if (shown.heard.length % 50) continue;
      draw();
      await new Promise((next) => setTimeout(next)); // lets the page draw
      if (mine !== turn) return;
    }
    showSummary(took);
    draw();
    if (!reference) return;
    const { maxAbs, close } = difference(shown.heard, readNpy(await (await fetch(reference)).arrayBuffer()).data);
    byId('agreement').textContent =
      `${close ? 'Agrees with' : 'Differs from'} PyTorch on every chunk: ` +
      `greatest difference ${maxAbs.toExponential(1)}.`;
  } catch (error) {
    if (mine !== turn) return;
    shown = undefined; // clears the previous recording's picture
    draw();
    canvas.setAttribute('aria-label', 'Nothing was heard');
    showError(byId('time'), error);
  }
}

/**
 * Appends a chunk of the microphone, and drops samples beyond the width of the picture.
 * @param {Heard} to
 * @param {Float32Array} chunk
 * @param {number} probability
 */
function append(to, chunk, probability) {
  to.samples.copyWithin(0, chunk.length);
  to.samples.set(chunk, to.samples.length - chunk.length);
  to.heard.push(probability);
  to.heard.shift();
}

async function listen() {
  const mine = begin();
  try {
    const { model } = await ready;
    if (!navigator.mediaDevices) throw new Error('The microphone needs a page on https or on localhost.');
    const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
    const context = new AudioContext();
    stopMicrophone = () => {
      stopMicrophone = undefined;
      for (const track of stream.getTracks()) track.stop();
      context.close();
      microphone.textContent = 'Listen to the microphone';
      byId('now').hidden = true;
    };
    microphone.textContent = 'Stop listening';
    await context.audioWorklet.addModule('capture.js');
    if (mine !== turn) return;
    const listener = new Listener(model, RATE),
      chunker = new Chunker(context.sampleRate, RATE, listener.size);
    await listener.reset();
    const live = (shown = {
      rate: RATE,
      size: listener.size,
      samples: new Float32Array(LIVE - (LIVE % listener.size)),
      heard: /** @type {number[]} */ ([]),
    });
    live.heard = Array(live.samples.length / listener.size).fill(0);
    meter(0);
    const node = new AudioWorkletNode(context, 'capture', { numberOfOutputs: 0 });
    let last = Promise.resolve();
    node.port.onmessage = ({ data }) => {
      for (const chunk of chunker.push(data)) {
        last = last
          .then(async () => {
            const probability = await listener.hear(chunk);
            if (mine !== turn) return;
            append(live, chunk, probability);
            meter(probability);
            requestAnimationFrame(draw);
          })
          .catch((error) => showError(byId('time'), error));
      }
    };
    context.createMediaStreamSource(stream).connect(node);
  } catch (error) {
    stopMicrophone?.();
    if (mine !== turn) return;
    const refused = error instanceof DOMException && error.name === 'NotAllowedError';
    showError(byId('time'), refused ? new Error('Access to the microphone was denied.') : error);
  }
}

microphone.addEventListener('click', () => (stopMicrophone ? begin() : listen()));
byId('file').addEventListener('change', (/** @type {any} */ { target }) => {
  if (target.files?.[0]) hear(target.files[0], target.files[0].name);
  target.value = '';
});
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  const dropped = event.dataTransfer?.files[0];
  if (dropped) hear(dropped, dropped.name);
});
addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
for (const event of ['play', 'pause', 'seeked']) audio.addEventListener(event, follow);
canvas.addEventListener('click', ({ offsetX }) => {
  if (!audio.hidden) audio.currentTime = (offsetX / canvas.clientWidth) * audio.duration;
});

try {
  const { manifest } = await ready;
  microphone.disabled = false;
  const sample = byId('sample');
  sample.disabled = false;
  sample.addEventListener('click', () =>
    hear(fetchBlob(`${FOLDER}/${manifest.sample}`), manifest.sample, `${FOLDER}/cases/conversation.probability.npy`),
  );
  sample.click();
} catch {} // ready.catch() shows the error
