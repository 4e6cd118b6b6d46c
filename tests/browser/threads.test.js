// Threads in Chromium: on a host that sets no headers one computes, and says which are missing; with js/isolate.js
// several do.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';

const top = fileURLToPath(new URL('../../', import.meta.url));
const TYPES = /** @type {Record<string, string>} */ ({
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
  '.html': 'text/html',
});
/** Headers that the host sets. @type {Record<string, string>} */ let sets = {};
const server = createServer(({ url = '' }, response) => {
  const { pathname } = new URL(url, 'http://host');
  try {
    // Beside the page
    const body =
      pathname === '/' || pathname === '/isolated'
        ? `<!doctype html><title>t</title>${pathname === '/' ? '' : '<script src="isolate.js"></script>'}`
        : readFileSync(top + (pathname === '/isolate.js' ? 'js/isolate.js' : pathname.slice(1)));
    response.writeHead(200, { 'content-type': TYPES[extname(pathname)] ?? 'text/html', ...sets }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
/** @type {Awaited<ReturnType<typeof start>>} */ let host;
let base = '';
before(async () => {
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  host = await start();
});
after(async () => {
  await host?.close();
  server.close();
  server.closeAllConnections();
});

/** @param {any} page @returns {Promise<import('../../js/src/index.js').Backend>} */
const backendIn = (page) =>
  page.evaluate(async () => {
    const { load } = await import(/** @type {string} */ ('/js/src/index.js')),
      { flipFile } = await import(/** @type {string} */ ('/tests/js/build-rush.mjs'));
    const model = await load(flipFile().bytes(), { threads: 2 });
    await model.run({ x: new Float32Array([1, 2]) });
    model.dispose();
    return model.backend;
  });

test('the reason names the header that is missing', async () => {
  const opener = { 'Cross-Origin-Opener-Policy': 'same-origin' },
    embedder = { 'Cross-Origin-Embedder-Policy': 'require-corp' };
  for (const [headers, missing] of /** @type {[Record<string, string>, string][]} */ ([
    [{}, 'Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy'],
    [opener, 'Cross-Origin-Embedder-Policy'],
    [embedder, 'Cross-Origin-Opener-Policy'],
    [{ ...opener, ...embedder }, ''],
  ])) {
    sets = headers;
    const page = await host.newPage();
    await page.goto(`${base}/`);
    const { threads, reason } = await backendIn(page);
    assert.equal(threads, missing ? 1 : 2);
    if (missing)
      assert(
        reason.endsWith(`one thread: the page is not cross-origin isolated: it must be served with ${missing}`),
        reason,
      );
    await page.close();
  }
  sets = {};
});

test('threads whose script the server does not give are not counted, and the reason says why', async () => {
  sets = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
  const page = await host.newPage();
  await page.goto(`${base}/`);
  for (const [answer, why] of /** @type {[any, RegExp][]} */ ([
    [{ status: 404, body: 'no' }, /HTTP 404 Not Found for http.*\/js\/src\/worker\/thread\.js\. Their script/],
    [
      { contentType: 'text/html', body: '<!doctype html>', headers: sets },
      /http.*\/js\/src\/worker\/thread\.js must be a script, got HTML: check the address\. Their script/,
    ],
    [
      { contentType: 'text/javascript', body: '' },
      /the script did not load\. Their script is src\/worker\/thread\.js of this package, and must be served with the page's own Cross-Origin-Embedder-Policy/,
    ],
  ])) {
    await page.route('**/js/src/worker/thread.js', (/** @type {any} */ route) => route.fulfill(answer));
    const { threads, reason } = await backendIn(page);
    assert.equal(threads, 1);
    assert.match(reason, /; one thread: 1 more did not start: /);
    assert.match(reason, why);
    await page.unroute('**/js/src/worker/thread.js');
  }
  assert.equal((await backendIn(page)).threads, 2);
  sets = {};
  await page.close();
});

test('isolate.js makes up for a host that sets none', async () => {
  const page = await host.newPage();
  await page.goto(`${base}/isolated`);
  await page.waitForFunction(() => globalThis.crossOriginIsolated);
  const { threads, reason } = await backendIn(page);
  assert.equal(threads, 2, reason);
  await page.close();
});

test('threads come while the page runs one model after the other and has no turn for anything else', async () => {
  const page = await host.newPage();
  await page.goto(`${base}/isolated`);
  await page.waitForFunction(() => crossOriginIsolated);
  assert(
    await page.evaluate(async () => {
      // Of a page of memory
      const { share } = await import(/** @type {string} */ ('/js/src/worker/threads.js')),
        size = 1 << 16;
      const { memory, threads } = await share(
        new Uint8Array(await (await fetch('/js/wasm/rushlight-simd.wasm')).arrayBuffer()),
        2,
      );
      // A pool of no threads, of which a helper goes as soon as it has counted itself.
      const pool = memory.grow(3) * size;
      threads.begin({ c: { rush_ctx_set_threads: () => 0, rush_ctx_pool: () => pool, malloc: () => pool + size } }, 0);
      const words = new Int32Array(memory.buffer, pool, 16),
        begun = Date.now();
      while (words.every((word) => word === 0) && Date.now() - begun < 20_000);
      threads.end();
      return words.some((word) => word !== 0);
    }),
  );
  await page.close();
});
