// Regular expressions as JavaScript writes them, with the flag u, as expressions of a grammar.

import { badArgument, messageOf } from '../base/errors.js';
import { LAST, choice, inverted, points, repeat, sequence } from './expressions.js';

/** @typedef {import('./expressions.js').Expression} Expression @typedef {import('./expressions.js').Range} Range */

/** The most nested groups. */
const DEEPEST = 200;

/** @type {Record<string, Range[]>} */
const CLASSES = {
  d: [[48, 57]],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  s: [
    [9, 13],
    [32, 32],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};
/** @type {Range[]} */ const LINE_ENDS = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];
/** @type {Record<string, number>} */ const CONTROLS = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

const anyPoint = points([[0, LAST]]);

/** @param {string} what @param {string} source @returns {never} */
const refuse = (what, source) => {
  throw badArgument(`generate: a regular expression must not have ${what}, got ${JSON.stringify(source)}`);
};

/** Returns all code points but surrogates, of which a text has none. */
function allPoints() {
  const parts = [];
  for (let c = 0; c <= LAST; c += 1 << 10)
    if (c < 0xd800 || c > 0xdfff) parts.push(String.fromCodePoint(...Array.from({ length: 1 << 10 }, (_, i) => c + i)));
  return parts.join('');
}

/** Returns the code point at an index of that text. @param {number} at */
const pointAt = (at) => (at < 0xd800 ? at : at < 0xf800 ? at + 0x800 : 0x10000 + Math.floor((at - 0xf800) / 2));

/** The code points of properties. @type {Map<string, Range[]>} */
const properties = new Map();

/** Returns the code points of a property, such as \p{L}. @param {string} property */
function propertyRanges(property) {
  let ranges = properties.get(property);
  if (!ranges) {
    ranges = [];
    for (const { index, 0: run } of allPoints().matchAll(new RegExp(`${property}+`, 'gu')))
      ranges.push([pointAt(index), pointAt(index + run.length - 1)]);
    properties.set(property, ranges);
  }
  return ranges;
}

/** A reader of a regular expression that the engine has accepted with the flag u. */
class Reader {
  #source;
  #dotAll;
  #at = 0;
  #depth = 0;

  /** @param {string} source @param {boolean} dotAll */
  constructor(source, dotAll) {
    this.#source = source;
    this.#dotAll = dotAll;
  }

