// Bytes to a model: chunks go to the place that the loader names, one copy each.

import { Engine } from './engine.js';
import { RushlightError, badArgument, checkOptions, throwIfAborted } from './errors.js';
import { Host } from './host.js';
import { Model } from './model.js';
import { createRuntime } from './runtime.js';
import { gotHtml, open } from './source.js';

/**
 * @typedef {import('./source.js').Source} Source
 * @typedef {import('./engine.js').Description} Description
 *
 * @typedef {object} LoadOptions what load() and plan() may be told
 * @property {AbortSignal} [signal] stops loading at any moment and frees what it took
 * @property {(progress: Progress) => void} [onProgress] called after each chunk that has arrived
 * @property {import('./runtime.js').WasmOption} [wasm] the wasm binary, where it does not lie beside this package
 * @property {'auto' | import('./runtime.js').BackendName} [backend] which binary; by default relaxed where the engine has it
 * @property {import('./ops.js').Ops} [ops] operators of the model that JavaScript computes, by name
 * @property {boolean} [worker] the model lives in a worker of its own, so that runs do not stop the page
 * @property {RequestInit} [request] for fetch(): headers, credentials and so on
 *
 * @typedef {object} Progress of a download
 * @property {number} loaded bytes that have arrived
 * @property {number | null} total bytes of the file; null until its header has arrived
 */

/** The first bytes of a file. (In HTML the first one is "<", perhaps behind spaces and a byte order mark.) */
const MAGIC = [0x89, 0x52, 0x55, 0x53, 0x48, 0x0d, 0x0a, 0x1a];

/** @param {Uint8Array} start @param {string} name */
function checkStart(start, name) {
  if (MAGIC.every((b, i) => i >= start.length || start[i] === b)) return;
  const text = new TextDecoder().decode(start.subarray(0, 64)).trimStart();
  if (text.startsWith('<')) throw gotHtml(name, 'a .rush file');
}

/**
 * Streams a source into a new engine: all of it, or its head.
 * @param {Source} source @param {LoadOptions} options @param {boolean} headOnly
 * @returns {Promise<{ engine: Engine, name: string }>}
 */
async function stream(source, options, headOnly) {
  const { signal, onProgress } = options;
  throwIfAborted(signal, 'loading');
  const ops = options.ops === undefined ? undefined : (await import('./ops.js')).readOps(options.ops);
  throwIfAborted(signal, 'loading');
  // The wasm compiles while the first bytes arrive.
  const [opened, runtime] = await Promise.allSettled([open(source, options), createRuntime(options)]);
  if (opened.status === 'rejected') throw opened.reason;
  const { name, chunks } = opened.value;
  if (runtime.status === 'rejected') {
    await chunks[Symbol.asyncIterator]().return?.();
    throw runtime.reason;
  }
  throwIfAborted(signal, `loading ${name}`);
  const engine = new Engine(runtime.value, ops);
  let loaded = 0;
  try {
    for await (const chunk of chunks) {
      throwIfAborted(signal, `loading ${name}`);
      if (loaded === 0) checkStart(chunk, name);
      const used = engine.feed(chunk, headOnly);
      loaded += used;
      if (headOnly && engine.hasHead()) return { engine, name };
      if (used < chunk.length) {
        throw new RushlightError('bad-file', `${name} goes on behind its end: the header says ${engine.total()} bytes`, { source: name, expected: engine.total() });
      }
      onProgress?.({ loaded, total: engine.total() || null });
      throwIfAborted(signal, `loading ${name}`);
    }
    throwIfAborted(signal, `loading ${name}`); // which ends a stream as if that were all
    const total = engine.total();
    if (loaded < total || total === 0) {
      throw new RushlightError('truncated', `${name} is cut off: got ${loaded} of ${total || 'at least 64'} bytes`, { source: name, expected: total, actual: loaded });
    }
    return { engine, name };
  } catch (e) {
    engine.destroy();
    throw name && e instanceof RushlightError && e.code === 'bad-file' && !e.message.includes(name)
      ? new RushlightError(e.code, `${name}: ${e.message}`, { source: name, cause: e })
      : e;
  }
}

const OPTIONS = ['signal', 'onProgress', 'wasm', 'backend', 'request'];

/**
 * Loads a model. The bytes stream into wasm memory with one copy; weights are packed as they arrive.
 * @param {Source} source a URL (in Node also a path), Response, Blob, ReadableStream or bytes
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>} yours to dispose()
 * @throws {RushlightError} `network`, `truncated`, `bad-file`, `unsupported` (all missing operators are named),
 *   `out-of-memory`, `aborted` or `bad-argument`
 */
export async function load(source, options = {}) {
  checkOptions('load', options, [...OPTIONS, 'ops', 'worker']);
  if (options.onProgress !== undefined && typeof options.onProgress !== 'function') throw badArgument('load: onProgress is a function');
  if (options.worker !== undefined && typeof options.worker !== 'boolean') throw badArgument('load: worker is true or false');
  const make = options.worker ? (await import('./remote.js')).loadRemote : loadHost; // who wants no worker does not load its code
  return new Model(await make(source, options));
}

/** @param {Source} source @param {LoadOptions} options */
export async function loadHost(source, options) {
  const { engine, name } = await stream(source, options, false);
  try {
    engine.finish();
    return new Host(engine, name);
  } catch (e) {
    engine.destroy();
    throw e;
  }
}

/**
 * Reads only a file's head: what the model takes and gives, its operators, those that this runtime
 * lacks, and how large it is. The download stops there.
 * @param {Source} source as for load()
 * @param {LoadOptions} [options] without `ops` and `worker`
 * @returns {Promise<Description>}
 * @throws {RushlightError} as load(), but not for missing operators
 */
export async function plan(source, options = {}) {
  checkOptions('plan', options, OPTIONS);
  return (await readHead(source, options)).plan;
}

/**
 * The plan, and the same as text for people, or PyTorch's own graphs or code.
 * @param {Source} source @param {LoadOptions} options @param {'plan' | 'graph' | 'code'} [what]
 * @returns {Promise<{ plan: Description, text: string }>}
 */
export async function readHead(source, options, what = 'plan') {
  const { engine } = await stream(source, options, true);
  try {
    return { plan: engine.head(), text: engine.describeText(/** @type {const} */ ({ plan: 0, graph: 3, code: 4 })[what]) };
  } finally {
    engine.destroy();
  }
}
