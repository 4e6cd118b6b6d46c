// A run that goes on instruction by instruction: what model.steps() gives.

import { asked, checkOptions } from './errors.js';
import { misfit } from './values.js';

/**
 * @typedef {import('./graph.js').Graph} Graph
 * @typedef {import('./host.js').Host} Host
 * @typedef {import('./types.js').InputValue} InputValue
 * @typedef {import('./types.js').Value} Value
 *
 * @typedef {object} NextStep what the next step will run
 * @property {import('./graph.js').Node} node the node that is next
 * @property {any[] | null} args of an operator, complete, in the schema's order; null where they were not read. A weight or bias
 *   that loading packed for the kernels has its dtype and shape, but null for `data`; quantized tensors are QuantizedTensors
 *
 * @typedef {object} StepResult what one step gave
 * @property {(Value | import('./types.js').QuantizedTensor)[]} results of an operator; none for control flow
 * @property {number} ms how long it took
 */

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
  next(options = {}) {
    return asked(async () => {
      checkOptions('next', options, ['args']);
      const { args = true } = options;
      const next = await this.#host.trial('next', args);
      const inputs = this.graph.nodes.findIndex((n) => n.op !== 'placeholder');
      return { node: /** @type {import('./graph.js').Node} */ (this.graph.nodes[inputs + next.instr]), args: next.args };
    });
  }

  /** Runs that node. @returns {Promise<StepResult>} */
  step() { return asked(() => this.#host.trial('step')); }

  /** Goes past an operator with these results, without running it. @param {import('./graph.js').Node} node @param {InputValue[]} results */
  provide(node, results) { return asked(() => this.#put('provide', node, results)); }

  /** Gives the operator that has just run other results. @param {import('./graph.js').Node} node @param {InputValue[]} results */
  replace(node, results) { return asked(() => this.#put('replace', node, results)); }

  /** @param {'provide' | 'replace'} how @param {import('./graph.js').Node} node @param {InputValue[]} results */
  #put(how, node, results) {
    if (!Array.isArray(node?.outputs)) misfit(`${how}: the node`, 'the one that next() gave', node);
    const types = node.outputs.map((o) => o.type);
    if (!Array.isArray(results) || results.length !== types.length) misfit(`${how}: the results`, `an array of ${types.length}`, results);
    return this.#host.trial('put', how, results, types);
  }

  /** After the node `output`: the results by name. @returns {Promise<Record<string, any>>} */
  results() { return asked(() => this.#host.trial('result')); }

  /** Gives up what is left, and lets other calls of the model go on. */
  end() { this.#done(); }
}
