// Finds items of the graph by words.

import { titleOf } from './labels.js';

/**
 * @typedef {import('./tree.js').Item} Item
 * @typedef {import('./labels.js').Facts} Facts
 */

/**
 * Returns the items that have every word in their names: operator, module, results, weights or source.
 * @param {Iterable<Item>} items
 * @param {string} text
 * @param {Facts} facts
 * @returns {Item[]}
 */
export function matchesOf(items, text, facts) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return [...items].filter((item) => {
    if (!item.parent) return false;
    const all = namesOf(item, facts).join(' ').toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** @param {Item} item @param {Facts} facts */
function namesOf(item, facts) {
  if (item.children) return [titleOf(item, facts), item.path];
  const { node } = item;
  return [
    titleOf(item, facts),
    node.target,
    node.module,
    node.source,
    ...node.outputs.map(({ name }) => name),
    ...(facts.weights.get(node) ?? []).map(({ layer, name }) => `${layer}.${name}`),
  ];
}
