// Differences between Node and a page. Modules of Node are not imported, so that bundlers see no `node:` module.

/**
 * @typedef {{
 *   'node:async_hooks': typeof import('node:async_hooks'),
 *   'node:crypto': typeof import('node:crypto'),
 *   'node:fs': typeof import('node:fs'),
 *   'node:os': typeof import('node:os'),
 *   'node:url': typeof import('node:url'),
 *   'node:worker_threads': typeof import('node:worker_threads'),
 * }} NodeModules
 */

/**
 * Returns a built-in module of Node, Deno or Bun; undefined in a page.
 * @template {keyof NodeModules} N
 * @param {N} name
 * @returns {NodeModules[N] | undefined}
 */
export function builtin(name) {
  return /** @type {Partial<typeof globalThis>} */ (globalThis).process?.getBuiltinModule?.(name);
}

/** Returns the path if this is Node and the source is a local file. @param {string | URL} source */
export function asPath(source) {
  if (!builtin('node:fs')) return undefined;
  const text = String(source);
  if (text.startsWith('file:')) return builtin('node:url')?.fileURLToPath(text);
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? undefined : text; // "C:\m.rush" has one letter before the colon
}

/**
 * Returns the address of a file in `wasm/`. The development servers of Vite 5 to 7 serve a copy of this file from
 * node_modules/.vite/deps. There `../../wasm/` means node_modules/wasm, but the file is in node_modules/rushlight/wasm.
 * @param {URL} url the literal `new URL(..., import.meta.url)`, which bundlers look for
 */
export const packageFile = ({ href }) => href.replace('/node_modules/wasm/', '/node_modules/rushlight/wasm/');

/**
 * Characters in texts of a file that a terminal, a console or an editor interprets: control characters except tab and
 * newline, line separators, and marks of writing directions.
 */
export const CONTROL = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\u2028\u2029]/gu;

/** Returns the name of a built-in class, in any realm. @param {unknown} v @returns {string | undefined} */
export const tagOf = (v) => /** @type {{ [Symbol.toStringTag]?: string } | null} */ (v)?.[Symbol.toStringTag];

/** Tests whether a value is a path or a URL. @param {unknown} v @returns {v is string | URL} */
export const isAddress = (v) => (typeof v === 'string' && v !== '') || tagOf(v) === 'URL';

/** Returns the bytes of a view or a buffer without a copy. @param {unknown} v @returns {Uint8Array} */
export const bytesOf = (v) =>
  ArrayBuffer.isView(v)
    ? new Uint8Array(v.buffer, v.byteOffset, v.byteLength)
    : new Uint8Array(/** @type {ArrayBuffer} */ (v));

let lastTimer = 0;

/** Yields to the event loop once, so that timers, clicks and aborts are handled. @returns {Promise<void>} */
export function yieldToEventLoop() {
  const { setImmediate, document, scheduler } = /** @type {Partial<typeof globalThis> & { scheduler?: unknown }} */ (
      globalThis
    ),
    now = performance.now();
  if (setImmediate) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    // A message is faster than a timer, which waits 4 ms.
    if (!document && !scheduler && now > lastTimer + 100) {
      // A worker of WebKit runs no timers between messages.
      lastTimer = now;
      setTimeout(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/**
 * Returns a function that calls `make` once and keeps its result. After a failure, the next call tries again.
 * @template T @param {() => Promise<T>} make @returns {() => Promise<T>}
 */
export function once(make) {
  /** @type {Promise<T> | undefined} */
  let p;
  return () =>
    (p ??= make().catch((e) => {
      p = undefined;
      throw e;
    }));
}

/**
 * Modules that the core imports when they are first needed, and that another module has imported already. A service
 * worker, which cannot import modules at run time, gets them from `rushlight/cache`.
 * @type {{ ops?: typeof import('../engine/ops.js') }}
 */
export const imported = {};
