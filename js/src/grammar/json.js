// The parts of JSON as expressions.

import { parseRegex } from './regex.js';
import { call, choice, common, inverted, members, optional, points, repeat, sequence, text } from './expressions.js';
import { Rule } from './rule.js';

/** @typedef {import('./expressions.js').Expression} Expression @typedef {import('./expressions.js').Range} Range */

/** Space between the parts of an object or array: none, one space, or a new line with its indentation. */
export const space = parseRegex('(?: |\\n {0,24})?', '');
export const comma = sequence(text(','), space);

const regex = (/** @type {string} */ source) => parseRegex(source, '');

/** Numbers have at most as many digits as a double keeps. */
export const integer = regex('-?(?:0|[1-9][0-9]{0,14})');
export const number = regex('-?(?:0|[1-9][0-9]{0,14})(?:\\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,2})?');
export const boolean = choice(text('true'), text('false'));
export const nothing = text('null');

/** Code points that JSON writes as they are, and the others with their escapes. */
const PLAIN = inverted([
  [0, 31],
  [34, 34],
  [92, 92],
]);
const ESCAPED = [34, 92, ...Array(32).keys()].map((point) => ({
  point,
  escape: JSON.stringify(String.fromCharCode(point)).slice(1, -1),
}));

/** Code points of a string, each in one way. @param {Range[]} ranges @returns {Expression} */
function quotedPoints(ranges) {
  const plain = common(ranges, PLAIN),
    escapes = ESCAPED.filter(({ point }) => ranges.some(([from, to]) => point >= from && point <= to));
  return choice(...(plain.length ? [points(plain)] : []), ...escapes.map(({ escape }) => text(escape)));
}

/** Changes an expression of texts to one of the insides of JSON strings. @param {Expression} e @returns {Expression} */
function quoted(e) {
  switch (e.kind) {
    case 'points':
      return quotedPoints(e.ranges);
    case 'sequence':
    case 'choice':
      return { ...e, items: e.items.map(quoted) };
    case 'repeat':
      return { ...e, item: quoted(e.item) };
    default:
      return e;
  }
}

/** Returns JSON strings whose text is in an expression of points. @param {Expression} inside */
export const stringOf = (inside) => sequence(text('"'), quoted(inside), text('"'));

/** A code point of a JSON string, in any way that JSON has. */
const character = regex(
  '[^"\\\\\\x00-\\x1f]|\\\\(?:["\\\\/bfnrt]|u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}|' +
    '[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}))',
);

/** Returns JSON strings of some length. @param {number} [least] @param {number} [most] */
export const stringOfLength = (least, most) => sequence(text('"'), repeat(character, least, most), text('"'));

/** @param {Expression} inside */
const inBraces = (inside) => sequence(text('{'), space, optional(sequence(inside, space)), text('}'));
/** @param {Expression} inside */
const inBrackets = (inside) => sequence(text('['), space, optional(sequence(inside, space)), text(']'));

/** @param {Expression} key @param {Expression} value */
export const member = (key, value) => sequence(key, text(':'), space, value);

/** @param {import('./expressions.js').Member[]} items */
export const object = (items) =>
  items.some(({ required }) => required)
    ? sequence(text('{'), space, members(items, comma), space, text('}'))
    : inBraces(members(items, comma));

/**
 * Returns arrays.
 * @param {Expression[]} first the items at the beginning
 * @param {Expression | null} others all further items; null for none
 * @param {number} least @param {number} most
 */
export function array(first, others, least, most) {
  const count = Math.min(first.length, most);
  /** @type {Expression} */ let rest =
    others && most > count ? repeat(sequence(comma, others), Math.max(0, least - count), most - count) : sequence();
  if (count === 0 && others && most > 0)
    rest = sequence(others, repeat(sequence(comma, others), Math.max(0, least - 1), most - 1));
  for (let i = count - 1; i >= 0; i--) {
    const item = /** @type {Expression} */ (first[i]),
      with_ = sequence(...(i ? [comma] : []), item, rest);
    rest = i > 0 && i >= least ? optional(with_) : with_;
  }
  const empty = count === 0 && (!others || most === 0);
  if (least > 0) return sequence(text('['), space, rest, space, text(']'));
  return empty ? sequence(text('['), space, text(']')) : inBrackets(rest);
}

/**
 * Returns strings that are none of some names. Each character has one way to be written.
 * @param {string[]} names
 */
export function stringExcept(names) {
  const any = repeat(quotedPoints([[0, 0x10ffff]]));
  /** @param {string[]} tails @returns {Expression} */
  const without = (tails) => {
    /** @type {Map<number, string[]>} */ const by = new Map();
    for (const tail of tails.filter(Boolean)) {
      const point = /** @type {number} */ (tail.codePointAt(0));
      by.set(point, [...(by.get(point) ?? []), tail.slice(point > 0xffff ? 2 : 1)]);
    }
    const others = inverted([...by.keys()].map((point) => [point, point]));
    const longer = [...by].map(([point, rest]) => sequence(quotedPoints([[point, point]]), without(rest)));
    return choice(...(tails.includes('') ? [] : [sequence()]), sequence(quotedPoints(others), any), ...longer);
  };
  return sequence(text('"'), without(names), text('"'));
}

// Rules that all schemas share, so that their states keep the tokens that may follow.
export const stringRule = new Rule(() => stringOfLength());
/** @type {Rule} */
export const valueRule = new Rule(() =>
  choice(call(stringRule), number, boolean, nothing, array([], call(valueRule), 0, Infinity), anyObject()),
);
const anyObject = () =>
  object([{ expression: member(call(stringRule), call(valueRule)), required: false, repeats: true }]);
