// From sound to probabilities of speech to stretches of speech: the same in Node and in the page.

import { audioToTensor } from '../../js/src/media/audio.js'; // in a project of yours: from 'rushlight/audio'

/** Samples of a chunk, by rate: 32 ms. @type {Record<number, number>} */
export const CHUNK = { 16000: 512, 8000: 256 };

/** Hears chunk after chunk; the model keeps its state in between. */
export class Listener {
  /** @param {any} model @param {number} rate one of CHUNK's */
  constructor(model, rate) {
    if (!CHUNK[rate]) throw new Error(`the model hears 16000 or 8000 samples a second, not ${rate}`);
    this.model = model;
    this.rate = rate;
    this.size = CHUNK[rate];
  }

  /** As if nothing had been heard. */
  async reset() {
    await this.model.call('reset_states');
  }

  /** The probability that a chunk is speech. @param {Float32Array} data @returns {Promise<number>} */
  async hear(data) {
    const { probability } = await this.model.run({
      x: { dtype: 'float32', shape: [1, this.size], data },
      sr: this.rate,
    });
    return probability.data[0];
  }
}

/**
 * The chunks of a whole recording, the last one filled up with silence.
 * @param {Float32Array} samples
 * @param {number} size
 */
export function* chunks(samples, size) {
  for (let i = 0; i < samples.length; i += size) {
    const chunk = new Float32Array(size);
    chunk.set(samples.subarray(i, i + size));
    yield chunk;
  }
}

/**
 * Stretches of speech, in chunks: it begins above 0.5 and ends after `pause` chunks below 0.35; what is shorter than
 * `least` is none.
 * @param {ArrayLike<number>} probabilities
 * @returns {{ from: number, to: number }[]}
 */
export function stretches(probabilities, { pause = 4, least = 8 } = {}) {
  const found = [];
  let from = -1,
    last = -1;
  for (let i = 0; i <= probabilities.length; i++) {
    const p = i < probabilities.length ? probabilities[i] : 0;
    if (p > 0.5 && from < 0) from = i;
    if (p > 0.35) last = i;
    if (from < 0 || (i - last < pause && i < probabilities.length)) continue;
    if (last + 1 - from >= least) found.push({ from, to: last + 1 });
    from = -1;
  }
  return found;
}

/**
 * Reads a WAV file of 16-bit integers, of any rate, for a model that hears CHUNK's; undefined where it is something
 * else.
 * @param {Uint8Array} bytes
 * @returns {{ rate: number, samples: Float32Array } | undefined} one channel
 */
export function readWav(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (/** @type {number} */ at) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 44 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined;
  let rate = 0,
    channels = 0;
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = view.getUint32(at + 4, true),
      body = at + 8;
    if (word(at) === 'fmt ' && body + 16 <= bytes.length) {
      if (view.getUint16(body, true) !== 1 || view.getUint16(body + 14, true) !== 16) return undefined;
      channels = view.getUint16(body + 2, true);
      rate = view.getUint32(body + 4, true);
    } else if (word(at) === 'data' && channels > 0) {
      const n = Math.floor(Math.min(size, bytes.length - body) / (2 * channels));
      const sound = Array.from({ length: channels }, (_, c) =>
        Float32Array.from({ length: n }, (_, i) => view.getInt16(body + 2 * (channels * i + c), true) / 32768),
      );
      const sampleRate = CHUNK[rate] ? rate : 16000;
      return { rate: sampleRate, samples: audioToTensor(sound, { from: rate, sampleRate, mono: true }).data };
    }
    at = body + size + (size & 1);
  }
  return undefined;
}

/** Makes a stream of blocks of one rate into chunks of another, as resampling the whole would. */
export class Chunker {
  #rates;
  #size;
  #unit; // samples that come, and those that become of them
  #into;
  #margin; // units at either end whose neighbours are not there
  #came;
  /** @type {number[]} */ #ready = [];

  /** @param {number} from @param {number} to samples a second @param {number} size of a chunk */
  constructor(from, to, size) {
    let [divisor, rest] = [from, to];
    while (rest) [divisor, rest] = [rest, divisor % rest];
    this.#rates = { from, sampleRate: to };
    this.#size = size;
    this.#unit = from / divisor;
    this.#into = to / divisor;
    this.#margin = Math.ceil((7 * Math.max(1, from / to)) / this.#unit); // 6 / 0.99 zero crossings of the sinc
    this.#came = new Float32Array(this.#margin * this.#unit); // silence, before
  }

  /** @param {Float32Array} block @returns {Float32Array[]} chunks that are complete now */
  push(block) {
    const came = new Float32Array(this.#came.length + block.length);
    came.set(this.#came);
    came.set(block, this.#came.length);
    const units = Math.max(0, Math.floor(came.length / this.#unit) - 2 * this.#margin),
      skip = this.#margin * this.#into;
    const { data } = audioToTensor(came.subarray(0, (units + 2 * this.#margin) * this.#unit), this.#rates);
    this.#ready.push(...data.subarray(skip, skip + units * this.#into));
    this.#came = came.slice(units * this.#unit);
    const out = [];
    while (this.#ready.length >= this.#size) out.push(Float32Array.from(this.#ready.splice(0, this.#size)));
    return out;
  }
}
