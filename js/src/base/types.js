// The types of a program's inputs and results, and the dtypes of tensors.

/** PyTorch's number of each dtype, and the array of its elements. */
export const DTYPES = {
  uint8: { id: 0, Array: Uint8Array },
  int8: { id: 1, Array: Int8Array },
  int16: { id: 2, Array: Int16Array },
  int32: { id: 3, Array: Int32Array },
  int64: { id: 4, Array: BigInt64Array },
  float16: {
    id: 5,
    Array: /** @type {{ Float16Array?: typeof Uint16Array }} */ (globalThis).Float16Array ?? Uint16Array,
  },
  float32: { id: 6, Array: Float32Array },
  float64: { id: 7, Array: Float64Array },
  complex64: { id: 9, Array: Float32Array },
  complex128: { id: 10, Array: Float64Array },
  bool: { id: 11, Array: Uint8Array },
  bfloat16: { id: 15, Array: Uint16Array },
};
export const DTYPE_NAMES = /** @type {DType[]} */ (Object.keys(DTYPES));
/** Converts an int to a number if that is exact, and otherwise leaves the BigInt. @param {bigint} i */
export const exact = (i) => (Number.isSafeInteger(Number(i)) ? Number(i) : i);
/** Returns the number of array items for one element. @param {DType} dtype */
export const partsOf = (dtype) => (/^c/.test(dtype) ? 2 : 1);

/**
 * @template {Record<'of', () => unknown>} Constructor of the array
 * @typedef {ReturnType<Constructor['of']>} Owned
 *   an array over an `ArrayBuffer`. TypeScript before 5.7 does not distinguish it from an array over shared memory
 */

/**
 * @typedef {keyof ArrayOf} DType the type of a tensor's elements, by PyTorch's name
 *
 * @typedef {object} ArrayOf the array that holds the elements of each dtype. Since TypeScript 5.7, it is an array over
 *   an `ArrayBuffer`
 * @property {Owned<Uint8ArrayConstructor>} uint8 torch.uint8
 * @property {Owned<Int8ArrayConstructor>} int8 torch.int8
 * @property {Owned<Int16ArrayConstructor>} int16 torch.int16
 * @property {Owned<Int32ArrayConstructor>} int32 torch.int32
 * @property {Owned<BigInt64ArrayConstructor>} int64 torch.int64, "long"
 * @property {Owned<Float32ArrayConstructor>} float32 torch.float32, "float"
 * @property {Owned<Float64ArrayConstructor>} float64 torch.float64, "double"
 * @property {Owned<Uint16ArrayConstructor>} float16 torch.float16, "half": a `Float16Array` if the engine has it, and
 *   otherwise the 16 bits of each element
 * @property {Owned<Uint16ArrayConstructor>} bfloat16 torch.bfloat16: the upper 16 bits of each element as a float32
 * @property {Owned<Float32ArrayConstructor>} complex64 torch.complex64: real and imaginary part of each element
 * @property {Owned<Float64ArrayConstructor>} complex128 torch.complex128, likewise
 * @property {Owned<Uint8ArrayConstructor>} bool torch.bool: 0 or 1
 *
 * @typedef {Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array | Uint8ClampedArray | Int8Array |
 *   Int16Array | Uint16Array} TypedArray
 *   an array of numbers; a `Float16Array`, too
 */

/**
 * @template {DType} D
 * @typedef {object} TensorOf a tensor of one dtype
 * @property {D} dtype of the elements
 * @property {number[]} shape the size of each dimension, outermost first; [] for a single number
 * @property {ArrayOf[D]} data the elements in row-major order
 */

/**
 * @template {DType} [D=DType]
 * @typedef {D extends DType ? TensorOf<D> : never} Tensor
 *   a tensor that a model returned: plain data in row-major order, which belongs to the caller
 */

/**
 * @template {DType} [D=DType]
 * @typedef {D extends 'float32' | 'float64' ? number : D extends 'bool' ? boolean | number | bigint : number | bigint}
 *   ElementOf
 *   a value that an input accepts as an element
 */

/**
 * @template {DType} [D=DType]
 * @typedef {Extract<TypedArray, Record<typeof Symbol.toStringTag, ArrayOf[D][typeof Symbol.toStringTag]>>} InputArray
 *   an array that an input accepts, over memory of any kind
 */

/**
 * @template {DType} [D=DType]
 * @typedef {InputArray<D> | (D extends 'uint8' | 'bool' ? Uint8ClampedArray : never) | readonly (ElementOf<D> |
 *   readonly unknown[])[]} ElementsOf
 *   an array of elements, or nested arrays
 */

