// The texts and kinds of the items of a graph.

import { counted } from '../../units.js';
import { moduleAt } from './classes.js';
import { nodesOf } from './tree.js';

/**
 * @typedef {import('./tree.js').Item} Item
 * @typedef {import('../../../src/api/graph.js').Node} Node
 * @typedef {import('../../../src/api/graph.js').ValueMeta} ValueMeta
 * @typedef {import('../../layers.js').Layer} Layer
 * @typedef {import('../../weights.js').Weight} Weight
 *
 * @typedef {object} Facts weights and times of the nodes
 * @property {Map<Node, Weight[]>} weights
 * @property {Map<string, Layer>} layers the measured operators, by the name of their first result
 * @property {Map<Node, string>} ports the names of inputs
 * @property {Map<string, string>} classes of the modules, by the full path
 */

/** Operators by their kind, which has a color. @type {[string, RegExp][]} */
const KINDS = [
  ['control', /^prim::(?:If|Loop)$/],
  ['activation', /relu|sigmoid|tanh|softmax|gelu|silu|hardswish|hardsigmoid|elu|mish|softplus/i],
  ['norm', /norm|dropout/],
  ['pool', /pool|mean|sum|max|min|argmax|topk/],
  ['shape', /view|reshape|flatten|permute|transpose|::t$|slice|select|cat|stack|expand|squeeze|pad|chunk|split|narrow/],
  ['shape', /size|contiguous|Construct|Unpack|getitem/],
];

/** Returns the name of an operator without namespace and overload. @param {Node} node */
export const operatorOf = ({ target }) => target.replace(/^\w+::/, '').replace(/\.\w+$/, '');

/** @param {Node} node @param {Facts} facts */
export function kindOf(node, facts) {
  if (node.op === 'placeholder' || node.op === 'output' || node.op === 'yield') return 'end';
  if (facts.weights.has(node)) return 'layer';
  return KINDS.find(([, pattern]) => pattern.test(node.target))?.[0] ?? 'other';
}

/** Returns the first text of an item. @param {Item} item @param {Facts} facts */
export function titleOf(item, facts) {
  const { node, label } = item;
  if (item.children) return node ? [item.label, node.module].filter(Boolean).join(' in ') : label || 'model';
  if (item.node.op === 'placeholder') return facts.ports.get(item.node) ?? item.node.name;
  if (item.node.op === 'yield') return item.node.parent?.op === 'loop' ? 'next iteration' : 'result';
  return item.node.op === 'output' ? 'output' : operatorOf(item.node);
}

/**
 * "1×3×224×224" of each tensor that a node gives; "" if it is unknown.
 * @param {ValueMeta | null | undefined} found
 * @returns {string}
 */
export function shapesOf(found) {
  if (!found) return '';
  if (found instanceof Map) return shapesOf([...found.values()]);
  if (Array.isArray(found))
    return found
      .map((item) => shapesOf(/** @type {ValueMeta} */ (item)))
      .filter(Boolean)
      .join(', ');
  const { shape } = /** @type {{ shape: number[] }} */ (found);
  return shape.join('×') || 'scalar';
}

/**
 * Returns the time of all operators of an item, in ms; undefined before a run.
 * @param {Item} item
 * @param {Facts} facts
 */
export function timeOf(item, { layers }) {
  if (!layers.size) return undefined;
  return nodesOf(item).reduce((sum, node) => sum + (layers.get(node.name)?.ms ?? 0), 0);
}

/** @param {Item} item @param {Facts} facts */
export const parametersOf = (item, { weights }) =>
  nodesOf(item).reduce((sum, node) => sum + (weights.get(node) ?? []).reduce((n, w) => n + w.parameters, 0), 0);

/** Returns the class of a module, or undefined if it is not in the file. @param {string} path @param {Facts} facts */
export const classOf = (path, { classes }) => (path ? classes.get(moduleAt(classes.keys(), path) ?? '') : undefined);

/** @param {number} ms */
export const shownTime = (ms) => `${ms < 0.0995 ? ms.toFixed(3) : ms < 9.95 ? ms.toFixed(2) : ms.toFixed(1)} ms`;

/**
 * Returns the lines below the title of a step or of a closed group.
 * @param {Item} item
 * @param {Facts} facts
 */
export function linesOf(item, facts) {
  const ms = timeOf(item, facts),
    time = ms ? shownTime(ms) : '';
  if (item.children) {
    const parameters = parametersOf(item, facts);
    return [
      item.node ? '' : (classOf(item.path, facts) ?? ''),
      counted(nodesOf(item).filter(({ op }) => op === 'call_function').length, 'operator'),
      [parameters ? counted(parameters, 'parameter') : '', time].filter(Boolean).join(' · '),
    ].filter(Boolean);
  }
  const weights = (facts.weights.get(item.node) ?? []).filter(({ parameters }) => parameters);
  return [
    item.label,
    weights.map(({ name, shape }) => `${name || 'constant'} ${shape.join('×')}`).join(', '),
    [shapesOf(item.node.meta.tensor), time].filter(Boolean).join(' · '),
  ].filter(Boolean);
}
