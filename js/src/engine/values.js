// Converts JavaScript values to values of the program and back. A rush_value has 16 bytes: kind at 0, payload at 8.

import { RushlightError, badArgument, describeValue, messageOf, unknownNameError } from '../base/errors.js';
import { encode } from './memory.js';
import { tagOf } from '../base/platform.js';
import { DTYPES, DTYPE_NAMES, exact, parseType, partsOf } from '../base/types.js';

/**
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('../base/types.js').Type} Type
 * @typedef {import('../base/types.js').DType} DType
 * @typedef {import('../base/types.js').Port} Port
 * @typedef {import('../base/types.js').Value} Value
 * @typedef {import('../base/types.js').Tensor} Tensor
 * @typedef {import('../base/types.js').QuantizedTensor} QuantizedTensor
 * @typedef {import('../base/types.js').Complex} Complex
 * @typedef {import('../base/types.js').TypedArray} TypedArray
 * @typedef {{ dtype?: DType | null, shape?: (number | null)[] | null }} Hint the dtype and shape of the example
 * @typedef {ArrayLike<number | bigint | boolean>} Elements
 */

export const VALUE_BYTES = 16;
const KIND_NONE = 0,
  KIND_TENSOR = 1,
  KIND_INT = 2,
  KIND_FLOAT = 3,
  KIND_BOOL = 4,
  KIND_COMPLEX = 5,
  KIND_STR = 6,
  KIND_LIST = 7,
  KIND_TUPLE = 8,
  KIND_DICT = 9,
  KIND_DEVICE = 10,
  KIND_OBJECT = 13,
  KIND_ENUM = 14;

/**
 * Limits of a result: the depth of nested containers, and its bytes as plain data. A number counts as 64 bytes, a
 * string as 4096 more, and larger values as 16384.
 */
const DEEPEST = 1000;
const MAX_BYTES = 2 ** 32;

/** @param {string} where @param {string} wanted @param {unknown} got @returns {never} */
export function throwMismatch(where, wanted, got) {
  throw badArgument(`${where} must be ${wanted}, got ${describeValue(got)}`, {
    expected: wanted,
    actual: describeValue(got),
  });
}

/** @param {readonly (number | null)[]} shape */
const shapeText = (shape) => `[${shape.map((n) => n ?? '?').join(', ')}]`;
/** @param {readonly number[]} shape */
const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** @param {unknown} v @returns {v is object} whether it is neither null nor an array */
export const isPlainObject = (v) => typeof v === 'object' && v !== null && !ArrayBuffer.isView(v) && !Array.isArray(v);
/** @param {unknown} v @returns {v is { data: TypedArray | Elements, shape?: readonly number[], dtype?: DType }} */
export const isTensorObject = (v) => isPlainObject(v) && 'data' in v;
/** @param {unknown} v @returns {v is TypedArray} */
const isTypedArray = (v) => !!tagOf(v)?.endsWith('Array');

/**
 * Returns the dtype of an array by its class: the wanted dtype if the class fits it.
 * @param {TypedArray} data @param {DType | undefined} wanted @returns {DType | undefined}
 */
function dtypeOf(data, wanted) {
  const tag = tagOf(data)?.replace('Clamped', '');
  return [wanted, ...(tag === 'Uint16Array' ? [] : DTYPE_NAMES)].find(
    (name) => DTYPES[/** @type {DType} */ (name)]?.Array.name === tag,
  );
}

/**
 * Converts numbers to a typed array, and refuses values outside of the dtype.
 * @param {Elements} numbers @param {DType} dtype @param {string} where
 */
