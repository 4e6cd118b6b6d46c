// What slim may take from operators that stay: kernels for weights that no file has (wasm/src/kernels/parts.h).

/** @typedef {{ name: string, shape: number[], dtype: string } | undefined} Weight a constant of the file; undefined where it is computed */

/** Operators whose second argument is a weight, of whose dtype all else has to be. */
const WEIGHTED = /^(aten|rush)::_?(conv|linear)/;

const isFloat32 = (/** @type {Weight} */ weight) => weight?.dtype === 'float32';

/** Where a weight is of fewer channels, wasm/src/kernels/winograd.c leaves it to the direct form. */
const LEAST_CHANNELS = 16;

/** Of which weights an operator does not reach a part. @type {Record<string, (weight: Weight) => boolean>} */
const WITHOUT = {
  conv_any: isFloat32,
  gemm_any: isFloat32,
  halves: isFloat32,
  dwconv_5x5: (weight) => weight !== undefined && !/,5,5$/.test(String(weight.shape)),
  winograd: (weight) => weight !== undefined && !(Number(weight.shape[1]) >= LEAST_CHANNELS && /,3,3$/.test(String(weight.shape))),
};

/** Whether a file's description or program names float16 or bfloat16. One that makes them itself, of no such dtype, does without a kernel. @param {string} text */
export const namesHalves = (text) => /"b?float16"/.test(text);

/** The weights of each operator. @param {import('../src/graph.js').GraphJson[]} graphs @returns {Map<string, Weight[]>} */
export function weightsOf(graphs) {
  /** @type {Map<string, Weight[]>} */ const weights = new Map();
  for (const { methods, constants } of graphs) {
    for (const { op, in: operands } of methods.flatMap(({ instructions }) => instructions)) {
      if (op === undefined || !WEIGHTED.test(op)) continue;
      const operand = operands[1], value = typeof operand === 'object' ? constants[operand.constant] : undefined;
      weights.set(op, [...weights.get(op) ?? [], value?.shape && value]);
    }
  }
  return weights;
}

/** Whether an operator may reach the part; everything copies. @param {string} part @param {string} op @param {Map<string, Weight[]>} weights @param {boolean} halves */
export const reaches = (part, op, weights, halves) => part === 'copy_halves' ? halves : !weights.get(op)?.every(WITHOUT[part] ?? (() => false));
