// The tables of the commands, with colors on a terminal.

import { Graph } from '../src/api/graph.js';
import { escapeControls, styled } from './printable.js';
import { counted, number, size } from './units.js';
import { weightsOf } from './weights.js';

/** @typedef {import('./printable.js').Style} Style */

/** Nothing for 0. @param {number} n */
const numberOrEmpty = (n) => (n ? number(n) : '');

/**
 * Aligns the cells of a table, and makes them safe to print.
 * @param {string[]} head
 * @param {string[][]} rows the last one has the sums
 * @param {number[]} right columns of numbers
 * @param {Record<number, Style>} styles of columns
 */
function table(head, rows, right, styles) {
  const lines = [head, ...rows].map((row) => row.map(escapeControls)),
    widths = head.map((_, i) => Math.max(...lines.map((row) => row[i]?.length ?? 0)));
  return lines
    .map((row, r) => {
      const whole = r === 0 || r === rows.length;
      const cells = row.map((cell, i) => padded(cell, widths[i] ?? 0, right.includes(i)));
      const texts = whole ? cells : cells.map((cell, i) => colored(cell, styles[i]));
      const line = texts.join('  ').trimEnd();
      return whole ? styled('bold', line) : line;
    })
    .join('\n');
}

const padded = (/** @type {string} */ cell, /** @type {number} */ width, /** @type {boolean} */ right) =>
  right ? cell.padStart(width) : cell.padEnd(width);

/** Colors a cell without the spaces after it. @param {string} cell @param {Style | undefined} style */
const colored = (cell, style) =>
  style && cell.trim() ? cell.replace(/\S(?:.*\S)?/, (text) => styled(style, text)) : cell;

/**
 * Returns a line for each operator of a run.
 * @param {import('./layers.js').Layer[]} layers
 * @param {number} runs
 */
export function runText(layers, runs) {
  const most = Math.max(...layers.map((l) => l.share)) || 1;
  const rows = layers.map((l) => [
    l.layer || '-',
    l.op.replace(/^\w+::/, '') + (l.calls > 1 ? ` x${Math.round(l.calls)}` : ''),
    l.outputs.join(', ').replaceAll('float32 ', ''),
    numberOrEmpty(l.parameters),
    numberOrEmpty(l.bytes),
    l.ms.toFixed(3),
    (100 * l.share).toFixed(1),
    bar(l.share / most),
  ]);
  const sum = (/** @type {'parameters' | 'bytes' | 'ms' | 'firstMs'} */ of) =>
    layers.reduce((all, l) => all + l[of], 0);
  rows.push([
    'all',
    '',
    '',
    numberOrEmpty(sum('parameters')),
    numberOrEmpty(sum('bytes')),
    sum('ms').toFixed(3),
    '',
    '',
  ]);
  const head = ['layer', 'operator', 'output', 'parameters', 'bytes', 'ms', '%', ''];
  return (
    `${table(head, rows, [3, 4, 5, 6], { 1: 'cyan', 2: 'dim', 7: 'green' })}\nms: ` +
    `medians of ${runs} runs; a first run took ${sum('firstMs').toFixed(3)} ms`
  );
}

/** @param {number} part of 1 */
const bar = (part) =>
  '\u2588'.repeat(Math.floor(12 * part)) +
  ['', '\u258f', '\u258e', '\u258d', '\u258c', '\u258b', '\u258a', '\u2589'][Math.floor(96 * part) % 8];

/**
 * Returns a line for each module with weights, and for the constants without a module.
 * @param {import('../src/engine/engine.js').Description} plan @param {import('../src/api/graph.js').GraphJson} program
 */
export function layersText(plan, program) {
  /** @type {Map<string, { shapes: string[], parameters: number, bytes: number }>} */
  const layers = new Map();
  const sum = { shapes: [], parameters: 0, bytes: 0 };
  for (const { layer, name, dtype, shape, bytes, parameters } of weightsOf(
    program.methods.map((m) => new Graph(m, program, [])),
    plan.weights,
  )) {
    const row = layers.get(layer) ?? { shapes: [], parameters: 0, bytes: 0 };
    layers.set(layer, row);
    row.shapes.push(`${name || 'constant'} ${dtype === 'float32' ? '' : dtype}[${shape.join(', ')}]`);
    for (const to of [row, sum]) {
      to.parameters += parameters;
      to.bytes += bytes;
    }
  }
  const rows = [...layers, /** @type {const} */ (['all', sum])].map(([name, { shapes, parameters, bytes }]) => [
    name || '(none)',
    number(parameters),
    number(bytes),
    shapes.join(', '),
  ]);
  return table(['layer', 'parameters', 'bytes', 'weights'], rows, [1, 2], { 0: 'cyan', 3: 'dim' });
}

/** The operators that a benchmark lists. */
const MAX_OPERATORS = 15;

/**
 * Returns the times of a backend, and a line for each of its slowest operators.
 * @param {{ backend: string, threads: number, device?: string, runs: number, loadMs: number, firstMs: number, minMs:
 *    number, medianMs: number, memory: { peak: number, heap: number }, ops: { op: string, calls: number, ms: number,
 *    gpuMs?: number, share: number }[] }} r
 */
export function benchText(r) {
  const ms = (/** @type {number} */ n) => `${n.toFixed(2)} ms`;
  const where = [r.backend, ...(r.threads > 1 ? [`${r.threads} threads`] : []), ...(r.device ? [r.device] : [])];
  const first = `${where.join(', ')}: median ${ms(r.medianMs)}, min ${ms(r.minMs)} of ${counted(r.runs, 'run')}`;
  const rows = r.ops.slice(0, MAX_OPERATORS).map(({ op, calls, ms: time, gpuMs, share }) => {
    const times = `${String(Math.round(calls)).padStart(5)} ${Math.round(calls) === 1 ? 'call ' : 'calls'}`,
      part = (100 * share).toFixed(1).padStart(5),
      onGpu = gpuMs === undefined ? '' : ` + ${ms(gpuMs).padStart(11)} on the GPU`;
    return `  ${colored(escapeControls(op).padEnd(40), 'cyan')} ${times} ${ms(time).padStart(11)}${onGpu} ${part} %`;
  });
  const others =
    `; first ${ms(r.firstMs)}, load ${ms(r.loadMs)}; peak ${size(r.memory.peak)}, ` +
    `wasm memory ${size(r.memory.heap)}`;
  return [styled('bold', first) + others, ...rows].join('\n');
}

const PLACE_TEXTS = /** @type {const} */ ({
  webgpu: 'on the GPU, for tensors in float32',
  cpu: 'on the CPU, which needs its tensors in memory',
  none: 'reads no elements, on either',
});

/**
 * Returns the operators by the place where they may run.
 * @param {{ name: string, count: number, device: keyof typeof PLACE_TEXTS }[]} operators
 */
export function devicesText(operators) {
  const groups = /** @type {(keyof typeof PLACE_TEXTS)[]} */ (Object.keys(PLACE_TEXTS)).map((device) =>
      operators.filter((o) => o.device === device),
    ),
    rows = groups.flat().map(({ name, count, device }) => [name, number(count), PLACE_TEXTS[device]]),
    sum = operators.reduce((n, { count }) => n + count, 0);
  return table(['operator', 'uses', 'where it runs'], [...rows, ['', number(sum), '']], [1], {
    0: 'cyan',
    2: 'dim',
  });
}
