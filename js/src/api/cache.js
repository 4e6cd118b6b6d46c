/**
 * Models that are kept on this machine: in a page the browser's storage for this site, in Node a folder. `load(url, {
 * cache: 'auto' })`
 * uses it; this module says what is there, and is for service workers, which cannot import what load() would.
 * @module rushlight/cache
 */

import {
  RushlightError,
  withCallerStack,
  badArgument,
  checkOptions,
  checkInteger,
  describeValue,
  messageOf,
} from '../base/errors.js';
import { addHint } from '../engine/error-hints.js';
import { PIECE, removeCached, cachedSource, records } from '../source/cached-source.js';
import { isAddress } from '../base/platform.js';
import { openStore } from '../source/cache-store.js';
import { isPlainObject } from '../engine/values.js';

/**
 * @typedef {object} CachedOptions what cached() may be told
 * @property {'auto' | (string & {}) | false} [cache] the name of a cache; 'auto', the default, is the one called
 *   "models". In Node also
 *   the path of a folder
 * @property {string} [integrity] digests of which the bytes must have one: "sha256-BASE64", sha384 or sha512, several
 *   with spaces
 *   between; of different kinds the strongest counts
 * @property {import('../source/source.js').FetchOptions | undefined} [request] for fetch(): headers, credentials and so
 *   on
 * @property {AbortSignal} [signal] stops the download
 * @property {number} [retries] how often in a row without a new byte a broken download is tried again (5)
 * @property {(ms: number) => Promise<unknown>} [wait] how it waits before that; by default with a timer: 0.5 s, 1 s, 2
 *   s and so on
 *
 * @typedef {object} CacheOptions which cache
 * @property {'auto' | (string & {})} [cache] the name of the cache, as for load()
 *
 * @typedef {object} CachedModel a model that is kept, or the part of it that has come
 * @property {string} url where it came from
 * @property {number} bytes of the file
 * @property {number} kept bytes that are here: all of them, or what came of a download that broke off, and goes on from
 *   there
 * @property {string} etag the server's name for this version; "" where it gave none
 * @property {string[]} integrity digests that it was found to have
 */

/**
 * A source for load() and plan() that keeps what it gives, as load()'s options `cache` and `integrity` do:
 * `load(await cached(url))`.
 * @param {import('../source/source.js').Source} source a URL; anything else is only checked for `integrity`
 * @param {CachedOptions} [options]
 * @returns {Promise<import('../source/source.js').Source>} to be used once
 * @throws {RushlightError} as load() for what does not arrive; `bad-file` comes at the end of bytes whose digest is
 *   another
 */
export function cached(source, options = {}) {
  return withCallerStack(async () => {
    checkOptions('cached', options, ['cache', 'integrity', 'request', 'signal', 'retries', 'wait']);
    const { request, retries, wait } = options;
    if (request !== undefined && !isPlainObject(request))
      throw badArgument(`cached: request must be an object, as fetch() takes it, got ${describeValue(request)}`);
    if (retries !== undefined && retries !== Infinity) checkInteger('cached: retries', retries, 0);
    if (wait !== undefined && typeof wait !== 'function')
      throw badArgument(`cached: wait must be a function, got ${describeValue(wait)}`);
    return cachedSource(source, { cache: 'auto', ...options }).catch((e) => {
      throw addHint(e);
    });
  });
}

/**
 * Does something with a cache; gives `otherwise` where nothing can be kept.
 * @template T
 * @param {CacheOptions} options
 * @param {T} otherwise
 * @param {(store: import('../source/cache-store.js').Store) => Promise<T>} use
 * @returns {Promise<T>}
 */
const inStore = (options, otherwise, use) =>
  withCallerStack(async () => {
    checkOptions('cache', options, ['cache']);
    const store = await openStore(options.cache ?? 'auto');
    try {
      return store ? await use(store) : otherwise;
    } catch (cause) {
      throw new RushlightError('unreadable', `the cache cannot be used: ${messageOf(cause)}`, { cause });
    }
  });

/** The records of whole files and of parts. @param {import('../source/cache-store.js').Store} store */
const every = async (store) => [...(await records(store)), ...(await records(store, 'part'))];

/**
 * What is kept. Of a model of which a new version is on its way both are listed.
 * @param {CacheOptions} [options]
 * @returns {Promise<CachedModel[]>} empty where nothing can be kept
 */
export function list(options = {}) {
  const of = (/** @type {import('../source/cached-source.js').Kept} */ { url, bytes, pieces, etag, integrity }) => ({
    url,
    bytes,
    kept: Math.min(bytes, pieces.length * PIECE),
    etag,
    integrity,
  });
  return inStore(options, /** @type {CachedModel[]} */ ([]), async (store) =>
    (await every(store)).map(of).sort((a, b) => (a.url < b.url ? -1 : 1)),
  );
}

/**
 * How many bytes are kept. What files have in common counts once.
 * @param {CacheOptions} [options]
 * @returns {Promise<number>}
 */
export function size(options = {}) {
  return inStore(options, 0, async (store) => {
    /** @type {Map<string, number>} */ const pieces = new Map();
    for (const record of await every(store)) {
      record.pieces.forEach((piece, i) => pieces.set(piece, Math.min(PIECE, record.bytes - i * PIECE)));
    }
    return [...pieces.values()].reduce((sum, n) => sum + n, 0);
  });
}

/**
 * Removes a model.
 * @param {string | URL} url as in list()
 * @param {CacheOptions} [options]
 * @returns {Promise<void>}
 */
export function remove(url, options = {}) {
  if (!isAddress(url))
    return withCallerStack(() => {
      throw badArgument(`remove: url must be a string or a URL, got ${describeValue(url)}`);
    });
  return inStore(options, undefined, (store) => removeCached(store, String(url)));
}

/**
 * Removes all models of a cache.
 * @param {CacheOptions} [options]
 * @returns {Promise<void>}
 */
export function clear(options = {}) {
  return inStore(options, undefined, async (store) => {
    await store.clear();
  });
}
