// load() with the options `worker`, `cache` and `integrity`. The core imports this module when one of them is given.

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
  const { worker = false, cache, integrity, request, signal, onProgress } = options;
  if (typeof worker !== 'boolean') throw badArgument(`load: worker must be a boolean, got ${describeValue(worker)}`);
  if (worker) return loadInWorker(source, options);
  return loadCached(source, { cache, integrity, request, signal }, (bytes, turn) =>
    loadLocal(
      bytes,
      { ...options, onProgress: turn.telling(onProgress) },
      {
        diagnostics: async () => diagnostics,
        threads: async () => threads,
      },
    ),
  );
}
