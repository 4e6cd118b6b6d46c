// The host of a model in a worker. Each call is a message, and its reply has the same id.

import {
  RushlightError,
  badArgument,
  callbackFailed,
  messageOf,
  throwIfAborted,
  rejectOnAbort,
} from '../base/errors.js';
import { headersOf } from '../source/download.js';
import { addHint, cloneError, hinted } from '../engine/error-hints.js';
import { buffersIn } from './transferables.js';
import { readOps } from '../engine/ops.js';
import { asPath, builtin, isAddress, tagOf } from '../base/platform.js';
import { checkResponse, modelBytes, unreachable } from '../source/source.js';
import { listen, startWorker, scriptAddress, startFailure } from './start-worker.js';

/**
 * @typedef {import('../api/load.js').LoadOptions} LoadOptions
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('../engine/host.js').Host} Host
 * @typedef {import('../engine/host.js').Diagnostics} Diagnostics
 * @typedef {import('../engine/host.js').Form} Form
 * @typedef {import('../base/types.js').InputValue} InputValue
 *
 * @typedef {{ backend: import('../engine/runtime.js').Backend, description: import('../engine/engine.js').Description,
 *   text: string, graph: string }} Loaded
 * @typedef {{ code: import('../base/errors.js').ErrorCode, message: string, op?: string, input?: string, expected?:
 *   unknown, actual?: unknown, source?: string, cause?: unknown, thrown?: number, hinted?: boolean }} Failure
 *   thrown: the id of the call of a function of `ops` whose error is the cause
 *
 * @typedef {object} ToWorker a message to the worker: a call, the abort of a call, the reply of a function of `ops`,
 *   the news that a message was lost, or its end
 * @property {number} [id] of a call
 * @property {string} [call] the name of the function
 * @property {unknown[]} [args] the arguments of a call, or those of the function of `ops` afterwards
 * @property {boolean} [stoppable] whether the call takes a signal
 * @property {number} [abort] the id of the call to abort
 * @property {number} [reply] the number of the call of a function of `ops`
 * @property {unknown} [value] the result of this function
 * @property {string} [thrown] the message of its error
 * @property {boolean} [lost]
 * @property {boolean} [end] whether the worker must end
 *
 * @typedef {Pick<LoadOptions, 'backend' | 'threads' | 'cache' | 'integrity' | 'limits' | 'wasm' | 'request' |
 *   'device'> & { name?: string, choices?: Choices }} SentOptions the options that a worker gets. name: that of the
 *   source, for messages
 * @typedef {import('../gpu/choices.js').Choices} Choices
 *
 * @typedef {{ op: string, call: number, args: unknown[] }} OpCall a call of a function of `ops`, with its number
 *
 * @typedef {object} Reply of the worker: to a call, progress, or news: a message was lost, the backend is another one
 *   since the GPU was lost, or a device was chosen
 * @property {number} [id] of the call
 * @property {unknown} [value] its result
 * @property {Failure} [error] its error
 * @property {import('../api/load.js').Progress} [progress]
 * @property {boolean} [lost]
 * @property {import('../engine/runtime.js').Backend} [backend]
 * @property {[key: string, choice: import('../gpu/choices.js').Choice]} [choice]
 *
 * @typedef {Reply & Partial<OpCall>} FromWorker a message of the worker
 */

/**
 * The time in ms that a run may continue after its abort, before its worker is ended. With shared memory the worker
 * surely sees the abort, and has ten times as long.
 */
const GRACE_MS = 1000;

/**
 * Returns the error of a call after its abort: `aborted` if its run stopped.
 * @param {unknown} e
 * @param {AbortSignal} signal
 */
const asAborted = (e, { reason }) =>
  e instanceof RushlightError && /^(aborted|interrupted)$/.test(e.code)
    ? new RushlightError('aborted', e.code === 'aborted' ? e.message : 'the run was aborted', { cause: reason })
    : e;

/** A worker of Node, or of a page. @param {import('./start-worker.js').Script} script */
function start(script) {
  if (!builtin('node:worker_threads') && typeof Worker === 'undefined')
    throw new RushlightError('unsupported', 'workers are not available here: leave out the option `worker`');
  try {
    return script === 'worker'
      ? startWorker(script, () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }))
      : startWorker(script, () => new Worker(new URL('./gpu-worker.js', import.meta.url), { type: 'module' }));
  } catch (cause) {
    throw new RushlightError('unsupported', `the worker did not start: ${messageOf(cause)}. ${help(script)}`, {
      cause,
    });
  }
}

