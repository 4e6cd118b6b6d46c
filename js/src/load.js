// load() and plan(): their options, and on which side of the border to a worker the model lives.

import { RushlightError, asked, badArgument, checkOptions, nameOf, says } from './errors.js';
import { loadHost, readHead } from './hosting.js';
import { Model, alive } from './model.js';
import { isNamed } from './values.js';

/**
 * @typedef {import('./source.js').Source} Source
 * @typedef {import('./engine.js').Description} Description
 *
 * @typedef {object} LoadOptions what load() and plan() may be told
 * @property {AbortSignal} [signal] stops loading at any moment and frees what it took
 * @property {(progress: Progress) => unknown} [onProgress] called after each chunk that has arrived; a promise that it returns is awaited, and what it
 *   throws ends the load, with the code `callback`
 * @property {import('./runtime.js').WasmOption} [wasm] the wasm binary, where it does not lie beside this package
 * @property {'auto' | import('./runtime.js').BackendName} [backend] which binary; by default relaxed where the engine has it
 * @property {'auto' | number} [threads] how many compute, of as many as the machine has where it is 'auto'; a page has to be cross-origin isolated. By default one
 * @property {import('./ops.js').Ops} [ops] operators of the model that JavaScript computes, by name
 * @property {boolean} [worker] the model lives in a worker of its own, so that runs do not stop the page
 * @property {Limits} [limits] what the model may use
 * @property {'auto' | (string & {}) | false} [cache] keeps the model on this machine, in the cache of that name ('auto' is one): see rushlight/cache
 * @property {string} [integrity] digests of which the bytes must have one, as for scripts: "sha256-BASE64", sha384 or sha512
 * @property {import('./source.js').FetchOptions | undefined} [request] for fetch(): headers, credentials and so on
 *
 * @typedef {object} Limits what a model may use; without them as much memory as wasm has, 4 GiB, and any number of steps
 * @property {number} [bytes] of memory; what needs more fails with the code "out-of-memory"
 * @property {number} [steps] instructions of one run; more of them, a loop that does not end, and it fails with the code "interrupted"
 *
 * @typedef {object} Progress of a download
 * @property {number} loaded bytes that have arrived
 * @property {number | null} total bytes of the file; null until its header has arrived
 */

const OPTIONS = ['signal', 'onProgress', 'wasm', 'backend', 'request', 'limits'];

/** @param {unknown} cause @returns {never} */
function cannot(cause) {
  throw new RushlightError('unsupported', `cannot import what that needs (${says(cause)}). A service worker imports nothing later: use cached() of rushlight/cache`, { cause });
}

/**
 * What is not in the core: who wants none of it does not load its code.
 * @typedef {object} Late
 * @property {() => Promise<typeof import('./trials.js')>} trials
 * @property {() => Promise<typeof import('./threads.js')>} threads
 * @property {() => Promise<Pick<typeof import('./explain.js'), 'explain' | 'uncloned'>>} explain
 */

/** @type {Late} */
const late = {
  trials: () => import('./trials.js').catch(cannot),
  threads: () => import('./threads.js').catch(cannot),
  explain: () => import('./explain.js').catch(() => ({ explain: (/** @type {unknown} */ e) => e, uncloned: (/** @type {unknown} */ e) => badArgument(says(e), { cause: e }) })),
};
const more = () => import('./more.js').catch(cannot);
/** Where it cannot be imported the download stops behind the head. */
const headOf = () => import('./head.js').then((m) => m.headSource, () => (/** @type {Source} */ source) => source);

/** Throws what failed, with what helps. @param {unknown} cause @param {LoadOptions} options @returns {Promise<never>} */
async function explained(cause, { wasm }) {
  throw (await late.explain()).explain(cause, wasm, alive);
}

/**
 * Loads a model. The bytes stream into wasm memory with one copy; weights are packed as they arrive.
 * @template {import('./types.js').ModelTypes} [M=import('./types.js').AnyModel] inputs and outputs of its methods, as `npx rushlight types` writes them
 * @param {Source} source a URL (in Node also a path), Response, Blob, ReadableStream or bytes
 * @param {LoadOptions} [options]
 * @returns {Promise<Model<M>>} yours to dispose()
 * @throws {RushlightError} `network`, `truncated`, `bad-file`, `unsupported` (all missing operators are named),
 *   `out-of-memory`, `aborted` or `bad-argument`
 */
export function load(source, options = {}) {
  return asked(() => {
    const { cache, integrity, worker } = checked('load', options, [...OPTIONS, 'threads', 'ops', 'worker', 'cache', 'integrity']);
    const made = worker || cache || integrity !== undefined ? more().then((m) => m.loadMore(source, options)) : loadHost(source, options, late);
    return made.then((host) => new Model(host, late), (e) => explained(e, options));
  });
}

/**
 * Reads only a file's head: what the model takes and gives, its operators, those that this runtime
 * lacks, and how large it is. The download stops there; of a URL only the first MiB is asked for, where the server gives parts.
 * @param {Source} source as for load()
 * @param {LoadOptions} [options] without `threads`, `ops`, `worker`, `cache` and `integrity`
 * @returns {Promise<Description>}
 * @throws {RushlightError} as load(), but not for missing operators
 */
export function plan(source, options = {}) {
  return asked(() => {
    checked('plan', options, OPTIONS);
    return headOf().then((head) => head(source, options)).then((head) => readHead(head, options)).then(({ plan }) => plan, (e) => explained(e, options));
  });
}

/** @param {string} where @param {LoadOptions} options @param {string[]} known */
function checked(where, options, known) {
  checkOptions(where, options, known);
  const { onProgress, request } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') throw badArgument(`${where}: onProgress must be a function, got ${nameOf(onProgress)}`);
  if (request !== undefined && !isNamed(request)) throw badArgument(`${where}: request must be an object, as fetch() takes it, got ${nameOf(request)}`);
  return options;
}
