// Speech to text. The windows, the rules of timestamps and the times of words are those of transformers' Whisper.

import { RushlightError, badArgument, checkOptions, describeValue, throwIfAborted } from '../base/errors.js';
import { audioToTensor } from '../media/audio.js';
import { rulesOf, timeRules } from './logits-rules.js';
import { tokenSampler } from './sampling.js';
import { wordsOf } from './words.js';

/**
 * @typedef {import('../api/model.js').Model} Model
 * @typedef {import('../media/audio.js').AudioBufferLike} AudioBufferLike
 *
 * @typedef {object} SpeechFacts the part of text.json that speech has. docs/design/text.md describes it
 * @property {number} length
 * @property {number[]} [stop]
 * @property {number[]} [start]
 * @property {number} [sampleRate]
 * @property {number} [samples]
 * @property {Record<string, number>} [languages]
 * @property {Record<string, number>} [tasks]
 * @property {number | null} [noTimestamps]
 * @property {number | null} [timestamps]
 * @property {boolean} [align]
 */
/**
 * @typedef {object} TranscribeOptions options of transcribe()
 * @property {string} [language] the code of the spoken language, such as "en"; by default it is detected
 * @property {'transcribe' | 'translate'} [task] 'translate' writes English; by default 'transcribe'
 * @property {boolean | 'word'} [timestamps] returns segments with their times, and with 'word' also words; false by
 *   default
 * @property {AbortSignal} [signal] ends the transcription
 *
 * @typedef {object} TimedText a text and when it is spoken
 * @property {string} text the text
 * @property {number} start when it begins, in seconds
 * @property {number} end when it ends, in seconds
 *
 * @typedef {object} Transcript the result of transcribe()
 * @property {string} text the whole text
 * @property {string} [language] the code of the language that was given or detected
 * @property {TimedText[]} [segments] parts of the text, with the option timestamps
 * @property {TimedText[]} [words] the words, with timestamps: 'word'
 */
/**
 * @typedef {object} Segment tokens that are spoken together
 * @property {number[]} tokens with timestamps
 * @property {number} from the place of the first one among the tokens of the window
 * @property {number} start seconds
 * @property {number} end seconds
 */

/** Samples of a frame of the spectrogram, of which there are 100 a second. A timestamp has two. */
const HOP = 160;
const round = (/** @type {number} */ seconds) => Math.round(seconds * 100) / 100;

/** transcribes audio with a model, one recording at a time. */
export class Transcriber {
  #model;
  #facts;
  #generation;
  #decode;
  #busy = false;

  /**
   * @param {Model} model @param {SpeechFacts} facts
   * @param {import('./logits-rules.js').GenerationRules & import('./writer.js').GenerationConfig} generation
   * @param {(tokens: readonly number[]) => string} decode
   */
  constructor(model, facts, generation, decode) {
    this.#model = model;
    this.#facts = /** @type {Required<SpeechFacts>} */ ({ stop: [], languages: {}, tasks: {}, ...facts });
    this.#generation = generation;
    this.#decode = decode;
  }

  /** @param {TranscribeOptions} options */
  check(options) {
    checkOptions('transcribe', options, ['language', 'task', 'timestamps', 'signal']);
    const { language, task = 'transcribe', timestamps = false } = options,
      { languages, tasks, noTimestamps, align } = this.#facts;
    const codes = Object.keys(languages);
    if (language !== undefined && !codes.includes(language))
      throw badArgument(
        codes.length
          ? `transcribe: language must be one of ${codes.join(', ')}, got ${describeValue(language)}`
          : `transcribe: language must be left out for a model of one language, got ${describeValue(language)}`,
      );
    const known = Object.keys(tasks).length ? Object.keys(tasks) : ['transcribe'];
    if (!known.includes(task))
      throw badArgument(`transcribe: task must be one of ${known.join(', ')}, got ${describeValue(task)}`);
    if (![false, true, 'word'].includes(timestamps))
      throw badArgument(`transcribe: timestamps must be false, true or 'word', got ${describeValue(timestamps)}`);
    if (timestamps && noTimestamps === null)
      throw new RushlightError('unsupported', 'transcribe: the model has no timestamps');
    if (timestamps === 'word' && !align)
      throw new RushlightError(
        'unsupported',
        'transcribe: the model has no alignment heads, which times of words need',
      );
  }