function fromNumbers(numbers, dtype, where) {
  const data = /** @type {Record<number, number | bigint>} */ (new DTYPES[dtype].Array(numbers.length));
  const whole = /int|bool/.test(dtype),
    big = dtype === 'int64',
    bool = dtype === 'bool';
  for (let i = 0; i < numbers.length; i++) {
    const v = numbers[i];
    const may =
      typeof v === 'number'
        ? !big || Number.isSafeInteger(v)
        : whole && (typeof v === 'bigint' || (bool && typeof v === 'boolean'));
    if (may) data[i] = big ? BigInt(/** @type {number} */ (v)) : Number(v);
    // An array of integers wraps large values and drops fractions, so that the comparison finds them.
    if (!may || (whole && (data[i] != v || (bool && /** @type {number} */ (v) > 1)))) {
      throw badArgument(`${where}: element ${i} must be a value of ${dtype}, got ${describeValue(v)}`, {
        expected: dtype,
        actual: v,
      });
    }
  }
  return /** @type {TypedArray} */ (data);
}

/** The most dimensions of a tensor, RUSH_MAX_RANK. */
const MAX_RANK = 8;

/**
 * Flattens nested arrays. Returns the elements and the shape.
 * @param {unknown[]} rows @param {string} where
 */
function flatten(rows, where) {
  const shape = [rows.length];
  while (Array.isArray(rows[0]) && shape.length <= MAX_RANK) {
    // An array may contain itself.
    const n = rows[0].length;
    const other = rows.find((row) => /** @type {{ length?: unknown } | null} */ (row)?.length !== n);
    if (other !== undefined) throwMismatch(where, `rows of one length, ${n}`, other);
    shape.push(n);
    rows = rows.flat();
  }
  return { shape, data: rows };
}

/**
 * Infers the shape of an array. If the elements fill the shape of the export's example, with at most one open size, it
 * is that shape. An example of one dimension gives one dimension. Otherwise the caller must pass the shape.
 * @param {number} n elements @param {Hint} hint @param {string} where
 */
function inferShape(n, hint, where) {
  if (!hint.shape || hint.shape.length === 1) return [n];
  const open = hint.shape.filter((s) => s === null).length;
  const known = product(hint.shape.map((s) => s ?? 1));
  if (open > 1 || (open ? known === 0 || n % known !== 0 : n !== known)) {
    throw badArgument(
      `${where} must have a shape: ${n} elements do not fill ${shapeText(hint.shape)}; pass { data, shape }`,
      { expected: hint.shape, actual: n },
    );
  }
  return hint.shape.map((s) => s ?? n / known);
}

/** Tests whether the buffer of a view was transferred. @param {unknown} v */
export function isDetached(v) {
  try {
    return ArrayBuffer.isView(v) && !new Uint8Array(v.buffer);
  } catch {
    return true;
  }
}

/**
 * Copies a value, so that later changes by the caller have no effect. A buffer of the GPU is not copied.
 * @template T @param {T} v @returns {T}
 */
export function copied(v) {
  if (typeof v !== 'object' || !v || /** @type {{ gpuBuffer?: unknown }} */ (v).gpuBuffer) return v;
  if (ArrayBuffer.isView(v)) return /** @type {{ slice?: () => T }} */ (v).slice?.() ?? v;
  if (Array.isArray(v)) return /** @type {T} */ (v.map(copied));
  if (v instanceof Map) return /** @type {T} */ (new Map([...v].map(([key, value]) => [key, copied(value)])));
  return /** @type {T} */ (Object.fromEntries(Object.entries(v).map(([key, value]) => [key, copied(value)])));
}

const KEYS = ['data', 'shape', 'dtype'];

/** Refuses tensors of other libraries, and misspelt keys. @param {object} v @param {string} where */
function checkKeys(v, where) {
  const other = Object.keys(v)
    .concat(['dims', 'type', 'width'].filter((key) => key in v))
    .find((key) => !KEYS.includes(key));
  if (other) throw unknownNameError(`${where}: a tensor has no`, other, KEYS);
}

/**
 * @param {unknown} value @param {Hint} hint @param {string} where
 * @returns {{ dtype: DType, shape: readonly number[], data: TypedArray }}
 */
