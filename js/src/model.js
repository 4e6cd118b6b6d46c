/// <reference lib="esnext.disposable" preserve="true" />
// A loaded model. Its calls are promises, and are done one after the other.

import { RushlightError, badArgument, checkOptions, throwIfAborted } from './errors.js';
import { Graph } from './graph.js';

/**
 * @typedef {import('./host.js').Host} Host
 * @typedef {import('./host.js').Upcoming} Upcoming
 * @typedef {import('./engine.js').Description} Description
 * @typedef {import('./engine.js').Method} Method
 * @typedef {import('./engine.js').ProfileRow} ProfileRow
 * @typedef {import('./types.js').InputValue} InputValue
 * @typedef {import('./types.js').Port} Port
 * @typedef {import('./types.js').Value} Value
 *
 * @typedef {object} RunOptions of a run
 * @property {string} [method] "forward" if the model has it, else its first one
 * @property {AbortSignal} [signal] stops the run; the model stays usable
 *
 * @typedef {object} TorchTexts PyTorch's own texts about a module, as its `.graph`, `.code` and print() give them
 * @property {string} [graph] what `.graph` gives
 * @property {string} [code] what `.code` gives
 * @property {string} [tree] what print(module) gives
 *
 * @typedef {object} VerifyTest what came of one test vector
 * @property {number} index which one
 * @property {boolean} passed whether the answer is close to PyTorch's as torch.allclose means it, NaN equal to NaN
 * @property {string} [code] why not: an ErrorCode
 * @property {string} [message] where they differ, or what failed
 * @property {number} maxAbs greatest difference to PyTorch's answer
 * @property {number} maxRel the same relative to PyTorch's answer, of numbers above a thousandth of the greatest of their tensor
 * @property {number} compared how many numbers were compared
 *
 * @typedef {object} Parting the first value that differs from PyTorch's
 * @property {import('./graph.js').Node} node whose value it is
 * @property {number} round of a loop, counted from 0
 * @property {string} message where it is and how it differs
 * @property {string} source the Python file and line, "" where unknown
 *
 * @typedef {object} DiffReport what came of a comparison with PyTorch's run, operator by operator
 * @property {boolean} agrees whether all values agree
 * @property {number} compared how many runs of operators, and of whole branches and loops, agree, up to the first that does not
 * @property {number} unpaired how many have no counterpart in PyTorch's graph
 * @property {number} maxAbs greatest difference in what agrees
 * @property {number} maxRel the same relative to PyTorch's values, as in VerifyTest
 * @property {Parting | null} first where they part
 *
 * @typedef {object} Memory in bytes
 * @property {number} live what the runtime holds now
 * @property {number} peak the most it ever held
 * @property {number} heap the size of its wasm memory
 *
 * @typedef {object} NextStep what the next step will run
 * @property {import('./graph.js').Node} node the node that is next
 * @property {any[] | null} args of an operator, complete, in the schema's order; null where they were not read
 *
 * @typedef {object} StepResult what one step gave
 * @property {Value[]} results of an operator; none for control flow
 * @property {number} ms how long it took
 *
 * @typedef {object} VerifyReport what came of the file's test vectors
 * @property {boolean} passed whether there are test vectors and all of them gave PyTorch's answer
 * @property {VerifyTest[]} tests one for each vector
 */

/**
 * A loaded model: the program, its weights, and the attributes that it changes. Made by `load()`. Calls are promises, done one
 * after the other; what they throw is a RushlightError. @hideconstructor
 */
export class Model {
  #host;
  #description;
  #name;
  /** @type {import('./graph.js').GraphJson | undefined} */ #json;
  /** @type {Record<string, Graph> | undefined} */ #graphs;
  /** @type {Promise<unknown>} */ #queue = Promise.resolve();

  /** @param {Host} host */
  constructor(host) {
    this.#host = /** @type {Host | undefined} */ (host);
    this.#description = host.description;
    this.#name = host.name;
    /** Which wasm binary runs the model, and why that one. */
    this.backend = host.backend;
  }

