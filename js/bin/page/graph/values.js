// Reads the values of a run at one node.

/**
 * @typedef {import('../../../src/api/model.js').Model} Model
 * @typedef {import('../../../src/api/graph.js').Node} Node
 * @typedef {import('../../../src/base/types.js').InputValue} InputValue
 * @typedef {import('../../../src/base/types.js').StepValue} StepValue
 */

/**
 * Runs the method until the node has run for the first time.
 * @param {Model} model
 * @param {{ method: string, inputs: Record<string, InputValue> }} run
 * @param {Node} node an operator
 * @param {() => boolean} wanted whether anybody still waits for the values
 * @returns {Promise<StepValue[] | undefined>} the results; undefined if this run does not reach the node
 */
export async function valuesAt(model, { method, inputs }, node, wanted) {
  const steps = await model.steps(inputs, { method });
  try {
    while (wanted()) {
      const { node: next } = await steps.next({ args: false });
      const { results } = await steps.step();
      if (next === node) return results;
      if (next.op === 'output') break;
    }
    return undefined;
  } finally {
    steps.end();
  }
}
