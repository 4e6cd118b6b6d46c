// The examples that need tools: each is built with the packed package, and gives the model's answers. The others are in
// ../examples.test.js.

import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { FIRST_ANSWER, begin, browser, checkAnswers, run, serve, workshop } from '../harness.mjs';

const tools = String(process.env.RUSH_BUNDLERS);
const bin = (/** @type {string} */ path, node = process.execPath) => [node, join(tools, 'node_modules', path)];
const currentNode = process.env.RUSH_NODE_CURRENT ?? process.execPath;

/** @type {ReturnType<typeof workshop>} */ let shop;
/** @type {import('playwright-core').Browser} */ let chrome;
before(async () => {
  shop = workshop(tools);
  chrome = await browser();
});
after(async () => {
  await chrome?.close();
  shop?.remove();
});

/** Checks the page at an address. @param {string} url */
async function checkPage(url) {
  const page = await chrome.newPage();
  /** @type {string[]} */ const errors = [];
  page.on('pageerror', (e) => errors.push(e.message));
  page.on('response', (r) => r.status() >= 400 && errors.push(`${r.url()}: ${r.status()}`));
  await page.goto(url);
  await checkAnswers(page).catch((e) => {
    throw new Error([e.message, ...errors].join('\n'));
  });
  assert.deepEqual(errors, []);
  await page.close();
}

/** Checks the page that an example made. @param {string} dir */
async function checkFolder(dir) {
  const { url, close } = await serve(dir);
  await checkPage(`${url}/`).finally(close);
}

for (const name of ['vite-react', 'vite-vue', 'vite-svelte']) {
  test(name, async () => {
    const dir = shop.example(name);
    run(dir, [...bin('vite/bin/vite.js', currentNode), 'build']);
    await checkFolder(join(dir, 'dist'));
    const { url, close } = await begin(dir, [...bin('vite/bin/vite.js', currentNode), '--port', '0']);
    await checkPage(url).finally(close);
  });
}

for (const vite of ['vite5', 'vite6', 'vite7', 'vite']) {
  test(`vite-comlink, ${vite}`, async () => {
    const dir = shop.example('vite-comlink', `comlink-${vite}`);
    run(dir, [...bin(`${vite}/bin/vite.js`), 'build']);
    await checkFolder(join(dir, 'dist'));
    const { url, close } = await begin(dir, [...bin(`${vite}/bin/vite.js`), '--port', '0']);
    await checkPage(url).finally(close);
  });
}

test('next', async () => {
  const dir = shop.example('next'),
    next = bin('next/dist/bin/next');
  mkdirSync(join(dir, 'public'));
  cpSync(join(dir, 'node_modules/rushlight/gate.rush'), join(dir, 'public/gate.rush'));
  run(dir, [...next, 'build'], { NEXT_TELEMETRY_DISABLED: '1' });
  const { url, close } = await begin(dir, [...next, 'start', '-p', '0']);
  try {
    await checkPage(url);
    assert.deepEqual(await (await fetch(`${url}/api/gate?x=4,3,2,1`)).json(), [2.5, 0.5, 8]);
    assert.equal((await fetch(`${url}/api/gate?x=1`)).status, 400);
  } finally {
    await close();
  }
});

test('angular', async () => {
  const dir = shop.example('angular');
  run(dir, [...bin('@angular/cli/bin/ng.js', currentNode), 'build'], { CI: 'true', NG_CLI_ANALYTICS: 'false' });
  await checkFolder(join(dir, 'dist/browser'));
});

test('deno', () => {
  const dir = shop.example('deno');
  assert.equal(run(dir, [...bin('deno/bin.cjs'), 'run', '--allow-read', 'main.js']).trim(), FIRST_ANSWER);
});

test('bun', () => {
  const program = join(tools, `node_modules/@oven/bun-${process.platform}-${process.arch}/bin/bun`);
  assert.equal(run(shop.example('bun'), [program, 'main.js']).trim(), FIRST_ANSWER);
});
