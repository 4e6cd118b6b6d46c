// Arranges a graph by modules: each submodule, branch and loop is a group, which the page folds.
//
// The nodes of a group are adjacent in the program. Groups are therefore ordered as the program is, and folding them
// makes no cycle. A module that is called twice has two groups.

/**
 * @typedef {import('../../../src/api/graph.js').Node} Node
 * @typedef {import('../../../src/api/graph.js').Graph} Graph
 * @typedef {Group | Step} Item
 *
 * @typedef {object} Step a node of the graph
 * @property {string} id unique in the tree
 * @property {string} label the rest of its module's path, or ""
 * @property {Node} node
 * @property {Group} parent
 * @property {undefined} [children] a step has none
 *
 * @typedef {object} Group a module, a branch, a loop or a part of a long list
 * @property {string} id unique in the tree
 * @property {string} label such as "features.0"
 * @property {string} path of the module; "" for the whole model
 * @property {Group | null} parent
 * @property {Item[]} children in the order of the program
 * @property {Node | null} node the `if` or `loop` of which this is the group
 * @property {Line[]} lines the values that its children pass to each other
 *
 * @typedef {object} Line a value from one child of a group to another one
 * @property {Item | null} from null: the value comes from outside of the group
 * @property {Item | null} to null: the value leaves the group
 */

/** The runtime's mark before operators that it runs together. It has neither arguments nor results. */
const CHAIN = 'rush::chain';

/** TorchScript's text for a module that it cannot name. */
const UNKNOWN = 'UNKNOWN_INSTANCE';

/** Longer lists of children are divided. */
const MAX_CHILDREN = 80;

/**
 * Makes the groups of a graph.
 * @param {Graph} graph
 * @returns {{ root: Group, items: Map<string, Item>, itemOf: Map<Node, Item> }} itemOf: an `if` or `loop` is a group
 */
export function treeOf(graph) {
  /** @type {Map<Node | null, Node[][]>} */ const blocks = new Map();
  for (const node of graph.nodes) {
    const of = blocks.get(node.parent) ?? [];
    blocks.set(node.parent, of);
    (of[node.block] ??= []).push(node);
  }
  const root = groupOf('', '', null);
  fill(root, blocks.get(null)?.[0] ?? [], blocks);
  simplify(root);
  const items = new Map(),
    itemOf = new Map();
  number(root, items, itemOf);
  addLines(graph, itemOf);
  return { root, items, itemOf };
}

/**
 * @param {string} label
 * @param {string} path
 * @param {Group | null} parent
 * @param {Node | null} [node]
 * @returns {Group}
 */
const groupOf = (label, path, parent, node = null) => ({ id: '', label, path, parent, node, children: [], lines: [] });

/**
 * Puts the nodes of one block into groups below a group.
 * @param {Group} top
 * @param {Node[]} nodes
 * @param {Map<Node | null, Node[][]>} blocks
 */
function fill(top, nodes, blocks) {
  nodes = nodes.filter(({ target }) => target !== CHAIN);
  const paths = pathsOf(nodes, top.path);
  /** @type {Group[]} */ let open = [];
  nodes.forEach((node, i) => {
    const names = paths[i] ?? [];
    open = open.slice(
      0,
      shared(
        open.map(({ label }) => label),
        names,
      ).length,
    );
    for (const name of names.slice(open.length)) {
      const parent = open.at(-1) ?? top,
        group = groupOf(name, parent.path ? `${parent.path}.${name}` : name, parent);
      parent.children.push(group);
      open.push(group);
    }
    const parent = open.at(-1) ?? top;
    parent.children.push(
      node.op === 'if' || node.op === 'loop' ? controlOf(node, parent, blocks) : { id: '', label: '', node, parent },
    );
  });
}

/** @param {Node} node an `if` or `loop` @param {Group} parent @param {Map<Node | null, Node[][]>} blocks */
function controlOf(node, parent, blocks) {
  const group = groupOf(node.op, parent.path, parent, node),
    [first = [], second = []] = blocks.get(node) ?? [];
  if (node.op === 'loop') fill(group, first, blocks);
  else
    for (const [label, nodes] of /** @type {const} */ ([
      ['then', first],
      ['else', second],
    ])) {
      const branch = groupOf(label, parent.path, group);
      group.children.push(branch);
      fill(branch, nodes, blocks);
    }
  return group;
}

/** Nodes at the ends of a block. They belong to no module. */
const isEnd = (/** @type {Node} */ { op }) => op === 'placeholder' || op === 'output' || op === 'yield';

/**
 * Returns the names of the modules of each node, below a module. A node without a module belongs to the modules
 * that the nodes before and after it share.
 * @param {Node[]} nodes
 * @param {string} base
 */
function pathsOf(nodes, base) {
  const known = nodes.map((node) => (isEnd(node) ? [] : node.module ? namesBelow(node.module, base) : undefined));
  const after = known.slice();
  for (let i = after.length - 2; i >= 0; i--) after[i] ??= after[i + 1];
  /** @type {string[]} */ let before = [];
  return known.map((names, i) => (before = names ?? shared(before, after[i] ?? [])));
}

