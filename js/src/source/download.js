// The bytes of a URL, whatever breaks on the way: what is missing is asked for by Range, as long as it is the same
// file.

import { RushlightError, badArgument, callbackFailed, messageOf, throwIfAborted } from '../base/errors.js';
import { builtin } from '../base/platform.js';
import { checkResponse, fetchSource, open } from './source.js';

/**
 * @typedef {object} Version what a server says of the file that it sends; "" where it does not
 * @property {string} etag its ETag
 * @property {string} modified its Last-Modified
 *
 * @typedef {object} DownloadOptions
 * @property {import('./source.js').FetchOptions | undefined} [request] for fetch(): headers, credentials and so on
 * @property {AbortSignal} [signal] stops the download
 * @property {number} [retries] how often in a row without a new byte it is tried again (5)
 * @property {(ms: number) => Promise<unknown>} [wait] how it waits before; by default with a timer: 0.5 s, 1 s, 2 s and
 *   so on
 */

/** @param {Response} response @returns {Version} */
export const versionOf = ({ headers }) => ({
  etag: headers.get('etag') ?? '',
  modified: headers.get('last-modified') ?? '',
});

/** Whether two answers are certainly of one version. @param {Version} a @param {Version} b */
export const sameVersion = (a, b) =>
  a.etag && b.etag
    ? a.etag.replace('W/', '') === b.etag.replace('W/', '')
    : a.modified !== '' && a.modified === b.modified;

/** Whether their bytes are the same: what is weak promises less. @param {Version} a @param {Version} b */
const sameBytes = (a, b) =>
  sameVersion(a, b) &&
  ((strong(a) === strong(b) && strong(a) !== '') || (a.modified !== '' && a.modified === b.modified));

/** @param {Version} version */
const strong = ({ etag }) => (etag.startsWith('W/') ? '' : etag);

/** Errors that pass: those of a busy server. @param {number} status */
export const passes = (status) => status >= 500 || [408, 425, 429].includes(status);

/** @param {Response} [response] that is not wanted */
export const drop = (response) => void response?.body?.cancel().catch(() => {});

/** What went wrong on the way, not what a server said. @param {unknown} e */
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

/** The headers of a request, which may be none. @param {any} request @returns {Headers} */
export function headersOf(request) {
  try {
    return new Headers(request?.headers ?? undefined);
  } catch (cause) {
    throw badArgument(`request.headers must be headers, as fetch() takes them: ${messageOf(cause)}`, { cause });
  }
}

const FIRST_WAIT_MS = 500;
const MAGIC = '137,82,85,83,72,13,10,26',
  FILE_BYTES = 40;

/** The number of bytes of a file in which fileSize() looks. */
export const HEADER = 48;

/**
 * The size of a .rush file as its own header gives it; undefined for another kind of file.
 * @param {Uint8Array} head its first HEADER bytes, in a buffer of their own
 */
export const fileSize = (head) =>
  String(head.subarray(0, 8)) === MAGIC ? Number(new DataView(head.buffer).getBigUint64(FILE_BYTES, true)) : undefined;

export class Download {
  /** How many bytes have come. */
  at = 0;
  /** @type {number | undefined} of the file as its own header says; unknown for what is no .rush file */ size;
  /** @type {Version} */ version = { etag: '', modified: '' };
  /** @type {number | undefined} what the server says */ #length;
  #head = new Uint8Array(HEADER);
  #ranges = true;
  /**
   * A page that asks another origin: of its answer it sees few headers, and more than a simple request that server may
   * not allow.
   */
  #foreign;

  /**
   * @param {string} url
   * @param {DownloadOptions} options
   * @param {boolean} checked whether a digest of the whole will tell wrong bytes
   */
  constructor(url, options, checked) {
    this.url = url;
    this.options = options;
    this.checked = checked;
    const { location } = /** @type {any} */ (globalThis);
    this.#foreign = !builtin('node:fs') && location !== undefined && location.origin !== new URL(url).origin;
  }

