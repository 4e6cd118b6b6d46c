// From sound to probabilities of speech to stretches of speech: the same in Node and in the page.

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
  async reset() { await this.model.call('reset_states'); }

  /** The probability that a chunk is speech. @param {Float32Array} data @returns {Promise<number>} */
  async hear(data) {
    const { probability } = await this.model.run({ x: { dtype: 'float32', shape: [1, this.size], data }, sr: this.rate });
    return probability.data[0];
  }
}

/** The chunks of a whole recording, the last one filled up with silence. @param {Float32Array} samples @param {number} size */
export function* chunks(samples, size) {
  for (let i = 0; i < samples.length; i += size) {
    const chunk = new Float32Array(size);
    chunk.set(samples.subarray(i, i + size));
    yield chunk;
  }
}

/**
 * Stretches of speech, in chunks: it begins above 0.5 and ends after `pause` chunks below 0.35; what is shorter than `least` is none.
 * @param {ArrayLike<number>} probabilities
 * @returns {{ from: number, to: number }[]}
 */
export function stretches(probabilities, { pause = 4, least = 8 } = {}) {
  const found = [];
  let from = -1, last = -1;
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
 * Reads a WAV file of 16-bit integers, its first channel; undefined where it is something else.
 * @param {Uint8Array} bytes
 * @returns {{ rate: number, samples: Float32Array } | undefined}
 */
export function readWav(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (/** @type {number} */ at) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 44 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined;
  let rate = 0, channels = 0;
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = view.getUint32(at + 4, true), body = at + 8;
    if (word(at) === 'fmt ' && body + 16 <= bytes.length) {
      if (view.getUint16(body, true) !== 1 || view.getUint16(body + 14, true) !== 16) return undefined;
      channels = view.getUint16(body + 2, true);
      rate = view.getUint32(body + 4, true);
    } else if (word(at) === 'data' && channels > 0) {
      const n = Math.floor(Math.min(size, bytes.length - body) / (2 * channels));
      return { rate, samples: Float32Array.from({ length: n }, (_, i) => view.getInt16(body + 2 * channels * i, true) / 32768) };
    }
    at = body + size + (size & 1);
  }
  return undefined;
}

/** Makes a stream of blocks of one rate into chunks of another: linear between neighbours, which is enough to tell speech. */
export class Chunker {
  #step;
  #size;
  #at = 0; // of the next sample, in those that have come, counted from #last
  #last = 0;
  /** @type {number[]} */ #ready = [];

  /** @param {number} from @param {number} to samples a second @param {number} size of a chunk */
  constructor(from, to, size) {
    this.#step = from / to;
    this.#size = size;
  }

  /** @param {Float32Array} block @returns {Float32Array[]} chunks that are complete now */
  push(block) {
    for (; this.#at < block.length; this.#at += this.#step) {
      const i = Math.floor(this.#at), left = i ? block[i - 1] : this.#last;
      this.#ready.push(left + (block[i] - left) * (this.#at - i));
    }
    this.#at -= block.length;
    this.#last = block[block.length - 1];
    const out = [];
    while (this.#ready.length >= this.#size) out.push(Float32Array.from(this.#ready.splice(0, this.#size)));
    return out;
  }
}
