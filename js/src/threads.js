// Threads: the binary once more in workers, on a memory that all of them share. What is imported where load() has the option.

import { badArgument, says } from './errors.js';
import { encode } from './memory.js';
import { builtin, original } from './platform.js';

/**
 * @typedef {{ count: number, reason: string }} Choice
 */

const MAX_THREADS = 64; // RUSH_MAX_THREADS
/** For a kernel's frames, some of which have buffers of 20 kB. */
const STACK_BYTES = 1 << 17;
// Sections of a binary, and flags of a memory.
const IMPORT = 2, MEMORY = 5, START = 8, DATA = 11, DATA_COUNT = 12, HAS_MAXIMUM = 1, SHARED = 3;

/** The headers that the page did not come with, as far as it can find out. */
async function missingHeaders() {
  const wanted = { 'Cross-Origin-Opener-Policy': /^same-origin$/, 'Cross-Origin-Embedder-Policy': /^(require-corp|credentialless)$/ };
  const headers = await fetch(globalThis.location.href, { method: 'HEAD' }).then((r) => r.headers, () => new Headers());
  const missing = Object.entries(wanted).filter(([name, value]) => !value.test(headers.get(name)?.split(';')[0] ?? '')).map(([name]) => name);
  return missing.length ? missing : Object.keys(wanted);
}

/** How many, and why. @param {unknown} wanted the option @returns {Promise<Choice>} */
async function howMany(wanted) {
  const auto = wanted === 'auto', n = Number(wanted);
  if (!auto && !(typeof wanted === 'number' && Number.isInteger(n) && n >= 1 && n <= MAX_THREADS)) throw badArgument(`load: threads is 'auto' or a whole number from 1 to ${MAX_THREADS}, not ${says(wanted)}`);
  const { crossOriginIsolated, navigator, document } = /** @type {any} */ (globalThis), node = builtin('node:worker_threads');
  const one = (/** @type {string} */ why) => ({ count: 1, reason: `one thread: ${why}` });
  if (n === 1) return one('asked for');
  if (!node && typeof Worker === 'undefined') return one('there are no workers here');
  if (crossOriginIsolated === false) return one(`${document ? 'the page' : 'this worker'} is not cross-origin isolated, for want of the header ${(await missingHeaders()).join(' and ')}`);
  if (typeof SharedArrayBuffer === 'undefined') return one('there is no SharedArrayBuffer here');
  if (!auto) return { count: n, reason: `${n} threads: asked for` };
  const cores = navigator?.hardwareConcurrency ?? /** @type {any} */ (builtin)('node:os')?.availableParallelism() ?? 1;
  // Many cores are half as many with two threads each, or some fast ones and some slow ones.
  const count = cores <= 4 ? cores : Math.min(8, Math.ceil(cores / 2));
  return count === 1 ? one('this machine has no more') : { count, reason: `${count} threads: this machine has ${cores}` };
}

/**
 * What createRuntime() does about threads.
 * @param {unknown} wanted the option
 */
export async function planFor(wanted) {
  const { count, reason } = await howMany(wanted);
  return {
    make: count > 1 ? (/** @type {Uint8Array} */ bytes) => share(bytes, count) : undefined,
    /** @param {import('./runtime.js').Backend} backend @param {any} made of share(), or a module */
    tell(backend, made) {
      if (made.threads) backend.threads = count;
      backend.reason += `; ${count > 1 && !made.threads ? 'one thread: the binary given as `wasm` is compiled already' : reason}`;
    },
  };
}

/** A LEB128 number at `at`, and where it ends; those with a sign are addresses, which have none. @param {Uint8Array} bytes @param {number} at @returns {[number, number]} */
function read(bytes, at) {
  let value = 0, by = 1, byte;
  do {
    byte = bytes[at++] ?? 0;
    value += (byte & 127) * by;
    by *= 128;
  } while (byte & 128);
  return [value, at];
}

/** @param {number} n @returns {number[]} */
const leb = (n) => (n < 128 ? [n] : [(n % 128) | 128, ...leb(Math.floor(n / 128))]);
/** @param {string} s */
const text = (s) => [s.length, ...encode(s)];

/**
 * The binary with its memory imported and shared, and without data, which each instance would write anew; the data; and
 * what the memory has to begin with.
 * @param {Uint8Array} bytes
 */
