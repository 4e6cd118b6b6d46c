/**
 * PyTorch models in the browser and in Node. Importing this does nothing yet; `load()` does. Everything else comes from
 * the `Model` that it gives.
 * @module rushlight
 */

export { RushlightError } from './errors.js';
export { load, plan } from './load.js';
export { Model } from './model.js';

/**
 * @typedef {import('./load.js').LoadOptions} LoadOptions
 * @typedef {import('./load.js').Progress} Progress
 * @typedef {import('./load.js').Limits} Limits
 * @typedef {import('./errors.js').ErrorCode} ErrorCode
 * @typedef {import('./model.js').RunOptions} RunOptions
 * @typedef {import('./model.js').TorchTexts} TorchTexts
 * @typedef {import('./model.js').VerifyReport} VerifyReport
 * @typedef {import('./model.js').DiffReport} DiffReport
 * @typedef {import('./model.js').Distance} Distance
 * @typedef {import('./model.js').Distances} Distances
 * @typedef {import('./model.js').Parting} Parting
 * @typedef {import('./model.js').VerifyTest} VerifyTest
 * @typedef {import('./model.js').Memory} Memory
 * @typedef {import('./steps.js').Steps} Steps a run at one of its instructions, made by `model.steps()`
 * @typedef {import('./steps.js').NextStep} NextStep
 * @typedef {import('./steps.js').StepResult} StepResult
 * @typedef {import('./ops.js').Op} Op
 * @typedef {import('./ops.js').OpFunction} OpFunction
 * @typedef {import('./ops.js').Ops} Ops
 * @typedef {import('./graph.js').Argument} Argument
 * @typedef {import('./graph.js').Graph} Graph of rushlight/fx
 * @typedef {import('./graph.js').Node} Node of rushlight/fx
 * @typedef {import('./graph.js').Weight} Weight
 * @typedef {import('./graph.js').NodeOp} NodeOp
 * @typedef {import('./graph.js').Output} Output
 * @typedef {import('./engine.js').ProfileRow} ProfileRow
 * @typedef {import('./engine.js').Description} Description
 * @typedef {import('./engine.js').LeastMemory} LeastMemory
 * @typedef {import('./engine.js').Method} Method
 * @typedef {import('./engine.js').Operator} Operator
 * @typedef {import('./engine.js').OperatorArgument} OperatorArgument
 * @typedef {import('./engine.js').MissingOperator} MissingOperator
 * @typedef {import('./engine.js').Attribute} Attribute
 * @typedef {import('./engine.js').WeightInfo} WeightInfo
 * @typedef {import('./types.js').DType} DType
 * @typedef {import('./types.js').QuantizedTensor} QuantizedTensor
 * @typedef {import('./types.js').ArrayOf} ArrayOf
 * @typedef {import('./types.js').TypedArray} TypedArray
 * @typedef {import('./types.js').Complex} Complex
 * @typedef {import('./types.js').Port} Port
 * @typedef {import('./types.js').SizeConstraint} SizeConstraint
 * @typedef {import('./types.js').InputValue} InputValue
 * @typedef {import('./types.js').Value} Value
 * @typedef {import('./types.js').MethodTypes} MethodTypes
 * @typedef {import('./types.js').ModelTypes} ModelTypes
 * @typedef {import('./types.js').AnyModel} AnyModel
 * @typedef {import('./types.js').AnyMethod} AnyMethod
 * @typedef {import('./source.js').Source} Source
 * @typedef {import('./source.js').FetchOptions} FetchOptions
 * @typedef {import('./runtime.js').Backend} Backend
 * @typedef {import('./runtime.js').BackendName} BackendName
 * @typedef {import('./runtime.js').WasmSource} WasmSource
 * @typedef {import('./runtime.js').WasmSources} WasmSources
 * @typedef {import('./runtime.js').WasmOption} WasmOption
 */

/**
 * @template {import('./types.js').DType} D
 * @typedef {import('./types.js').TensorOf<D>} TensorOf
 */

/**
 * @template {import('./types.js').DType} [D=import('./types.js').DType]
 * @typedef {import('./types.js').Tensor<D>} Tensor
 */

/**
 * @template {import('./types.js').DType} [D=import('./types.js').DType]
 * @typedef {import('./types.js').ElementOf<D>} ElementOf
 */

/**
 * @template {import('./types.js').DType} [D=import('./types.js').DType]
 * @typedef {import('./types.js').ElementsOf<D>} ElementsOf
 */

/**
 * @template {import('./types.js').DType} [D=import('./types.js').DType]
 * @typedef {import('./types.js').TensorInput<D>} TensorInput
 */

/**
 * @template {import('./types.js').DType} [D=import('./types.js').DType]
 * @typedef {import('./types.js').TensorLike<D>} TensorLike
 */

/**
 * @template M
 * @typedef {import('./types.js').DefaultMethod<M>} DefaultMethod
 */