  /** @param {AudioBufferLike | Float32Array | readonly Float32Array[]} audio @param {TranscribeOptions} options */
  async transcribe(audio, options) {
    this.check(options);
    const { sampleRate } = this.#facts,
      isBuffer = typeof (/** @type {AudioBufferLike} */ (audio)?.getChannelData) === 'function',
      { data } = audioToTensor(audio, { sampleRate, mono: true, ...(!isBuffer && { from: sampleRate }) });
    if (this.#busy) throw new RushlightError('bad-state', 'transcribe: this model is transcribing another recording');
    this.#busy = true;
    try {
      return await this.#windows(data, options);
    } finally {
      this.#busy = false;
    }
  }

  /** @param {Float32Array} samples @param {TranscribeOptions} options @returns {Promise<Transcript>} */
  async #windows(samples, { language, task = 'transcribe', timestamps = false, signal }) {
    const { samples: most } = this.#facts,
      timed = this.#facts.noTimestamps !== null && (timestamps !== false || samples.length > most),
      /** @type {(Segment & { words: TimedText[] })[]} */ segments = [];
    for (let at = 0; at === 0 || samples.length - at >= HOP;) {
      throwIfAborted(signal, 'the transcription');
      const part = samples.subarray(at, at + most);
      await this.#model.run({ samples: part }, { method: 'encode', ...(signal && { signal }) });
      language ??= await this.#detect(signal);
      const prompt = this.#prompt(language, task, timed),
        { tokens, ended } = await this.#tokens(prompt, timed, signal);
      const window = this.#segments(tokens, part.length / HOP, at / HOP / 100),
        times = timestamps === 'word' ? await this.#times(prompt, tokens, ended, part.length, signal) : undefined;
      for (const segment of window.segments)
        segments.push({ ...segment, words: times ? this.#words(segment, times, at / HOP / 100, language) : [] });
      at += timed && window.frames > 0 ? window.frames * HOP : most;
    }
    const spoken = segments.map(({ tokens, start, end }) => ({ text: this.#textOf(tokens), start, end }));
    return {
      text: spoken.map(({ text }) => text).join(''),
      ...(language !== undefined && { language }),
      ...(timestamps && { segments: spoken }),
      ...(timestamps === 'word' && { words: segments.flatMap(({ words }) => words) }),
    };
  }

  /** @param {readonly number[]} tokens @param {number} position @param {AbortSignal} [signal] */
  async #logits(tokens, position, signal) {
    const data = BigInt64Array.from(tokens, BigInt);
    const { logits } = await this.#model.run(
      { tokens: { dtype: 'int64', shape: [1, data.length], data }, position },
      { ...(signal && { signal }) },
    );
    return /** @type {Float32Array} */ (/** @type {{ data: unknown }} */ (logits).data);
  }

  /** Returns the likeliest language of the window. @param {AbortSignal} [signal] */
  async #detect(signal) {
    const { languages, start } = this.#facts,
      codes = Object.keys(languages);
    if (codes.length === 0) return undefined;
    const logits = await this.#logits(start, 0, signal),
      score = (/** @type {string} */ code) => logits[/** @type {number} */ (languages[code])] ?? -Infinity;
    return codes.reduce((best, code) => (score(code) > score(best) ? code : best));
  }

  /** @param {string | undefined} language @param {string} task @param {boolean} timed */
  #prompt(language, task, timed) {
    const { start, languages, tasks, noTimestamps } = this.#facts,
      parts = [language && languages[language], tasks[task], timed ? undefined : noTimestamps];
    return [...start, ...parts.filter((token) => typeof token === 'number')];
  }

  /** Writes the tokens of a window. @param {number[]} prompt @param {boolean} timed @param {AbortSignal} [signal] */
  async #tokens(prompt, timed, signal) {
    const { length, stop, noTimestamps, timestamps } = this.#facts,
      {
        max_length = Infinity,
        max_initial_timestamp_index: latest = Infinity,
        repetition_penalty = 1,
      } = this.#generation,
      end = Math.min(length, max_length + prompt.length - 1),
      begin = prompt.length;
    const place = {
        begin,
        stop: stop[0] ?? 0,
        noTimestamps: Number(noTimestamps),
        timestamps: Number(timestamps),
        latest,
      },
      rules = rulesOf(this.#generation, { begin, start: begin, end, stop }),
      times = timed ? timeRules(place) : (/** @type {Float32Array} */ logits) => logits,
      choose = tokenSampler(
        { temperature: 0, topK: 0, topP: 1, minP: 0, repetitionPenalty: repetition_penalty },
        Math.random,
      );
    const context = [...prompt];
    for (let at = 0; context.length < end;) {
      const logits = await this.#logits(context.slice(at), at, signal);
      at = context.length;
      const token = choose(times(rules(logits, context), context), context);
      if (stop.includes(token)) return { tokens: context.slice(begin), ended: true };
      context.push(token);
    }
    return { tokens: context.slice(begin), ended: false };
  }

  /**
   * Splits the tokens of a window at pairs of timestamps. transformers' _retrieve_segment does it.
   * @param {number[]} tokens @param {number} length frames of the window
   * @param {number} offset its beginning in seconds
   * @returns {{ segments: Segment[], frames: number }} the frames after which the next window begins
   */
  #segments(tokens, length, offset) {
    const { timestamps } = this.#facts,
      isTime = (/** @type {number | undefined} */ token) =>
        timestamps !== null && token !== undefined && token >= timestamps,
      place = (/** @type {number | undefined} */ token) => /** @type {number} */ (token) - Number(timestamps),
      second = (/** @type {number} */ position) => round(offset + position * 0.02),
      frames = Math.floor(length);
    const cuts = tokens.flatMap((token, i) => (i > 0 && isTime(token) && isTime(tokens[i - 1]) ? [i] : []));
    if (cuts.length === 0) {
      const last = tokens.filter(isTime).at(-1),
        end = last !== undefined && place(last) > 0 ? place(last) : Math.floor(frames / 2);
      return { segments: [{ tokens, from: 0, start: second(0), end: second(end) }], frames };
    }
    const single = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
    if (single) cuts.push(tokens.length);
    const segments = cuts.map((cut, i) => {
      const from = i > 0 ? /** @type {number} */ (cuts[i - 1]) : 0;
      const part = tokens.slice(from, cut);
      return { tokens: part, from, start: second(place(part[0])), end: second(place(part.at(-1))) };
    });
    return { segments, frames: single ? frames : 2 * place(tokens[/** @type {number} */ (cuts.at(-1)) - 1]) };
  }

