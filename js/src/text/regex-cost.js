// The cost of a regular expression of a tokenizer. JavaScript's matcher tries alternatives one after the other, and
// nothing can stop it. An expression is refused if the number of ways to match a text may grow exponentially.

/**
 * @typedef {object} Cost how an expression may match a text
 * @property {number} ways the most ways at one place, for texts of one character
 * @property {number} power the exponent of the text's length in the number of ways
 * @property {number} least the fewest characters of a match
 */

/** The most ways, and the greatest power, of an expression. Those of published tokenizers have at most 170 and 2. */
export const MOST_WAYS = 4096;
export const MOST_POWER = 3;
const MOST_CHARACTERS = 1 << 14;
/** Groups in groups. */
const MOST_DEPTH = 64;

const LOOK = /^\(\?(?:<?[=!])/u,
  GROUP = /^\((?:\?(?:[:>]|i:|<[A-Za-z_][A-Za-z0-9_]*>))?/u,
  COUNT = /^\{(\d*)(?:(,)(\d*))?\}/u,
  ESCAPE = /^\\(?:[pPxu]\{[^}]*\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|c[A-Za-z]|.)/su;

/** Alternatives of one letter each. They are like a class if they differ. */
const LETTERS = /^[\p{L}\p{N}](?:\|[\p{L}\p{N}])+$/u;

/**
 * Groups of a published tokenizer that have one way to match a text, as often as they are repeated: each begins with a
 * space or a letter. Where case does not matter, a mark may be a letter (U+0345 and U+03B9).
 */
const SPACED = String.raw`(?: \p{L}\p{M}*)`,
  LETTERED = String.raw`(?:\p{L}\p{M}*${SPACED}*)`;

const EMPTY = { ways: 1, power: 0, least: 0 },
  CHARACTER = { ways: 1, power: 0, least: 1 };

/** Reads an expression as Oniguruma writes it, the library of the tokenizers in Python. */
class Reader {
  #text;
  #at = 0;
  #depth = 0;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  /** @returns {Cost} */
  all() {
    const cost = this.#alternatives();
    if (this.#at < this.#text.length) throw new SyntaxError('there is a ) without its (');
    return cost;
  }

  /** @param {RegExp} pattern */
  #take(pattern) {
    const found = pattern.exec(this.#text.slice(this.#at, this.#at + 64));
    if (found) this.#at += found[0].length;
    return found;
  }

  /** @returns {Cost} */
  #alternatives() {
    if (++this.#depth > MOST_DEPTH) throw new SyntaxError(`it has more than ${MOST_DEPTH} nested groups`);
    const start = this.#at;
    let all = this.#sequence();
    while (this.#text[this.#at] === '|') {
      this.#at++;
      const { ways, power, least } = this.#sequence();
      all = { ways: all.ways + ways, power: Math.max(all.power, power), least: Math.min(all.least, least) };
    }
    this.#depth--;
    const text = this.#text.slice(start, this.#at);
    return LETTERS.test(text) && new Set(text).size === (text.length + 3) / 2 ? CHARACTER : all;
  }

  /** @returns {Cost} */
  #sequence() {
    let all = EMPTY;
    while (this.#at < this.#text.length && !'|)'.includes(/** @type {string} */ (this.#text[this.#at]))) {
      const start = this.#at,
        { ways, power, least } = this.#repeated(this.#atom(), start);
      all = { ways: all.ways * ways, power: all.power + power, least: all.least + least };
    }
    return all;
  }

  /** @returns {Cost} */
  #atom() {
    const c = /** @type {string} */ (this.#text[this.#at]);
    if (c === '(') {
      const look = this.#take(LOOK);
      if (!look) this.#take(GROUP);
      const inner = this.#alternatives();
      if (this.#text[this.#at++] !== ')') throw new SyntaxError('there is a ( without its )');
      return look ? { ...inner, least: 0 } : inner;
    }
    if (c === '[') return this.#class();
    if (c === '\\') {
      const escape = this.#take(ESCAPE)?.[0] ?? '';
      if (/^\\[1-9k]/u.test(escape)) throw new SyntaxError('it has a backreference, such as \\1');
      return /^\\[bBAzZG]/u.test(escape) ? EMPTY : CHARACTER;
    }
    this.#at += c >= '\ud800' && c <= '\udbff' ? 2 : 1;
    return '^$'.includes(c) ? EMPTY : CHARACTER;
  }

  /** Skips a class, which may have others in it. @returns {Cost} */
  #class() {
    let open = 0;
    do {
      const c = this.#text[this.#at];
      if (c === undefined) throw new SyntaxError('there is a [ without its ]');
      if (c === '\\') this.#at++;
      if (c === '[') {
        open++;
        if (this.#text[this.#at + 1] === '^') this.#at++;
        if (this.#text[this.#at + 1] === ']') this.#at++; // a first ] is a character
      } else if (c === ']') open--;
      this.#at++;
    } while (open > 0);
    return CHARACTER;
  }

  /** @param {Cost} of the repeated part @param {number} start where it begins @returns {Cost} */
  #repeated(of, start) {
    const text = this.#text.slice(start, this.#at),
      hasOneWay = text === SPACED || (text === LETTERED && this.#depth === 1);
    let all = hasOneWay ? { ...of, power: 0 } : of;
    for (let bounds = this.#bounds(); bounds; bounds = this.#bounds()) {
      const [least, most] = bounds;
      const simple = all.ways === 1 && all.power === 0;
      if (most === Infinity && !simple)
        throw new SyntaxError('it repeats a group that has alternatives or repetitions, such as (a+)+');
      all =
        most === Infinity
          ? { ways: 1, power: 1, least: least * all.least }
          : {
              ways: (most - least + 1) * all.ways ** Math.max(most, 1),
              power: all.power * Math.max(most, 1),
              least: least * all.least,
            };
    }
    return all;
  }

  /** Returns how often an atom is repeated at least and at most. @returns {[number, number] | undefined} */
  #bounds() {
    const c = this.#text[this.#at],
      simple = c && { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[c];
    if (simple) {
      this.#at++;
      this.#take(/^[?+]/u); // lazy and possessive ones have the same number of ways
      return /** @type {[number, number]} */ (simple);
    }
    const start = this.#at,
      found = c === '{' && this.#take(COUNT);
    if (!found || (!found[1] && !found[3])) {
      this.#at = start;
      return undefined;
    }
    this.#take(/^\?/u);
    const least = Number(found[1]),
      most = found[2] ? (found[3] ? Number(found[3]) : Infinity) : least;
    return [least, Math.max(least, most)];
  }
}

/**
 * Returns the cost of an expression.
 * @param {string} regex @returns {Cost}
 * @throws {SyntaxError} if it may be exponential, or is not an expression
 */
export function regexCost(regex) {
  if (regex.length > MOST_CHARACTERS)
    throw new SyntaxError(`it has ${regex.length} characters, and at most ${MOST_CHARACTERS} are possible`);
  const cost = new Reader(regex).all();
  if (cost.ways > MOST_WAYS || cost.power > MOST_POWER)
    throw new SyntaxError(
      `it can match a text in too many ways: at most ${MOST_WAYS} ways and ${MOST_POWER} unbounded repetitions ` +
        'behind each other are possible',
    );
  return cost;
}
