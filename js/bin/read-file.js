// Reads local files.

import { readFile } from 'node:fs/promises';
import { unreadableFile } from '../src/base/errors.js';

/** Reads a file, or throws an error that names it. @param {string} path */
export const readLocal = (path) =>
  readFile(path).catch((e) => {
    throw unreadableFile(path, e);
  });
