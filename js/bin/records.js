// Reads records of a file, in Node and in the page of `serve`. The runtime has checked the file before. The records are
// described in wasm/include/rushlight/format.h.

import { DTYPES, DTYPE_NAMES, exact, partsOf } from '../src/base/types.js';

/**
 * @typedef {import('../src/base/types.js').DType} DType
 * @typedef {import('../src/base/types.js').InputValue} InputValue
 * @typedef {import('../src/base/types.js').Tensor} Tensor
 * @typedef {(at: number, size: number) => Promise<Uint8Array<ArrayBuffer>>} Read
 */

/** The ids of sections, and the bytes of their records. */
const STRING_BYTES = 0x01,
  STRINGS = 0x02,
  LISTS = 0x03,
  STORAGES = 0x05,
  TENSORS = 0x06,
  CONSTANTS = 0x07,
  UNIFORM = 0x10,
  TESTS = 0x101;
const BYTES = {
  [STRINGS]: 8,
  [LISTS]: 4,
  [STORAGES]: 16,
  [TENSORS]: 152,
  [CONSTANTS]: 24,
  [UNIFORM]: 12,
  [TESTS]: 20,
};
/** Where the file has the size of its head. */
const HEAD_BYTES = 24;
/** The index of a missing string. */
const NONE = 0xffffffff;
/** The kinds of constants, in their order. */
const KINDS = ['none', 'tensor', 'int', 'float', 'bool', 'complex', 'str', 'list', 'tuple', 'dict', 'str', 'random'];

/** Thrown for constants that are not inputs in JavaScript. */
class UnknownForm extends Error {}

/** The head of a file, which describes its contents. */
export class Head {
  #bytes;
  #view;
  #read;
  /** @type {Map<number, { at: number, count: number }>} */ #sections = new Map();

  /** @param {Uint8Array<ArrayBuffer>} bytes @param {Read} read */
  constructor(bytes, read) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#read = read;
    for (let i = 0, at = 64; i < this.#u32(12); i++, at += 24)
      this.#sections.set(this.#u32(at), { count: this.#u32(at + 4), at: this.#u64(at + 8) });
  }

