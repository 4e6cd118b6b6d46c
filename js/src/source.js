// Where a model comes from: whatever it is becomes chunks of bytes, in order, never put together.

import { RushlightError, badArgument, says, throwIfAborted, unreadable } from './errors.js';
import { asPath, builtin, bytesOf, isAddress, tagOf } from './platform.js';

/**
 * @typedef {string | URL | Response | Blob | ReadableStream<Uint8Array> | ArrayBuffer | ArrayBufferView} Source
 *   a URL (in Node also a path), or what holds the bytes
 *
 * @typedef {typeof globalThis extends Record<'fetch', (url: any, init?: infer Init) => any> ? NonNullable<Init> : object} FetchOptions
 *   RequestInit, where the project's types have it
 *
 * @typedef {object} Opened
 * @property {AsyncIterable<Uint8Array>} chunks
 * @property {string} name for messages
 */

/** Bytes in memory are handed on in pieces of this size, so that progress and aborts get through; as much is asked of a server first where a file's head is wanted. */
const PIECE = 1 << 20;

/** @param {Uint8Array} bytes */
async function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

/** Safari's streams are not iterable. @param {ReadableStream<Uint8Array>} stream @param {AbortSignal} [signal] */
async function* chunksOf(stream, signal) {
  const reader = stream.getReader();
  const stop = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener('abort', stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (tagOf(value) !== 'Uint8Array') throw badArgument('the stream gives no Uint8Array');
      yield value;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    stop(); // the download, if it was left early
  }
}

/** @param {string} name @param {unknown} cause @param {string} [help] */
export const unreachable = (name, cause, help = '') =>
  new RushlightError('network', `cannot read ${name}: ${cause instanceof Error ? describe(cause) : cause}${help}`, { source: name, cause });

/** fetch() says "fetch failed" and why in its cause. @param {Error} e */
const describe = (e) => (e.cause instanceof Error ? `${e.message} (${e.cause.message})` : e.message);

/**
 * Refuses an answer that is an error, or a page. A model is never text, so the type is enough.
 * @param {Response} response @param {string} name @param {string} wanted
 */
export function checkResponse(response, name, wanted) {
  if (!response.ok) {
    const actual = `${response.status} ${response.statusText}`.trim();
    throw new RushlightError('network', `HTTP ${actual} for ${name}`, { source: name, actual: response.status });
  }
  if (/^text\/html/i.test(response.headers.get('content-type') ?? '')) throw gotOther(name, wanted);
}

