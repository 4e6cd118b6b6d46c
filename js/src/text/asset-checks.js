// Checks of the JSON in a file: each value has the kind and the range that this package expects, or the error says what
// it must be, what was found and where.

import { RushlightError, describeValue } from '../base/errors.js';

/**
 * @typedef {string | (() => string)} Where the place of a value, which only errors need
 * @typedef {(value: unknown, where: Where) => void} Check throws unless the value is as it must be
 */

/** @param {Where} where */
export const placeText = (where) => (typeof where === 'function' ? where() : where);

/** Returns the place of a part. @param {Where} where @param {string} part @returns {Where} */
export const placeWithin = (where, part) => () => `${placeText(where)}: ${part}`;

/** @param {Where} where @param {string} must @param {unknown} value @returns {never} */
export function refuse(where, must, value) {
  throw new RushlightError('bad-file', `${placeText(where)} must be ${must}, got ${describeValue(value)}`, {
    expected: must,
    actual: value,
  });
}

/** Returns a check from a test and the words for what it expects. */
const check =
  // eslint-disable-next-line types/any -- a value of JSON
  (/** @type {string} */ must, /** @type {(value: any) => boolean} */ fits) =>
    (/** @type {unknown} */ value, /** @type {Where} */ where) => {
      if (!fits(value)) refuse(where, must, value);
    };

/** @param {number} least @param {number} most */
export const integer = (least, most) =>
  check(`an integer from ${least} to ${most}`, (n) => Number.isSafeInteger(n) && n >= least && n <= most);

/** @param {number} least @param {number} most */
export const number = (least, most) =>
  check(
    most < Infinity ? `a number from ${least} to ${most}` : `a number of at least ${least}`,
    (n) => Number.isFinite(n) && n >= least && n <= most,
  );

/** @param {number} most @param {number} [least] */
export const string = (most, least = 0) =>
  check(
    most < Infinity ? `a string of ${least ? `${least} to` : 'at most'} ${most} characters` : 'a string',
    (s) => typeof s === 'string' && s.length >= least && s.length <= most,
  );

export const flag = check('true or false', (b) => typeof b === 'boolean');

/** @param {readonly string[]} names */
export const oneOf = (names) => check(`one of ${names.join(', ')}`, (name) => names.includes(name));

/** @param {Check} of @returns {Check} */
export const nullable = (of) => (value, where) => {
  if (value !== null) of(value, where);
};

/** @param {Check} of each element @param {number} most @param {number} [least] @returns {Check} */
export const list =
  (of, most, least = 0) =>
  (value, where) => {
    if (!Array.isArray(value) || value.length < least || value.length > most)
      refuse(
        where,
        most < Infinity ? `an array of ${least} to ${most} elements` : `an array of at least ${least} elements`,
        value,
      );
    value.forEach((item, i) => of(item, () => `${placeText(where)}[${i}]`));
  };

/** @param {unknown} value @param {Where} where @returns {asserts value is Record<string, unknown>} */
export function object(value, where) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(where, 'an object', value);
}

/** @param {Check} of each value @param {number} most @returns {Check} */
export const record = (of, most) => (value, where) => {
  object(value, where);
  const entries = Object.entries(value);
  if (entries.length > most) refuse(where, `an object of at most ${most} properties`, value);
  for (const [key, item] of entries) of(item, () => `${placeText(where)}[${JSON.stringify(key.slice(0, 40))}]`);
};

/**
 * Checks the properties of an object. Others are not looked at.
 * @param {Record<string, Check>} checks @param {readonly string[]} [required]
 * @returns {Check}
 */
export const fields =
  (checks, required = []) =>
  (value, where) => {
    object(value, where);
    for (const [name, of] of Object.entries(checks)) {
      const has = Object.hasOwn(value, name) && value[name] !== undefined;
      if (has || required.includes(name)) of(has ? value[name] : undefined, placeWithin(where, name));
    }
  };
