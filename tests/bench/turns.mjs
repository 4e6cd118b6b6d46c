// Runs contenders in turns, each in a new page or Node process: node turns.mjs OPTIONS-AS-JSON. Prints JSON. See
// versus.py.

import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';
import { startWithGpu } from '../gpu/chromium.mjs';
import { inPage } from './in_page.mjs';
import { task } from './turn.js';

const { one, jobs, host, gpu } = JSON.parse(process.argv[2]);
const WHERE = { module: 'turn.js', name: 'task', folder: '/build/bench', limit: 240_000 };

/** Returns processor time in ticks of 10 ms, for the whole machine, and for this process with its children. */
function ticks() {
  const of = (/** @type {string} */ file) => readFileSync(file, 'utf8');
  const cpu = of('/proc/stat').split('\n', 1)[0].trim().split(/\s+/).slice(1).map(Number);
  /** @type {Map<number, { parent: number, used: number }>} */
  const processes = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = of(`/proc/${pid}/stat`),
        fields = stat
          .slice(stat.lastIndexOf(')') + 2)
          .split(' ')
          .map(Number);
      processes.set(+pid, { parent: fields[1], used: fields[11] + fields[12] + fields[13] + fields[14] });
    } catch {
      /* the process has ended */
    }
  }
  let own = 0;
  for (const [pid, { used }] of processes) {
    let at = pid;
    while (at && at !== process.pid) at = processes.get(at)?.parent ?? 0;
    if (at) own += used;
  }
  return { busy: cpu[0] + cpu[1] + cpu[2] + cpu[5] + cpu[6], own, at: performance.now() };
}

/** Returns how many processors other processes kept busy. @param {ReturnType<typeof ticks>} since */
function foreign(since) {
  const { busy, own, at } = ticks();
  return Math.max(0, ((busy - since.busy - (own - since.own)) * 10) / (at - since.at));
}

const inNode = (/** @type {any} */ job) =>
  new Promise((done) => {
    execFile(
      process.execPath,
      [fileURLToPath(import.meta.url), JSON.stringify({ one: job })],
      { timeout: WHERE.limit, maxBuffer: 1 << 28 },
      (error, out, err) =>
        done(
          error
            ? { error: `${err || error}`.trim().split('\n').slice(-8).join('\n') }
            : JSON.parse(out.slice(out.lastIndexOf('\n{'))),
        ),
    );
  });

if (one) {
  const result = await task(one, (file) => readFile(new URL(`../../build/bench/${file}`, import.meta.url)));
  process.stdout.write(`\n${JSON.stringify(result)}\n`, () => process.exit(0));
} else {
  const browser = host === 'chromium' ? await (gpu ? startWithGpu() : start()) : undefined;
  const results = [];
  try {
    for (const [i, job] of jobs.entries()) {
      const since = ticks();
      const result = await (browser ? inPage(browser, job, WHERE) : inNode(job));
      results.push({ ...job, ...result, foreign: foreign(since) });
      const said =
        result.error?.split('\n', 1)[0] ??
        (result.times ? `${Math.min(...result.times).toPrecision(3)} ms` : JSON.stringify(result));
      console.error(`${i + 1}/${jobs.length} ${job.name}, ${job.rival}, ${job.threads}: ${said}`);
    }
  } finally {
    await browser?.close();
  }
  const version = browser ? `Chromium ${browser.browser.version().split('.')[0]}` : `Node ${process.versions.node}`;
  process.stdout.write(JSON.stringify({ host: version, results }), () => process.exit(0));
}
