// The wasm heap. Views of it stay in this file, because growth detaches them. A read of a detached view gives
// `undefined`, and a write has no effect. All results are numbers or copies.

import { bytesOf } from '../base/platform.js';

const utf8 = new TextDecoder();
const encoder = new TextEncoder();

/**
 * @typedef {Uint8Array | Int32Array | Uint32Array | BigInt64Array | Float32Array | Float64Array | Int8Array |
 *   Int16Array | Uint16Array} OwnedArray
 * @typedef {new (buffer: ArrayBuffer) => OwnedArray} OwnedArrayType
 */

export class Memory {
  #memory;
  /** @type {Uint8Array} */ #bytes;
  /** @type {DataView} */ #view;

  /** @param {WebAssembly.Memory} memory */
  constructor(memory) {
    this.#memory = memory;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#view = new DataView(memory.buffer);
  }

  #renew() {
    if (this.#bytes.buffer !== this.#memory.buffer) {
      this.#bytes = new Uint8Array(this.#memory.buffer);
      this.#view = new DataView(this.#memory.buffer);
    }
    return this.#view;
  }

  /** The size of the memory in bytes. */
  get size() {
    return this.#memory.buffer.byteLength;
  }

  /** @param {number} p */ u32(p) {
    return this.#renew().getUint32(p, true);
  }
  /** @param {number} p */ i64(p) {
    return this.#renew().getBigInt64(p, true);
  }
  /** @param {number} p */ f64(p) {
    return this.#renew().getFloat64(p, true);
  }
  /** @param {number} p @param {number} v */ setU32(p, v) {
    this.#renew().setUint32(p, v, true);
  }
  /** @param {number} p @param {bigint} v */ setI64(p, v) {
    this.#renew().setBigInt64(p, v, true);
  }
  /** @param {number} p @param {number} v */ setF64(p, v) {
    this.#renew().setFloat64(p, v, true);
  }

  /**
   * Reads the members of a C struct of 4-byte members, at most seven. @param {number} p
   * @returns {[number, number, number, number, number, number, number]}
   */
  words(p) {
    return /** @type {ReturnType<Memory['words']>} */ (/** @type {unknown} */ (this.copyOut(Uint32Array, p, 28)));
  }

  /** Copies an array's bytes to `p`. @param {number} p @param {ArrayBufferView} data */
  copyIn(p, data) {
    this.#renew();
    this.#bytes.set(bytesOf(data), p);
  }

  /**
   * Copies `size` bytes from `p` into an array of the type.
   * @template {OwnedArrayType} T
   * @param {T} Type
   * @param {number} p
   * @param {number} size
   * @returns {InstanceType<T>}
   */
  copyOut(Type, p, size) {
    this.#renew();
    return /** @type {InstanceType<T>} */ (new Type(this.#bytes.slice(p, p + size).buffer));
  }

  /** @param {number} p @param {number} size */
  text(p, size) {
    this.#renew();
    return utf8.decode(this.#bytes.slice(p, p + size)); // TextDecoder refuses shared memory
  }

  /** Returns the text up to a zero byte; "" for NULL. @param {number} p */
  cString(p) {
    this.#renew();
    return p === 0 ? '' : this.text(p, this.#bytes.indexOf(0, p) - p);
  }
}

/** @param {string} text @returns {Uint8Array} */
export const encode = (text) => encoder.encode(text);
