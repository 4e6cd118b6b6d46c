// The package in headless Chromium, under a strict Content-Security-Policy: in a page and in a worker.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';
import { tests } from './in-page.js';

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
/** @type {any} */ let page;
const open = async () => {
  const fresh = await host.newPage();
  await fresh.goto(`${host.url}/tests/browser/empty.html`);
  return fresh;
};
before(async () => { host = await start(); page = await open(); });
after(() => host?.close());

for (const name of Object.keys(tests)) {
  test(`in a page: ${name}`, () => page.evaluate(async (/** @type {any} */ { name, base }) => {
    await (await import('/tests/browser/in-page.js')).tests[name](base);
  }, { name, base: host.url }));

  test(`in a worker: ${name}`, async () => {
    assert.equal(await page.evaluate((/** @type {any} */ data) => new Promise((resolve, reject) => {
      const worker = new Worker('/tests/browser/in-worker.js', { type: 'module' });
      worker.onerror = (e) => reject(new Error(e.message));
      worker.onmessage = (e) => { worker.terminate(); resolve(e.data); };
      worker.postMessage(data);
    }), { name, base: host.url }), 'ok');
  });
}

/** @param {any} page @param {object} [options] */
const loadIn = (page, options = {}) => page.evaluate(async (/** @type {any} */ options) => {
  const { load } = await import('/js/src/index.js');
  const { flipFile } = await import('/tests/js/build-rush.mjs');
  try {
    return (await load(flipFile().bytes(), options)).backend.name;
  } catch (e) {
    return { code: /** @type {any} */ (e).code, message: /** @type {any} */ (e).message };
  }
}, options);

test('a server that does not know .wasm serves it all the same', async () => {
  const page = await open();
  await page.route('**/*.wasm', async (/** @type {any} */ route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), 'content-type': 'text/plain' } });
  });
  assert.equal(await loadIn(page), 'relaxed');
  await page.close();
});

test('a page that the server gives in place of the wasm is named', async () => {
  const page = await open();
  await page.route('**/*.wasm', (/** @type {any} */ route) => route.fulfill({ status: 200, contentType: 'text/html', body: '<!doctype html>' }));
  const { code, message } = await loadIn(page);
  assert.equal(code, 'bad-file');
  assert.match(message, /^got HTML from http.*rushlight-relaxed\.wasm where the wasm was expected/);
  await page.close();
});

test('a policy that forbids wasm is told in its own words', async () => {
  const page = await open();
  await page.route('**/empty.html?strict', (/** @type {any} */ route) => route.fulfill({
    status: 200, contentType: 'text/html', body: '<!doctype html>',
    headers: { 'content-security-policy': "default-src 'none'; script-src 'self'; connect-src 'self'" },
  }));
  await page.goto(`${host.url}/tests/browser/empty.html?strict`);
  const { code, message } = await loadIn(page);
  assert.equal(code, 'unsupported');
  assert.match(message, /wasm-unsafe-eval|unsafe-eval/);
  await page.close();
});

test('a download that breaks off says how far it came', async () => {
  const page = await open();
  await page.route('**/cut.rush', (/** @type {any} */ route) => route.fulfill({ status: 200, contentType: 'application/octet-stream', body: Buffer.from('\x89RUSH\r\n\x1a', 'latin1') }));
  const message = await page.evaluate(() => import('/js/src/index.js').then(({ load }) => load('/cut.rush')).catch((e) => `${e.code}: ${e.message}`));
  assert.match(message, /^truncated: http.*\/cut\.rush is cut off: got 8 of at least 64 bytes$/);
  await page.close();
});
