// Workers of this package, wherever a bundler or a copy has put their scripts.

import { builtin, original } from './platform.js';
import { checkResponse, fetchSource } from './source.js';

/**
 * Where a worker's script lies if no bundler has taken the package apart, and whether this file is a copy, as Vite 5 to 7 serve it
 * from node_modules/.vite.
 * @param {'worker' | 'thread'} name of the script
 */
export function whole(name) {
  const url = new URL('../wasm/rushlight-simd.wasm', import.meta.url), wasm = original(url); // no more than a path, as Turbopack makes it
  return { script: new URL(`../src/${name}.js`, new URL(wasm, globalThis.location?.href)), copied: wasm !== url.href };
}

/**
 * A worker of Node, or of a page.
 * @param {'worker' | 'thread'} name of the script
 * @param {() => Worker} bundled makes it by the literal `new Worker(new URL(..., import.meta.url), { type: 'module' })`, which bundlers look for
 * @returns {any}
 */
export function startWorker(name, bundled) {
  const node = builtin('node:worker_threads'), type = 'module', { script, copied } = whole(name);
  if (node) return new node.Worker(script, { execArgv: [] });
  if (copied) return new Worker(script, { type });
  try {
    return bundled();
  } catch {
    // It is of another origin than the page, as no worker may be; what one imports may be.
    return new Worker(URL.createObjectURL(new Blob([`import "${script}"`], { type: 'text/javascript' })), { type });
  }
}

/**
 * Listens to a worker of a page, or of Node.
 * @param {any} worker @param {(message: any) => void} take @param {(e: Error) => void} fail @param {() => void} lose a message that came cannot be read
 * @returns {any} the worker
 */
export function connect(worker, take, fail, lose) {
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
      fail(new Error(e.message || 'the script did not load'));
    };
  }
  return worker;
}

/**
 * Why a worker did not start, as far as that can be found out.
 * @param {'worker' | 'thread'} name of the script @param {Error} cause
 * @returns {Promise<Error>}
 */
export async function whyNot(name, cause) {
  const { script: { href }, copied } = whole(name);
  // Of what a bundler made the address is not known.
  if (!copied && !/^http.*\/workers\.js/.test(String(import.meta.url))) return cause;
  return fetchSource(href).then((r) => checkResponse(r, href, 'a script')).then(() => cause, (e) => e);
}
