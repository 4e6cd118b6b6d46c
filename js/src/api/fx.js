/**
 * The interpreter pattern of torch.fx (torch/fx/interpreter.py). A subclass sees every value of a run, and may replace
 * it. `ShapeProp` follows torch/fx/passes/shape_prop.py, and `printTabular` follows Graph.print_tabular.
 * @module rushlight/fx
 */

import {
  RushlightError,
  withCallerStack,
  badArgument,
  checkOptions,
  callbackFailed,
  describeValue,
  unknownNameError,
} from '../base/errors.js';
import { Graph, Item, Node } from './graph.js';
import { named, toTensor } from '../engine/values.js';

/**
 * @import { Model } from './model.js'
 * @import { InputValue, PackedTensor, Port, StepValue, Tensor } from '../base/types.js'
 *
 * @typedef {object} Time the time of an operator
 * @property {number} calls the number of its runs
 * @property {number} ms the time of all runs
 */

// eslint-disable-next-line types/any -- the node decides, and a subclass may replace the value by another one
/** @typedef {any} NodeValue the value of a node, as in torch.fx: its type depends on the node */

export { Steps } from './steps.js';
export { Graph, Item, Node };

/**
 * Runs a model node by node. Override `runNode` to see each node and its value, or `placeholder`, `callFunction` and
 * `output` for nodes of one kind. The run continues with the value that they return or promise. Without a call of
 * `super.callFunction`, the operator does not run. Nodes in blocks occur as often as they run. `if`, `loop` and `yield`
 * have no value.
 */
export class Interpreter {
  /** @type {import('./steps.js').Steps | undefined} */ #steps;
  /** @type {Record<string, InputValue>} */ #inputs = {};
  #ran = false;
  /** @type {unknown} */ #native;
  /** @type {StepValue[] | null} */ #args = null;
  /** The node that runs. @type {Node | undefined} */
  node;
  /** The time of the last operator, without the copies of its values. */
  ms = 0;

  /** @param {Model} model @param {{ method?: string }} [options] the method to run, "forward" by default */
  constructor(model, options = {}) {
    checkOptions('Interpreter', options, ['method']);
    if (typeof model?.steps !== 'function')
      throw badArgument(`Interpreter: the model must be one that load() gave, got ${describeValue(model)}`);
    /** The model that runs. */
    this.model = model;
    /** The method's name. */
    this.method =
      options.method ??
      ('forward' in model.methods ? 'forward' : /** @type {string} */ (Object.keys(model.methods)[0]));
    const graph =
      typeof this.method === 'string' && Object.hasOwn(model.graphs, this.method)
        ? model.graphs[this.method]
        : undefined;
    if (!graph) throw unknownNameError('there is no method', this.method, Object.keys(model.methods));
    /** The method's graph. @type {Graph} */
    this.graph = graph;
  }

