// One model in one wasm instance: typed calls of the functions of rushlight.h. Only a run is asynchronous, so that the
// engine works in a worker and on the page.

import { RushlightError, disposedError, messageOf, throwIfAborted } from '../base/errors.js';
import { yieldToEventLoop } from '../base/platform.js';
import { parseType } from '../base/types.js';
import { VALUE_BYTES, Values } from './values.js';

/**
 * @typedef {import('./runtime.js').Runtime} Runtime
 * @typedef {import('../base/types.js').Port} Port
 * @typedef {import('../base/types.js').Value} Value
 * @typedef {import('../base/errors.js').ErrorCode} ErrorCode
 *
 * @typedef {object} Method a method of the model
 * @property {string} name its name, such as "forward"
 * @property {Port[]} inputs its arguments, in order
 * @property {Port[]} outputs the items of a tuple, nothing for None, or the one result
 * @property {string} result the type of its result
 *
 * @typedef {object} Description the contents of a .rush file
 * @property {number} format the version of the format
 * @property {number} bytes the size of the file
 * @property {number} headBytes the size of the head, before the weights
 * @property {number} weightsBytes the size of the weights
 * @property {LeastMemory} memory the memory that it needs at least
 * @property {Port[]} inputs of the first method
 * @property {Port[]} outputs of the first method
 * @property {Method[]} methods in the file's order
 * @property {Operator[]} operators that the program uses
 * @property {MissingOperator[]} missing operators that this runtime lacks
 * @property {Attribute[]} attributes that the program changes
 * @property {WeightInfo[]} weights tensors of the file
 * @property {number} tests the number of test vectors
 * @property {Record<string, string>} meta free text, such as producer and license
 * @property {AssetInfo[]} assets files for the application, which model.asset() opens; sorted by name
 *
 * @typedef {object} LeastMemory the memory that a model needs before its first operator runs. A run needs more,
 *   depending on its inputs: see model.memory()
 * @property {number} least bytes of the file, and of the first method's inputs with the sizes of the export's examples
 * @property {number} limit the bytes that it may use: the option `limits`, or all that wasm can address
 * @property {boolean} fits whether `least` is at most `limit`
 *
 * @typedef {object} Operator an operator that a program uses
 * @property {string} name "aten::add.Tensor"
 * @property {number} count the number of instructions that use it
 * @property {string} [schema] its schema, if the option `ops` computes it; the next two fields likewise
 * @property {OperatorArgument[]} [args] its arguments
 * @property {string[]} [results] types of its results, as in Port
 *
 * @typedef {object} OperatorArgument an argument of a schema
 * @property {boolean} written whether the operator writes it
 * @property {number} result the index of the result that it then is, or -1
 *
 * @typedef {object} MissingOperator an operator that this runtime lacks
 * @property {string} name "my_ops::warp"
 * @property {number} count the number of instructions that use it
 * @property {string} schema the schema at export
 * @property {string} file the Python file that first uses it; "" if it is unknown
 * @property {number} line the line, from 1; 0 if it is unknown
 *
 * @typedef {object} Attribute a value that the program changes and keeps between runs
 * @property {string} name its path, "layer.cache"
 * @property {string} type as in Port
 *
 * @typedef {object} WeightInfo a tensor of the file
 * @property {string} name its name, such as "conv1.weight"; "" if the file has none
 * @property {string} dtype of the elements
 * @property {number[]} shape the size of each dimension
 * @property {number} bytes of the elements
 * @property {boolean} used whether the program uses it; other tensors belong to test vectors
 *
 * @typedef {object} AssetInfo a file for the application
 * @property {string} name its name, such as "labels.txt"
 * @property {number} offset its first byte in the .rush file
 * @property {number} bytes its size
 * @property {string} sha256 the digest of its bytes, in hexadecimal digits
 *
 * @typedef {object} Next the instruction that is to run
 * @property {number} method the method whose instruction it is
 * @property {number} instr counted from the method's first
 * @property {string} op "" for control flow
 * @property {boolean} waits whether a function of `ops` computes it
 * @property {number} at where its arguments lie
 * @property {number} n how many
 *
 * @typedef {object} ProfileRow the time of one instruction of the program
 * @property {string} op "aten::add.Tensor"
 * @property {string} method the method whose instruction it is
 * @property {number} instr its index
 * @property {string} source the Python file and line; "" if they are unknown
 * @property {number} calls the number of its runs
 * @property {number} ms the time of all runs on the CPU, which for operators on a GPU records their commands
 * @property {number} [gpuMs] the time of their kernels, if the model runs on a GPU that has timestamps
 *
 * @typedef {number & { __ptr: 'Ctx' }} Ctx
 * @typedef {number & { __ptr: 'Loader' }} Loader
 * @typedef {number & { __ptr: 'ModelPtr' }} ModelPtr
 * @typedef {number & { __ptr: 'Session' }} Session
 */

