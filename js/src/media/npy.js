/**
 * NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 * @module rushlight/npy
 */
// No reader on npm is maintained, and the format is one line of text before the elements.

import { RushlightError } from '../base/errors.js';
import { fileBytes, quoted, tensorParts } from './checks.js';
import { DTYPES, partsOf } from '../base/types.js';

/** @import { DType, Tensor } from '../base/types.js' */

/** @type {Record<string, DType>} */
const DTYPE_OF = {
  '<f4': 'float32',
  '<f8': 'float64',
  '<f2': 'float16',
  '<c8': 'complex64',
  '<c16': 'complex128',
  '<i4': 'int32',
  '<i8': 'int64',
  '<i2': 'int16',
  '|i1': 'int8',
  '|u1': 'uint8',
  '|b1': 'bool',
};

/** NumPy's limits: a longer header takes long to parse, and more dimensions take long to step through. */
const MOST_BYTES = 10000,
  MOST_DIMENSIONS = 64;

/** @param {string} message */
const bad = (message) => new RushlightError('bad-file', message);

/**
 * Reads a .npy file of format 1 to 3, in either order of elements.
 * @param {ArrayBuffer | Uint8Array} file
 * @returns {Tensor} in row-major order, not sharing the file's memory
 * @throws {RushlightError} `bad-file`, also for dtypes that Rushlight does not have
 */
export function readNpy(file) {
  const bytes = fileBytes('readNpy', file);
  if (bytes.length < 12 || bytes[0] !== 0x93 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY')
    throw bad('the file must begin as a .npy file does');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = bytes[6] === 1 ? 10 : 12;
  const end = start + (bytes[6] === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  if (end - start > MOST_BYTES)
    throw bad(`the header of a .npy file must have at most ${MOST_BYTES} bytes, got ${end - start}`);
  const head = new TextDecoder('latin1').decode(bytes.subarray(start, end));
  const descr = /'descr': *'([^']*)'/.exec(head)?.[1] ?? '';
  const dtype = Object.hasOwn(DTYPE_OF, descr) ? DTYPE_OF[descr] : undefined;
  if (!dtype)
    throw bad(`the dtype of a .npy file must be one of ${Object.keys(DTYPE_OF).join(', ')}, got ${quoted(descr)}`);
  const sizes = /'shape': *\(([^)]*)\)/.exec(head)?.[1];
  if (sizes === undefined) throw bad('the header of the .npy file must have a shape');
  const shape = sizes
    .split(',')
    .filter((n) => n.trim())
    .map(Number);
  if (!shape.every((n) => Number.isSafeInteger(n) && n >= 0))
    throw bad(`the shape of the .npy file must be a tuple of sizes, got ${quoted(sizes)}`);
  if (shape.length > MOST_DIMENSIONS)
    throw bad(`the .npy file must have at most ${MOST_DIMENSIONS} dimensions, got ${shape.length}`);
  const Type = DTYPES[dtype].Array;
  const size = shape.reduce((a, b) => a * b, partsOf(dtype)) * Type.BYTES_PER_ELEMENT;
  if (!(end + size <= bytes.length))
    throw bad(`the .npy file is truncated: got ${bytes.length} ` + `of ${end + size} bytes`);
  // A new Uint8Array, because slice() of a Node Buffer copies nothing.
  const data = new Type(new Uint8Array(bytes.subarray(end, end + size)).buffer);
  const tensor = /** @type {Tensor} */ ({ dtype, shape, data });
  return /'fortran_order': *True/.test(head) ? rowMajor(tensor) : tensor;
}

/** Puts elements from column-major order into row-major order. @param {Tensor} tensor @returns {Tensor} */
function rowMajor({ dtype, shape, data }) {
  const out = /** @type {Record<number, number | bigint | undefined>} */ (data.slice());
  const index = shape.map(() => 0),
    parts = partsOf(dtype);
  for (let from = 0; from < data.length; from += parts) {
    const to = index.reduce((at, i, d) => at * /** @type {number} */ (shape[d]) + i, 0) * parts;
    for (let k = 0; k < parts; k++) out[to + k] = data[from + k];
    for (let d = 0; d < shape.length; d++) {
      // The first index changes fastest.
      index[d] = /** @type {number} */ (index[d]) + 1;
      if (index[d] !== shape[d]) break;
      index[d] = 0;
    }
  }
  return /** @type {Tensor} */ ({ dtype, shape, data: out });
}

/**
 * Writes a .npy file of format 1.
 * @param {Tensor} tensor
 * @returns {import('../base/types.js').Owned<Uint8ArrayConstructor>}
 * @throws {RushlightError} `unsupported`: numpy has no bfloat16
 */
export function writeNpy(tensor) {
  const { dtype, shape, data } = tensorParts('writeNpy', tensor);
  const descr = Object.keys(DTYPE_OF).find((key) => DTYPE_OF[key] === dtype);
  if (!descr) throw new RushlightError('unsupported', `.npy files have no dtype ${dtype}: use writeSafetensors()`);
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  let head = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  head = head.padEnd(Math.ceil((head.length + 11) / 64) * 64 - 11) + '\n'; // elements start at a multiple of 64
  const out = new Uint8Array(10 + head.length + data.byteLength);
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]);
  out.set(new TextEncoder().encode(head), 10);
  out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 10 + head.length);
  return out;
}
