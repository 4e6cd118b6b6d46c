// Functions of tools: they replay the test vectors, time instructions and run step by step. The core imports this
// module on first use.

import { PENDING } from './engine.js';
import { RushlightError, badArgument, checkInteger, checkOptions, describeValue, messageOf } from '../base/errors.js';
import { checkReplaceable, debugValues } from './debug-values.js';
import { writeValues } from './ops.js';
import { parseType } from '../base/types.js';

/**
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('./engine.js').ProfileRow} ProfileRow
 * @typedef {import('./host.js').LocalHost} LocalHost
 * @typedef {import('./host.js').Diagnostics} Diagnostics
 * @typedef {import('../api/model.js').VerifyTest} VerifyTest
 * @typedef {{ gpu?: { arrive: () => Promise<boolean> } }} WithGpu a host of gpu/load-gpu.js
 */

// Offsets of members of C structs. wasm/bridge/bridge.c asserts the same values.
/** Sizes of reports. They have members of 8 bytes, and the report of a trace has three more of 4 bytes. */
const REPORT_BYTES = 80,
  TRACE_BYTES = 32;
const ROW_BYTES = 40,
  ROW_CALLS = 24,
  ROW_SECONDS = 32;

/** @param {string} where */
const needsGpu = (where) =>
  new RushlightError('unsupported', `${where}: the model must run on the GPU: load it with device: 'webgpu'`);

/** Refuses results on the GPU, for a model on the CPU. @returns {never} */
export function refuse() {
  throw needsGpu('run: outputDevice');
}

/** @implements {Diagnostics} */
export class LocalDiagnostics {
  #host;
  #engine;

  /** @param {LocalHost} host */
  constructor(host) {
    this.#host = host;
    this.#engine = host.engine;
  }

  /**
   * @param {import('../api/model.js').VerifyOptions} [options]
   * @returns {Promise<import('../api/model.js').VerifyReport>}
   */
  async verify(options = {}) {
    const engine = this.#engine,
      tests = [];
    checkOptions('verify', options, ['device']);
    const { device } = options;
    if (device !== undefined && device !== 'cpu' && device !== 'webgpu')
      throw badArgument(`verify: device must be 'cpu' or 'webgpu', got ${describeValue(device)}`);
    if (device === 'webgpu' && !engine.backend.device) throw needsGpu('verify');
    for (let i = 0; i < engine.c.rush_model_test_count(engine.model); i++) tests.push(await verifyOne(engine, i));
    return { passed: tests.length > 0 && tests.every((t) => t.passed), tests };
  }

  /** @param {number | import('../api/model.js').DiffOptions} index */
  async diff(index) {
    const engine = this.#engine;
    if (typeof index === 'object') throw needsGpu('diff');
    checkInteger('diff: the number of a test vector', index, 0);
    engine.check(engine.c.rush_session_trace_test(engine.session, index));
    const error = await engine.drive().then(
      () => undefined,
      (e) => e,
    );
    if (error && !engine.alive) throw error;
    const { memory: m, scratch: at } = engine;
    const status = engine.c.rush_session_trace_end(engine.session, at);
    if (error && status === 0) throw error;
    const [, , maxAbs, maxRel] = /** @type {[bigint, bigint, number, number]} */ (
      /** @type {unknown} */ (m.copyOut(Float64Array, at, TRACE_BYTES))
    );
    const [compared, unpaired] = m.copyOut(BigInt64Array, at, TRACE_BYTES);
    const [method, instr, iteration] = m.words(at + TRACE_BYTES);
    const difference = status ? engine.error(status) : null;
    return {
      compared: Number(compared),
      unpaired: Number(unpaired),
      maxAbs,
      maxRel,
      first: difference && { method, instr, iteration, message: difference.message, source: difference.source ?? '' },
    };
  }

  /**
   * @param {number} index of the method
   * @param {readonly import('../base/types.js').InputValue[]} args
   * @param {number} runs
   * @param {AbortSignal} [signal]
   */
  async profile(index, args, runs, signal) {
    checkInteger('profile: runs', runs, 1);
    const engine = this.#engine,
      host = this.#host;
    const on = (/** @type {0 | 1} */ yes) => engine.check(engine.c.rush_bridge_profile(engine.session, yes));
    on(1);
    try {
      for (let i = 0; i < runs; i++)
        await engine.run(index, args.length, host.writer(index, args), () => {}, true, signal);
      return profileRows(
        engine,
        host.description.methods.map((m) => m.name),
      ).sort((a, b) => b.ms - a.ms);
    } finally {
      if (engine.alive) on(0);
    }
  }