// Offsets of members of C structs. wasm/bridge/bridge.c asserts the same values, and the order of members that
// memory.words() returns.
/** The offset of a location in the scratch memory, after the output of other calls. */
const LOCATION_AT = 80;
export const PENDING = 8;

/** A run yields this often. It reads the clock when C has done about a millisecond of work. */
const SLICE_MS = 8;

/**
 * Replaces the functions, memory and values of a disposed model. The caller may dispose the model during any await, and
 * the code after the await then throws.
 */
const GONE = /** @type {Runtime & import('./runtime.js').C & import('./memory.js').Memory & Values} */ (
  new Proxy(
    {},
    {
      get() {
        throw disposedError();
      },
    },
  )
);

export class Engine {
  /** @type {Ctx} */ ctx;
  session = /** @type {Session} */ (0);
  /** 112 bytes for the outputs of C functions, which are read before the next call. */
  scratch = 0;
  model = /** @type {ModelPtr} */ (0);
  #loader = /** @type {Loader} */ (0);
  alive = true;
  /** The last chunks of the file, in which its assets are. @type {ReturnType<Uint8Array['slice']>[]} */ tail = [];
  #runtime;
  /** The time of the last yield. */ #since = 0;
  /** @type {AbortSignal | undefined} */ #signal;

  /**
   * @param {Runtime} runtime
   * @param {import('./ops.js').OpTable} [ops]
   * @param {import('../api/load.js').Limits} [limits]
   */
  constructor(runtime, ops, limits = {}) {
    this.limits = limits;
    this.#runtime = runtime;
    this.ops = ops;
    this.c = this.#guarded(runtime.c);
    this.memory = runtime.memory;
    this.backend = runtime.backend;
    // Yields if it is time. Returns whether the run must end.
    runtime.pause = async () => {
      const now = performance.now();
      if (now - this.#since > SLICE_MS) {
        await yieldToEventLoop();
        if (!this.alive) throw disposedError();
        runtime.away += (this.#since = performance.now()) - now;
      }
      return this.#signal?.aborted;
    };
    this.scratch = this.malloc(112);
    this.values = new Values(this);
    this.ctx = /** @type {Ctx} */ (this.#create((out) => this.c.rush_bridge_ctx_create(out)));
    this.c.rush_bridge_memory_limit(this.ctx, limits.bytes ?? 0);
    runtime.threads?.begin(runtime, this.ctx);
    this.#loader = /** @type {Loader} */ (this.#create((out) => this.c.rush_loader_create(this.ctx, out)));
    ops?.register(this);
  }

  /**
   * Wraps the functions of C. A trap is a fault of the runtime, and the instance is not used again.
   * @param {import('./runtime.js').C} c
   * @returns {import('./runtime.js').C}
   */
  #guarded(c) {
    const guarded =
      /**
       * @type {Record<string, (a: number, b: number, c: number, d: number, e: number, g: number) =>
       *   number | Promise<number>>}
       */ ({});
    for (const [name, f] of Object.entries(c)) {
      if (typeof f === 'function') {
        const fail = (/** @type {unknown} */ e) => {
          if (e instanceof RushlightError) throw e;
          this.destroy();
          throw new RushlightError('internal', `the runtime failed in ${name}: ${messageOf(e)}`, { cause: e });
        };
        guarded[name] = (a, b, c, d, e, g) => {
          // No function has more parameters. An array of arguments would cost as much as the call.
          try {
            const result = f(a, b, c, d, e, g);
            if (typeof result === 'object') return result.catch(fail);
            return result < 0 ? result >>> 0 : result; // wasm gives addresses above 2 GiB as negative numbers
          } catch (error) {
            return fail(error);
          }
        };
      }
    }
    return /** @type {import('./runtime.js').C} */ (guarded);
  }

  // ---- Memory for one call

  /** @param {number} n bytes */
  malloc(n) {
    const at = this.c.malloc(n || 1);
    if (!at) throw new RushlightError('out-of-memory', `cannot allocate ${n} bytes`);
    return at;
  }

  /** @template T @param {number} n @param {(at: number) => T} use @returns {T} */
  withBytes(n, use) {
    const at = this.malloc(n);
    try {
      return use(at);
    } finally {
      if (this.alive) this.c.free(at);
    }
  }

  /**
   * Room for n values, None at first, which are released afterwards.
   * @template T
   * @param {number} n
   * @param {(at: number) => T} use
   * @returns {T}
   */
  withValues(n, use) {
    return this.withBytes(n * VALUE_BYTES, (at) => {
      this.memory.copyIn(at, new Uint8Array(n * VALUE_BYTES));
      try {
        return use(at);
      } finally {
        for (let i = 0; this.alive && i < n; i++) this.c.rush_value_release(this.session, at + VALUE_BYTES * i);
      }
    });
  }

  /** Returns the pointer that a C function writes to `out`. @param {(out: number) => number} make */
  #create(make) {
    this.check(make(this.scratch));
    return this.memory.u32(this.scratch);
  }

