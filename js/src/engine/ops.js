// Operators that functions of the user compute. Imported when the option `ops` is given.

import { RushlightError, badArgument, describeValue, disposedError, messageOf, rejectOnAbort } from '../base/errors.js';
import { encode } from './memory.js';
import { builtin } from '../base/platform.js';
import { parseType } from '../base/types.js';
import { isTensorObject, throwMismatch, VALUE_BYTES } from './values.js';

/**
 * @typedef {import('../base/types.js').Type} Type
 * @typedef {import('../base/types.js').Value} Value
 * @typedef {import('./engine.js').Engine} Engine
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

// Offsets of members of a C struct. wasm/bridge/bridge.c asserts the same values.
const OP_BYTES = 20,
  OP_SCHEMA = 8;

/** @type {OpTable | undefined} the table whose function is being called */ let calling;
/**
 * The same after an `await`, if the engine can tell.
 * @type {import('node:async_hooks').AsyncLocalStorage<OpTable> | undefined}
 */
let following;

/** Functions and schemas by name. @extends {Map<string, { schema: string, run: import('./ops.js').OpFunction }>} */
export class OpTable extends Map {
  #pending = 0;
  /** @type {Map<string, Signature>} of the operators that the file has */ #signatures = new Map();

  /** Registers the operators. Their records live as long as the instance. @param {Engine} engine */
  register(engine) {
    const { c, memory } = engine;
    for (const [name, { schema }] of this) {
      const text = encode(`${schema}\0`),
        at = engine.malloc(OP_BYTES + text.length);
      memory.copyIn(at, new Uint8Array(OP_BYTES));
      memory.setU32(at, OP_BYTES);
      memory.setU32(at + OP_SCHEMA, at + OP_BYTES);
      memory.copyIn(at + OP_BYTES, text);
      const status = c.rush_ctx_add_op(engine.ctx, at);
      if (status) {
        const cause = engine.error(status);
        throw badArgument(`load: ops: ${cause.message}`, { op: name, cause });
      }
    }
  }

  /**
   * If operators are missing, refuses functions that the model does not use, because their names may be misspelt. The
   * engine calls it as soon as the head has arrived.
   * @param {import('./engine.js').Description} description
   */
  check({ operators, missing }) {
    for (const { name, args, results } of operators)
      if (args && results) this.#signatures.set(name, { args, results: results.map(parseType) });
    const extra = [...this.keys()].filter((name) => !operators.some((o) => o.name === name));
    if (extra.length === 0 || missing.length === 0) return;
    const needed = missing.map((m) => m.name);
    throw badArgument(`load: ops: the model has no operator "${extra.join('", "')}"; it needs ${needed.join(', ')}`, {
      op: extra[0],
      expected: needed,
      actual: extra,
    });
  }

  /**
   * Computes the operator that waits.
   * @param {Engine} engine @param {import('./engine.js').Next} next @param {AbortSignal} [signal]
   */
  async compute(engine, { op, at, n }, signal) {
    const args = Array.from({ length: n }, (_, i) => engine.values.read(at + VALUE_BYTES * i));
    try {
      const value = await rejectOnAbort(this.call(op, args), signal, 'the run');
      if (engine.alive) settle(engine, /** @type {Signature} */ (this.#signatures.get(op)), args, value);
    } catch (e) {
      if (!engine.alive) throw disposedError();
      engine.unlessStopped(signal);
      if (e instanceof RushlightError && e.code === 'operator') throw e;
      throw failRun(engine, e);
    }
  }

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
  get isCalling() {
    return this.#pending > 0 && (calling ?? following?.getStore()) === this;
  }
}

/**
 * Passes the result of the function on to C.
 * @param {Engine} engine
 * @param {Signature} signature
 * @param {Value[]} args
 * @param {unknown} value
 */
function settle(engine, { args: marks, results: types }, args, value) {
  const { c, session } = engine;
  if (types.length > 1 && (!Array.isArray(value) || value.length !== types.length))
    throwMismatch('the result', `an array of ${types.length}`, value);
  // The result of an operator without results is the new value of the one argument that it writes.
  const becomes = !types.length && isTensorObject(value) ? value : undefined;
  if (becomes && marks.filter(({ written }) => written).length !== 1)
    throw badArgument('its schema has no result to return: write into the data of its arguments', { expected: 0 });
  const results = types.length > 1 ? [.../** @type {unknown[]} */ (value)] : types.length ? [value] : [];
  marks.forEach(({ written, result }, k) => {
    if (!written || args[k] === null) return;
    if (result >= 0) results[result] ??= args[k];
    else writeValues(engine, [becomes ?? args[k]], [parseType('Tensor')], (at) => c.rush_session_write(session, k, at));
  });
  writeValues(engine, results, types, (at) => c.rush_session_provide(session, at, results.length));
}

/**
 * Writes values and passes them to a function of C, whose failure ends the run.
 * @param {Engine} engine @param {unknown[]} values @param {Type[]} types @param {(at: number) => number} use
 */
export function writeValues(engine, values, types, use) {
  engine.withValues(values.length, (at) => {
    values.forEach((v, i) =>
      engine.values.write(
        at + VALUE_BYTES * i,
        /** @type {Type} */ (types[i]),
        v,
        values.length > 1 ? `result ${i}` : 'the result',
      ),
    );
    engine.need(use(at), { code: 'operator' });
  });
}

/** Ends the run after a function has failed. @param {Engine} engine @param {unknown} e */
function failRun(engine, e) {
  const own = e instanceof RushlightError,
    text = encode(`${own ? '' : 'its function failed: '}${messageOf(e)}\0`);
  const error = engine.withBytes(text.length, (at) => {
    engine.memory.copyIn(at, text);
    return engine.error(engine.c.rush_session_fail(engine.session, at));
  });
  return new RushlightError('operator', error.message, {
    ...error,
    ...(own && { expected: e.expected, actual: e.actual }),
    cause: e,
  });
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
