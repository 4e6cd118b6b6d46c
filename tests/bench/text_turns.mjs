// Runs one turn of `./dev bench --text` in a new Chromium: node text_turns.mjs JOB-AS-JSON. Prints JSON. A turn that
// does not end in `limit` ms ends with its browser.

import { readFileSync, readdirSync } from 'node:fs';

import { start } from '../../demo/shared/chromium.mjs';
import { inPage } from './in_page.mjs';

const job = JSON.parse(process.argv[2]);
const WHERE = { module: 'text_turn.js', name: 'turn', folder: '/build/bench/text', limit: 2 * job.limit };

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

/**
 * Prints the result and ends, which ends Chromium too, even where a page is too busy to be closed.
 * @param {object} result
 */
function end(result) {
  const host = `Chromium ${browser.browser.version().split('.')[0]}`;
  process.stdout.write(JSON.stringify({ host, ...job, ...result }), () => process.exit(0));
}

const browser = await start();
setTimeout(() => end({ error: `did not end in ${job.limit / 1000} s` }), job.limit);
end(await inPage(browser, job, WHERE, () => ({ memory: memoryOfPages() })));
