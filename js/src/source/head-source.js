// Reads only the head of a file. If the server supports ranges, it requests only the first part. plan() imports this
// module for URLs.

import { asPath, isAddress } from '../base/platform.js';
import { PIECE, checkResponse, chunksOf, fetchSource } from './source.js';
import { asResponse } from './streams.js';

/** @typedef {import('./source.js').Source} Source */

/**
 * Yields the first piece of a file, and requests the rest only if it is needed.
 * @param {AsyncIterable<Uint8Array>} first
 * @param {() => Promise<Response>} askRest
 * @param {string} name
 * @param {AbortSignal} [signal]
 */
async function* parts(first, askRest, name, signal) {
  let given = 0;
  for await (const chunk of first) {
    given += chunk.length;
    yield chunk;
  }
  if (given < PIECE) return;
  const rest = await askRest();
  checkResponse(rest, name, 'a .rush file');
  if (rest.status === 206) given = 0; // otherwise the response is the whole file
  for await (const chunk of chunksOf(/** @type {NonNullable<Response['body']>} */ (rest.body), signal)) {
    yield chunk.subarray(given);
    given = Math.max(0, given - chunk.length);
  }
}

/**
 * Returns a source for reading only the head.
 * @param {Source} source
 * @param {{ signal?: AbortSignal, request?: import('./source.js').FetchOptions | undefined }} options
 * @returns {Promise<Source>}
 */
export async function headSource(source, { signal, request }) {
  if (!isAddress(source) || asPath(source) !== undefined) return source;
  const ask = async (/** @type {string} */ range) => {
    const headers = new Headers(request?.headers);
    if (headers.has('range')) return undefined; // the caller's own range applies
    headers.set('range', `bytes=${range}`);
    return fetchSource(source, { ...request, headers }, signal);
  };
  const part = await ask(`0-${PIECE - 1}`).catch(() => undefined);
  if (!part?.ok) return source;
  if (part.status !== 206 || !part.body) return part;
  const name = part.url || String(source);
  return asResponse(
    parts(chunksOf(part.body, signal), () => /** @type {Promise<Response>} */ (ask(`${PIECE}-`)), name, signal),
    name,
  );
}