  /** The methods by name. @returns {Record<string, Method>} */
  get methods() { return Object.fromEntries(this.#description.methods.map((m) => [m.name, m])); }
  /** The inputs of `forward`, or of the first method. @returns {Port[]} */
  get inputs() { return this.#method(undefined).method.inputs; }
  /** The outputs of `forward`, or of the first method. @returns {Port[]} */
  get outputs() { return this.#method(undefined).method.outputs; }

  /** What the file says about itself, as plain data. @returns {Description} */
  describe() { return structuredClone(this.#description); }

  /** The same for people. */
  describeText() { return this.#alive().describeText(); }

  /** @returns {import('./graph.js').GraphJson} */
  #program() { return (this.#json ??= JSON.parse(this.#alive().graphText())); }

  /** The program that runs, by method: to walk, or to print with String(). @returns {Record<string, Graph>} */
  get graphs() {
    const json = this.#program();
    return (this.#graphs ??= Object.fromEntries(json.methods.map((m, i) => [m.name, new Graph(m, json, this.#description.methods[i]?.inputs.map((p) => p.name) ?? [])])));
  }

  /** That of `forward`, or of the first method. @returns {Graph} */
  get graph() { return /** @type {Graph} */ (this.graphs[this.#method(undefined).method.name]); }

  /** PyTorch's own texts, by the path of the submodule ("" is the whole). Empty where the file was exported without. @returns {Record<string, TorchTexts>} */
  get torch() {
    /** @type {Record<string, TorchTexts>} */
    const modules = {};
    for (const { module, kind, text } of this.#program().texts) (modules[module] ??= {})[kind] = text;
    return modules;
  }

  /** PyTorch's `.code` of the whole model; "" where the file was exported without. */
  get code() { return this.torch['']?.code ?? ''; }

  #alive() {
    if (!this.#host) throw new RushlightError('disposed', `the model ${this.#name} was disposed`);
    return this.#host;
  }

  /** @template T @param {(host: Host) => T | Promise<T>} job @returns {Promise<T>} */
  #enqueue(job) {
    const result = this.#queue.then(() => job(this.#alive()));
    this.#queue = result.catch(() => {});
    return result;
  }

  /** @param {string | undefined} name */
  #method(name) {
    const { methods } = this.#description;
    const index = name === undefined ? Math.max(0, methods.findIndex((m) => m.name === 'forward')) : methods.findIndex((m) => m.name === name);
    const method = methods[index];
    if (!method) {
      const known = methods.map((m) => m.name);
      throw badArgument(`there is no method "${name}"; known are ${known.join(', ')}`, { expected: known, actual: name });
    }
    return { method, index };
  }

  /**
   * Runs a method on named inputs. Inputs are copied and never written to; the results belong to the caller.
   * @param {Record<string, InputValue>} inputs
   * @param {RunOptions} [options]
   * @returns {Promise<Record<string, any>>} a Tensor (or other value) for each output
   * @throws {RushlightError} `bad-argument`, `model-raised`, `unsupported`, `operator`, `out-of-memory`, `aborted` or `disposed`
   */
  async run(inputs, options = {}) {
    checkOptions('run', options, ['method', 'signal']);
    const { method, index } = this.#method(options.method);
    const args = positional(method, inputs);
    return this.#enqueue((host) => {
      throwIfAborted(options.signal, 'the run');
      return host.run(index, args, 'named', options.signal);
    });
  }

  /**
   * Calls a method as in PyTorch: positional arguments, and the result in its own structure.
   * @param {string} method @param {...InputValue} args
   * @returns {Promise<any>} a Tensor, number, boolean, string, null; an array for a list or tuple; a Map for a dict
   * @throws {RushlightError} as run()
   */
  async call(method, ...args) {
    const { method: m, index } = this.#method(method);
    const known = m.inputs.map((p) => p.name);
    if (args.length > known.length) {
      throw badArgument(`${m.name} takes ${known.length} argument${known.length === 1 ? '' : 's'} (${known.join(', ')}), got ${args.length}`, { expected: known, actual: args.length });
    }
    const missing = m.inputs.slice(args.length).filter((p) => !p.optional);
    if (missing.length) throw missingInputs(m, missing);
    return this.#enqueue((host) => host.run(index, args, 'value'));
  }

  /**
   * Begins a run that goes on instruction by instruction, for tools; `rushlight/fx` is built on it. Other calls of the model wait
   * until its end().
   * @param {Record<string, InputValue>} inputs
   * @param {{ method?: string }} [options]
   * @returns {Promise<Steps>}
   */
  async steps(inputs, options = {}) {
    checkOptions('steps', options, ['method']);
    const { method, index } = this.#method(options.method);
    const args = positional(method, inputs);
    return new Promise((resolve, reject) => {
      this.#enqueue(async (host) => {
        await host.begin(index, args);
        await new Promise((done) => resolve(new Steps(host, this.graphs[method.name] ?? this.graph, () => done(undefined))));
        if (host.alive) await host.end();
      }).catch(reject);
    });
  }

  /** Replays the test vectors in the file and compares with PyTorch's answers. @returns {Promise<VerifyReport>} */
  async verify() {
    return this.#enqueue(async (host) => {
      const tests = await host.verify();
      return { passed: tests.length > 0 && tests.every((t) => t.passed), tests };
    });
  }

  /**
   * Runs a test vector and compares what each operator gives with the trace of PyTorch's own run that the file holds
   * (`rushlight export --trace`): paired by debug handle, loops round by round; what was folded or fused is compared where its value
   * comes out.
   * @param {number} [test] which test vector; a file has a trace of the first one, if any
   * @returns {Promise<DiffReport>}
   */
  async diff(test = 0) {
    return this.#enqueue(async (host) => {
      const { first, ...report } = await host.diff(test);
      if (!first) return { agrees: true, ...report, first };
      const { method, instr, ...parting } = first;
      const name = this.#description.methods[method]?.name ?? '';
      const nodes = (this.graphs[name] ?? this.graph).nodes;
      const node = /** @type {import('./graph.js').Node} */ (nodes[nodes.findIndex((n) => n.op !== 'placeholder') + instr]);
      return { agrees: false, ...report, first: { node, ...parting } };
    });
  }

  /**
   * Runs once and tells the time of each instruction, the longest first.
   * @param {Record<string, InputValue>} inputs @param {RunOptions & { runs?: number }} [options]
   * @returns {Promise<ProfileRow[]>}
   */
  async profile(inputs, options = {}) {
    checkOptions('profile', options, ['method', 'signal', 'runs']);
    const { method, index } = this.#method(options.method);
    const args = positional(method, inputs);
    return this.#enqueue((host) => {
      throwIfAborted(options.signal, 'the run');
      return host.profile(index, args, options.runs ?? 1, options.signal);
    });
  }

