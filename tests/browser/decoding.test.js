// Decoders in a page and in a worker, step by step: caches that go round, and one that is the model's state.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';

const path = (/** @type {string} */ file) => fileURLToPath(new URL(`../../${file}`, import.meta.url));

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
/** @type {any} */ let page;
/** @type {any} */ let wanted;
let folder = '';
before(async () => {
  mkdirSync(path('build'), { recursive: true });
  folder = mkdtempSync(path('build/decoding-'));
  const said = execFileSync('python3', [path('tests/js/exported_decoding.py'), folder], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  wanted = JSON.parse(/** @type {string} */ (said.split('\n').findLast((line) => line.startsWith('{'))));
  host = await start();
  page = await host.newPage();
  await page.goto(`${host.url}/tests/browser/empty.html`);
});
after(async () => {
  await host?.close();
  if (folder) rmSync(folder, { recursive: true });
});

for (const name of ['dynamic', 'pair', 'static']) {
  for (const worker of [false, true]) {
    test(`${name}: a decoder goes step by step in a ${worker ? 'worker' : 'page'}`, async () => {
      const maxAbs = await page.evaluate(
        async (/** @type {any} */ { file, told, worker }) => {
          const { stepByStep } = await import('/tests/js/steps.js');
          return stepByStep(file, told, { worker });
        },
        { file: `/build/${basename(folder)}/${name}.rush`, told: wanted[name], worker },
      );
      assert.ok(maxAbs < 1e-5, `max abs ${maxAbs}`);
    });
  }
}
