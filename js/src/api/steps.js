// A run that advances instruction by instruction, and nodes of the graph by their instruction. Imported when needed.

import { withCallerStack, checkOptions } from '../base/errors.js';
import { throwMismatch } from '../engine/values.js';

/**
 * @typedef {import('./graph.js').Graph} Graph
 * @typedef {import('../engine/host.js').Diagnostics} Diagnostics
 * @typedef {import('../base/types.js').InputValue} InputValue
 * @typedef {import('../base/types.js').Value} Value
 * @typedef {import('../base/types.js').StepValue} StepValue
 *
 * @typedef {object} NextStep the next step of a run
 * @property {import('./graph.js').Node} node the node that is next
 * @property {StepValue[] | null} args all arguments of an operator, in the schema's order; null if they were not read
 *
 * @typedef {object} StepResult the result of a step
 * @property {StepValue[]} results the results of an operator; empty for control flow
 * @property {number} ms its time
 */

/** Returns the node of an instruction. @param {Graph} graph @param {number} instr */
const nodeOf = ({ nodes }, instr) =>
  /** @type {import('./graph.js').Node} */ (nodes[nodes.findIndex((n) => n.op !== 'placeholder') + instr]);

/**
 * Returns where a run diverges from PyTorch's.
 * @param {Record<string, Graph>} graphs in the order of the methods
 * @param {import('../engine/host.js').FirstDifference} first
 * @returns {import('./model.js').Divergence}
 */
export function divergence(graphs, { method, instr, ...where }) {
  const node = nodeOf(/** @type {Graph} */ (Object.values(graphs)[method]), instr);
  return { node, ...where, source: where.source || node.source };
}

/** A run that is paused at an instruction. `model.steps()` makes it. @hideconstructor */
export class Steps {
  #diagnostics;
  #done;

  /** @param {Diagnostics} diagnostics @param {Graph} graph @param {() => void} done */
  constructor(diagnostics, graph, done) {
    this.#diagnostics = diagnostics;
    this.#done = done;
    /** The graph of the method that runs. */
    this.graph = graph;
  }

  /**
   * Returns the next node, and copies of all its arguments in the schema's order.
   * @param {{ args?: boolean }} [options] with false, the arguments are not read
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
   * Continues with these results instead of running the operator.
   * @param {import('./graph.js').Node} node
   * @param {InputValue[]} results
   */
  provide(node, results) {
    return withCallerStack(() => this.#put('provide', node, results));
  }

  /**
   * Replaces the results of the operator that has just run.
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

  /** Returns the results by name, after the node `output`. @returns {Promise<Record<string, Value>>} */
  results() {
    return withCallerStack(() => this.#diagnostics.result());
  }

  /** Ends the run, so that other calls of the model continue. */
  end() {
    this.#done();
  }
}
