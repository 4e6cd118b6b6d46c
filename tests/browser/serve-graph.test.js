// The graph in the page of npx rushlight serve, in Chromium: by mouse, by keyboard, and for screen readers.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';
import { serveModel } from '../../js/bin/serve.js';
import { RushFile } from '../js/build-rush.mjs';
import { unreadable } from './unreadable.js';

const gate = fileURLToPath(new URL('../../js/gate.rush', import.meta.url)); // ./dev build native exports it
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shots = fileURLToPath(new URL('../../build/screenshots/', import.meta.url)); // to be looked at
mkdirSync(shots, { recursive: true });
const dir = mkdtempSync(join(tmpdir(), 'rush-graph-'));
/** @type {Awaited<ReturnType<typeof start>>} */ let host;
before(async () => {
  host = await start();
});
after(async () => {
  await host?.close();
  rmSync(dir, { recursive: true });
});

/**
 * Opens the page of a model, and waits for its first run.
 * @param {string} file @param {import('playwright-core').BrowserContextOptions} [options]
 */
async function open(file, options = {}) {
  const { url, server } = await serveModel(file, 0);
  const page = await host.browser.newPage(options);
  /** @type {string[]} */ const errors = [];
  page.on('pageerror', (/** @type {Error} */ e) => errors.push(e.message));
  await page.goto(url);
  await page.waitForFunction(
    () => document.documentElement.dataset.done || document.getElementById('error')?.textContent,
  );
  const close = async () => {
    assert.deepEqual(errors, []);
    await page.close();
    server.close();
    server.closeAllConnections();
  };
  return { page, close };
}

/** Waits for the values and weights of the selected node. @param {any} page */
const filled = (page) => page.waitForSelector('#node[aria-busy=false]');

/** The texts of elements. @param {any} page @param {string} selector @returns {Promise<string[]>} */
const texts = (page, selector) =>
  page.$$eval(selector, (/** @type {Element[]} */ all) => all.map((e) => e.textContent?.trim()));

for (const [width, height] of /** @type {const} */ ([
  [1280, 900],
  [390, 844],
]))
  for (const colorScheme of /** @type {const} */ (['light', 'dark']))
    test(`axe finds nothing, and all texts are readable: ${width} px, ${colorScheme}`, async () => {
      const { page, close } = await open(gate, { viewport: { width, height }, colorScheme });
      await page.click('#outline [role=treeitem]:has-text("linear")');
      await filled(page);
      await page.screenshot({ path: join(shots, `serve-graph-${width}-${colorScheme}.png`), fullPage: true });
      await page.evaluate(axe);
      const found = await page.evaluate(async () =>
        (await /** @type {any} */ (globalThis).axe.run()).violations.map((/** @type {any} */ { id, nodes }) => [
          id,
          nodes.map((/** @type {any} */ n) => n.html),
        ]),
      );
      assert.deepEqual(found, []);
      assert.deepEqual(await page.evaluate(unreadable), []);
      assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      await close();
    });

test('a node has its source, arguments, values and weights, and links to its neighbors', async () => {
  const { page, close } = await open(gate);
  const node = () => page.textContent('#node');
  await page.click('#drawing .layer');
  await filled(page);
  assert.equal(await page.textContent('#node h3'), 'linear');
  assert.match((await node()) ?? '', /operatorrush::linear.*modulelinear.*classLinear.*source\S*gate\.py:\d+/);
  assert.match((await node()) ?? '', /parameters15.*time[\d.]+ ms/);
  assert.deepEqual(await texts(page, '#node .values [aria-pressed=true]'), ['numbers', 'histogram', 'numbers']);
  assert.match((await node()) ?? '', /linear\.weight/);
  assert.match((await node()) ?? '', /Code of linear/);
  await page.click('#node .links button:has-text("2×3")');
  assert.notEqual(await page.textContent('#node h3'), 'linear');
  assert.equal((await page.$$('#outline [aria-selected=true]')).length, 1);
  // The branch that did not run has no values.
  const branches = await texts(page, '#outline [role=treeitem]');
  assert(branches.includes('neg') && branches.includes('relu'), String(branches));
  await page.click('#outline [role=treeitem]:has-text("neg")');
  await filled(page);
  const notReached = (await node())?.includes('did not reach');
  await page.click('#outline [role=treeitem]:has-text("relu")');
  await filled(page);
  assert.notEqual((await node())?.includes('did not reach'), notReached);
  await close();
});

