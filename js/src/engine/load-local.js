// Loads a model on this thread. Each chunk of bytes is copied once, to the place that the loader names.

import { Engine } from './engine.js';
import {
  RushlightError,
  badArgument,
  checkOptions,
  callbackFailed,
  describeValue,
  throwIfAborted,
} from '../base/errors.js';
import { LocalHost } from './host.js';
import { createRuntime } from './runtime.js';
import { open, withFirstBytes } from '../source/source.js';

/**
 * @typedef {import('../api/load.js').LoadOptions} LoadOptions
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('./engine.js').Description} Description
 * @typedef {Pick<import('../api/load.js').LazyModules, 'diagnostics' | 'threads' | 'ops'>} LocalModules
 */

/**
 * @param {import('../api/load.js').LoadOptions['onProgress']} onProgress
 * @param {import('../api/load.js').Progress} progress
 */
export async function reportProgress(onProgress, progress) {
  try {
    await onProgress?.(progress);
  } catch (e) {
    throw callbackFailed('onProgress', e);
  }
}

/** @param {import('../api/load.js').Limits} [limits] */
function readLimits(limits = {}) {
  checkOptions('load: limits', limits, ['bytes', 'steps']);
  for (const [name, n] of Object.entries(limits)) {
    if (n !== undefined && !(typeof n === 'number' && n > 0))
      throw badArgument(`load: limits.${name} must be a number above 0, got ${describeValue(n)}`);
  }
  return limits;
}

/**
 * Streams a source into a new engine: all of it, or its head.
 * @param {Source} source @param {LoadOptions} options @param {boolean} headOnly @param {Partial<LocalModules>} [lazy]
 * @returns {Promise<Engine>}
 */
async function stream(source, options, headOnly, lazy = {}) {
  const { signal, onProgress } = options;
  throwIfAborted(signal, 'loading');
  const limits = readLimits(options.limits);
  const ops = options.ops === undefined ? undefined : (await lazy.ops?.())?.readOps(options.ops);
  // The wasm compiles while the first bytes arrive.
  const [opened, runtime] = await Promise.allSettled([open(source, options), createRuntime(options, lazy.threads)]);
  if (opened.status === 'rejected') {
    /** @type {Partial<PromiseFulfilledResult<import('./runtime.js').Runtime>>} */ (runtime).value?.threads?.end();
    throw opened.reason;
  }
  const { name, chunks } = opened.value;
  if (runtime.status === 'rejected') {
    const begun = chunks[Symbol.asyncIterator](); // a generator that has not begun does not cancel its download
    begun
      .next()
      .then(() => begun.return?.())
      .catch(() => {});
    throw runtime.reason;
  }
  const engine = new Engine(runtime.value, ops, limits);
  /** The place of the first asset, once the head has arrived. @type {number | undefined} */ let assets;
  let loaded = 0;
  /** @type {Uint8Array | undefined} */ let start;
  try {
    for await (const chunk of chunks) {
      throwIfAborted(signal, `loading ${name}`);
      start ??= chunk;
      const used = engine.feed(chunk, headOnly);
      loaded += used;
      if (engine.hasHead()) {
        if (headOnly) return engine;
        assets ??= engine.head().assets[0]?.offset ?? Infinity;
        if (loaded > assets) engine.tail.push(chunk.slice());
      }
      if (used < chunk.length) {
        throw new RushlightError(
          'bad-file',
          `${name} has more than the ${engine.total()} bytes that its header declares`,
          {
            source: name,
            expected: engine.total(),
          },
        );
      }
      await reportProgress(onProgress, { loaded, total: engine.total() || null });
    }
    throwIfAborted(signal, `loading ${name}`); // an aborted stream ends without an error
    const total = engine.total();
    if (loaded < total || total === 0) {
      throw new RushlightError('truncated', `${name} is truncated: got ${loaded} of ${total || 'at least 64'} bytes`, {
        source: name,
        expected: total,
        actual: loaded,
      });
    }
    engine.finish();
    return engine;
  } catch (e) {
    engine.destroy();
    if (e instanceof RushlightError && e.code === 'bad-file' && e.source !== name) {
      e.message = `${name}: ${e.message}`;
      e.source = name;
    }
    throw e instanceof RushlightError && start && start[0] !== 0x89
      ? withFirstBytes(e, name, 'a .rush file', start)
      : e;
  }
}

/** @param {Source} source @param {LoadOptions & { interrupted?: () => unknown }} options @param {LocalModules} lazy */
export async function loadLocal(source, options, lazy) {
  return new LocalHost(await stream(source, options, false, lazy), lazy.diagnostics);
}

/**
 * Reads the head. Returns the plan, and a text: a description, the program as JSON, or PyTorch's own graphs or code.
 * @param {Source} source @param {LoadOptions} options @param {0 | 2 | 3 | 4} [form] of rush_model_describe
 * @returns {Promise<{ plan: Description, text: string }>}
 */
export async function readHead(source, options, form) {
  const engine = await stream(source, options, true);
  try {
    return { plan: engine.head(), text: engine.describeText(form) };
  } finally {
    engine.destroy();
  }
}
