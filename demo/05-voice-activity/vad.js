// Computes probabilities of speech from sound, and stretches of speech from them. Node and the page share this code.

import { audioToTensor } from '../../js/src/media/audio.js'; // in a project of yours: from 'rushlight/audio'

/** The sample rates that the model takes. */
export const RATES = [16000, 8000];

/** The samples of a chunk of 32 ms, by rate. @type {Record<number, number>} */
export const CHUNK = { 16000: 512, 8000: 256 };

/** Processes chunk after chunk. The model keeps its state in between. */
export class Listener {
  /** @param {any} model @param {number} rate one of CHUNK's */
  constructor(model, rate) {
    if (!CHUNK[rate]) throw new Error(`the model hears 16000 or 8000 samples a second, not ${rate}`);
    this.model = model;
    this.rate = rate;
    this.size = CHUNK[rate];
  }

  /** Restores the initial state. */
  async reset() {
    await this.model.call('reset_states');
  }

  /** Returns the probability that a chunk is speech. @param {Float32Array} data @returns {Promise<number>} */
  async hear(data) {
    const { probability } = await this.model.run({
      x: { dtype: 'float32', shape: [1, this.size], data },
      sr: this.rate,
    });
    return probability.data[0];
  }
}

/**
 * Yields the chunks of a whole recording, with silence at the end of the last one.
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
 * Returns stretches of speech, in chunks. One begins above 0.5 and ends after `pause` chunks below 0.35. Those shorter
 * than `least` are dropped.
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

/** Converts a stream of blocks to chunks with another rate, with the same result as resampling all of it at once. */
export class Chunker {
  #rates;
  #size;
  #unit; // input samples, and the output samples that they become
  #into;
  #margin; // units at either end without all neighbours
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
    this.#came = new Float32Array(this.#margin * this.#unit); // preceding silence
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
