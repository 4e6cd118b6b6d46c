// A loaded model. Its calls return promises, and run one after the other.

import {
  RushlightError,
  withCallerStack,
  badArgument,
  checkOptions,
  disposedError,
  describeValue,
  throwIfAborted,
  unknownNameError,
  rejectOnAbort,
} from '../base/errors.js';
import { Graph } from './graph.js';
import { copied, isPlainObject, isTensorObject, throwMismatch } from '../engine/values.js';

/**
 * @typedef {import('../engine/host.js').Host} Host
 * @typedef {import('../engine/engine.js').Description} Description
 * @typedef {import('../engine/engine.js').Method} Method
 * @typedef {import('../engine/engine.js').ProfileRow} ProfileRow
 * @typedef {import('../base/types.js').InputValue} InputValue
 * @typedef {import('../base/types.js').Port} Port
 * @typedef {import('../base/types.js').Value} Value
 *
 * @typedef {object} RunOptions options of one run
 * @property {string} [method] the method to run; the default is "forward", or the first method
 * @property {AbortSignal} [signal] stops the run. The model stays usable, unless it runs in a worker and does not stop
 *   within a second: then the worker is ended and the model is disposed
 * @property {boolean} [yield] whether the run yields to the event loop at least every 16 ms; true by default. It yields
 *   within an operator if the engine has JavaScript Promise Integration (`'Suspending' in WebAssembly`), and otherwise
 *   between two operators. With false, the run keeps its thread and sees no signal
 * @property {ArrayBuffer[]} [transfer] buffers of the inputs to move instead of copying, as postMessage() does. They
 *   are empty afterwards
 *
 * @typedef {object} TorchTexts PyTorch's own texts about a module
 * @property {string} [graph] the text of `.graph`
 * @property {string} [code] the text of `.code`
 * @property {string} [tree] the output of print(module)
 *
 * @typedef {object} VerifyTest the result of one test vector
 * @property {number} index its number, from 0
 * @property {boolean} passed whether the answer is close to PyTorch's by torch.allclose with equal_nan, or as near to
 *   float64's answer as PyTorch's answer is, if the file has float64's
 * @property {string} [code] the reason of a failure: an ErrorCode
 * @property {string} [message] the first difference, or the error
 * @property {number} maxAbs the greatest difference from PyTorch's answer
 * @property {number} maxRel the greatest relative difference, over elements that are larger than a thousandth of the
 *   greatest element of their tensor
 * @property {number} compared the number of compared elements
 * @property {Distances} [float64] the distances of the tensor that is furthest from float64's answer, if the file has
 *   float64's
 *
 * @typedef {object} Distances distances between PyTorch's answer, this answer and float64's answer
 * @property {Distance} pytorch from PyTorch's answer to float64's
 * @property {Distance} rushlight from this answer to float64's
 * @property {Distance} difference from this answer to PyTorch's
 *
 * @typedef {object} Distance the distance between two answers
 * @property {number} max the greatest difference, in units of the greatest element
 * @property {number} l2 the L2 norm of the difference, in units of the L2 norm of the answer
 *
 * @typedef {object} Divergence the first value that differs from PyTorch's
 * @property {import('./graph.js').Node} node the node of this value
 * @property {number} iteration the iteration of the innermost loop, from 0
 * @property {string} message the place and the difference
 * @property {string} source the Python file and line; "" if it is unknown
 *
 * @typedef {object} DiffReport the result of a comparison with PyTorch's run, operator by operator
 * @property {boolean} agrees whether all values agree
 * @property {number} compared the number of operators, whole branches and loops that agree, up to the first difference
 * @property {number} unpaired the number of operators without a counterpart in PyTorch's graph
 * @property {number} maxAbs the greatest difference among the values that agree
 * @property {number} maxRel the greatest relative difference among them, as in VerifyTest
 * @property {Divergence | null} first the first difference
 *
 * @typedef {object} DiffOptions what diff() compares
 * @property {'webgpu'} device compares the GPU with the CPU; `load` must have the same option
 * @property {number} [test] the test vector (default: 0)
 *
 * @typedef {object} VerifyOptions where verify() runs the test vectors
 * @property {'cpu' | 'webgpu'} [device] the device; the default is that of the model. With 'webgpu', a message about a
 *   wrong answer names the first operator whose result differs from the CPU's. A model that `load` has put on the CPU,
 *   with `device: 'cpu'` or `'auto'`, is loaded once more for it
 *
 * @typedef {object} Memory numbers of bytes
 * @property {number} live bytes that the runtime holds now
 * @property {number} peak the most bytes that it ever held
 * @property {number} [gpu] the bytes of its buffers on the GPU, with `device: 'webgpu'`
 * @property {number} heap the size of its wasm memory
 *
 * @typedef {object} VerifyReport the results of the file's test vectors
 * @property {boolean} passed whether there are test vectors and all of them passed
 * @property {VerifyTest[]} tests one result for each vector
 */

