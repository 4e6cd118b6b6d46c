/**
 * .safetensors files: https://huggingface.co/docs/safetensors
 * @module rushlight/safetensors
 */
// A file has the size of a JSON text as uint64, the text { NAME: { dtype, shape, data_offsets: [from, to] } }, and the
// elements.

import { RushlightError, badArgument, describeValue } from '../base/errors.js';
import { fileBytes, quoted, tensorParts } from './checks.js';
import { DTYPES, partsOf } from '../base/types.js';

/** @import { DType, Tensor } from '../base/types.js' */

/** @type {Record<string, DType>} */
const DTYPE_OF = {
  F32: 'float32',
  F64: 'float64',
  F16: 'float16',
  BF16: 'bfloat16',
  C64: 'complex64',
  I32: 'int32',
  I64: 'int64',
  I16: 'int16',
  I8: 'int8',
  U8: 'uint8',
  BOOL: 'bool',
};

/** @param {string} message */
const bad = (message) => new RushlightError('bad-file', `the .safetensors file is not valid: ${message}`);

/**
 * Reads all tensors of a file.
 * @param {ArrayBuffer | Uint8Array} file
 * @returns {Record<string, Tensor>} by name, not sharing the file's memory
 * @throws {RushlightError} `bad-file`, also for dtypes that Rushlight does not have
 */
export function readSafetensors(file) {
  const bytes = fileBytes('readSafetensors', file);
  if (bytes.length < 8) throw bad('it must have at least 8 bytes');
  const start = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true));
  if (!(start <= bytes.length)) throw bad('its head is truncated');
  let head;
  try {
    head = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, start)));
  } catch {
    throw bad('its head must be JSON in UTF-8');
  }
  if (!isRecord(head)) throw bad('its head must be a JSON object');
  const entries = Object.entries(head)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, entry]) => readEntry(name, entry));
  checkRanges(entries, bytes.length - start);
  return Object.fromEntries(
    entries.map(({ name, dtype, shape, from, to }) => {
      const data = new DTYPES[dtype].Array(new Uint8Array(bytes.subarray(start + from, start + to)).buffer);
      return [name, /** @type {Tensor} */ ({ dtype, shape, data })];
    }),
  );
}

/** @param {unknown} v @returns {v is Record<string, unknown>} */
const isRecord = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const isSize = (/** @type {unknown} */ n) => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0;

/** @param {string} name @param {unknown} entry */
function readEntry(name, entry) {
  const { dtype: given, shape, data_offsets: range } = isRecord(entry) ? entry : {};
  if (typeof given !== 'string' || !Object.hasOwn(DTYPE_OF, given))
    throw bad(
      `the dtype of ${quoted(name)} must be one of ${Object.keys(DTYPE_OF).join(', ')}, got ${describeValue(given)}`,
    );
  if (!Array.isArray(shape) || !shape.every(isSize))
    throw bad(`the shape of ${quoted(name)} must be an array of sizes, got ${describeValue(shape)}`);
  const dtype = /** @type {DType} */ (DTYPE_OF[given]),
    size = shape.reduce((a, b) => a * b, partsOf(dtype)) * DTYPES[dtype].Array.BYTES_PER_ELEMENT;
  if (!Array.isArray(range) || range.length !== 2 || !range.every(isSize) || range[1] - range[0] !== size)
    throw bad(`the range of ${quoted(name)} must have ${size} bytes, got ${describeValue(range)}`);
  return { name, dtype, shape, from: Number(range[0]), to: Number(range[1]) };
}

/**
 * Refuses ranges that overlap or leave out bytes. In this format, each byte belongs to one tensor.
 * @param {ReturnType<typeof readEntry>[]} entries
 * @param {number} length of all elements
 */
function checkRanges(entries, length) {
  let end = 0,
    last = 'the beginning';
  for (const { name, from, to } of [...entries].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (to > length) throw bad(`the range of ${quoted(name)} ends behind the file`);
    if (from !== end)
      throw bad(`the range of ${quoted(name)} ${from < end ? 'overlaps that of' : 'leaves a gap after'} ${last}`);
    [end, last] = [to, quoted(name)];
  }
  if (end !== length) throw bad(`${length - end} bytes at its end belong to no tensor`);
}

/** @param {DType} dtype */
function kindOf(dtype) {
  const name = Object.keys(DTYPE_OF).find((key) => DTYPE_OF[key] === dtype);
  if (!name) throw new RushlightError('unsupported', `.safetensors files have no dtype ${dtype}: use writeNpy()`);
  return name;
}

/**
 * Writes a file.
 * @param {Record<string, Tensor>} tensors by name
 * @returns {import('../base/types.js').Owned<Uint8ArrayConstructor>}
 * @throws {RushlightError} `unsupported`: the format has no complex128
 */
export function writeSafetensors(tensors) {
  if (!isRecord(tensors))
    throw badArgument(`writeSafetensors: the tensors must be an object by name, got ${describeValue(tensors)}`);
  for (const [name, tensor] of Object.entries(tensors)) tensorParts(`writeSafetensors: "${name}"`, tensor);
  let at = 0;
  // Large elements come first, so that the offset of each tensor is a multiple of the size of its elements.
  const entries = Object.entries(tensors).sort((a, b) => b[1].data.BYTES_PER_ELEMENT - a[1].data.BYTES_PER_ELEMENT);
  const head = Object.fromEntries(
    entries.map(([name, { dtype, shape, data }]) => [
      name,
      {
        dtype: kindOf(dtype),
        shape,
        data_offsets: [at, (at += data.byteLength)],
      },
    ]),
  );
  let text = JSON.stringify(head);
  const encoder = new TextEncoder();
  text += ' '.repeat(-encoder.encode(text).length & 7);
  const json = encoder.encode(text);
  const out = new Uint8Array(8 + json.length + at);
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true);
  out.set(json, 8);
  let to = 8 + json.length;
  for (const [, { data }] of entries) {
    out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), to);
    to += data.byteLength;
  }
  return out;
}
