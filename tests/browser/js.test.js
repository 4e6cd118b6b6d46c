// The package in headless Chromium, under a strict Content-Security-Policy: in a page and in a worker.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
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
before(async () => {
  host = await start();
  page = await open();
});
after(() => host?.close());

for (const name of Object.keys(tests)) {
  test(`in a page: ${name}`, () =>
    page.evaluate(
      async (/** @type {any} */ { name, base }) => {
        await (await import('/tests/browser/in-page.js')).tests[name](base);
      },
      { name, base: host.url },
    ));

  test(`in a worker: ${name}`, async () => {
    assert.equal(
      await page.evaluate(
        (/** @type {any} */ data) =>
          new Promise((resolve, reject) => {
            const worker = new Worker('/tests/browser/in-worker.js', { type: 'module' });
            worker.onerror = (e) => reject(new Error(e.message));
            worker.onmessage = (e) => {
              worker.terminate();
              resolve(e.data);
            };
            worker.postMessage(data);
          }),
        { name, base: host.url },
      ),
      'ok',
    );
  });
}

/** @param {any} page @param {object} [options] */
const loadIn = (page, options = {}) =>
  page.evaluate(async (/** @type {any} */ options) => {
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
  await page.route('**/*.wasm', (/** @type {any} */ route) =>
    route.fulfill({ status: 200, contentType: 'text/html', body: '<!doctype html>' }),
  );
  const { code, message } = await loadIn(page);
  assert.equal(code, 'bad-file');
  assert.match(
    message,
    /^http.*rushlight-relaxed\.wasm must be the wasm, got HTML: check the address\. Pass its address as the option `wasm`: see "With a bundler" in README.md of this package$/,
  );
  await page.close();
});

test('a policy that forbids wasm is told with what it has to allow', async () => {
  const page = await open();
  await page.route('**/empty.html?strict', (/** @type {any} */ route) =>
    route.fulfill({
      status: 200,
      contentType: 'text/html',
      body: '<!doctype html>',
      headers: { 'content-security-policy': "default-src 'none'; script-src 'self'; connect-src 'self'" },
    }),
  );
  await page.goto(`${host.url}/tests/browser/empty.html?strict`);
  const { code, message } = await loadIn(page);
  assert.equal(code, 'unsupported');
  assert.match(
    message,
    /^cannot compile http.*\.wasm: the Content-Security-Policy of the page, or of the worker's script, forbids WebAssembly\. Allow script-src 'wasm-unsafe-eval'$/,
  );
  await page.close();
});

test('a page that requires Trusted Types has workers and threads by the policy "rushlight"', async () => {
  const page = await open();
  const isolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
  const trusted =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src " +
    "'self'; require-trusted-types-for 'script'; trusted-types";
  for (const [query, policy] of [
    ['trusted', 'rushlight'],
    ['untrusted', "'none'"],
  ]) {
    await page.route(`**/empty.html?${query}`, (/** @type {any} */ route) =>
      route.fulfill({
        status: 200,
        contentType: 'text/html',
        body: '<!doctype html>',
        headers: { ...isolated, 'content-security-policy': `${trusted} ${policy}` },
      }),
    );
  }
  // The threads of a worker are started under the policy of its script.
  await page.route('**/js/src/worker/worker.js', async (/** @type {any} */ route) => {
    const response = await route.fetch();
    await route.fulfill({
      response,
      headers: { ...response.headers(), 'content-security-policy': `${trusted} rushlight` },
    });
  });
  await page.goto(`${host.url}/tests/browser/empty.html?trusted`);
  const threadsIn = (/** @type {any} */ options) =>
    page.evaluate(async (/** @type {any} */ options) => {
      const { load } = await import(/** @type {string} */ ('/js/src/index.js')),
        { flipFile } = await import(/** @type {string} */ ('/tests/js/build-rush.mjs')),
        { Worker } = globalThis;
      const model = await load(flipFile().bytes(), options);
      const { y } = await model.run({ x: new Float32Array([1, 2]) });
      model.dispose();
      return { data: [...y.data], threads: model.backend.threads, same: globalThis.Worker === Worker };
    }, options);
  for (const options of [{}, { worker: true }, { threads: 2 }, { worker: true, threads: 2 }, { worker: true }]) {
    assert.deepEqual(
      await threadsIn(options),
      { data: [2, 1], threads: options.threads ?? 1, same: true },
      JSON.stringify(options),
    );
  }
  await page.goto(`${host.url}/tests/browser/empty.html?untrusted`);
  const { code, message } = await loadIn(page, { worker: true });
  assert.equal(code, 'unsupported');
  assert.match(
    message,
    /^the worker did not start: this page requires Trusted Types: its Content-Security-Policy must allow the policy, trusted-types rushlight /,
  );
  await page.close();
});