const help = (/** @type {string} */ script) =>
  `It is src/worker/${script}.js of this package, with the files that it imports: see "With a ` +
  'bundler" in README.md there; a model also loads without `worker`';

/**
 * Returns the error for a worker that did not start.
 * @param {import('./start-worker.js').Script} name of its script
 * @param {Error} cause
 * @param {string} [directive] the violated directive of the page's policy
 */
async function notStarted(name, cause, directive) {
  const { script } = scriptAddress(name);
  const foreign = globalThis.location !== undefined && script.origin !== globalThis.location.origin;
  // The imports of a blob are scripts of the worker, too.
  const allow = foreign ? `worker-src blob: ${script.origin}` : "worker-src 'self'";
  if (directive) {
    return new RushlightError(
      'unsupported',
      `the worker did not start: the page's Content-Security-Policy forbids it (${directive}). Allow ${allow}; ` +
        'or load without `worker`',
      { cause },
    );
  }
  const found = addHint(await startFailure(name, cause)),
    hint =
      foreign && found === cause
        ? `; its server must allow CORS, and a Content-Security-Policy of the page must allow ${allow}`
        : '';
  const code =
    found instanceof RushlightError
      ? found.code
      : /MODULE_NOT_FOUND$/.test(/** @type {NodeJS.ErrnoException} */ (cause).code ?? '')
        ? 'unreadable'
        : 'internal';
  const error = new RushlightError(code, `the worker did not start: ${messageOf(found)}${hint}. ${help(name)}`, {
    source: script.href,
    cause,
  });
  hinted.add(error);
  return error;
}

/** @implements {Host} */
class WorkerClient {
  #worker;
  #last = 0;
  /** @type {Map<number, { resolve: (value: never) => void, reject: (e: unknown) => void }>} */ #waiting = new Map();
  /** @type {Map<number, unknown>} the errors of functions of `ops`, until their run has ended */ #thrown = new Map();
  /** Shared memory, if there is any. A value other than 0 tells the call in the worker to end. */
  #flag = typeof SharedArrayBuffer === 'undefined' ? undefined : new Int32Array(new SharedArrayBuffer(4));
  /** The reason why the worker has ended. @type {RushlightError | undefined} */ #end;
  /** Aborted when the first message of the worker has arrived. */ #started = new AbortController();
  /** Fulfilled when `onProgress` has returned for all progress so far. @type {Promise<unknown>} */ #progressReported =
    Promise.resolve();
  /** @type {Loaded} */ loaded = /** @type {Loaded} */ (/** @type {unknown} */ (undefined));

