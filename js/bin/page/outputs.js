// Shows the outputs of a run as numbers, an image or a plot.

import { tensorToImage } from '../../src/media/image.js';
import { counted } from '../units.js';
import { make } from './dom.js';
import { histogram } from './histogram.js';

/** @typedef {import('../../src/base/types.js').Tensor} Tensor */

const MAX_CELLS = 400; // numbers in a table
const BARS = 10; // bars, for the greatest numbers
const LINES = 6; // lines of a plot; page.css has a color for each

/** @param {number | bigint} n */
const short = (n) => (typeof n === 'bigint' || Number.isInteger(n) ? String(n) : String(Number(n.toPrecision(5))));

/** Shows another value than a tensor. @param {string} name @param {unknown} value @param {'h2' | 'h4'} heading */
function plainCard(name, value, heading) {
  const text = JSON.stringify(
    value,
    (_, v) =>
      v instanceof Map
        ? Object.fromEntries(v)
        : typeof v === 'bigint'
          ? String(v)
          : ArrayBuffer.isView(v)
            ? [.../** @type {Tensor['data']} */ (v).subarray(0, MAX_CELLS)].map(String)
            : v,
    1,
  );
  return make(
    'section',
    { className: 'card' },
    make('div', { className: 'bar' }, make(heading, {}, name)),
    make('pre', {}, text ?? 'None'),
  );
}

/**
 * Shows a value as a card.
 * @param {string} name
 * @param {unknown} value
 * @param {{ heading?: 'h2' | 'h4', first?: string }} [options] first: the view of tensors that is shown first, if they
 *   have it
 */
export function showOutput(name, value, { heading = 'h2', first } = {}) {
  const tensor = /** @type {Tensor} */ (value);
  if (!tensor?.data || !tensor.shape) return plainCard(name, value, heading);
  const numbers = Float64Array.from(/** @type {ArrayLike<unknown>} */ (tensor.data), Number);
  const views = viewsOf(tensor, numbers);
  const body = make('div'),
    tabs = make('div', { className: 'tabs' });
  const show = (/** @type {string} */ chosen) => {
    for (const tab of tabs.children) tab.ariaPressed = String(tab.textContent === chosen);
    body.replaceChildren(/** @type {() => Node} */ (views.get(chosen))());
  };
  for (const label of views.keys()) tabs.append(make('button', { type: 'button', onclick: () => show(label) }, label));
  show(first !== undefined && views.has(first) ? first : /** @type {string} */ (views.keys().next().value));
  return make(
    'section',
    { className: 'card' },
    make(
      'div',
      { className: 'bar' },
      make(heading, {}, name),
      make('span', { className: 'quiet' }, `${tensor.dtype} [${tensor.shape.join(', ')}]`),
      tabs,
    ),
    sums(numbers),
    body,
  );
}

/**
 * Returns the ways to show a tensor, the best one first.
 * @param {Tensor} tensor
 * @param {Float64Array} numbers
 * @returns {Map<string, () => Node>}
 */
function viewsOf(tensor, numbers) {
  const { shape } = tensor,
    [h = 1, w = 1] = shape.slice(-2);
  /** @type {Map<string, () => HTMLElement>} */ const views = new Map([['numbers', () => table(tensor, numbers)]]);
  if (numbers.length > 1) views.set('plot', () => plot(shape, numbers));
  if (numbers.length > BARS) views.set('histogram', () => histogram(numbers));
  if (numbers.length > BARS && shape.filter((n) => n > 1).length === 1) views.set('greatest', () => greatest(numbers));
  if (shape.length > 1 && h > 3 && w > 3 && h * w <= 4e6) views.set('image', () => imageView(tensor, numbers));
  const order = ['image', numbers.length > 16 ? 'plot' : 'numbers', 'numbers', 'plot', 'histogram', 'greatest'];
  return new Map([...views].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)));
}

