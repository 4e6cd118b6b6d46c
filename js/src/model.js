/// <reference lib="esnext.disposable" preserve="true" />
// A loaded model. Its calls are promises, and are done one after the other.

import { RushlightError, badArgument, checkOptions, throwIfAborted } from './errors.js';
import { parseType } from './types.js';

/**
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('./engine.js').Description} Description
 * @typedef {import('./engine.js').Method} Method
 * @typedef {import('./engine.js').ProfileRow} ProfileRow
 * @typedef {import('./types.js').InputValue} InputValue
 * @typedef {import('./types.js').Port} Port
 * @typedef {import('./types.js').Value} Value
 *
 * @typedef {object} RunOptions
 * @property {string} [method] "forward" if the model has it, else its first one
 * @property {AbortSignal} [signal] stops the run; the model stays usable
 *
 * @typedef {object} VerifyTest
 * @property {number} index
 * @property {boolean} passed
 * @property {string} [code] why not, and where
 * @property {string} [message]
 * @property {number} maxAbs greatest difference to PyTorch's answer
 * @property {number} maxRel
 * @property {number} compared how many numbers were compared
 *
 * @typedef {object} VerifyReport
 * @property {boolean} passed whether there are test vectors and all of them gave PyTorch's answer
 * @property {VerifyTest[]} tests
 */

/** Made by `load()`. */
export class Model {
  #engine;
  #description;
  #name;
  /** @type {Promise<unknown>} */ #queue = Promise.resolve();

  /** @param {Engine} engine @param {Description} description @param {string} name */
  constructor(engine, description, name) {
    this.#engine = /** @type {Engine | undefined} */ (engine);
    this.#description = description;
    this.#name = name;
    /** Which wasm binary runs the model, and why that one. */
    this.backend = engine.backend;
  }

  /** The methods by name. @returns {Record<string, Method>} */
  get methods() { return Object.fromEntries(this.#description.methods.map((m) => [m.name, m])); }
  /** The inputs of `forward`, or of the first method. @returns {Port[]} */
  get inputs() { return this.#method(undefined).method.inputs; }
  /** @returns {Port[]} */
  get outputs() { return this.#method(undefined).method.outputs; }

  /** What the file says about itself, as plain data. @returns {Description} */
  describe() { return structuredClone(this.#description); }

  /** The same for people. */
  describeText() { return this.#alive().describeText(); }

  #alive() {
    if (!this.#engine) throw new RushlightError('disposed', `the model ${this.#name} was disposed`);
    return this.#engine;
  }

  /** @template T @param {(engine: Engine) => T | Promise<T>} job @returns {Promise<T>} */
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
   */
  async run(inputs, options = {}) {
    checkOptions('run', options, ['method', 'signal']);
    const { method, index } = this.#method(options.method);
    const args = positional(method, inputs);
    return this.#enqueue((engine) => this.#execute(engine, index, args, options.signal, (at) => {
      const { values } = engine, { outputs } = method;
      const spread = values.isTuple(at) && (outputs.length !== 1 || parseType(method.result).kind === 'Tuple');
      const results = spread ? values.readItems(at) : outputs.length ? [values.read(at)] : [];
      return Object.fromEntries(results.map((v, i) => [outputs[i]?.name ?? String(i), v]));
    }));
  }

  /**
   * Calls a method as in PyTorch: positional arguments, and the result in its own structure.
   * @param {string} method @param {...InputValue} args
   * @returns {Promise<any>} a Tensor, number, boolean, string, null; an array for a list or tuple; a Map for a dict
   */
  async call(method, ...args) {
    const { method: m, index } = this.#method(method);
    const known = m.inputs.map((p) => p.name);
    if (args.length > known.length) {
      throw badArgument(`${m.name} takes ${known.length} arguments (${known.join(', ')}), got ${args.length}`, { expected: known, actual: args.length });
    }
    const missing = m.inputs.slice(args.length).filter((p) => !p.optional);
    if (missing.length) throw missingInputs(m, missing);
    return this.#enqueue((engine) => this.#execute(engine, index, args, undefined, (at) => engine.values.read(at)));
  }

  /**
   * @template T @param {Engine} engine @param {number} index @param {readonly InputValue[]} args
   * @param {AbortSignal | undefined} signal @param {(at: number) => T} read
   */
  #execute(engine, index, args, signal, read) {
    throwIfAborted(signal, 'the run');
    const ports = /** @type {Method} */ (this.#description.methods[index]).inputs;
    return engine.run(index, args.length, (at, i) => engine.values.writePort(at, /** @type {Port} */ (ports[i]), args[i]), read, signal);
  }

  /** Replays the test vectors in the file and compares with PyTorch's answers. @returns {Promise<VerifyReport>} */
  async verify() {
    return this.#enqueue((engine) => {
      const tests = Array.from({ length: engine.testCount() }, (_, i) => engine.verify(i));
      return { passed: tests.length > 0 && tests.every((t) => t.passed), tests };
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
    return this.#enqueue(async (engine) => {
      engine.profile(true);
      try {
        for (let i = 0; i < (options.runs ?? 1); i++) await this.#execute(engine, index, args, options.signal, () => {});
        return engine.profileRows(this.#description.methods.map((m) => m.name)).sort((a, b) => b.ms - a.ms);
      } finally {
        if (engine.alive) engine.profile(false);
      }
    });
  }

  /** Bytes that the runtime holds now, held at most, and the size of its wasm memory. @returns {Promise<{ live: number, peak: number, heap: number }>} */
  async memory() { return this.#enqueue((engine) => engine.usage()); }

  /** Sets the attributes that the program changes back to the file's values. @returns {Promise<void>} */
  async reset() { return this.#enqueue((engine) => engine.reset()); }

  /** Gives the memory back. Calls that wait, and all later ones, fail with the code "disposed". */
  dispose() {
    this.#engine?.destroy();
    this.#engine = undefined;
  }

  /** For `using model = await load(...)`. (Where there is no Symbol.dispose yet, a method that nobody calls.) */
  [Symbol.dispose]() { this.dispose(); }
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