  /** @param {LoadOptions} options @param {Pick<typeof import('../gpu/choices.js'), 'setChoice'>} [choices] */
  constructor(options, choices) {
    this.choices = choices;
    this.hasThreads = (options.threads ?? 1) !== 1;
    this.ops = readOps(options.ops === undefined ? {} : options.ops);
    this.onProgress = options.onProgress;
    const script = options.device === undefined || options.device === 'cpu' ? 'worker' : 'gpu-worker';
    const worker = start(script);
    /** @type {string | undefined} */ let directive;
    /** @type {Partial<Document>} */ (globalThis.document ?? globalThis).addEventListener?.(
      'securitypolicyviolation',
      (e) => {
        directive ??= e.effectiveDirective;
      },
      { signal: this.#started.signal },
    );
    this.#worker = listen(
      worker,
      (m) => {
        this.#started.abort();
        this.#take(/** @type {FromWorker | null} */ (m));
      },
      async (e) => {
        const { aborted } = this.#started.signal;
        this.#fail(
          aborted
            ? new RushlightError('internal', `the worker failed: ${e.message}`, { cause: e })
            : await notStarted(script, e, directive),
        );
      },
      () => {
        this.#worker.postMessage({ lost: true });
        this.#lose();
      },
    );
  }

  get alive() {
    return !this.#end;
  }
  get flag() {
    return this.#flag;
  }
  get backend() {
    return this.loaded.backend;
  }
  get description() {
    return this.loaded.description;
  }
  describeText() {
    return this.loaded.text;
  }
  graphText() {
    return this.loaded.graph;
  }

  /**
   * @param {number} index
   * @param {readonly InputValue[]} args
   * @param {Form} form
   * @param {boolean} yields
   * @param {AbortSignal} [signal]
   * @param {string} [outputDevice]
   * @param {boolean} [transferred]
   */
  async run(index, args, form, yields, signal, outputDevice, transferred) {
    if (outputDevice)
      throw new RushlightError('unsupported', 'run: outputDevice is not supported with the option `worker` of load()');
    return this.ask('run', [index, args, form, yields], signal, transferred ? [...buffersIn(args)] : []);
  }
  tail() {
    return this.ask('tail');
  }
  memory() {
    return this.ask('memory');
  }
  reset() {
    return this.ask('reset');
  }
  /** @param {bigint} seed */
  manualSeed(seed) {
    return this.ask('manualSeed', [seed]);
  }
  state() {
    return this.ask('state');
  }
  /** @param {Record<string, unknown>} values */
  setState(values) {
    return this.ask('setState', [values]);
  }
  /** @param {number} index @param {readonly InputValue[]} args */
  begin(index, args) {
    return this.ask('begin', [index, args]);
  }
  async diagnostics() {
    return new WorkerDiagnostics(this);
  }

  /**
   * Sends a call and awaits its reply.
   * @template T
   * @param {string} name
   * @param {unknown[]} [args]
   * @param {AbortSignal} [signal]
   * @param {ArrayBuffer[]} [transfer]
   * @returns {Promise<T>}
   */
  async ask(name, args = [], signal, transfer = []) {
    if (this.#end) throw new RushlightError('disposed', this.#end.message, { cause: this.#end });
    throwIfAborted(signal, name);
    const id = ++this.#last;
    if (this.#flag) Atomics.store(this.#flag, 0, 0);
    /** @type {ReturnType<typeof setTimeout> | undefined} */ let timer;
    const stop = () => {
      if (this.#flag) Atomics.store(this.#flag, 0, 1);
      this.#worker.postMessage({ abort: id });
      // Two timers of half the time: a page that was busy itself receives the waiting reply between them.
      const half = GRACE_MS * (this.#flag ? 5 : 0.5);
      timer = setTimeout(() => {
        timer = setTimeout(() => this.#endWorker(id, signal), half);
      }, half);
    };
    try {
      return await new Promise((resolve, reject) => {
        try {
          this.#worker.postMessage({ id, call: name, args, stoppable: signal !== undefined }, transfer);
        } catch (e) {
          return reject(this.#unsent(e, args));
        }
        this.#waiting.set(id, { resolve, reject });
        this.#worker.ref?.(); // Node stays alive while a call waits
        signal?.addEventListener('abort', stop);
      });
    } catch (e) {
      throw signal?.aborted ? asAborted(e, signal) : e;
    } finally {
      signal?.removeEventListener('abort', stop);
      clearTimeout(timer);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) {
        this.#thrown.clear();
        this.#worker.unref?.();
      }
    }
  }

  /** Ends the worker of a call that did not stop. @param {number} id @param {AbortSignal | undefined} signal */
  #endWorker(id, signal) {
    this.#waiting
      .get(id)
      ?.reject(
        new RushlightError(
          'aborted',
          'the run was aborted and did not stop: its worker was terminated, and the model is lost. Load it again',
          { cause: signal?.reason },
        ),
      );
    this.#fail(
      new RushlightError(
        'disposed',
        'the model is lost: its worker was terminated, because a run did not stop after its abort. Load it again',
      ),
    );
  }

  /**
   * Returns the error for arguments that cannot be sent. It names the input of a method.
   * @param {unknown} cause
   * @param {unknown[]} args
   */
  #unsent(cause, args) {
    const at = args.findIndex(Array.isArray),
      method = this.loaded?.description.methods[/** @type {number} */ (args[at - 1])];
    if (method)
      return cloneError(
        cause,
        method.inputs.map((p) => p.name),
        /** @type {unknown[]} */ (args[at]),
      );
    return badArgument(`a value cannot be sent to the worker: ${messageOf(cause)}`, { cause });
  }

  /** @param {unknown[]} args of load() in worker.js */
  async load(args) {
    this.loaded = await this.ask('load', args);
    await this.#progressReported;
    if (this.#end) throw this.#end;
    return this;
  }

  /**
   * Calls `onProgress` after its last call has finished.
   * @param {import('../api/load.js').Progress} progress
   */
  #reportProgress(progress) {
    this.#progressReported = this.#progressReported
      .then(() => this.alive && this.onProgress?.(progress))
      .catch((e) => this.#fail(callbackFailed('onProgress', e)));
  }

  /** @param {FromWorker | null} m */
  #take(m) {
    if (m?.progress) return this.#reportProgress(m.progress);
    if (m?.op) return void this.#compute(/** @type {OpCall} */ (m));
    if (m?.lost) return this.#lose();
    if (m?.backend) return this.#setBackend(m.backend);
    if (m?.choice) return this.choices?.setChoice(...m.choice);
    const waiting = this.#waiting.get(/** @type {number} */ (m?.id));
    if (!m?.error) return waiting?.resolve(/** @type {never} */ (/** @type {FromWorker} */ (m).value));
    const { code, message, hinted: hasHint, ...details } = m.error;
    if (details.thrown !== undefined) details.cause = this.#thrown.get(details.thrown);
    if (details.cause === undefined) delete details.cause;
    const error = new RushlightError(code, message, details);
    if (hasHint) hinted.add(error);
    waiting?.reject(error);
  }

  /** Changes the backend, which the model has, too. @param {import('../engine/runtime.js').Backend} now */
  #setBackend(now) {
    delete this.backend.device;
    Object.assign(this.backend, now);
  }

  /** Fails all calls after a message that cannot be read, because they get no reply. */
  #lose() {
    for (const { reject } of this.#waiting.values())
      reject(
        badArgument('a value was lost between the page and its worker: it is nested too deeply, or cannot be shared'),
      );
  }

  /** Runs a function of `ops` on the user's thread. @param {OpCall} m */
  async #compute({ op, call, args }) {
    try {
      const value = await this.ops.call(op, args);
      // The arguments go back, too, because the function may have written to them.
      if (this.alive) this.#worker.postMessage({ reply: call, value, args });
    } catch (e) {
      this.#thrown.set(call, e);
      if (this.alive) this.#worker.postMessage({ reply: call, thrown: messageOf(e) });
    }
  }

  /** @param {RushlightError} e */
  #fail(e) {
    if (this.#end) return;
    this.#end = e;
    this.#started.abort();
    // Each caller gets its own error.
    for (const { reject } of this.#waiting.values()) reject(new RushlightError(e.code, e.message, e));
    this.#terminate();
  }

  /**
   * Ends the worker. If it has threads, Node would keep about 1 kB for each that has not ended before, as if it could
   * still get messages of the main thread.
   */
  #terminate() {
    const worker = this.#worker;
    if (!worker.on || !this.hasThreads) return void worker.terminate();
    if (this.#flag) Atomics.store(this.#flag, 0, 1);
    worker.postMessage({ end: true });
    const timer = setTimeout(() => worker.terminate(), GRACE_MS);
    timer.unref?.(); // a worker that has ended already does not keep Node alive
    worker.on('exit', () => clearTimeout(timer));
    worker.ref?.();
  }

  destroy() {
    if (this.alive) this.#fail(new RushlightError('disposed', 'the model was disposed during a call'));
  }
}

