// Measures each operator of a run: its results, its parameters and its time. `inspect --run` and the page of `serve`
// show them.

import { ShapeProp } from '../src/api/fx.js';
import { weightsOf } from './weights.js';

/**
 * @typedef {import('../src/api/model.js').Model} Model
 * @typedef {import('../src/base/types.js').InputValue} InputValue
 * @typedef {import('../src/api/graph.js').ValueMeta} ValueMeta
 *
 * @typedef {object} Layer an operator of the program, in the program's order
 * @property {string} layer its submodule; "" if the file does not name it
 * @property {string} op "aten::add.Tensor"
 * @property {string} name of its first result
 * @property {string[]} outputs dtype and shape of each tensor, "float32 [1, 8, 5, 5]", in the last iteration of a loop.
 *   Quantized tensors also have their scale: "quint8 [1, 8, 5, 5] (scale 0.0235, zero point 128)"
 * @property {number} parameters the parameters of its weights, as PyTorch counts them. Weights of an earlier operator
 *   are counted there
 * @property {number} bytes the stored size of these weights, with their scales and zero points
 * @property {number} calls the number of calls in one run
 * @property {number} firstMs the time of all its calls in the first run
 * @property {number} ms the median time of the later runs
 * @property {number} share its share of the time of all operators, by these medians
 * @property {string} source "model.py:12", or ""
 */

/**
 * Runs the model once, then once to see the shapes, and then `runs` times to measure the time.
 * @param {Model} model @param {Record<string, InputValue>} inputs @param {{ method?: string, runs?: number }} [options]
 * @returns {Promise<Layer[]>}
 */
export async function layersOf(model, inputs, { method, runs = 5 } = {}) {
  const of = method === undefined ? {} : { method };
  const timed = async () =>
    new Map(
      (await model.profile(inputs, of)).filter((row) => row.method === seen.method).map((row) => [row.instr, row]),
    );
  const seen = new ShapeProp(model, of),
    first = await timed(),
    warm = /** @type {(typeof first)[]} */ ([]);
  await seen.run(inputs);
  for (let i = 0; i < runs; i++) warm.push(await timed());
  /** @type {Map<unknown, { parameters: number, bytes: number }>} */ const taken = new Map();
  for (const { node, parameters, bytes } of weightsOf([seen.graph], [])) {
    const sum = taken.get(node) ?? { parameters: 0, bytes: 0 };
    taken.set(node, { parameters: sum.parameters + parameters, bytes: sum.bytes + bytes });
  }
  const steps = seen.graph.nodes.filter((n) => n.op !== 'placeholder'); // one for each instruction
  const layers = steps.flatMap((node, instr) =>
    node.op !== 'call_function'
      ? []
      : [
          {
            layer: node.module,
            op: node.target,
            name: node.name,
            outputs: texts(node.meta.tensor),
            ...(taken.get(node) ?? { parameters: 0, bytes: 0 }),
            calls: warm[0]?.get(instr)?.calls ?? 0,
            firstMs: first.get(instr)?.ms ?? 0,
            ms: median(warm.map((run) => run.get(instr)?.ms ?? 0)),
            share: 0,
            source: node.source,
          },
        ],
  );
  const all = layers.reduce((sum, { ms }) => sum + ms, 0) || 1;
  return layers.map((layer) => ({ ...layer, share: layer.ms / all }));
}

/** @param {number[]} numbers */
const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

/** @param {ValueMeta | null | undefined} found the shapes that ShapeProp has stored @returns {string[]} */
function texts(found) {
  if (!found) return [];
  if (found instanceof Map) return /** @type {ValueMeta[]} */ ([...found.values()]).flatMap(texts);
  return Array.isArray(found)
    ? /** @type {ValueMeta[]} */ (found).flatMap(texts)
    : [`${found.dtype} [${found.shape.join(', ')}]${quantized(found)}`];
}

/** @param {Partial<Omit<import('../src/base/types.js').QuantizedTensor, 'dtype'>>} found */
function quantized({ scale, zeroPoint, scales, axis }) {
  if (scale !== undefined) return ` (scale ${Number(scale.toPrecision(4))}, zero point ${zeroPoint})`;
  return scales ? ` (${scales.length} scales along dimension ${axis})` : '';
}
