// Decodes pictures in Node. A page has createImageBitmap for it.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

// The demos use the packages of the tests: ./dev setup installs them.
const require = createRequire(new URL('../../tests/package.json', import.meta.url));

/**
 * @param {string | URL} file a .png or .jpg; other files throw an Error
 * @returns {Promise<{width: number, height: number, data: Uint8Array}>} RGBA
 */
export async function decode(file) {
  const bytes = await readFile(file);
  try {
    if (bytes[0] === 0x89) return require('pngjs').PNG.sync.read(bytes);
    if (bytes[0] === 0xff) return require('jpeg-js').decode(bytes, { useTArray: true });
  } catch (e) {
    throw new Error(`${file} cannot be read as a picture: ${e instanceof Error ? e.message : e}`);
  }
  throw new Error(`${file} is neither a PNG nor a JPEG`);
}
