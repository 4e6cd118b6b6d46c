// Draws how often values occur.

import { counted } from '../units.js';
import { make } from './dom.js';

const BINS = 48,
  WIDTH = 640,
  HEIGHT = 160,
  PAD = 8;

/**
 * Counts the values of each bin. Values that are not finite are left out.
 * @param {Float64Array} numbers
 * @param {number} [bins]
 */
export function binsOf(numbers, bins = BINS) {
  let low = Infinity,
    high = -Infinity;
  for (const n of numbers) {
    if (!Number.isFinite(n)) continue;
    low = Math.min(low, n);
    high = Math.max(high, n);
  }
  const counts = new Array(bins).fill(0),
    span = high - low || 1;
  for (const n of numbers) if (Number.isFinite(n)) counts[Math.min(bins - 1, Math.floor(((n - low) / span) * bins))]++;
  return { low, high, counts };
}

/** @param {Float64Array} numbers */
export function histogram(numbers) {
  const { low, high, counts } = binsOf(numbers),
    most = Math.max(...counts, 1);
  const scale = devicePixelRatio || 1,
    colors = getComputedStyle(document.documentElement);
  const canvas = make('canvas', { width: WIDTH * scale, height: HEIGHT * scale, role: 'img' });
  const short = (/** @type {number} */ n) => String(Number(n.toPrecision(3)));
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const step = (WIDTH - 2 * PAD) / counts.length;
  g.scale(scale, scale);
  g.fillStyle = colors.getPropertyValue('--line-0');
  counts.forEach((count, i) => {
    const height = count && Math.max(1, (count / most) * (HEIGHT - 2 * PAD));
    g.fillRect(PAD + i * step, HEIGHT - PAD - height, step - 1, height);
  });
  const fullest = counts.indexOf(most),
    at = (/** @type {number} */ i) => short(low + ((high - low) * i) / counts.length);
  canvas.ariaLabel =
    `histogram of ${counted(numbers.length, 'number')} from ${short(low)} to ${short(high)}; ` +
    `most are between ${at(fullest)} and ${at(fullest + 1)}`;
  const ends = make('p', { className: 'ends quiet' }, make('span', {}, short(low)), make('span', {}, short(high)));
  return make('div', {}, canvas, ends);
}
