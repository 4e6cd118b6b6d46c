// Times operators in Node: node ops.mjs JOBS.json, where ops.py writes JOBS.json. Prints [{ backend: µs of a call }].

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js';
import { readNpy } from '../../js/src/media/npy.js';

const folder = new URL('../../build/bench/ops/', import.meta.url);
const { jobs, backends, rounds, least } = JSON.parse(await readFile(process.argv[2], 'utf8'));

const results = [];
for (const { file, inputs } of jobs) {
  /** @type {Record<string, any>} */
  const feeds = {};
  for (const [name, npy] of Object.entries(inputs)) feeds[name] = readNpy(await readFile(new URL(npy, folder)));
  /** @type {Record<string, number>} */
  const times = {};
  for (const backend of backends) {
    const model = await load(await readFile(new URL(file, folder)), { backend });
    const seconds = async (/** @type {number} */ count) => {
      const start = performance.now();
      // No results are read: copying a result of 2 MB to new memory takes ten times as long as computing it.
      await model.run({ ...feeds, times: count }, { outputs: [] });
      return (performance.now() - start) / 1e3;
    };
    await seconds(1); // compiles
    const idle = Math.min(await seconds(0), await seconds(0), await seconds(0)); // the overhead of a run
    let count = 1;
    for (let took; (took = (await seconds(count)) - idle) < least / 2;)
      count = Math.max(count * 2, Math.min(count * 50, Math.floor((count * least) / Math.max(took, 1e-6))));
    let best = Infinity;
    for (let i = 0; i < rounds; i++) best = Math.min(best, (await seconds(count)) - idle);
    times[backend] = (best / count) * 1e6;
    model.dispose();
  }
  results.push(times);
}
console.log(JSON.stringify(results));
