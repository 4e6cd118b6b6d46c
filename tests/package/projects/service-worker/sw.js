// A service worker that runs a model with its own operator.
import { load } from './node_modules/rushlight/src/index.js';
import { cached } from './node_modules/rushlight/src/api/cache.js';

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('message', async ({ data: { model, worker }, ports: [port] }) => {
  try {
    const scale = await load(worker ? model : await cached(model, { cache: false }), {
      worker,
      ops: { 'my_ops::scale': (x, by) => ({ ...x, data: x.data.map((v) => v * by) }) },
    });
    port.postMessage([...(await scale.run({ x: new Float32Array([1, 2, 3]) })).y.data]);
  } catch (e) {
    port.postMessage(`${e.code}: ${e.message}`);
  }
});
