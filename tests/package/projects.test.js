// The package without a bundler: in Node, in pages, in a service worker. With bundlers: bundlers/.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { build } from 'esbuild';

import { answers, browser, checkPage, openPage, run, serve, workshop } from './harness.mjs';

/** @type {ReturnType<typeof workshop>} */ let shop;
/** @type {import('playwright-core').Browser} */ let chrome;
/** @type {Awaited<ReturnType<typeof serve>>} */ let here;
/** @type {Awaited<ReturnType<typeof serve>>} */ let elsewhere;
before(async () => {
  shop = workshop();
  chrome = await browser();
  here = await serve(shop.root);
  elsewhere = await serve(shop.root);
});
after(async () => {
  await chrome?.close();
  here?.close();
  elsewhere?.close();
  shop?.remove();
});

test('Node: import, and a worker', () => {
  const dir = shop.project('node');
  for (const node of [process.execPath, process.env.RUSH_NODE_CURRENT ?? process.execPath]) {
    const { reports, workers } = JSON.parse(run(dir, [node, 'main.mjs', shop.model]));
    answers(reports);
    assert.equal(workers, 1);
  }
});

test('Node: require', () => assert.match(run(shop.project('require', 'node'), [process.execPath, 'main.cjs', shop.model]), /^true$/m));

test('a page with an import map', async () => {
  shop.project('importmap');
  await checkPage(chrome, `${here.url}/importmap/`, `${here.url}/digits.rush`);
});

test('esbuild, which leaves the package whole', async () => {
  const dir = shop.project('esbuild', 'importmap'), page = join(dir, 'index.html');
  await build({ entryPoints: [join(dir, 'page.js')], bundle: true, format: 'esm', external: ['rushlight'], outdir: join(dir, 'dist') });
  writeFileSync(page, readFileSync(page, 'utf8').replace('./page.js', './dist/page.js'));
  await checkPage(chrome, `${here.url}/esbuild/`, `${here.url}/digits.rush`);
});

test('a page that imports from another origin, a worker too', async () => {
  const page = join(shop.project('elsewhere', 'importmap'), 'index.html');
  writeFileSync(page, readFileSync(page, 'utf8').replace('./node_modules', `${elsewhere.url}/elsewhere/node_modules`));
  await checkPage(chrome, `${here.url}/elsewhere/`, `${here.url}/digits.rush`);
});

test('a service worker with an operator of its own', async () => {
  shop.project('service-worker');
  const { page, close } = await openPage(chrome, `${here.url}/service-worker/`, 'ask');
  const ask = (/** @type {boolean} */ worker) => page.evaluate((question) => /** @type {any} */ (globalThis).ask(question), { model: `${here.url}/scale.rush`, worker });
  assert.deepEqual(await ask(false), [3, 6, 9]);
  assert.match(await ask(true), /^unsupported: .* A service worker imports nothing later/);
  await close();
});
