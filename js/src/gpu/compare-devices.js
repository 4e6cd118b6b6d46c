// model.diff({ device: 'webgpu' }) and model.verify({ device }): compares each operator on the GPU with the same one on
// the CPU.

import { badArgument, checkInteger, checkOptions, describeValue } from '../base/errors.js';
import { advance, resultsOf } from '../engine/diagnostics.js';
import { isLost } from './device.js';

/**
 * @typedef {import('../engine/host.js').LocalHost} LocalHost
 * @typedef {import('../engine/host.js').TraceComparison} TraceComparison
 * @typedef {import('../engine/host.js').FirstDifference} FirstDifference
 * @typedef {import('../base/types.js').StepValue} StepValue
 * @typedef {{ dtype: string, data: ArrayLike<number | bigint> }} Elements
 * @typedef {{ fault?: string, setIdle: (idle: 0 | 1) => void }} ComparedGpu the device of a model
 */

/** Differences of floats are relative to the greatest magnitude of a tensor. */
const RTOL = 1e-4;

/**
 * Runs a test vector step by step, and calls `see` with the results of each operator until it returns true.
 * @param {LocalHost} host @param {number} test
 * @param {(next: import('../engine/engine.js').Next, results: StepValue[]) => boolean | void} see
 */
async function walk(host, test, see) {
  const { engine } = host,
    { c, session } = engine;
  engine.check(c.rush_session_verify_begin(session, test));
  try {
    engine.check(c.rush_session_observe(session, 1));
    for (let done = false; !done;) {
      const next = engine.next(),
        ended = await advance(host, next);
      done = (next.op !== '' && see(next, resultsOf(engine)) === true) || ended;
    }
  } finally {
    if (engine.alive) {
      c.rush_session_cancel(session);
      engine.check(c.rush_session_observe(session, 0));
    }
  }
}

/** @param {ArrayLike<number | bigint>} data */
function greatest(data) {
  let most = 0;
  for (let i = 0; i < data.length; i++) {
    const v = Math.abs(Number(data[i]));
    if (v > most && v < Infinity) most = v;
  }
  return most;
}

/**
 * Returns where two tensors differ, and stores the greatest differences in the report.
 * @param {Elements} gpu @param {Elements} cpu @param {TraceComparison} report
 */
function tensorsDiffer(gpu, cpu, report) {
  const most = gpu.dtype.startsWith('float') ? greatest(cpu.data) : 0;
  for (let i = 0; i < cpu.data.length; i++) {
    const a = gpu.data[i],
      b = cpu.data[i];
    if (Object.is(a, b) || a === b) continue;
    const abs = Math.abs(Number(a) - Number(b));
    if (!(abs <= RTOL * most)) return `element ${i} is ${a} on the GPU and ${b} on the CPU`;
    report.maxAbs = Math.max(report.maxAbs, abs);
    report.maxRel = Math.max(report.maxRel, abs / most);
  }
  return undefined;
}

/** @param {unknown} v @returns {v is Elements & { shape: number[] }} */
const isTensor = (v) => typeof v === 'object' && v !== null && 'data' in v && 'dtype' in v;

/** @param {unknown} gpu @param {unknown} cpu @param {TraceComparison} report @returns {string | undefined} */
function valuesDiffer(gpu, cpu, report) {
  if (Array.isArray(gpu) && Array.isArray(cpu)) {
    if (gpu.length !== cpu.length) return `the GPU gives ${gpu.length} values and the CPU ${cpu.length}`;
    return gpu.map((v, i) => valuesDiffer(v, cpu[i], report)).find((text) => text !== undefined);
  }
  if (isTensor(gpu) && isTensor(cpu)) {
    if (gpu.dtype !== cpu.dtype || String(gpu.shape) !== String(cpu.shape))
      return `the GPU gives ${gpu.dtype}[${gpu.shape}] and the CPU ${cpu.dtype}[${cpu.shape}]`;
    return tensorsDiffer(gpu, cpu, report);
  }
  if (typeof gpu === 'number' && typeof cpu === 'number')
    return tensorsDiffer({ dtype: 'float64', data: [gpu] }, { dtype: 'float64', data: [cpu] }, report);
  return Object.is(gpu, cpu) || typeof gpu === 'object' ? undefined : `the GPU gives ${gpu} and the CPU ${cpu}`;
}

