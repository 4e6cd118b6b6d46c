#!/usr/bin/env node
// Runs the soak: `./dev soak MINUTES`. With --counts, which the stage `soak` uses, memory is not checked. README.md
// describes the checks.

import { fork, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';
import { slopes } from './slopes.mjs';

/**
 * @typedef {{ models: number, workers: number, instances: number, stay: number, wasm: number, heap: number, rss:
 *   number, faults: string[], done: Record<string, number> }} Look
 * @typedef {{ name: string, work(ms: number): Promise<Look>, end(): unknown }} Place
 */

const WORK_MS = 15_000,
  folder = fileURLToPath(new URL('../../build/soak', import.meta.url));
const minutes = Number(process.argv[2]),
  countsAlone = process.argv.includes('--counts');
const seed = Number(process.argv.find((a) => a.startsWith('--seed='))?.slice(7) ?? 1);
if (!(minutes > 0)) {
  console.error('usage: ./dev soak MINUTES [--counts] [--seed=N]: see tests/soak/README.md');
  process.exit(2);
}

/** @returns {Place} */
function inNode() {
  const child = fork(new URL('./in-node.mjs', import.meta.url), [folder, String(seed)], {
    execPath: process.env.RUSH_NODE_CURRENT ?? process.execPath,
    execArgv: ['--expose-gc'],
  });
  const work = (/** @type {number} */ ms) =>
    /** @type {Promise<Look>} */ (
      new Promise((resolve, reject) => {
        const ended = (/** @type {number | null} */ code) => reject(new Error(`Node ended with ${code}`));
        child.once('exit', ended);
        child.once('message', (look) => {
          child.off('exit', ended);
          resolve(/** @type {Look} */ (look));
        });
        child.send({ ms });
      })
    );
  return { name: 'Node', work, end: () => child.send({}) };
}

/** Returns the memory of the page process in Chromium that used the most processor time. @param {any} browser */
async function renderer(browser) {
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  const [{ id }] = processInfo
    .filter((/** @type {any} */ p) => p.type === 'renderer')
    .sort((/** @type {any} */ a, /** @type {any} */ b) => b.cpuTime - a.cpuTime);
  return 1024 * Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1]);
}

/** @returns {Promise<Place>} */
async function inChromium() {
  const host = await start(),
    page = await host.newPage();
  /** @type {string[]} */ const faults = [];
  page.on('pageerror', (/** @type {Error} */ e) => faults.push(String(e.stack)));
  page.on('crash', () => faults.push('the page crashed'));
  await page.goto(`${host.url}/tests/browser/empty.html`);
  const [cdp, browser] = [await page.context().newCDPSession(page), await host.browser.newBrowserCDPSession()];
  await page.evaluate(async (/** @type {number} */ n) => {
    const { Soak } = await import(/** @type {string} */ ('/tests/soak/workload.js'));
    /** @type {any} */ (globalThis).soak = new Soak(n);
  }, seed);
  const work = async (/** @type {number} */ ms) => {
    await page.evaluate(async (/** @type {number} */ n) => {
      const { soak } = /** @type {any} */ (globalThis);
      const read = async (/** @type {string} */ name) =>
        new Uint8Array(await (await fetch(`/build/soak/${name}.rush`)).arrayBuffer());
      await (n === 0 ? soak.open(read) : soak.work(n));
    }, ms);
    for (let i = 0; i < 3; i++) await cdp.send('HeapProfiler.collectGarbage');
    const look = await page.evaluate(() => /** @type {any} */ (globalThis).soak.look()),
      { usedSize: heap } = await cdp.send('Runtime.getHeapUsage');
    return { ...look, heap, rss: await renderer(browser), faults: [...look.faults, ...faults] };
  };
  return { name: 'Chromium', work, end: () => host.close() };
}

/** Compares a sample of a place with the first one, and returns the faults. @param {Look} first @param {Look} now */
function wrongs(first, now) {
  const wrong = [...now.faults];
  for (const key of /** @type {const} */ (['models', 'workers', 'instances'])) {
    if (now[key] !== first[key]) wrong.push(`there are ${now[key]} ${key}, and were ${first[key]}`);
  }
  return wrong;
}

/** Works in a place until the time is over. @param {Place} place @returns {Promise<boolean>} whether it passed */
async function soak(place) {
  const mb = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(2),
    begun = Date.now(),
    end = begun + 60_000 * minutes;
  const first = await place.work(0),
    samples = [];
  let wrong = wrongs(first, first),
    now = first;
  while (wrong.length === 0 && Date.now() < end) {
    now = await place.work(Math.min(WORK_MS, end - Date.now()));
    // Ended workers need time to terminate
    for (let i = 0; i < 20 && wrongs(first, now).length > 0 && now.faults.length === 0; i++) now = await place.work(1);
    wrong = wrongs(first, now);
    samples.push({ hours: (Date.now() - begun) / 3.6e6, wasm: now.wasm, heap: now.heap, rss: now.rss });
    console.log(
      `${place.name}, ${((Date.now() - begun) / 60_000).toFixed(1)} min: ${now.done.actions} actions, ` +
        `${now.done.runs} runs, ${now.done.loads} models; wasm ${mb(now.wasm)}, ` +
        `heap ${mb(now.heap)}, RSS ${mb(now.rss)} MB`,
    );
  }
  await place.end();
  if (!countsAlone) wrong.push(...slopes(samples, (text) => console.log(`${place.name}: ${text}`)));
  for (const text of wrong) console.error(`${place.name}: ${text}`);
  return wrong.length === 0;
}

const made = spawnSync('python3', [fileURLToPath(new URL('models.py', import.meta.url)), folder], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
if (made.status !== 0) throw new Error('the models could not be made: see above');
const places = [inNode(), await inChromium()];
const right = await Promise.all(places.map(soak));
process.exit(right.every(Boolean) ? 0 : 1);
