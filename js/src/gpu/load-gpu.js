// load() with the option `device: 'webgpu'`.

import { RushlightError, badArgument, describeValue } from '../base/errors.js';
import { once, packageFile } from '../base/platform.js';
import { loadThroughCache } from '../engine/load-cached.js';
import { compile } from '../engine/runtime.js';
import { copied } from '../engine/values.js';
import { TIMESTAMPS, isLost, nameOf, sharedDevice } from './device.js';
import { Driver } from './driver.js';
import { keepResultsOf, useGpuValues } from './exchange.js';
import { GpuTensor, ResultBuffers } from './gpu-tensor.js';
import { link } from './link.js';
import { isReadableAgain } from '../source/streams.js';

/**
 * @typedef {import('../engine/host.js').LocalHost} LocalHost
 * @typedef {import('../api/load.js').LoadOptions} LoadOptions
 * @typedef {import('./file-weights.js').ModelSource} ModelSource
 *
 * @typedef {object} GpuParts modules that are needed late, or not at all
 * @property {() => Promise<Pick<typeof import('./compare-devices.js'), 'compareDevices' | 'verifyOn'>>} comparison
 * @property {() => Promise<Pick<typeof import('./file-weights.js'), 'readWeights'>>} weights
 * @property {() => Promise<Pick<typeof import('./profile-gpu.js'), 'countOnce' | 'profileOn'>>} profiling
 */

const gpuModule = once(() => compile(() => packageFile(new URL('../../wasm/rushlight-gpu.wasm', import.meta.url))));

/** The device of one model, in place of threads: createRuntime() of engine/runtime.js. */
export class Gpu {
  /** The text of the fault that ended the use of the device. @type {string | undefined} */ fault;
  /** @type {import('../engine/runtime.js').Backend | undefined} */ backend;
  /** @type {import('./exchange.js').GpuValues | undefined} */ values;
  /** This function is called when an instruction begins to wait for bytes. @type {(() => void) | undefined} */ onwait;
  #wasm = /** @type {import('./link.js').GpuExports} */ ({});
  #at = 0;
  /** @type {Driver | undefined} */ #driver;
  #shared;
  #module;
  #source;
  /** Modules that are needed late. */ parts;
  /** The buffers of results that stay on the device. */ results;

  /**
   * @param {import('./driver.js').Shared} shared @param {WebAssembly.Module} module
   * @param {ModelSource} source @param {GpuParts} parts
   */
  constructor(shared, module, source, parts) {
    this.#shared = shared;
    this.parts = parts;
    this.#source = source;
    this.results = new ResultBuffers(shared.device);
    this.#module = module;
  }

