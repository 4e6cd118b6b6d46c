// What slim may take from operators that stay: kernels for weights that no file has (wasm/src/kernels/optional.h).

/**
 * @typedef {{ name: string, shape: number[], dtype: string } | undefined} Weight a constant of the file; undefined
 *    where it is computed
 */

/** Operators whose second argument is a weight, of whose dtype all else has to be. */
const WEIGHTED = /^(aten|rush)::_?(conv|linear)/;

/**
 * @typedef {(weights: Weight[] | undefined, halves: boolean) => boolean | undefined} Rule of an operator's weights, and
 *    whether the files name float16 or bfloat16
 */

/**
 * Where all weights of an operator that has some are so.
 * @param {(weight: Weight) => boolean | undefined} fits
 * @returns {Rule}
 */
const all = (fits) => (weights) => weights?.every(fits);

const allFloat32 = all((weight) => weight?.dtype === 'float32');

/** Where a weight is of fewer channels, wasm/src/kernels/winograd.c leaves it to the direct form. */
const LEAST_CHANNELS = 16;

/** Where an operator does not reach a part. @type {Record<string, Rule>} */
const WITHOUT = {
  conv_any: allFloat32,
  gemm_any: allFloat32,
  halves: allFloat32,
  copy_halves: (_, halves) => !halves, // everything copies
  dwconv_5x5: all((weight) => weight && !/,5,5$/.test(String(weight.shape))),
  winograd: all(
    (weight) => weight && !(Number(weight.shape[1]) >= LEAST_CHANNELS && /,3,3$/.test(String(weight.shape))),
  ),
};

/**
 * Whether a file's description or program names float16 or bfloat16. One that makes them itself, of no such dtype, does
 * without a kernel.
 * @param {string} text
 */
export const namesHalves = (text) => /"b?float16"/.test(text);

/**
 * The weights of each operator.
 * @param {import('../src/api/graph.js').GraphJson[]} graphs
 * @returns {Map<string, Weight[]>}
 */
export function weightsOf(graphs) {
  /** @type {Map<string, Weight[]>} */ const weights = new Map();
  for (const { methods, constants } of graphs) {
    for (const { op, in: operands } of methods.flatMap(({ instructions }) => instructions)) {
      if (op === undefined || !WEIGHTED.test(op)) continue;
      const operand = operands[1],
        value = typeof operand === 'object' ? constants[operand.constant] : undefined;
      weights.set(op, [...(weights.get(op) ?? []), value?.shape && value]);
    }
  }
  return weights;
}

/**
 * Whether an operator may reach the part.
 * @param {string} part
 * @param {string} op
 * @param {Map<string, Weight[]>} weights
 * @param {boolean} halves
 */
export const reaches = (part, op, weights, halves) => !WITHOUT[part]?.(weights.get(op), halves);