  /** @param {Record<string, string>} [headers] @param {import('./source.js').FetchOptions} [init] */
  async ask(headers = {}, init = {}) {
    const { request, signal } = this.options;
    const all = headersOf(request);
    if (!this.#foreign) for (const [name, value] of Object.entries(headers)) all.set(name, value);
    else if (headers.range) all.set('range', headers.range);
    if (builtin('node:fs')) all.set('accept-encoding', 'identity'); // parts of what is compressed cannot be asked for
    return fetchSource(this.url, { ...init, ...request, headers: all }, signal);
  }

  /** Asks whether there is another version. @param {Version} known */
  askIfChanged({ etag, modified }) {
    return this.ask(
      { ...(etag && { 'if-none-match': etag }), ...(modified && { 'if-modified-since': modified }) },
      { cache: 'no-cache' },
    );
  }

  /** What comes behind a place, of the same version only. */
  askRest() {
    const condition = strong(this.version) || this.version.modified;
    return this.ask({ range: `bytes=${this.at}-`, ...(condition && { 'if-range': condition }) });
  }

  /** Whether the rest of a version can be told from that of another. @param {Version} version */
  mayGoOn(version) {
    return this.checked || strong(version) !== '' || version.modified !== '';
  }

  /** Takes an answer with the whole file for what is downloaded. @param {Response} response */
  begin(response) {
    const { headers, status } = response;
    this.version = versionOf(response);
    this.#ranges = !headers.get('content-encoding');
    if (status === 200 && this.#ranges && headers.has('content-length'))
      this.#length = Number(headers.get('content-length'));
  }

  /** Whether an answer to askRest() is the rest. @param {Response} response */
  isRest(response) {
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
   * @param {Response} [response] an answer that gives the bytes from `at` on, or all of them
   * @returns {AsyncGenerator<Uint8Array, void>}
   */
  async *chunks(response) {
    const { signal, retries = 5, wait = (/** @type {number} */ ms) => pause(ms, signal) } = this.options;
    /** @type {unknown} */ let broken;
    for (let failures = 0; ;) {
      try {
        response ??= await this.#rest();
        let skip = response.status === 206 ? 0 : this.at;
        for await (let chunk of (await open(response, { signal })).chunks) {
          const skipped = Math.min(skip, chunk.length);
          skip -= skipped;
          chunk = chunk.subarray(skipped);
          if (chunk.length === 0) continue;
          failures = 0;
          this.#look(chunk);
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

  /** An answer that goes on at `at`. */
  async #rest() {
    const response = await (this.#ranges && this.at > 0 && this.mayGoOn(this.version) ? this.askRest() : this.ask());
    const { status } = response;
    if (status === 200) {
      if (this.at === 0) this.begin(response);
      if (this.at === 0 || this.checked || sameBytes(versionOf(response), this.version)) return response;
      drop(response);
      throw new RushlightError(
        'network',
        `the download of ${this.url} stopped at ${this.at} bytes, and its ETag and Last-Modified do ` +
          'not show that the server still has the same file: load it again',
        { source: this.url, expected: this.version, actual: versionOf(response) },
      );
    }
    if (this.at > 0 && this.isRest(response)) return response;
    drop(response);
    // It has another file, or does not know how
    if (status === 206 || status === 304 || status === 416) this.#ranges = false;
    else if (!passes(status)) checkResponse(response, this.url, 'a .rush file');
    throw new RushlightError('network', `cannot read ${this.url}: HTTP ${status}`, { source: this.url });
  }

  /** Finds the size in the header. @param {Uint8Array} chunk that comes at `at` */
  #look(chunk) {
    if (this.at >= HEADER) return;
    this.#head.set(chunk.subarray(0, HEADER - this.at), this.at);
    if (this.at + chunk.length >= HEADER) this.size = fileSize(this.#head);
  }
}
