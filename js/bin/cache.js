// `npx rushlight cache`: lists and removes the models that are stored on this machine.

import { badArgument } from '../src/base/errors.js';
import { clear, list, remove, size as bytesIn } from '../src/api/cache.js';
import { escapeControls } from './printable.js';
import { counted, size } from './units.js';

/** @param {string} verb @param {{ json?: boolean }} flags @param {string[]} urls */
export async function cache(verb, { json }, urls) {
  if (verb === 'remove') return removeAll(urls);
  if (!['', 'list', 'clear'].includes(verb) || urls.length)
    throw badArgument(`cache must be followed by list, remove URL or clear, got "${[verb, ...urls].join(' ')}"`);
  if (verb === 'clear') await clear();
  const models = await list();
  if (json) process.stdout.write(`${JSON.stringify(models)}\n`);
  else {
    for (const { url, bytes, kept } of models)
      process.stdout.write(`${escapeControls(url)}  ${kept < bytes ? `${size(kept)} of ` : ''}${size(bytes)}\n`);
    process.stdout.write(`${counted(models.length, 'model')}, ${size(await bytesIn())}\n`);
  }
  return 0;
}

/** @param {string[]} urls */
async function removeAll(urls) {
  if (!urls.length) throw badArgument('cache remove needs the URL of a model, as cache list shows it');
  const known = (await list()).map(({ url }) => url);
  const other = urls.find((url) => !known.includes(url));
  if (other !== undefined) throw badArgument(`the cache has no model ${other}; see cache list`);
  for (const url of urls) await remove(url);
  return 0;
}
