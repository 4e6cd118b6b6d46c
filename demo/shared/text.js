// Shared by the pages of language models: loads the model of a manifest with its tokenizer.

import { loadText } from '../../js/src/text/load-text.js'; // in a project of yours: from 'rushlight/text'
import { loadBy } from './page.js';

/**
 * Loads the text model of a manifest in a worker, showing progress and then facts in `where`.
 * @param {string} folder with manifest.json, and the packages @huggingface/tokenizers and @huggingface/jinja for a page
 *   without a bundler
 * @param {HTMLElement} where
 * @param {import('./device.js').Device} [device]
 */
export async function loadTextModel(folder, where, device = 'cpu') {
  const [tokenizers, jinja] = await Promise.all(
    ['tokenizers', 'jinja'].map((name) => import(`${folder}/${name}.mjs`)),
  ).catch(() => {
    throw new Error('There is no tokenizer yet. Run ./dev demo first.');
  });
  const options = { worker: true, threads: /** @type {const} */ ('auto'), device, tokenizers, jinja };
  return loadBy(loadText, ({ model }) => model, folder, where, options);
}
