// Runs the soak in a Node process. run.mjs starts it with --expose-gc and sends it messages.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { Soak } from './workload.js';

const [folder = '', seed = '1'] = process.argv.slice(2);
const soak = new Soak(Number(seed));

process.on('message', async (/** @type {{ ms?: number }} */ { ms }) => {
  if (ms === undefined) return process.exit(0);
  if (ms === 0) await soak.open((name) => readFile(join(folder, `${name}.rush`)));
  else await soak.work(ms);
  for (let i = 0; i < 5; i++) {
    /** @type {any} */ (globalThis).gc();
    await setImmediate();
  }
  const { heapUsed: heap, rss } = process.memoryUsage();
  process.send?.({ ...(await soak.look()), heap, rss });
});
