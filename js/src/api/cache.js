/**
 * Manages the models that are stored on this device: in the browser's storage of a site, and in Node in a folder.
 * `load(url, { cache: 'auto' })` stores them. This module lists and removes them. A service worker, which cannot import
 * modules at run time, uses cached().
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
import { imported, isAddress } from '../base/platform.js';
import * as ops from '../engine/ops.js';
import { openStore } from '../source/cache-store.js';
import { isPlainObject } from '../engine/values.js';

/**
 * @typedef {object} CachedOptions options of cached()
 * @property {'auto' | (string & {}) | false} [cache] the name of a cache, or in Node the path of a folder. The default
 *   'auto' is the cache "models"
 * @property {string} [integrity] digests "sha256-BASE64", sha384 or sha512, separated by spaces. The bytes must have
 *   one of the strongest kind
 * @property {import('../source/source.js').FetchOptions | undefined} [request] options of fetch(), such as headers and
 *   credentials
 * @property {AbortSignal} [signal] stops the download
 * @property {number} [retries] the number of attempts in a row without a new byte; 5 by default
 * @property {(ms: number) => Promise<unknown>} [wait] waits before the next attempt; by default a timer of 0.5 s, 1 s,
 *   2 s and so on
 *
 * @typedef {object} CacheOptions the choice of a cache
 * @property {'auto' | (string & {})} [cache] the name of the cache, as for load()
 *
 * @typedef {object} CachedModel a stored model, or the stored part of it
 * @property {string} url its address
 * @property {number} bytes the size of the file
 * @property {number} kept the bytes that are stored. After an interrupted download there are fewer than `bytes`
 * @property {string} etag the server's name for this version; "" if the server sent none
 * @property {string[]} integrity digests that the bytes have
 */

/**
 * Returns a source for load() and plan() that stores the model, as load()'s options `cache` and `integrity` do:
 * `load(await cached(url))`. A service worker, which cannot import modules at run time, needs it for `ops`, too.
 * @param {import('../source/source.js').Source} source a URL; anything else is only checked for `integrity`
 * @param {CachedOptions} [options]
 * @returns {Promise<import('../source/source.js').Source>} to be used once
 * @throws {RushlightError} as load(). If the digest differs, the source ends with `bad-file`
 */
export function cached(source, options = {}) {
  return withCallerStack(async () => {
    checkOptions('cached', options, ['cache', 'integrity', 'request', 'signal', 'retries', 'wait']);
    imported.ops = ops;
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
 * Runs a job on a cache. Returns `otherwise` if nothing can be stored.
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

/** Reads the records of whole files and of parts. @param {import('../source/cache-store.js').Store} store */
const allRecords = async (store) => [...(await records(store)), ...(await records(store, 'part'))];

/**
 * Lists the stored models. While a new version of a model arrives, the list has both versions.
 * @param {CacheOptions} [options]
 * @returns {Promise<CachedModel[]>} empty if this place has no storage
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
    (await allRecords(store)).map(of).sort((a, b) => (a.url < b.url ? -1 : 1)),
  );
}

/**
 * Returns the number of stored bytes. Pieces that files share count once.
 * @param {CacheOptions} [options]
 * @returns {Promise<number>}
 */
export function size(options = {}) {
  return inStore(options, 0, async (store) => {
    /** @type {Map<string, number>} */ const pieces = new Map();
    for (const record of await allRecords(store)) {
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
