// A thread that computes for models of another one: threads.js starts it. It imports nothing, so that bundlers have it
// as it is.

/** @type {any} */
const port =
  /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')?.parentPort ?? globalThis;

/**
 * @param {{ module: WebAssembly.Module, memory: WebAssembly.Memory, pool: number, stack: number, lost: number } |
 *    'here?'} given the memory that all share, the rush_pool, the end of a stack, where to say that it has failed
 */
async function help(given) {
  if (given === 'here?') return port.postMessage('here');
  const { module, memory, pool, stack, lost } = given;
  const no = () => 0; // what kernels never call
  /** @type {any} */
  const { exports: c } = await WebAssembly.instantiate(module, {
    env: { memory, emscripten_notify_memory_growth: no },
    rush: { now: no, poll: no, pause: no, entropy: no, log: no },
  });
  c._emscripten_stack_restore(stack);
  port.postMessage('ready');
  try {
    c.rush_pool_help(pool); // as long as the model lives
  } catch (e) {
    Atomics.store(new Int32Array(memory.buffer), lost / 4, 1); // who waits for it hears nothing else
    throw e;
  }
}

if (port.on) port.on('message', help);
else port.onmessage = (/** @type {MessageEvent} */ e) => help(e.data);