  /** Bytes that the runtime holds now, held at most, and the size of its wasm memory. @returns {Promise<Memory>} */
  async memory() { return this.#enqueue((host) => host.memory()); }

  /** A copy of the attributes that the program changes, by name ("layer.cache"). @returns {Promise<Record<string, Value>>} */
  async state() { return this.#enqueue((host) => host.state()); }

  /** Gives attributes other values: what state() gave before, or some of it. @param {Record<string, InputValue>} values @returns {Promise<void>} */
  async setState(values) {
    const known = this.#description.attributes.map((a) => a.name);
    for (const name of Object.keys(values)) {
      if (!known.includes(name)) throw badArgument(`there is no attribute "${name}" that the program changes; known are ${known.join(', ') || 'none'}`, { expected: known, actual: name });
    }
    return this.#enqueue((host) => host.setState(values));
  }

  /** Sets the attributes that the program changes back to the file's values. @returns {Promise<void>} */
  async reset() { return this.#enqueue((host) => host.reset()); }

  /**
   * Seeds the model's random numbers: those that follow are torch.manual_seed's (torch 2.6 on the CPU, without MKL). A model that was
   * just loaded is seeded by crypto.getRandomValues; reset() leaves the generator as it is.
   * @param {number | bigint} seed an integer @returns {Promise<void>}
   */
  async manualSeed(seed) {
    if (typeof seed !== 'bigint' && !Number.isSafeInteger(seed)) throw badArgument(`manualSeed: a seed is an integer, got ${seed}`, { actual: seed });
    return this.#enqueue((host) => host.manualSeed(BigInt(seed)));
  }

  /** Gives the memory back. Calls that wait, and all later ones, fail with the code "disposed". */
  dispose() {
    this.#host?.destroy();
    this.#host = undefined;
  }

  /** For `using model = await load(...)`. (Where there is no Symbol.dispose yet, a method that nobody calls.) */
  [Symbol.dispose]() { this.dispose(); }
}

/** A run at one of its instructions. Made by `model.steps()`. @hideconstructor */
export class Steps {
  #host;
  #done;

  /** @param {Host} host @param {Graph} graph @param {() => void} done */
  constructor(host, graph, done) {
    this.#host = host;
    this.#done = done;
    /** Of the method that runs. */
    this.graph = graph;
  }

  /** The node that is next, and copies of its arguments: complete, in the schema's order. @param {{ args?: boolean }} [options] without args they are not read @returns {Promise<NextStep>} */
  async next({ args = true } = {}) {
    const next = await this.#host.next(args);
    const inputs = this.graph.nodes.findIndex((n) => n.op !== 'placeholder');
    return { node: /** @type {import('./graph.js').Node} */ (this.graph.nodes[inputs + next.instr]), args: next.args };
  }

  /** Runs that node. @returns {Promise<StepResult>} */
  async step() { return this.#host.step(); }

  /** Goes past an operator with these results, without running it. @param {import('./graph.js').Node} node @param {InputValue[]} results */
  async provide(node, results) { return this.#host.put('provide', results, node.outputs.map((o) => o.type)); }

  /** Gives the operator that has just run other results. @param {import('./graph.js').Node} node @param {InputValue[]} results */
  async replace(node, results) { return this.#host.put('replace', results, node.outputs.map((o) => o.type)); }

  /** After the node `output`: the results by name. @returns {Promise<Record<string, any>>} */
  async results() { return this.#host.result('named'); }

  /** Gives up what is left, and lets other calls of the model go on. */
  end() { this.#done(); }
}

/** @param {Method} method @param {Port[]} missing */
function missingInputs(method, missing) {
  const known = method.inputs.map((p) => p.name);
  const names = missing.map((p) => `"${p.name}"`).join(', ');
  return badArgument(`${method.name}: input ${names} is missing; the inputs are ${known.join(', ')}`, { input: missing[0]?.name, expected: known });
}

/** Named inputs in the method's order. @param {Method} method @param {Record<string, InputValue>} inputs @returns {InputValue[]} */
function positional(method, inputs) {
  const known = method.inputs.map((p) => p.name);
  if (inputs === null || typeof inputs !== 'object') throw badArgument(`${method.name}: inputs are an object { ${known.join(', ')} }`, { expected: known });
  for (const name of Object.keys(inputs)) {
    if (!known.includes(name)) {
      throw badArgument(`${method.name}: there is no input "${name}"; known are ${known.join(', ') || 'none'}`, { input: name, expected: known, actual: name });
    }
  }
  const missing = method.inputs.filter((p) => !p.optional && inputs[p.name] === undefined && !/\?$|^NoneType$/.test(p.type));
  if (missing.length) throw missingInputs(method, missing);
  // Only trailing inputs can be left to their defaults.
  let n = method.inputs.length;
  while (n > 0 && /** @type {Port} */ (method.inputs[n - 1]).optional && inputs[/** @type {Port} */ (method.inputs[n - 1]).name] === undefined) n--;
  return method.inputs.slice(0, n).map((p) => inputs[p.name]);
}