export function toTensor(value, hint, where) {
  const bare = !isTensorObject(value);
  if (!bare) checkKeys(value, where);
  let {
    data,
    shape,
    dtype: given,
  } = /** @type {{ data: unknown, shape?: readonly number[], dtype?: DType }} */ (bare ? { data: value } : value);
  if (given !== undefined && !DTYPE_NAMES.includes(given))
    throw unknownNameError(`${where}: there is no dtype`, given, DTYPE_NAMES);
  if (typeof data === 'number' || typeof data === 'bigint' || typeof data === 'boolean') {
    if (bare) shape = [];
    data = [data];
  }
  let dtype = given ?? hint.dtype ?? undefined;
  if (isTypedArray(data)) {
    const own = dtypeOf(data, dtype);
    if (!own) throwMismatch(where, `an array of one of ${DTYPE_NAMES.join(', ')}`, data);
    if (given && own !== given) throwMismatch(where, `${given} elements, as its dtype says`, data);
    dtype = own;
    if (!data.length && isDetached(data)) throw badArgument(`${where}: its buffer was transferred before`);
    if (dtype === 'bool') fromNumbers(data, dtype, where);
  } else if (Array.isArray(data) && (!dtype || DTYPES[dtype].Array !== Uint16Array)) {
    if (!dtype)
      throw badArgument(
        `${where}: an array of numbers must have a dtype: pass a typed array or { data, shape, dtype }`,
      );
    if (Array.isArray(data[0])) {
      const flat = flatten(data, where);
      data = flat.data;
      shape ??= flat.shape;
    }
    data = fromNumbers(/** @type {Elements} */ (data), dtype, where);
  } else {
    throwMismatch(where, 'a tensor (a typed array, or { data, shape, dtype })', data);
  }
  const n = /** @type {TypedArray} */ (data).length / partsOf(dtype);
  if (shape === undefined) shape = inferShape(n, hint, where);
  else checkShape(shape, n, where);
  return { dtype, shape, data: /** @type {TypedArray} */ (data) };
}

/** @param {readonly number[]} shape @param {number} n @param {string} where */
function checkShape(shape, n, where) {
  if (!Array.isArray(shape) || !shape.every((s) => Number.isSafeInteger(s) && s >= 0)) {
    throw badArgument(`${where}: a shape must be an array of sizes, got ${describeValue(shape)}`, { actual: shape });
  }
  if (product(shape) !== n) {
    throw badArgument(
      `${where}: the data must have ${product(shape)} elements for shape ${shapeText(shape)}, got ${n}`,
      {
        expected: product(shape),
        actual: n,
      },
    );
  }
}

/** The types that a value of type Any may have. An integral number is an int. */
const ANY = {
  kind: 'Union',
  of: ['NoneType', 'bool', 'str', 'Scalar', 'Tensor'].map((kind) => /** @type {Type} */ ({ kind, of: [] })),
};
ANY.of.push({ kind: 'List', of: [ANY] }, { kind: 'Dict', of: [ANY, ANY] });

/**
 * Returns the error for an input that is refused or cannot be read.
 * @param {unknown} e
 * @param {string} input its name
 */
export function named(e, input) {
  const error =
    e instanceof RushlightError ? e : badArgument(`input "${input}" cannot be read: ${messageOf(e)}`, { cause: e });
  error.input = input;
  return error;
}

export class Values {
  /** @type {Set<number>} the objects that are being read */ #reading = new Set();
  #depth = 0;
  #taken = 0;

  /** @param {Engine} engine */
  constructor(engine) {
    this.e = engine;
    this.m = engine.memory;
  }

  /**
   * Writes a rush_value for an input. The caller releases it.
   * @param {number} p
   * @param {{ name: string, type: string } & Hint} port
   * @param {unknown} value
   */
  writePort(p, port, value) {
    try {
      this.write(p, parseType(port.type), value, `input "${port.name}"`, port);
    } catch (e) {
      throw named(e, port.name);
    }
  }

