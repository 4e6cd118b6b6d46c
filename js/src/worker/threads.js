// Threads: workers that run the same binary on one shared memory. load() imports this module for the option `threads`.

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
  appendItem,
  inSection,
  leb,
  readMemory,
  readSections,
  writeSections,
} from '../engine/wasm-sections.js';
import { listen, startWorker, startFailure } from './start-worker.js';

const MAX_THREADS = 64; // RUSH_MAX_THREADS
/** The stack of a thread. The compiler refuses kernels with frames above 48 kB: wasm/CMakeLists.txt. */
const STACK_BYTES = 1 << 18;
/**
 * The offset in a rush_pool of a counter. C increments it about every millisecond while it waits, until another thread
 * ends a piece.
 */
const WAITED = 16;
/** Counts after which a thread is lost: one that is known to have failed, and one that may be slow. */
const SOON = 1 << 9,
  LATE = 1 << 13;

/** Whether this is a worker of Node. */
const inWorker = builtin('node:worker_threads')?.isMainThread === false;

/** Returns the headers that the page lacks; all of them if it cannot find out. */
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

/** Throws `bad-argument` unless the option is valid. @param {unknown} wanted the option */
export function checkThreads(wanted) {
  const n = /** @type {number} */ (wanted);
  if (wanted !== 'auto' && !(Number.isInteger(n) && n >= 1 && n <= MAX_THREADS))
    throw badArgument(
      `load: threads must be 'auto' or an integer between 1 and ${MAX_THREADS}, got ${describeValue(wanted)}`,
    );
}

/**
 * Chooses the number of threads, with the reason.
 * @param {unknown} wanted the option
 * @returns {Promise<{ count: number, reason: string }>}
 */
async function threadCount(wanted) {
  checkThreads(wanted);
  const auto = wanted === 'auto',
    n = /** @type {number} */ (wanted);
  const { crossOriginIsolated, navigator, document } = /** @type {Partial<typeof globalThis>} */ (globalThis),
    node = builtin('node:worker_threads');
  const singleThread = (/** @type {string} */ why) => ({ count: 1, reason: `one thread: ${why}` });
  if (n === 1) return singleThread('as requested');
  if (!node && typeof Worker === 'undefined') return singleThread('workers are not available here');
  if (crossOriginIsolated === false)
    return singleThread(
      `${document ? 'the page' : 'this worker'} is not cross-origin isolated: it must be ` +
        `served with ${(await missingHeaders()).join(' and ')}`,
    );
  if (typeof SharedArrayBuffer === 'undefined') return singleThread('SharedArrayBuffer is not available here');
  if (!auto) return { count: n, reason: `${n} threads: as requested` };
  const cores = navigator?.hardwareConcurrency ?? builtin('node:os')?.availableParallelism() ?? 1;
  // Of many logical cores, half are second threads of a core, or slow cores.
  const count = cores <= 4 ? cores : Math.min(8, Math.ceil(cores / 2));
  return count === 1
    ? singleThread('this machine has no more')
    : { count, reason: `${count} threads: this machine has ${cores}` };
}

/**
 * Plans the threads for createRuntime().
 * @param {unknown} wanted the option @param {() => unknown} [interrupted] of createRuntime()
 */
export async function planFor(wanted, interrupted) {
  const { count, reason } = await threadCount(wanted);
  /** @type {Threads | undefined} */ let threads;
  return {
    make:
      count > 1
        ? async (/** @type {Uint8Array} */ bytes) => {
            const created = await share(bytes, count);
            threads = created.threads;
            return created;
          }
        : undefined,
    /**
     * Replaces `interrupted`. C also calls it while it waits for other threads. If it would wait forever, an exception
     * is the only way out.
     */
    poll() {
      if (threads?.isLost())
        throw new Error(
          'a thread that computes for this model has ended, or has stopped working. Load the model again',
        );
      return interrupted?.();
    },
    /** @param {import('../engine/runtime.js').Backend} backend @param {Partial<Shared>} created or a module */
    describe(backend, created) {
      const { fault } = created;
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
 * Rewrites the binary so that it imports a shared memory, and has no data, which each instance would write again.
 * Returns the code, the initial memory and its number of pages.
 * @param {Uint8Array} bytes
 */
function rewrite(bytes) {
  const sections = readSections(bytes),
    { first, image } = readMemory(bytes, sections),
    memory = inSection(bytes, sections, MEMORY);
  if (memory.number() !== 1 || memory.byte() !== HAS_MAXIMUM || sections.some(({ id }) => id === START))
    throw new TypeError('the binary has an unknown form');
  const least = memory.number(),
    imports = appendItem(bytes, sections, IMPORT, [
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

/** Makes the largest shared memory that the engine allows. @param {number} initial in pages */
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
  /** This function is called when the thread has ended. */ lost = () => {};

  constructor() {
    /**
     * Fulfilled when it has answered. Chromium delays earlier messages until the page has another task, which may take
     * long.
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
          reject(e); // no effect after it has answered
          this.lost();
        },
        () => {},
      );
      this.worker.postMessage('here?');
    }).finally(() => this.worker?.unref?.()); // a listener would keep Node alive
  }
}

/** @typedef {Awaited<ReturnType<typeof share>>} Shared */

/**
 * Returns the module, its memory and the started threads. `fault` is the reason why others did not start.
 * @param {Uint8Array} bytes of the binary @param {number} count threads, including this one
 */
export async function share(bytes, count) {
  const { code, first, image, least } = rewrite(bytes),
    started = Array.from({ length: count - 1 }, () => new Thread());
  const ready = Promise.allSettled(started.map((thread) => thread.here));
  try {
    const module = await WebAssembly.compile(/** @type {BufferSource} */ (code)),
      memory = sharedMemory(least);
    new Uint8Array(memory.buffer).set(image, first);
    const results = await ready,
      late = results.find(({ status }) => status === 'rejected');
    const threads = new Threads(
      started.filter((_, i) => results[i]?.status === 'fulfilled'),
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
  /** Tests whether a call waits for a thread that has ended. @type {() => unknown} */ isLost = () => false;

  /**
   * @param {Thread[]} all threads except the one that made them
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Memory} memory
   */
  constructor(all, module, memory) {
    this.#all = all;
    this.#module = module;
    this.#memory = memory;
  }

  /** The number of threads, including the one that made them. */
  get count() {
    return this.#all.length + 1;
  }

  /** The number of other threads that compute. */
  get joined() {
    return this.#all.filter(({ joined }) => joined).length;
  }

  /** @param {import('../engine/runtime.js').Runtime} runtime @param {number} ctx */
  begin({ c }, ctx) {
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
      // A worker must not end before its threads, nor before Node has told its main thread that they have ended.
      thread.lost = () => void (inWorker && setTimeout(() => {}, 100));
      thread.worker.ref?.();
      thread.worker.terminate();
    }
  }
}
