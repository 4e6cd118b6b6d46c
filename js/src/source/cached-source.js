// A cached source. It reads from the store what is there, and from the network the rest, which it adds to the store.

import { RushlightError } from '../base/errors.js';
import { Check } from './integrity.js';
import { cancelBody, Download, isBroken, isTemporary, sameVersion, versionOf } from './download.js';
import { asPath } from '../base/platform.js';
import { checkResponse, open } from './source.js';
import { openStore } from './cache-store.js';
import { asResponse } from './streams.js';
import { DownloadLock } from './download-lock.js';

/**
 * @typedef {import('./source.js').Source} Source
 * @typedef {import('./cache-store.js').Store} Store
 * @typedef {import('./download.js').DownloadOptions & { cache?: 'auto' | (string & {}) | false, integrity?: string }}
 *   Options
 *
 * @typedef {object} Kept the record of a file whose pieces are in the store
 * @property {string} url
 * @property {string} etag
 * @property {string} modified
 * @property {number} bytes of the whole
 * @property {string[]} pieces their SHA-256, which are their names: all pieces of the file, or the first ones
 *   that have come
 * @property {string[]} integrity digests that the whole file had
 */

/** The size of each piece except the last. */
export const PIECE = 4 << 20;

const hex = async (/** @type {Uint8Array} */ bytes) =>
  Array.from(
    new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes))),
    (b) => b.toString(16).padStart(2, '0'),
  ).join('');

const text = new TextDecoder(),
  encoder = new TextEncoder();

const areTexts = (/** @type {unknown} */ v) => Array.isArray(v) && v.every((item) => typeof item === 'string');

/**
 * Reads a record. Returns undefined for a damaged one, which a crash or another program can leave.
 * @param {Store} store @param {string} name @returns {Promise<Kept | undefined>}
 */
async function readRecord(store, name) {
  const bytes = await store.read(name);
  try {
    const record = bytes && JSON.parse(text.decode(bytes)),
      { url, etag, modified, pieces, integrity } = record;
    return areTexts([url, etag, modified]) &&
      areTexts(pieces) &&
      areTexts(integrity) &&
      Number.isSafeInteger(record.bytes)
      ? record
      : undefined;
  } catch {
    return undefined;
  }
}

/** @param {Store} store @param {string} name @param {Kept} record */
const writeRecord = (store, name, record) => store.write(name, encoder.encode(JSON.stringify(record)));

/** Reads the records of whole files, or of parts. @param {Store} store @param {'url' | 'part'} [kind] */
export async function records(store, kind = 'url') {
  const names = (await store.names()).filter((name) => name.startsWith(kind));
  return (await Promise.all(names.map((name) => readRecord(store, name)))).filter((record) => record !== undefined);
}

/** Removes the cached files of a URL. @param {Store} store @param {string} url */
export async function removeCached(store, url) {
  const id = await hex(encoder.encode(url));
  await Promise.all([store.remove(`url-${id}`), store.remove(`part-${id}`)]);
  await sweep(store);
}

/**
 * Removes pieces that belong to no file. A piece is written after the record that names it, so that pieces of a running
 * download stay.
 * @param {Store} store
 */
async function sweep(store) {
  const names = await store.names(),
    used = new Set();
  for (const name of (await store.names()).filter((name) => !name.startsWith('piece'))) {
    const record = await readRecord(store, name);
    if (!record) return; // a download is writing it; the next sweep checks it again
    for (const piece of record.pieces) used.add(`piece-${piece}`);
  }
  await Promise.all(
    names.filter((name) => name.startsWith('piece') && !used.has(name)).map((name) => store.remove(name)),
  );
}

