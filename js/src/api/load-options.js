// load() with the options `worker`, `cache`, `integrity` and `device`. The core imports this module if one of them is
// given.

import { badArgument, describeValue } from '../base/errors.js';
import { loadLocal } from '../engine/load-local.js';
import { loadCached } from '../source/cached-source.js';
import { isReadableAgain } from '../source/streams.js';
import { loadInWorker } from '../worker/worker-client.js';
import * as threads from '../worker/threads.js';
import * as diagnostics from '../engine/diagnostics.js';
import * as ops from '../engine/ops.js';

/**
 * @param {import('../source/source.js').Source} source @param {import('./load.js').LoadOptions} options
 * @returns {Promise<import('../engine/host.js').Host>}
 */
export async function loadWithOptions(source, options) {
  const { device } = options;
  if (device === 'webgpu') return loadOnGpu(source, options);
  if (device === 'auto') {
    const host = await import('../gpu/choose.js').then(({ loadOnFaster }) =>
      loadOnFaster(source, options, loadWithOptions),
    );
    return withGpu(host, source, options);
  }
  if (device !== undefined && device !== 'cpu')
    throw badArgument(`load: device must be 'cpu', 'webgpu' or 'auto', got ${describeValue(device)}`);
  const host = await loadOnCpu(source, options);
  return device ? withGpu(host, source, options) : host;
}

/** @type {typeof loadWithOptions} */
async function loadOnCpu(source, options) {
  const { worker = false, cache, integrity, request, signal, onProgress } = options;
  if (typeof worker !== 'boolean') throw badArgument(`load: worker must be a boolean, got ${describeValue(worker)}`);
  if (worker) return loadInWorker(source, options);
  if (!cache && integrity === undefined) return loadLocal(source, options, modules);
  return loadCached(source, { cache, integrity, request, signal }, (bytes, lock) =>
    loadLocal(bytes, { ...options, onProgress: lock.wrapProgress(onProgress) }, modules),
  );
}

const modules = {
  diagnostics: async () => diagnostics,
  threads: async () => threads,
  ops: async () => ops,
};

/** @type {typeof loadWithOptions} */
async function loadOnGpu(source, options) {
  const plan = await import('../gpu/load-gpu.js').then(({ planGpu }) => planGpu(source, options));
  const host = await loadLocal(
    source,
    { ...options, threads: 1 },
    { ...modules, threads: async () => /** @type {typeof threads} */ (/** @type {unknown} */ (plan)) },
  );
  return plan.adopt(host);
}

/**
 * Lets verify({ device: 'webgpu' }) of a model on the CPU load its source once more, on the GPU.
 * @param {import('../engine/host.js').Host} host
 * @param {import('../source/source.js').Source} source @param {import('./load.js').LoadOptions} options
 */
function withGpu(host, source, options) {
  const { wasm, backend, ops, limits, gpu, request, cache, integrity } = options;
  // A stream can be read once, and the GPU refuses these options.
  if (!isReadableAgain(source) || cache || integrity !== undefined) return host;
  const diagnostics = host.diagnostics.bind(host);
  host.diagnostics = async () => {
    const own = await diagnostics(),
      verify = own.verify.bind(own);
    own.verify = async (how) => {
      if (how?.device !== 'webgpu' || host.backend.device) return verify(how);
      const other = await loadOnGpu(source, { wasm, backend, ops, limits, gpu, request });
      try {
        return await (await other.diagnostics()).verify(how);
      } finally {
        other.destroy();
      }
    };
    return own;
  };
  return host;
}
