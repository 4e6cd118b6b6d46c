// A run that advances instruction by instruction, and nodes of the graph by their instruction. Imported when needed.

import { withCallerStack, checkOptions } from '../base/errors.js';
import { throwMismatch } from '../engine/values.js';

/**
 * @typedef {import('./graph.js').Graph} Graph
 * @typedef {import('../engine/host.js').Diagnostics} Diagnostics
 * @typedef {import('../base/types.js').InputValue} InputValue
 * @typedef {import('../base/types.js').Value} Value
 *
 * @typedef {object} NextStep what the next step will run
 * @property {import('./graph.js').Node} node the node that is next
 * @property {any[] | null} args of an operator, complete, in the schema's order; null where they were not read. A
 *   weight or bias
 *   that loading packed for the kernels has its dtype and shape, but null for `data`; quantized tensors are
 *   QuantizedTensors
 *
 * @typedef {object} StepResult what one step gave
 * @property {(Value | import('../base/types.js').QuantizedTensor)[]} results of an operator; none for control flow
 * @property {number} ms how long it took
 */

/** The node of an instruction. @param {Graph} graph @param {number} instr */
const nodeOf = ({ nodes }, instr) =>
  /** @type {import('./graph.js').Node} */ (nodes[nodes.findIndex((n) => n.op !== 'placeholder') + instr]);

/**
 * Where a run diverges from PyTorch's.
 * @param {Record<string, Graph>} graphs in the order of the methods
 * @param {import('../engine/host.js').FirstDifference} first
 * @returns {import('./model.js').Divergence}
 */
export function divergence(graphs, { method, instr, ...where }) {
  return { node: nodeOf(/** @type {Graph} */ (Object.values(graphs)[method]), instr), ...where };
}

/** A run at one of its instructions. Made by `model.steps()`. @hideconstructor */
export class Steps {
  #diagnostics;
  #done;

  /** @param {Diagnostics} diagnostics @param {Graph} graph @param {() => void} done */
  constructor(diagnostics, graph, done) {
    this.#diagnostics = diagnostics;
    this.#done = done;
    /** Of the method that runs. */
    this.graph = graph;
  }

  /**
   * The node that is next, and copies of its arguments: complete, in the schema's order.
   * @param {{ args?: boolean }} [options] without args they are not read
   * @returns {Promise<NextStep>}
   */
  next(options = {}) {
    return withCallerStack(async () => {
      checkOptions('next', options, ['args']);
      const { args = true } = options;
      const next = await this.#diagnostics.next(args);
      return { node: nodeOf(this.graph, next.instr), args: next.args };
    });
  }

  /** Runs that node. @returns {Promise<StepResult>} */
  step() {
    return withCallerStack(() => this.#diagnostics.step());
  }

  /**
   * Goes past an operator with these results, without running it.
   * @param {import('./graph.js').Node} node
   * @param {InputValue[]} results
   */
  provide(node, results) {
    return withCallerStack(() => this.#put('provide', node, results));
  }

  /**
   * Gives the operator that has just run other results.
   * @param {import('./graph.js').Node} node
   * @param {InputValue[]} results
   */
  replace(node, results) {
    return withCallerStack(() => this.#put('replace', node, results));
  }

  /** @param {'provide' | 'replace'} how @param {import('./graph.js').Node} node @param {InputValue[]} results */
  #put(how, node, results) {
    if (!Array.isArray(node?.outputs)) throwMismatch(`${how}: the node`, 'the one that next() gave', node);
    const types = node.outputs.map((o) => o.type);
    if (!Array.isArray(results) || results.length !== types.length)
      throwMismatch(`${how}: the results`, `an array of ${types.length}`, results);
    return this.#diagnostics.put(how, results, types);
  }

  /** After the node `output`: the results by name. @returns {Promise<Record<string, any>>} */
  results() {
    return withCallerStack(() => this.#diagnostics.result());
  }

  /** Gives up what is left, and lets other calls of the model go on. */
  end() {
    this.#done();
  }
}