/** Returns the beginning that two lists share. @template T @param {T[]} a @param {T[]} b */
function shared(a, b) {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return a.slice(0, same);
}

/** @param {string} module @param {string} base */
function namesBelow(module, base) {
  if (module === base) return [];
  const names = (base && module.startsWith(`${base}.`) ? module.slice(base.length + 1) : module).split('.');
  return names.filter((name) => name && name !== UNKNOWN);
}

/**
 * Replaces each module with a single child by this child, joins their names, and divides long lists.
 * @param {Group} group
 */
function simplify(group) {
  for (const child of group.children) if (child.children) simplify(child);
  group.children = group.children.map((child) => {
    const only = child.children?.length === 1 ? child.children[0] : undefined;
    if (!only || child.node || group.node?.op === 'if') return child;
    if (only.children && only.node) return child; // a loop keeps its module
    only.label = [child.label, only.label].filter(Boolean).join('.');
    only.parent = group;
    return only;
  });
  divide(group);
}

/** Divides a long list of children into groups of about as many children as there are groups. @param {Group} group */
function divide(group) {
  const all = group.children;
  if (all.length <= MAX_CHILDREN) return;
  const size = Math.ceil(Math.sqrt(all.length));
  group.children = [];
  for (let from = 0; from < all.length; from += size) {
    const part = all.slice(from, from + size);
    const created = groupOf(`steps ${from + 1} to ${from + part.length}`, group.path, group);
    created.children = part;
    for (const child of part) child.parent = created;
    group.children.push(created);
  }
}

/** @param {Item} item @param {Map<string, Item>} items @param {Map<Node, Item>} itemOf */
function number(item, items, itemOf) {
  item.id = `n${items.size}`;
  items.set(item.id, item);
  if (item.node) itemOf.set(item.node, item);
  for (const child of item.children ?? []) number(child, items, itemOf);
}

/** Returns the groups of an item, the outermost first. @param {Item} item @returns {Group[]} */
export function groupsAround(item) {
  const groups = [];
  for (let group = item.parent; group; group = group.parent) groups.unshift(group);
  return groups;
}

/** Writes the lines of every group. @param {Graph} graph @param {Map<Node, Item>} itemOf */
function addLines(graph, itemOf) {
  /** @type {Map<Group, Set<string>>} */ const known = new Map();
  const add = (/** @type {Group} */ group, /** @type {Item | null} */ from, /** @type {Item | null} */ to) => {
    const key = `${from?.id ?? ''} ${to?.id ?? ''}`,
      of = known.get(group) ?? new Set();
    known.set(group, of);
    if (of.has(key)) return;
    of.add(key);
    group.lines.push({ from, to });
  };
  const connect = (/** @type {Item} */ from, /** @type {Item} */ to) => {
    const out = [...groupsAround(from), from],
      into = [...groupsAround(to), to];
    let common = 0;
    while (common < out.length && out[common] === into[common]) common++;
    // Either item may contain the other one: a loop passes values to its body, and the body ends with the loop's.
    const [a, b] = [out[common] ?? null, into[common] ?? null];
    add(/** @type {Group} */ (out[common - 1]), a, b);
    for (const [chain, way] of /** @type {const} */ ([
      [out, 'out'],
      [into, 'in'],
    ]))
      for (let i = common; i + 1 < chain.length; i++) {
        const child = chain[i + 1] ?? null;
        add(/** @type {Group} */ (chain[i]), way === 'in' ? null : child, way === 'in' ? child : null);
      }
  };
  for (const node of graph.nodes) {
    const to = /** @type {Item} */ (itemOf.get(node));
    for (const input of node.inputs) connect(/** @type {Item} */ (itemOf.get(input)), to);
    if (node.op === 'yield' && node.parent) connect(to, /** @type {Item} */ (itemOf.get(node.parent)));
  }
}

/** Returns the nodes of an item in the program's order. @param {Item} item @returns {Node[]} */
export const nodesOf = (item) =>
  item.children ? [...(item.node ? [item.node] : []), ...item.children.flatMap(nodesOf)] : [item.node];

/**
 * Opens groups from the outside as long as few items are visible, so that the first view is informative.
 * @param {Group} root
 * @param {number} [most] items
 * @returns {Set<string>} the ids of the open groups
 */
export function firstOpen(root, most = 28) {
  const open = new Set([root.id]);
  let visible = root.children.length;
  for (let level = root.children; level.length;) {
    const groups = level.filter((item) => item.children !== undefined);
    const more = groups.reduce((sum, { children = [] }) => sum + children.length, 0);
    if (!more || visible + more > most) break;
    for (const { id } of groups) open.add(id);
    visible += more;
    level = groups.flatMap(({ children = [] }) => children);
  }
  return open;
}
