// Numbers to run a model with, in Node and in the page of `serve`.

import { badArgument } from '../src/errors.js';
import { DTYPES, partsOf } from '../src/types.js';

/**
 * @typedef {import('../src/types.js').DType} DType
 * @typedef {import('../src/types.js').Tensor} Tensor
 */

/**
 * The same numbers for a seed each time: floats from low to high (-1 to 1), whole numbers from low up to but not
 * high (all 1, which is a token and a mask that every model knows).
 * @param {number[]} shape @param {DType} dtype @param {number} [low] @param {number} [high] @param {number} [seed] @returns {Tensor}
 */
export function random(shape, dtype, low, high, seed = 1) {
  const n = shape.reduce((a, b) => a * b, 1);
  const { Array: Type } = DTYPES[dtype];
  if (Type === Uint16Array) throw badArgument(`random numbers of ${dtype} need an engine with Float16Array; pass a file`);
  const data = /** @type {any} */ (new Type(n * partsOf(dtype)));
  const float = /float|complex/.test(dtype);
  const from = low ?? (float ? -1 : 1);
  const range = (high ?? (float ? 1 : 2)) - from;
  let state = seed;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const v = from + range * (state / 2 ** 32);
    data[i] = float ? v : dtype === 'int64' ? BigInt(Math.floor(v)) : Math.floor(v);
  }
  return /** @type {Tensor} */ ({ dtype, shape, data });
}
