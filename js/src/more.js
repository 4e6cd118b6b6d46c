// What load() does where its options ask for more than the core, which imports this then.

import { badArgument, nameOf } from './errors.js';
import * as explain from './explain.js';
import { loadHost } from './hosting.js';
import { keptSource } from './kept.js';
import { loadRemote } from './remote.js';
import * as threads from './threads.js';
import * as trials from './trials.js';

/**
 * @param {import('./source.js').Source} source @param {import('./load.js').LoadOptions} options
 * @returns {Promise<import('./host.js').Host>}
 */
export async function loadMore(source, options) {
  const { worker = false, cache, integrity, request, signal } = options;
  if (typeof worker !== 'boolean') throw badArgument(`load: worker must be a boolean, got ${nameOf(worker)}`);
  if (worker) return loadRemote(source, options);
  return loadHost(await keptSource(source, { cache, integrity, request, signal }), options, { trials: async () => trials, threads: async () => threads, explain: async () => explain });
}
