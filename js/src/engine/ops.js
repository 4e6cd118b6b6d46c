// Operators that functions of the user compute.

import { badArgument, describeValue } from '../base/errors.js';
import { builtin } from '../base/platform.js';

/**
 * @typedef {import('../base/types.js').Type} Type
 * @typedef {import('../base/types.js').Value} Value
 *
 * @typedef {object} Op an operator with its own schema
 * @property {string} [schema] "my_ops::warp(Tensor x, int n=1) -> Tensor"; by default the schema in the file
 * @property {OpFunction} run computes it
 *
 * @typedef {Record<string, OpFunction | Op>} Ops by full name, "my_ops::warp.overload"
 *
 * @typedef {object} Signature
 * @property {{ written: boolean, result: number }[]} args whether the operator writes it, and which result it then is
 *   (-1: none)
 * @property {Type[]} results
 */

// eslint-disable-next-line types/any -- a function may declare the types that its schema gives it
/**
 * @typedef {(...args: any[]) => unknown} OpFunction receives the arguments in the order of the schema, with defaults,
 *   in the form of results of run(). It returns the result, an array of several results, or a promise
 */

/** @type {OpTable | undefined} the table whose function is being called */ let calling;
/**
 * The same after an `await`, if the engine can tell.
 * @type {import('node:async_hooks').AsyncLocalStorage<OpTable> | undefined}
 */
let following;

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

  /**
   * Whether the caller is a running function of this table. A call of the operator's own model would wait for itself.
   * @returns {boolean}
   */
  get asks() {
    return this.#pending > 0 && (calling ?? following?.getStore()) === this;
  }
}

/** Reads the option `ops` of load(). @param {unknown} ops @returns {OpTable} */
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