test('the tree works by keyboard: arrows, Home, End, Enter and letters', async () => {
  const { page, close } = await open(gate);
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.replace(/^[▾▸]/, ''));
  assert.equal((await page.$$('#outline [tabindex="0"]')).length, 1);
  await page.focus('#outline [tabindex="0"]');
  assert.equal(await focused(), 'x');
  await page.keyboard.press('ArrowDown');
  assert.match((await focused()) ?? '', /^linear/);
  await page.keyboard.press('End');
  assert.equal(await focused(), 'output');
  await page.keyboard.press('Home');
  await page.keyboard.type('if');
  assert.match((await focused()) ?? '', /^if/);
  const expanded = () => page.evaluate(() => document.activeElement?.getAttribute('aria-expanded'));
  assert.equal(await expanded(), 'true');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await expanded(), 'false');
  assert.equal(await page.$('#outline [role=treeitem]:has-text("relu")'), null);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  assert.equal(await focused(), 'then');
  await page.keyboard.press('ArrowLeft'); // closes the branch
  await page.keyboard.press('ArrowLeft');
  assert.match((await focused()) ?? '', /^if/);
  await page.keyboard.press('Enter');
  assert.equal(await expanded(), 'false');
  assert.equal((await page.$$('#outline [tabindex="0"]')).length, 1);
  await close();
});

test('the Tab key reaches every part of the page once', async () => {
  const { page, close } = await open(gate);
  /** @type {string[]} */ const order = [];
  for (let again = false; !again;) {
    await page.keyboard.press('Tab');
    const [name, seen] = await page.evaluate(() => {
      const reached = /** @type {Set<Element | null>} */ (/** @type {any} */ (window).reached ??= new Set()),
        e = document.activeElement;
      return /** @type {[string, boolean]} */ ([e?.id || e?.textContent, reached.size === reached.add(e).size]);
    });
    again = seen;
    if (!again) order.push(name);
  }
  const parts = [
    'find',
    'fold-all',
    'unfold',
    'zoom-out',
    'zoom-in',
    'zoom-fit',
    'compare',
    'x',
    'drawing',
    'node',
    'run',
  ];
  assert.deepEqual(
    order.filter((part) => parts.includes(part)),
    parts,
    order.join(', '),
  );
  await close();
});

test('search opens the groups around a match', async () => {
  const { page, close } = await open(gate);
  await page.click('#drawing .fold'); // closes the if
  assert.equal(await page.$('#outline [role=treeitem]:has-text("relu")'), null);
  await page.focus('#find');
  await page.keyboard.type('relu');
  assert.equal(await page.textContent('#matches'), '1 found');
  assert.equal((await page.$$('#drawing .group.found')).length, 1);
  await page.press('#find', 'Enter');
  assert.equal(await page.textContent('#matches'), '1 of 1: relu');
  assert.equal((await page.$$('#drawing .step.found.selected')).length, 1);
  await page.fill('#find', 'nothing of the kind');
  assert.equal(await page.textContent('#matches'), 'nothing found');
  await close();
});

test('runs are compared with the test vectors', async () => {
  const { page, close } = await open(gate);
  await page.click('#compare');
  await page.waitForFunction(() => /agree|differ/.test(document.getElementById('graph-status')?.textContent ?? ''));
  assert.match(
    (await page.textContent('#graph-status')) ?? '',
    /^1 test vector agrees with PyTorch's, max abs [\d.e+-]+\. The file has no trace/,
  );
  await close();

  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2] }], outputs: ['y'] }, (m, x) =>
    m.op('aten::relu', [x]),
  );
  const tensor = (/** @type {number[]} */ ...data) => f.tensor(Float32Array.from(data), [2]);
  f.test(0, [tensor(1, -1)], ['Tensor'], tensor(1, 5));
  writeFileSync(join(dir, 'differs.rush'), f.bytes());
  const other = await open(join(dir, 'differs.rush'));
  await other.page.click('#compare');
  await other.page.waitForFunction(() => document.getElementById('graph-status')?.textContent?.includes('differs'));
  assert.match((await other.page.textContent('#graph-status')) ?? '', /^Test vector 0 differs from PyTorch's answer: /);
  await other.close();
});

test('5,000 operators stay usable', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [4] }], outputs: ['y'] }, (m, x) => {
    let y = x;
    for (let i = 0; i < 5000; i++) y = m.op('aten::neg', [y]);
    return y;
  });
  writeFileSync(join(dir, 'long.rush'), f.bytes());
  const { page, close } = await open(join(dir, 'long.rush'));
  assert.match((await page.textContent('#outline')) ?? '', /steps 1 to 71/);
  const drawn = () => page.$$eval('#drawing [data-item]', (/** @type {Element[]} */ all) => all.length);
  assert((await drawn()) <= 80);
  await page.click('#unfold');
  assert.match((await page.textContent('#graph-status')) ?? '', /^At most 600 items are drawn at a time/);
  await page.click('#drawing .group:nth-of-type(5) .fold');
  assert((await drawn()) > 100);
  await page.screenshot({ path: join(shots, 'serve-graph-long.png') });
  await close();
});
