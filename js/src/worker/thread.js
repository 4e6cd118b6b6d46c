// The script of a thread that computes for a model on another thread. threads.js starts it. It has no imports, so that
// bundlers can copy it.

const port = /** @type {import('./start-worker.js').Port} */ (
  /** @type {unknown} */ (
    /** @type {Partial<typeof globalThis>} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
      ?.parentPort ?? globalThis
  )
);

/** @typedef {Record<'_emscripten_stack_restore' | 'rush_pool_help', (n: number) => void>} Exports of the binary */

/**
 * @param {{ module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, stack: number, lost: number } |
 *    'here?'} given the shared memory, the rush_pool, the end of its stack, and the address of the flag of failure
 */
async function help(given) {
  if (given === 'here?') return port.postMessage('here');
  const { module, memory, pool, stack, lost } = given;
  const unused = () => 0; // kernels never call it
  const { exports: c } = /** @type {{ exports: Exports }} */ (
    /** @type {unknown} */ (
      await WebAssembly.instantiate(module, {
        env: { memory, emscripten_notify_memory_growth: unused },
        rush: { now: unused, poll: unused, pause: unused, entropy: unused, log: unused },
      })
    )
  );
  // V8 misses a growth of the memory that happens while this worker receives it: bulk instructions and atomics then
  // trap beyond the old size. A growth by 0 pages reads the size again, and V8 reports each later growth.
  memory.grow(0);
  c._emscripten_stack_restore(stack);
  port.postMessage('ready');
  try {
    c.rush_pool_help(pool); // returns when the model is gone
  } catch (e) {
    Atomics.store(new Int32Array(memory.buffer), lost / 4, 1); // the waiting thread has no other sign
    throw e;
  }
}

if (port.on) port.on('message', help);
else port.onmessage = (e) => help(/** @type {Parameters<typeof help>[0]} */ (e.data));
