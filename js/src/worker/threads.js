// Threads: the binary once more in workers, on a memory that all of them share. What is imported where load() has the
// option.

import { badArgument, describeValue } from '../base/errors.js';
import { encode } from '../engine/memory.js';
import { builtin } from '../base/platform.js';
import {
  DATA,
  DATA_COUNT,
  HAS_MAXIMUM,
  IMPORT,
  MEMORY,
  SHARED,
  START,
  appended,
  inSection,
  leb,
  readMemory,
  readSections,
  writeSections,
} from '../engine/wasm-sections.js';
import { listen, startWorker, startFailure } from './start-worker.js';

const MAX_THREADS = 64; // RUSH_MAX_THREADS
/** For a kernel's frames, of which the compiler refuses those of more than 48 kB: wasm/CMakeLists.txt. */
const STACK_BYTES = 1 << 18;
/**
 * Where a rush_pool counts how often C has looked, about each millisecond, while it waits for the others and none of
 * them ends a piece.
 */
const WAITED = 16;
/** So often, and a thread is lost: one that is known to have failed, or that may be slow. */
const SOON = 1 << 9,
  LATE = 1 << 13;

/** The headers that the page did not come with, as far as it can find out. */
async function missingHeaders() {
  const wanted = {
    'Cross-Origin-Opener-Policy': /^same-origin$/,
    'Cross-Origin-Embedder-Policy': /^(require-corp|credentialless)$/,
  };
  const headers = await fetch(globalThis.location.href, { method: 'HEAD' }).then(
    (r) => r.headers,
    () => new Headers(),
  );
  const missing = Object.entries(wanted)
    .filter(([name, value]) => !value.test(headers.get(name)?.split(';')[0] ?? ''))
    .map(([name]) => name);
  return missing.length ? missing : Object.keys(wanted);
}

/** How many, and why. @param {unknown} wanted the option @returns {Promise<{ count: number, reason: string }>} */
async function howMany(wanted) {
  const auto = wanted === 'auto',
    n = /** @type {number} */ (wanted);
  if (!auto && !(Number.isInteger(n) && n >= 1 && n <= MAX_THREADS))
    throw badArgument(
      `load: threads must be 'auto' or an integer between 1 and ${MAX_THREADS}, got ${describeValue(wanted)}`,
    );
  const { crossOriginIsolated, navigator, document } = /** @type {any} */ (globalThis),
    node = builtin('node:worker_threads');
  const one = (/** @type {string} */ why) => ({ count: 1, reason: `one thread: ${why}` });
  if (n === 1) return one('as requested');
  if (!node && typeof Worker === 'undefined') return one('workers are not available here');
  if (crossOriginIsolated === false)
    return one(
      `${document ? 'the page' : 'this worker'} is not cross-origin isolated: it must be ` +
        `served with ${(await missingHeaders()).join(' and ')}`,
    );
  if (typeof SharedArrayBuffer === 'undefined') return one('SharedArrayBuffer is not available here');
  if (!auto) return { count: n, reason: `${n} threads: as requested` };
  const cores = navigator?.hardwareConcurrency ?? builtin('node:os')?.availableParallelism() ?? 1;
  // Many cores are half as many with two threads each, or some fast ones and some slow ones.
  const count = cores <= 4 ? cores : Math.min(8, Math.ceil(cores / 2));
  return count === 1
    ? one('this machine has no more')
    : { count, reason: `${count} threads: this machine has ${cores}` };
}

/**
 * What createRuntime() does about threads.
 * @param {unknown} wanted the option @param {() => unknown} [interrupted] of createRuntime()
 */
export async function planFor(wanted, interrupted) {
  const { count, reason } = await howMany(wanted);
  /** @type {Threads | undefined} */ let threads;
  return {
    make:
      count > 1
        ? async (/** @type {Uint8Array} */ bytes) => {
            const made = await share(bytes, count);
            threads = made.threads;
            return made;
          }
        : undefined,
    /**
     * In place of `interrupted`. C asks also while a call waits for the other threads: an exception is the only way out
     * where it would wait for ever.
     */
    poll() {
      if (threads?.isLost())
        throw new Error(
          'a thread that computes for this model has ended, or has stopped working. Load the model again',
        );
      return interrupted?.();
    },
    /** @param {import('../engine/runtime.js').Backend} backend @param {any} made of share(), or a module */
    tell(backend, made) {
      const { fault } = made;
      if (threads) backend.threads = threads.count;
      const n = backend.threads === 1 ? 'one thread' : `${backend.threads} threads`;
      const why = fault
        ? `${n}: ${count - backend.threads} more did not start: ${fault.message}. Their script is ` +
          `src/worker/thread.js of this package, and must be served with the page's own ` +
          'Cross-Origin-Embedder-Policy: see "Threads" in README.md there'
        : count > 1 && !threads
          ? `${n}: the binary given as \`wasm\` is compiled already`
          : reason;
      backend.reason += `; ${why}`;
    },
  };
}

