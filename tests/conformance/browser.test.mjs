// The conformance rows in headless Chromium: both binaries, and once more in a worker.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
before(async () => { host = await start(); });
after(() => host?.close());

for (const query of ['backend=simd&where=page', 'backend=relaxed&where=page', 'backend=relaxed&where=worker']) {
  test(`every row in Chromium, ${query.replaceAll(/\w+=/g, '').replace('&', ' binary, ')}`, async (t) => {
    const page = await host.browser.newPage();
    await page.goto(`${host.url}/tests/browser/replay.html?manifest=/build/conformance/manifest.json&${query}`);
    const { passed, failed } = await page.evaluate(() => /** @type {any} */ (globalThis).report);
    t.diagnostic(`${passed} of ${passed + failed.length} rows passed`);
    assert(passed + failed.length > 0, 'there are no rows: ./dev test conformance-make');
    assert.equal(failed.map((/** @type {any} */ { file, message }) => `${file}: ${message}`).join('\n'), '');
    await page.close();
  });
}
