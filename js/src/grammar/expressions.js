// Expressions: what a structured answer may be. A language of code points with calls of rules, so that it may be
// recursive.

/**
 * @typedef {[number, number]} Range code points from the first to the last
 *
 * @typedef {object} Member a part of an object
 * @property {Expression} expression
 * @property {boolean} required
 * @property {boolean} [repeats] whether it may occur several times
 *
 * @typedef {{ kind: 'text', text: string }
 *   | { kind: 'points', ranges: Range[] }
 *   | { kind: 'sequence', items: Expression[] }
 *   | { kind: 'choice', items: Expression[] }
 *   | { kind: 'repeat', item: Expression, least: number, most: number }
 *   | { kind: 'members', items: Member[], separator: Expression }
 *   | { kind: 'call', rule: import('./rule.js').Rule }} Expression
 */

export const LAST = 0x10ffff;

/** @param {string} text @returns {Expression} */
export const text = (text) => ({ kind: 'text', text });
/** @param {Range[]} ranges @returns {Expression} */
export const points = (ranges) => ({ kind: 'points', ranges });
/** @param {Expression[]} items @returns {Expression} */
export const sequence = (...items) => ({ kind: 'sequence', items });
/** @param {Expression[]} items @returns {Expression} */
export const choice = (...items) => ({ kind: 'choice', items });
/** @param {Expression} item @param {number} [least] @param {number} [most] @returns {Expression} */
export const repeat = (item, least = 0, most = Infinity) => ({ kind: 'repeat', item, least, most });
/** @param {Expression} item */
export const optional = (item) => repeat(item, 0, 1);
/** @param {import('./rule.js').Rule} rule @returns {Expression} */
export const call = (rule) => ({ kind: 'call', rule });
/**
 * Members in this order, with a separator between them.
 * @param {Member[]} items @param {Expression} separator @returns {Expression}
 */
export const members = (items, separator) => ({ kind: 'members', items, separator });

/** Sorts ranges and joins those that meet. @param {Range[]} ranges @returns {Range[]} */
export function joined(ranges) {
  /** @type {Range[]} */ const out = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}

/** Returns the code points that are in none of the ranges. @param {Range[]} ranges @returns {Range[]} */
export function inverted(ranges) {
  /** @type {Range[]} */ const out = [];
  let next = 0;
  for (const [from, to] of joined(ranges)) {
    if (from > next) out.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= LAST) out.push([next, LAST]);
  return out;
}

/** Returns the code points of one set that are in the other one, too. @param {Range[]} a @param {Range[]} b */
export const common = (a, b) => inverted([...inverted(a), ...inverted(b)]);
