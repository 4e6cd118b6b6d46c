// The script of a thread that computes for a model on another thread. threads.js starts it. It has no imports, so that
// bundlers can copy it.

/** @type {any} */
const port =
  /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')?.parentPort ?? globalThis;

/**
 * @param {{ module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, stack: number, lost: number } |
 *    'here?'} given the shared memory, the rush_pool, the end of its stack, and the address of the flag of failure
 */
async function help(given) {
  if (given === 'here?') return port.postMessage('here');
  const { module, memory, pool, stack, lost } = given;
  const no = () => 0; // kernels never call it
  /** @type {any} */
  const { exports: c } = await WebAssembly.instantiate(module, {
    env: { memory, emscripten_notify_memory_growth: no },
    rush: { now: no, poll: no, pause: no, entropy: no, log: no },
  });
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
else port.onmessage = (/** @type {MessageEvent} */ e) => help(e.data);