function rewrite(bytes) {
  /** @type {Map<number, [number, number]>} */ const sections = new Map();
  /** @type {Uint8Array[]} */ const parts = [bytes.subarray(0, 8)];
  for (let at = 8; at < bytes.length;) {
    const [id, size] = read(bytes, at), [length, start] = read(bytes, size);
    sections.set(id, [start, start + length]);
    if (id === IMPORT) parts.push(new Uint8Array(0)); // for now
    else if (id !== MEMORY && id !== DATA && id !== DATA_COUNT) parts.push(bytes.subarray(at, start + length));
    at = start + length;
  }
  const [memory, data, imports] = [MEMORY, DATA, IMPORT].map((id) => sections.get(id));
  if (!memory || !data || !imports || sections.has(START) || bytes[memory[0]] !== 1 || bytes[memory[0] + 1] !== HAS_MAXIMUM) throw new TypeError('it is another binary than is known here');
  const limits = bytes.subarray(memory[0] + 2, memory[1]), [count, rest] = read(bytes, imports[0]);
  const content = [...leb(count + 1), ...bytes.subarray(rest, imports[1]), ...text('env'), ...text('memory'), 2, SHARED, ...limits];
  parts[parts.findIndex((p) => p.length === 0)] = Uint8Array.of(IMPORT, ...leb(content.length), ...content);
  return { code: new Blob(/** @type {BlobPart[]} */ (parts)).arrayBuffer(), segments: segments(bytes, data[0]), least: read(limits, 0)[0] };
}

/** @param {Uint8Array} bytes @param {number} at */
function segments(bytes, at) {
  const found = [];
  let [n, next] = read(bytes, at);
  for (; n > 0; n--) { // 0, i32.const, the address, end, the bytes
    const [address, end] = read(bytes, next + 2), [size, start] = read(bytes, end + 1);
    if (bytes[next] !== 0 || bytes[next + 1] !== 0x41) throw new TypeError('its data are of another kind than is known here');
    found.push({ address, bytes: bytes.subarray(start, next = start + size) });
  }
  return found;
}

/** The most that can be had of what wasm can address. @param {number} initial in pages */
function sharedMemory(initial) {
  for (let maximum = 1 << 16; ; maximum /= 2) {
    try {
      return new WebAssembly.Memory({ initial, maximum, shared: true });
    } catch (e) {
      if (maximum < 1 << 13) throw e;
    }
  }
}

/** Where a worker's script lies if no bundler has taken the package apart. */
function script() {
  const wasm = original(new URL('../wasm/rushlight-simd.wasm', import.meta.url));
  return new URL('../src/thread.js', new URL(wasm, globalThis.location?.href));
}

/** @returns {any} a worker of Node, or of a page */
function start() {
  const node = builtin('node:worker_threads'), type = 'module';
  if (node) return new node.Worker(script(), { execArgv: [] });
  try {
    // The literal `new Worker(new URL(..., import.meta.url))` is what bundlers look for.
    return new Worker(new URL('./thread.js', import.meta.url), { type: 'module' });
  } catch {
    // It is of another origin than the page, as no worker may be; what one imports may be.
    return new Worker(URL.createObjectURL(new Blob([`import "${script()}"`], { type: 'text/javascript' })), { type });
  }
}

/**
 * The module, its memory, and workers that are on their way: they compute for the context that `begin` is given.
 * @param {Uint8Array} bytes of the binary @param {number} count threads, this one among them
 */
export async function share(bytes, count) {
  const { code, segments: data, least } = rewrite(bytes);
  const workers = Array.from({ length: count - 1 }, start);
  try {
    const module = await WebAssembly.compile(await code), memory = sharedMemory(least);
    for (const { address, bytes: some } of data) new Uint8Array(memory.buffer).set(some, address);
    return { module, memory, threads: new Threads(workers, module, memory) };
  } catch (e) {
    for (const worker of workers) worker.terminate();
    throw e;
  }
}

class Threads {
  #workers; #module; #memory;
  /** How many workers compute. */ joined = 0;

  /** @param {any[]} workers @param {WebAssembly.Module} module @param {WebAssembly.Memory} memory */
  constructor(workers, module, memory) {
    this.#workers = workers;
    this.#module = module;
    this.#memory = memory;
    // Nothing waits for one that does not come, or ends.
    for (const worker of workers) {
      if (worker.on) {
        worker.on('message', () => { this.joined++; });
        worker.on('error', () => {});
        worker.unref(); // after that: who listens to one keeps Node waiting
      } else {
        worker.onmessage = () => { this.joined++; };
        worker.onerror = (/** @type {Event} */ e) => e.preventDefault();
      }
    }
  }

  /** @param {import('./runtime.js').C} c @param {number} ctx */
  begin(c, ctx) {
    if (c.rush_ctx_set_threads(ctx, this.#workers.length + 1) !== 0) return;
    const pool = c.rush_ctx_pool(ctx);
    for (const worker of this.#workers) {
      const stack = c.malloc(STACK_BYTES);
      // LLVM relies on a stack whose end is a multiple of 16.
      if (stack) worker.postMessage({ module: this.#module, memory: this.#memory, pool, stack: (stack + STACK_BYTES) & -16 });
    }
  }

  end() {
    for (const worker of this.#workers) worker.terminate();
  }
}
