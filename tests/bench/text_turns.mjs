// Runs the turns of `./dev bench --text` in Chromium, each in a new page. Prints JSON.

import { readFileSync, readdirSync } from 'node:fs';

import { start } from '../../demo/shared/chromium.mjs';
import { inPage } from './in_page.mjs';

const { jobs } = JSON.parse(process.argv[2]);
const WHERE = { module: 'text_turn.js', name: 'turn', folder: '/build/bench/text', limit: 600_000 };

/** Returns the memory of all processes of pages, in bytes: what they alone have, and their share of the rest. */
function memoryOfPages() {
  let sum = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')) continue;
      if (!isBelow(+pid)) continue;
      sum += 1024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      /* the process has ended */
    }
  }
  return sum;
}

/** Tests whether a process was started by this one. @param {number} pid */
function isBelow(pid) {
  for (let at = pid; at > 1;) {
    if (at === process.pid) return true;
    const stat = readFileSync(`/proc/${at}/stat`, 'utf8');
    at = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  }
  return false;
}

const browser = await start();
const results = [];
try {
  for (const [i, job] of jobs.entries()) {
    const result = await inPage(browser, job, WHERE, () => ({ memory: memoryOfPages() }));
    results.push({ ...job, ...result });
    const said = result.error?.split('\n', 1)[0] ?? `${(1000 / result.decode).toPrecision(3)} tokens/s`;
    console.error(`${i + 1}/${jobs.length} ${job.folder}, ${job.rival}, ${job.threads}: ${said}`);
  }
} finally {
  await browser.close().catch((error) => console.error(String(error)));
}
const host = `Chromium ${browser.browser.version().split('.')[0]}`;
process.stdout.write(JSON.stringify({ host, results }), () => process.exit(0));
