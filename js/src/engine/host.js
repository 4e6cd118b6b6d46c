// The interface between a Model and the engine that runs it: functions that take and return plain data. LocalHost calls
// an engine on this thread; WorkerClient (worker/worker-client.js) sends each call to a worker.

import { parseType } from '../base/types.js';

/**
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('../base/types.js').InputValue} InputValue
 * @typedef {import('../base/types.js').Value} Value
 * @typedef {import('../api/model.js').VerifyTest} VerifyTest
 * @typedef {import('../base/types.js').StepValue} StepValue
 * @typedef {'value' | 'named' | readonly string[]} Form the result in its own structure, or all outputs by name, or the
 *   named ones
 *
 * @typedef {object} Host a loaded model
 * @property {import('./runtime.js').Backend} backend which binary runs it
 * @property {import('./engine.js').Description} description what the file says about itself
 * @property {boolean} alive whether it can still be called
 * @property {import('./ops.js').OpTable | undefined} ops operators that JavaScript computes
 * @property {() => string} describeText the description for people
 * @property {() => string} graphText the program as JSON
 * @property {(method: number, args: readonly InputValue[], form: Form, yields: boolean, signal?: AbortSignal,
 *   outputDevice?: string, transferred?: boolean) => Promise<unknown>} run
 *   runs a method to its end; with `outputDevice`, tensors of the result stay there; `transferred` allows the host to
 *   hand the buffers of the arguments over
 * @property {() => Promise<import('../api/model.js').Memory>} memory what the runtime holds
 * @property {() => Promise<void>} reset sets attributes back to the file's values
 * @property {(seed: bigint) => Promise<void>} manualSeed seeds the random numbers
 * @property {() => Promise<Record<string, Value>>} state the attributes that the program changes
 * @property {(values: Record<string, unknown>) => Promise<void>} setState gives known attributes other values
 * @property {(method: number, args: readonly InputValue[]) => Promise<void>} begin begins a run that diagnostics
 *   advance step by step
 * @property {() => Promise<Blob>} tail the end of the file, with all of its assets
 * @property {() => Promise<Diagnostics>} diagnostics imports what only tools need
 * @property {() => void} destroy frees the model, at any time
 *
 * @typedef {object} Diagnostics what tools ask of a loaded model
 * @property {(options?: import('../api/model.js').VerifyOptions) => Promise<import('../api/model.js').VerifyReport>}
 *   verify replays the test vectors of the file
 * @property {(test: number | import('../api/model.js').DiffOptions) => Promise<TraceComparison>} diff compares each
 *   operator with the stored trace of PyTorch's run, or the GPU with the CPU
 * @property {(method: number, args: readonly InputValue[], runs: number, signal?: AbortSignal) =>
 *   Promise<import('./engine.js').ProfileRow[]>} profile
 *   the time of each instruction, the longest first
 * @property {(withArgs: boolean) => Promise<{ instr: number, op: string, args: StepValue[] | null }>} next the next
 *   instruction of a run that has begun
 * @property {() => Promise<{ results: StepValue[], ms: number }>} step runs one instruction; an operator has results
 * @property {(how: 'provide' | 'replace', values: unknown[], types: string[]) => Promise<void>} put puts values in
 *   place of the next
 *   instruction's results, or of the last one's
 * @property {() => Promise<Record<string, Value>>} result the outputs of a run that has ended, by name
 * @property {() => Promise<void>} end ends stepping, whether or not the run has ended
 *
 * @typedef {{ compared: number, unpaired: number, maxAbs: number, maxRel: number, first: FirstDifference | null }}
 *   TraceComparison
 * @typedef {{ method: number, instr: number, iteration: number, message: string, source: string }} FirstDifference
 */

/** @implements {Host} */
export class LocalHost {
  #diagnostics;

  /**
   * @param {Engine} engine
   * @param {() => Promise<typeof import('./diagnostics.js')>} diagnostics imports that module
   */
  constructor(engine, diagnostics) {
    this.engine = engine;
    this.#diagnostics = diagnostics;
    this.backend = engine.backend;
    this.description = engine.head();
    this.method = 0;
  }

  get alive() {
    return this.engine.alive;
  }
  get ops() {
    return this.engine.ops;
  }

  describeText() {
    return this.engine.describeText();
  }
  graphText() {
    return this.engine.describeText(2);
  }

  /** @param {number} index @param {readonly InputValue[]} args */
  writer(index, args) {
    const ports = this.description.methods[index]?.inputs ?? [];
    return (/** @type {number} */ at, /** @type {number} */ i) =>
      this.engine.values.writePort(at, ports[i] ?? { name: String(i), type: 'Any' }, args[i]); // which C refuses
  }

  /** @param {number} index @param {Form} form */
  reader(index, form) {
    const { values } = this.engine;
    const { outputs, result } = /** @type {import('./engine.js').Method} */ (this.description.methods[index]);
    return (/** @type {number} */ at) => {
      if (form === 'value') return values.read(at);
      const spread = values.isTuple(at) && (outputs.length !== 1 || parseType(result).kind === 'Tuple');
      const leave =
        form === 'named'
          ? undefined
          : (/** @type {number} */ i) => !form.includes(/** @type {string} */ (outputs[i]?.name));
      const results = spread ? values.readItems(at, leave) : outputs.length && !leave?.(0) ? [values.read(at)] : [];
      const named = results.map((v, i) => [outputs[i]?.name ?? String(i), v]);
      return Object.fromEntries(named.filter((_, i) => !leave?.(i)));
    };
  }

  /**
   * @param {number} index
   * @param {readonly InputValue[]} args
   * @param {Form} form
   * @param {boolean} yields
   * @param {AbortSignal} [signal]
   * @param {string} [outputDevice]
   * @returns {Promise<unknown>}
   */
  async run(index, args, form, yields, signal, outputDevice) {
    if (outputDevice) (await this.#diagnostics()).refuse();
    return this.engine.run(index, args.length, this.writer(index, args), this.reader(index, form), yields, signal);
  }

  async diagnostics() {
    return new (await this.#diagnostics()).LocalDiagnostics(this);
  }

  async tail() {
    return new Blob(this.engine.tail);
  }
  async memory() {
    return this.engine.usage();
  }
  async reset() {
    this.engine.reset();
  }

  /** @param {bigint} seed */
  async manualSeed(seed) {
    this.engine.manualSeed(seed);
  }

  /** @returns {Promise<Record<string, Value>>} */
  async state() {
    return Object.fromEntries(this.description.attributes.map(({ name }, i) => [name, this.engine.attribute(i)]));
  }

  /** @param {Record<string, unknown>} values whose names are known */
  async setState(values) {
    this.description.attributes.forEach((a, i) => {
      if (Object.hasOwn(values, a.name)) this.engine.setAttribute(i, a, values[a.name]);
    });
  }

  /** Begins a run that continues step by step. @param {number} index @param {readonly InputValue[]} args */
  async begin(index, args) {
    this.method = index;
    this.engine.begin(index, args.length, this.writer(index, args));
  }

  destroy() {
    this.engine.destroy();
  }
}
