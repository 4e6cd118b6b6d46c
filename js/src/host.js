// One loaded model as functions on plain data: what model.js calls, on this side or, by messages, in a worker.

import { parseType } from './types.js';

/**
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {Omit<typeof import('./trials.js'), 'Steps' | 'parting'>} Trials
 * @typedef {import('./types.js').InputValue} InputValue
 * @typedef {import('./types.js').Value} Value
 * @typedef {'value' | 'named' | readonly string[]} Form a result in its own structure, or the outputs by name, or these of them
 */

export class Host {
  /** @param {Engine} engine @param {() => Promise<typeof import('./trials.js')>} trials imports that file */
  constructor(engine, trials) {
    this.engine = engine;
    this.trials = trials;
    this.backend = engine.backend;
    this.description = engine.head();
    this.method = 0;
  }

  get alive() { return this.engine.alive; }
  get ops() { return this.engine.ops; }

  describeText() { return this.engine.describeText(); }
  graphText() { return this.engine.describeText(2); }

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
      const leave = form === 'named' ? undefined : (/** @type {number} */ i) => !form.includes(/** @type {any} */ (outputs[i]?.name));
      const results = spread ? values.readItems(at, leave) : outputs.length && !leave?.(0) ? [values.read(at)] : [];
      const named = results.map((v, i) => [outputs[i]?.name ?? String(i), v]);
      return Object.fromEntries(leave ? named.filter((_, i) => !leave(i)) : named);
    };
  }

  /** @param {number} index @param {readonly InputValue[]} args @param {Form} form @param {boolean} yields @param {AbortSignal} [signal] @param {boolean} [_given] @returns {Promise<any>} */
  async run(index, args, form, yields, signal, _given) {
    return this.engine.run(index, args.length, this.writer(index, args), this.reader(index, form), yields, signal);
  }

  /**
   * What is imported when asked for.
   * @template {keyof Trials} K @param {K} name @param {Trials[K] extends (host: Host, ...args: infer A) => any ? A : never} args
   * @returns {Promise<Awaited<ReturnType<Trials[K]>>>}
   */
  async trial(name, ...args) { return /** @type {any} */ (await this.trials())[name](this, ...args); }

  async memory() { return this.engine.usage(); }
  async reset() { this.engine.reset(); }

  /** @param {bigint} seed */
  async manualSeed(seed) { this.engine.manualSeed(seed); }

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

  /** Begins a run that goes on step by step. @param {number} index @param {readonly InputValue[]} args */
  async begin(index, args) {
    this.method = index;
    this.engine.begin(index, args.length, this.writer(index, args));
  }

  destroy() { this.engine.destroy(); }
}