  /** @param {number} p @param {number} kind @param {bigint} [payload] */
  #set(p, kind, payload = 0n) {
    this.m.setU32(p, kind);
    this.m.setU32(p + 4, 0);
    this.m.setI64(p + 8, payload);
  }

  /**
   * Makes the value at `p`. If it throws, `p` is None and no memory leaks.
   * @param {number} p @param {Type} type @param {unknown} v @param {string} where @param {Hint} [hint]
   * @returns {void}
   */
  write(p, type, v, where, hint = {}) {
    this.#set(p, KIND_NONE);
    switch (type.kind) {
      case 'NoneType':
        if (v !== null && v !== undefined) throwMismatch(where, 'null', v);
        return;
      case 'Optional':
        if (v !== null && v !== undefined) this.write(p, /** @type {Type} */ (type.of[0]), v, where, hint);
        return;
      case 'Tensor':
        return this.#writeTensor(p, v, where, hint);
      case 'bool':
        if (typeof v !== 'boolean') throwMismatch(where, 'a boolean', v);
        return this.#set(p, KIND_BOOL, v ? 1n : 0n);
      case 'int':
        return this.#writeInt(p, v, where);
      case 'float':
        if (typeof v !== 'number') throwMismatch(where, 'a number', v);
        return this.#writeFloat(p, v);
      case 'Scalar':
        if (typeof v === 'bigint' || Number.isInteger(v)) return this.#writeInt(p, v, where);
        if (typeof v !== 'number') throwMismatch(where, 'a number', v);
        return this.#writeFloat(p, v);
      case 'complex':
        if (typeof v === 'number') v = { re: v, im: 0 };
        if (
          typeof (/** @type {Complex | null} */ (v)?.re) !== 'number' ||
          typeof (/** @type {Complex} */ (v).im) !== 'number'
        )
          throwMismatch(where, '{ re, im }', v);
        return this.e.check(
          this.e.c.rush_complex_create(this.e.session, /** @type {Complex} */ (v).re, /** @type {Complex} */ (v).im, p),
        );
      case 'str':
      case 'Device':
        return this.#writeString(p, v, where);
      case 'List':
      case 'Tuple':
        return this.#writeItems(p, type, v, where);
      case 'Dict':
        return this.#writeDict(p, type, v, where);
      case 'Union':
        return this.#writeUnion(p, type, v, where, hint);
      case 'Any':
        return this.#writeUnion(p, ANY, v, where, hint);
      default:
        throw new RushlightError('unsupported', `${where} has the type ${type.kind}, which is not supported`);
    }
  }

  /** @param {number} p @param {unknown} v @param {string} where */
  #writeInt(p, v, where) {
    if (typeof v === 'bigint' ? BigInt.asIntN(64, v) !== v : !Number.isSafeInteger(v))
      throwMismatch(where, 'an int (a BigInt beyond 2**53)', v);
    this.#set(p, KIND_INT, BigInt(/** @type {bigint | number} */ (v)));
  }

  /** @param {number} p @param {number} v */
  #writeFloat(p, v) {
    this.#set(p, KIND_FLOAT);
    this.m.setF64(p + 8, v);
  }

  /** @param {number} p @param {unknown} v @param {string} where */
  #writeString(p, v, where) {
    if (typeof v !== 'string') throwMismatch(where, 'a string', v);
    const bytes = encode(v);
    this.e.withBytes(bytes.length, (at) => {
      this.m.copyIn(at, bytes);
      this.e.check(this.e.c.rush_str_create(this.e.session, at, bytes.length, p));
    });
  }

  /** @param {number} p @param {unknown} v @param {string} where @param {Hint} hint */
  #writeTensor(p, v, where, hint) {
    const { dtype, shape, data } = toTensor(v, hint, where);
    this.e.withBytes(8 * shape.length + 8, (at) => {
      shape.forEach((s, i) => this.m.setI64(at + 8 + 8 * i, BigInt(s)));
      this.e.check(this.e.c.rush_tensor_create(this.e.session, DTYPES[dtype].id, shape.length, at + 8, p, at));
      this.m.copyIn(this.m.u32(at), data);
    });
  }

  /** @param {number} p @param {Type} type @param {unknown} v @param {string} where */
  #writeItems(p, type, v, where) {
    if (isTypedArray(v) && type.of[0]?.kind !== 'Tensor') v = Array.from(/** @type {Elements} */ (v));
    if (!Array.isArray(v)) throwMismatch(where, 'an array', v);
    const tuple = type.kind === 'Tuple';
    if (tuple && v.length !== type.of.length) throwMismatch(where, `an array of ${type.of.length}`, v);
    const create = tuple ? this.e.c.rush_tuple_create : this.e.c.rush_list_create;
    this.#fill(p, v.length, create, (at, i) => {
      this.write(at, /** @type {Type} */ (type.of[tuple ? i : 0]), v[i], `${where}[${i}]`);
    });
  }

  /** @param {number} p @param {Type} type @param {unknown} v @param {string} where */
  #writeDict(p, type, v, where) {
    if (!(v instanceof Map)) {
      if (!isPlainObject(v)) throwMismatch(where, 'a Map', v);
      v = new Map(Object.entries(v));
    }
    const flat = [.../** @type {Map<unknown, unknown>} */ (v)].flat(1);
    this.#fill(p, flat.length, this.e.c.rush_dict_create, (at, i) => {
      const what = i % 2 ? `${where}[${String(flat[i - 1])}]` : `a key of ${where}`;
      this.write(at, /** @type {Type} */ (type.of[i % 2]), flat[i], what);
    });
  }

  /**
   * Makes a container of n items.
   * @param {number} p @param {number} n @param {(...args: number[]) => number} create
   * @param {(at: number, i: number) => void} item
   */
  #fill(p, n, create, item) {
    this.e.withValues(n, (items) => {
      for (let i = 0; i < n; i++) item(items + VALUE_BYTES * i, i);
      this.e.check(create(this.e.session, items, n, p));
    });
  }

  /**
   * Writes a value as the first type of the union that accepts it. { data } is a tensor rather than a dict.
   * @param {number} p
   * @param {Type} type
   * @param {unknown} v
   * @param {string} where
   * @param {Hint} hint
   */
  #writeUnion(p, type, v, where, hint) {
    for (const member of type.of) {
      try {
        if (!(isTensorObject(v) && member.kind === 'Dict')) return this.write(p, member, v, where, hint);
      } catch (e) {
        if (!(e instanceof RushlightError && e.code === 'bad-argument')) throw e;
      }
    }
    throwMismatch(where, `one of ${type.of.map((t) => t.kind).join(', ')}`, v);
  }

  /** Returns the value at `p` as an owned JavaScript value. @param {number} p @returns {Value} */
  read(p) {
    this.#depth = this.#taken = 0;
    return this.#read(p);
  }

  /**
   * Returns the items of a container as owned JavaScript values; skipped items are null.
   * @param {number} p
   * @param {(i: number) => boolean} [leave]
   * @returns {Value[]}
   */
  readItems(p, leave) {
    this.#depth = this.#taken = 0;
    return this.#items(p, leave);
  }

  /**
   * Counts the size of a result. Values that share or contain each other could be endless as plain data.
   * @param {number} bytes
   */
  take(bytes) {
    this.#taken += bytes;
    if (this.#taken > MAX_BYTES)
      throw new RushlightError('unsupported', 'the result is too large: more than 4 GiB as plain data');
  }

  /** @param {number} p @returns {Value} */
  #read(p) {
    const { m, e } = this;
    this.take(64);
    switch (m.u32(p)) {
      case KIND_NONE:
        return null;
      case KIND_TENSOR:
        return /** @type {Tensor} */ (this.readTensor(p));
      case KIND_INT:
        return exact(m.i64(p + 8));
      case KIND_FLOAT:
        return m.f64(p + 8);
      case KIND_BOOL:
        return m.i64(p + 8) !== 0n;
      case KIND_COMPLEX:
        e.c.rush_complex_get(p, e.scratch, e.scratch + 8);
        return { re: m.f64(e.scratch), im: m.f64(e.scratch + 8) };
      case KIND_STR:
      case KIND_DEVICE: {
        const at = e.c.rush_str_bytes(p, e.scratch),
          size = m.u32(e.scratch);
        this.take(4096 + size);
        return m.text(at, size);
      }
      case KIND_LIST:
      case KIND_TUPLE:
        return this.#items(p);
      case KIND_DICT: {
        const items = this.#items(p);
        /** @type {Map<Value, Value>} */
        const map = new Map();
        for (let i = 0; i < items.length; i += 2)
          map.set(/** @type {Value} */ (items[i]), /** @type {Value} */ (items[i + 1]));
        return map;
      }
      case KIND_ENUM: {
        const [name, value] = this.#items(p);
        return { enum: /** @type {string} */ (name), value };
      }
      case KIND_OBJECT:
        return this.#readObject(p);
      default:
        throw new RushlightError('unsupported', `the result has a value of kind ${m.u32(p)}, which is not supported`);
    }
  }

  /**
   * Reads an object. Objects may contain each other, and an object inside itself is null.
   * @param {number} p
   * @returns {Value}
   */
  #readObject(p) {
    const at = this.m.u32(p + 8);
    if (this.#reading.has(at)) return { object: null };
    this.#reading.add(at);
    try {
      return { object: this.#items(p) };
    } finally {
      this.#reading.delete(at);
    }
  }

  /** @param {number} p */
  isTuple(p) {
    return this.m.u32(p) === KIND_TUPLE;
  }

  /** @param {number} p @param {(i: number) => boolean} [leave] @returns {Value[]} */
  #items(p, leave) {
    this.take(16384);
    if (++this.#depth > DEEPEST)
      throw new RushlightError('unsupported', `the result is nested too deeply: more than ${DEEPEST}`);
    const items = this.e.c.rush_items(p, this.e.scratch),
      n = this.m.u32(this.e.scratch);
    const values = [];
    for (let i = 0; i < n; i++) values.push(leave?.(i) ? null : this.#read(items + VALUE_BYTES * i));
    this.#depth--;
    return values;
  }

  /**
   * Copies a tensor. The data is null if loading packed this weight for the kernels.
   * @param {number} p
   * @returns {Tensor | QuantizedTensor} quantized only in DebugValues
   */
  readTensor(p) {
    const { m, e } = this;
    return e.withValues(1, (copy) => {
      const info = e.scratch;
      // make_contiguous replaces its argument, and a value in a container is only borrowed.
      e.c.rush_value_retain(e.session, p);
      m.copyIn(copy, m.copyOut(Uint8Array, p, VALUE_BYTES));
      const status = e.c.rush_tensor_make_contiguous(e.session, copy);
      e.check(e.c.rush_tensor_inspect(e.session, copy, info));
      const [id, rank, sizes, , numel, , at] = m.words(info);
      // Only a packed weight, which has no elements, may be refused.
      if (at || !numel) e.check(status);
      const dtype = /** @type {DType} */ (DTYPE_NAMES.find((name) => DTYPES[name].id === id));
      const Type = DTYPES[dtype].Array;
      const shape = Array.from({ length: rank }, (_, i) => Number(m.i64(sizes + 8 * i)));
      // Sizes are below 2**32, because the tensor fits into wasm memory.
      const bytes = numel * Type.BYTES_PER_ELEMENT * partsOf(dtype);
      this.take(16384 + bytes);
      const data = status ? null : m.copyOut(Type, at, bytes);
      return /** @type {Tensor} */ ({ dtype, shape, data });
    });
  }
}
