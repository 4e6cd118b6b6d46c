// Chooses the wasm binary, and makes an instance of it.

import { RushlightError, badArgument, messageOf, unknownNameError, unreadableFile } from '../base/errors.js';
import { Memory } from './memory.js';
import { CONTROL, asPath, builtin, isAddress, once, packageFile, tagOf } from '../base/platform.js';
import { bytesFrom, checkResponse, fetchSource, withFirstBytes } from '../source/source.js';

/**
 * @typedef {'simd' | 'relaxed'} BackendName wasm SIMD, which every engine has, or relaxed SIMD, which is faster, and
 *   whose rounding depends on the processor
 *
 * @typedef {object} Backend the binary that runs
 * @property {BackendName} name its name
 * @property {number} threads the number of threads that compute
 * @property {'webgpu'} [device] the device that computes beside the CPU
 * @property {import('../base/types.js').WebGpuDevice} [gpuDevice] the same, to make buffers that are inputs
 * @property {string} reason the reason for this binary and this number of threads
 *
 * @typedef {string | URL | Response | WebAssembly.Module | ArrayBuffer | ArrayBufferView} WasmSource
 *   a URL (in Node also a path), or an object with the bytes
 *
 * @typedef {object} WasmSources a source for each binary
 * @property {WasmSource} [simd] rushlight-simd.wasm
 * @property {WasmSource} [relaxed] rushlight-relaxed.wasm
 *
 * @typedef {WasmSource | WasmSources} WasmOption one binary, or one for each backend
 *
 * @typedef {Record<Exclude<CName, 'rush_bridge_run'>, (...args: number[]) => number> &
 *   { rush_bridge_run: (...args: number[]) => number | Promise<number> }} C
 *   the functions of rushlight.h and wasm/bridge. rush_bridge_run gives a promise if it yields within an operator
 * @typedef {{ begin(runtime: Runtime, ctx: number): void, end(): void }} Threads of
 *   threads.js, or the device of gpu/load-gpu.js
 * @typedef {{ c: C, memory: Memory, backend: Backend, threads?: Threads, pause: () => Promise<unknown>, away: number }}
 *   Runtime pause: yields, also within an operator if the engine has JavaScript Promise Integration, and tells whether
 * the run must end; away: the time in ms that the event loop took
 *
 * @typedef {object} PromiseIntegration the part of JavaScript Promise Integration that is used here
 * @property {new (f: () => unknown) => object} [Suspending]
 * @property {(f: C['rush_bridge_run']) => (...args: number[]) => Promise<number>} [promising]
 */

/** @typedef {(
 *   | 'malloc' | 'free' | 'rush_bridge_ctx_create' | 'rush_bridge_total' | 'rush_bridge_step' | 'rush_bridge_run'
 *   | 'rush_bridge_profile' | 'rush_bridge_manual_seed' | 'rush_bridge_memory_limit' | 'rush_bridge_step_limit' |
 *   'rush_bridge_backend' | 'rush_status_name'
 *   | 'rush_ctx_add_op' | 'rush_ctx_set_threads' | 'rush_ctx_pool' | 'rush_session_next' | 'rush_session_provide' |
 *   'rush_session_write' | 'rush_session_replace'
 *   | 'rush_session_fail' | 'rush_session_observe' | 'rush_session_results' | 'rush_session_get_attribute'
 *   | 'rush_session_set_attribute' | 'rush_ctx_error' | 'rush_ctx_location' | 'rush_ctx_memory' | 'rush_free' |
 *   'rush_loader_create'
 *   | 'rush_loader_destroy' | 'rush_loader_window' | 'rush_loader_advance' | 'rush_loader_head'
 *   | 'rush_loader_finish' | 'rush_model_describe'
 *   | 'rush_model_test_count' | 'rush_session_create' | 'rush_session_begin'
 *   | 'rush_session_result' | 'rush_session_cancel' | 'rush_session_verify_begin' | 'rush_session_verify_end' |
 *   'rush_session_trace_test' | 'rush_session_trace_end' | 'rush_session_profile_rows' | 'rush_session_reset'
 *   | 'rush_value_retain' | 'rush_value_release' | 'rush_tensor_create'
 *   | 'rush_tensor_inspect' | 'rush_tensor_make_contiguous' | 'rush_str_create' | 'rush_str_bytes'
 *   | 'rush_list_create' | 'rush_tuple_create' | 'rush_dict_create' | 'rush_complex_create'
 *   | 'rush_complex_get' | 'rush_items'
 * )} CName wasm/bridge/exports.txt
 */

