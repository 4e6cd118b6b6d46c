// Rules for the parts that slim may remove although remaining operators refer to them: kernels that no weight of the
// files needs (wasm/src/kernels/optional.h), and what a GPU needs (wasm/bridge/gpu_services.h).

/**
 * @typedef {{ name: string, shape: number[], dtype: string }} Constant a tensor of the file
 * @typedef {Constant & { bias?: Constant | null } | undefined} Weight undefined if it is computed; so is its bias
 */

/**
 * Operators whose second argument is a weight, whose third is its bias, and whose other tensors must have the weight's
 * dtype.
 */
const WEIGHTED = /^(aten|rush)::_?(conv|linear)/;

/**
 * @typedef {object} Needs of all files
 * @property {Map<string, Weight[]>} weights of each operator
 * @property {boolean} halves whether the files name float16 or bfloat16
 * @property {boolean} gpu whether they may run on a GPU
 *
 * @typedef {(weights: Weight[] | undefined, needs: Needs) => boolean | undefined} Rule of an operator's weights
 */

/**
 * Makes a rule that applies if all weights of an operator satisfy a condition.
 * @param {(weight: Weight) => boolean | undefined} fits
 * @returns {Rule}
 */
const all = (fits) => (weights) => weights?.every(fits);

const allFloat32 = all((weight) => weight?.dtype === 'float32');

/**
 * Tests whether linear packs a weight: rush_constant_matrix() and rush_constant_bias() in wasm/src/blocks.
 * @param {Weight} weight
 */
function isPacked(weight) {
  if (weight?.dtype !== 'float32' || weight.shape.length !== 2) return false;
  const { bias, shape } = weight;
  return bias === null || (bias?.dtype === 'float32' && String(bias.shape) === String(shape[0]));
}

/** The fewest channels for which wasm/src/kernels/winograd.c is used. */
const LEAST_CHANNELS = 16;

/** For each part, the rule by which an operator does not reach it. @type {Record<string, Rule>} */
const WITHOUT = {
  conv_any: allFloat32,
  linear_any: all(isPacked),
  gemm_any: allFloat32,
  halves: allFloat32,
  copy_halves: (_, { halves }) => !halves, // every operator may copy
  gpu: (_, { gpu }) => !gpu, // every operator may run there
  dwconv_5x5: all((weight) => weight && !/,5,5$/.test(String(weight.shape))),
  winograd: all(
    (weight) => weight && !(Number(weight.shape[1]) >= LEAST_CHANNELS && /,3,3$/.test(String(weight.shape))),
  ),
};

/**
 * Tests whether the description or the program of a file names float16 or bfloat16. Other programs need no kernel for
 * them.
 * @param {string} text
 */
export const namesHalves = (text) => /"b?float16"/.test(text);

/**
 * Returns the weights of each operator.
 * @param {import('../src/api/graph.js').GraphJson[]} graphs
 * @returns {Map<string, Weight[]>}
 */
export function weightsOf(graphs) {
  /** @type {Map<string, Weight[]>} */ const weights = new Map();
  for (const { methods, constants } of graphs) {
    for (const { op, in: operands } of methods.flatMap(({ instructions }) => instructions)) {
      if (op === undefined || !WEIGHTED.test(op)) continue;
      const [weight, bias] = operands
        .slice(1, 3)
        .map((operand) =>
          typeof operand === 'object' ? /** @type {Constant | null} */ (constants[operand.constant]) : undefined,
        );
      weights.set(op, [...(weights.get(op) ?? []), weight?.shape ? { ...weight, bias } : undefined]);
    }
  }
  return weights;
}

/**
 * Tests whether an operator may reach the part.
 * @param {string} part
 * @param {string} op
 * @param {Needs} needs
 */
export const reaches = (part, op, needs) => !WITHOUT[part]?.(needs.weights.get(op), needs);
