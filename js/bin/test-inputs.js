// Reads the inputs of a file's first test vector.

import { open } from 'node:fs/promises';
import { Head } from './records.js';

/** @typedef {import('../src/base/types.js').InputValue} InputValue */

/**
 * Returns the inputs of the first test vector of each method, by the method's index. A method without test vectors is
 * missing, and one with a value that has no form in JavaScript.
 * @param {string} path
 * @returns {Promise<Map<number, InputValue[]>>}
 */
export async function readTestInputs(path) {
  const file = await open(path);
  try {
    const head = await Head.read(async (at, size) => {
      const bytes = new Uint8Array(size);
      await file.read(bytes, 0, size, at);
      return bytes;
    });
    return await head.testInputs();
  } finally {
    await file.close();
  }
}
