// tensor(), which makes a tensor from an array.

import { toTensor } from '../engine/values.js';

/**
 * @template {import('../base/types.js').DType} D
 * @template A
 * @typedef {object} MadeTensor a tensor that tensor() made
 * @property {D} dtype of the elements
 * @property {number[]} shape the size of each dimension, outermost first; [] for a single number
 * @property {A extends ArrayBufferView ? A : import('../base/types.js').ArrayOf[D]} data the elements in row-major
 *   order, in the typed array that was given
 */

/**
 * Makes a tensor for an input: `tensor('float32', [[1, 2], [3, 4]])`. A typed array stays the tensor's data, and its
 * length must fit the shape. The elements of other arrays are checked and converted.
 * @template {import('../base/types.js').DType} D
 * @template {import('../base/types.js').ElementsOf<D> | import('../base/types.js').ElementOf<D>} A
 * @param {D} dtype PyTorch's name of the elements' type
 * @param {A} data a typed array of this dtype, an array of numbers, nested arrays, or one number
 * @param {readonly number[]} [shape] by default that of the nested arrays, [] for one number, or else one dimension
 * @returns {MadeTensor<D, A>}
 * @throws {RushlightError} `bad-argument`
 */
export function tensor(dtype, data, shape = Object(data) === data ? undefined : []) {
  return /** @type {ReturnType<typeof tensor<D, A>>} */ (toTensor({ dtype, data, shape }, {}, 'tensor'));
}
