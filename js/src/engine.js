// One model in one wasm instance: typed calls on rushlight.h. It knows no promises but the pauses of a
// run, so that it can live in a worker as well as on the page.

import { RushlightError, STATUS, throwIfAborted } from './errors.js';
import { breathe } from './platform.js';
import { VALUE_BYTES, Values } from './values.js';

/**
 * @typedef {import('./runtime.js').Runtime} Runtime
 * @typedef {import('./types.js').Port} Port
 * @typedef {import('./types.js').Value} Value
 * @typedef {import('./errors.js').ErrorCode} ErrorCode
 *
 * @typedef {object} Method
 * @property {string} name
 * @property {Port[]} inputs
 * @property {Port[]} outputs
 * @property {string} result the type of what it returns
 *
 * @typedef {object} Description what a .rush file says about itself
 * @property {number} format its version
 * @property {number} bytes size of the file, of its head and of its weights
 * @property {number} headBytes
 * @property {number} weightsBytes
 * @property {Port[]} inputs of the first method
 * @property {Port[]} outputs
 * @property {Method[]} methods
 * @property {{ name: string, count: number }[]} operators and how many instructions use each
 * @property {MissingOperator[]} missing operators that this runtime lacks
 * @property {{ name: string, type: string }[]} attributes that the program changes
 * @property {{ name: string, dtype: string, shape: number[], bytes: number }[]} weights
 * @property {number} tests how many test vectors verify() would replay
 * @property {Record<string, string>} meta free text: producer, licence
 *
 * @typedef {object} MissingOperator
 * @property {string} name
 * @property {number} count
 * @property {string} schema
 * @property {string} file the Python line that first uses it; "" and 0 where unknown
 * @property {number} line
 *
 * @typedef {object} ProfileRow the time of one instruction of the program
 * @property {string} op
 * @property {string} method
 * @property {number} instr its index
 * @property {string} source the Python file and line, "" where unknown
 * @property {number} calls
 * @property {number} ms
 *
 * @typedef {number & { __ptr: 'Ctx' }} Ctx
 * @typedef {number & { __ptr: 'Loader' }} Loader
 * @typedef {number & { __ptr: 'ModelPtr' }} ModelPtr
 * @typedef {number & { __ptr: 'Session' }} Session
 */

/** Where struct members lie; wasm/bridge/bridge.c asserts the same. */
const OFFSETS = {
  report: { maxAbs: 0, maxRel: 8, compared: 16 },
  row: { bytes: 40, op: 0, method: 4, instr: 8, file: 12, line: 16, calls: 24, seconds: 32 },
};
const PENDING = STATUS.indexOf('pending');
const MISMATCH = STATUS.indexOf('mismatch');

/** A run that can be stopped pauses this often, and looks at the clock every so many instructions. */
const SLICE_MS = 8;
const SLICE_INSTRS = 8;

/** "forward, instruction 12 (aten::relu) at model.py:7: ..." */
const WHERE = /^\S+, instruction \d+ \(([^)]*)\)(?: at (.+?:\d+))?: /;

export class Engine {
  /** @type {Ctx} */ ctx;
  session = /** @type {Session} */ (0);
  #model = /** @type {ModelPtr} */ (0);
  #loader = /** @type {Loader} */ (0);
  alive = true;

  /** @param {Runtime} runtime */
  constructor({ c, memory, backend }) {
    this.c = this.#guarded(c);
    this.memory = memory;
    this.backend = backend;
    this.values = new Values(this);
    this.ctx = /** @type {Ctx} */ (this.#made((out) => this.c.rush_bridge_ctx_create(out)));
    this.#loader = /** @type {Loader} */ (this.#made((out) => this.c.rush_loader_create(this.ctx, out)));
  }

  /** A trap is a fault of the runtime: whatever is left of the instance is not used again. @param {import('./runtime.js').C} c @returns {import('./runtime.js').C} */
  #guarded(c) {
    const guarded = /** @type {Record<string, (...args: number[]) => number>} */ ({});
    for (const [name, f] of Object.entries(c)) {
      if (typeof f === 'function') {
        guarded[name] = (...args) => {
          if (!this.alive) throw new RushlightError('disposed', 'the model is gone: it was disposed, or its runtime failed');
          try {
            return f(...args);
          } catch (e) {
            this.alive = false;
            throw new RushlightError('internal', `the runtime failed in ${name}: ${e instanceof Error ? e.message : e}`, { cause: e });
          }
        };
      }
    }
    return /** @type {any} */ (guarded);
  }