/** @implements {Diagnostics} */
class WorkerDiagnostics {
  #client;

  /** @param {WorkerClient} client */
  constructor(client) {
    this.#client = client;
  }

  /** @param {Parameters<Diagnostics['verify']>[0]} options @returns {ReturnType<Diagnostics['verify']>} */
  verify(options) {
    return this.#client.ask('verify', [options]);
  }
  /** @param {Parameters<Diagnostics['diff']>[0]} test @returns {ReturnType<Diagnostics['diff']>} */
  diff(test) {
    return this.#client.ask('diff', [test]);
  }
  /**
   * @param {number} index @param {readonly InputValue[]} args @param {number} runs @param {AbortSignal} [signal]
   * @returns {ReturnType<Diagnostics['profile']>}
   */
  profile(index, args, runs, signal) {
    return this.#client.ask('profile', [index, args, runs], signal);
  }
  /** @param {boolean} withArgs @returns {ReturnType<Diagnostics['next']>} */
  next(withArgs) {
    return this.#client.ask('next', [withArgs]);
  }
  /** @returns {ReturnType<Diagnostics['step']>} */
  step() {
    return this.#client.ask('step');
  }
  /** @param {'provide' | 'replace'} how @param {unknown[]} values @param {string[]} types @returns {Promise<void>} */
  put(how, values, types) {
    return this.#client.ask('put', [how, values, types]);
  }
  /** @returns {ReturnType<Diagnostics['result']>} */
  result() {
    return this.#client.ask('result');
  }
  /** @returns {Promise<void>} */
  end() {
    return this.#client.ask('end');
  }
}