  /** @param {string} token */
  #take(token) {
    const found = this.#source.startsWith(token, this.#at);
    if (found) this.#at += token.length;
    return found;
  }

  /** Reads what a sticky regular expression matches. @param {RegExp} regex */
  #match(regex) {
    regex.lastIndex = this.#at;
    const found = regex.exec(this.#source);
    if (found) this.#at = regex.lastIndex;
    return found;
  }

  get #ended() {
    return this.#at >= this.#source.length || this.#source[this.#at] === ')' || this.#source[this.#at] === '|';
  }

  /**
   * Reads alternatives.
   * @param {(items: Expression[], begin: boolean, end: boolean) => Expression} [whole] makes an alternative of the top
   *   from its parts, and whether it has ^ and $
   * @returns {Expression}
   */
  alternatives(whole) {
    const all = [];
    do {
      /** @type {Expression[]} */ const items = [];
      const begin = Boolean(whole) && this.#take('^');
      let end = false;
      while (!this.#ended) {
        if (whole && (end = this.#take('$'))) break;
        items.push(this.#quantified());
      }
      if (end && !this.#ended) refuse('$ before its end', this.#source);
      all.push(whole ? whole(items, begin, end) : sequence(...items));
    } while (this.#take('|'));
    return all.length === 1 ? /** @type {Expression} */ (all[0]) : choice(...all);
  }

  #quantified() {
    const item = this.#item(),
      found = this.#match(/(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y);
    if (!found) return item;
    const [, sign, low, comma, high] = found;
    if (sign) return repeat(item, sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity);
    return repeat(item, Number(low), high ? Number(high) : comma ? Infinity : Number(low));
  }

  /** @returns {Expression} */
  #item() {
    if (this.#match(/\((?!\?)|\(\?:|\(\?<[^=!][^>]*>/y)) return this.#group();
    if (this.#take('(?')) return refuse('a lookahead, a lookbehind or modifiers', this.#source);
    if (this.#take('^') || this.#take('$')) return refuse('^ or $ within a group or an alternative', this.#source);
    if (this.#take('[')) return points(this.#class());
    if (this.#take('.')) return this.#dotAll ? anyPoint : points(inverted(LINE_ENDS));
    const ranges = this.#take('\\') ? this.#escape() : this.#literal();
    return points(ranges);
  }

  #group() {
    if (++this.#depth > DEEPEST) refuse(`more than ${DEEPEST} nested groups`, this.#source.slice(0, 40));
    const inner = this.alternatives();
    this.#take(')');
    this.#depth--;
    return inner;
  }

  /** @returns {Range[]} */
  #literal() {
    const point = /** @type {number} */ (this.#source.codePointAt(this.#at));
    this.#at += point > 0xffff ? 2 : 1;
    return [[point, point]];
  }

  /** Reads an escape behind its backslash. @returns {Range[]} */
  #escape() {
    const kind = this.#match(/[dwsDWS]/y)?.[0];
    if (kind) {
      const ranges = CLASSES[kind.toLowerCase()] ?? [];
      return kind < 'a' ? inverted(ranges) : ranges;
    }
    const property = this.#match(/[pP]\{[^}]*\}/y)?.[0];
    if (property) return propertyRanges(`\\${property}`);
    if (this.#match(/[bB]/y)) return refuse('\\b or \\B', this.#source);
    if (this.#match(/[1-9k]/y)) return refuse('a backreference', this.#source);
    const hex = this.#match(/x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]+)\}|u([dD][89abAB]..)\\u(....)|u(....)/y);
    if (hex) {
      const [, two, braces, high, low, four] = hex;
      const point = high
        ? 0x10000 + ((parseInt(high, 16) & 0x3ff) << 10) + (parseInt(/** @type {string} */ (low), 16) & 0x3ff)
        : parseInt(/** @type {string} */ (two ?? braces ?? four), 16);
      return [[point, point]];
    }
    const letter = this.#match(/c([A-Za-z])/y)?.[1];
    if (letter) return [[letter.charCodeAt(0) % 32, letter.charCodeAt(0) % 32]];
    const control = this.#match(/[tnvfr0]/y)?.[0];
    if (control) return [[CONTROLS[control] ?? 0, CONTROLS[control] ?? 0]];
    return this.#literal();
  }

  /** Reads a class behind its bracket. */
  #class() {
    const negated = this.#take('^');
    /** @type {Range[]} */ const ranges = [];
    const one = () => {
      if (!this.#take('\\')) return this.#literal();
      return this.#take('b') ? /** @type {Range[]} */ ([[8, 8]]) : this.#take('-') ? [[45, 45]] : this.#escape();
    };
    while (!this.#take(']')) {
      const from = /** @type {Range[]} */ (one());
      if (from.length === 1 && this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']') {
        this.#at++;
        const [last] = one();
        ranges.push([/** @type {Range} */ (from[0])[0], /** @type {Range} */ (last)[1]]);
      } else ranges.push(...from);
    }
    return negated ? inverted(ranges) : ranges;
  }
}

/**
 * Reads a regular expression.
 * @param {string} source @param {string} flags
 * @param {boolean} [search] whether it may match a part of the text, as the pattern of a schema does
 * @returns {Expression}
 */
export function parseRegex(source, flags, search = false) {
  const other = /[^gudsy]/.exec(flags)?.[0];
  if (other) refuse(`the flag ${other}`, `/${source}/${flags}`);
  try {
    new RegExp(source, 'u');
  } catch (e) {
    throw badArgument(`generate: a regular expression must be valid with the flag u: ${messageOf(e)}`, { cause: e });
  }
  const more = search ? [repeat(anyPoint)] : [];
  return new Reader(source, flags.includes('s')).alternatives((items, begin, end) =>
    sequence(...(begin ? [] : more), ...items, ...(end ? [] : more)),
  );
}