/** How other files begin, what they are, and what to do. @type {[RegExp, string, string][]} */
const OTHERS = [
  [/^\s*</, 'HTML', 'check the address'],
  [/^PK/, 'a PyTorch file', 'rushlight export'],
  [/^.{8}\{/s, 'a .safetensors file', 'that has no program'],
  [/^\x08/, 'an ONNX model', 'export the PyTorch model'],
  [/^version http/, 'a Git LFS pointer', 'git lfs pull'],
  [/^\x1f\x8b/, 'gzip', 'unpack it'],
];

/** @param {string} name @param {string} wanted @param {any[]} [other] */
const gotOther = (name, wanted, [, actual, help] = OTHERS[0]) =>
  new RushlightError('bad-file', `got ${actual} from ${name} where ${wanted} was expected: ${help}`, { source: name, expected: wanted, actual });

/** Refuses bytes that begin as those of another file. @param {Uint8Array} bytes @param {string} name @param {string} wanted */
export function checkStart(bytes, name, wanted) {
  const start = String.fromCharCode(...bytes.subarray(0, 64)).replace('\xef\xbb\xbf', '');
  const other = OTHERS.find(([begins]) => begins.test(start));
  if (other) throw gotOther(name, wanted, other);
}

/** @param {string | URL} url @param {FetchOptions} [init] @param {AbortSignal} [signal] */
export async function fetchSource(url, init, signal) {
  try {
    return await fetch(url, { ...init, ...(signal && { signal }) });
  } catch (e) {
    const { origin } = globalThis, name = String(url);
    throwIfAborted(signal, `fetching ${name}`);
    throw unreachable(name, e, origin && /^http/.test(name) && !name.startsWith(origin) ? '; it has to allow CORS' : '');
  }
}

/** A file's first piece, and only when that is not enough, what comes after it. @param {AsyncIterable<Uint8Array>} first @param {() => Promise<Response>} askRest @param {string} name @param {AbortSignal} [signal] */
async function* parts(first, askRest, name, signal) {
  let given = 0;
  for await (const chunk of first) {
    given += chunk.length;
    yield chunk;
  }
  if (given < PIECE) return;
  const rest = await askRest();
  checkResponse(rest, name, 'a .rush file');
  if (rest.status === 206) given = 0; // else it is the whole
  for await (const chunk of chunksOf(/** @type {any} */ (rest.body), signal)) {
    yield chunk.subarray(given);
    given = Math.max(0, given - chunk.length);
  }
}

/**
 * @param {any} source a Source, of whatever realm: no instance of this one's classes
 * @param {{ signal?: AbortSignal, request?: FetchOptions }} options
 * @param {boolean} [headOnly] whether the first bytes may do: where a server gives parts, no more is asked for
 * @returns {Promise<Opened>}
 */
export async function open(source, { signal, request }, headOnly) {
  let name = 'the bytes';
  /** @type {(() => Promise<Response>) | undefined} */ let askRest;
  const is = (/** @type {string} */ tag) => tagOf(source) === tag;
  if (isAddress(source)) {
    const path = asPath(source);
    if (path !== undefined) {
      const fs = /** @type {typeof import('node:fs')} */ (builtin('node:fs'));
      return { name: path, chunks: named(() => fs.createReadStream(path, { highWaterMark: PIECE, signal }), path, signal, unreadable) };
    }
    name = String(source);
    const url = source;
    const ask = async (/** @type {string} */ range) => {
      const headers = new Headers(request?.headers);
      if (headers.has('range')) return undefined; // the caller knows better
      headers.set('range', `bytes=${range}`);
      return fetchSource(url, { ...request, headers }, signal);
    };
    const part = headOnly ? await ask(`0-${PIECE - 1}`).catch(() => undefined) : undefined;
    if (part?.status === 206) askRest = () => /** @type {Promise<Response>} */ (ask(`${PIECE}-`));
    source = part?.ok ? part : await fetchSource(url, request, signal);
  }
  if (is('Response')) {
    if (source.url) name = source.url;
    checkResponse(source, name, 'a .rush file');
    if (!source.body) throw new RushlightError('bad-file', `the answer of ${name} is empty`, { source: name });
    source = source.body;
  } else if (is('Blob') || is('File')) {
    name = source.name ?? 'the blob';
    source = source.stream();
  }
  if (is('ReadableStream')) {
    if (source.locked) throw badArgument(`${name} is being read by someone else`);
    if (name === 'the bytes') name = 'the stream';
    const chunks = chunksOf(source, signal);
    return { name, chunks: named(() => (askRest ? parts(chunks, askRest, name, signal) : chunks), name, signal) };
  }
  return { name, chunks: pieces(modelBytes(source)) };
}

/** The bytes that were given, of whatever realm. @param {any} source @param {string} what is wanted @param {string} others what else it comes from @returns {Uint8Array} */
export function bytesFrom(source, what, others) {
  try {
    if (ArrayBuffer.isView(source) || tagOf(source) === 'ArrayBuffer') return bytesOf(source);
  } catch (cause) {
    throw badArgument(`${what}: ${says(cause)}`, { cause }); // its buffer was transferred
  }
  throw badArgument(`${what} comes from a URL, path, Response, ${others} or bytes, not from ${source?.constructor?.name ?? source}${source?.then ? ': did you forget await?' : ''}`);
}

/** A Source that is neither an address nor read by and by. @param {unknown} source @returns {Uint8Array} */
export const modelBytes = (source) => bytesFrom(source, 'a model', 'Blob, ReadableStream');

/** Names the source of a broken stream. @param {() => AsyncIterable<Uint8Array>} begin @param {string} name @param {AbortSignal} [signal] @param {(name: string, cause: unknown) => Error} [failure] */
async function* named(begin, name, signal, failure = unreachable) {
  try {
    yield* begin();
  } catch (e) {
    throwIfAborted(signal, `reading ${name}`);
    throw e instanceof RushlightError ? e : failure(name, e);
  }
}
