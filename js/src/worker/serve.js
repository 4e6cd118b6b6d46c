// The side of the worker that holds a model. worker-client.js sends it calls. worker.js and gpu-worker.js are its
// scripts. Their imports are static and have no circle, so that bundlers make one file of each.

import { RushlightError, badArgument, describeValue, messageOf } from '../base/errors.js';
import { addHint, hinted } from '../engine/error-hints.js';
import { buffersIn } from './transferables.js';
import { modules } from './modules.js';
import { builtin } from '../base/platform.js';

/**
 * @typedef {import('./worker-client.js').SentOptions} SentOptions
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('./worker-client.js').Failure} Failure
 * @typedef {import('./worker-client.js').FromWorker} FromWorker
 * @typedef {import('./worker-client.js').ToWorker} ToWorker
 * @typedef {import('../engine/host.js').Host} Host
 * @typedef {keyof Host | keyof import('../engine/host.js').Diagnostics} Call
 * @typedef {SentOptions & Pick<import('../api/load.js').LoadOptions, 'ops' | 'onProgress' | 'signal'> &
 *   { interrupted?: () => unknown }} ServedOptions
 * @typedef {(source: Source, options: ServedOptions, modules: import('../engine/load-local.js').LocalModules) =>
 *   Promise<Host>} Loader loads a model on this thread
 */

const port = /** @type {import('./start-worker.js').Port} */ (
  /** @type {unknown} */ (builtin('node:worker_threads')?.parentPort ?? globalThis)
);
/** Calls of the host, and those of its diagnostics. */
const HOST_CALLS = ['run', 'memory', 'reset', 'manualSeed', 'state', 'setState', 'begin', 'tail'];
const DIAGNOSTIC_CALLS = ['verify', 'diff', 'profile', 'next', 'step', 'put', 'result', 'end'];

/** @type {Loader} */ let loader;
/** @type {Host} */ let host;
/** Aborted when the worker must end. */ const ending = new AbortController();
/** The reason of its backend that the page knows. */ let told = '';
/** @type {Map<number, AbortController>} */
const stops = new Map();
/** @type {Map<number, (reply: ToWorker) => void>} */
const calls = new Map();
let last = 0;

/** Converts an error to plain data. @param {unknown} e @returns {Failure} */
function pack(e) {
  const { code, message, op, input, expected, actual, source, cause } =
    e instanceof RushlightError ? e : /** @type {Failure} */ ({ code: 'internal', message: messageOf(e), cause: e });
  const thrown = /** @type {{ thrown?: number } | null} */ (cause)?.thrown;
  return {
    code,
    message,
    op,
    input,
    expected,
    actual,
    source,
    hinted: typeof e === 'object' && e !== null && hinted.has(e),
    thrown,
    cause: thrown === undefined && cause instanceof Error ? cause : undefined,
  };
}

/** Sends an error, without its details if they cannot be cloned. @param {number} id @param {unknown} e */
function fail(id, e) {
  const error = pack(e);
  try {
    port.postMessage({ id, error });
  } catch {
    port.postMessage({ id, error: { ...error, expected: undefined, actual: undefined, cause: undefined } });
  }
}

/** Fails the calls of functions whose result could not be read. */
const failLostCalls = () => {
  for (const take of [...calls.values()]) take({ thrown: 'its result was lost on the way to the worker' });
};

/** @param {FromWorker} message @param {unknown} given values whose buffers are transferred */
const send = (message, given) => port.postMessage(message, [...buffersIn(given)]);

/** Returns a function that calls an operator on the page's side. @param {string} op */
const ask =
  (op) =>
  (/** @type {({ data?: unknown } | null)[]} */ ...args) =>
    new Promise((resolve, reject) => {
      const call = ++last;
      calls.set(call, (reply) => {
        calls.delete(call);
        if (reply.thrown !== undefined) return reject(Object.assign(new Error(reply.thrown), { thrown: call }));
        // The engine reads the written arguments afterwards.
        args.forEach((arg, i) => {
          if (arg?.data) arg.data = /** @type {typeof args} */ (reply.args)?.[i]?.data;
        });
        resolve(reply.value);
      });
      send({ op, call, args }, args);
    });

