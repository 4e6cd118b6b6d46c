// What differs between Node and a page. Nothing is imported: bundlers see no `node:` module.

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
 * A module of Node (and Deno and Bun), undefined in a page.
 * @template {keyof NodeModules} N
 * @param {N} name
 * @returns {NodeModules[N] | undefined}
 */
export function builtin(name) {
  return /** @type {any} */ (globalThis).process?.getBuiltinModule?.(name);
}

/** The path of a local file if this is Node and the source names one. @param {string | URL} source */
export function asPath(source) {
  if (!builtin('node:fs')) return undefined;
  const text = String(source);
  if (text.startsWith('file:')) return builtin('node:url')?.fileURLToPath(text);
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? undefined : text; // "C:\m.rush" has one letter before the colon
}

/**
 * The address of a file in `wasm/`. While one develops, Vite 5 to 7 serve a copy of the code from
 * node_modules/.vite/deps. Seen from there, `../../wasm/` is node_modules/wasm, and the file lies in
 * node_modules/rushlight/wasm.
 * @param {URL} url the literal `new URL(..., import.meta.url)`, which bundlers look for
 */
export const packageFile = ({ href }) => href.replace('/node_modules/wasm/', '/node_modules/rushlight/wasm/');

/**
 * Characters of a file's text that a terminal, a console or an editor would obey: control characters except tab and
 * newline, and marks of lines and of writing directions.
 */
export const CONTROL = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\u2028\u2029]/gu;

/** The name of a built-in class, whatever realm the object is of. @param {any} v @returns {string | undefined} */
export const tagOf = (v) => v?.[Symbol.toStringTag];

/** Whether it is a path or URL. @param {unknown} v @returns {v is string | URL} */
export const isAddress = (v) => (typeof v === 'string' && v !== '') || tagOf(v) === 'URL';

/** The bytes behind a view or a buffer, not copied. @param {any} v @returns {Uint8Array} */
export const bytesOf = (v) =>
  ArrayBuffer.isView(v) ? new Uint8Array(v.buffer, v.byteOffset, v.byteLength) : new Uint8Array(v);

let rested = 0;

/** Lets the event loop turn once, so that timers, clicks and aborts get through. @returns {Promise<void>} */
export function yieldToEventLoop() {
  const { setImmediate, document, scheduler } = /** @type {any} */ (globalThis),
    now = performance.now();
  if (setImmediate) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    // a timer would wait 4 ms
    if (!document && !scheduler && now > rested + 100) {
      // a worker of WebKit hears no timer between messages
      rested = now;
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
 * Runs `make` at most once at a time; a failure is forgotten, so the next call retries.
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
