// A flame chart: time from left to right, submodules from top to bottom, operators at the end.

/**
 * @typedef {import('../layers.js').Layer} Layer
 * @typedef {{ label: string, path: string, from: number, ms: number, depth: number, layer?: Layer }} Block
 */

/**
 * The blocks: neighbours of one submodule are one.
 * @param {readonly Layer[]} layers @returns {Block[]}
 */
export function blocksOf(layers) {
  /** @type {Block[]} */ const blocks = [], open = [];
  let at = 0;
  const all = { label: 'all', path: '', from: 0, ms: layers.reduce((sum, l) => sum + l.ms, 0), depth: 0 };
  for (const layer of layers) {
    const names = layer.layer ? layer.layer.split('.') : [];
    let same = 0;
    while (same < names.length && open[same]?.label === names[same]) same++;
    open.length = same;
    for (let depth = same; depth < names.length; depth++) {
      const block = { label: /** @type {string} */ (names[depth]), path: names.slice(0, depth + 1).join('.'), from: at, ms: 0, depth: depth + 1 };
      blocks.push(open[depth] = block);
    }
    for (const block of open) block.ms += layer.ms;
    blocks.push({ label: layer.op.replace(/^\w+::/, ''), path: layer.layer, from: at, ms: layer.ms, depth: names.length + 1, layer });
    at += layer.ms;
  }
  return [all, ...blocks];
}

/** Draws it; a click on a block makes it as wide as the chart. @param {HTMLElement} flame @param {HTMLElement} detail @param {readonly Layer[]} layers */
export function drawFlame(flame, detail, layers) {
  const blocks = blocksOf(layers), all = /** @type {Block} */ (blocks[0]);
  const hottest = Math.max(...layers.map((l) => l.ms));
  const say = (/** @type {Block} */ b) => {
    const { layer } = b;
    detail.textContent = [b.path || b.label, layer && b.path && layer.op, layer?.outputs.join(', '), layer?.source, `${b.ms.toFixed(3)} ms`, `${(100 * b.ms / (all.ms || 1)).toFixed(1)} %`].filter(Boolean).join(' · ');
  };
  const draw = (/** @type {Block} */ root) => {
    const rem = 1.5, to = root.from + root.ms, scale = 100 / (root.ms || 1);
    const shown = blocks.filter((b) => b.from < to && b.from + b.ms > root.from && b.ms * scale > 0.05);
    flame.style.height = `${rem * (1 + Math.max(...shown.map((b) => b.depth)))}rem`;
    flame.replaceChildren(...shown.map((b) => {
      const left = Math.max(b.from, root.from), button = document.createElement('button');
      button.type = 'button';
      button.textContent = b.label;
      button.className = b.layer && b.ms > hottest / 2 ? 'hot' : b.layer ? 'warm' : '';
      button.style.left = `${(left - root.from) * scale}%`;
      button.style.width = `${(Math.min(b.from + b.ms, to) - left) * scale}%`;
      button.style.top = `${rem * b.depth}rem`;
      button.ariaLabel = `${b.path} ${b.label}, ${b.ms.toFixed(3)} ms`;
      button.onpointerenter = button.onfocus = () => say(b);
      button.onclick = () => draw(b === root ? all : b);
      return button;
    }));
    say(root);
  };
  draw(all);
}