/** @param {Float64Array} numbers */
function sums(numbers) {
  let min = Infinity,
    max = -Infinity,
    sum = 0,
    odd = 0;
  for (const n of numbers) {
    if (!Number.isFinite(n)) {
      odd++;
      continue;
    }
    min = Math.min(min, n);
    max = Math.max(max, n);
    sum += n;
  }
  const rows =
    numbers.length > odd
      ? [
          ['min', short(min)],
          ['mean', short(sum / (numbers.length - odd))],
          ['max', short(max)],
        ]
      : [];
  if (odd) rows.push(['not finite', String(odd)]);
  return make(
    'dl',
    { className: 'sums' },
    ...rows.flatMap(([name = '', value = '']) => [make('dt', {}, name), make('dd', {}, value)]),
  );
}

/** Makes a table with the rows of the last dimension. @param {Tensor} tensor @param {Float64Array} numbers */
function table({ shape, data }, numbers) {
  const width = Math.min(Math.max(shape.at(-1) ?? 1, 1), shape.length > 1 ? 64 : 8),
    step = shape.length > 1 ? Math.max(shape.at(-1) ?? 1, 1) : width;
  const rows = [];
  for (let at = 0; at < numbers.length && rows.length * width < MAX_CELLS; at += step) {
    rows.push(
      make(
        'tr',
        {},
        make('th', {}, `[${placeOf(at, shape).join(', ')}]`),
        ...[...data.subarray(at, Math.min(at + width, numbers.length))].map((n) => make('td', {}, short(n))),
      ),
    );
  }
  const shown = rows.length * width;
  return make(
    'div',
    { className: 'scroll' },
    make('table', { className: 'numbers' }, ...rows),
    make(
      'p',
      { className: 'quiet' },
      shown < numbers.length ? `This is the beginning of ${numbers.length.toLocaleString('en')} numbers.` : '',
    ),
  );
}

/** @param {number} at @param {readonly number[]} shape */
function placeOf(at, shape) {
  const place = [];
  for (const n of [...shape].reverse()) {
    place.unshift(at % n);
    at = Math.floor(at / n);
  }
  return place;
}

/** @param {Float64Array} numbers */
function greatest(numbers) {
  const order = [...numbers.keys()].sort((a, b) => Number(numbers[b]) - Number(numbers[a])).slice(0, BARS);
  const top = Number(numbers[order[0] ?? 0]),
    least = Math.min(0, Number(numbers[order.at(-1) ?? 0]));
  return make(
    'ol',
    { className: 'ranked' },
    ...order.map((i) => {
      const item = make('li', {}, make('span', {}, `[${i}]`), make('span', {}, short(Number(numbers[i]))));
      item.style.setProperty('--part', String(Math.max(0, (Number(numbers[i]) - least) / (top - least || 1))));
      return item;
    }),
  );
}

/**
 * Draws a line for each row of the last dimension, at most LINES of them.
 * @param {readonly number[]} shape
 * @param {Float64Array} numbers
 */
function plot(shape, numbers) {
  const scale = devicePixelRatio || 1,
    canvas = make('canvas', { width: 640 * scale, height: 220 * scale });
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')),
    colors = getComputedStyle(document.documentElement);
  const last = shape.at(-1) ?? 1,
    width = last > 1 ? last : numbers.length,
    rows = numbers.length / width,
    lines = Math.min(rows, LINES);
  const shown = numbers.subarray(0, lines * width),
    finite = shown.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), 0),
    high = finite.reduce((a, b) => Math.max(a, b), 0),
    pad = 8;
  const x = (/** @type {number} */ i) => pad + (i / Math.max(width - 1, 1)) * (640 - 2 * pad);
  const y = (/** @type {number} */ v) => 220 - pad - ((v - low) / (high - low || 1)) * (220 - 2 * pad);
  const colorOf = (/** @type {number} */ row) => colors.getPropertyValue(`--line-${row}`);
  g.scale(scale, scale);
  g.strokeStyle = colors.getPropertyValue('--line');
  g.beginPath();
  g.moveTo(0, y(0));
  g.lineTo(640, y(0));
  g.stroke();
  g.lineWidth = 1.5;
  for (let row = 0; row < lines; row++) {
    g.strokeStyle = colorOf(row);
    trace(g, shown.subarray(row * width, (row + 1) * width), x, y);
  }
  canvas.role = 'img';
  canvas.ariaLabel =
    `${lines > 1 ? `${lines} rows of ` : ''}${counted(width, 'number')} ` + `from ${short(low)} to ${short(high)}`;
  if (rows <= 1) return canvas;
  return make('div', {}, canvas, keyOf(shape, rows, lines, colorOf));
}

