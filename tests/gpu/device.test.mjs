// The option `device` in headless Chromium on SwiftShader: runs the tests of the files in-page.js.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';

import { startWithGpu } from './chromium.mjs';

/** @type {Awaited<ReturnType<typeof startWithGpu>>} */ let host;
/** @type {any} */ let page;
before(async () => {
  host = await startWithGpu();
  page = await host.newPage();
  await page.goto(`${host.url}/demo/`);
});
after(() => host?.close());

for (const file of ['in-page.js', 'weights-in-page.js', 'rows-in-page.js']) {
  const names = readFileSync(new URL(file, import.meta.url), 'utf8').matchAll(
    /^ {2}(?:'([^']+)'|"([^"]+)"): async \(\) => \{$/gm,
  );
  for (const [, single, double] of names) {
    const name = single ?? double ?? '';
    test(name, async () => {
      const ran = await page.evaluate(
        async (/** @type {string[]} */ [file, name = '']) => {
          const { adapterIsThere } = await import('/tests/gpu/in-page-helpers.js');
          if (!(await adapterIsThere())) throw new Error('this Chromium has no adapter');
          const { tests } = await import(`/tests/gpu/${file}`);
          await tests[name]();
          return true;
        },
        [file, name],
      );
      assert(ran);
    });
  }
}
