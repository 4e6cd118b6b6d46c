// Runs the models that models.py has exported to RUSH_GPU_MODELS, a folder of build/, in headless Chromium on
// SwiftShader.

import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';

import { startWithGpu } from './chromium.mjs';

const folder = process.env.RUSH_GPU_MODELS ?? 'gpu-models',
  rows = JSON.parse(readFileSync(new URL(`../../build/${folder}/models.json`, import.meta.url), 'utf8'));

/** @type {Awaited<ReturnType<typeof startWithGpu>>} */ let host;
/** @type {any} */ let page;
before(async () => {
  host = await startWithGpu();
  page = await host.newPage();
  await page.goto(`${host.url}/demo/`);
});
after(() => host?.close());

for (const row of rows)
  test(`${row.name} on SwiftShader`, async (t) => {
    const said = await page.evaluate(
      async (/** @type {[any, string]} */ [row, address]) => {
        const { verifyOnGpu } = await import('/tests/gpu/model-in-page.js');
        const response = await fetch(address);
        if (!response.ok) throw new Error(`${address}: ${response.status}`);
        return verifyOnGpu(row, new Uint8Array(await response.arrayBuffer()));
      },
      [row, `/build/${folder}/${row.file}`],
    );
    t.diagnostic(said);
  });