  /**
   * Returns the second of the window in which each token ends.
   * @param {number[]} prompt @param {number[]} tokens @param {boolean} ended @param {number} samples
   * @param {AbortSignal} [signal]
   */
  async #times(prompt, tokens, ended, samples, signal) {
    const known = ended ? tokens : tokens.slice(0, -1), // the last token of a full cache has no weights
      data = BigInt64Array.from([...prompt, ...known], BigInt);
    if (known.length === 0) return Float32Array.from(tokens, () => 0);
    const inputs = { tokens: { dtype: /** @type {const} */ ('int64'), shape: [1, data.length], data } },
      more = { skip: prompt.length, frames: Math.floor(samples / HOP / 2) };
    const { times } = await this.#model.run({ ...inputs, ...more }, { method: 'align', ...(signal && { signal }) });
    const found = /** @type {Float32Array} */ (/** @type {{ data: unknown }} */ (times).data);
    return Float32Array.from(tokens, (_, i) => /** @type {number} */ (found[Math.min(i, found.length - 1)]));
  }

  /**
   * @param {Segment} segment @param {Float32Array} times @param {number} offset @param {string} [language]
   * @returns {TimedText[]}
   */
  #words({ tokens, from }, times, offset, language) {
    const places = tokens.flatMap((token, i) => (this.#isText(token) ? [from + i] : [])),
      time = (/** @type {number | undefined} */ i) => round(offset + (i === undefined || i < 0 ? 0 : (times[i] ?? 0)));
    const text = places.map((i) => /** @type {number} */ (tokens[i - from]));
    return wordsOf(text, this.#decode, language).map((word) => {
      const first = /** @type {number} */ (places[/** @type {number} */ (word.at[0])]);
      return { text: word.text, start: time(first - 1), end: time(places[/** @type {number} */ (word.at.at(-1))]) };
    });
  }

  /** Special tokens have greater numbers. @param {number} token */
  #isText(token) {
    return token < (this.#facts.stop[0] ?? Infinity);
  }

  /** @param {readonly number[]} tokens */
  #textOf(tokens) {
    return this.#decode(tokens.filter((token) => this.#isText(token)));
  }
}