/**
 * Runs a test vector on the CPU, and then on the GPU until an operator differs.
 * @param {LocalHost} host @param {ComparedGpu} gpu
 * @param {import('../api/model.js').DiffOptions} options @returns {Promise<TraceComparison>}
 */
export async function compareDevices(host, gpu, options) {
  checkOptions('diff', options, ['device', 'test']);
  const { device, test = 0 } = options;
  if (device !== 'webgpu') throw badArgument(`diff: device must be 'webgpu', got ${describeValue(device)}`);
  checkInteger('diff: the number of a test vector', test, 0);
  /** @type {{ instr: number, results: StepValue[] }[]} */ const onCpu = [];
  gpu.setIdle(1);
  try {
    await walk(host, test, ({ instr }, results) => void onCpu.push({ instr, results }));
  } finally {
    gpu.setIdle(0);
  }
  /** @type {TraceComparison} */ const report = { compared: 0, unpaired: 0, maxAbs: 0, maxRel: 0, first: null };
  /** @type {Map<number, number>} */ const rounds = new Map();
  await walk(host, test, ({ method, instr, op }, results) => {
    const iteration = rounds.get(instr) ?? 0,
      cpu = onCpu[report.compared];
    rounds.set(instr, iteration + 1);
    const text =
      cpu?.instr === instr ? valuesDiffer(results, cpu.results, report) : 'the CPU does not run this operator here';
    if (text === undefined) return void report.compared++;
    report.first = { method, instr, iteration, message: `${op}: ${text}`, source: '' };
    return true;
  });
  return report;
}

/** Returns the Python line of an instruction, if it is known. @param {LocalHost} host @param {FirstDifference} first */
function placeOf(host, { method, instr }) {
  const { methods, sources } = /** @type {import('../api/graph.js').GraphJson} */ (JSON.parse(host.graphText()));
  const where = sources[methods[method]?.instructions[instr]?.source ?? -1];
  return where?.file ? ` (${where.file}:${where.line})` : '';
}

/** Returns what is known of a wrong answer. @param {LocalHost} host @param {ComparedGpu} gpu @param {number} test */
async function explain(host, gpu, test) {
  const unknown = () => `; the first operator that differs is not known: ${gpu.fault}`;
  if (gpu.fault !== undefined) return unknown();
  try {
    const { first } = await compareDevices(host, gpu, { device: 'webgpu', test });
    return first
      ? `; the first operator that differs is ${first.message}${placeOf(host, first)}`
      : '; no operator differs from the CPU';
  } catch (e) {
    if (!isLost(e)) throw e;
    return unknown();
  }
}

/**
 * Marks the test vectors whose answers are not the GPU's: that in which it was lost, and those that then ran on the
 * CPU.
 * @param {import('../api/model.js').VerifyReport} report @param {ComparedGpu} gpu
 */
function markLost({ tests }, { fault }) {
  const first = tests.findIndex((test) => test.code === 'device-lost');
  for (const { index } of tests.slice(Math.max(0, first)))
    tests[index] = {
      index,
      passed: false,
      code: 'device-lost',
      message: `test vector ${index}: the GPU gave no answer: ${fault}`,
      maxAbs: 0,
      maxRel: 0,
      compared: 0,
    };
  return { passed: false, tests };
}

/**
 * Runs the test vectors on one of both devices. A wrong answer of the GPU names the first operator that differs.
 * @param {LocalHost} host @param {ComparedGpu} gpu
 * @param {import('../api/model.js').VerifyOptions} options
 * @param {import('../engine/host.js').Diagnostics['verify']} verify
 */
export async function verifyOn(host, gpu, options, verify) {
  if (options.device !== 'cpu') {
    const report = await verify(options);
    const whole = gpu.fault === undefined ? report : markLost(report, gpu);
    for (const test of whole.tests) if (test.code === 'mismatch') test.message += await explain(host, gpu, test.index);
    return whole;
  }
  gpu.setIdle(1);
  try {
    return await verify(options);
  } finally {
    gpu.setIdle(0);
  }
}