/** Returns an address that is valid in the worker. @param {string | URL} url */
function absolute(url) {
  if (builtin('node:fs') && asPath(url) !== undefined) return String(url);
  try {
    return new URL(
      url,
      /** @type {Partial<typeof globalThis>} */ (globalThis).document?.baseURI ?? globalThis.location?.href,
    ).href;
  } catch (e) {
    throw unreachable(String(url), e);
  }
}

/**
 * Returns a value that can be sent for a source, and a name for messages if the value has none.
 * @param {unknown} source
 * @returns {Promise<{ sent: unknown, name?: string }>}
 */
async function portable(source) {
  if (isAddress(source)) return { sent: absolute(source) };
  const tag = tagOf(source) ?? '';
  if (/^(Blob|File)$/.test(tag)) return { sent: source };
  if (!/^(Response|ReadableStream)$/.test(tag)) return { sent: modelBytes(source) };
  const name = /** @type {Partial<Response>} */ (source).url || 'the stream';
  try {
    if (tag === 'ReadableStream') source = new Response(/** @type {ReadableStream} */ (source));
    checkResponse(/** @type {Response} */ (source), name, 'a .rush file');
    return { sent: await /** @type {Response} */ (source).blob(), name };
  } catch (e) {
    throw e instanceof RushlightError ? e : unreachable(name, e);
  }
}

/** Returns a value that can be sent for a binary. @param {unknown} wasm @returns {Promise<unknown>} */
async function portableBinary(wasm) {
  if (isAddress(wasm)) return absolute(wasm);
  if (tagOf(wasm) !== 'Response') return wasm;
  return /** @type {Response} */ (wasm).arrayBuffer().catch((cause) => {
    throw badArgument(`load: wasm: ${messageOf(cause)}`, { cause });
  });
}

/** @param {unknown} wasm @returns {Promise<unknown>} */
async function portableWasm(wasm) {
  if (/** @type {object | null} */ (wasm)?.constructor !== Object) return portableBinary(wasm);
  return Object.fromEntries(
    await Promise.all(
      Object.entries(/** @type {object} */ (wasm)).map(async ([name, one]) => [name, await portableBinary(one)]),
    ),
  );
}

/**
 * Loads a model into its own worker.
 * @param {Source} source @param {LoadOptions} options
 * @param {typeof import('../gpu/choices.js')} [choices] for `device: 'auto'`
 * @returns {Promise<import('../engine/host.js').Host>}
 */
export async function loadInWorker(source, options, choices) {
  const { signal, backend, request, gpu } = options;
  throwIfAborted(signal, 'loading');
  if (gpu !== undefined)
    throw new RushlightError(
      'unsupported',
      'load: gpu is not supported with `worker`: a GPU object cannot be sent to a worker',
    );
  const client = new WorkerClient(options, choices);
  const loaded = async () => {
    const plain = {
      backend,
      threads: options.threads,
      cache: options.cache,
      integrity: options.integrity,
      limits: options.limits,
      device: options.device,
      choices: choices?.allChoices(),
      wasm: await portableWasm(options.wasm),
      request: request && { ...request, signal: undefined, headers: [...headersOf(request)] },
    };
    const ops = [...client.ops].map(([name, { schema }]) => [name, schema]);
    const { sent, name } = await portable(source);
    return client.load([sent, { ...plain, name }, ops, options.onProgress !== undefined, client.flag]);
  };
  try {
    return await rejectOnAbort(loaded(), signal, 'loading');
  } catch (e) {
    client.destroy(); // this also ends an aborted load
    throw e;
  }
}
