// Writes speech down while it comes. Node and the page share this code.

const RATE = 16000;
const QUIET = 0.005; // the loudness of a pause
const LONG = 20; // seconds of sound, after which words that are certain are left behind

/**
 * @typedef {import('../../js/src/text/transcriber.js').TimedText} TimedText
 *
 * @typedef {object} Heard
 * @property {TimedText[]} certain words that will stay
 * @property {TimedText[]} open words that may change with the sound that comes
 */

/** Returns the root of the mean square. @param {Float32Array} samples */
const loudness = (samples) => Math.sqrt(samples.reduce((sum, v) => sum + v * v, 0) / samples.length);
const plain = (/** @type {TimedText} */ { text }) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/**
 * Transcribes the sound since the last pause again and again. Words are certain when two passes agree on them, or when
 * the speaker pauses.
 */
export class Captions {
  #model;
  #sound = new Float32Array(0);
  #from = 0; // second at which #sound begins
  #paused = false;
  /** @type {Heard} */ #heard = { certain: [], open: [] };

  /** @param {{ transcribe: (samples: Float32Array, options: any) => Promise<any> }} model */
  constructor(model) {
    this.#model = model;
  }

  /** Takes the next sound, such as a second of it. @param {Float32Array} samples 16,000 a second */
  add(samples) {
    this.#paused = loudness(samples) < QUIET;
    if (this.#paused && this.#sound.length === 0) {
      this.#from += samples.length / RATE; // Whisper transcribes silence as words that nobody says
      return;
    }
    const all = new Float32Array(this.#sound.length + samples.length);
    all.set(this.#sound);
    all.set(samples, this.#sound.length);
    this.#sound = all;
  }

  /** Transcribes the sound that came. @param {{ last?: boolean }} [options] @returns {Promise<Heard>} all words */
  async pass({ last = this.#paused } = {}) {
    const sound = this.#sound,
      { certain, open } = this.#heard;
    if (sound.length === 0) return this.#heard;
    const { words } = await this.#model.transcribe(sound, { timestamps: 'word' }),
      done = certain.at(-1)?.end ?? 0,
      found = /** @type {TimedText[]} */ (words)
        .map(({ text, start, end }) => ({ text, start: start + this.#from, end: end + this.#from }))
        .filter(({ start, end }) => (start + end) / 2 >= done);
    const differs = found.findIndex((word, i) => !open[i] || plain(word) !== plain(open[i])),
      same = last || differs < 0 ? found.length : differs;
    this.#heard = { certain: [...certain, ...found.slice(0, same)], open: found.slice(same) };
    if (last) this.#forget(sound.length / RATE + this.#from);
    else if (sound.length > LONG * RATE) this.#forget(this.#heard.certain.at(-1)?.end ?? this.#from);
    return this.#heard;
  }

  /** Drops the sound before a second. More may have come meanwhile. @param {number} second */
  #forget(second) {
    this.#sound = this.#sound.slice(Math.round((second - this.#from) * RATE));
    this.#from = second;
  }
}