/**
 * Names the lines of a plot.
 * @param {readonly number[]} shape @param {number} rows @param {number} lines @param {(row: number) => string} colorOf
 */
function keyOf(shape, rows, lines, colorOf) {
  return make(
    'p',
    { className: 'key quiet' },
    ...Array.from({ length: lines }, (_, row) => {
      const mark = make('span', {}, `[${placeOf(row, shape.slice(0, -1)).join(', ')}]`);
      mark.style.setProperty('--mark', colorOf(row));
      return mark;
    }),
    rows > lines ? `The plot shows ${lines} of ${rows.toLocaleString('en')} rows.` : '',
  );
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {Float64Array} numbers
 * @param {(i: number) => number} x
 * @param {(v: number) => number} y
 */
function trace(g, numbers, x, y) {
  g.beginPath();
  // Two points for each column, because more are not visible.
  const columns = Math.min(numbers.length, 640);
  for (let c = 0; c < columns; c++) {
    const from = Math.floor((c * numbers.length) / columns),
      to = Math.max(Math.floor(((c + 1) * numbers.length) / columns), from + 1);
    const part = numbers.subarray(from, to).filter(Number.isFinite);
    if (!part.length) continue;
    const at = x((c * (numbers.length - 1)) / Math.max(columns - 1, 1));
    g.lineTo(at, y(part.reduce((a, b) => Math.min(a, b))));
    if (part.length > 1) g.lineTo(at, y(part.reduce((a, b) => Math.max(a, b))));
  }
  g.stroke();
}

/** Shows one channel in colors, or three channels as RGB. @param {Tensor} tensor @param {Float64Array} numbers */
function imageView({ shape }, numbers) {
  const [h = 1, w = 1] = shape.slice(-2),
    planes = numbers.length / (h * w),
    rgb = shape.at(-3) === 3;
  const canvas = make('canvas', {
    className: 'image',
    width: w,
    height: h,
    role: 'img',
    ariaLabel: 'the values as an image',
  });
  const draw = (/** @type {number} */ plane) => {
    const channels = rgb && plane < 0 ? 3 : 1,
      from = Math.max(plane, 0) * h * w;
    const data = Float32Array.from(numbers.subarray(from, from + channels * h * w), (v) =>
      Number.isFinite(v) ? v : 0,
    );
    const image = tensorToImage(
      { dtype: 'float32', shape: [channels, h, w], data },
      { layout: 'chw', range: 'auto', ...(channels === 1 && { colormap: 'viridis' }) },
    );
    /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).putImageData(
      /** @type {ImageData} */ (image),
      0,
      0,
    );
  };
  draw(rgb ? -1 : 0);
  if (planes <= 1) return canvas;
  const choice = make(
    'select',
    { ariaLabel: 'plane' },
    ...(rgb ? [make('option', { value: '-1' }, 'colors')] : []),
    ...Array.from({ length: Math.min(planes, 256) }, (_, i) =>
      make('option', { value: String(i) }, `[${placeOf(i, shape.slice(0, -2)).join(', ')}]`),
    ),
  );
  choice.onchange = () => draw(Number(choice.value));
  return make('div', {}, make('div', { className: 'bar' }, choice), canvas);
}