export const BACKENDS = /** @type {const} */ (['simd', 'relaxed']);

// A module with one function, i8x16.relaxed_swizzle of two splats. It is smaller than the library wasm-feature-detect.
const PROBE = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15,
  253, 128, 2, 11,
];
/** Tests whether the engine has relaxed SIMD. Every engine has SIMD. */
export const hasRelaxed = () => WebAssembly.validate(new Uint8Array(PROBE));

const packageBinaries = {
  simd: () => packageFile(new URL('../../wasm/rushlight-simd.wasm', import.meta.url)),
  relaxed: () => packageFile(new URL('../../wasm/rushlight-relaxed.wasm', import.meta.url)),
};
const compiled = {
  simd: once(() => compile(packageBinaries.simd)),
  relaxed: once(() => compile(packageBinaries.relaxed)),
};

const ANY = 2 ** 53;

/**
 * Reads and compiles a binary.
 * @template [T=WebAssembly.Module]
 * @param {unknown} source a WasmSource of any realm, or a function that returns its address
 * @param {(bytes: Uint8Array) => Promise<T>} [make] compiles the bytes, if they can be read
 * @returns {Promise<T | WebAssembly.Module>}
 */
export async function compile(source, make) {
  if (source instanceof WebAssembly.Module) return source;
  let name = 'the bytes given as `wasm`';
  /** @type {Uint8Array | undefined} */ let bytes;
  try {
    if (typeof source === 'function') {
      name = 'the wasm of this package';
      source = source(); // fails in a single-file bundle, which does not know its own address
    }
    if (isAddress(source)) {
      name = String(source);
      const path = asPath(source);
      source =
        path === undefined
          ? await fetchSource(source)
          : await /** @type {typeof import('node:fs')} */ (builtin('node:fs')).promises.readFile(path).catch((e) => {
              throw unreadableFile(path, e);
            });
    }
    if (tagOf(source) === 'Response') {
      name = /** @type {Response} */ (source).url || name;
      checkResponse(/** @type {Response} */ (source), name, 'the wasm');
      if (!make && /^application\/wasm/i.test(/** @type {Response} */ (source).headers.get('content-type') ?? '')) {
        return await WebAssembly.compileStreaming(/** @type {Response} */ (source));
      }
      source = await /** @type {Response} */ (source).arrayBuffer(); // the server has no content type for .wasm
    }
    bytes = bytesFrom(source, '`wasm`', 'WebAssembly.Module');
    return await (make ?? WebAssembly.compile)(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  } catch (e) {
    if (e instanceof RushlightError) throw e;
    const error = new RushlightError('unsupported', `cannot compile ${name}: ${messageOf(e)}`, {
      source: name,
      cause: e,
    });
    throw bytes?.[0] ? withFirstBytes(error, name, 'the wasm', bytes) : error;
  }
}

/** @param {string} wanted @returns {Omit<Backend, 'threads'>} */
function choose(wanted) {
  const relaxed = hasRelaxed(),
    reason = `this engine has ${relaxed ? '' : 'no '}relaxed SIMD`;
  if (wanted === 'auto') return { name: relaxed ? 'relaxed' : 'simd', reason };
  if (wanted !== 'simd' && wanted !== 'relaxed')
    throw unknownNameError('there is no backend', wanted, ['auto', ...BACKENDS]);
  if (wanted === 'relaxed' && !relaxed) throw new RushlightError('unsupported', reason);
  return { name: wanted, reason: 'requested by the option `backend`' };
}

/** @param {unknown} wasm @returns {wasm is { simd?: WasmSource, relaxed?: WasmSource }} */
const isPerBackend = (wasm) => /** @type {object | null} */ (wasm)?.constructor?.name === 'Object'; // of any realm

/**
 * Makes an instance with its own memory. The binaries of this package are compiled once.
 * @param {{ wasm?: WasmOption, backend?: string, threads?: 'auto' | number, interrupted?: () => unknown }} options
 *   interrupted: tells whether the current call must end
 * @param {(() => Promise<typeof import('../worker/threads.js')>) | undefined} importThreads imports that module
 * @returns {Promise<Runtime>}
 */
export async function createRuntime({ wasm, backend: wanted = 'auto', threads, interrupted }, importThreads) {
  const backend = { ...choose(wanted), threads: 1 };
  if (isPerBackend(wasm)) {
    if (wanted === 'auto' && !wasm[backend.name] && wasm.simd)
      Object.assign(backend, { name: 'simd', reason: '`wasm` gives no other binary' });
    wasm = wasm[backend.name];
    if (wasm === undefined) throw badArgument(`\`wasm\` has no binary for the backend "${backend.name}"`);
  }
  const plan = threads === undefined ? undefined : await (await importThreads?.())?.planFor(threads, interrupted),
    make = plan?.make;
  /** @type {Partial<import('../worker/threads.js').Shared>} or a module */
  const created = await (wasm !== undefined
    ? compile(wasm, make)
    : make
      ? compile(packageBinaries[backend.name], make)
      : compiled[backend.name]());
  const runtime = await instantiate(
    /** @type {Parameters<typeof instantiate>[0]} */ (created.threads ? created : { module: created }),
    backend,
    plan?.poll ?? interrupted,
  );
  const name = /** @type {BackendName} */ (runtime.memory.cString(runtime.c.rush_bridge_backend()));
  if (name !== backend.name) {
    if (wanted !== 'auto')
      throw badArgument(`the binary given as \`wasm\` must be "${wanted}", got "${name}"`, {
        expected: wanted,
        actual: name,
      });
    Object.assign(backend, { name, reason: 'the binary given as `wasm`' });
  }
  plan?.describe(backend, created);
  return runtime;
}

/**
 * @param {{ module: WebAssembly.Module, memory?: WebAssembly.Memory, threads?: Threads }} made
 * @param {Backend} backend
 * @param {(() => unknown) | undefined} interrupted
 * @returns {Promise<Runtime>}
 */
async function instantiate({ module, memory: shared, threads }, backend, interrupted) {
  const runtime = /** @type {Runtime} */ ({ backend, threads, away: 0 });
  const { Suspending, promising } = /** @type {PromiseIntegration} */ (WebAssembly);
  const imports = {
    rush: {
      now: () => performance.now() - runtime.away,
      poll: interrupted ?? (() => 0), // called about every millisecond
      // rush_bridge_run calls pause instead of poll.
      pause: Suspending ? new Suspending(() => interrupted?.() || runtime.pause()) : () => 0,
      /** @param {number} p @param {number} size */
      entropy: (p, size) => runtime.memory.copyIn(p >>> 0, crypto.getRandomValues(new Uint8Array(size))),
      /** @param {number} p @param {number} size */
      log: (p, size) => console.log(runtime.memory.text(p >>> 0, size).replace(CONTROL, '\ufffd')),
    },
    env: { memory: shared, emscripten_notify_memory_growth() {} }, // memory.js checks for growth at each access
  };
  try {
    const exports = /** @type {C & { memory: WebAssembly.Memory, _initialize: () => void }} */ (
        /** @type {unknown} */ (
          (await WebAssembly.instantiate(module, /** @type {WebAssembly.Imports} */ (imports))).exports
        )
      ),
      c = { ...exports };
    runtime.memory = new Memory(shared ?? exports.memory);
    exports._initialize();
    c.rush_bridge_run = promising
      ? promising(c.rush_bridge_run)
      : (/** @type {number} */ _, /** @type {number} */ session) => c.rush_bridge_step(session, ANY);
    runtime.c = c;
    return runtime;
  } catch (e) {
    threads?.end();
    const code = e instanceof RangeError ? 'out-of-memory' : 'unsupported';
    throw new RushlightError(code, `cannot start the wasm, which may be of another version: ${messageOf(e)}`, {
      cause: e,
    });
  }
}
