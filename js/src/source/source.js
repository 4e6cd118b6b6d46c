// Sources of models. Each source becomes chunks of bytes, in order, which are never joined.

import {
  RushlightError,
  badArgument,
  describeValue,
  messageOf,
  throwIfAborted,
  unreadableFile,
} from '../base/errors.js';
import { asPath, builtin, bytesOf, isAddress, tagOf } from '../base/platform.js';

/**
 * @typedef {string | URL | Response | Blob | ReadableStream<Uint8Array> | ArrayBuffer | ArrayBufferView} Source
 *   a URL (in Node also a path), or an object with the bytes
 *
 * @typedef {typeof globalThis extends Record<'fetch', (url: never, init?: infer Init) => unknown> ?
 *   NonNullable<Init> : object} FetchOptions
 *   RequestInit, if the types of the project have it
 *
 * @typedef {{ other?: { name: string, wanted: string, start: Uint8Array } }} FirstBytes what withFirstBytes() adds to
 *   an error: the first bytes of the file, its name, and the kind of file that it must be
 *
 * @typedef {object} Opened
 * @property {AsyncIterable<Uint8Array>} chunks
 * @property {string} name for messages
 */

/** Bytes in memory are passed on in pieces of this size, with progress and aborts between them. */
export const PIECE = 1 << 20;

/** @param {Uint8Array} bytes */
async function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

/**
 * Yields the chunks of a stream, because Safari's streams are not iterable. It takes the reader at once, because Node
 * ends the stream of an unreferenced Response.
 * @param {ReadableStream<Uint8Array>} stream @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array, void>}
 */
export const chunksOf = (stream, signal) => chunksFrom(stream.getReader(), signal);

/**
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array, void>}
 */
async function* chunksFrom(reader, signal) {
  const stop = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener('abort', stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (tagOf(value) !== 'Uint8Array')
        throw badArgument(`a stream must give Uint8Arrays, got ${describeValue(value)}`);
      yield value;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    stop(); // ends the download if the reader stopped early
  }
}

/** @param {string} name @param {unknown} cause */
export const unreachable = (name, cause) =>
  new RushlightError('network', `cannot read ${name}: ${cause instanceof Error ? describe(cause) : messageOf(cause)}`, {
    source: name,
    cause,
  });

/** Returns the reason of a failed fetch(), which is in its cause. @param {Error} e */
const describe = (e) => (e.cause instanceof Error ? `${e.message} (${e.cause.message})` : e.message);

/**
 * Refuses a response that is an error or a page. A model is never text, so that the content type is enough.
 * @param {Response} response @param {string} name @param {string} wanted
 */
export function checkResponse(response, name, wanted) {
  if (!response.ok) {
    const actual = `${response.status} ${response.statusText}`.trim();
    throw new RushlightError('network', `HTTP ${actual} for ${name}`, { source: name, actual: response.status });
  }
  if (/^text\/html/i.test(response.headers.get('content-type') ?? ''))
    throw unexpectedFile(name, wanted, 'HTML', 'check the address');
}

/** @param {string} name @param {string} wanted @param {string} actual @param {string} help */
export const unexpectedFile = (name, wanted, actual, help) =>
  new RushlightError('bad-file', `${name} must be ${wanted}, got ${actual}: ${help}`, {
    source: name,
    expected: wanted,
    actual,
  });

/**
 * Attaches the first bytes to an error. error-hints.js recognizes other kinds of files by them.
 * @template {Error} E
 * @param {E} e
 * @param {string} name
 * @param {string} wanted
 * @param {Uint8Array} bytes
 * @returns {E}
 */
export const withFirstBytes = (e, name, wanted, bytes) =>
  Object.assign(e, { other: { name, wanted, start: bytes.slice(0, 64) } });

/** @param {string | URL} url @param {FetchOptions} [init] @param {AbortSignal} [signal] */
export async function fetchSource(url, init, signal) {
  try {
    return await fetch(url, { ...init, ...(signal && { signal }) });
  } catch (e) {
    throwIfAborted(signal, `fetching ${url}`);
    throw unreachable(String(url), e);
  }
}

/**
 * @param {unknown} source a Source of any realm, so that instanceof does not work
 * @param {{ signal?: AbortSignal, request?: FetchOptions }} options
 * @returns {Promise<Opened>}
 */
export async function open(source, { signal, request }) {
  let name = 'the bytes';
  const is = (/** @type {string} */ tag) => tagOf(source) === tag;
  if (isAddress(source)) {
    const path = asPath(source);
    if (path !== undefined) {
      const fs = /** @type {typeof import('node:fs')} */ (builtin('node:fs'));
      return {
        name: path,
        chunks: named(() => fs.createReadStream(path, { highWaterMark: PIECE, signal }), path, signal, unreadableFile),
      };
    }
    name = String(source);
    source = await fetchSource(source, request, signal);
  }
  if (is('Response')) {
    if (/** @type {Response} */ (source).url) name = /** @type {Response} */ (source).url;
    checkResponse(/** @type {Response} */ (source), name, 'a .rush file');
    if (!(/** @type {Response} */ (source).body))
      throw new RushlightError('bad-file', `the response of ${name} is empty`, { source: name });
    source = /** @type {Response} */ (source).body;
  } else if (is('Blob') || is('File')) {
    name = /** @type {Partial<File>} */ (source).name ?? 'the blob';
    source = /** @type {Blob} */ (source).stream();
  }
  if (is('ReadableStream')) {
    if (name === 'the bytes') name = 'the stream';
    if (/** @type {ReadableStream} */ (source).locked)
      throw badArgument(`${name} must not be locked to another reader`);
    const chunks = chunksOf(/** @type {ReadableStream<Uint8Array>} */ (source), signal);
    return { name, chunks: named(() => chunks, name, signal) };
  }
  return { name, chunks: pieces(modelBytes(source)) };
}

/**
 * Returns the bytes of a buffer or a view of any realm.
 * @param {unknown} source
 * @param {string} what the name in messages
 * @param {string} others the other accepted kinds, for messages
 * @returns {Uint8Array}
 */
export function bytesFrom(source, what, others) {
  try {
    if (ArrayBuffer.isView(source) || tagOf(source) === 'ArrayBuffer') return bytesOf(source);
  } catch (cause) {
    throw badArgument(`${what}: the buffer was transferred before`, { cause });
  }
  throw badArgument(`${what} must be a URL, path, Response, ${others} or bytes, got ${describeValue(source)}`);
}

/** Returns the bytes of a Source that is in memory. @param {unknown} source @returns {Uint8Array} */
export const modelBytes = (source) => bytesFrom(source, 'a model', 'Blob, ReadableStream');

/**
 * Yields the chunks of a source. Errors of the stream name the source.
 * @param {() => AsyncIterable<Uint8Array>} begin
 * @param {string} name
 * @param {AbortSignal} [signal]
 * @param {(name: string, cause: unknown) => Error} [failure]
 */
async function* named(begin, name, signal, failure = unreachable) {
  try {
    yield* begin();
  } catch (e) {
    throwIfAborted(signal, `reading ${name}`);
    throw e instanceof RushlightError ? e : failure(name, e);
  }
}