  /** @param {number} at */ #u32(at) {
    return this.#view.getUint32(at, true);
  }
  /** @param {number} at */ #u64(at) {
    return Number(this.#view.getBigUint64(at, true));
  }
  /** @param {number} section */ #count(section) {
    return this.#sections.get(section)?.count ?? 0;
  }
  /** @param {keyof typeof BYTES} section @param {number} i */ #at(section, i) {
    return (this.#sections.get(Number(section))?.at ?? 0) + BYTES[section] * i;
  }

  /** Reads the head. @param {Read} read */
  static async read(read) {
    const size = new DataView((await read(0, 64)).buffer).getBigUint64(HEAD_BYTES, true);
    return new Head(await read(0, Number(size)), read);
  }

  /**
   * Reads a tensor by its name.
   * @param {string} name
   * @returns {Promise<Tensor | undefined>} undefined if there is none, or if its dtype has no form in JavaScript
   */
  async tensor(name) {
    for (let i = 0; i < this.#count(TENSORS); i++) {
      const at = this.#u32(this.#at(TENSORS, i) + 8);
      if (at === NONE || this.#string(at) !== name) continue;
      return this.#tensor(i).catch((e) => {
        if (!(e instanceof UnknownForm)) throw e;
        return undefined;
      });
    }
    return undefined;
  }

  /**
   * Reads the inputs of the first test vector of each method, by the method's index. A method without test vectors is
   * missing, and one with a value that has no form in JavaScript.
   */
  async testInputs() {
    /** @type {Map<number, InputValue[]>} */ const found = new Map();
    for (let i = 0; i < this.#count(TESTS); i++) {
      const at = this.#at(TESTS, i),
        method = this.#u32(at);
      if (found.has(method)) continue;
      try {
        found.set(method, /** @type {InputValue[]} */ (await this.#constant(this.#u32(at + 4))));
      } catch (e) {
        if (!(e instanceof UnknownForm)) throw e;
      }
    }
    return found;
  }

  /** @param {number} i @returns {Promise<unknown>} */
  async #constant(i) {
    const at = this.#at(CONSTANTS, i),
      view = this.#view;
    switch (KINDS[this.#u32(at)]) {
      case 'none':
        return null;
      case 'tensor':
        return this.#tensor(this.#u32(at + 4));
      case 'int':
        return exact(view.getBigInt64(at + 8, true));
      case 'float':
        return view.getFloat64(at + 8, true);
      case 'bool':
        return this.#u32(at + 8) !== 0;
      case 'complex':
        return { re: view.getFloat64(at + 8, true), im: view.getFloat64(at + 16, true) };
      case 'str':
        return this.#string(this.#u32(at + 4));
      case 'list':
      case 'tuple':
        return this.#items(at);
      case 'dict': {
        const items = await this.#items(at);
        return new Map(Array.from({ length: items.length / 2 }, (_, k) => [items[2 * k], items[2 * k + 1]]));
      }
      case 'random':
        return this.#random(at);
      default:
        throw new UnknownForm();
    }
  }

  /** @param {number} at of the constant */
  #items(at) {
    const first = this.#u32(at + 4);
    const items = Array.from({ length: this.#u64(at + 8) }, (_, k) => this.#u32(this.#at(LISTS, first + k)));
    return Promise.all(items.map((item) => this.#constant(item)));
  }

  /** @param {number} i */
  #string(i) {
    const at = this.#at(STRINGS, i),
      from = (this.#sections.get(STRING_BYTES)?.at ?? 0) + this.#u32(at);
    return new TextDecoder().decode(this.#bytes.subarray(from, from + this.#u32(at + 4)));
  }

  /** @param {number} i */
  #shapeOf(i) {
    const at = this.#at(TENSORS, i),
      rank = this.#bytes[at + 1] ?? 0,
      id = this.#bytes[at];
    const dtype = DTYPE_NAMES.find((name) => DTYPES[name].id === id);
    if (!dtype) throw new UnknownForm();
    const numbers = (/** @type {number} */ from) => Array.from({ length: rank }, (_, d) => this.#u64(from + 8 * d));
    return { at, dtype, shape: numbers(at + 24), strides: numbers(at + 88) };
  }

  /** @param {number} i @returns {Promise<Tensor>} */
  async #tensor(i) {
    const { at, dtype, shape, strides } = this.#shapeOf(i);
    const { Array: Type } = DTYPES[dtype],
      item = Type.BYTES_PER_ELEMENT * partsOf(dtype);
    const bytes = await this.#storage(this.#u32(at + 4));
    const out = new Uint8Array(shape.reduce((a, b) => a * b, item));
    const index = shape.map(() => 0);
    let from = this.#u64(at + 16);
    for (let to = 0; to < out.length; to += item) {
      const start = (from * item) % bytes.length;
      out.set(bytes.subarray(start, start + item), to);
      for (let d = shape.length - 1; d >= 0; d--) {
        const [n = 0, size = 0, stride = 0] = [(index[d] ?? 0) + 1, shape[d], strides[d]];
        from += stride;
        index[d] = n;
        if (n < size) break;
        index[d] = 0;
        from -= n * stride;
      }
    }
    return /** @type {Tensor} */ ({ dtype, shape, data: new Type(out.buffer) });
  }

  /** Returns the bytes of a storage, or the first sixteen if all others repeat them. @param {number} i */
  async #storage(i) {
    const pattern = this.#pattern(i),
      at = this.#at(STORAGES, i);
    if (pattern) return Uint8Array.of(...pattern, ...pattern);
    return this.#read(this.#u64(HEAD_BYTES) + this.#u64(at), this.#u64(at + 8));
  }

  /** Returns the eight bytes that a storage repeats if it has no bytes in the file. @param {number} storage */
  #pattern(storage) {
    for (let i = 0; i < this.#count(UNIFORM); i++) {
      const at = this.#at(UNIFORM, i);
      if (this.#u32(at) === storage) return this.#bytes.subarray(at + 4, at + 12);
    }
    return undefined;
  }

  /** Makes the numbers of SplitMix64. @param {number} at of the constant */
  #random(at) {
    const { dtype, shape } = this.#shapeOf(this.#u32(at + 4)),
      view = this.#view;
    const { Array: Type } = DTYPES[dtype];
    if (Type === Uint16Array || partsOf(dtype) > 1) throw new UnknownForm();
    const data = new Type(shape.reduce((a, b) => a * b, 1));
    const low = view.getFloat32(at + 16, true),
      span = view.getFloat32(at + 20, true) - low;
    let state = view.getBigUint64(at + 8, true);
    for (let i = 0; i < data.length; i++) {
      state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
      const u = mixed(state);
      const whole = () => Math.floor(low + span * (Number(u >> 11n) * 2 ** -53));
      if (/^float/.test(dtype)) data[i] = low + span * (Number(u >> 40n) * 2 ** -24);
      else if (dtype === 'bool') data[i] = Number(u >> 63n);
      else if (data instanceof BigInt64Array) data[i] = BigInt(whole());
      else data[i] = whole();
    }
    return { dtype, shape, data };
  }
}

/** @param {bigint} state */
function mixed(state) {
  let z = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}
