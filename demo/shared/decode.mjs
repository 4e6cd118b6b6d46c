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
  const bytes = await readFile(file).catch((e) => {
    throw Object.assign(e, { path: e.path ?? String(file) }); // a folder's error has no path
  });
  const [png, jpeg] = [bytes[0] === 0x89, bytes[0] === 0xff];
  if (!png && !jpeg) throw new Error(`${file} is neither a PNG nor a JPEG`);
  const { PNG } = require('pngjs'),
    { decode: decodeJpeg } = require('jpeg-js');
  try {
    return png ? PNG.sync.read(bytes) : decodeJpeg(bytes, { useTArray: true });
  } catch (e) {
    throw new Error(`${file} is damaged: ${e instanceof Error ? e.message : e}`);
  }
}
