// Tests the package in Firefox and in WebKit, as ../browser/js.test.js does in Chromium: in a page and in a worker.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { serve } from '../../demo/serve.mjs';
import { tests } from '../browser/in-page.js';
import { bytes, startModels } from '../browser/models-server.mjs';
import { startFirefox } from './firefox.mjs';
import { startWebKit } from './webkit.mjs';

/** @type {Awaited<ReturnType<typeof serve>>} */ let server;
/** @type {Awaited<ReturnType<typeof startModels>>} */ let models;
before(async () => {
  server = await serve(0);
  models = await startModels(server.url);
});
after(() => Promise.all([server?.close(), models?.close()]));

for (const [name, start] of /** @type {const} */ ([
  ['Firefox', startFirefox],
  ['WebKit', startWebKit],
])) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<start>>} */ let browser;
    before(async () => {
      browser = await start();
      await browser.goto(`${server.url}/tests/browser/empty.html`);
    });
    after(() => browser?.close());

    test('which it is, and which binary it gets', async (t) => {
      const { name, reason } = await browser.evaluate(async () => {
        const { load } = await import('/js/src/index.js');
        const { flipFile } = await import('/tests/js/build-rush.mjs');
        return (await load(flipFile().bytes())).backend;
      });
      t.diagnostic(`${browser.version}: ${name}, ${reason}`);
    });

    for (const each of Object.keys(tests)) {
      test(`in a page: ${each}`, () =>
        browser.evaluate(
          async ({ each, base }) => {
            await (await import('/tests/browser/in-page.js')).tests[each](base);
          },
          { each, base: server.url },
        ));

      // Firefox 153 sometimes hangs if a worker ends its own worker.
      const nested = name === 'Firefox' && /worker/.test(String(tests[each])) && 'workers of workers hang in Firefox';
      test(`in a worker: ${each}`, { skip: nested }, async () => {
        assert.equal(
          await browser.evaluate(
            (data) =>
              new Promise((resolve, reject) => {
                const worker = new Worker('/tests/browser/in-worker.js', { type: 'module' });
                worker.onerror = (e) => reject(new Error(e.message));
                worker.onmessage = (e) => {
                  worker.terminate();
                  resolve(e.data);
                };
                worker.postMessage(data);
              }),
            { name: each, base: server.url },
          ),
          'ok',
        );
      });
    }

    test('a model that was loaded once is kept, for a worker too, and comes while the server is down', async () => {
      models.state.up = true;
      await browser.goto(`${models.url}/tests/browser/empty.html`);
      const use = (worker = false) =>
        browser.evaluate(async (step) => (await import('/tests/browser/in-cache.js')).use(step), {
          url: '/m.rush',
          by: 'load',
          options: { worker },
        });
      models.state.asked = [];
      const whole = { first: 1, kept: [bytes.length], size: bytes.length };
      assert.deepEqual(await use(), whole);
      assert.deepEqual(await use(true), whole);
      assert.deepEqual(
        models.state.asked.map((a) => a.etag),
        [undefined, '"1"'],
      );
      models.state.up = false;
      assert.deepEqual(await use(), whole);
    });
  });
}
