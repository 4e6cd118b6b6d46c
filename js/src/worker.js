// The worker that holds a model: remote.js starts it and talks to it.

// It imports nothing that leads back to it, and nothing at run time: bundlers make one file of it, and one of the threads' script.

import { RushlightError, badArgument, says } from './errors.js';
import * as explain from './explain.js';
import { loadHost } from './hosting.js';
import { keptSource } from './kept.js';
import { CALLS, buffers } from './messages.js';
import { builtin } from './platform.js';
import * as threads from './threads.js';
import * as trials from './trials.js';

/** @type {any} */
const port = builtin('node:worker_threads')?.parentPort ?? globalThis;
/** @type {any} */ let host;
/** @type {Map<number, AbortController>} */
const stops = new Map();
/** @type {Map<number, (reply: any) => void>} */
const calls = new Map();
let last = 0;

/** An error, to be sent. @param {any} e @returns {import('./remote.js').Failure} */
function pack(e) {
  const { code, message, op, input, expected, actual, source, cause } = e instanceof RushlightError ? e : /** @type {any} */ ({ code: 'internal', message: says(e), cause: e });
  const thrown = /** @type {any} */ (cause)?.thrown;
  return { code, message, op, input, expected, actual, source, thrown, cause: thrown === undefined && cause instanceof Error ? cause : undefined };
}

/** Sends an error; without what belongs to it where that cannot be cloned. @param {number} id @param {unknown} e */
function fail(id, e) {
  const error = pack(e);
  try {
    port.postMessage({ id, error });
  } catch {
    port.postMessage({ id, error: { ...error, expected: undefined, actual: undefined, cause: undefined } });
  }
}

/** Fails what waits for an answer that could not be read. */
const lose = () => { for (const take of [...calls.values()]) take({ thrown: 'its result was lost on the way to the worker' }); };

/** @param {any} message @param {unknown} given what it gives away */
const send = (message, given) => port.postMessage(message, [...buffers(given)]);

/** A function that lets the other side compute an operator. @param {string} op */
const ask = (op) => (/** @type {any[]} */ ...args) => new Promise((resolve, reject) => {
  const call = ++last;
  calls.set(call, (reply) => {
    calls.delete(call);
    if (reply.thrown !== undefined) return reject(Object.assign(new Error(reply.thrown), { thrown: call }));
    // The engine looks at its own arguments for what was written into them.
    args.forEach((arg, i) => { if (arg?.data) arg.data = reply.args?.[i]?.data; });
    resolve(reply.value);
  });
  send({ op, call, args }, args);
});

/** @param {any} source @param {any} options @param {[string, string][]} ops @param {boolean} progress @param {Int32Array} [flag] what the page sets while a call shall end @returns {Promise<import('./remote.js').Loaded>} */
async function load(source, options, ops, progress, flag) {
  if (options.name) Object.defineProperty(source, 'name', { value: options.name });
  try {
    host = await loadHost(await keptSource(source, options), {
      ...options, interrupted: flag && (() => Atomics.load(flag, 0)),
      ops: Object.fromEntries(ops.map(([name, schema]) => [name, { schema, run: ask(name) }])),
      onProgress: progress ? (/** @type {unknown} */ p) => port.postMessage({ progress: p }) : undefined,
    }, { trials: async () => trials, threads: async () => threads, explain: async () => explain });
  } catch (e) {
    throw explain.explain(e, options.wasm);
  }
  return { backend: host.backend, description: host.description, text: host.describeText(), graph: host.graphText() };
}

/** @param {any} call @param {any[]} args */
function answer(call, args) {
  if (call === 'load') return load(.../** @type {Parameters<typeof load>} */ (args));
  if (call !== 'run' && !CALLS.includes(call)) throw badArgument('the worker was asked for what it does not know');
  // The first number goes to C as it is, and a wasm that throws there would be given up.
  if (call !== 'manualSeed' && typeof args[call === 'trial' ? 1 : 0] === 'bigint') throw badArgument('the index of a method or test must be a number, got a BigInt');
  return host[call](...args);
}

/** What is no message of remote.js is passed over. @param {any} m */
async function take(m) {
  if (m?.lost) return lose();
  if (m?.abort) return stops.get(m.abort)?.abort();
  if (m?.reply) return calls.get(m.reply)?.(m);
  if (typeof m?.id !== 'number') return;
  const { id, call, args, stoppable } = m;
  const stop = new AbortController();
  if (stoppable) stops.set(id, stop);
  try {
    const value = await answer(call, stoppable ? [...args, stop.signal] : args);
    send({ id, value }, call === 'load' ? null : value);
  } catch (e) {
    fail(id, e);
  } finally {
    stops.delete(id);
  }
}

const lost = () => {
  port.postMessage({ lost: true });
  lose();
};
if (port.on) {
  port.on('message', take);
  port.on('messageerror', lost);
} else {
  port.onmessage = (/** @type {MessageEvent} */ e) => take(e.data);
  port.onmessageerror = lost;
}
