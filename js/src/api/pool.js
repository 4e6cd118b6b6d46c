/**
 * Copies of one model in workers, for servers and for pages with many independent inputs. A run goes to a free worker,
 * or waits for the next one that becomes free. The file is read once.
 * @module rushlight/pool
 */

import {
  RushlightError,
  badArgument,
  checkInteger,
  checkOptions,
  describeValue,
  rejectOnAbort,
  throwIfAborted,
  withCallerStack,
} from '../base/errors.js';
import { builtin, isAddress } from '../base/platform.js';
import { cloneError } from '../engine/error-hints.js';
import { reportProgress } from '../engine/load-local.js';
import { loadCached } from '../source/cached-source.js';
import { HEADER, fileSize } from '../source/download.js';
import { open } from '../source/source.js';
import { checkLoadOptions, LOAD_OPTIONS, load } from './load.js';
import { RUN_OPTIONS } from './model.js';

/**
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('./load.js').LoadOptions} LoadOptions
 * @typedef {import('./model.js').Memory} Memory
 * @typedef {import('../base/types.js').Port} Port
 *
 * @typedef {object} PoolSize the option of loadPool() that load() does not have
 * @property {'auto' | number} [size] the number of workers. The default 'auto' is the number of logical processors
 *   divided by `threads`
 *
 * @typedef {Omit<LoadOptions, 'worker'> & PoolSize} PoolOptions options of loadPool(), which are those of load(). The
 *   option `threads` counts the threads of each worker
 *
 * @typedef {object} PoolMemory numbers of bytes
 * @property {number} file the bytes of the file that the pool holds to restart a worker. It is 0 if the source is a URL
 *   or a path, which is read again
 * @property {number} heap the wasm memory of all workers together
 * @property {Memory[]} workers the memory of each worker. Every worker has its own copy of the weights, which the
 *   threads of that worker share
 */

/**
 * @template {import('../base/types.js').ModelTypes} M
 * @typedef {object} Slot a place for a worker
 * @property {import('./model.js').Model<M>} [model] the model of the worker that runs here
 * @property {Promise<import('./model.js').Model<M>>} [starting] the model, while its worker starts
 * @property {boolean} busy whether a caller has it
 */

/**
 * @template {import('../base/types.js').ModelTypes} M
 * @typedef {object} Waiting a call that waits for a place
 * @property {(slot: Slot<M>) => void} take gives it the place
 * @property {(e: unknown) => void} fail ends the wait
 */

/** @param {'auto' | number} size @param {LoadOptions['threads']} threads */
function checkedSize(size, threads) {
  if (size !== 'auto') {
    checkInteger('loadPool: size', size, 1);
    return size;
  }
  // 'auto' takes all processors, and load() refuses other values.
  if (threads !== undefined && !(typeof threads === 'number' && threads >= 1)) return 1;
  const processors = builtin('node:os')?.availableParallelism?.() ?? globalThis.navigator?.hardwareConcurrency ?? 1;
  return Math.max(1, Math.floor(processors / (threads ?? 1)));
}

/**
 * Reads all bytes of a source once, into memory that workers share if the engine has such memory. A Blob shares its
 * bytes in other places.
 * @param {Source} source @param {LoadOptions} options
 * @returns {Promise<Uint8Array | Blob>}
 */
function readOnce(source, { cache, integrity, request, signal, onProgress }) {
  return loadCached(source, { cache, integrity, request, signal }, (bytes, turn) =>
    readAll(bytes, { request, signal, onProgress: turn.wrapProgress(onProgress) }),
  );
}