test('a worker that does not start says why, and what to do', async () => {
  const page = await open();
  const rows = /** @type {[any, string, RegExp][]} */ ([
    [
      { status: 404, body: 'no' },
      'network',
      /^the worker did not start: HTTP 404 Not Found for http.*\/js\/src\/worker\/worker\.js\. It is src\/worker\/worker\.js of this package/,
    ],
    [
      { contentType: 'text/html', body: '<!doctype html>' },
      'bad-file',
      /^the worker did not start: http.*\/js\/src\/worker\/worker\.js must be a script, got HTML: check the address\. It is src\/worker\/worker\.js/,
    ],
    [
      { contentType: 'text/javascript', body: 'import "./none.js";' },
      'network',
      /^the worker did not start: the script did not load.* loads without `worker`$/,
    ],
  ]);
  for (const [answer, code, message] of rows) {
    await page.route('**/js/src/worker/worker.js', (/** @type {any} */ route) => route.fulfill(answer));
    const error = await loadIn(page, { worker: true });
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    await page.unroute('**/js/src/worker/worker.js');
  }
  assert.equal(await loadIn(page, { worker: true }), 'relaxed');
  await page.route('**/empty.html?no-worker', (/** @type {any} */ route) =>
    route.fulfill({
      status: 200,
      contentType: 'text/html',
      body: '<!doctype html>',
      headers: {
        'content-security-policy':
          "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'none'",
      },
    }),
  );
  await page.goto(`${host.url}/tests/browser/empty.html?no-worker`);
  const { code, message } = await loadIn(page, { worker: true });
  assert.equal(code, 'unsupported', message);
  assert.match(
    message,
    /^the worker did not start: the page's Content-Security-Policy forbids it \(worker-src\)\. Allow worker-src 'self'/,
  );
  await page.close();
});

test('a page takes the package from another origin, worker too, where that allows it', async (t) => {
  let allowed = '*';
  const other = createServer(async (req, res) => {
    if (req.url === '/page') return res.setHeader('content-type', 'text/html').end('<!doctype html>');
    const answer = await fetch(host.url + req.url);
    res
      .writeHead(answer.status, {
        'content-type': answer.headers.get('content-type') ?? '',
        ...(allowed && { 'access-control-allow-origin': allowed }),
      })
      .end(Buffer.from(await answer.arrayBuffer()));
  });
  t.after(() => {
    other.closeAllConnections();
    other.close();
  });
  await new Promise((done) => other.listen(0, '127.0.0.1', () => done(undefined)));
  const base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (other.address()).port}`;
  const page = await host.newPage();
  await page.goto(`${base.replace('127.0.0.1', 'localhost')}/page`);
  const flips = (/** @type {any} */ options) =>
    page.evaluate(
      async (/** @type {any} */ { base, options }) => {
        const { load } = await import(`${base}/js/src/index.js`);
        const { flipFile } = await import('/tests/js/build-rush.mjs');
        try {
          const model = await load(options.source ?? flipFile().bytes(), { worker: options.worker });
          return [...(await model.run({ x: new Float32Array([1, 2]) })).y.data];
        } catch (e) {
          return `${/** @type {any} */ (e).code}: ${/** @type {any} */ (e).message}`;
        }
      },
      { base, options },
    );
  for (const worker of [false, true]) assert.deepEqual(await flips({ worker }), [2, 1]);
  allowed = '';
  assert.match(
    await flips({ worker: true }),
    /^network: the worker did not start: cannot read http:.*\/js\/src\/worker\/worker\.js: .*; its server must allow CORS\. It is src/,
  );
  assert.match(
    await flips({ worker: false, source: `${base}/none.rush` }),
    /^network: cannot read http:.*\/none\.rush: .*; its server must allow CORS$/,
  );
  await page.close();
});

test('a download that breaks off says how far it came', async () => {
  const page = await open();
  await page.route('**/cut.rush', (/** @type {any} */ route) =>
    route.fulfill({
      status: 200,
      contentType: 'application/octet-stream',
      body: Buffer.from('\x89RUSH\r\n\x1a', 'latin1'),
    }),
  );
  const message = await page.evaluate(() =>
    import('/js/src/index.js').then(({ load }) => load('/cut.rush')).catch((e) => `${e.code}: ${e.message}`),
  );
  assert.match(message, /^truncated: http.*\/cut\.rush is truncated: got 8 of at least 64 bytes$/);
  await page.close();
});
