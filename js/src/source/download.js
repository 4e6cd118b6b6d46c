// Downloads a URL. After a broken connection it requests the missing bytes by Range, if the file is still the same.

import { RushlightError, badArgument, callbackFailed, messageOf, throwIfAborted } from '../base/errors.js';
import { builtin } from '../base/platform.js';
import { checkResponse, fetchSource, open } from './source.js';

/**
 * @typedef {object} Version the validators of a response; "" if the server sends none
 * @property {string} etag its ETag
 * @property {string} modified its Last-Modified
 *
 * @typedef {object} DownloadOptions
 * @property {import('./source.js').FetchOptions | undefined} [request] for fetch(): headers, credentials and so on
 * @property {AbortSignal} [signal] stops the download
 * @property {number} [retries] the number of attempts in a row without a new byte (5)
 * @property {(ms: number) => Promise<unknown>} [wait] waits before an attempt; by default a timer of 0.5 s, 1 s,
 *   2 s and so on
 */

/** @param {Response} response @returns {Version} */
export const versionOf = ({ headers }) => ({
  etag: headers.get('etag') ?? '',
  modified: headers.get('last-modified') ?? '',
});

/** Tests whether two responses certainly have the same version. @param {Version} a @param {Version} b */
export const sameVersion = (a, b) =>
  a.etag && b.etag
    ? a.etag.replace('W/', '') === b.etag.replace('W/', '')
    : a.modified !== '' && a.modified === b.modified;

/**
 * Tests whether two versions certainly have the same bytes. Weak validators do not show that.
 * @param {Version} a
 * @param {Version} b
 */
const sameBytes = (a, b) =>
  sameVersion(a, b) &&
  ((strongTag(a) === strongTag(b) && strongTag(a) !== '') || (a.modified !== '' && a.modified === b.modified));

/** @param {Version} version */
const strongTag = ({ etag }) => (etag.startsWith('W/') ? '' : etag);

/** Tests for errors of a busy server, which are temporary. @param {number} status */
export const isTemporary = (status) => status >= 500 || [408, 425, 429].includes(status);

/** Cancels a response. @param {Response} [response] */
export const cancelBody = (response) => void response?.body?.cancel().catch(() => {});

/** Tests for a failed connection, as opposed to an answer of the server. @param {unknown} e */
export const isBroken = (e) => e instanceof RushlightError && e.code === 'network' && e.actual === undefined;

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
const pause = (ms, signal) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });

/** Reads the headers of the option `request`. @param {unknown} request @returns {Headers} */
export function headersOf(request) {
  try {
    return new Headers(/** @type {RequestInit | undefined} */ (request)?.headers ?? undefined);
  } catch (cause) {
    throw badArgument(`request.headers must be headers, as fetch() takes them: ${messageOf(cause)}`, { cause });
  }
}

const FIRST_WAIT_MS = 500;
const MAGIC = '137,82,85,83,72,13,10,26',
  FILE_BYTES = 40;

/** The number of bytes that fileSize() reads. */
export const HEADER = 48;

/**
 * Returns the size of a .rush file from its header; undefined for other files.
 * @param {Uint8Array} head its first HEADER bytes, in their own buffer
 */
export const fileSize = (head) =>
  String(head.subarray(0, 8)) === MAGIC ? Number(new DataView(head.buffer).getBigUint64(FILE_BYTES, true)) : undefined;

export class Download {
  /** The number of bytes that have arrived. */
  at = 0;
  /** @type {number | undefined} the size in the header of the file; unknown for other files */ size;
  /** @type {Version} */ version = { etag: '', modified: '' };
  /** @type {number | undefined} the size that the server sends */ #length;
  #head = new Uint8Array(HEADER);
  #ranges = true;
  /**
   * Whether a page requests another origin. It sees few headers of the response, and the server may allow only simple
   * requests.
   */
  #foreign;

  /**
   * @param {string} url
   * @param {DownloadOptions} options
   * @param {boolean} checked whether a digest of the whole file will find wrong bytes
   */
  constructor(url, options, checked) {
    this.url = url;
    this.options = options;
    this.checked = checked;
    const { location } = /** @type {Partial<typeof globalThis>} */ (globalThis);
    this.#foreign = !builtin('node:fs') && location !== undefined && location.origin !== new URL(url).origin;
  }

