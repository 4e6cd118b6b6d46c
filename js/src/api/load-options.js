// load() with the options `worker`, `cache`, `integrity` and `device`. The core imports this module if one of them is
// given.

import { badArgument, describeValue } from '../base/errors.js';
import { loadThroughCache } from '../engine/load-cached.js';
import { loadLocal } from '../engine/load-local.js';
import { isReadableAgain } from '../source/streams.js';
import { modules } from '../worker/modules.js';
import { loadInWorker } from '../worker/worker-client.js';

/**
 * @typedef {import('../engine/host.js').Host} Host
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('./load.js').LoadOptions} LoadOptions
 */

/**
 * @param {Source} source @param {LoadOptions} options
 * @returns {Promise<Host>}
 */
export async function loadWithOptions(source, options) {
  const { device, worker = false } = options;
  if (device !== undefined && !['cpu', 'webgpu', 'auto'].includes(device))
    throw badArgument(`load: device must be 'cpu', 'webgpu' or 'auto', got ${describeValue(device)}`);
  if (typeof worker !== 'boolean') throw badArgument(`load: worker must be a boolean, got ${describeValue(worker)}`);
  const host = await (worker
    ? loadInWorker(source, options, device === 'auto' ? await pageChoices() : undefined)
    : loadHere(source, options));
  return device === 'cpu' || device === 'auto' ? withGpu(host, source, options) : host;
}

/** Loads a model on this thread. @type {typeof loadWithOptions} */
function loadHere(source, options) {
  if (options.device === 'webgpu') return loadOnGpu(source, options);
  if (options.device === 'auto') return loadOnFasterDevice(source, options);
  return loadOnCpu(source, options);
}

/** @type {typeof loadWithOptions} */
async function loadOnCpu(source, options) {
  const { cache, integrity } = options;
  return (cache || integrity !== undefined ? loadThroughCache : loadLocal)(source, options, modules);
}

/** @type {import('../gpu/load-gpu.js').GpuParts} */
const gpuParts = {
  comparison: () => import('../gpu/compare-devices.js').then((m) => m),
  weights: () => import('../gpu/file-weights.js').then((m) => m),
  profiling: () => import('../gpu/profile-gpu.js').then((m) => m),
};

const pageChoices = () => import('../gpu/choices.js').then((m) => m);

/** @type {typeof loadWithOptions} */
const loadOnGpu = (source, options) =>
  import('../gpu/load-gpu.js').then((m) => m.loadOnGpu(source, options, modules, gpuParts));

/** @type {typeof loadWithOptions} */
async function loadOnFasterDevice(source, options) {
  const choices = await pageChoices();
  return import('../gpu/choose.js').then((m) => m.loadOnFaster(source, options, loadHere, choices));
}

/**
 * Lets verify({ device: 'webgpu' }) of a model on the CPU load its source once more, on the GPU.
 * @param {Host} host @param {Source} source @param {LoadOptions} options
 */
function withGpu(host, source, options) {
  if (!isReadableAgain(source)) return host;
  const { signal, onProgress, ...again } = options,
    diagnostics = host.diagnostics.bind(host);
  host.diagnostics = async () => {
    const own = await diagnostics(),
      verify = own.verify.bind(own);
    own.verify = async (how) => {
      if (how?.device !== 'webgpu' || host.backend.device) return verify(how);
      const other = await loadWithOptions(source, { ...again, device: 'webgpu' });
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