  /** Throws the error of a status other than OK. @param {number} status */
  check(status) {
    if (status) throw this.error(status);
  }

  /**
   * Returns the error of a status, with the operator, Python line and input, if they are known.
   * @param {number} status
   */
  error(status) {
    const code = /** @type {ErrorCode} */ (this.memory.cString(this.c.rush_status_name(status)));
    if (!this.ctx) return new RushlightError(code, code);
    const at = this.scratch + LOCATION_AT,
      message = this.memory.cString(this.c.rush_ctx_error(this.ctx)) || code;
    this.c.rush_ctx_location(this.ctx, at);
    const [, , op, file, line] = this.memory.words(at);
    return new RushlightError(code, message, {
      op: this.memory.cString(op) || undefined,
      source: this.line(file, line) || undefined,
      // C has it only in the message: another field would cost each slim runtime more than this pattern.
      input: message.match(/^(size .+)?input "(.*?)"/)?.[2],
    });
  }

  /** Returns "model.py:7", or "" if the line is unknown. @param {number} file its name @param {number} line */
  line(file, line) {
    const name = this.memory.cString(file);
    return name && `${name}:${line}`;
  }

  // ---- Loading

  /**
   * Copies bytes of the file to their place in memory. Returns the number of used bytes, which is smaller than given
   * only at the end of the file, or of its head.
   * @param {Uint8Array} chunk @param {boolean} headOnly
   */
  feed(chunk, headOnly) {
    const out = this.scratch;
    let used = 0;
    while (used < chunk.length && !(headOnly && this.#isHeadComplete())) {
      this.check(this.c.rush_loader_window(this.#loader, out, out + 4));
      const [at, room] = this.memory.words(out);
      if (room === 0) break;
      const n = Math.min(room, chunk.length - used);
      this.memory.copyIn(at, chunk.subarray(used, used + n));
      const known = this.#isHeadComplete();
      this.check(this.c.rush_loader_advance(this.#loader, n));
      if (!known && this.#isHeadComplete()) this.ops?.check(this.head());
      used += n;
    }
    return used;
  }

  /** Returns the size of the file; 0 before its header has arrived. @returns {number} */
  total() {
    return this.c.rush_bridge_total(this.#loader);
  }

  /** Returns the model. During loading it is the head, or 0 before the head has arrived. */
  #isHeadComplete() {
    return this.model || this.c.rush_loader_head(this.#loader);
  }
  hasHead() {
    return this.#isHeadComplete() !== 0;
  }

  /** Returns the contents of the file as data. @returns {Description} */
  head() {
    return JSON.parse(this.describeText(1));
  }

  /** Describes the file as text. Forms 3 and 4 are PyTorch's own graphs and code. @param {0 | 1 | 2 | 3 | 4} [form] */
  describeText(form = 0) {
    const out = this.scratch;
    this.check(this.c.rush_model_describe(this.ctx, this.#isHeadComplete(), form, out, out + 4));
    const [at, size] = this.memory.words(out),
      text = this.memory.cString(at);
    this.c.rush_free(this.ctx, at, size);
    return text;
  }

  /** Ends loading, and makes the model and its session. */
  finish() {
    this.model = /** @type {ModelPtr} */ (this.#create((out) => this.c.rush_loader_finish(this.#loader, out)));
    this.c.rush_loader_destroy(this.#loader);
    this.#loader = /** @type {Loader} */ (0);
    this.session = /** @type {Session} */ (
      this.#create((out) => this.c.rush_session_create(this.ctx, this.model, out))
    );
    this.c.rush_bridge_step_limit(this.session, this.limits.steps ?? 0);
  }

  /**
   * Frees the model at any time, even during a run. All memory belongs to the instance, and is freed with the last
   * reference to it.
   */
  destroy() {
    if (!this.alive) return;
    this.#runtime.threads?.end();
    this.alive = false;
    this.#runtime = this.c = this.memory = this.values = GONE;
  }

  // ---- Running

  /**
   * Runs a method. `write` makes the arguments, and `read` reads the result.
   * @template T
   * @param {number} method @param {number} n how many arguments
   * @param {(at: number, i: number) => void} write @param {(at: number) => T} read
   * @param {boolean} yields whether it yields to the event loop @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  async run(method, n, write, read, yields, signal) {
    this.begin(method, n, write);
    await undefined; // the caller continues, because the arguments are copied
    await this.drive(yields, signal);
    return this.result(read);
  }

  /** Runs to the end. @param {boolean} [yields] @param {AbortSignal} [signal] */
  async drive(yields = true, signal) {
    this.#since = performance.now();
    this.#signal = signal;
    for (;;) {
      const going = yields ? this.c.rush_bridge_run(this.ctx, this.session) : this.c.rush_bridge_step(this.session, 0);
      const status = typeof going === 'number' ? going : await going;
      if (status === PENDING) {
        const next = this.ops?.size ? this.next() : undefined;
        if (next?.waits) {
          await /** @type {import('./ops.js').OpTable} */ (this.ops).compute(this, next, signal);
          this.#since = performance.now();
        } else await this.#runtime.pause();
      }
      if (status) this.unlessStopped(signal);
      if (status !== PENDING) return this.check(status);
    }
  }

  /** @param {AbortSignal} [signal] */
  unlessStopped(signal) {
    if (signal?.aborted) this.c.rush_session_cancel(this.session);
    throwIfAborted(signal, 'the run');
  }

  // ---- Operators in JavaScript

  /** Cancels the run if the status is not OK. @param {number} status @param {object} [details] */
  need(status, details) {
    if (!status) return;
    const error = Object.assign(this.error(status), details);
    this.c.rush_session_cancel(this.session);
    throw error;
  }

  /** Returns the next instruction. @returns {Next} */
  next() {
    this.need(this.c.rush_session_next(this.session, this.scratch));
    const [method, instr, op, at, n, , waits] = this.memory.words(this.scratch);
    return { method, instr, op: this.memory.cString(op), waits: (waits & 1) !== 0, at, n };
  }

  /** Begins a run. @param {number} method @param {number} n @param {(at: number, i: number) => void} write */
  begin(method, n, write) {
    this.withValues(n, (args) => {
      for (let i = 0; i < n; i++) write(args + VALUE_BYTES * i, i);
      this.check(this.c.rush_session_begin(this.session, method, args, n));
    });
  }

  /** Returns the result of the run. @template T @param {(at: number) => T} read @returns {T} */
  result(read) {
    return this.withValues(1, (at) => {
      this.check(this.c.rush_session_result(this.session, at));
      return read(at);
    });
  }

  // ---- State

  /** Returns the value of an attribute. @param {number} index @returns {Value} */
  attribute(index) {
    return this.withValues(1, (at) => {
      this.check(this.c.rush_session_get_attribute(this.session, index, at));
      return this.values.read(at);
    });
  }

  /** @param {number} index @param {{ name: string, type: string }} attribute @param {unknown} value */
  setAttribute(index, { name, type }, value) {
    this.withValues(1, (at) => {
      this.values.write(at, parseType(type), value, `attribute "${name}"`);
      this.check(this.c.rush_session_set_attribute(this.session, index, at));
    });
  }

  reset() {
    this.check(this.c.rush_session_reset(this.session));
  }

  /** Seeds the random numbers. @param {bigint} seed of 64 bits */
  manualSeed(seed) {
    this.c.rush_bridge_manual_seed(
      this.session,
      Number(BigInt.asIntN(32, seed)),
      Number(BigInt.asIntN(32, seed >> 32n)),
    );
  }

  /** Returns the bytes that the runtime holds now and held at most, and the size of the wasm memory. */
  usage() {
    this.c.rush_ctx_memory(this.ctx, this.scratch, this.scratch + 4);
    const [live, peak] = this.memory.words(this.scratch);
    return { live, peak, heap: this.memory.size };
  }
}