  // ---- Memory for one call

  /** wasm gives addresses above 2 GiB as negative numbers. @param {number} p */
  pointer(p) { return p >>> 0; }

  /** @template T @param {number} n @param {(at: number) => T} use @returns {T} */
  withBytes(n, use) {
    const at = this.pointer(this.c.malloc(n || 1));
    if (at === 0) throw new RushlightError('out-of-memory', `no memory for ${n} bytes`);
    try {
      return use(at);
    } finally {
      if (this.alive) this.c.free(at);
    }
  }

  /** Room for n values, None at first, which are released afterwards. @template T @param {number} n @param {(at: number) => T} use @returns {T} */
  withValues(n, use) {
    return this.withBytes(n * VALUE_BYTES, (at) => {
      for (let i = 0; i < 2 * n; i++) this.memory.setI64(at + 8 * i, 0n);
      try {
        return use(at);
      } finally {
        for (let i = 0; this.alive && i < n; i++) this.c.rush_value_release(this.session, at + VALUE_BYTES * i);
      }
    });
  }

  /** The pointer that a C function leaves in its `out`. @param {(out: number) => number} make */
  #made(make) {
    return this.withBytes(8, (out) => {
      this.check(make(out));
      return this.memory.u32(out);
    });
  }

  /** Throws what a status other than OK means. @param {number} status @param {number} [ctx] */
  check(status, ctx = this.ctx) {
    if (status !== 0) throw this.#error(status, ctx);
  }

  /** @param {number} status @param {number} [ctx] */
  #error(status, ctx = this.ctx) {
    const code = /** @type {ErrorCode} */ (STATUS[status] ?? 'internal');
    const message = ctx ? this.memory.cString(this.pointer(this.c.rush_ctx_error(ctx))) : '';
    const where = WHERE.exec(message);
    return new RushlightError(code, message || code, { op: where?.[1], source: where?.[2] });
  }

  // ---- Loading

  /**
   * Puts bytes of the file to their place: one copy. Returns how many were taken; fewer than given
   * only where the file, or its head if that is all that is wanted, ends before them.
   * @param {Uint8Array} chunk @param {boolean} headOnly
   */
  feed(chunk, headOnly) {
    return this.withBytes(8, (out) => {
      let used = 0;
      while (used < chunk.length && !(headOnly && this.#known())) {
        this.check(this.c.rush_loader_window(this.#loader, out, out + 4));
        const room = this.memory.u32(out + 4);
        if (room === 0) break;
        const n = Math.min(room, chunk.length - used);
        this.memory.copyIn(this.memory.u32(out), chunk.subarray(used, used + n));
        this.check(this.c.rush_loader_advance(this.#loader, n));
        used += n;
      }
      return used;
    });
  }

  /** The file's size; 0 while its header has not arrived. @returns {number} */
  total() { return this.c.rush_bridge_total(this.#loader); }

  /** The model; while loading its head, 0 before that has arrived. */
  #known() { return this.#model || this.pointer(this.c.rush_loader_head(this.#loader)); }
  hasHead() { return this.#known() !== 0; }

  /** What the file says about itself. @returns {Description} */
  head() { return JSON.parse(this.#describe(this.#known(), 1)); }

  /** The same for people. */
  describeText() { return this.#describe(this.#known(), 0); }

  /** @param {number} model @param {number} form */
  #describe(model, form) {
    return this.withBytes(8, (out) => {
      this.check(this.c.rush_model_describe(this.ctx, model, form, out, out + 4));
      const text = this.memory.cString(this.memory.u32(out));
      this.c.rush_free(this.ctx, this.memory.u32(out), this.memory.u32(out + 4));
      return text;
    });
  }

  /** Ends loading: makes the model and its session. */
  finish() {
    this.#model = /** @type {ModelPtr} */ (this.#made((out) => this.c.rush_loader_finish(this.#loader, out)));
    this.c.rush_loader_destroy(this.#loader);
    this.#loader = /** @type {Loader} */ (0);
    this.session = /** @type {Session} */ (this.#made((out) => this.c.rush_session_create(this.ctx, this.#model, out)));
  }

  /** Frees everything, at any time. The instance's memory goes with the last reference to it. */
  destroy() {
    if (!this.alive) return;
    this.c.rush_session_destroy(this.session);
    if (this.#model) this.c.rush_model_destroy(this.ctx, this.#model);
    this.c.rush_loader_destroy(this.#loader);
    if (this.ctx) this.c.rush_ctx_destroy(this.ctx);
    this.alive = false;
    this.c = /** @type {any} */ (undefined);
    this.memory = /** @type {any} */ (undefined);
    this.values = /** @type {any} */ (undefined);
  }

  // ---- Running

  /**
   * Runs a method: `write` makes the arguments, `read` takes the result.
   * @template T
   * @param {number} method @param {number} n how many arguments
   * @param {(at: number, i: number) => void} write @param {(at: number) => T} read
   * @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  async run(method, n, write, read, signal) {
    this.withValues(n, (args) => {
      for (let i = 0; i < n; i++) write(args + VALUE_BYTES * i, i);
      this.check(this.c.rush_session_begin(this.session, method, args, n));
    });
    await this.#drive(signal);
    return this.withValues(1, (at) => {
      this.check(this.c.rush_session_result(this.session, at));
      return read(at);
    });
  }

  /** Steps to the end of the run. Without a signal nobody can stop it, so it is one step. @param {AbortSignal} [signal] */
  async #drive(signal) {
    let since = performance.now();
    for (;;) {
      const status = this.c.rush_bridge_step(this.session, signal ? SLICE_INSTRS : 0);
      if (status !== PENDING) return this.check(status);
      if (performance.now() - since < SLICE_MS) continue;
      await breathe();
      if (!this.alive) throw new RushlightError('disposed', 'the model was disposed during a run');
      if (signal?.aborted) this.c.rush_session_cancel(this.session);
      throwIfAborted(signal, 'the run');
      since = performance.now();
    }
  }

  reset() { this.check(this.c.rush_session_reset(this.session)); }

  /** @returns {number} */
  testCount() { return this.c.rush_model_test_count(this.#model); }

  /** Replays a test vector. @param {number} index */
  verify(index) {
    return this.withBytes(24, (at) => {
      for (let i = 0; i < 3; i++) this.memory.setI64(at + 8 * i, 0n);
      const status = this.c.rush_session_verify(this.session, index, at);
      const error = status === 0 ? undefined : this.#error(status);
      if (error && status !== MISMATCH && error.code === 'internal') throw error;
      return {
        index,
        passed: !error,
        ...(error && { code: error.code, message: error.message }),
        maxAbs: this.memory.f64(at + OFFSETS.report.maxAbs),
        maxRel: this.memory.f64(at + OFFSETS.report.maxRel),
        compared: Number(this.memory.i64(at + OFFSETS.report.compared)),
      };
    });
  }

  /** @param {boolean} on */
  profile(on) { this.check(this.c.rush_bridge_profile(this.session, on ? 1 : 0)); }

  /** @param {string[]} methods their names @returns {ProfileRow[]} */
  profileRows(methods) {
    const { memory: m } = this;
    const o = OFFSETS.row;
    return this.withBytes(8, (out) => {
      this.check(this.c.rush_session_profile_rows(this.session, out, out + 4));
      const at = m.u32(out), n = m.u32(out + 4);
      const rows = Array.from({ length: n }, (_, i) => {
        const row = at + i * o.bytes, file = m.cString(m.u32(row + o.file));
        return {
          op: m.cString(m.u32(row + o.op)),
          method: methods[m.u32(row + o.method)] ?? '',
          instr: m.u32(row + o.instr),
          source: file && `${file}:${m.u32(row + o.line)}`,
          calls: Number(m.i64(row + o.calls)),
          ms: m.f64(row + o.seconds) * 1e3,
        };
      });
      this.c.rush_free(this.ctx, at, n * o.bytes);
      return rows;
    });
  }

  /** Bytes that the runtime holds now and held at most, and the size of the wasm memory. */
  usage() {
    return this.withBytes(8, (out) => {
      this.c.rush_ctx_memory(this.ctx, out, out + 4);
      return { live: this.memory.u32(out), peak: this.memory.u32(out + 4), heap: this.memory.size };
    });
  }
}