/** Returns the address of a source that can be cached. @param {unknown} source */
function addressOf(source) {
  if (!(typeof source === 'string' || source instanceof URL) || asPath(source) !== undefined) return undefined;
  const { document, location } = /** @type {Partial<typeof globalThis>} */ (globalThis);
  try {
    const url = new URL(source, document?.baseURI ?? location?.href);
    url.hash = '';
    return /^https?:$/.test(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Loads a source through the cache. Several loads of one URL download it once: the others wait, and then read it from
 * the store.
 * @template T
 * @param {Source} source
 * @param {Options} options
 * @param {(source: Source, lock: DownloadLock) => Promise<T>} load reads the source to its end
 * @returns {Promise<T>}
 */
export async function loadCached(source, options, load) {
  const lock = new DownloadLock();
  try {
    return await load(await cachedSource(source, options, lock), lock);
  } finally {
    lock.end();
  }
}

/**
 * Returns a source that uses the cache. With `integrity`, the source fails at its end if the bytes have another digest.
 * @param {Source} source
 * @param {Options} options
 * @param {DownloadLock} [lock] is given if the caller reads the source at once; others would wait forever
 * @returns {Promise<Source>}
 */
export async function cachedSource(source, { cache, integrity, ...options }, lock) {
  const check = integrity === undefined ? undefined : new Check(integrity);
  const store = cache ? await openStore(cache) : undefined;
  const url = addressOf(source);
  if (url === undefined) {
    if (!check) return source;
    const opened = await open(source, options);
    // Without this name, messages would call it a stream.
    const name = opened.name === 'the bytes' ? 'the given bytes' : opened.name;
    return asResponse(checked(opened.chunks, check, name), name);
  }
  const control = new AbortController(),
    { signal } = options;
  const stop = () => control.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  const job = new Job(url, { ...options, signal: control.signal }, check, store);
  try {
    const response = await (store && lock ? job.beginLocked(lock, `${cache} ${url}`) : job.begin());
    return asResponse(job.bytes(response), url, () => {
      signal?.removeEventListener('abort', stop);
      stop();
    });
  } catch (e) {
    signal?.removeEventListener('abort', stop);
    throw e;
  }
}

/** @param {AsyncIterable<Uint8Array>} chunks @param {Check} check @param {string} name */
async function* checked(chunks, check, name) {
  for await (const chunk of chunks) {
    check.update(chunk);
    yield chunk;
  }
  check.end(name);
}

class Job {
  #id = '';
  /** @type {Kept | undefined} the record whose pieces are used */ #known;
  /** @type {string[]} digests of the pieces in the store */ #pieces = [];
  #buffer = new Uint8Array(0);
  #filled = 0;

  /**
   * @param {string} url
   * @param {import('./download.js').DownloadOptions} options
   * @param {Check | undefined} check
   * @param {Store | undefined} store
   */
  constructor(url, options, check, store) {
    this.url = url;
    this.options = options;
    this.check = check;
    this.store = store;
    this.download = this.#newDownload();
  }

  #newDownload() {
    return new Download(this.url, this.options, this.check !== undefined);
  }

  /** Whether the store may lack some of the bytes. */
  get #incomplete() {
    const known = this.#known;
    return !known || known.pieces.length * PIECE < known.bytes;
  }

  /**
   * Begins, and waits for other downloads of the file instead of downloading it as well.
   * @param {DownloadLock} lock @param {string} name
   * @returns {Promise<Response | undefined>}
   */
  async beginLocked(lock, name) {
    const { signal } = this.options;
    const { whole } = await this.#findRecord().catch(() => this.#withoutStore());
    let response = whole && (await this.begin());
    if (whole && (!this.#incomplete || !this.store)) return response;
    if (!whole || !(await lock.begin(name, { ifAvailable: true }))) {
      cancelBody(response);
      this.download = this.#newDownload();
      await lock.begin(name, signal ? { signal } : {});
      response = await this.begin();
    }
    // A file without validators and without a digest, and a file that is not stored, are of no use to other loads.
    const { etag, modified } = this.download.version;
    if (!this.#incomplete || !this.store || !(etag || modified || this.check)) lock.end();
    return response;
  }

  /** @param {Response} [response] @param {Kept} [known] */
  #use(response, known) {
    this.#known = known;
    if (known) {
      this.download.version = known;
      this.download.size = known.bytes;
    } else if (response) {
      checkResponse(response, this.url, 'a .rush file');
      this.download.begin(response);
      if (response.status === 206)
        throw new RushlightError('network', `the server must send the whole of ${this.url}, got a part (HTTP 206)`, {
          source: this.url,
          actual: 206,
        });
      if (/no-store/.test(response.headers.get('cache-control') ?? '')) this.store = undefined;
    }
    return response;
  }

  /**
   * Asks the server if that is needed.
   * @returns {Promise<Response | undefined>} the bytes that the store lacks, or all
   */
  async begin() {
    const { check, download } = this;
    const { whole, part } = await this.#findRecord().catch(() => this.#withoutStore());
    if (whole && check?.accepts(whole.integrity)) return this.#use(undefined, whole);
    /** @type {Response | undefined} */ let response;
    if (whole && !check?.refuses(whole.integrity)) {
      try {
        response = await download.askIfChanged(whole);
      } catch (e) {
        if (!isBroken(e)) throw e;
      }
      if (
        !response ||
        response.status === 304 ||
        isTemporary(response.status) ||
        (response.ok && sameVersion(versionOf(response), whole))
      ) {
        cancelBody(response);
        return this.#use(undefined, whole);
      }
      if (!part || !sameVersion(versionOf(response), part)) return this.#use(response);
      cancelBody(response);
    }
    if (part && download.canResume(part)) {
      this.#use(undefined, part);
      download.at = part.pieces.length * PIECE;
      response = await download.askRest();
      const rest = download.isRemainder(response);
      download.at = 0;
      if (rest) return response;
      if (response.status === 200) return this.#use(response);
      cancelBody(response);
    }
    return this.#use(await download.ask({}, whole && { cache: 'no-cache' }));
  }

  #withoutStore() {
    this.store = undefined;
    return { whole: undefined, part: undefined };
  }

  async #findRecord() {
    const { store, check } = this;
    if (!store) return this.#withoutStore();
    this.#id = await hex(encoder.encode(this.url));
    const [whole, part] = await Promise.all([
      readRecord(store, `url-${this.#id}`),
      readRecord(store, `part-${this.#id}`),
    ]);
    if (!check || (whole && check.accepts(whole.integrity))) return { whole, part };
    return { whole: (await records(store)).find((other) => check.accepts(other.integrity)) ?? whole, part };
  }

  /** @param {Response} [response] */
  async *bytes(response) {
    const { check, download } = this,
      known = this.#known;
    for (const piece of known?.pieces ?? []) {
      const bytes = await this.#read(piece);
      if (!bytes) break;
      this.#pieces.push(piece);
      check?.update(bytes);
      download.at += bytes.length;
      yield bytes;
    }
    const missing = !known || download.at < known.bytes;
    if (missing) {
      if (known && download.at < known.pieces.length * PIECE) {
        cancelBody(response); // it begins after the missing piece
        response = undefined;
      }
      for await (const chunk of download.chunks(response)) {
        check?.update(chunk);
        await this.#keep(chunk);
        yield chunk;
      }
    }
    let digest;
    try {
      digest = check?.end(this.url);
    } catch (e) {
      await this.#put(async (store) => {
        await store.remove(`part-${this.#id}`);
        await sweep(store);
      });
      throw e;
    }
    if (missing || (digest && !known.integrity.includes(digest))) await this.#finish(digest);
  }

  /** Reads a piece and checks its digest. @param {string} piece */
  async #read(piece) {
    const bytes = await this.store?.read(`piece-${piece}`).catch(() => undefined);
    return bytes && (await hex(bytes)) === piece ? bytes : undefined;
  }

  /** @param {Uint8Array} chunk */
  async #keep(chunk) {
    if (!this.store) return;
    if (this.#buffer.length === 0) this.#buffer = new Uint8Array(PIECE);
    for (let at = 0; at < chunk.length;) {
      const n = Math.min(PIECE - this.#filled, chunk.length - at);
      this.#buffer.set(chunk.subarray(at, at + n), this.#filled);
      this.#filled += n;
      at += n;
      if (this.#filled === PIECE) await this.#putPiece();
    }
  }

  /** @param {string[]} [integrity] @returns {Kept} */
  #record(integrity = []) {
    const {
      size = 0,
      version: { etag, modified },
    } = this.download;
    return { url: this.url, etag, modified, bytes: size, pieces: this.#pieces, integrity };
  }

  async #putPiece() {
    const bytes = this.#buffer.subarray(0, this.#filled);
    this.#filled = 0;
    if (this.download.size === undefined) this.store = undefined; // only models are cached
    if (!this.store) return;
    const piece = await hex(bytes);
    this.#pieces.push(piece);
    await this.#put(async (store) => {
      await writeRecord(store, `part-${this.#id}`, this.#record());
      await store.write(`piece-${piece}`, bytes);
    });
  }

  /**
   * Writes to the store. If the store is full, it removes an older version of the file. If that is not enough, the file
   * is not cached.
   * @param {(store: Store) => Promise<unknown>} write
   */
  async #put(write) {
    const { store } = this;
    if (!store) return;
    try {
      await write(store).catch(async () => {
        await store.remove(`url-${this.#id}`);
        await sweep(store);
        await write(store);
      });
    } catch {
      this.store = undefined;
      await removeCached(store, this.url).catch(() => {});
    }
  }

  /** @param {string} [digest] */
  async #finish(digest) {
    if (this.#filled > 0) await this.#putPiece();
    await this.#put(async (store) => {
      const there = new Set(await store.names());
      if (this.download.at === this.download.size && this.#pieces.every((piece) => there.has(`piece-${piece}`))) {
        await writeRecord(store, `url-${this.#id}`, this.#record(digest ? [digest] : []));
      }
      await store.remove(`part-${this.#id}`);
      await sweep(store);
    });
  }
}
