// Rushlight: PyTorch models in the browser and in Node. Importing this does nothing yet; load() does.

export { RushlightError } from './errors.js';
export { load, plan } from './load.js';
export { Model } from './model.js';

/**
 * @typedef {import('./load.js').LoadOptions} LoadOptions
 * @typedef {import('./load.js').Progress} Progress
 * @typedef {import('./errors.js').ErrorCode} ErrorCode
 * @typedef {import('./model.js').RunOptions} RunOptions
 * @typedef {import('./model.js').TorchTexts} TorchTexts
 * @typedef {import('./model.js').VerifyReport} VerifyReport
 * @typedef {import('./ops.js').OpFunction} OpFunction
 * @typedef {import('./ops.js').Ops} Ops
 * @typedef {import('./graph.js').Argument} Argument
 * @typedef {import('./graph.js').Graph} Graph
 * @typedef {import('./graph.js').Node} Node
 * @typedef {import('./model.js').Steps} Steps
 * @typedef {import('./graph.js').Weight} Weight
 * @typedef {import('./engine.js').ProfileRow} ProfileRow
 * @typedef {import('./engine.js').Description} Description
 * @typedef {import('./types.js').DType} DType
 * @typedef {import('./types.js').Port} Port
 * @typedef {import('./types.js').TensorLike} TensorLike
 * @typedef {import('./types.js').InputValue} InputValue
 * @typedef {import('./types.js').Value} Value
 * @typedef {import('./source.js').Source} Source
 * @typedef {import('./runtime.js').Backend} Backend
 * @typedef {import('./runtime.js').WasmOption} WasmOption
 */

/**
 * @template {import('./types.js').DType} [D=import('./types.js').DType]
 * @typedef {import('./types.js').Tensor<D>} Tensor
 */
