// Operators that the user computes in JavaScript.

import { badArgument, describeValue } from '../base/errors.js';
import { builtin } from '../base/platform.js';

/**
 * @typedef {import('../base/types.js').Type} Type
 * @typedef {import('../base/types.js').Value} Value
 *
 * @typedef {(...args: any[]) => unknown} OpFunction takes the arguments in the schema's order, defaults filled in, as
 *   results have them; gives the result, an array where there are several, or a promise of it
 * @typedef {object} Op an operator with a schema of its own
 * @property {string} [schema] "my_ops::warp(Tensor x, int n=1) -> Tensor"; by default what the file carries
 * @property {OpFunction} run computes it
 *
 * @typedef {Record<string, OpFunction | Op>} Ops by full name, "my_ops::warp.overload"
 *
 * @typedef {object} Signature
 * @property {{ written: boolean, result: number }[]} args whether the operator writes it, and which result it then is
 *   (-1: none)
 * @property {Type[]} results
 */

/** @type {OpTable | undefined} whose function is being called */ let calling;
/** @type {any} the same beyond an `await`, where the engine can tell */ let following;

/** Functions and schemas by name. @extends {Map<string, { schema: string, run: import('./ops.js').OpFunction }>} */
export class OpTable extends Map {
  #pending = 0;

  /** Calls the function of an operator. @param {string} name @param {unknown[]} args */
  async call(name, args) {
    const { AsyncLocalStorage } = builtin('node:async_hooks') ?? {};
    following ??= AsyncLocalStorage && new AsyncLocalStorage();
    const run = () => this.get(name)?.run(...args);
    this.#pending++;
    try {
      calling = this;
      const value = following ? following.run(this, run) : run();
      calling = undefined;
      return await value;
    } finally {
      calling = undefined;
      this.#pending--;
    }
  }

  /** Whether it is a function of this table, not yet finished, that asks: what it waits for would wait for it. */
  get asks() {
    return this.#pending > 0 && (calling ?? following?.getStore()) === this;
  }
}

/** The option `ops` of load(). @param {unknown} ops @returns {OpTable} */
export function readOps(ops) {
  if (ops === null || typeof ops !== 'object')
    throw badArgument(`load: ops must be an object { 'namespace::name': function }, got ${describeValue(ops)}`);
  return new OpTable(
    Object.entries(ops).map(([name, given]) => {
      const run = typeof given === 'function' ? given : given?.run;
      const schema = given?.schema ?? name;
      if (typeof run !== 'function')
        throw badArgument(
          `load: the operator "${name}" must be a function, or { schema, run }, got ${describeValue(given)}`,
          { op: name },
        );
      if (schema !== name && !(typeof schema === 'string' && schema.startsWith(`${name}(`))) {
        throw badArgument(
          `load: the schema of operator "${name}" must begin with "${name}(", got ${describeValue(schema)}`,
          { op: name },
        );
      }
      return [name, { schema, run }];
    }),
  );
}
