// Optional packages: those of the project in the current folder, or those beside this package.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { RushlightError, badArgument } from '../src/base/errors.js';

/** Imports a package. Returns undefined if it is not installed. @param {string} name */
export async function importOptional(name) {
  for (const from of [join(process.cwd(), 'package.json'), fileURLToPath(import.meta.url)]) {
    let path;
    try {
      path = createRequire(from).resolve(name);
    } catch {
      continue;
    }
    const module = await import(pathToFileURL(path).href);
    return 'default' in module ? module.default : module; // CommonJS has all of it there
  }
  return undefined;
}

/**
 * Returns the options of load() for a device.
 * @param {string} device
 */
export async function deviceOptions(device) {
  if (device !== 'cpu' && device !== 'webgpu' && device !== 'auto')
    throw badArgument(`--device must be cpu, webgpu or auto, got "${device}"`);
  const webgpu = device === 'cpu' ? undefined : await importOptional('webgpu');
  if (device === 'webgpu' && !webgpu)
    throw new RushlightError('unsupported', '--device webgpu needs the package webgpu: npm install webgpu');
  return { device, ...(webgpu && { gpu: /** @type {object} */ (webgpu.create([])) }) };
}

/** Imports the packages that models of text need. loadText() names those that are missing. */
export async function textLibraries() {
  const [tokenizers, jinja] = await Promise.all(['@huggingface/tokenizers', '@huggingface/jinja'].map(importOptional));
  return { ...(tokenizers && { tokenizers }), ...(jinja && { jinja }) };
}
