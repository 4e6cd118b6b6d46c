// What each step of a run gives, how many parameters it has, and how long it takes: for `inspect --run` and the page of `serve`.

import { ShapeProp } from '../src/fx.js';

/**
 * @typedef {import('../src/model.js').Model} Model
 * @typedef {import('../src/types.js').InputValue} InputValue
 *
 * @typedef {object} Layer an operator of the program, in the program's order
 * @property {string} layer the submodule that it comes from, "" where the file does not say
 * @property {string} op "aten::add.Tensor"
 * @property {string} name of its first result
 * @property {string[]} outputs dtype and shape of each tensor, "float32 [1, 8, 5, 5]"; of quantised ones what their
 *   integers stand for: "quint8 [1, 8, 5, 5] (scale 0.0235, zero point 128)"; of a loop's last round
 * @property {number} parameters of the weights that it takes; those that an earlier one takes are counted there
 * @property {number} calls in one run
 * @property {number} ms of one run, all its calls
 * @property {number} share of all the operators' time
 * @property {string} source "model.py:12", or ""
 */

/**
 * Runs the model once to see the shapes and `runs` times for the time.
 * @param {Model} model @param {Record<string, InputValue>} inputs @param {{ method?: string, runs?: number }} [options]
 * @returns {Promise<Layer[]>}
 */
export async function layersOf(model, inputs, { method, runs = 5 } = {}) {
  const of = method === undefined ? {} : { method };
  const seen = new ShapeProp(model, of);
  await seen.run(inputs);
  const steps = seen.graph.nodes.filter((n) => n.op !== 'placeholder'); // one for each instruction
  const rows = (await model.profile(inputs, { ...of, runs })).filter((row) => row.method === seen.method);
  const all = rows.reduce((sum, row) => sum + row.ms, 0) || 1;
  const counted = new Set();
  return steps.flatMap((node, instr) => {
    if (node.op !== 'call_function') return [];
    const { calls = 0, ms = 0 } = rows.find((row) => row.instr === instr) ?? {};
    return [{
      layer: node.module, op: node.target, name: node.name, outputs: texts(node.meta.tensor), parameters: parameters(node.args, counted),
      calls: calls / runs, ms: ms / runs, share: ms / all, source: node.source,
    }];
  });
}

/** @param {any} found what ShapeProp leaves @returns {string[]} */
function texts(found) {
  if (!found) return [];
  if (found instanceof Map) return [...found.values()].flatMap(texts);
  return Array.isArray(found) ? found.flatMap(texts) : [`${found.dtype} [${found.shape.join(', ')}]${quantised(found)}`];
}

/** @param {import('../src/types.js').QuantizedTensor} found */
function quantised({ scale, zeroPoint, scales, axis }) {
  if (scale !== undefined) return ` (scale ${Number(scale.toPrecision(4))}, zero point ${zeroPoint})`;
  return scales ? ` (${scales.length} scales along dimension ${axis})` : '';
}

/** @param {readonly any[]} args @param {Set<string>} counted @returns {number} */
function parameters(args, counted) {
  let sum = 0;
  for (const arg of args) {
    if (Array.isArray(arg)) sum += parameters(arg, counted);
    if (typeof arg?.tensor !== 'string' || !arg.shape || (arg.tensor && counted.has(arg.tensor))) continue;
    counted.add(arg.tensor);
    sum += arg.shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  }
  return sum;
}
