// Compares runs of the test vectors with PyTorch's answers, and each operator with the trace of PyTorch's run.

import { counted } from '../../units.js';

/** @typedef {import('../../../src/api/model.js').Model} Model */

/**
 * @param {Model} model
 * @returns {Promise<{ text: string, differs?: import('../../../src/api/graph.js').Node }>} differs: the first node
 *   whose value differs
 */
export async function comparison(model) {
  const { tests } = await model.verify();
  if (!tests.length) return { text: 'The file has no test vectors to compare with.' };
  const failed = tests.find(({ passed }) => !passed);
  const most = Math.max(...tests.map(({ maxAbs }) => maxAbs));
  const text = failed
    ? `Test vector ${failed.index} differs from PyTorch's answer: ${failed.message}`
    : `${counted(tests.length, 'test vector')} ${tests.length === 1 ? 'agrees' : 'agree'} with PyTorch's, ` +
      `max abs ${most.toExponential(2)}.`;
  return withTrace(model, text);
}

/** @param {Model} model @param {string} text */
async function withTrace(model, text) {
  let report;
  try {
    report = await model.diff();
  } catch (e) {
    // The file has no trace.
    if (/** @type {{ code?: string }} */ (e).code !== 'bad-argument') throw e;
    return { text: `${text} The file has no trace of each operator, which rushlight export --trace writes.` };
  }
  const { compared, first } = report;
  if (first) return { text: `${text} ${first.message}`, differs: first.node };
  return { text: `${text} ${counted(compared, 'value')} of its trace ${compared === 1 ? 'agrees' : 'agree'}, too.` };
}
