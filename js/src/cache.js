/**
 * Models that are kept on this machine: in a page the browser's storage for this site, in Node a folder. `load(url, { cache: 'auto' })`
 * uses it; this module says what is there, and is for service workers, which cannot import what load() would.
 * @module rushlight/cache
 */

import { checkOptions } from './errors.js';
import { PIECE, forget, keptSource, records } from './kept.js';
import { openStore } from './store.js';

/**
 * @typedef {object} CachedOptions what cached() may be told
 * @property {'auto' | (string & {}) | false} [cache] the name of a cache; 'auto', the default, is the one called "models". In Node also
 *   the path of a folder
 * @property {string} [integrity] digests of which the bytes must have one: "sha256-BASE64", sha384 or sha512, several with spaces
 *   between; of different kinds the strongest counts
 * @property {import('./source.js').FetchOptions | undefined} [request] for fetch(): headers, credentials and so on
 * @property {AbortSignal} [signal] stops the download
 * @property {number} [retries] how often in a row without a new byte a broken download is tried again (5)
 * @property {(ms: number) => Promise<unknown>} [wait] how it waits before that; by default with a timer: 0.5 s, 1 s, 2 s and so on
 *
 * @typedef {object} CacheOptions which cache
 * @property {'auto' | (string & {})} [cache] the name of the cache, as for load()
 *
 * @typedef {object} CachedModel a model that is kept, or the part of it that has come
 * @property {string} url where it came from
 * @property {number} bytes of the file
 * @property {number} kept bytes that are here: all of them, or what came of a download that broke off, and goes on from there
 * @property {string} etag the server's name for this version; "" where it gave none
 * @property {string[]} integrity digests that it was found to have
 */

/**
 * A source for load() and plan() that keeps what it gives, as load()'s options `cache` and `integrity` do:
 * `load(await cached(url))`.
 * @param {import('./source.js').Source} source a URL; anything else is only checked for `integrity`
 * @param {CachedOptions} [options]
 * @returns {Promise<import('./source.js').Source>} to be used once
 * @throws {RushlightError} as load() for what does not arrive; `bad-file` comes at the end of bytes whose digest is another
 */
export async function cached(source, options = {}) {
  checkOptions('cached', options, ['cache', 'integrity', 'request', 'signal', 'retries', 'wait']);
  return keptSource(source, { cache: 'auto', ...options });
}

/** @param {CacheOptions} options */
async function storeOf(options) {
  checkOptions('cache', options, ['cache']);
  return openStore(options.cache ?? 'auto');
}

/**
 * What is kept. Of a model of which a new version is on its way both are listed.
 * @param {CacheOptions} [options]
 * @returns {Promise<CachedModel[]>} empty where nothing can be kept
 */
export async function list(options = {}) {
  const store = await storeOf(options);
  if (!store) return [];
  const of = (/** @type {import('./kept.js').Kept} */ { url, bytes, pieces, etag, integrity }) => ({ url, bytes, kept: Math.min(bytes, pieces.length * PIECE), etag, integrity });
  return [...await records(store), ...await records(store, 'part')].map(of).sort((a, b) => (a.url < b.url ? -1 : 1));
}

/**
 * How many bytes are kept. What files have in common counts once.
 * @param {CacheOptions} [options]
 */
export async function size(options = {}) {
  const store = await storeOf(options);
  /** @type {Map<string, number>} */ const pieces = new Map();
  for (const record of store ? [...await records(store), ...await records(store, 'part')] : []) {
    record.pieces.forEach((piece, i) => pieces.set(piece, Math.min(PIECE, record.bytes - i * PIECE)));
  }
  return [...pieces.values()].reduce((sum, n) => sum + n, 0);
}

/**
 * Removes a model.
 * @param {string | URL} url as in list()
 * @param {CacheOptions} [options]
 */
export async function remove(url, options = {}) {
  const store = await storeOf(options);
  if (store) await forget(store, String(url));
}

/**
 * Removes all models of a cache.
 * @param {CacheOptions} [options]
 */
export async function clear(options = {}) {
  await (await storeOf(options))?.clear();
}
