// load() and plan(): their options, and on which side of the border to a worker the model lives.

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
import { isPlainObject } from '../engine/values.js';

/**
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('../engine/engine.js').Description} Description
 *
 * @typedef {object} LoadOptions what load() and plan() may be told
 * @property {AbortSignal} [signal] stops loading at any moment and frees what it took
 * @property {(progress: Progress) => unknown} [onProgress] called after each chunk that has arrived; a promise that it
 *   returns is awaited, and what it
 *   throws ends the load, with the code `callback`
 * @property {import('../engine/runtime.js').WasmOption} [wasm] the wasm binary, where it does not lie beside this
 *   package
 * @property {'auto' | import('../engine/runtime.js').BackendName} [backend] which binary; by default relaxed where the
 *   engine has it
 * @property {'auto' | number} [threads] how many compute, of as many as the machine has where it is 'auto'; a page has
 *   to be cross-origin isolated. By default one
 * @property {import('../engine/ops.js').Ops} [ops] operators of the model that JavaScript computes, by name
 * @property {boolean} [worker] the model lives in a worker of its own, so that runs do not stop the page
 * @property {Limits} [limits] what the model may use
 * @property {'auto' | (string & {}) | false} [cache] keeps the model on this machine, in the cache of that name ('auto'
 *   is one): see rushlight/cache
 * @property {string} [integrity] digests of which the bytes must have one, as for scripts: "sha256-BASE64", sha384 or
 *   sha512
 * @property {import('../source/source.js').FetchOptions | undefined} [request] for fetch(): headers, credentials and so
 *   on
 *
 * @typedef {object} Limits what a model may use; without them as much memory as wasm has, 4 GiB, and any number of
 *   steps
 * @property {number} [bytes] of memory; what needs more fails with the code "out-of-memory"
 * @property {number} [steps] instructions of one run; more of them, a loop that does not end, and it fails with the
 *   code "interrupted"
 *
 * @typedef {object} Progress of a download
 * @property {number} loaded bytes that have arrived
 * @property {number | null} total bytes of the file; null until its header has arrived
 */

const OPTIONS = ['signal', 'onProgress', 'wasm', 'backend', 'request', 'limits'];

/** @param {unknown} cause @returns {never} */
function cannot(cause) {
  throw new RushlightError(
    'unsupported',
    `cannot import what that needs (${messageOf(cause)}). A service worker imports nothing later: use cached() of rushlight/cache`,
    { cause },
  );
}

/**
 * Modules that are not in the core. Each is imported when it is first needed.
 * @typedef {object} LazyModules
 * @property {() => Promise<typeof import('./steps.js')>} steps
 * @property {() => Promise<typeof import('../engine/diagnostics.js')>} diagnostics
 * @property {() => Promise<typeof import('../engine/ops.js')>} ops
 * @property {() => Promise<typeof import('../worker/threads.js')>} threads
 * @property {() => Promise<Pick<typeof import('../engine/error-hints.js'), 'addHint' | 'cloneError'>>} hints
 */

/** @type {LazyModules} */
const lazy = {
  steps: () => import('./steps.js').catch(cannot),
  diagnostics: () => import('../engine/diagnostics.js').catch(cannot),
  ops: () => import('../engine/ops.js').catch(cannot),
  threads: () => import('../worker/threads.js').catch(cannot),
  hints: () =>
    import('../engine/error-hints.js').catch(() => ({
      addHint: (/** @type {unknown} */ e) => e,
      cloneError: (/** @type {unknown} */ e) => badArgument(messageOf(e), { cause: e }),
    })),
};
const loadOptions = () => import('./load-options.js').catch(cannot);
/** Where it cannot be imported the download stops behind the head. */
const headSource = () =>
  import('../source/head-source.js').then(
    (m) => m.headSource,
    () => (/** @type {Source} */ source) => source,
  );

/** Throws what failed, with a hint. @param {unknown} cause @param {LoadOptions} options @returns {Promise<never>} */
async function throwWithHint(cause, { wasm }) {
  throw (await lazy.hints()).addHint(cause, wasm, liveModels);
}

/**
 * Loads a model. The bytes stream into wasm memory with one copy; weights are packed as they arrive.
 * @template {import('../base/types.js').ModelTypes} [M=import('../base/types.js').AnyModel] inputs and outputs of its
 *   methods, as `npx rushlight types` writes them
 * @param {Source} source a URL (in Node also a path), Response, Blob, ReadableStream or bytes
 * @param {LoadOptions} [options]
 * @returns {Promise<Model<M>>} yours to dispose()
 * @throws {RushlightError} `network`, `truncated`, `bad-file`, `unsupported` (all missing operators are named),
 *   `out-of-memory`, `aborted` or `bad-argument`
 */
export function load(source, options = {}) {
  return withCallerStack(() => {
    const { cache, integrity, worker } = checked('load', options, [
      ...OPTIONS,
      'threads',
      'ops',
      'worker',
      'cache',
      'integrity',
    ]);
    const made =
      worker || cache || integrity !== undefined
        ? loadOptions().then((m) => m.loadWithOptions(source, options))
        : loadLocal(source, options, lazy);
    return made.then(
      (host) => new Model(host, lazy),
      (e) => throwWithHint(e, options),
    );
  });
}

/**
 * Reads only a file's head: what the model takes and gives, its operators, those that this runtime
 * lacks, and how large it is. The download stops there; of a URL only the first MiB is asked for, where the server
 * gives parts.
 * @param {Source} source as for load()
 * @param {LoadOptions} [options] without `threads`, `ops`, `worker`, `cache` and `integrity`
 * @returns {Promise<Description>}
 * @throws {RushlightError} as load(), but not for missing operators
 */
export function plan(source, options = {}) {
  return withCallerStack(() => {
    checked('plan', options, OPTIONS);
    return headSource()
      .then((head) => head(source, options))
      .then((head) => readHead(head, options))
      .then(
        ({ plan }) => plan,
        (e) => throwWithHint(e, options),
      );
  });
}

/** @param {string} where @param {LoadOptions} options @param {string[]} known */
function checked(where, options, known) {
  checkOptions(where, options, known);
  const { onProgress, request } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw badArgument(`${where}: onProgress must be a function, got ${describeValue(onProgress)}`);
  if (request !== undefined && !isPlainObject(request))
    throw badArgument(`${where}: request must be an object, as fetch() takes it, got ${describeValue(request)}`);
  return options;
}