/**
 * @typedef {object} QuantizedTensor a quantized tensor, as `model.steps()` and rushlight/fx show it: its integers, as
 *   int_repr() returns them. Their values are (integer - zero point) * scale
 * @property {'quint8' | 'qint8' | 'qint32'} dtype torch.quint8, torch.qint8 or torch.qint32
 * @property {number[]} shape the size of each dimension
 * @property {Uint8Array | Int8Array | Int32Array} data the integers in row-major order, in the array of that kind
 * @property {number} [scale] q_scale(), if all elements share one
 * @property {number} [zeroPoint] q_zero_point()
 * @property {number[]} [scales] q_per_channel_scales(), if each index along `axis` has its own
 * @property {number[]} [zeroPoints] q_per_channel_zero_points()
 * @property {number} [axis] q_per_channel_axis()
 */

/**
 * @template {DType} [D=DType]
 * @typedef {object} TensorInput a tensor, with shape and dtype unless they are known
 * @property {ElementsOf<D>} data the elements in row-major order, or nested arrays
 * @property {readonly number[]} [shape] by default the model's shape, or else one dimension
 * @property {D | (string & {})} [dtype] by default that of the typed array, or else the model's dtype. TypeScript also
 *   accepts a string, because it infers this type for `const x = { dtype: 'float32', data }`
 * @property {undefined} [width] refuses ImageData, which is not a tensor: see rushlight/image
 * @property {undefined} [dims] refuses tensors of other libraries
 */

/**
 * @typedef {typeof globalThis extends Record<'GPUBuffer', Record<'prototype', infer B>> ? B : object} WebGpuBuffer a
 *   `GPUBuffer`, where TypeScript knows WebGPU
 * @typedef {typeof globalThis extends Record<'GPUDevice', Record<'prototype', infer B>> ? B : object} WebGpuDevice a
 *   `GPUDevice`, likewise
 */

/**
 * @template {DType} [D=DType]
 * @typedef {object} GpuTensorInput a tensor in a buffer of the GPU, for a model that `load` has put there. The run
 *   copies it on the GPU. A GpuTensor is one
 * @property {WebGpuBuffer} gpuBuffer the buffer, which needs the usage COPY_SRC and `model.backend.gpuDevice`
 * @property {number} [offset] the first byte, a multiple of 4; 0 by default
 * @property {D | (string & {})} [dtype] by default the model's dtype
 * @property {readonly number[]} [shape] by default the model's shape, if all sizes are known
 * @property {undefined} [data] is for tensors in memory
 */

/**
 * @template {DType} [D=DType]
 * @typedef {ElementsOf<D> | ElementOf<D> | TensorInput<D> | GpuTensorInput<D>} TensorLike
 *   a value that an input accepts as a tensor: a Tensor, also without dtype or shape if they are known; an array;
 *   nested arrays, which give the shape; a number for a tensor without dimensions; a buffer of the GPU
 */

/**
 * @template {DType} [D=DType]
 * @typedef {object} GpuTensorMembers the members of a GpuTensor
 * @property {D} dtype PyTorch's name of the elements' type
 * @property {number[]} shape the size of each dimension, outermost first
 * @property {WebGpuBuffer} gpuBuffer the buffer with the elements in row-major order. It can be bound as storage, and
 *   copied
 * @property {number} offset the first byte in the buffer
 * @property {number} size the number of bytes
 * @property {boolean} disposed whether dispose() was called
 * @property {() => Promise<Tensor<D>>} download copies the tensor to memory. It throws `disposed`, or `device-lost` if
 *   the GPU was lost or has reported an error
 * @property {() => void} dispose gives the buffer back to the model, whose next run may write it
 */

/**
 * @template {DType} [D=DType]
 * @typedef {GpuTensorMembers<D> & Disposable} GpuTensor a result that stays on the GPU and belongs to the caller. It is
 *   also an input of models on the same device
 */

/**
 * @template T
 * @template {'webgpu' | undefined} G
 * @typedef {G extends 'webgpu' ? { [K in keyof T]: T[K] extends Tensor<infer D> ? GpuTensor<D> : T[K] } : T} OutputsOn
 *   the outputs of run(), whose tensors are GpuTensors with the option `outputDevice`
 */

/**
 * @typedef {object} Complex a complex number
 * @property {number} re real part
 * @property {number} im imaginary part
 */

/**
 * @typedef {object} EnumValue a member of an enum of the program, as `model.state()` and rushlight/fx show it
 * @property {string} enum its name
 * @property {unknown} value its value
 *
 * @typedef {object} ObjectValue an object of a class of the program, as `model.state()` and rushlight/fx show it
 * @property {unknown[] | null} object its attributes; null for an object inside itself
 */

