// Models that the browser keeps: in a page, in a worker, in a service worker; offline, without room, from another
// origin.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';
import { PIECE } from '../../js/src/source/cached-source.js';
import { bytes, integrity, startModels } from './models-server.mjs';

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
/** @type {Awaited<ReturnType<typeof startModels>>} */ let models;
/** @type {Awaited<ReturnType<typeof startModels>>} */ let others;
before(async () => {
  host = await start();
  [models, others] = await Promise.all([startModels(host.url), startModels(host.url)]);
});
after(async () => {
  await host?.close();
  await Promise.all([models?.close(), others?.close()]);
});

/** A page of the models' server with storage of its own, and steps of in-cache.js there. */
async function open(path = '/tests/browser/empty.html') {
  Object.assign(models.state, { up: true, cuts: [], asked: [] });
  const context = await host.browser.newContext();
  const newTab = async () => {
    const page = host.watch(await context.newPage());
    await page.goto(models.url + path);
    return {
      page,
      use: (/** @type {any} */ step) =>
        page.evaluate(
          async (/** @type {any} */ s) => (await import(/** @type {any} */ ('/tests/browser/in-cache.js'))).use(s),
          step,
        ),
    };
  };
  return { context, newTab, ...(await newTab()) };
}

/** The same steps in a worker that the page starts. @param {any} page */
async function inWorker(page) {
  await page.evaluate(() => {
    /** @type {any} */ (globalThis).held = new Worker('/tests/browser/cache-worker.js', { type: 'module' });
  });
  return (/** @type {any} */ step) =>
    page.evaluate(
      (/** @type {any} */ s) =>
        new Promise((resolve, reject) => {
          const { held } = /** @type {any} */ (globalThis);
          held.onmessage = (/** @type {MessageEvent} */ e) => resolve(e.data);
          held.onerror = (/** @type {ErrorEvent} */ e) => reject(new Error(e.message));
          held.postMessage(s);
        }),
      step,
    );
}

/** The same in a service worker. @param {any} page */
async function inServiceWorker(page) {
  await page.evaluate(async () => {
    const { active, waiting, installing } = await navigator.serviceWorker.register('/tests/browser/cache-worker.js', {
      type: 'module',
    });
    const worker = /** @type {any} */ (active ?? waiting ?? installing);
    if (worker.state !== 'activated')
      await new Promise((done) =>
        worker.addEventListener('statechange', () => worker.state === 'activated' && done(undefined)),
      );
    /** @type {any} */ (globalThis).held = worker;
  });
  return (/** @type {any} */ step) =>
    page.evaluate(
      (/** @type {any} */ s) =>
        new Promise((resolve) => {
          navigator.serviceWorker.onmessage = (e) => resolve(e.data);
          /** @type {any} */ (globalThis).held.postMessage(s);
        }),
      step,
    );
}

const whole = { first: 1, kept: [bytes.length], size: bytes.length };
const url = '/m.rush';

/** @type {[string, (opened: Awaited<ReturnType<typeof open>>) => any][]} */
const places = [
  ['a page', ({ use }) => use],
  ['a worker', ({ page }) => inWorker(page)],
];
for (const [place, enter] of places) {
  test(`in ${place}: what was loaded once is not loaded again, and comes while the server is down`, async () => {
    const opened = await open(),
      use = await enter(opened);
    assert.deepEqual(await use({ url }), whole);
    assert.deepEqual(await use({ url }), whole);
    assert.deepEqual(
      models.state.asked.map((a) => a.etag),
      [undefined, '"1"'],
    );
    models.state.up = false;
    assert.deepEqual(await use({ url }), whole);
    assert.equal((await use({ url: '/other.rush' })).code, 'network');
    await opened.context.close();
  });

  test(`in ${place}: a digest is checked on the way, and then the server is not asked`, async () => {
    const opened = await open(),
      use = await enter(opened);
    assert.deepEqual(await use({ url, options: { integrity } }), whole);
    assert.deepEqual(await use({ url, options: { integrity } }), whole);
    assert.equal(models.state.asked.length, 1);
    const { code, message, kept } = await use({ url, options: { integrity: `sha256-${'A'.repeat(43)}=` } });
    assert.deepEqual([code, kept], ['bad-file', [bytes.length]]);
    assert.match(message, /must have the digest .* as integrity says, got/);
    await opened.context.close();
  });

  test(`in ${place}: without room the model runs and is not kept`, async () => {
    const opened = await open(),
      use = await enter(opened);
    const devtools = await opened.context.newCDPSession(opened.page);
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: models.url, quotaSize: PIECE + 50000 });
    assert.deepEqual(await use({ url }), { first: 1, kept: [], size: 0 });
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: models.url });
    assert.deepEqual(await use({ url }), whole);
    await opened.context.close();
  });

  test(`in ${place}: a download that breaks goes on, also after the page was closed`, async () => {
    const opened = await open(),
      use = await enter(opened);
    models.state.cuts = [PIECE + 9];
    assert.deepEqual(await use({ url, cut: PIECE + 9 }), whole);
    assert.deepEqual(
      models.state.asked.map((a) => a.range),
      [undefined, `bytes=${PIECE + 9}-`],
    );
    Object.assign(models.state, { cuts: [2 * PIECE + 9], asked: [] });
    const other = '/other.rush'; // which the browser's own cache has not
    const { code, kept } = await use({ url: other, options: { retries: 0 }, empty: true, cut: 2 * PIECE + 9 });
    assert.deepEqual([code, kept], ['network', [2 * PIECE]]);
    await opened.page.close();
    const next = await opened.newTab();
    assert.deepEqual(await next.use({ url: other }), whole);
    assert.equal(models.state.asked[1]?.range, `bytes=${2 * PIECE}-`);
    await opened.context.close();
  });
}

