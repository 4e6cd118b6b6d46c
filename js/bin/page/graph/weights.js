// Reads the weights of the file. A run shows packed weights without their values.

import { Head } from '../../records.js';

/** @param {number} at @param {number} size */
async function read(at, size) {
  const response = await fetch('/model.rush', { headers: { range: `bytes=${at}-${at + size - 1}` } });
  if (!response.ok) throw new Error(`the weights cannot be read: HTTP ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return response.status === 206 ? bytes : bytes.slice(at, at + size); // a server without ranges sends everything
}

/** @type {Promise<Head> | undefined} */ let head;

/**
 * Reads a tensor of the file by its name, such as "conv1.weight".
 * @param {string} name
 */
export const weightNamed = async (name) => (await (head ??= Head.read(read))).tensor(name);