  /**
   * Runs the method, node by node.
   * @param {Record<string, InputValue>} inputs as for `model.run`
   * @returns {Promise<NodeValue>} what `output` returns: the results by name
   */
  run(inputs) {
    return withCallerStack(() =>
      this.#run(inputs).catch((e) => {
        throw e instanceof RushlightError ? e : callbackFailed(`a function of the ${this.constructor.name}`, e);
      }),
    );
  }

  /** @param {Record<string, InputValue>} inputs */
  async #run(inputs) {
    const { inputs: ports } = /** @type {import('../engine/engine.js').Method} */ (this.model.methods[this.method]);
    const given = { ...inputs };
    const placeholders = this.graph.nodes.filter((n) => n.op === 'placeholder');
    for (const [i, node] of placeholders.entries()) {
      const port = /** @type {Port} */ (ports[i]);
      if (!Object.hasOwn(given, port.name) || given[port.name] === undefined) continue;
      this.#inputs = { [node.target]: port.type === 'Tensor' ? asTensor(given[port.name], port) : given[port.name] };
      this.node = node;
      given[port.name] = await this.runNode(node);
    }
    const steps = await this.model.steps(given, { method: this.method });
    this.#steps = steps;
    try {
      for (;;) {
        const { node } = await steps.next({ args: false });
        this.#ran = false;
        this.node = node;
        const value = await this.runNode(node);
        if (node.op === 'output') return value;
        if (node.op === 'call_function') {
          if (!this.#ran) await steps.provide(node, resultsOf(node, value));
          else if (value !== this.#native) await steps.replace(node, resultsOf(node, value));
        } else if (!this.#ran) {
          await this.#step();
        }
      }
    } finally {
      this.#steps = undefined;
      steps.end();
    }
  }

  async #step() {
    if (!this.#steps || this.#ran) throw new RushlightError('bad-state', 'a node must run once, and inside run()');
    this.#ran = true;
    const { results, ms } = await this.#steps.step();
    this.ms = ms;
    return results;
  }

  /**
   * Runs a node and returns its value: null if it has none, an array if it has several.
   * @param {Node} node
   * @returns {Promise<NodeValue>}
   */
  async runNode(node) {
    if (node.op === 'placeholder')
      return this.placeholder(node.target, /** @type {InputValue} */ (this.#inputs[node.target]));
    if (node.op === 'call_function') {
      // Arguments are copied only if a subclass may read them.
      const looks = this.callFunction !== Interpreter.prototype.callFunction;
      this.#args = (looks && (await this.#steps?.next())?.args?.map((v, i) => packed(v, node, i))) || null;
      return this.callFunction(node.target, this.#args ? [...this.#args] : []);
    }
    await this.#step();
    return node.op === 'output' ? this.output((await this.#steps?.results()) ?? {}) : null;
  }

  /**
   * Returns the value of an input.
   * @param {string} target its name
   * @param {InputValue} value the value that run() received
   * @returns {Promise<NodeValue>}
   */
  async placeholder(target, value) {
    return value;
  }

  /**
   * Runs the operator with its own arguments. For other arguments, compute the result yourself.
   * @param {string} target "aten::add.Tensor"
   * @param {NodeValue[]} args the arguments in the schema's order, with defaults. A packed weight or bias has its
   *   dtype and shape, but reading its `data` throws
   * @returns {Promise<NodeValue>}
   */
  async callFunction(target, args) {
    const own = this.#args;
    if (target !== this.node?.target || (own && (args.length !== own.length || args.some((a, i) => a !== own[i])))) {
      throw new RushlightError(
        'unsupported',
        `${this.node?.target} must run with its own arguments; to compute something else, return your own result`,
        { op: this.node?.target },
      );
    }
    const results = await this.#step();
    return (this.#native = results.length > 1 ? results : (results[0] ?? null));
  }

  /** Returns the result of run(). @param {Record<string, NodeValue>} results by name @returns {Promise<NodeValue>} */
  async output(results) {
    return results;
  }
}

/** @param {unknown} value @param {Port} port */
function asTensor(value, port) {
  try {
    return toTensor(value, port, `input "${port.name}"`);
  } catch (e) {
    throw named(e, port.name);
  }
}

/**
 * Returns an argument. If loading packed it for the kernels, reading its `data` throws an error that says so.
 * @param {StepValue} v
 * @param {Node} node
 * @param {number} i
 * @returns {StepValue}
 */
function packed(v, node, i) {
  if (/** @type {Tensor | PackedTensor | null} */ (v)?.data !== null) return v;
  const { tensor } = /** @type {{ tensor?: string }} */ (node.args[i]);
  return {
    dtype: /** @type {PackedTensor} */ (v).dtype,
    shape: /** @type {PackedTensor} */ (v).shape,
    /** @returns {never} */
    get data() {
      throw new RushlightError(
        'unsupported',
        `the elements of argument ${i} of ${node.target}${tensor ? `, "${tensor}",` : ''} cannot be read, as ` +
          'loading packed them for the kernels. Its dtype and shape can be read, and super.callFunction() runs with it',
        { op: node.target },
      );
    },
  };
}

/** @param {Node} node @param {NodeValue} value @returns {InputValue[]} */
function resultsOf(node, value) {
  const n = node.outputs.length;
  if (n > 1 && !Array.isArray(value))
    throw badArgument(`the results of ${node.target} must be an array of ${n}, got ${describeValue(value)}`, {
      op: node.target,
    });
  return n > 1 ? value : n ? [value] : [];
}

/**
 * Returns the tensors in a value without their data, for a dict as a Map; null if there are none.
 * @param {NodeValue} v
 * @returns {import('./graph.js').ValueMeta | null}
 */
function shapes(v) {
  if (v?.data && v.shape) {
    const { data, ...rest } = v;
    return rest;
  }
  if (Array.isArray(v)) return v.some((item) => shapes(item)) ? v.map(shapes) : null;
  if (!(v instanceof Map)) return null;
  const found = new Map(
    [...v].flatMap(([key, item]) => {
      const s = shapes(item);
      return s ? [[key, s]] : [];
    }),
  );
  return found.size ? found : null;
}

/**
 * Writes dtype and shape of each node's value to `node.meta.tensor`, with scale and zero point if it is quantized
 * (QuantizedTensor). In a loop, these are the values of the last iteration.
 */
export class ShapeProp extends Interpreter {
  /** Records the value's dtype and shape. @override @param {Node} node */
  async runNode(node) {
    const value = await super.runNode(node);
    const found = shapes(node.op === 'output' ? Object.values(value) : value);
    if (found) node.meta.tensor = found;
    return value;
  }
}

/** Counts calls and time of each operator in `node.meta.calls` and `node.meta.ms`, over all its runs. */
export class Profiler extends Interpreter {
  /** Calls and milliseconds of each operator. @type {Map<Node, Time>} */ times = new Map();

  /** Records the time. @override @param {Node} node */
  async runNode(node) {
    const value = await super.runNode(node);
    if (node.op === 'call_function') {
      const time = this.times.get(node) ?? { calls: 0, ms: 0 };
      this.times.set(node, { calls: time.calls + 1, ms: time.ms + this.ms });
      Object.assign(node.meta, this.times.get(node));
    }
    return value;
  }

  /** Returns a table of the times, the longest first. */
  summary() {
    const all = [...this.times.values()].reduce((sum, t) => sum + t.ms, 0);
    const rows = [...this.times].sort(([, a], [, b]) => b.ms - a.ms);
    return table(
      ['name', 'target', 'calls', 'ms', '%', 'source'],
      rows.map(([n, t]) => [
        n.name,
        n.target,
        String(t.calls),
        t.ms.toFixed(3),
        ((100 * t.ms) / (all || 1)).toFixed(1),
        n.source,
      ]),
    );
  }
}

/** @param {string[]} head @param {string[][]} rows */
function table(head, rows) {
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map((r) => r[i]?.length ?? 0)));
  const line = (/** @type {string[]} */ cells) =>
    cells
      .map((c, i) => c.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((w) => '-'.repeat(w))), ...rows.map(line)].join('\n');
}

/** @param {NodeValue} v @returns {string} */
function cell(v) {
  if (v === undefined || v === null) return '';
  if (v instanceof Node || v instanceof Item) return v.name;
  if (v instanceof Set) return cell([...v]);
  if (Array.isArray(v)) return `(${v.map(cell).join(', ')})`;
  if (v.shape) return `${v.tensor ?? v.dtype}[${v.shape.join(', ')}]`;
  if (v instanceof Map) return `{${[...v].map(([key, item]) => `${key}: ${cell(item)}`).join(', ')}}`;
  return typeof v === 'number' && !Number.isInteger(v) ? String(Number(v.toPrecision(6))) : String(v);
}

/**
 * Returns the nodes as a table.
 * @param {Graph} graph
 * @param {string[]} [columns] fields of Node ("op", "name", "target", "args", "users", "inputs", "source", "module")
 *   and of `node.meta` ("tensor", "ms")
 */
export function tabular(graph, columns = ['op', 'name', 'target', 'args', 'source']) {
  if (!Array.isArray(graph?.nodes))
    throw badArgument(`tabular: the graph must be one of model.graphs, got ${describeValue(graph)}`);
  if (!Array.isArray(columns) || !columns.every((c) => typeof c === 'string'))
    throw badArgument(`tabular: columns must be an array of names, got ${describeValue(columns)}`);
  const known = (/** @type {Node} */ n) =>
    /** @type {Record<string, unknown>} */ ({
      ...n.meta,
      op: n.op,
      name: n.name,
      target: n.target,
      args: n.args,
      users: n.users,
      inputs: n.inputs,
      source: n.source,
      module: n.module,
      type: n.outputs.map((o) => o.type),
    });
  return table(
    columns,
    graph.nodes.map((n) => columns.map((c) => cell(known(n)[c]))),
  );
}

/** Prints `tabular` to the console. @param {Graph} graph @param {string[]} [columns] */
export function printTabular(graph, columns) {
  console.log(tabular(graph, columns));
}
