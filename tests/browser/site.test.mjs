// The site of ./dev docs as a static host serves it: below some path, without headers. A visitor walks through it,
// and axe-core looks at a page of each kind. The stage site looks at every page.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';
import { startWithGpu } from '../gpu/chromium.mjs';
import { audit, path, serveSite } from './site.mjs';

const KEPT = path('build/screenshots');
/** The manifest of "Run it here", with the smallest model. The server has it, because a service worker reads it. */
const MANIFEST = {
  where: 'a test',
  models: [
    {
      name: 'gate',
      title: 'The model of the package',
      file: '../../../js/gate.rush',
      bytes: 5000,
      weights: 'seeded',
      inputs: { x: { dtype: 'float32', shape: [2, 4] } },
      recorded: { 1: { Rushlight: 1, other: 4 } },
    },
  ],
};

/** @type {Awaited<ReturnType<typeof serveSite>>} */ let site;
/** @type {Awaited<ReturnType<typeof start>>} */ let host;
let url = '';

before(async () => {
  mkdirSync(KEPT, { recursive: true });
  site = await serveSite((pathname) =>
    pathname.endsWith('/run-it-here/manifest.json') ? JSON.stringify(MANIFEST) : undefined,
  );
  ({ url } = site);
  host = await start();
});
after(async () => {
  await host?.close();
  site?.close();
});

/**
 * Opens a page, waits until it answers keys, and collects requests that fail.
 * @param {string} address @param {{ missing?: boolean }} [how]
 */
async function open(address, how = {}) {
  const page = await host.newPage({ reducedMotion: 'reduce' });
  /** @type {string[]} */ const failed = [];
  page.on('response', (/** @type {any} */ r) => void (r.status() >= 400 && failed.push(`${r.status()} ${r.url()}`)));
  await page.goto(url + address, how);
  await page.waitForFunction(() => {
    const app = document.querySelector('#app');
    return !app || '__vue_app__' in app;
  });
  return { page, failed };
}

test('the model of the start runs, and its answer follows the sliders', async () => {
  const { page, failed } = await open('');
  await page.waitForSelector('.live-model .answer');
  const answers = () => page.locator('.live-model .answer output').allTextContents();
  assert.deepEqual(await answers(), ['-1', '0', '1']);
  await page.locator('.live-model input').first().fill('5');
  await page.waitForFunction(() => document.querySelector('.live-model .answer output')?.textContent === '5');
  assert.deepEqual(await answers(), ['5', '0', '7']);
  assert.deepEqual(failed, []);
  await page.close();
});

test('a visitor walks from page to page, and each link leads below the folder of the site', async () => {
  const { page, failed } = await open('guide/worker.html');
  await page.locator('.VPSidebar a', { hasText: 'Threads' }).click();
  await page.waitForURL(`${url}guide/threads.html`);
  await page.locator('.VPNavBarTitle a').click();
  await page.waitForSelector('.live-model');
  assert.equal(page.url(), url);
  await page.locator('.vp-doc a', { hasText: 'guide' }).first().click();
  await page.waitForSelector('.VPSidebar');
  for (const link of await page.evaluate(() => [...document.links].map((a) => a.href)))
    assert(link.startsWith(url) || !link.startsWith('http://localhost') || link.includes(':8080'), link);
  assert.deepEqual(failed, []);
  await page.close();
});

test('the search finds a page without another server', async () => {
  const { page, failed } = await open('guide/');
  await page.keyboard.press('Control+k');
  await page.locator('#localsearch-input').fill('trusted types');
  await page.locator('.VPLocalSearchBox .result').first().click();
  await page.waitForURL(`${url}guide/worker.html#content-security-policy`);
  assert.deepEqual(failed, []);
  await page.close();
});

test('the page of an address that does not exist leads back to the site', async () => {
  const { page } = await open('guide/no/such/page', { missing: true });
  await page.waitForSelector('#ways:not([hidden])');
  await page.locator('a', { hasText: 'Guide' }).click();
  await page.waitForURL(`${url}guide/`);
  await page.close();
});

test('"Run it here" isolates itself, measures on one thread and on all, and reports', async () => {
  const page = await host.newPage({ reducedMotion: 'reduce' });
  await page.goto(`${url}live/demo/run-it-here/`);
  await page.waitForFunction(() => crossOriginIsolated);
  await page.locator('#start:enabled').click();
  await page.waitForFunction(() => document.querySelector('#progress')?.textContent === 'Every model was measured.');
  const report = JSON.parse(await page.locator('#report').inputValue());
  assert.equal(report.device.isolated, true);
  const [{ name, 1: one, auto }] = report.models;
  assert.equal(name, 'gate');
  assert.equal(one.threads, 1);
  assert(auto.threads > 1 || report.device.cores === 1);
  for (const { min, median, runs } of [one, auto]) assert(min > 0 && min <= median && runs >= 3);
  assert.deepEqual(await page.locator('thead th').allTextContents(), [
    'Model',
    'here, 1 thread',
    'here, all threads',
    'recorded, Rushlight',
    'recorded, other',
  ]);
  assert.equal(await page.locator('#chart .line').count(), 4);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await page.screenshot({ path: `${KEPT}/run-it-here-measured-${width}.png`, fullPage: true });
  }
  assert.deepEqual(await audit(page), []);
  await page.close();
});

test('"Run it here" also measures on a GPU', async () => {
  const other = await startWithGpu(),
    page = await other.newPage({ reducedMotion: 'reduce' });
  await page.goto(`${url}live/demo/run-it-here/`);
  await page.waitForFunction(() => crossOriginIsolated);
  await page.locator('#start:enabled').click();
  await page.waitForFunction(() => document.querySelector('#progress')?.textContent === 'Every model was measured.');
  const { device, models } = JSON.parse(await page.locator('#report').inputValue());
  assert.match(device.gpu, /\w/);
  assert(models[0].webgpu.min > 0 && models[0].webgpu.runs >= 3);
  assert.equal((await page.locator('thead th').allTextContents())[3], 'here, GPU');
  assert.equal(await page.locator('#chart .line').count(), 5);
  await page.screenshot({ path: `${KEPT}/run-it-here-gpu.png`, fullPage: true });
  await page.close();
  await other.close();
});

/** Pages of each generator and of each kind. */
const PAGES = [
  ...[
    'index',
    '404',
    'changelog',
    'operators',
    'status/SPEED',
    'guide/index',
    'guide/export',
    'live/demo/run-it-here/index',
  ],
  ...[
    'c/index',
    'c/rushlight_8h',
    'c/format_8h',
    'python/rushlight',
    'js/index',
    'js/modules/rushlight',
    'js/hierarchy',
  ],
  ...['js/functions/rushlight.load', 'js/interfaces/rushlight.LoadOptions', 'js/classes/rushlight.Model'],
].map((name) => `${name}.html`);

test('axe-core finds nothing in any kind of page', async () => {
  const page = await host.newPage({ reducedMotion: 'reduce' });
  /** @type {Record<string, string[]>} */ const found = {};
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    await page.emulateMedia({ colorScheme });
    for (const file of PAGES) {
      assert.equal((await page.goto(url + file))?.status(), 200, file);
      for (const text of await audit(page)) (found[text] ??= []).push(`${file} ${colorScheme}`);
    }
  }
  const told = Object.entries(found).map(([text, files]) => `${files.length} pages, first ${files[0]}\n${text}`);
  assert.equal(told.length, 0, told.slice(0, 40).join('\n\n'));
  await page.close();
});