/** The options of run(). */
export const RUN_OPTIONS = ['method', 'outputs', 'outputDevice', 'signal', 'transfer', 'yield'];

/** The number of models that were not disposed. */
export let liveModels = 0;

/**
 * A loaded model: the program, its weights, and the attributes that it changes. `load()` makes it. Calls return
 * promises and run one after the other. They reject with a RushlightError.
 * @template {import('../base/types.js').ModelTypes} [M=import('../base/types.js').AnyModel]
 * @hideconstructor
 */
export class Model {
  #host;
  #lazy;
  #description;
  /** @type {import('./graph.js').GraphJson | undefined} */ #json;
  /** @type {Record<string, Graph> | undefined} */ #graphs;
  /** @type {Promise<unknown>} */ #queue = Promise.resolve();
  #waiting = 0;

  /** @param {Host} host @param {import('./load.js').LazyModules} lazy */
  constructor(host, lazy) {
    this.#host = /** @type {Host | undefined} */ (host);
    this.#lazy = lazy;
    this.#description = host.description;
    liveModels++;
    /** The wasm binary that runs the model, and the reason for this choice. */
    this.backend = host.backend;
  }

  /** Whether the model can no longer run: dispose() was called, or its worker has ended. */
  get disposed() {
    return !this.#host?.alive;
  }
  /** The methods by name. @returns {Record<string, Method>} */
  get methods() {
    return Object.fromEntries(this.#description.methods.map((m) => [m.name, m]));
  }
  /** The inputs of `forward`, or of the first method. @returns {Port[]} */
  get inputs() {
    return this.#method(undefined).method.inputs;
  }
  /** The outputs of `forward`, or of the first method. @returns {Port[]} */
  get outputs() {
    return this.#method(undefined).method.outputs;
  }

  /** Returns the contents of the file as plain data. @returns {Description} */
  describe() {
    return structuredClone(this.#description);
  }

  /** Returns the contents of the file as text. */
  describeText() {
    return this.#alive().describeText();
  }

  /** @returns {import('./graph.js').GraphJson} */
  #program() {
    return (this.#json ??= JSON.parse(this.#alive().graphText()));
  }

  /** The program of each method, by name. String() prints it. @returns {Record<string, Graph>} */
  get graphs() {
    const json = this.#program();
    return (this.#graphs ??= Object.fromEntries(
      json.methods.map((m, i) => [
        m.name,
        new Graph(m, json, this.#description.methods[i]?.inputs.map((p) => p.name) ?? []),
      ]),
    ));
  }

  /** The program of `forward`, or of the first method. @returns {Graph} */
  get graph() {
    return /** @type {Graph} */ (this.graphs[this.#method(undefined).method.name]);
  }

  /**
   * PyTorch's own texts, by the path of the submodule ("" is the whole model). Empty if the file has none.
   * @returns {Record<string, TorchTexts>}
   */
  get torch() {
    /** @type {Map<string, TorchTexts>} */
    const modules = new Map();
    for (const { module, kind, text } of this.#program().texts)
      modules.set(module, { ...modules.get(module), [kind]: text });
    return Object.fromEntries(modules); // safe for a module with the name __proto__
  }

  /** PyTorch's `.code` of the whole model; "" if the file has none. */
  get code() {
    return this.torch['']?.code ?? '';
  }

  #alive() {
    if (!this.#host) throw disposedError();
    return this.#host;
  }

  /**
   * Runs a job after the jobs before it. Without earlier jobs it begins at once, in the same turn of the event loop.
   * @template T
   * @param {(host: Host) => T | Promise<T>} job
   * @param {AbortSignal} [signal] also rejects the promise of a waiting job
   * @returns {Promise<T>}
   */
  #enqueue(job, signal) {
    if (this.#host?.ops?.isCalling)
      throw new RushlightError(
        'bad-state',
        'a function of `ops` must not call its own model, which waits for the function',
      );
    let begun = false;
    const begin = async () => {
      begun = true;
      throwIfAborted(signal, 'the run');
      return job(this.#alive());
    };
    const result = this.#waiting++ ? this.#queue.then(begin) : begin();
    this.#queue = result
      .catch(() => {})
      .then(() => {
        this.#waiting--;
      });
    return rejectOnAbort(result, signal, 'the run', () => begun);
  }

  /**
   * Queues a run of a method with the current values of its arguments.
   * @template T @param {Method} method @param {InputValue[]} args
   * @param {(host: Host, args: InputValue[], transferred: boolean) => T | Promise<T>} job transferred: the caller
   *   does not keep the arguments
   * @param {AbortSignal} [signal] @param {ArrayBuffer[]} [transfer]
   */
  #enqueueRun(method, args, job, signal, transfer) {
    /** @type {InputValue[]} */ let copies;
    try {
      copies = transfer !== undefined ? structuredClone(args, { transfer }) : this.#waiting ? args.map(copied) : args;
    } catch (cause) {
      return this.#lazy.hints().then(({ cloneError }) => {
        throw cloneError(
          cause,
          method.inputs.map((p) => p.name),
          args,
        );
      });
    }
    return this.#enqueue((host) => job(host, copies, transfer !== undefined), signal);
  }

  /** @param {unknown} name */
  #method(name) {
    const { methods } = this.#description;
    const index =
      name === undefined
        ? Math.max(
            0,
            methods.findIndex((m) => m.name === 'forward'),
          )
        : methods.findIndex((m) => m.name === name);
    const method = methods[index];
    if (!method)
      throw unknownNameError(
        typeof name === 'string' ? 'there is no method' : 'a method must be given by its name, got',
        name,
        methods.map((m) => m.name),
      );
    return { method, index };
  }

  /**
   * Runs a method on named inputs. It copies the inputs before it returns and never writes to them. The results belong
   * to the caller.
   * @template {Extract<keyof M, string>} [K=import('../base/types.js').DefaultMethod<M>]
   * @template {keyof M[K]['outputs']} [O=keyof M[K]['outputs']]
   * @template {'webgpu' | undefined} [G=undefined]
   * @param {M[K]['inputs']} inputs
   * @param {RunOptions & { method?: K, outputs?: readonly O[], outputDevice?: G }} [options] outputs: the names of the
   *   outputs to return; the others are not copied out of the model's memory. outputDevice: 'webgpu' leaves tensors on
   *   the GPU, for a model that `load` has put there
   * @returns {Promise<import('../base/types.js').OutputsOn<Pick<M[K]['outputs'], O>, G>>} a Tensor (or other value) for
   *   each output; with outputDevice, a GpuTensor
   * @throws {RushlightError} `bad-argument`, `model-raised`, `unsupported`, `operator`, `out-of-memory`, `aborted` or
   *   `disposed`
   */
  run(inputs, options = {}) {
    return withCallerStack(() => {
      this.#alive();
      checkOptions('run', options, RUN_OPTIONS);
      const { method, index } = this.#method(options.method),
        { signal, transfer } = options,
        outputs = /** @type {readonly string[] | undefined} */ (options.outputs),
        wanted = outputs ? checkNames(method, 'output', outputs) : 'named';
      return this.#enqueueRun(
        method,
        positional(this.#description, method, inputs),
        (host, args, transferred) =>
          /** @type {Promise<import('../base/types.js').OutputsOn<Pick<M[K]['outputs'], O>, G>>} */ (
            host.run(index, args, wanted, options.yield !== false, signal, options.outputDevice, transferred)
          ),
        signal,
        transfer,
      );
    });
  }

  /**
   * Calls a method as in PyTorch, with positional arguments. The result has PyTorch's structure.
   * @template {Extract<keyof M, string>} K
   * @param {K} method @param {M[K]['args']} args
   * @returns {Promise<M[K]['result']>} a Tensor, number, boolean, string, null; an array for a list or tuple; a Map for
   *   a dict
   * @throws {RushlightError} as run()
   */
  call(method, ...args) {
    return withCallerStack(() => {
      const { method: called, index } = this.#method(method ?? null);
      return this.#enqueueRun(
        called,
        /** @type {InputValue[]} */ (withoutNone(this.#description, called, args)),
        (host, copies) => /** @type {Promise<M[K]['result']>} */ (host.run(index, copies, 'value', true)),
      );
    });
  }

  /**
   * Begins a run that executes instruction by instruction, for tools such as `rushlight/fx`. Other calls of the model
   * wait until its end().
   * @template {Extract<keyof M, string>} [K=import('../base/types.js').DefaultMethod<M>]
   * @param {M[K]['inputs']} inputs
   * @param {{ method?: K }} [options]
   * @returns {Promise<import('./steps.js').Steps>}
   */
  steps(inputs, options = {}) {
    return withCallerStack(() => {
      this.#alive();
      checkOptions('steps', options, ['method']);
      const { method, index } = this.#method(options.method),
        args = positional(this.#description, method, inputs);
      return new Promise((resolve, reject) => {
        this.#enqueueRun(method, args, async (host, args) => {
          await host.begin(index, args);
          const diagnostics = await host.diagnostics(),
            { Steps } = await this.#lazy.steps();
          await /** @type {Promise<void>} */ (
            new Promise((done) =>
              resolve(new Steps(diagnostics, /** @type {Graph} */ (this.graphs[method.name]), done)),
            )
          );
          if (host.alive) await diagnostics.end();
        }).catch(reject);
      });
    });
  }

  /**
   * Replays the test vectors in the file and compares with PyTorch's answers.
   * @param {VerifyOptions} [options]
   * @returns {Promise<VerifyReport>}
   */
  verify(options) {
    return withCallerStack(() => this.#enqueue(async (host) => (await host.diagnostics()).verify(options)));
  }

  /**
   * Runs a test vector, and compares the result of each operator with the trace of PyTorch's run in the file
   * (`rushlight export --trace`). Debug handles pair the operators, also in each iteration of a loop. Folded and fused
   * operators are compared at their output.
   * With `{ device: 'webgpu' }`, each operator is compared with the same one on the CPU, and the file needs no trace.
   * @param {number | DiffOptions} [test] the test vector; only the first one can have a trace
   * @returns {Promise<DiffReport>}
   */
  diff(test = 0) {
    return withCallerStack(() =>
      this.#enqueue(async (host) => {
        const { first, ...report } = await (await host.diagnostics()).diff(test);
        return { agrees: !first, ...report, first: first && (await this.#lazy.steps()).divergence(this.graphs, first) };
      }),
    );
  }

  /**
   * Runs a method and returns the time of each instruction, the longest first.
   * @template {Extract<keyof M, string>} [K=import('../base/types.js').DefaultMethod<M>]
   * @param {M[K]['inputs']} inputs @param {RunOptions & { method?: K, runs?: number }} [options]
   * @returns {Promise<ProfileRow[]>}
   */
  profile(inputs, options = {}) {
    return withCallerStack(() => {
      this.#alive();
      checkOptions('profile', options, ['method', 'signal', 'runs']);
      const { method, index } = this.#method(options.method),
        { runs = 1, signal } = options;
      return this.#enqueueRun(
        method,
        positional(this.#description, method, inputs),
        async (host, args) => (await host.diagnostics()).profile(index, args, runs, signal),
        signal,
      );
    });
  }

  /**
   * Opens an asset: a file for the application, which the export has put into the .rush file. `describe().assets` lists
   * them. They stay outside of wasm memory.
   * @param {string} name such as "labels.txt"
   * @returns {Promise<import('./assets.js').Asset>} its contents; `await (await model.asset('labels.txt')).text()`
   * @throws {RushlightError} `bad-argument` if there is no such asset, or `bad-file` if its bytes are damaged
   */
  asset(name) {
    return withCallerStack(() => this.#enqueue((host) => this.#lazy.assets().then((m) => m.openAsset(host, name))));
  }

  /** Returns the memory that the runtime uses, in bytes. @returns {Promise<Memory>} */
  memory() {
    return withCallerStack(() => this.#enqueue((host) => host.memory()));
  }

  /**
   * Returns a copy of the attributes that the program changes, by name ("layer.cache").
   * @returns {Promise<Record<string, Value>>}
   */
  state() {
    return withCallerStack(() => this.#enqueue((host) => host.state()));
  }

  /**
   * Sets attributes, for example to values that state() returned. Other attributes keep their values.
   * @param {Record<string, InputValue>} values
   * @returns {Promise<void>}
   */
  setState(values) {
    return withCallerStack(() => {
      const known = this.#description.attributes.map((a) => a.name);
      if (!isPlainObject(values)) throwMismatch('setState: values', 'an object of values by name', values);
      for (const name of Object.keys(values)) {
        if (!known.includes(name)) throw unknownNameError('setState: there is no attribute', name, known);
      }
      const copies = copied(values);
      return this.#enqueue((host) => host.setState(copies));
    });
  }

  /** Sets the attributes that the program changes back to the file's values. @returns {Promise<void>} */
  reset() {
    return withCallerStack(() => this.#enqueue((host) => host.reset()));
  }

  /**
   * Seeds the random numbers of the model. The next numbers are those of torch.manual_seed (torch 2.6 on the CPU,
   * without MKL). load() seeds a model by crypto.getRandomValues, and reset() does not change the generator.
   * @param {number | bigint} seed an integer @returns {Promise<void>}
   */
  manualSeed(seed) {
    return withCallerStack(() => {
      if (typeof seed !== 'bigint' && !Number.isSafeInteger(seed))
        throw badArgument(`manualSeed: a seed must be an integer, got ${describeValue(seed)}`, { actual: seed });
      return this.#enqueue((host) => host.manualSeed(BigInt(seed)));
    });
  }

  /** Frees the memory. Waiting and later calls fail with the code "disposed". */
  dispose() {
    if (!this.#host) return;
    this.#host.destroy();
    this.#host = undefined;
    liveModels--;
  }

  /** For `using model = await load(...)`. Engines without Symbol.dispose never call it. */
  [Symbol.dispose]() {
    this.dispose();
  }
}

/** @param {Method} method @param {'input' | 'output'} kind @param {readonly string[]} names */
function checkNames(method, kind, names) {
  const known = method[`${kind}s`].map((p) => p.name);
  if (!Array.isArray(names)) throwMismatch(`${kind}s`, `an array of names, [${known.join(', ')}]`, names);
  for (const name of names) {
    if (!known.includes(name))
      throw unknownNameError(`${method.name}: there is no ${kind}`, name, known, { [kind]: name });
  }
  return names.slice();
}

/**
 * Returns the arguments that were None in the example inputs of a traced model: the file has no inputs for them.
 * @param {import('../engine/engine.js').Description} description @param {Method} method
 * @returns {Map<number, string>} names by position
 */
function noneInputs({ meta }, { name }) {
  const text = meta['none inputs'];
  try {
    return new Map(text && JSON.parse(text)[name]);
  } catch {
    return new Map(); // another exporter may write any text
  }
}

/**
 * Returns positional arguments without those that were None in the example, if all of these are null.
 * @param {import('../engine/engine.js').Description} description @param {Method} method @param {unknown[]} args
 */
function withoutNone(description, method, args) {
  const none = noneInputs(description, method);
  return args.some((v, i) => none.has(i) && v != null) ? args : args.filter((_, i) => !none.has(i));
}

/**
 * Returns named inputs in the order of the method.
 * @param {import('../engine/engine.js').Description} description
 * @param {Method} method
 * @param {object} inputs values by name
 * @returns {InputValue[]}
 */
function positional(description, method, inputs) {
  const known = method.inputs.map((p) => p.name);
  if (!isPlainObject(inputs) || (isTensorObject(inputs) && !known.includes('data'))) {
    throw badArgument(
      `${method.name}: inputs must be an object { ${known.join(', ')} }, got ${describeValue(inputs)}`,
      {
        expected: known,
      },
    );
  }
  const isLeftOut = (/** @type {string} */ name) =>
    !known.includes(name) &&
    /** @type {Record<string, InputValue>} */ (inputs)[name] == null &&
    [...noneInputs(description, method).values()].includes(name);
  checkNames(
    method,
    'input',
    Object.keys(inputs).filter((name) => !isLeftOut(name)),
  );
  const values = method.inputs.map((p) =>
    Object.hasOwn(inputs, p.name) ? /** @type {Record<string, InputValue>} */ (inputs)[p.name] : undefined,
  );
  const missing = method.inputs.find(
    (p, i) => !p.optional && values[i] === undefined && !/\?$|^NoneType$/.test(p.type),
  );
  if (missing)
    throw badArgument(`${method.name}: input "${missing.name}" is missing; the inputs are ${known.join(', ')}`, {
      input: missing.name,
      expected: known,
    });
  // Only trailing inputs can have their defaults.
  while (method.inputs[values.length - 1]?.optional && values.at(-1) === undefined) values.pop();
  return values;
}
