// Checks of the arguments of the functions that read and write files.

import { badArgument, describeValue } from '../base/errors.js';
import { bytesOf, tagOf } from '../base/platform.js';

/** Returns the bytes of a file. @param {string} where @param {unknown} file @returns {Uint8Array} */
export function fileBytes(where, file) {
  if (!ArrayBuffer.isView(file) && !/^(Shared)?ArrayBuffer$/.test(tagOf(file) ?? ''))
    throw badArgument(`${where}: the file must be an ArrayBuffer or a Uint8Array, got ${describeValue(file)}`);
  try {
    return bytesOf(file);
  } catch (cause) {
    throw badArgument(`${where}: the buffer was transferred before`, { cause });
  }
}

/** Quotes a text of a file for a message. @param {string} text */
export const quoted = (text) => `"${text.length > 100 ? `${text.slice(0, 100)}…` : text}"`;

/**
 * Checks that a value has the fields of a tensor, and returns it.
 * @param {string} where
 * @param {import('../base/types.js').Tensor} tensor
 * @returns {import('../base/types.js').Tensor}
 */
export function tensorParts(where, tensor) {
  const { dtype, shape, data } = tensor ?? {};
  if (
    typeof dtype !== 'string' ||
    !Array.isArray(shape) ||
    !shape.every((s) => Number.isSafeInteger(s) && s >= 0) ||
    !ArrayBuffer.isView(data)
  )
    throw badArgument(`${where}: a tensor must be { dtype, shape, data }, got ${describeValue(tensor)}`);
  return tensor;
}
