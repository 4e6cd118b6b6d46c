// Weights that only the GPU has. After the GPU was lost, their bytes are read from the source of the model once more.

import { RushlightError, badArgument, messageOf, throwIfAborted } from '../base/errors.js';
import { cachedSource } from '../source/cached-source.js';
import { open } from '../source/source.js';

/**
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('../engine/host.js').LocalHost} LocalHost
 * @typedef {{ source: Source } & Pick<import('../api/load.js').LoadOptions, 'request' | 'cache' | 'integrity'>}
 *   ModelSource what load() got
 * @typedef {{ at: number, bytes: number, to: number }} Place bytes of the file, and where they belong in the memory
 */

/** A number, and then the seven words that words() reads. The first five are a rush_gpu_file_bytes. */
const NEXT = 8,
  NEXT_BYTES = NEXT + 28;

/**
 * Returns the places of all weights that are not in memory, in the order of the file.
 * @param {import('../engine/engine.js').Engine} engine
 * @param {(k: number, out: number) => number} next rush_gpu_next_weight
 */
function placesOf(engine, next) {
  const { memory } = engine,
    /** @type {Place[]} */ places = [];
  engine.withBytes(NEXT_BYTES, (k) => {
    memory.setI64(k, 0n);
    for (;;) {
      engine.check(next(k, k + NEXT));
      const [at = 0, atHigh = 0, bytes = 0, , to = 0] = memory.words(k + NEXT);
      if (!bytes) return;
      places.push({ at: at + atHigh * 2 ** 32, bytes, to });
    }
  });
  return places.sort((a, b) => a.at - b.at);
}

/**
 * Copies the bytes of a source to their places. Returns whether the source has all of them.
 * @param {LocalHost} host @param {AsyncIterable<Uint8Array>} chunks @param {Place[]} places
 * @param {AbortSignal} [signal]
 */
async function copyTo(host, chunks, places, signal) {
  let begin = 0,
    next = 0;
  for await (const chunk of chunks) {
    throwIfAborted(signal, 'the run');
    if (!host.alive) throw badArgument('the model was disposed');
    const end = begin + chunk.length;
    for (; next < places.length; next++) {
      const { at, bytes, to } = /** @type {Place} */ (places[next]),
        from = Math.max(at, begin),
        until = Math.min(at + bytes, end);
      if (from < until) host.engine.memory.copyIn(to + from - at, chunk.subarray(from - begin, until - begin));
      if (at + bytes > end) break;
    }
    if (next === places.length) return true;
    begin = end;
  }
  return false;
}

/**
 * Brings all weights of a model to memory.
 * @param {LocalHost} host
 * @param {{ next: (k: number, out: number) => number, areBack: () => number }} wasm functions of wasm/src/gpu/gpu.h
 * @param {ModelSource} from
 * @param {string} fault the reason, for messages
 * @param {AbortSignal} [signal]
 */
export async function readWeights(host, wasm, { source, ...options }, fault, signal) {
  const places = placesOf(host.engine, wasm.next);
  if (!places.length) return;
  const failed = (/** @type {string} */ why, /** @type {unknown} */ cause) =>
    new RushlightError('device-lost', `${fault}, and the weights of the model could not be read again: ${why}`, {
      cause,
    });
  /** @type {boolean} */ let complete;
  try {
    const how = { ...options, signal },
      { chunks } = await open(await cachedSource(source, how), how);
    complete = await copyTo(host, chunks, places, signal);
  } catch (e) {
    throwIfAborted(signal, 'the run');
    throw failed(messageOf(e), e);
  }
  if (!complete || !wasm.areBack()) throw failed('the file is not the one that was loaded', undefined);
}
