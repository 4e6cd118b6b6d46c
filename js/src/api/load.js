// load() and plan(), with their options.

import {
  RushlightError,
  withCallerStack,
  badArgument,
  checkOptions,
  describeValue,
  messageOf,
} from '../base/errors.js';
import { loadLocal, readHead } from '../engine/load-local.js';
import { Model, liveModels } from './model.js';
import { imported } from '../base/platform.js';
import { isPlainObject } from '../engine/values.js';

/**
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('../engine/engine.js').Description} Description
 *
 * @typedef {object} LoadOptions options of load() and plan()
 * @property {AbortSignal} [signal] stops loading at any moment and frees the memory
 * @property {(progress: Progress) => unknown} [onProgress] is called after each chunk. A returned promise is awaited.
 *   If the function throws, the load fails with the code `callback`
 * @property {import('../engine/runtime.js').WasmOption} [wasm] the wasm binary, if it is not beside this package
 * @property {'auto' | import('../engine/runtime.js').BackendName} [backend] the binary; the default is the best one
 *   that the engine supports
 * @property {'auto' | number} [threads] the number of threads; one by default. A page must be cross-origin isolated
 * @property {import('../engine/ops.js').Ops} [ops] functions that compute operators of the model, by name
 * @property {boolean} [worker] runs the model in its own worker, so that runs do not block the page. Not with `gpu`
 * @property {Limits} [limits] limits of memory and steps
 * @property {'cpu' | 'webgpu' | 'auto'} [device] where operators run; the default is 'cpu'. With 'webgpu', operators
 *   without a form for the GPU run on the CPU. 'auto' runs the file's test vectors on both, and keeps the faster device
 *   if its answers are right
 * @property {object} [gpu] a GPU object for these devices; the default is navigator.gpu. In Node: create([]) of the
 *   package `webgpu`
 * @property {'auto' | (string & {}) | false} [cache] stores the model on this device, in the cache of this name; see
 *   rushlight/cache
 * @property {string} [integrity] digests as for scripts: "sha256-BASE64", sha384 or sha512. The bytes must have one
 * @property {import('../source/source.js').FetchOptions | undefined} [request] options of fetch(), such as headers and
 *   credentials
 *
 * @typedef {object} Limits limits of a model. By default it may use all 4 GiB of wasm memory and any number of steps
 * @property {number} [bytes] bytes of memory. A model that needs more fails with the code "out-of-memory"
 * @property {number} [steps] instructions of one run. A longer run fails with the code "interrupted"
 *
 * @typedef {object} Progress the progress of a download
 * @property {number} loaded bytes that have arrived
 * @property {number | null} total bytes of the file; null until its header has arrived
 */

const OPTIONS = ['signal', 'onProgress', 'wasm', 'backend', 'request', 'limits'];
/** The options of load(). */
export const LOAD_OPTIONS = [...OPTIONS, 'threads', 'ops', 'worker', 'cache', 'integrity', 'device', 'gpu'];

/** @param {unknown} cause @returns {never} */
function importFailed(cause) {
  throw new RushlightError(
    'unsupported',
    `cannot import a module of rushlight (${messageOf(cause)}). A service worker cannot import ` +
      'modules at run time: use cached() of rushlight/cache',
    { cause },
  );
}

/**
 * Modules outside of the core. Each is imported on first use.
 * @typedef {object} LazyModules
 * @property {() => Promise<typeof import('./steps.js')>} steps
 * @property {() => Promise<typeof import('./assets.js')>} assets
 * @property {() => Promise<typeof import('../engine/diagnostics.js')>} diagnostics
 * @property {() => Promise<typeof import('../worker/threads.js')>} threads
 * @property {() => Promise<typeof import('../engine/ops.js')>} ops
 * @property {() => Promise<Pick<typeof import('../engine/error-hints.js'), 'addHint' | 'cloneError'>>} hints
 */

/** @type {LazyModules} */
const lazy = {
  steps: () => import('./steps.js').catch(importFailed),
  assets: () => import('./assets.js').catch(importFailed),
  diagnostics: () => import('../engine/diagnostics.js').catch(importFailed),
  threads: () => import('../worker/threads.js').catch(importFailed),
  ops: async () => imported.ops ?? import('../engine/ops.js').catch(importFailed),
  hints: () =>
    import('../engine/error-hints.js').catch(() => ({
      addHint: (/** @type {unknown} */ e) => e,
      cloneError: (/** @type {unknown} */ e) => badArgument(messageOf(e), { cause: e }),
    })),
};
const loadOptions = () => import('./load-options.js').catch(importFailed);
/** Without this module, plan() still stops the download after the head. */
const headSource = () =>
  import('../source/head-source.js').then(
    (m) => m.headSource,
    () => (/** @type {Source} */ source) => source,
  );

/** Throws an error with a hint. @param {unknown} cause @param {LoadOptions} options @returns {Promise<never>} */
async function throwWithHint(cause, { wasm }) {
  throw (await lazy.hints()).addHint(cause, wasm, liveModels);
}

/**
 * Loads a model. The bytes stream into wasm memory with one copy. Weights are packed as they arrive.
 * @template {import('../base/types.js').ModelTypes} [M=import('../base/types.js').AnyModel] inputs and outputs of its
 *   methods, as `npx rushlight types` writes them
 * @param {Source} source a URL (in Node also a path), Response, Blob, ReadableStream or bytes
 * @param {LoadOptions} [options]
 * @returns {Promise<Model<M>>} a model; call dispose() to free its memory
 * @throws {RushlightError} `network`, `truncated`, `bad-file`, `unsupported` (all missing operators are named),
 *   `out-of-memory`, `aborted` or `bad-argument`
 */
export function load(source, options = {}) {
  return withCallerStack(() => {
    const { device, worker, cache, integrity } = checkLoadOptions('load', options, LOAD_OPTIONS);
    const pending =
      device || worker || cache || integrity !== undefined
        ? loadOptions().then((m) => m.loadWithOptions(source, options))
        : loadLocal(source, options, lazy);
    return pending.then(
      (host) => new Model(host, lazy),
      (e) => throwWithHint(e, options),
    );
  });
}

/**
 * Reads only the head of a file: inputs, outputs, operators, the operators that this runtime lacks, and sizes. The
 * download then stops. If the server supports ranges, only the first MiB is requested.
 * @param {Source} source as for load()
 * @param {LoadOptions} [options] without `threads`, `ops`, `worker`, `cache` and `integrity`
 * @returns {Promise<Description>}
 * @throws {RushlightError} as load(), but not for missing operators
 */
export function plan(source, options = {}) {
  return withCallerStack(() => {
    checkLoadOptions('plan', options, OPTIONS);
    return headSource()
      .then((head) => head(source, options))
      .then((head) => readHead(head, options))
      .then(
        ({ plan }) => plan,
        (e) => throwWithHint(e, options),
      );
  });
}

/** @template {LoadOptions} O @param {string} where @param {O} options @param {string[]} known @returns {O} */
export function checkLoadOptions(where, options, known) {
  checkOptions(where, options, known);
  const { onProgress, request } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw badArgument(`${where}: onProgress must be a function, got ${describeValue(onProgress)}`);
  if (request !== undefined && !isPlainObject(request))
    throw badArgument(`${where}: request must be an object, as fetch() takes it, got ${describeValue(request)}`);
  return options;
}
