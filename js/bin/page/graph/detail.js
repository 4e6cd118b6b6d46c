// Shows the details of one item of the graph: its Python line, its weights, and its values in the last run.

import { Item as Result, Node } from '../../../src/api/graph.js';
import { counted } from '../../units.js';
import { make } from '../dom.js';
import { showOutput } from '../outputs.js';
import { moduleAt } from './classes.js';
import { nodesOf } from './tree.js';
import { classOf, operatorOf, parametersOf, shapesOf, shownTime, timeOf, titleOf } from './labels.js';

/**
 * @typedef {import('./tree.js').Item} Item
 * @typedef {import('./labels.js').Facts} Facts
 * @typedef {import('../../../src/api/model.js').Model} Model
 * @typedef {import('../../../src/api/graph.js').Argument} Argument
 * @typedef {import('../../../src/api/graph.js').Weight} Weight
 */

const HEADING = 'h4';

/**
 * Makes the facts of an item. Buttons lead to the nodes that it reads and to those that read it.
 * @param {Item} item
 * @param {Facts} facts
 * @param {Model} model
 * @param {(node: Node) => void} go
 * @returns {HTMLElement[]}
 */
export function detailOf(item, facts, model, go) {
  const { node } = item,
    ms = timeOf(item, facts);
  const rows = item.children
    ? [
        ['module', item.path],
        ['class', classOf(item.path, facts) ?? ''],
        ['operators', counted(nodesOf(item).filter(({ op }) => op === 'call_function').length, 'operator')],
      ]
    : [
        ['operator', item.node.op === 'call_function' ? item.node.target : ''],
        ['module', item.node.module],
        ['class', classOf(item.node.module, facts) ?? ''],
      ];
  rows.push(
    ['source', node?.source ?? ''],
    ['parameters', parametersOf(item, facts).toLocaleString('en')],
    ['time', ms === undefined ? '' : shownTime(ms)],
  );
  return [
    make('h3', {}, titleOf(item, facts)),
    table(rows.filter(([, value]) => value && value !== '0')),
    ...(node ? [...argumentsOf(node, go), ...resultsOf(node), ...usersOf(node, go)] : []),
    make('div', { className: 'values' }),
    make('div', { className: 'values' }),
    ...codeOf(item.children ? item.path : item.node.module, model),
  ];
}

/** @param {string[][]} rows */
const table = (rows) =>
  make(
    'dl',
    { className: 'facts' },
    ...rows.flatMap(([name = '', value = '']) => [make('dt', {}, name), make('dd', {}, value)]),
  );

/** @param {string} title @param {HTMLElement[]} items */
const list = (title, items) =>
  items.length
    ? [make(HEADING, {}, title), make('ul', { className: 'links' }, ...items.map((item) => make('li', {}, item)))]
    : [];

/** @param {Node} node @param {(node: Node) => void} go */
const link = (node, go) =>
  make(
    'button',
    { type: 'button', onclick: () => go(node) },
    `${node.op === 'call_function' ? operatorOf(node) : node.op} ${node.name} `,
    make('span', { className: 'quiet' }, shapesOf(node.meta.tensor)),
  );

/** @param {Node} node @param {(node: Node) => void} go */
const argumentsOf = (node, go) =>
  list(
    'Arguments',
    node.args.map((arg) => {
      const from = arg instanceof Result ? arg.node : arg;
      return from instanceof Node ? link(from, go) : make('span', {}, textOf(arg));
    }),
  );

/** @param {Node} node */
const resultsOf = ({ op, outputs, meta }) =>
  op === 'loop'
    ? []
    : list(
        'Results',
        outputs.map(({ name, type }) =>
          make('span', {}, `${name}: ${type} `, make('span', { className: 'quiet' }, shapesOf(meta.tensor))),
        ),
      );

/** @param {Node} node @param {(node: Node) => void} go */
const usersOf = (node, go) =>
  list(
    'Used by',
    [...node.users].map((user) => link(user, go)),
  );

/** @param {Argument} arg @returns {string} */
function textOf(arg) {
  const weight = /** @type {Partial<Weight> | null} */ (arg);
  if (weight?.shape) return `${weight.tensor || 'constant'} ${weight.dtype} [${weight.shape.join(', ')}]`;
  if (Array.isArray(arg)) return `[${arg.map((item) => textOf(/** @type {Argument} */ (item))).join(', ')}]`;
  if (arg instanceof Node || arg instanceof Result) return arg.name;
  if (arg instanceof Map)
    return `{${[...arg].map(([k, v]) => `${k}: ${textOf(/** @type {Argument} */ (v))}`).join(', ')}}`;
  return arg === null ? 'None' : typeof arg === 'object' ? JSON.stringify(arg) : String(arg);
}

/**
 * PyTorch's code of a module.
 * @param {string} path
 * @param {Model} model
 */
function codeOf(path, model) {
  const code = model.torch[moduleAt(Object.keys(model.torch), path) ?? '']?.code;
  return code
    ? [
        make(
          'details',
          {},
          make('summary', {}, `Code of ${path || 'the model'}`),
          make('pre', { className: 'scroll' }, code),
        ),
      ]
    : [];
}

/**
 * Shows the results of a node in a run.
 * @param {Node} node
 * @param {readonly unknown[]} results
 */
export const shownResults = (node, results) =>
  results.map((value, i) => showOutput(node.outputs[i]?.name ?? 'result', value, { heading: HEADING }));

/**
 * Shows the weights of a node as histograms.
 * @param {Node} node
 * @param {(name: string) => Promise<import('../../../src/base/types.js').Tensor | undefined>} read
 */
export async function shownWeights(node, read) {
  const weights = node.args.flatMap((arg) => /** @type {Partial<Weight> | null} */ (arg)?.tensor || []);
  const shown = await Promise.all(
    [...new Set(weights)].map(async (name) => {
      const tensor = await read(name);
      return tensor ? [showOutput(name, tensor, { heading: HEADING, first: 'histogram' })] : [];
    }),
  );
  return shown.some((cards) => cards.length) ? [make('h3', {}, 'Weights'), ...shown.flat()] : [];
}