/** @param {Source} source @param {LoadOptions} options @returns {Promise<Uint8Array | Blob>} */
async function readAll(source, { request, signal, onProgress }) {
  const { chunks } = await open(source, { signal, request });
  /** @type {Uint8Array<ArrayBuffer>[]} */ const parts = [];
  const head = new Uint8Array(HEADER);
  let loaded = 0;
  for await (const chunk of chunks) {
    throwIfAborted(signal, 'loading');
    parts.push(/** @type {Uint8Array<ArrayBuffer>} */ (chunk));
    if (loaded < HEADER) head.set(chunk.subarray(0, HEADER - loaded), loaded);
    loaded += chunk.length;
    await reportProgress(onProgress, { loaded, total: loaded < HEADER ? null : (fileSize(head) ?? null) });
  }
  throwIfAborted(signal, 'loading');
  if (typeof SharedArrayBuffer === 'undefined') return new Blob(parts);
  const bytes = new Uint8Array(new SharedArrayBuffer(loaded));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * Loads copies of a model into workers. It reads the source once and resolves when all workers have loaded the model.
 * @template {import('../base/types.js').ModelTypes} [M=import('../base/types.js').AnyModel] as for load()
 * @param {Source} source a URL (in Node also a path), Response, Blob, ReadableStream or bytes
 * @param {PoolOptions} [options]
 * @returns {Promise<Pool<M>>} a pool; call dispose() to end its workers
 * @throws {RushlightError} as load()
 */
export function loadPool(source, options = {}) {
  return withCallerStack(async () => {
    if (options && typeof options === 'object' && 'worker' in options)
      throw badArgument('loadPool: there is no option worker: each model of a pool has a worker');
    const {
      size = 'auto',
      onProgress: _,
      cache,
      integrity,
      request,
      signal,
      ...each
    } = checkLoadOptions('loadPool', options, OPTIONS);
    const count = checkedSize(size, options.threads);
    const bytes = await readOnce(source, options);
    /** @param {Source} from @param {AbortSignal} [stop] */
    const start = (from, stop) => /** @type {typeof load<M>} */ (load)(from, { ...each, worker: true, signal: stop });
    // A source that is not an address gives its bytes only once, so that a restart needs them.
    const startCopy = isAddress(source)
      ? async () => start(await readOnce(source, { cache, integrity, request }))
      : () => start(bytes);
    /** @type {import('./model.js').Model<M>[]} */ const models = [];
    const started = await Promise.allSettled(
      Array.from({ length: count }, async () => models.push(await start(bytes, signal))),
    );
    const failed = started.find((one) => one.status === 'rejected');
    if (failed) {
      for (const model of models) model.dispose();
      throw failed.reason;
    }
    const heldBytes = isAddress(source) ? 0 : bytes instanceof Blob ? bytes.size : bytes.length;
    return new Pool(models, startCopy, heldBytes);
  });
}

const OPTIONS = ['size', ...LOAD_OPTIONS.filter((name) => name !== 'worker')];

/**
 * Copies of a model in workers. `loadPool()` makes it. Each worker runs one call at a time.
 * @template {import('../base/types.js').ModelTypes} [M=import('../base/types.js').AnyModel]
 * @hideconstructor
 */
export class Pool {
  /** @type {Slot<M>[]} */ #slots;
  #startCopy;
  #heldBytes;
  #description;
  /** @type {Waiting<M>[]} */ #waiting = [];
  #disposed = false;
  #restarts = 0;

  /**
   * @param {import('./model.js').Model<M>[]} models
   * @param {() => Promise<import('./model.js').Model<M>>} startCopy loads
   *   another copy
   * @param {number} heldBytes bytes of the file that `startCopy` keeps
   */
  constructor(models, startCopy, heldBytes) {
    this.#slots = models.map((model) => ({ model, busy: false }));
    this.#startCopy = startCopy;
    this.#heldBytes = heldBytes;
    const [{ methods, inputs, outputs, backend }] = /** @type {[import('./model.js').Model<M>]} */ (models);
    this.#description = { methods, inputs, outputs, backend };
  }

  /** The number of workers. */
  get size() {
    return this.#slots.length;
  }
  /** The number of workers that run a call now. */
  get busy() {
    return this.#slots.filter((slot) => slot.busy).length;
  }
  /** The number of calls that wait for a worker. */
  get waiting() {
    return this.#waiting.length;
  }
  /** The number of workers that ended by themselves and were started again. */
  get restarts() {
    return this.#restarts;
  }
  /** The methods by name. @returns {Record<string, import('../engine/engine.js').Method>} */
  get methods() {
    return this.#description.methods;
  }
  /** The inputs of `forward`, or of the first method. @returns {Port[]} */
  get inputs() {
    return this.#description.inputs;
  }
  /** The outputs of `forward`, or of the first method. @returns {Port[]} */
  get outputs() {
    return this.#description.outputs;
  }
  /** The wasm binary that runs the models, and the reason for this choice. */
  get backend() {
    return this.#description.backend;
  }

  /**
   * Runs a method on named inputs in a worker that is free. The inputs are copied before it returns, also if it waits.
   * @template {Extract<keyof M, string>} [K=import('../base/types.js').DefaultMethod<M>]
   * @template {keyof M[K]['outputs']} [O=keyof M[K]['outputs']]
   * @param {M[K]['inputs']} inputs
   * @param {import('./model.js').RunOptions & { method?: K, outputs?: readonly O[] }} [options] as for Model.run(). A
   *   signal also ends the wait
   * @returns {Promise<Pick<M[K]['outputs'], O>>} a Tensor (or other value) for each output
   * @throws {RushlightError} as Model.run()
   */
  run(inputs, options = {}) {
    return withCallerStack(() => {
      checkOptions('run', options, RUN_OPTIONS);
      const { signal } = options,
        free = this.#free();
      if (free?.model) return this.#with(free, (model) => model.run(inputs, options), signal);
      const { mine, rest } = this.#copied(inputs, options);
      return this.#lease((model) => model.run(mine, rest), signal);
    });
  }

  /**
   * Calls a method as in PyTorch, with positional arguments, in a worker that is free.
   * @template {Extract<keyof M, string>} K
   * @param {K} method @param {M[K]['args']} args
   * @returns {Promise<M[K]['result']>} as Model.call()
   * @throws {RushlightError} as Model.call()
   */
  call(method, ...args) {
    return withCallerStack(() => {
      const free = this.#free();
      if (free?.model) return this.#with(free, (model) => model.call(method, ...args));
      const { mine } = this.#copied(args, {});
      return this.#lease((model) => model.call(method, ...mine));
    });
  }

  /**
   * Lends one model to a function until its promise settles, for calls that belong together: `reset()`, several runs
   * with state, `verify()`. The function must not dispose of the model.
   * @template T
   * @param {(model: import('./model.js').Model<M>) => T | Promise<T>} job
   * @param {{ signal?: AbortSignal }} [options] signal: ends the wait for a worker
   * @returns {Promise<T>} the result of the function
   */
  use(job, options = {}) {
    return withCallerStack(() => {
      checkOptions('use', options, ['signal']);
      if (typeof job !== 'function') throw badArgument(`use: job must be a function, got ${describeValue(job)}`);
      return this.#lease(job, options.signal);
    });
  }

  /** Returns the memory of the workers. A worker answers after the call that it runs. @returns {Promise<PoolMemory>} */
  memory() {
    return withCallerStack(async () => {
      this.#check();
      const models = this.#slots.flatMap(({ model }) => model ?? []);
      const workers = await Promise.all(models.map((model) => model.memory()));
      return { file: this.#heldBytes, heap: workers.reduce((sum, { heap }) => sum + heap, 0), workers };
    });
  }

  /** Ends all workers. Calls that run or wait, and all later ones, fail with the code "disposed". */
  dispose() {
    this.#disposed = true;
    for (const { fail } of this.#waiting.splice(0)) fail(disposed());
    for (const slot of this.#slots) {
      slot.model?.dispose();
      slot.starting?.then((model) => model.dispose()).catch(() => {});
    }
  }

  /** For `using pool = await loadPool(...)`. */
  [Symbol.dispose]() {
    this.dispose();
  }

  #check() {
    if (this.#disposed) throw disposed();
  }

  /** A place that nobody has; one whose worker runs comes first. */
  #free() {
    this.#check();
    for (const slot of this.#slots) if (!slot.busy) this.#renew(slot);
    const free = this.#slots.filter((slot) => !slot.busy);
    return free.find((slot) => slot.model) ?? free[0];
  }

  /** Starts a worker again if it has ended. @param {Slot<M>} slot */
  #renew(slot) {
    if (!slot.model?.disposed || this.#disposed) return;
    slot.model.dispose();
    slot.model = undefined;
    this.#restarts++;
    this.#start(slot);
  }

  /** @param {Slot<M>} slot @returns {Promise<import('./model.js').Model<M>>} */
  #start(slot) {
    const starting = this.#startCopy().then(
      (model) => {
        slot.starting = undefined;
        if (this.#disposed) {
          model.dispose();
          throw disposed();
        }
        return (slot.model = model);
      },
      (e) => {
        slot.starting = undefined; // the next call that comes here tries once more
        throw e;
      },
    );
    starting.catch(() => {}); // A call that comes here gets the error.
    return (slot.starting = starting);
  }

  /**
   * Arguments as they are now, for a call that waits.
   * @template A @template {{ transfer?: ArrayBuffer[] }} O @param {A} args @param {O} options
   * @returns {{ mine: A, rest: O }}
   */
  #copied(args, options) {
    const { transfer, ...rest } = options;
    try {
      return { mine: structuredClone(args, transfer && { transfer }), rest: /** @type {O} */ (rest) };
    } catch (cause) {
      const names = Array.isArray(args) ? args.map((_, i) => String(i)) : Object.keys(Object(args));
      throw cloneError(cause, names, Object.values(Object(args)));
    }
  }

  /**
   * Waits for a place, in the order of the calls.
   * @template T @param {(model: import('./model.js').Model<M>) => T | Promise<T>} job @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  async #lease(job, signal) {
    throwIfAborted(signal, 'the run');
    const free = this.#free();
    if (free) return this.#with(free, job, signal);
    /** @type {Promise<Slot<M>>} */
    const turn = new Promise((take, fail) => this.#waiting.push({ take, fail }));
    const entry = /** @type {Waiting<M>} */ (this.#waiting.at(-1));
    try {
      const slot = await rejectOnAbort(turn, signal, 'the run', () => !this.#waiting.includes(entry));
      return await this.#with(slot, job, signal);
    } catch (e) {
      const at = this.#waiting.indexOf(entry);
      if (at >= 0) this.#waiting.splice(at, 1);
      throw e;
    }
  }

  /**
   * Does a job in a place, which others may have afterwards.
   * @template T @param {Slot<M>} slot @param {(model: import('./model.js').Model<M>) => T | Promise<T>} job
   * @param {AbortSignal} [signal] @returns {Promise<T>}
   */
  async #with(slot, job, signal) {
    slot.busy = true;
    try {
      const model = slot.model ?? (await rejectOnAbort(slot.starting ?? this.#start(slot), signal, 'the run'));
      throwIfAborted(signal, 'the run');
      return await job(model);
    } finally {
      this.#renew(slot);
      slot.busy = false;
      this.#offer(slot);
    }
  }

  /** Gives a free place to the call that has waited longest. @param {Slot<M>} slot */
  #offer(slot) {
    const next = this.#waiting.shift();
    if (!next) return;
    slot.busy = true;
    next.take(slot);
  }
}

const disposed = () => new RushlightError('disposed', 'the pool was disposed');
