// Workers of this package, wherever a bundler or a copy has put their scripts.

import { builtin, original } from './platform.js';

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