  /** @param {boolean} withArgs */
  async next(withArgs) {
    const next = this.#engine.next();
    return {
      instr: next.instr,
      op: next.op,
      args: withArgs && next.op !== '' ? debugValues(this.#engine, next) : null,
    };
  }

  async step() {
    const engine = this.#engine,
      next = engine.next();
    engine.check(engine.c.rush_session_observe(engine.session, 1));
    const start = performance.now();
    await advance(this.#host, next);
    const ms = performance.now() - start;
    return { results: next.op === '' ? [] : resultsOf(engine), ms };
  }

  /** @param {'provide' | 'replace'} how @param {unknown[]} values @param {string[]} types */
  async put(how, values, types) {
    const engine = this.#engine,
      { c, session } = engine,
      put = how === 'provide' ? c.rush_session_provide : c.rush_session_replace;
    try {
      checkReplaceable(values);
      writeValues(engine, values, types.map(parseType), (at) => put(session, at, values.length));
    } catch (e) {
      throw e instanceof RushlightError
        ? e
        : badArgument(`${how}: a result cannot be read: ${messageOf(e)}`, { cause: e });
    }
  }

  async result() {
    return this.#engine.result(this.#host.reader(this.#host.method, 'named'));
  }

  async end() {
    this.#engine.c.rush_session_cancel(this.#engine.session);
    this.#engine.check(this.#engine.c.rush_session_observe(this.#engine.session, 0));
  }
}

/** Returns the results of the operator that has run, if the session is observed. @param {Engine} engine */
export function resultsOf(engine) {
  const at = engine.c.rush_session_results(engine.session, engine.scratch);
  return debugValues(engine, { at, n: engine.memory.u32(engine.scratch) });
}

/**
 * Runs the next instruction. Returns whether the run has ended.
 * @param {LocalHost} host @param {import('./engine.js').Next} next
 */
export async function advance(host, next) {
  const { engine } = host;
  if (next.waits) {
    await /** @type {import('./ops.js').OpTable} */ (engine.ops).compute(engine, next);
    return false;
  }
  let status;
  do status = engine.c.rush_bridge_step(engine.session, 1);
  while (status === PENDING && (await /** @type {WithGpu} */ (host).gpu?.arrive()));
  if (status === PENDING) return false;
  engine.check(status);
  return true;
}

/** @param {Engine} engine @param {number} index */
async function verifyOne(engine, index) {
  const error = await replay(engine, index).then(
    () => undefined,
    (/** @type {RushlightError} */ e) => e,
  );
  if (error && !(engine.alive && error instanceof RushlightError)) throw error;
  const { memory: m, scratch: at } = engine;
  m.copyIn(at, new Uint8Array(REPORT_BYTES));
  const status = error ? 0 : engine.c.rush_session_verify_end(engine.session, index, at);
  const failure = error ?? (status ? engine.error(status) : undefined);
  const [maxAbs, maxRel, , , ...distances] = m.copyOut(Float64Array, at, REPORT_BYTES);
  const [, , compared, measured] = m.copyOut(BigInt64Array, at, REPORT_BYTES);
  const [pytorch, rushlight, difference] = [0, 2, 4].map((i) => ({ max: distances[i], l2: distances[i + 1] }));
  return /** @type {VerifyTest} */ ({
    index,
    passed: !failure,
    ...(failure && { code: failure.code, message: failure.message }),
    maxAbs,
    maxRel,
    compared: Number(compared),
    ...(measured && { float64: { pytorch, rushlight, difference } }),
  });
}

/** @param {Engine} engine @param {number} index */
async function replay(engine, index) {
  engine.check(engine.c.rush_session_verify_begin(engine.session, index));
  await engine.drive();
}

/** @param {Engine} engine @param {string[]} methods their names @returns {ProfileRow[]} */
function profileRows(engine, methods) {
  const { memory: m, scratch: out } = engine;
  engine.check(engine.c.rush_session_profile_rows(engine.session, out, out + 4));
  const [at, n] = m.words(out);
  const rows = Array.from({ length: n }, (_, i) => {
    const row = at + i * ROW_BYTES;
    const [op, method, instr, file, line] = m.words(row);
    return {
      op: m.cString(op),
      method: methods[method] ?? '',
      instr,
      source: engine.line(file, line),
      calls: Number(m.i64(row + ROW_CALLS)),
      ms: m.f64(row + ROW_SECONDS) * 1e3,
    };
  });
  engine.c.rush_free(engine.ctx, at, n * ROW_BYTES);
  return rows;
}
