// The package in more of the tools that people have: each builds a project, and its page runs the model, in a worker
// too.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { answers, begin, browser, checkFolder, checkPage, run, serve, workshop } from '../harness.mjs';

const tools = String(process.env.RUSH_BUNDLERS);
const bin = (/** @type {string} */ path) => [process.execPath, join(tools, 'node_modules', path)];

/** @type {ReturnType<typeof workshop>} */ let shop;
/** @type {import('playwright-core').Browser} */ let chrome;
/** @type {Awaited<ReturnType<typeof serve>>} */ let models;
before(async () => {
  shop = workshop(tools);
  chrome = await browser();
  models = await serve(join(shop.model, '..'));
});
after(async () => {
  await chrome?.close();
  models?.close();
  shop?.remove();
});

/** Checks the page of a folder. @param {string} dir */
const folder = (dir) => checkFolder(chrome, dir, `${models.url}/digits.rush`);
/**
 * What a server answers that checks the model itself, without a worker and with one.
 * @param {string} url
 * @param {string} [more] of the query
 */
const asked = (url, more = '') =>
  Promise.all(
    ['', '&worker=1'].map(async (worker) =>
      (await fetch(`${url}?model=${models.url}/digits.rush${worker}${more}`)).json(),
    ),
  );

/** Checks the page that a server serves. @param {string} dir @param {string[]} command @param {number} [threads] */
async function checkServer(dir, command, threads) {
  const { url, close } = await begin(dir, command);
  await checkPage(chrome, url, `${models.url}/digits.rush`, threads).finally(close);
}

for (const vite of ['vite5', 'vite6', 'vite']) {
  test(`${vite}: the page that it builds`, async () => {
    const dir = shop.project(`${vite}-build`);
    run(dir, [...bin(`${vite}/bin/vite.js`), 'build']);
    await folder(join(dir, 'dist'));
  });
  const serves = [...bin(`${vite}/bin/vite.js`), '--port', '0'];
  test(`${vite}: the page that it serves`, () => checkServer(shop.project(`${vite}-dev`), serves));
  test(`${vite}: the page that it serves with the headers for threads`, () =>
    checkServer(shop.project(`${vite}-threads`, 'vite'), serves, 2));
}

test('rspack', async () => {
  const dir = shop.project('rspack');
  run(dir, [...bin('@rspack/cli/bin/rspack.js'), 'build', '--mode', 'production', '--entry', './page.js']);
  await folder(dir);
});

test('parcel', async () => {
  const dir = shop.project('parcel');
  run(dir, [...bin('parcel/lib/bin.js'), 'build', 'index.html', '--no-cache']);
  await folder(join(dir, 'dist'));
});

test('rollup with the plugin takes the wasm and the worker along', async () => {
  const dir = shop.project('rollup'),
    page = join(dir, 'index.html');
  run(dir, [...bin('rollup/dist/bin/rollup'), '--config']);
  rmSync(join(dir, 'node_modules'), { recursive: true });
  writeFileSync(page, readFileSync(page, 'utf8').replace('./page.js', './dist/page.js'));
  await folder(dir);
});

test('rollup, which leaves the package whole', async () => {
  const dir = shop.project('rollup-external', 'importmap'),
    page = join(dir, 'index.html');
  run(dir, [...bin('rollup/dist/bin/rollup'), 'page.js', '--format', 'es', '--external', 'rushlight', '--dir', 'dist']);
  writeFileSync(page, readFileSync(page, 'utf8').replace('./page.js', './dist/page.js'));
  await folder(dir);
});

test('next: a page, a worker of its own, a route handler', async () => {
  const dir = shop.project('next'),
    next = bin('next/dist/bin/next');
  run(dir, [...next, 'build'], { NEXT_TELEMETRY_DISABLED: '1' });
  const { url, close } = await begin(dir, [...next, 'start', '-p', '0']);
  try {
    await checkPage(chrome, url, `${models.url}/digits.rush`);
    await checkPage(chrome, `${url}/?threads=2`, `${models.url}/digits.rush`, 2);
    answers(await asked(`${url}/api/run`));
    answers(await asked(`${url}/api/run`, '&threads=2'), true);
  } finally {
    await close();
  }
});

test('workerd, by wrangler', async () => {
  const { url, close } = await begin(
    shop.project('wrangler'),
    [...bin('wrangler/bin/wrangler.js'), 'dev', '--port', '0', '--ip', '127.0.0.1'],
    { CI: 'true', WRANGLER_SEND_METRICS: 'false' },
  );
  try {
    const [here, inWorker] = await asked(url);
    answers([here, here]);
    assert.equal(inWorker, 'unsupported: workers are not available here: leave out the option `worker`');
  } finally {
    await close();
  }
});

for (const environment of ['node', 'jsdom']) {
  test(`vitest, ${environment}`, () =>
    run(
      shop.project(`vitest-${environment}`, 'vitest'),
      [...bin('vitest/vitest.mjs'), 'run', '--environment', environment, '--testTimeout', '300000'],
      { MODEL: shop.model, CI: 'true' },
    ));
}