for (const worker of [false, true]) {
  test(`load() keeps models ${worker ? 'in its worker' : 'in the page'}`, async () => {
    const { use, context } = await open(),
      options = { worker, integrity };
    assert.deepEqual(await use({ url, by: 'load', options }), whole);
    assert.deepEqual(await use({ url, by: 'load', options }), whole);
    assert.equal(models.state.asked.length, 1);
    await context.close();
  });
}

test('two tabs at once keep one whole model', async () => {
  const { use, newTab, context } = await open();
  const second = await newTab();
  assert.deepEqual(
    (await Promise.all([use({ url }), second.use({ url })])).map((r) => r.first),
    [1, 1],
  );
  models.state.up = false;
  assert.deepEqual(await use({ url }), whole);
  assert.deepEqual(await second.use({ url }), whole);
  await context.close();
});

test('loads in two tabs, and in workers, download a model once', async () => {
  const { use, newTab, context } = await open();
  const second = await newTab();
  const step = (/** @type {boolean} */ worker) => ({ url, by: 'load', options: { worker, integrity } });
  const loads = [use, second.use].flatMap((tab) => [tab(step(true)), tab(step(true)), tab(step(false))]);
  for (const { first } of await Promise.all(loads)) assert.equal(first, 1);
  assert.equal(models.state.asked.length, 1);
  await context.close();
});

test('a service worker is told how it keeps models', async () => {
  const { page, context } = await open('/');
  const use = await inServiceWorker(page);
  const { code, message } = await use({ url, by: 'load' });
  assert.equal(code, 'unsupported');
  assert.match(
    message,
    /^cannot import a module of rushlight \(.*\)\. A service worker cannot import modules at run time: use cached\(\) of rushlight\/cache$/,
  );
  assert.deepEqual(await use({ url }), whole);
  models.state.up = false;
  assert.deepEqual(await use({ url }), whole);
  await context.close();
});

test('another origin is asked in a way that it need not allow', async () => {
  const { use, context } = await open('/');
  Object.assign(others.state, { cuts: [PIECE + 9], asked: [] });
  const far = `${others.url}/m.rush`;
  assert.deepEqual(await use({ url: far, cut: PIECE + 9 }), whole);
  assert.deepEqual(await use({ url: far }), whole);
  assert.deepEqual(
    others.state.asked.map((a) => a.method).filter((m) => m !== 'GET'),
    [],
    'no OPTIONS',
  );
  assert(others.state.asked[1]?.range);
  others.state.up = false;
  assert.deepEqual(await use({ url: far }), whole);
  await context.close();
});

test('where nothing can be kept the model runs', async () => {
  const { page, use, context } = await open();
  await page.evaluate(() =>
    Object.defineProperty(globalThis, 'caches', {
      get() {
        throw new DOMException('not here', 'SecurityError');
      },
    }),
  );
  assert.deepEqual(await use({ url }), { first: 1, kept: [], size: 0 });
  await context.close();
});
