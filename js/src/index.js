/**
 * Runs PyTorch models in browsers and in Node. `load()` returns a `Model`, whose methods run it. `tensor()` makes an
 * input. Importing this module has no side effects.
 * @module rushlight
 */

export { RushlightError } from './base/errors.js';
export { load, plan } from './api/load.js';
export { Model } from './api/model.js';
export { tensor } from './api/tensor.js';

/**
 * @typedef {import('./api/load.js').LoadOptions} LoadOptions
 * @typedef {import('./api/load.js').Progress} Progress
 * @typedef {import('./api/load.js').Limits} Limits
 * @typedef {import('./base/errors.js').ErrorCode} ErrorCode
 * @typedef {import('./api/model.js').RunOptions} RunOptions
 * @typedef {import('./api/model.js').TorchTexts} TorchTexts
 * @typedef {import('./api/model.js').VerifyReport} VerifyReport
 * @typedef {import('./api/model.js').VerifyOptions} VerifyOptions
 * @typedef {import('./api/model.js').DiffOptions} DiffOptions
 * @typedef {import('./api/model.js').DiffReport} DiffReport
 * @typedef {import('./api/model.js').Distance} Distance
 * @typedef {import('./api/model.js').Distances} Distances
 * @typedef {import('./api/model.js').Divergence} Divergence
 * @typedef {import('./api/model.js').VerifyTest} VerifyTest
 * @typedef {import('./api/model.js').Memory} Memory
 * @typedef {import('./api/assets.js').Asset} Asset a file for the application, made by `model.asset()`
 * @typedef {import('./api/steps.js').Steps} Steps a run at one of its instructions, made by `model.steps()`
 * @typedef {import('./api/steps.js').NextStep} NextStep
 * @typedef {import('./api/steps.js').StepResult} StepResult
 * @typedef {import('./engine/ops.js').Op} Op
 * @typedef {import('./engine/ops.js').OpFunction} OpFunction
 * @typedef {import('./engine/ops.js').Ops} Ops
 * @typedef {import('./api/graph.js').Argument} Argument
 * @typedef {import('./api/graph.js').Graph} Graph of rushlight/fx
 * @typedef {import('./api/graph.js').Node} Node of rushlight/fx
 * @typedef {import('./api/graph.js').Weight} Weight
 * @typedef {import('./api/graph.js').NodeOp} NodeOp
 * @typedef {import('./api/graph.js').EnumConstant} EnumConstant
 * @typedef {import('./api/graph.js').ObjectConstant} ObjectConstant
 * @typedef {import('./api/graph.js').ValueMeta} ValueMeta
 * @typedef {import('./api/graph.js').KnownMeta} KnownMeta
 * @typedef {import('./api/graph.js').Output} Output
 * @typedef {import('./engine/engine.js').ProfileRow} ProfileRow
 * @typedef {import('./engine/engine.js').Description} Description
 * @typedef {import('./engine/engine.js').LeastMemory} LeastMemory
 * @typedef {import('./engine/engine.js').Method} Method
 * @typedef {import('./engine/engine.js').Operator} Operator
 * @typedef {import('./engine/engine.js').OperatorArgument} OperatorArgument
 * @typedef {import('./engine/engine.js').MissingOperator} MissingOperator
 * @typedef {import('./engine/engine.js').Attribute} Attribute
 * @typedef {import('./engine/engine.js').WeightInfo} WeightInfo
 * @typedef {import('./engine/engine.js').AssetInfo} AssetInfo
 * @typedef {import('./base/types.js').DType} DType
 * @typedef {import('./base/types.js').QuantizedTensor} QuantizedTensor
 * @typedef {import('./base/types.js').PackedTensor} PackedTensor
 * @typedef {import('./base/types.js').StepValue} StepValue
 * @typedef {import('./base/types.js').ArrayOf} ArrayOf
 * @typedef {import('./base/types.js').TypedArray} TypedArray
 * @typedef {import('./base/types.js').Complex} Complex
 * @typedef {import('./base/types.js').EnumValue} EnumValue
 * @typedef {import('./base/types.js').ObjectValue} ObjectValue
 * @typedef {import('./base/types.js').Port} Port
 * @typedef {import('./base/types.js').SizeConstraint} SizeConstraint
 * @typedef {import('./base/types.js').InputValue} InputValue
 * @typedef {import('./base/types.js').WebGpuBuffer} WebGpuBuffer
 * @typedef {import('./base/types.js').WebGpuDevice} WebGpuDevice
 * @typedef {import('./base/types.js').Value} Value
 * @typedef {import('./base/types.js').MethodTypes} MethodTypes
 * @typedef {import('./base/types.js').ModelTypes} ModelTypes
 * @typedef {import('./base/types.js').AnyModel} AnyModel
 * @typedef {import('./base/types.js').AnyMethod} AnyMethod
 * @typedef {import('./source/source.js').Source} Source
 * @typedef {import('./source/source.js').FetchOptions} FetchOptions
 * @typedef {import('./engine/runtime.js').Backend} Backend
 * @typedef {import('./engine/runtime.js').BackendName} BackendName
 * @typedef {import('./engine/runtime.js').WasmSource} WasmSource
 * @typedef {import('./engine/runtime.js').WasmSources} WasmSources
 * @typedef {import('./engine/runtime.js').WasmOption} WasmOption
 */

/**
 * @template {Record<'of', () => unknown>} Constructor of the array
 * @typedef {import('./base/types.js').Owned<Constructor>} Owned
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').InputArray<D>} InputArray
 */

/**
 * @template {import('./base/types.js').DType} D
 * @typedef {import('./base/types.js').TensorOf<D>} TensorOf
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').Tensor<D>} Tensor
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').ElementOf<D>} ElementOf
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').ElementsOf<D>} ElementsOf
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').TensorInput<D>} TensorInput
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').TensorLike<D>} TensorLike
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').GpuTensorInput<D>} GpuTensorInput
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').GpuTensorMembers<D>} GpuTensorMembers
 */

/**
 * @template {import('./base/types.js').DType} [D=import('./base/types.js').DType]
 * @typedef {import('./base/types.js').GpuTensor<D>} GpuTensor
 */

/**
 * @template T
 * @template {'webgpu' | undefined} G
 * @typedef {import('./base/types.js').OutputsOn<T, G>} OutputsOn
 */

/**
 * @template {import('./base/types.js').DType} D
 * @template A
 * @typedef {import('./api/tensor.js').MadeTensor<D, A>} MadeTensor
 */

/**
 * @template M
 * @typedef {import('./base/types.js').DefaultMethod<M>} DefaultMethod
 */
