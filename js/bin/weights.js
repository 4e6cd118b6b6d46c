// Finds the parameters of a file and their submodules, for `inspect` and the page of `serve`.

import { DTYPES, partsOf } from '../src/base/types.js';

/**
 * @typedef {import('../src/api/graph.js').Graph} Graph
 * @typedef {import('../src/api/graph.js').Node} Node
 * @typedef {import('../src/api/graph.js').Weight} Constant
 *
 * @typedef {object} Weight a tensor of the file that the program uses
 * @property {string} layer its submodule by its name, or else the submodule of the first operator that uses it; "" if
 *   the file does not name it
 * @property {string} name its name in that submodule, such as "weight"; "" if it has none
 * @property {string} dtype as it is stored
 * @property {number[]} shape as it is stored
 * @property {number} bytes as it is stored
 * @property {number} parameters its number of elements, also if they are packed; 0 for scales, zero points, tables,
 *   integers that are not weights, and tensors that the program writes
 * @property {Node | undefined} node the first node that uses it; undefined for an attribute that is written
 */

/** Arguments of an operator that are scales or zero points. @type {Record<string, number[]>} */
const QUANTIZATION_ARGUMENTS = {
  'rush::linear_int8': [2],
  'rush::linear_dynamic': [2, 3],
  'rush::linear_weights': [2, 3],
  'rush::quantized_conv': [2, 3],
  'rush::quantized_by_table': [1],
  'rush::lstm_dynamic': [4, 5],
  'rush::gru_dynamic': [4, 5],
  'aten::quantize_per_tensor.tensor_qparams': [1, 2],
  'aten::quantize_per_channel': [1, 2],
};

/** @typedef {{ shape: [number, number] }} Table */
/** @typedef {[Table, Table, number, number, number, number, number]} PackedArguments */

/**
 * The argument that is a weight with packed rows, and its number of elements.
 * @type {Record<string, [number, (args: PackedArguments) => number]>}
 */
const PACKED = {
  'rush::linear_weights': [1, ([, { shape }, , , , , columns]) => shape[0] * columns],
  // A row ends with its scale and bias.
  'rush::embedding_rows': [0, ([{ shape }, , , , , bits]) => shape[0] * (shape[1] - (bits === 8 ? 8 : 4)) * (8 / bits)],
};

/** Endings of the names of scales and zero points. */
const QUANTIZATION_SUFFIX = /\.(?:scales|zero_points)$/;

/** The exporter's names for constants without a name in PyTorch. */
const UNNAMED_CONSTANT = /^constant\.\d+$/;

/** @param {readonly number[]} shape */
const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** Returns the size of an element, for quantized ones that of their integers. @param {string} dtype */
function width(dtype) {
  const name = /** @type {import('../src/base/types.js').DType} */ (dtype.replace(/^q(u?)int/, '$1int'));
  return Object.hasOwn(DTYPES, name) ? DTYPES[name].Array.BYTES_PER_ELEMENT * partsOf(name) : 0;
}

/** @param {Node} node @param {number} i which argument @param {Constant} constant */
function parametersOf({ target, args }, i, { tensor, dtype, shape }) {
  if (
    QUANTIZATION_ARGUMENTS[target]?.includes(i) ||
    QUANTIZATION_SUFFIX.test(tensor) ||
    /^(?:u?int(?:16|32|64)|bool)$/.test(dtype)
  )
    return 0;
  const [at, count] = PACKED[target] ?? [];
  return count && i === at ? count(/** @type {PackedArguments} */ (/** @type {unknown} */ (args))) : product(shape);
}

/** Returns the tensors in an argument. @param {unknown} arg @returns {Constant[]} */
function constants(arg) {
  if (Array.isArray(arg)) return arg.flatMap(constants);
  if (arg instanceof Map) return [...arg.values()].flatMap(constants);
  return typeof (/** @type {Constant | null} */ (arg)?.tensor) === 'string' && /** @type {Constant} */ (arg).shape
    ? [/** @type {Constant} */ (arg)]
    : [];
}

/**
 * Returns each weight once, in the order of use. Tensors that no operator uses are last: the program writes them.
 * @param {readonly Graph[]} graphs of all methods
 * @param {readonly import('../src/engine/engine.js').WeightInfo[]} known of the file's description
 * @returns {Weight[]}
 */
export function weightsOf(graphs, known) {
  /** @type {Map<string | Constant, Weight>} */ const found = new Map();
  for (const node of graphs.flatMap((graph) => graph.nodes)) {
    node.args.forEach((arg, i) =>
      constants(arg).forEach((constant) => {
        const { tensor, dtype, shape } = constant,
          key = tensor || constant;
        if (found.has(key)) return;
        const named = tensor && !UNNAMED_CONSTANT.test(tensor),
          point = tensor.replace(QUANTIZATION_SUFFIX, '').lastIndexOf('.');
        found.set(key, {
          layer: named ? tensor.slice(0, Math.max(point, 0)) : node.module,
          name: named ? tensor.slice(point + 1) : '',
          dtype,
          shape,
          bytes: product(shape) * width(dtype),
          parameters: parametersOf(node, i, constant),
          node,
        });
      }),
    );
  }
  for (const { name, dtype, shape, bytes, used } of known) {
    if (!used || !name || found.has(name)) continue;
    const point = name.lastIndexOf('.');
    found.set(name, {
      layer: name.slice(0, Math.max(point, 0)),
      name: name.slice(point + 1),
      dtype,
      shape,
      bytes,
      parameters: 0,
      node: undefined,
    });
  }
  return [...found.values()];
}
