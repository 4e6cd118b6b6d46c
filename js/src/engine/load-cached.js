// Loads a model on this thread through the cache, and with a check of its digest.

import { loadCached } from '../source/cached-source.js';
import { loadLocal } from './load-local.js';

/**
 * @param {import('../source/source.js').Source} source
 * @param {import('../api/load.js').LoadOptions & { interrupted?: () => unknown }} options
 * @param {import('./load-local.js').LocalModules} modules
 */
export const loadThroughCache = (source, options, modules) =>
  loadCached(source, options, (bytes, lock) =>
    loadLocal(bytes, { ...options, onProgress: lock.wrapProgress(options.onProgress) }, modules),
  );
