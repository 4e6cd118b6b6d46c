// Places the items of a graph. Dagre lays out each open group by itself: opening one of thousands of groups costs only
// the layout of this group and of those around it.

/**
 * @typedef {import('./tree.js').Item} Item
 * @typedef {import('./tree.js').Group} Group
 * @typedef {{ x: number, y: number }} Point
 *
 * @typedef {object} Box an item in the coordinates of its group
 * @property {Item} item
 * @property {number} x of its left edge
 * @property {number} y of its upper edge
 * @property {number} width
 * @property {number} height
 * @property {Layout} [inner] the content of an open group
 *
 * @typedef {{ from: Item | null, to: Item | null, points: Point[] }} Route
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {number} enter where values of the outside enter at the upper edge
 * @property {number} leave where values leave at the lower edge
 * @property {Box[]} boxes
 * @property {Route[]} routes
 * @property {string} key of the open groups inside
 *
 * @typedef {{ x: number, y: number, width: number, height: number }} Placed with the coordinates of its center
 * @typedef {object} DagreGraph
 * @property {(label: object) => DagreGraph} setGraph
 * @property {() => { width: number, height: number }} graph
 * @property {(id: string, label: { width: number, height: number }) => void} setNode
 * @property {(id: string) => Placed} node
 * @property {(id: string) => boolean} hasNode
 * @property {(from: string, to: string, label: object) => void} setEdge
 * @property {(from: string, to: string) => { points: Point[] }} edge
 * @typedef {{ layout: (graph: DagreGraph) => void, Graph: new (options?: object) => DagreGraph }} Dagre
 */

/** js/build.mjs copies Dagre into this folder. */
const DAGRE = './dagre.js';
/** @type {Dagre} */ const { Graph, layout } = await import(DAGRE);

/** The height of the title of an open group. */
export const TITLE = 26;
const MARGIN = 14;
const IN = 'in',
  OUT = 'out';

/**
 * Lays out a group. Groups whose content is as before keep their earlier layout.
 * @param {Group} group
 * @param {(group: Group) => boolean} isOpen
 * @param {(item: Item) => { width: number, height: number }} sizeOf the size of a step or of a closed group
 * @param {Map<Group, Layout>} [kept] earlier layouts
 * @returns {Layout}
 */
export function layoutOf(group, isOpen, sizeOf, kept = new Map()) {
  /** @type {Map<Item, Layout>} */ const inner = new Map();
  const keys = group.children.map((item) => {
    if (!item.children || !isOpen(item)) return '';
    const created = layoutOf(item, isOpen, sizeOf, kept);
    inner.set(item, created);
    return `${item.id}(${created.key})`;
  });
  const key = keys.join(),
    before = kept.get(group);
  if (before?.key === key) return before;
  const created = { ...place(group, inner, sizeOf), key };
  kept.set(group, created);
  return created;
}

/**
 * @param {Group} group
 * @param {Map<Item, Layout>} inner
 * @param {(item: Item) => { width: number, height: number }} sizeOf
 */
function place(group, inner, sizeOf) {
  const graph = new Graph().setGraph({ rankdir: 'TB', nodesep: 18, edgesep: 12, ranksep: 30 });
  for (const item of group.children) {
    const open = inner.get(item);
    graph.setNode(item.id, open ? { width: open.width, height: open.height } : sizeOf(item));
  }
  addBorders(graph, group);
  for (const { from, to } of group.lines) graph.setEdge(from?.id ?? IN, to?.id ?? OUT, { weight: from && to ? 2 : 1 });
  layout(graph);
  return read(graph, group, inner);
}

/**
 * Adds a node above all children where values come from outside, and one below them where values leave.
 * @param {DagreGraph} graph
 * @param {Group} group
 */
function addBorders(graph, { children, lines }) {
  const ends = (/** @type {'from' | 'to'} */ end) => new Set(lines.map((line) => line[end]));
  const [sources, targets] = [ends('from'), ends('to')];
  if (sources.has(null)) {
    graph.setNode(IN, { width: 1, height: 1 });
    for (const item of children) if (!targets.has(item)) graph.setEdge(IN, item.id, { weight: 0 });
  }
  if (targets.has(null)) {
    graph.setNode(OUT, { width: 1, height: 1 });
    for (const item of children) if (!sources.has(item)) graph.setEdge(item.id, OUT, { weight: 0 });
  }
}

/** @param {DagreGraph} graph @param {Group} group @param {Map<Item, Layout>} inner @returns {Omit<Layout, 'key'>} */
function read(graph, { parent, children, lines }, inner) {
  const top = parent ? TITLE : MARGIN,
    { width: w, height: h } = graph.graph();
  const [width, height] = [w + 2 * MARGIN, h + top + MARGIN];
  const moved = (/** @type {Point} */ { x, y }) => ({ x: x + MARGIN, y: y + top });
  const border = (/** @type {string} */ id) => (graph.hasNode(id) ? moved(graph.node(id)).x : width / 2);
  const [enter, leave] = [border(IN), border(OUT)];
  const boxes = children.map((item) => {
    const { x, y, width, height } = graph.node(item.id);
    return { item, ...moved({ x: x - width / 2, y: y - height / 2 }), width, height, inner: inner.get(item) };
  });
  const boxOf = new Map(boxes.map((box) => [box.item, box]));
  const routes = lines.map(({ from, to }) => {
    const points = graph.edge(from?.id ?? IN, to?.id ?? OUT).points.map(moved);
    const [a, b] = [from && boxOf.get(from), to && boxOf.get(to)];
    // The route continues in the layout of an open group.
    if (!from) points.unshift({ x: enter, y: 0 });
    if (!to) points.push({ x: leave, y: height });
    if (a?.inner) points[0] = { x: a.x + a.inner.leave, y: a.y + a.height };
    if (b?.inner) points[points.length - 1] = { x: b.x + b.inner.enter, y: b.y };
    return { from, to, points };
  });
  return { width, height, enter, leave, boxes, routes };
}
