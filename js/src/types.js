// The types of a program's inputs and results, and of tensors' elements.

/** What a typed array of each dtype is, with PyTorch's number of the dtype. */
export const DTYPES = {
  uint8: { id: 0, Array: Uint8Array, min: 0, max: 255 },
  int32: { id: 3, Array: Int32Array, min: -(2 ** 31), max: 2 ** 31 - 1 },
  int64: { id: 4, Array: BigInt64Array, min: -(2 ** 63), max: 2 ** 63 },
  float32: { id: 6, Array: Float32Array },
  float64: { id: 7, Array: Float64Array },
  bool: { id: 11, Array: Uint8Array, min: 0, max: 1 },
};

/**
 * @typedef {object} ArrayOf the array that holds the elements of each dtype
 * @property {Uint8Array} uint8
 * @property {Int32Array} int32
 * @property {BigInt64Array} int64
 * @property {Float32Array} float32
 * @property {Float64Array} float64
 * @property {Uint8Array} bool 0 or 1
 *
 * @typedef {keyof ArrayOf} DType
 *
 * @typedef {Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array | Uint8ClampedArray} TypedArray
 */

/**
 * A tensor that a model gave: plain data that belongs to the caller, in row-major order.
 * @template {DType} [D=DType]
 * @typedef {D extends DType ? { dtype: D, shape: number[], data: ArrayOf[D] } : never} Tensor
 */

/**
 * What is taken for a tensor: a Tensor; one without dtype or shape where they follow from the array and
 * from what the model expects; a bare array; a number for a tensor without dimensions.
 * @typedef {TypedArray | readonly (number | bigint | boolean)[] | number | bigint | boolean
 *   | { data: TypedArray | readonly (number | bigint | boolean)[], shape?: readonly number[], dtype?: DType }} TensorLike
 */

/** @typedef {{ re: number, im: number }} Complex */

/**
 * What a program returns: lists and tuples as arrays, dicts as Map, ints as number where it is exact.
 * (A JSDoc type cannot name itself: items are `any`.)
 * @typedef {Tensor | number | bigint | boolean | string | null | Complex | any[] | Map<any, any>} Value
 */

/**
 * What a program takes.
 * @typedef {TensorLike | string | null | undefined | Complex | readonly unknown[] | Map<any, any>
 *   | { [key: string]: unknown }} InputValue
 */

/**
 * An input or output of a method. Sizes that only a run tells are null; so are shape and dtype where
 * nothing is known, or the value is no tensor.
 * @typedef {object} Port
 * @property {string} name
 * @property {string} type as TorchScript's graphs write it: "Tensor", "int[]", "float?", "(Tensor, int)", "Dict(str, Tensor)"
 * @property {DType | null} dtype
 * @property {(number | null)[] | null} shape
 * @property {boolean} optional whether it may be left out
 */

/** @typedef {{ kind: string, of: Type[] }} Type */

/** @type {Map<string, Type>} */
const parsed = new Map();

/** Reads the type of a port. @param {string} text @returns {Type} */
export function parseType(text) {
  let type = parsed.get(text);
  if (!type) parsed.set(text, (type = parse(text)));
  return type;
}

/** @param {string} text @returns {Type} */
function parse(text) {
  let at = 0;
  /** The next name or sign. @param {boolean} [peek] */
  const next = (peek) => {
    const m = /^\s*([\w.]+|\[\]|[(),?])/.exec(text.slice(at));
    if (m && !peek) at += m[0].length;
    return m?.[1] ?? '';
  };
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
      if (!['Dict', 'Union', 'Future'].includes(kind)) kind = 'Tuple'; // a named one
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
