// load() with the option `device: 'auto'`: the test vectors of the file decide between both devices.

import { RushlightError, messageOf, throwIfAborted } from '../base/errors.js';
import { loadCached } from '../source/cached-source.js';
import { open } from '../source/source.js';
import { asResponse } from '../source/streams.js';
import { nameOf, sharedDevice } from './device.js';

/**
 * @typedef {import('../api/load.js').LoadOptions} LoadOptions
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('../engine/host.js').Host} Host
 * @typedef {(source: Source, options: LoadOptions & { device: 'cpu' | 'webgpu' }) => Promise<Host>} Loader
 * @typedef {import('./choices.js').Choice} Choice
 * @typedef {{ getChoice: (key: string) => Choice | undefined, setChoice: (key: string, choice: Choice) => unknown }}
 *   Memory remembers decisions, as choices.js does
 */

/** Timed rounds, and how much faster the GPU must be. */
const ROUNDS = 3,
  GAIN = 0.95,
  HOPELESS = 2;
const MiB = 1 << 20;

/**
 * Returns a source with the same bytes, which puts them into `kept`.
 * @param {Source} source @param {LoadOptions} options @param {Uint8Array[]} kept
 */
async function copyBytes(source, options, kept) {
  const { name, chunks } = await open(source, options);
  const keep = async function* () {
    for await (const chunk of chunks) {
      kept.push(chunk);
      yield chunk;
    }
  };
  return asResponse(keep(), name);
}

/** Identifies the model by its head, and by both ends of its weights. @param {Blob} file @param {number} head */
async function digestOf(file, head) {
  const parts = new Blob([file.slice(0, head + MiB), file.slice(-MiB), String(file.size)]);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await parts.arrayBuffer()));
  return Array.from(digest.subarray(0, 16), (b) => b.toString(16).padStart(2, '0')).join('');
}

/**
 * Runs the test vectors once. Returns the time in ms, and the message of the first wrong answer.
 * @param {Host} host
 */
async function trial(host) {
  const diagnostics = await host.diagnostics(),
    start = performance.now(),
    { tests } = await diagnostics.verify();
  return { ms: performance.now() - start, wrong: tests.find((t) => !t.passed)?.message };
}

/** @param {Host} cpu @param {Host} gpu @param {AbortSignal} [signal] @returns {Promise<Choice>} */
async function compare(cpu, gpu, signal) {
  const { wrong } = await trial(gpu); // which also compiles pipelines
  if (wrong !== undefined) return { device: 'cpu', why: `the GPU gives a wrong answer: ${wrong}` };
  await trial(cpu);
  const ms = { cpu: Infinity, webgpu: Infinity };
  for (let round = 0; round < ROUNDS && !(ms.webgpu > HOPELESS * ms.cpu); round++) {
    throwIfAborted(signal, 'loading');
    ms.cpu = Math.min(ms.cpu, (await trial(cpu)).ms);
    ms.webgpu = Math.min(ms.webgpu, (await trial(gpu)).ms);
  }
  const device = ms.webgpu < GAIN * ms.cpu ? 'webgpu' : 'cpu';
  return {
    device,
    why: `the test vectors take ${ms.webgpu.toFixed(1)} ms on the GPU and ${ms.cpu.toFixed(1)} ms on the CPU`,
  };
}

/** Returns why trials are not possible, or undefined. @param {Host} host @param {LoadOptions} options */
function whyNoTrials({ description }, { ops }) {
  if (description.tests === 0) return 'the file has no test vectors';
  if (ops) return 'trials would call functions of the option `ops`';
  if (description.operators.some(({ name }) => name === 'prim::Print')) return 'trials would print';
  return undefined;
}

/**
 * @param {Host} cpu @param {Blob} file @param {LoadOptions} options @param {Loader} load
 * @param {import('./driver.js').Shared} shared @param {Memory} memory
 * @returns {Promise<Host>}
 */
async function decide(cpu, file, options, load, shared, memory) {
  const why = whyNoTrials(cpu, options);
  if (why !== undefined) return withReason(cpu, why);
  const key = `${nameOf(shared)} ${await digestOf(file, cpu.description.headBytes)}`,
    known = memory.getChoice(key);
  if (known?.device === 'cpu') return withReason(cpu, known.why);
  /** @type {Host} */ let gpu;
  try {
    gpu = await load(file, { ...options, device: 'webgpu', onProgress: undefined });
  } catch (e) {
    throwIfAborted(options.signal, 'loading');
    return withReason(cpu, messageOf(e));
  }
  try {
    const choice = known ?? (await compare(cpu, gpu, options.signal));
    if (gpu.backend.device) memory.setChoice(key, choice); // the comparison means nothing if the device was lost
    const [kept, other] = choice.device === 'cpu' ? [cpu, gpu] : [gpu, cpu];
    await kept.reset();
    other.destroy();
    return withReason(kept, choice.why);
  } catch (e) {
    gpu.destroy();
    throw e;
  }
}

/** Adds the reason of a decision. @param {Host} host @param {string} why */
function withReason(host, why) {
  host.backend.reason += `; device 'auto' runs on the ${host.backend.device ? 'GPU' : 'CPU'}: ${why}`;
  return host;
}

/**
 * Loads a model on the device that is faster for its test vectors, and right.
 * @param {Source} source @param {LoadOptions} options @param {Loader} load @param {Memory} memory
 * @returns {Promise<Host>}
 */
export async function loadOnFaster(source, options, load, memory) {
  const onCpu = async (/** @type {string} */ why) => withReason(await load(source, { ...options, device: 'cpu' }), why);
  /** @type {import('./driver.js').Shared} */ let shared;
  try {
    shared = await sharedDevice(options.gpu);
  } catch (e) {
    if (e instanceof RushlightError && e.code === 'unsupported') return onCpu(e.message);
    throw e;
  }
  if (shared.info?.isFallbackAdapter) return onCpu('the adapter computes in software');
  /** @type {Uint8Array[]} */ const kept = [];
  // Both devices load the bytes that the cache gives once.
  const { cache, integrity, ...plain } = options;
  const cpu = await loadCached(source, options, async (bytes, lock) =>
    load(await copyBytes(bytes, options, kept), {
      ...plain,
      device: 'cpu',
      onProgress: lock.wrapProgress(options.onProgress),
    }),
  );
  try {
    return await decide(cpu, new Blob(/** @type {BlobPart[]} */ (kept)), plain, load, shared, memory);
  } catch (e) {
    cpu.destroy();
    throw e;
  }
}
