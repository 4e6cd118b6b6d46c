// Numbers between bounds, as expressions of their digits. They have no exponent.

import { choice, points, repeat, sequence, text } from './expressions.js';

/**
 * @typedef {import('./expressions.js').Expression} Expression
 *
 * @typedef {object} Bounds as in JSON schemas
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [exclusiveMinimum]
 * @property {number} [exclusiveMaximum]
 *
 * @typedef {object} Bound the digits of a fraction that others are compared with
 * @property {string} digits
 * @property {boolean} excluded whether the fraction itself is not allowed
 */

/** A double keeps all numbers of this many digits. */
const DIGITS = 15;
const GREATEST = 10 ** DIGITS - 1;

/** @param {number} from @param {number} to */
const digit = (from, to) => points([[48 + from, 48 + to]]);
const anyDigit = digit(0, 9);

/**
 * Numbers of equally many digits between two of them.
 * @param {string} low @param {string} high @returns {Expression}
 */
function sameLength(low, high) {
  if (low === high) return text(low);
  if (/^0+$/.test(low) && /^9+$/.test(high)) return repeat(anyDigit, low.length, low.length);
  const from = Number(low[0]),
    to = Number(high[0]),
    n = low.length - 1,
    [rest, end] = [low.slice(1), high.slice(1)];
  if (from === to) return sequence(text(String(from)), sameLength(rest, end));
  return choice(
    sequence(text(String(from)), sameLength(rest, '9'.repeat(n))),
    ...(to - from > 1 ? [sequence(digit(from + 1, to - 1), repeat(anyDigit, n, n))] : []),
    sequence(text(String(to)), sameLength('0'.repeat(n), end)),
  );
}

/** Integers of at least 0. @param {number} low @param {number} high @returns {Expression} */
function naturals(low, high) {
  const parts = [];
  for (let from = low; from <= high;) {
    const to = Math.min(high, 10 ** String(from).length - 1);
    parts.push(sameLength(String(from), String(to)));
    from = to + 1;
  }
  return choice(...parts);
}

/** @param {Bounds} bounds @returns {Expression | undefined} undefined if there is no such number */
export function integersBetween({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }) {
  const low = Math.max(Math.ceil(minimum ?? -GREATEST), Math.floor(exclusiveMinimum ?? -GREATEST - 1) + 1, -GREATEST),
    high = Math.min(Math.floor(maximum ?? GREATEST), Math.ceil(exclusiveMaximum ?? GREATEST + 1) - 1, GREATEST);
  if (low > high) return undefined;
  return choice(
    ...(low < 0 ? [sequence(text('-'), naturals(Math.max(1, -high), -low))] : []),
    ...(high >= 0 ? [naturals(Math.max(0, low), high)] : []),
  );
}

/**
 * Returns digits behind a point, at least one of them, and whether there may be none.
 * @param {Bound | null} low null if they are great enough @param {Bound | null} high null if they are small enough
 * @param {number} most the most digits
 * @returns {{ digits: Expression, none: boolean }}
 */
function fractions(low, high, most) {
  const none = !(low && (low.excluded || /[1-9]/.test(low.digits))) && !(high?.excluded && !/[1-9]/.test(high.digits));
  if (!low && !high) return { digits: repeat(anyDigit, 1, most), none };
  const from = Number(low?.digits[0] ?? 0),
    to = high ? Number(high.digits[0] ?? 0) : 9,
    /** @type {Expression[]} */ parts = [];
  const rest = (/** @type {Bound | null} */ bound) => bound && { ...bound, digits: bound.digits.slice(1) };
  const add = (/** @type {number} */ first, /** @type {number} */ last) => {
    if (first > last || most < 1) return;
    const { digits, none } = fractions(
      low && first === from ? rest(low) : null,
      high && last === to ? rest(high) : null,
      most - 1,
    );
    parts.push(sequence(digit(first, last), choice(...(none ? [sequence()] : []), digits)));
  };
  if (low && high && from === to) add(from, to);
  else {
    if (low) add(from, from);
    add(low ? from + 1 : 0, high ? to - 1 : 9);
    if (high) add(to, to);
  }
  return { digits: choice(...parts), none };
}

/** @param {Bound | null} low @param {Bound | null} high */
function fraction(low, high) {
  const { digits, none } = fractions(low, high, DIGITS);
  return choice(...(none ? [sequence()] : []), sequence(text('.'), digits));
}

/** @param {number} n @param {boolean} excluded @returns {{ whole: number, part: Bound }} */
function split(n, excluded) {
  const [whole = '', digits = ''] = String(n).split('.');
  return { whole: Number(whole), part: { digits, excluded } };
}

/**
 * Numbers of at least 0.
 * @param {{ whole: number, part: Bound }} low @param {{ whole: number, part: Bound | null }} high
 */
function magnitudes(low, high) {
  if (low.whole === high.whole) return sequence(text(String(low.whole)), fraction(low.part, high.part));
  return choice(
    sequence(text(String(low.whole)), fraction(low.part, null)),
    ...(high.whole - low.whole > 1 ? [sequence(naturals(low.whole + 1, high.whole - 1), fraction(null, null))] : []),
    sequence(text(String(high.whole)), fraction(null, high.part)),
  );
}

/** @param {Bounds} bounds @returns {Expression | undefined} undefined if there is no such number */
export function numbersBetween({ minimum = -Infinity, maximum = Infinity, ...exclusive }) {
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = exclusive,
    low = Math.max(minimum, exclusiveMinimum),
    high = Math.min(maximum, exclusiveMaximum),
    [above, below] = [exclusiveMinimum >= minimum, exclusiveMaximum <= maximum];
  const isWritable = (/** @type {number} */ n) =>
    !Number.isFinite(n) || (Math.abs(n) <= GREATEST && !/e/.test(String(n)));
  if (low > high || (low === high && (above || below)) || !isWritable(low) || !isWritable(high)) return undefined;
  const upTo = (/** @type {number} */ n, /** @type {boolean} */ excluded) =>
    Number.isFinite(n) ? split(n, excluded) : { whole: GREATEST, part: null };
  return choice(
    ...(low < 0
      ? [sequence(text('-'), magnitudes(high < 0 ? split(-high, below) : split(0, true), upTo(-low, above)))]
      : []),
    ...(high >= 0 ? [magnitudes(low < 0 ? split(0, false) : split(low, above), upTo(high, below))] : []),
  );
}
