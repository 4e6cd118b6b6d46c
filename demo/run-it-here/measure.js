// Times one model in this page. Nothing here touches the page, so that tests can call it.

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'

/** @typedef {{ dtype: string, shape: number[], below?: number, value?: number }} Given */
/**
 * @typedef {object} Measured
 * @property {number} threads that were used
 * @property {string} backend
 * @property {string} reason of the backend and of the threads
 * @property {number} load ms, from the bytes in memory to a model that is ready
 * @property {number} first ms of the first run
 * @property {number} min ms
 * @property {number} median ms
 * @property {number} runs
 */

const LONGEST = 3000; // ms of runs of one model
const MAX_RUNS = 50;

/** Returns inputs of numbers that follow from the seed. @param {Record<string, Given | number>} given */
export function inputsOf(given) {
  let seed = 1;
  const next = () => (seed = (seed * 48271) % 0x7fffffff) / 0x7fffffff;
  return Object.fromEntries(
    Object.entries(given).map(([name, about]) => {
      if (typeof about === 'number') return [name, about];
      const { dtype, shape, below, value } = about,
        count = shape.reduce((a, b) => a * b, 1);
      const element = () => value ?? (below ? Math.floor(next() * below) : next() * 2 - 1);
      return [name, { dtype, shape, data: Array.from({ length: count }, element) }];
    }),
  );
}

/**
 * Times one model.
 * @param {Uint8Array} bytes of the file
 * @param {Record<string, Given | number>} given what its inputs are like
 * @param {number | 'auto' | 'webgpu'} mode the option `threads` on the CPU, or the GPU
 * @param {AbortSignal} [signal]
 * @returns {Promise<Measured>}
 */
export async function measure(bytes, given, mode, signal) {
  const begin = performance.now();
  const model = await load(
    bytes,
    mode === 'webgpu' ? { device: mode, signal } : { worker: true, threads: mode, signal },
  );
  const loaded = performance.now() - begin;
  try {
    const inputs = inputsOf(given);
    const run = async () => {
      const start = performance.now();
      await model.run(inputs, { signal });
      return performance.now() - start;
    };
    const first = await run();
    await run(); // the engine optimizes hot code
    const times = [];
    for (let all = 0; times.length < 3 || (all < LONGEST && times.length < MAX_RUNS); all += times.at(-1) ?? 0)
      times.push(await run());
    times.sort((a, b) => a - b);
    const { name, reason, threads: used } = model.backend;
    const [min = 0] = times,
      median = times[times.length >> 1] ?? 0;
    return { threads: used, backend: name, reason, load: loaded, first, min, median, runs: times.length };
  } finally {
    model.dispose();
  }
}