/** Returns the backend as plain data. */
function backendNow() {
  const { gpuDevice, ...backend } = host.backend;
  told = backend.reason;
  return backend;
}

/**
 * @param {Source} source
 * @param {SentOptions} options
 * @param {[string, string][]} schemas
 * @param {boolean} progress
 * @param {Int32Array} [flag] set by the page while a call must end
 * @returns {Promise<import('./worker-client.js').Loaded>}
 */
async function load(source, options, schemas, progress, flag) {
  if (options.name) Object.defineProperty(source, 'name', { value: options.name });
  /** @type {ServedOptions} */ const all = { ...options, signal: ending.signal };
  if (flag) all.interrupted = () => Atomics.load(flag, 0);
  if (schemas.length) all.ops = Object.fromEntries(schemas.map(([name, schema]) => [name, { schema, run: ask(name) }]));
  if (progress) all.onProgress = (p) => tell({ progress: p });
  try {
    host = await loader(source, all, modules);
  } catch (e) {
    throw addHint(e, options.wasm);
  }
  return {
    backend: backendNow(),
    description: host.description,
    text: host.describeText(),
    graph: host.graphText(),
  };
}

/** @param {string} call @param {unknown[]} args */
async function answer(call, args) {
  if (call === 'load') return load(.../** @type {Parameters<typeof load>} */ (args));
  const diagnostic = DIAGNOSTIC_CALLS.includes(call);
  if (!diagnostic && !HOST_CALLS.includes(call)) throw badArgument(`the worker has no call ${describeValue(call)}`);
  // C receives the first number unchecked, and a BigInt would trap and end the engine.
  if (call !== 'manualSeed' && typeof args[0] === 'bigint')
    throw badArgument('the index of a method or test must be a number, got a BigInt');
  return /** @type {Record<Call, (...args: unknown[]) => unknown>} */ (
    /** @type {unknown} */ (diagnostic ? await host.diagnostics() : host)
  )[/** @type {Call} */ (call)](...args);
}

/** Ends the threads. This worker then ends by itself. */
function end() {
  ending.abort();
  host?.destroy();
  port.close?.();
}

/** Handles a message of worker-client.js, and ignores others. @param {ToWorker | null} m */
async function take(m) {
  if (m?.lost) return failLostCalls();
  if (m?.end) return end();
  if (m?.abort) return stops.get(m.abort)?.abort();
  if (m?.reply) return calls.get(m.reply)?.(m);
  if (typeof m?.id !== 'number') return;
  const { id, call, args, stoppable } = /** @type {Required<ToWorker>} */ (m);
  const stop = new AbortController();
  if (stoppable) stops.set(id, stop);
  try {
    const value = await answer(call, stoppable ? [...args, stop.signal] : args).finally(tellBackend);
    send({ id, value }, call === 'load' ? null : value);
  } catch (e) {
    fail(id, e);
  } finally {
    stops.delete(id);
  }
}

/** Sends news that no call has asked for. @param {FromWorker} message */
export const tell = (message) => port.postMessage(message);

/** Tells the page that the GPU was lost. */
function tellBackend() {
  if (host && host.backend.reason !== told) tell({ backend: backendNow() });
}

const lost = () => {
  tell({ lost: true });
  failLostCalls();
};
/** Answers the calls of the page. @param {Loader} load */
export function serve(load) {
  loader = load;
  if (port.on) {
    port.on('message', take);
    port.on('messageerror', lost);
  } else {
    port.onmessage = (e) => take(/** @type {ToWorker} */ (e.data));
    port.onmessageerror = lost;
  }
}
