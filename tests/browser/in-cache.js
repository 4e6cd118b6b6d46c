// What cache.test.js does in a page, in a worker and in a service worker: loads a model, and says what it gave and what
// is kept.

import { cached, clear, list, size } from '../../js/src/api/cache.js';
import { load } from '../../js/src/index.js';

/**
 * @param {{ url: string, options?: any, by?: 'load', empty?: boolean, cut?: number }} step by: load() with its own
 *   options; empty: clears
 *   the cache first; cut: after this many bytes, the server is told to break off
 * @returns {Promise<{ first?: number, code?: string, message?: string, kept: number[], size: number }>}
 */
export async function use({ url, options = {}, by, empty = false, cut = Infinity }) {
  if (empty) await clear();
  const onProgress = (/** @type {{ loaded: number }} */ { loaded }) => {
    if (loaded < cut) return;
    cut = Infinity;
    void fetch(url.replace(/m\.rush|other\.rush/, 'cut'));
  };
  let result = {};
  try {
    const model = await (by
      ? load(url, { cache: 'auto', ...options })
      : load(await cached(url, { ...options, wait: async () => {} }), { onProgress }));
    const { y } = await model.run({});
    model.dispose();
    result = { first: /** @type {any} */ (y).data[0] };
  } catch (e) {
    const { code, message } = /** @type {any} */ (e);
    result = { code, message };
  }
  return { ...result, kept: (await list()).map((m) => m.kept), size: await size() };
}