  /** @param {Record<string, string>} [headers] @param {import('./source.js').FetchOptions} [init] */
  async ask(headers = {}, init = {}) {
    const { request, signal } = this.options;
    const all = headersOf(request);
    if (!this.#foreign) for (const [name, value] of Object.entries(headers)) all.set(name, value);
    else if (headers.range) all.set('range', headers.range);
    if (builtin('node:fs')) all.set('accept-encoding', 'identity'); // no ranges of compressed bytes
    return fetchSource(this.url, { ...init, ...request, headers: all }, signal);
  }

  /** Asks the server whether it has another version. @param {Version} known */
  askIfChanged({ etag, modified }) {
    return this.ask(
      { ...(etag && { 'if-none-match': etag }), ...(modified && { 'if-modified-since': modified }) },
      { cache: 'no-cache' },
    );
  }

  /** Requests the bytes from an offset on, of the same version only. */
  askRest() {
    const condition = strongTag(this.version) || this.version.modified;
    return this.ask({ range: `bytes=${this.at}-`, ...(condition && { 'if-range': condition }) });
  }

  /** Tests whether the validators can show that the rest is of the same version. @param {Version} version */
  canResume(version) {
    return this.checked || strongTag(version) !== '' || version.modified !== '';
  }

  /** Begins the download with a response that has the whole file. @param {Response} response */
  begin(response) {
    const { headers, status } = response;
    this.version = versionOf(response);
    this.#ranges = !headers.get('content-encoding');
    if (status === 200 && this.#ranges && headers.has('content-length'))
      this.#length = Number(headers.get('content-length'));
  }

  /** Tests whether a response to askRest() is the rest. @param {Response} response */
  isRemainder(response) {
    const { headers, status } = response,
      total = this.#length ?? this.size;
    if (status !== 206 || headers.get('content-encoding')) return false;
    const version = versionOf(response),
      none = !version.etag && !version.modified;
    if (!sameBytes(version, this.version) && !this.checked && (this.#foreign || !none)) return false;
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
    if (range)
      return Number(range[1]) === this.at && (range[2] === '*' || total === undefined || Number(range[2]) === total);
    return this.#foreign && total !== undefined && Number(headers.get('content-length')) === total - this.at;
  }

  /**
   * @param {Response} [response] a response with the bytes from `at` on, or with all of them
   * @returns {AsyncGenerator<Uint8Array, void>}
   */
  async *chunks(response) {
    const { signal, retries = 5, wait = (/** @type {number} */ ms) => pause(ms, signal) } = this.options;
    /** @type {unknown} */ let broken;
    for (let failures = 0; ;) {
      try {
        response ??= await this.#requestRemainder();
        let skip = response.status === 206 ? 0 : this.at;
        for await (let chunk of (await open(response, { signal })).chunks) {
          const skipped = Math.min(skip, chunk.length);
          skip -= skipped;
          chunk = chunk.subarray(skipped);
          if (chunk.length === 0) continue;
          failures = 0;
          this.#readFirstBytes(chunk);
          this.at += chunk.length;
          yield chunk;
        }
        if (this.at === this.size || !(this.at < (this.#length ?? 0))) return;
        broken = new RushlightError(
          'network',
          `cannot read ${this.url}: the connection ended at ${this.at} of ${this.#length} bytes`,
          { source: this.url },
        );
      } catch (e) {
        if (!isBroken(e)) throw e;
        broken = e;
      }
      response = undefined;
      if (failures === retries) throw broken;
      try {
        await wait(FIRST_WAIT_MS * 2 ** failures++);
      } catch (e) {
        throw callbackFailed('wait', e);
      }
      throwIfAborted(signal, `reading ${this.url}`);
    }
  }

  /** Returns a response that continues at `at`. */
  async #requestRemainder() {
    const response = await (this.#ranges && this.at > 0 && this.canResume(this.version) ? this.askRest() : this.ask());
    const { status } = response;
    if (status === 200) {
      if (this.at === 0) this.begin(response);
      if (this.at === 0 || this.checked || sameBytes(versionOf(response), this.version)) return response;
      cancelBody(response);
      throw new RushlightError(
        'network',
        `the download of ${this.url} stopped at ${this.at} bytes, and its ETag and Last-Modified do ` +
          'not show that the server still has the same file: load it again',
        { source: this.url, expected: this.version, actual: versionOf(response) },
      );
    }
    if (this.at > 0 && this.isRemainder(response)) return response;
    cancelBody(response);
    // The server has another file, or does not support ranges.
    if (status === 206 || status === 304 || status === 416) this.#ranges = false;
    else if (!isTemporary(status)) checkResponse(response, this.url, 'a .rush file');
    throw new RushlightError('network', `cannot read ${this.url}: HTTP ${status}`, { source: this.url });
  }

  /** Reads the size in the header. @param {Uint8Array} chunk the bytes at `at` */
  #readFirstBytes(chunk) {
    if (this.at >= HEADER) return;
    this.#head.set(chunk.subarray(0, HEADER - this.at), this.at);
    if (this.at + chunk.length >= HEADER) this.size = fileSize(this.#head);
  }
}
