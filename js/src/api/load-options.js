// load() with the options `worker`, `cache`, `integrity` and `device`. The core imports this module if one of them is
// given.

import { badArgument, describeValue } from '../base/errors.js';
import { loadLocal } from '../engine/load-local.js';
import { loadCached } from '../source/cached-source.js';
import { loadInWorker } from '../worker/worker-client.js';
import * as threads from '../worker/threads.js';
import * as diagnostics from '../engine/diagnostics.js';

/**
 * @param {import('../source/source.js').Source} source @param {import('./load.js').LoadOptions} options
 * @returns {Promise<import('../engine/host.js').Host>}
 */
export async function loadWithOptions(source, options) {
  const { worker = false, cache, integrity, request, signal, onProgress, device = 'cpu' } = options;
  if (typeof worker !== 'boolean') throw badArgument(`load: worker must be a boolean, got ${describeValue(worker)}`);
  if (device !== 'cpu' && device !== 'webgpu' && device !== 'auto')
    throw badArgument(`load: device must be 'cpu', 'webgpu' or 'auto', got ${describeValue(device)}`);
  if (device === 'webgpu') return loadOnGpu(source, options);
  if (device === 'auto')
    return import('../gpu/choose.js').then(({ loadOnFaster }) => loadOnFaster(source, options, loadWithOptions));
  if (worker) return loadInWorker(source, options);
  if (!cache && integrity === undefined) return loadLocal(source, options, modules);
  return loadCached(source, { cache, integrity, request, signal }, (bytes, lock) =>
    loadLocal(bytes, { ...options, onProgress: lock.telling(onProgress) }, modules),
  );
}

const modules = {
  diagnostics: async () => diagnostics,
  threads: async () => threads,
};

/** @type {typeof loadWithOptions} */
async function loadOnGpu(source, options) {
  const plan = await import('../gpu/load-gpu.js').then(({ planGpu }) => planGpu(options));
  const host = await loadLocal(
    source,
    { ...options, threads: 1 },
    { ...modules, threads: async () => /** @type {typeof threads} */ (/** @type {unknown} */ (plan)) },
  );
  return plan.adopt(host);
}
