// Runs steps of in-cache.js in a worker or service worker.

import { use } from './in-cache.js';

/** @type {any} */ (globalThis).addEventListener('message', (/** @type {any} */ e) => {
  const done = use(e.data).then((result) => (e.source ?? globalThis).postMessage(result));
  e.waitUntil?.(done);
});
