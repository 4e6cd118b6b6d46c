// The script of the worker that holds a model on the GPU, or on the faster device.

import { loadThroughCache } from '../engine/load-cached.js';
import { loadOnFaster } from '../gpu/choose.js';
import * as comparison from '../gpu/compare-devices.js';
import * as weights from '../gpu/file-weights.js';
import { loadOnGpu } from '../gpu/load-gpu.js';
import * as profiling from '../gpu/profile-gpu.js';
import { serve, tell } from './serve.js';

const parts = {
  comparison: async () => comparison,
  weights: async () => weights,
  profiling: async () => profiling,
};

serve((source, options, modules) => {
  const { device, choices = {} } = options;
  /** @type {import('../gpu/choose.js').Loader} */
  const load = (from, how) =>
    how.device === 'webgpu' ? loadOnGpu(from, how, modules, parts) : loadThroughCache(from, how, modules);
  if (device === 'webgpu') return load(source, { ...options, device });
  return loadOnFaster(source, options, load, {
    getChoice: (key) => choices[key],
    setChoice: (...choice) => tell({ choice }),
  });
});
