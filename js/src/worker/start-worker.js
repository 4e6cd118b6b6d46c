// Workers of this package, wherever a bundler or a copy has put their scripts.

import { RushlightError, messageOf } from '../base/errors.js';
import { builtin, packageFile } from '../base/platform.js';
import { checkResponse, fetchSource } from '../source/source.js';

/**
 * Where a worker's script lies if no bundler has taken the package apart, and whether this file is a copy, as Vite 5 to
 * 7 serve it
 * from node_modules/.vite.
 * @param {'worker' | 'thread'} name of the script
 */
export function scriptAddress(name) {
  // No more than a path, as Turbopack makes it
  const url = new URL('../../wasm/rushlight-simd.wasm', import.meta.url),
    wasm = packageFile(url);
  return {
    script: new URL(`../src/worker/${name}.js`, new URL(wasm, globalThis.location?.href)),
    copied: wasm !== url.href,
  };
}

/**
 * A worker of Node, or of a page.
 * @param {'worker' | 'thread'} name of the script
 * @param {() => Worker} bundled makes it by the literal `new Worker(new URL(..., import.meta.url), { type: 'module'
 *   })`, which bundlers look for
 * @returns {any}
 */
export function startWorker(name, bundled) {
  const node = builtin('node:worker_threads'),
    type = 'module',
    { script, copied } = scriptAddress(name);
  if (node) return new node.Worker(script, { execArgv: [] });
  const begin = () => (copied ? new Worker(script, { type }) : bundled());
  // One of another origin than the page, as no worker may be; what one imports may be.
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
 * The policy that lets scripts of this package be workers where a page wants Trusted Types.
 * @type {{ createScriptURL(url: string): any } | undefined}
 */
let policy;

/**
 * Starts a worker, also where a page wants Trusted Types: `make` throws a TypeError there.
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
 * The address is only seen by `Worker`: bundlers look for that name and put their own address there. So, for this one
 * call, the name is of a
 * class that has the address trusted.
 * @param {() => Worker} make
 */
function withPolicy(make) {
  const { Worker, trustedTypes } = /** @type {any} */ (globalThis);
  try {
    policy ??= /** @type {NonNullable<typeof policy>} */ (
      trustedTypes.createPolicy('rushlight', { createScriptURL: String })
    );
  } catch (cause) {
    throw new RushlightError(
      'unsupported',
      'this page requires Trusted Types: its Content-Security-Policy must allow the ' +
        `policy, trusted-types rushlight (${messageOf(cause)})`,
      { cause },
    );
  }
  const trust = policy;
  /** @type {any} */ (globalThis).Worker = class extends Worker {
    /** @param {string | URL} url @param {WorkerOptions} options */
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
 * @param {any} worker
 * @param {(message: any) => void} take
 * @param {(e: Error) => void} fail
 * @param {() => void} lose a message that came cannot be read
 * @returns {any} the worker
 */
export function listen(worker, take, fail, lose) {
  if (worker.on) {
    worker.on('message', take);
    worker.on('messageerror', lose);
    worker.on('error', fail);
    worker.on('exit', () => fail(new Error('it has ended')));
  } else {
    worker.onmessage = (/** @type {MessageEvent} */ e) => take(e.data);
    worker.onmessageerror = lose;
    worker.onerror = (/** @type {ErrorEvent} */ e) => {
      e.preventDefault(); // who is told of it may go on
      fail(e.message ? new Error(e.message) : new RushlightError('network', 'the script did not load'));
    };
  }
  return worker;
}

/**
 * Why a worker did not start, as far as that can be found out.
 * @param {'worker' | 'thread'} name of the script @param {Error} cause
 * @returns {Promise<Error>}
 */
export async function startFailure(name, cause) {
  const {
    script: { href },
    copied,
  } = scriptAddress(name);
  // Of what a bundler made the address is not known.
  if (!copied && !/^http.*\/start-worker\.js/.test(String(import.meta.url))) return cause;
  return fetchSource(href)
    .then((r) => checkResponse(r, href, 'a script'))
    .then(
      () => cause,
      (e) => e,
    );
}
