// Replays conformance rows and programs with `device: 'webgpu'` in headless Chromium on SwiftShader. RUSH_EVERY=1
// replays all of them; otherwise every 24th, which takes a minute.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { startWithGpu } from './chromium.mjs';

const EVERY = process.env.RUSH_EVERY ?? '24';

/** @type {Awaited<ReturnType<typeof startWithGpu>>} */ let host;
before(async () => {
  host = await startWithGpu();
});
after(() => host?.close());

for (const what of ['conformance', 'programs']) {
  test(`${what} on the GPU, one of ${EVERY}`, async (t) => {
    const page = await host.newPage();
    await page.goto(
      `${host.url}/tests/browser/replay.html?manifest=/build/${what}/manifest.json&backend=simd&where=page` +
        `&device=webgpu&every=${EVERY}`,
    );
    const { passed, failed } = await page.evaluate(() => /** @type {any} */ (globalThis).report);
    t.diagnostic(`${passed} of ${passed + failed.length} passed`);
    assert(passed + failed.length > 0, 'there are none: ./dev test conformance-make, exporter, python make them');
    assert.equal(failed.map((/** @type {any} */ { file, message }) => `${file}: ${message}`).join('\n'), '');
    await page.close();
  });
}
