// Draws a flame chart: time from left to right, submodules from top to bottom, and operators at the bottom.

/**
 * @typedef {import('../layers.js').Layer} Layer
 * @typedef {{ label: string, path: string, from: number, width: number, ms: number, depth: number, layer?: Layer }}
 *   Block
 * from, width: in ms. If the clock is too coarse for every operator, each has the width 1.
 */

/**
 * Makes the blocks. Adjacent operators of one submodule share a block.
 * @param {readonly Layer[]} layers @returns {Block[]}
 */
export function blocksOf(layers) {
  /** @type {Block[]} */ const blocks = [],
    open = [];
  let at = 0;
  const ms = layers.reduce((sum, l) => sum + l.ms, 0);
  const all = { label: 'all', path: '', from: 0, width: ms || layers.length || 1, ms, depth: 0 };
  for (const layer of layers) {
    const width = ms ? layer.ms : 1;
    const names = layer.layer ? layer.layer.split('.') : [];
    let same = 0;
    while (same < names.length && open[same]?.label === names[same]) same++;
    open.length = same;
    for (let depth = same; depth < names.length; depth++) {
      const block = {
        label: /** @type {string} */ (names[depth]),
        path: names.slice(0, depth + 1).join('.'),
        from: at,
        width: 0,
        ms: 0,
        depth: depth + 1,
      };
      blocks.push((open[depth] = block));
    }
    for (const block of open) {
      block.width += width;
      block.ms += layer.ms;
    }
    blocks.push({
      label: layer.op.replace(/^\w+::/, ''),
      path: layer.layer,
      from: at,
      width,
      ms: layer.ms,
      depth: names.length + 1,
      layer,
    });
    at += width;
  }
  return [all, ...blocks];
}

/** Describes a block. @param {Block} block @param {number} ms the time of the whole run */
const detailOf = ({ path, label, layer, ms: own }, ms) =>
  [
    path || label,
    layer && path && layer.op,
    layer?.outputs.join(', '),
    layer?.source,
    `${own.toFixed(3)} ms`,
    `${((100 * own) / (ms || 1)).toFixed(1)} %`,
  ]
    .filter(Boolean)
    .join(' · ');

/**
 * Draws the chart. A click on a block gives it the whole width.
 * @param {HTMLElement} flame
 * @param {HTMLElement} detail
 * @param {readonly Layer[]} layers
 */
export function drawFlame(flame, detail, layers) {
  const blocks = blocksOf(layers),
    all = /** @type {Block} */ (blocks[0]);
  const hottest = Math.max(...layers.map((l) => l.ms));
  const showDetail = (/** @type {Block} */ b) => {
    detail.textContent = detailOf(b, all.ms);
  };
  const draw = (/** @type {Block} */ root) => {
    const rem = 1.5,
      to = root.from + root.width,
      scale = 100 / root.width;
    const shown = blocks.filter((b) => b.from < to && b.from + b.width > root.from && b.width * scale > 0.05);
    flame.style.height = `${rem * (1 + Math.max(...shown.map((b) => b.depth)))}rem`;
    flame.replaceChildren(
      ...shown.map((b) => {
        const left = Math.max(b.from, root.from),
          button = document.createElement('button');
        button.type = 'button';
        button.textContent = b.label;
        button.className = b.layer && b.ms > hottest / 2 ? 'hot' : b.layer ? 'warm' : '';
        button.style.left = `${(left - root.from) * scale}%`;
        button.style.width = `${(Math.min(b.from + b.width, to) - left) * scale}%`;
        button.style.top = `${rem * b.depth}rem`;
        button.ariaLabel = `${b.path} ${b.label}, ${b.ms.toFixed(3)} ms`;
        button.onpointerenter = button.onfocus = () => showDetail(b);
        button.onclick = () => draw(b === root ? all : b);
        return button;
      }),
    );
    showDetail(root);
  };
  draw(all);
}
