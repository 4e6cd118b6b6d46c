// Bytes to a model on this side: chunks go to the place that the loader names, one copy each.

import { Engine } from './engine.js';
import { RushlightError, badArgument, checkOptions, throwIfAborted } from './errors.js';
import { Host } from './host.js';
import { readOps } from './ops.js';
import { createRuntime } from './runtime.js';
import { checkStart, open } from './source.js';

/**
 * @typedef {import('./load.js').LoadOptions} LoadOptions
 * @typedef {import('./source.js').Source} Source
 * @typedef {import('./engine.js').Description} Description
 */

/** @param {import('./load.js').Limits} [limits] */
function readLimits(limits = {}) {
  checkOptions('load: limits', limits, ['bytes', 'steps']);
  if (!Object.values(limits).every((n) => n > 0)) throw badArgument('load: limits are numbers above 0');
  return limits;
}

/**
 * Streams a source into a new engine: all of it, or its head.
 * @param {Source} source @param {LoadOptions} options @param {boolean} headOnly @param {any} [threading]
 * @returns {Promise<Engine>}
 */
async function stream(source, options, headOnly, threading) {
  const { signal, onProgress } = options;
  throwIfAborted(signal, 'loading');
  const limits = readLimits(options.limits);
  const ops = options.ops === undefined ? undefined : readOps(options.ops);
  // The wasm compiles while the first bytes arrive.
  const [opened, runtime] = await Promise.allSettled([open(source, options, headOnly), createRuntime(options, threading)]);
  if (opened.status === 'rejected') {
    /** @type {any} */ (runtime).value?.threads?.end();
    throw opened.reason;
  }
  const { name, chunks } = opened.value;
  if (runtime.status === 'rejected') {
    await chunks[Symbol.asyncIterator]().return?.();
    throw runtime.reason;
  }
  const engine = new Engine(runtime.value, ops, limits);
  let loaded = 0;
  try {
    for await (const chunk of chunks) {
      throwIfAborted(signal, `loading ${name}`);
      if (loaded === 0 && chunk[0] !== 0x89) checkStart(chunk, name, 'a .rush file');
      const used = engine.feed(chunk, headOnly);
      loaded += used;
      if (headOnly && engine.hasHead()) return engine;
      if (used < chunk.length) {
        throw new RushlightError('bad-file', `${name} did not end after the ${engine.total()} bytes of its header`, { source: name, expected: engine.total() });
      }
      onProgress?.({ loaded, total: engine.total() || null });
    }
    throwIfAborted(signal, `loading ${name}`); // which ends a stream as if that were all
    const total = engine.total();
    if (loaded < total || total === 0) {
      throw new RushlightError('truncated', `${name} ended early: got ${loaded} of ${total || 'at least 64'} bytes`, { source: name, expected: total, actual: loaded });
    }
    engine.finish();
    return engine;
  } catch (e) {
    engine.destroy();
    if (e instanceof RushlightError && e.code === 'bad-file' && !e.message.includes(name)) {
      e.message = `${name}: ${e.message}`;
      e.source = name;
    }
    throw e;
  }
}

/** @param {Source} source @param {LoadOptions & { interrupted?: () => unknown }} options @param {() => Promise<typeof import('./trials.js')>} trials @param {() => Promise<typeof import('./threads.js')>} threading */
export async function loadHost(source, options, trials, threading) {
  return new Host(await stream(source, options, false, threading), trials);
}

/**
 * The plan, and the same as text for people, or the program as JSON, or PyTorch's own graphs or code.
 * @param {Source} source @param {LoadOptions} options @param {0 | 2 | 3 | 4} [form] as of rush_model_describe
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
