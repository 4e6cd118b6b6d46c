// Random inputs, for Node and for the page of `serve`.

import { badArgument } from '../src/base/errors.js';
import { DTYPES, partsOf } from '../src/base/types.js';
import { rowsFor } from './ranges.js';

/**
 * @typedef {import('../src/base/types.js').DType} DType
 * @typedef {import('../src/base/types.js').Tensor} Tensor
 */

/** The range of integers with an unknown meaning. All are 1, which is a valid mask and length for every model. */
const LOW = 1,
  HIGH = 2;

/**
 * Returns the range of an input's numbers. Integers that choose rows of a table end at its last row.
 * @param {import('../src/base/types.js').Port} port @param {import('../src/api/graph.js').Graph} graph of the method
 * @returns {{ low?: number, high?: number }}
 */
export function rangeOf({ name, dtype }, graph) {
  const rows = /^u?int/.test(dtype ?? '') ? rowsFor(graph, name) : undefined;
  return rows ? { low: 0, high: rows } : {};
}

/** Describes the numbers of random() for people. @param {string} dtype @param {number} [low] @param {number} [high] */
export function randomText(dtype, low, high) {
  if (/float|complex/.test(dtype)) return `random numbers from ${low ?? -1} to ${high ?? 1}`;
  const from = low ?? LOW,
    to = (high ?? HIGH) - 1;
  return to <= from ? `all ${from}` : `random whole numbers from ${from} to ${to}`;
}

/**
 * Makes the same numbers for each seed: floats from low to high (by default -1 to 1), integers from low to high - 1.
 * @param {number[]} shape
 * @param {DType} dtype
 * @param {number} [low]
 * @param {number} [high]
 * @param {number} [seed]
 * @returns {Tensor}
 */
export function random(shape, dtype, low, high, seed = 1) {
  const n = shape.reduce((a, b) => a * b, 1);
  const { Array: Type } = DTYPES[dtype];
  if (Type === Uint16Array)
    throw badArgument(`random numbers of ${dtype} need an engine with Float16Array; pass a file`);
  const data = /** @type {{ length: number, [i: number]: number | bigint }} */ (new Type(n * partsOf(dtype)));
  const float = /float|complex/.test(dtype);
  const from = low ?? (float ? -1 : LOW);
  const range = (high ?? (float ? 1 : HIGH)) - from;
  let state = seed;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const v = from + range * (state / 2 ** 32);
    data[i] = float ? v : dtype === 'int64' ? BigInt(Math.floor(v)) : Math.floor(v);
  }
  return /** @type {Tensor} */ ({ dtype, shape, data });
}
