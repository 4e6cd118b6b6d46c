// Starts the workers of this package. Bundlers and copies put their scripts in different places.

import { RushlightError, messageOf } from '../base/errors.js';
import { builtin, packageFile } from '../base/platform.js';
import { checkResponse, fetchSource } from '../source/source.js';

/**
 * Some properties of Worker. Where neither "dom" nor @types/node is in a project's `lib`, globals.d.ts declares a
 * Worker without properties.
 * @template {string} Names
 * @typedef {Pick<Worker, Extract<keyof Worker, Names>>} OfWorker
 */

/**
 * @typedef {OfWorker<'postMessage' | 'onmessage' | 'onmessageerror'> &
 *   { on?: (event: string, listener: (value: never) => void) => unknown, close?: () => void }} Port
 *   a port to the other side: of a page, or of Node, which has `on`
 *
 * @typedef {'worker' | 'gpu-worker' | 'thread'} Script
 *
 * @typedef {Port & OfWorker<'terminate' | 'onerror'> & { ref?: () => void, unref?: () => void }} AnyWorker
 *   a worker of a page, or of Node
 */

/**
 * Returns the address of a worker's script without a bundler. `copied` tells whether this file is a copy in
 * node_modules/.vite, as the development servers of Vite 5 to 7 make it.
 * @param {Script} name of the script
 */
export function scriptAddress(name) {
  // Turbopack makes a path without an origin.
  const url = new URL('../../wasm/rushlight-simd.wasm', import.meta.url),
    wasm = packageFile(url);
  return {
    script: new URL(`../src/worker/${name}.js`, new URL(wasm, globalThis.location?.href)),
    copied: wasm !== url.href,
  };
}

/**
 * Starts a worker in Node or in a page.
 * @param {Script} name of the script
 * @param {() => Worker} bundled makes it by the literal `new Worker(new URL(..., import.meta.url), { type: 'module'
 *   })`, which bundlers look for
 * @returns {AnyWorker}
 */
export function startWorker(name, bundled) {
  const node = builtin('node:worker_threads'),
    type = 'module',
    { script, copied } = scriptAddress(name);
  if (node) return /** @type {AnyWorker} */ (/** @type {unknown} */ (new node.Worker(script, { execArgv: [] })));
  const begin = () => (copied ? new Worker(script, { type }) : bundled());
  // The script of a worker must have the page's origin, but its imports need not.
  const imported = () =>
    new Worker(URL.createObjectURL(new Blob([`import "${script}"`], { type: 'text/javascript' })), { type });
  try {
    return trusted(begin);
  } catch (e) {
    if (e instanceof RushlightError) throw e;
    return trusted(imported);
  }
}

/**
 * @typedef {object} Policy of Trusted Types
 * @property {(url: string) => string} createScriptURL returns an object that Worker accepts as a string
 */

/** The policy for the scripts of this package on pages with Trusted Types. @type {Policy | undefined} */
let policy;

/**
 * Starts a worker. If the page requires Trusted Types, `make` throws a TypeError, and the policy is used.
 * @param {() => Worker} make
 */
function trusted(make) {
  try {
    return make();
  } catch (e) {
    if (!(e instanceof TypeError && 'trustedTypes' in globalThis)) throw e;
    return withPolicy(make);
  }
}

/**
 * Starts a worker under a policy. Bundlers replace the address in `new Worker(...)`, so that only `Worker` sees it. For
 * this call, the name `Worker` is a class that makes the address trusted.
 * @param {() => Worker} make
 */
function withPolicy(make) {
  const { Worker, trustedTypes } =
    /** @type {typeof globalThis & { trustedTypes: { createPolicy: (name: string, rules: Policy) => Policy } }} */ (
      globalThis
    );
  try {
    policy ??= trustedTypes.createPolicy('rushlight', { createScriptURL: String });
  } catch (cause) {
    throw new RushlightError(
      'unsupported',
      'this page requires Trusted Types: its Content-Security-Policy must allow the ' +
        `policy, trusted-types rushlight (${messageOf(cause)})`,
      { cause },
    );
  }
  const trust = policy;
  globalThis.Worker = class extends Worker {
    /** @param {string | URL} url @param {WorkerOptions} [options] */
    constructor(url, options) {
      super(trust.createScriptURL(String(url)), options);
    }
  };
  try {
    return make();
  } finally {
    globalThis.Worker = Worker;
  }
}

/**
 * Listens to a worker of a page, or of Node.
 * @param {AnyWorker} worker
 * @param {(message: unknown) => void} take
 * @param {(e: Error) => void} fail
 * @param {() => void} lose is called for a message that cannot be read
 * @returns {AnyWorker} the worker
 */
export function listen(worker, take, fail, lose) {
  if (worker.on) {
    worker.on('message', take);
    worker.on('messageerror', lose);
    worker.on('error', fail);
    worker.on('exit', () => fail(new Error('it has ended')));
  } else {
    worker.onmessage = (e) => take(e.data);
    worker.onmessageerror = lose;
    worker.onerror = (e) => {
      e.preventDefault(); // the error is handled
      fail(e.message ? new Error(e.message) : new RushlightError('network', 'the script did not load'));
    };
  }
  return worker;
}

/**
 * Finds the reason why a worker did not start; returns `cause` if there is no better one.
 * @param {Script} name of the script @param {Error} cause
 * @returns {Promise<Error>}
 */
export async function startFailure(name, cause) {
  const {
    script: { href },
    copied,
  } = scriptAddress(name);
  // The address in a bundle is not known.
  if (!copied && !/^http.*\/start-worker\.js/.test(String(import.meta.url))) return cause;
  return fetchSource(href)
    .then((r) => checkResponse(r, href, 'a script'))
    .then(
      () => cause,
      (e) => e,
    );
}
