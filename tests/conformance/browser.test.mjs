// Replays the conformance rows and the programs of the Python tests (tests/recorded_programs.py) in headless Chromium:
// with both binaries, and once more in a worker.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
before(async () => {
  host = await start();
});
after(() => host?.close());

for (const what of ['conformance', 'programs']) {
  for (const query of ['backend=simd&where=page', 'backend=relaxed&where=page', 'backend=relaxed&where=worker']) {
    test(`${what} in Chromium, ${query.replaceAll(/\w+=/g, '').replace('&', ' binary, ')}`, async (t) => {
      const page = await host.newPage();
      await page.goto(`${host.url}/tests/browser/replay.html?manifest=/build/${what}/manifest.json&${query}`);
      const { passed, failed } = await page.evaluate(() => /** @type {any} */ (globalThis).report);
      t.diagnostic(`${passed} of ${passed + failed.length} passed`);
      assert(passed + failed.length > 0, 'there are none: ./dev test conformance-make, exporter, python make them');
      assert.equal(failed.map((/** @type {any} */ { file, message }) => `${file}: ${message}`).join('\n'), '');
      await page.close();
    });
  }
}