  /** @param {import('../engine/runtime.js').Runtime} runtime @param {number} ctx */
  begin(runtime, ctx) {
    const c = /** @type {Parameters<typeof link>[1]} */ (/** @type {unknown} */ (runtime.c)),
      { memory } = c,
      { pause } = runtime;
    runtime.pause = () => this.#arrive() ?? pause();
    const driver = (this.#driver = new Driver(this.#shared, memory));
    this.#wasm = link(this.#module, c, ctx, driver.imports());
    this.#at = this.#wasm.rush_gpu_begin(ctx);
    if (!this.#at) throw new RushlightError('out-of-memory', 'cannot allocate the state of the GPU');
    if (!isReadableAgain(this.#source.source)) this.#wasm.rush_gpu_keep_weights(this.#at);
    c.rush_bridge_device(ctx, this.#wasm.rush_gpu_device_of(this.#at));
  }

  /** Returns a promise if wasm waits for bytes of the device. */
  #arrive() {
    return this.#wasm.rush_gpu_pending(this.#at) ? this.#settle() : undefined;
  }

  async #settle() {
    this.onwait?.();
    const fault = await this.#driver?.settle((token) => this.#wasm.rush_gpu_place(this.#at, token));
    if (fault === undefined) this.#wasm.rush_gpu_arrived(this.#at);
    else this.lose(fault);
  }

  /** Lets all operators run on the CPU. @param {string} fault, unless the device has told another one */
  lose(fault) {
    this.fault = this.#shared.fault ?? fault;
    this.#wasm.rush_gpu_lose(this.#at);
    if (!this.backend) return;
    delete this.backend.device;
    delete this.backend.gpuDevice;
    this.backend.reason += `; ${this.fault}, and operators now run on the CPU`;
  }

  /**
   * Brings the weights that only a lost device had to memory.
   * @param {LocalHost} host @param {AbortSignal} [signal]
   */
  async restoreWeights(host, signal) {
    if (this.fault === undefined || !host.alive) return;
    const wasm = {
      next: (/** @type {number} */ k, /** @type {number} */ out) => this.#wasm.rush_gpu_next_weight(this.#at, k, out),
      areBack: () => this.#wasm.rush_gpu_weights_are_back(this.#at),
    };
    const { fault } = this,
      { readWeights } = await this.parts.weights();
    await readWeights(host, wasm, this.#source, fault, signal);
  }

  /** Waits for bytes that wasm has requested. Returns whether there were any. */
  async arrive() {
    const bytes = this.#arrive();
    await bytes;
    return bytes !== undefined;
  }

  /** Lets all operators run on the CPU for some time, or no longer. @param {0 | 1} idle */
  setIdle(idle) {
    this.#wasm.rush_gpu_set_idle(this.#at, idle);
  }

  /** Keeps the state of the random numbers, for a run that may begin again. @param {number} session */
  keepRandom(session) {
    this.#wasm.rush_gpu_keep_random(this.#at, session);
  }

  /** @param {number} session */
  returnRandom(session) {
    this.#wasm.rush_gpu_return_random(this.#at, session);
  }

  get device() {
    return this.#shared.device;
  }

  /** Measures kernels from now on, or no longer. @param {import('./profile-gpu.js').Timer} [timer] */
  setTimer(timer) {
    this.#driver?.setTimer(timer);
  }

  /** Lets the tensors of results stay on the device, or no longer. @param {0 | 1} keeps */
  keepResults(keeps) {
    this.#wasm.rush_gpu_keep_results(this.#at, keeps);
  }

  /** Submits the recorded commands. Throws if the device has reported a fault so far. */
  submit() {
    this.#wasm.rush_gpu_submit(this.#at);
    this.#driver?.submit();
    if (this.#shared.fault === undefined) return;
    this.lose(this.#shared.fault);
    throw new RushlightError('device-lost', this.#shared.fault);
  }

  /**
   * Makes a tensor of a session. Returns the status.
   * @param {number} session @param {number} dtype @param {number} rank @param {number} sizes
   * @param {number} out @param {number} buffer where its number belongs
   */
  makeInput(session, dtype, rank, sizes, out, buffer) {
    return this.#wasm.rush_gpu_make_input(this.#at, session, dtype, rank, sizes, out, buffer);
  }

  /** @param {number} session @param {number} value @param {number} place @returns the status */
  placeResult(session, value, place) {
    return this.#wasm.rush_gpu_place_result(this.#at, session, value, place);
  }

  /**
   * Makes a tensor for the caller.
   * @param {import('../base/types.js').DType} dtype @param {number[]} shape @param {number} size
   * @param {(driver: Driver, buffer: import('./driver.js').GpuBuffer) => void} fill
   */
  tensor(dtype, shape, size, fill) {
    const tensor = new GpuTensor(this.#shared, this.results, dtype, shape, size);
    fill(this.driver, /** @type {import('./driver.js').GpuBuffer} */ (tensor.gpuBuffer));
    return tensor;
  }

  /** The bytes of all buffers of this model. */
  get bytes() {
    return this.driver.bytes;
  }

  get driver() {
    return /** @type {Driver} */ (this.#driver);
  }

  end() {
    this.#driver?.end();
    this.results.end();
  }
}

/**
 * Runs a job that may lose the device. Attributes, whose values may then be lost or those of half a run, get the file's
 * values again, and the error says so.
 * @template T @param {LocalHost} host @param {Gpu} gpu @param {string} where @param {() => Promise<T>} job
 */
async function attempt(host, gpu, where, job) {
  const before = gpu.fault,
    hasState = host.description.attributes.length > 0;
  try {
    await gpu.restoreWeights(host);
    return await job();
  } catch (e) {
    if (!isLost(e) || gpu.fault === before) throw e;
    const state = ". The attributes of the model were on the GPU. They have the file's values again";
    const message = `${where}${gpu.fault}${hasState ? state : ''}, and operators now run on the CPU`;
    throw new RushlightError('device-lost', message, { cause: e });
  } finally {
    if (gpu.fault !== before && hasState && host.alive) host.engine.reset();
  }
}

/**
 * Reads values, and waits for bytes that only the device has.
 * @template T @param {Gpu} gpu @param {() => Promise<T>} read
 */
async function readWhenArrived(gpu, read) {
  for (;;) {
    try {
      return await read();
    } catch (e) {
      if (/** @type {{ code?: string } | undefined} */ (e)?.code !== 'pending' || !(await gpu.arrive())) throw e;
    }
  }
}

/**
 * Lets the diagnostics of a host compare both devices, and say that the device was lost.
 * @param {LocalHost} host @param {Gpu} gpu
 */
function diagnose(host, gpu) {
  const diagnostics = host.diagnostics.bind(host);
  host.diagnostics = async () => {
    const own = await diagnostics(),
      { diff, verify, profile, next, step } = own,
      { comparison, profiling } = gpu.parts;
    const onGpu = (/** @type {string} */ where) => {
      if (gpu.fault === undefined) return;
      throw new RushlightError(
        'device-lost',
        `${where}: ${gpu.fault}, and the model now runs on the CPU. The next load() requests another device`,
      );
    };
    own.verify = (options) =>
      attempt(host, gpu, 'verify: ', async () => {
        if (options?.device === 'webgpu') onGpu('verify');
        if (!options?.device || gpu.fault !== undefined) return verify.call(own, options);
        return (await comparison()).verifyOn(host, gpu, options, verify.bind(own));
      });
    own.diff = (how) =>
      typeof how === 'object'
        ? attempt(host, gpu, `diff: test vector ${how.test ?? 0} was not compared to its end: `, async () => {
            onGpu('diff');
            return (await comparison()).compareDevices(host, gpu, how);
          })
        : attempt(host, gpu, `diff: test vector ${how} was not compared to its end: `, () => diff.call(own, how));
    own.profile = (...args) =>
      attempt(host, gpu, 'profile: ', async () => {
        const rows = () => profile.apply(own, args);
        if (gpu.fault !== undefined) return rows();
        const { profileOn, countOnce } = await profiling(),
          counted = () => countOnce(host, gpu, rows);
        return gpu.device.features?.has(TIMESTAMPS) ? profileOn(host, gpu, counted) : counted();
      });
    own.next = (withArgs) => attempt(host, gpu, '', () => readWhenArrived(gpu, () => next.call(own, withArgs)));
    own.step = () => attempt(host, gpu, '', () => step.call(own));
    return own;
  };
}

/** @param {unknown} outputDevice @param {Gpu} gpu */
function checkOutputDevice(outputDevice, { fault }) {
  if (outputDevice !== 'webgpu')
    throw badArgument(`run: outputDevice must be 'webgpu', got ${describeValue(outputDevice)}`);
  if (fault !== undefined)
    throw new RushlightError('device-lost', `run: outputDevice: ${fault}, and the model now runs on the CPU`);
}

/** @param {Gpu} gpu @param {unknown} cause */
const lostInputs = ({ fault }, cause) =>
  new RushlightError('device-lost', `${fault}, and with it inputs of this run. Operators now run on the CPU`, {
    cause,
  });

/**
 * Lets a host wait for bytes of the device, and run again on the CPU if the device was lost.
 * @param {LocalHost} host @param {Gpu} gpu
 */
function adopt(host, gpu) {
  const state = host.state.bind(host),
    run = host.run.bind(host),
    memory = host.memory.bind(host),
    hasState = host.description.attributes.length > 0,
    values = useGpuValues(host, gpu);
  gpu.values = values;
  host.state = () => attempt(host, gpu, '', () => readWhenArrived(gpu, state));
  host.memory = async () => ({ ...(await memory()), gpu: gpu.bytes });
  host.run = async (index, args, form, yields, signal, outputDevice) => {
    const begin = (/** @type {typeof args} */ from) => run(index, from, form, yields, signal);
    if (outputDevice !== undefined) {
      checkOutputDevice(outputDevice, gpu);
      return attempt(host, gpu, '', () => keepResultsOf(host.engine, values, gpu, () => begin(args)));
    }
    if (gpu.fault !== undefined) {
      await gpu.restoreWeights(host, signal);
      return begin(args);
    }
    if (hasState) return attempt(host, gpu, '', () => begin(args));
    const copies = copied(args);
    gpu.keepRandom(host.engine.session);
    try {
      return await begin(args);
    } catch (e) {
      if (!isLost(e)) throw e;
      if (values.took) throw lostInputs(gpu, e);
      gpu.returnRandom(host.engine.session);
      await gpu.restoreWeights(host, signal);
      return begin(copies);
    }
  };
  diagnose(host, gpu);
  return Object.assign(host, { gpu });
}

/**
 * Returns a module for createRuntime(), in place of worker/threads.js.
 * @param {import('../source/source.js').Source} source @param {LoadOptions} options @param {GpuParts} parts
 */
async function planGpu(source, { gpu, threads = 1, request, cache, integrity }, parts) {
  const [shared, module] = await Promise.all([sharedDevice(gpu), gpuModule()]);
  /** @type {Gpu | undefined} */ let created;
  return {
    /** @param {LocalHost} host */
    adopt: (host) => adopt(host, /** @type {Gpu} */ (created)),
    planFor: async () => ({
      make: async (/** @type {Uint8Array} */ bytes) => {
        created = new Gpu(shared, module, { source, request, cache, integrity }, parts);
        return { module: await WebAssembly.compile(/** @type {BufferSource} */ (bytes)), threads: created };
      },
      poll: undefined,
      describe(/** @type {import('../engine/runtime.js').Backend} */ backend) {
        if (!created) throw badArgument('load: `wasm` must not be compiled already with device: "webgpu"');
        created.backend = backend;
        backend.device = 'webgpu';
        backend.gpuDevice = /** @type {import('../base/types.js').WebGpuDevice} */ (shared.device);
        backend.reason += `; the GPU is ${nameOf(shared)}, as requested`;
        if (threads !== 1) backend.reason += '; one thread: more are not supported beside a GPU';
      },
    }),
  };
}

/**
 * Loads a model on this thread, with operators on the GPU.
 * @param {import('../source/source.js').Source} source @param {LoadOptions & { interrupted?: () => unknown }} options
 * @param {Pick<import('../engine/load-local.js').LocalModules, 'diagnostics' | 'ops'> & { threads: () =>
 *   Promise<Pick<typeof import('../worker/threads.js'), 'checkThreads'>> }} modules
 * @param {GpuParts} parts
 */
export async function loadOnGpu(source, options, modules, parts) {
  const { threads } = options;
  if (threads !== undefined) (await modules.threads()).checkThreads(threads);
  const plan = await planGpu(source, options, parts);
  const onThisThread = {
    ...modules,
    threads: async () => /** @type {typeof import('../worker/threads.js')} */ (/** @type {unknown} */ (plan)),
  };
  return plan.adopt(await loadThroughCache(source, { ...options, threads: 1 }, onThisThread));
}
