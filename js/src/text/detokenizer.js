// Text from tokens that come one by one. A character may consist of several tokens, and a stop string may be spread
// over several pieces.

/** Joins tokens to text, and never gives a part of a character. */
export class Detokenizer {
  #decode;
  /** @type {number[]} */ #tokens = [];
  /** Tokens before `#given` are text that was given. Those from `#context` on are decoded again, for their spaces. */
  #context = 0;
  #given = 0;

  /** @param {(tokens: number[]) => string} decode */
  constructor(decode) {
    this.#decode = decode;
  }

  /** Returns the text that a token completes. @param {number} token */
  add(token) {
    this.#tokens.push(token);
    return this.#rest(false);
  }

  /** Returns the rest, with U+FFFD for a character that is not complete. */
  end() {
    return this.#rest(true);
  }

  /** @param {boolean} all */
  #rest(all) {
    const before = this.#decode(this.#tokens.slice(this.#context, this.#given)),
      now = this.#decode(this.#tokens.slice(this.#context));
    if (now.length <= before.length || (!all && now.endsWith('\uFFFD'))) return '';
    this.#context = this.#given;
    this.#given = this.#tokens.length;
    return now.slice(before.length);
  }
}

/**
 * Returns the length of the end of a text that one of some words may begin with.
 * @param {string} text @param {readonly string[]} words
 */
export function beginningAtEnd(text, words) {
  let most = 0;
  for (const word of words)
    for (let n = Math.min(word.length - 1, text.length); n > most; n--) if (text.endsWith(word.slice(0, n))) most = n;
  return most;
}

/** Passes text on until one of some strings has occurred, which it leaves out. */
export class StopSequences {
  #stops;
  #held = '';
  found = false;

  /** @param {readonly string[]} stops */
  constructor(stops) {
    this.#stops = stops.filter((stop) => stop !== '');
  }

  /** Returns the text that no stop string can begin in. @param {string} piece */
  add(piece) {
    const text = this.#held + piece;
    const at = this.#stops.map((stop) => text.indexOf(stop)).filter((i) => i >= 0);
    if (at.length > 0) {
      this.found = true;
      this.#held = '';
      return text.slice(0, Math.min(...at));
    }
    const end = text.length - beginningAtEnd(text, this.#stops);
    this.#held = text.slice(end);
    return text.slice(0, end);
  }

  /** Returns the text that was held back. */
  end() {
    const text = this.#held;
    this.#held = '';
    return text;
  }
}