/** @param {string} s */
const text = (s) => [s.length, ...encode(s)];

/**
 * The binary with its memory imported and shared, and without data, which each instance would write anew; the memory as
 * it
 * is at first, and how many pages it has.
 * @param {Uint8Array} bytes
 */
function rewrite(bytes) {
  const sections = readSections(bytes),
    { first, image } = readMemory(bytes, sections),
    memory = inSection(bytes, sections, MEMORY);
  if (memory.number() !== 1 || memory.byte() !== HAS_MAXIMUM || sections.some(({ id }) => id === START))
    throw new TypeError('the binary has an unknown form');
  const least = memory.number(),
    imports = appended(bytes, sections, IMPORT, [
      ...text('env'),
      ...text('memory'),
      2,
      SHARED,
      ...leb(least),
      ...leb(memory.number()),
    ]);
  const code = writeSections(
    bytes,
    sections.filter(({ id }) => ![MEMORY, DATA, DATA_COUNT].includes(id)),
    new Map([[IMPORT, imports]]),
  );
  return { code, first, image, least };
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

/** A worker that computes for the context that begin() of Threads is given. */
class Thread {
  /** Whether it computes. */ joined = false;
  /** What is called when it has ended. */ lost = () => {};

  constructor() {
    /**
     * When it has answered: Chromium keeps what is sent before that until the page has another task, which may be long.
     * Later nothing waits for it.
     * @type {Promise<Thread>}
     */
    this.here = new Promise((resolve, reject) => {
      this.worker = listen(
        startWorker('thread', () => new Worker(new URL('./thread.js', import.meta.url), { type: 'module' })),
        (message) => {
          if (message === 'here') resolve(this);
          else this.joined = true;
        },
        (e) => {
          reject(e); // which means nothing once it was there
          this.lost();
        },
        () => {},
      );
      this.worker.postMessage('here?');
    }).finally(() => this.worker?.unref?.()); // who listens to one keeps Node waiting
  }
}

/**
 * The module, its memory, and as many of the threads as have come; `fault` is why others have not.
 * @param {Uint8Array} bytes of the binary @param {number} count threads, this one among them
 */
export async function share(bytes, count) {
  const { code, first, image, least } = rewrite(bytes),
    started = Array.from({ length: count - 1 }, () => new Thread());
  const here = Promise.allSettled(started.map((thread) => thread.here));
  try {
    const module = await WebAssembly.compile(/** @type {BufferSource} */ (code)),
      memory = sharedMemory(least);
    new Uint8Array(memory.buffer).set(image, first);
    const came = await here,
      late = came.find(({ status }) => status === 'rejected');
    const threads = new Threads(
      started.filter((_, i) => came[i]?.status === 'fulfilled'),
      module,
      memory,
    );
    return {
      module,
      memory,
      threads,
      fault: late && (await startFailure('thread', /** @type {PromiseRejectedResult} */ (late).reason)),
    };
  } catch (e) {
    for (const { worker } of started) worker?.terminate();
    throw e;
  }
}

class Threads {
  #all;
  #module;
  #memory;
  /** Whether a call waits for a thread that has ended. @type {() => unknown} */ isLost = () => false;

  /**
   * @param {Thread[]} all but the one that made them
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Memory} memory
   */
  constructor(all, module, memory) {
    this.#all = all;
    this.#module = module;
    this.#memory = memory;
  }

  /** With the one that made them. */
  get count() {
    return this.#all.length + 1;
  }

  /** How many others compute. */
  get joined() {
    return this.#all.filter(({ joined }) => joined).length;
  }

  /** @param {import('../engine/runtime.js').C} c @param {number} ctx */
  begin(c, ctx) {
    if (c.rush_ctx_set_threads(ctx, this.count) !== 0) return;
    const pool = c.rush_ctx_pool(ctx),
      lost = c.malloc(4),
      at = (/** @type {number} */ p) => new Int32Array(this.#memory.buffer, p, 1);
    if (!lost) return;
    at(lost)[0] = 0;
    this.isLost = () => Number(at(pool + WAITED)[0]) > (at(lost)[0] ? SOON : LATE);
    for (const thread of this.#all) {
      const stack = c.malloc(STACK_BYTES);
      // LLVM relies on a stack whose end is a multiple of 16.
      if (stack)
        thread.worker.postMessage({
          module: this.#module,
          memory: this.#memory,
          pool,
          stack: (stack + STACK_BYTES) & -16,
          lost,
        });
      thread.lost = () => {
        at(lost)[0] = 1;
      };
    }
  }

  end() {
    for (const thread of this.#all) {
      thread.lost = () => {};
      thread.worker.terminate();
    }
  }
}
