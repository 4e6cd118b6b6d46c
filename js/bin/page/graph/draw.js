// Draws a layout as SVG.

import { TITLE } from './layout.js';
import { classOf, kindOf, linesOf, timeOf, titleOf } from './labels.js';

/**
 * @typedef {import('./tree.js').Item} Item
 * @typedef {import('./tree.js').Group} Group
 * @typedef {import('./layout.js').Layout} Layout
 * @typedef {import('./layout.js').Box} Box
 * @typedef {import('./labels.js').Facts} Facts
 *
 * @typedef {object} Marks the part of the page's state that the drawing shows
 * @property {Item | undefined} selected
 * @property {Set<Item>} found by the search
 * @property {Item | undefined} differs the item that differs from PyTorch's run
 */

const LINE = 16,
  PAD = 10,
  WIDE = 36; // characters of a line

/** @param {string} text */
const clipped = (text) => (text.length > WIDE ? `${text.slice(0, WIDE - 1)}…` : text);

const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));

/** Returns the width of a line of an item, in the fonts of page.css. @param {string} line @param {number} i */
function widthOf(line, i) {
  pen.font = i ? '11.5px system-ui, sans-serif' : '600 13px system-ui, sans-serif';
  return pen.measureText(line).width;
}

/** Returns the size of a step or of a closed group. @param {Item} item @param {Facts} facts */
export function sizeOf(item, facts) {
  const lines = [titleOf(item, facts), ...linesOf(item, facts)].map(clipped);
  const longest = Math.max(...lines.map(widthOf));
  return { width: Math.max(64, longest + 2 * PAD + (item.children ? 16 : 6)), height: LINE * lines.length + PAD + 2 };
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number>} set
 * @param {(Node | string)[]} content
 */
function svg(tag, set, ...content) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(set)) element.setAttribute(name, String(value));
  element.append(...content);
  return element;
}

/**
 * @param {Layout} layout of the whole graph
 * @param {Facts} facts
 * @param {Marks} marks
 */
export function graphDrawing(layout, facts, marks) {
  const hottest = hottestOf(layout, facts);
  return svg(
    'svg',
    {
      viewBox: `0 0 ${layout.width} ${layout.height}`,
      width: layout.width,
      height: layout.height,
      'aria-hidden': 'true',
    },
    svg(
      'defs',
      {},
      svg(
        'marker',
        {
          id: 'arrow',
          viewBox: '0 0 8 8',
          refX: 7,
          refY: 4,
          markerWidth: 9,
          markerHeight: 9,
          markerUnits: 'userSpaceOnUse',
          orient: 'auto',
        },
        svg('path', { d: 'M0 0 8 4 0 8z' }),
      ),
    ),
    ...content(layout, facts, marks, hottest),
  );
}

/** Returns the longest time of a visible item. @param {Layout} layout @param {Facts} facts @returns {number} */
const hottestOf = ({ boxes }, facts) =>
  Math.max(0, ...boxes.map(({ item, inner }) => (inner ? hottestOf(inner, facts) : (timeOf(item, facts) ?? 0))));

/** @param {Layout} layout @param {Facts} facts @param {Marks} marks @param {number} hottest @returns {Node[]} */
function content({ boxes, routes }, facts, marks, hottest) {
  const lines = routes.map(({ from, to, points }) =>
    svg('path', {
      class: `edge${marks.selected && (from === marks.selected || to === marks.selected) ? ' near' : ''}`,
      d: curve(points),
      ...(to && !to.children && { 'marker-end': 'url(#arrow)' }),
    }),
  );
  return [...lines, ...boxes.map((box) => drawBox(box, facts, marks, hottest))];
}

/** Returns a smooth line through the points that Dagre gives. @param {{ x: number, y: number }[]} points */
function curve(points) {
  const [first = { x: 0, y: 0 }, ...rest] = points;
  const at = (/** @type {{ x: number, y: number }} */ { x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const last = rest.pop() ?? first;
  let d = `M${at(first)}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    const end = next ? { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 } : last;
    d += `Q${at(point)} ${at(end)}`;
  });
  return rest.length ? d : `${d}L${at(last)}`;
}

/** @param {Box} box @param {Facts} facts @param {Marks} marks @param {number} hottest */
function drawBox({ item, x, y, width, height, inner }, facts, marks, hottest) {
  const classes = [
    inner ? 'group open' : item.children ? 'group' : `step ${kindOf(item.node, facts)}`,
    item === marks.selected && 'selected',
    marks.found.has(item) && 'found',
    item === marks.differs && 'differs',
  ].filter(Boolean);
  const element = svg(
    'g',
    { class: classes.join(' '), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, 'data-item': item.id },
    svg('rect', { width, height, rx: 6 }),
    svg('title', {}, [titleOf(item, facts), ...linesOf(item, facts)].join('\n')),
  );
  if (item.children) element.append(foldButton(item.id, !inner));
  const kind = inner && !item.node ? classOf(/** @type {Group} */ (item).path, facts) : undefined;
  const title = [titleOf(item, facts), kind].filter(Boolean).join(' · ');
  const lines = inner ? [title] : [title, ...linesOf(item, facts)];
  if (inner) element.append(...content(inner, facts, marks, hottest));
  lines.forEach((line, i) => {
    const set = { x: item.children ? PAD + 16 : PAD + 3, y: LINE * (i + 1) + 2, class: i ? 'small' : 'title' };
    element.append(svg('text', set, clipped(line)));
  });
  if (!inner) drawTime(element, (timeOf(item, facts) ?? 0) / (hottest || 1), width, height);
  return element;
}

/** @param {string} id @param {boolean} closed */
function foldButton(id, closed) {
  const button = svg('g', { class: 'fold', 'data-fold': id });
  button.append(
    svg('rect', { x: 0, y: 0, width: 24, height: TITLE - 2, rx: 6 }),
    svg('path', { d: closed ? 'M8 13h9M12.5 8.5v9' : 'M8 13h9' }),
  );
  return button;
}

/**
 * Shows the share of the time as a bar.
 * @param {Element} element
 * @param {number} part
 * @param {number} width
 * @param {number} height
 */
function drawTime(element, part, width, height) {
  if (part < 0.01) return;
  element.append(
    svg('rect', {
      class: part > 0.5 ? 'time hot' : 'time',
      x: 5,
      y: height - 4,
      width: (width - 10) * part,
      height: 3,
      rx: 1,
    }),
  );
}