/**
 * @typedef {Tensor | number | bigint | boolean | string | null | Complex | EnumValue | ObjectValue | unknown[] |
 *   Map<unknown, unknown>} Value
 *   a result of a program: arrays for lists and tuples, a Map for a dict, a number for an int if it is exact
 *   (items are `unknown`, because a JSDoc type cannot refer to itself)
 *
 * @typedef {object} PackedTensor a weight or bias that loading packed for the kernels, as `model.steps()` shows it
 * @property {DType} dtype of the elements
 * @property {number[]} shape the size of each dimension
 * @property {null} data its elements cannot be read
 *
 * @typedef {Value | QuantizedTensor | PackedTensor} StepValue an argument or a result of an operator, as
 *   `model.steps()` shows it
 *
 * @typedef {TensorLike | string | null | undefined | Complex | readonly unknown[] | Map<unknown, unknown>
 *   | ({ [key: string]: unknown } & Partial<Record<'data', undefined>>)} InputValue
 *   an input of a program: a TensorLike for a tensor; a number for an int or a float, by the method's types; arrays for
 *   lists and tuples; a Map or an object for a dict (a Map if it has a key "data"); null for None
 */

/**
 * @typedef {object} Port an input or output of a method
 * @property {string} name as in the Python source
 * @property {string} type in TorchScript's notation: "Tensor", "int[]", "float?", "(Tensor, int)", "Dict(str, Tensor)"
 * @property {DType | null} dtype null if it is unknown, or the value is not a tensor
 * @property {(number | null)[] | null} shape likewise; an open size is null. Dtype and shape are
 *   those of the export's examples. They are a hint, and the program may run with other ones
 * @property {(SizeConstraint | null)[]} [constraints] constraints on sizes; a run that breaks one is refused
 * @property {boolean} optional whether it may be omitted
 */

/**
 * @typedef {object} SizeConstraint a constraint on a size of an input
 * @property {string | null} name sizes of one name are equal
 * @property {number} min it is at least this
 * @property {number | null} max it is at most this, if anything
 */

/**
 * @typedef {object} MethodTypes the inputs and results of a method
 * @property {object} inputs by name
 * @property {object} outputs by name
 * @property {unknown[]} args the inputs in order, for call()
 * @property {unknown} result the result of call()
 *
 * @typedef {Record<string, MethodTypes>} ModelTypes the methods of a model, as `npx rushlight types` writes them for
 *   load()
 */

// eslint-disable-next-line types/any -- load() knows no type of a result, and its caller does
/**
 * @typedef {object} AnyMethod the types of a method if load() has no ModelTypes
 * @property {Record<string, InputValue>} inputs by name
 * @property {Record<string, Tensor>} outputs by name; assumed to be tensors, as nearly all are
 * @property {InputValue[]} args the inputs in order, for call()
 * @property {any} result the result of call()
 *
 * @typedef {Record<string, AnyMethod>} AnyModel its methods
 */

/**
 * @template M
 * @typedef {Extract<'forward' extends keyof M ? 'forward' : keyof M, Extract<keyof M, string>>} DefaultMethod the
 *   method that runs by default
 */

/** @typedef {{ kind: string, of: Type[] }} Type */

/** @type {Map<string, Type>} a cache of parsed types. Its size is limited, because files name the types */
const parsed = new Map();

/** Parses the type of a port. @param {string} text @returns {Type} */
export function parseType(text) {
  let type = parsed.get(text);
  if (type) return type;
  type = parse(text);
  if (parsed.size > 500) parsed.clear();
  if (text.length < 200) parsed.set(text, type);
  return type;
}

/** @param {string} text @returns {Type} */
function parse(text) {
  const words = text.match(/[\w.]+|\[\]|[(),?]/g) ?? [];
  /** Returns the next name or sign. @param {boolean} [peek] */
  const next = (peek) => (peek ? words[0] : words.shift()) ?? '';
  const children = () => {
    const of = [];
    while (next(true) !== ')' && next(true) !== '') {
      of.push(one());
      if (next(true) === ',') next();
    }
    next();
    return of;
  };
  const one = () => {
    let kind = next();
    /** @type {Type} */
    let type = { kind, of: [] };
    if (kind === '(') {
      type = { kind: 'Tuple', of: children() };
    } else if (next(true) === '(') {
      next();
      if (!/^(Dict|Union|Future)$/.test(kind)) kind = 'Tuple'; // a named tuple
      type = { kind, of: children() };
    }
    for (;;) {
      if (next(true) === '[]') type = { kind: 'List', of: [type] };
      else if (next(true) === '?') type = { kind: 'Optional', of: [type] };
      else return type;
      next();
    }
  };
  return one();
}
