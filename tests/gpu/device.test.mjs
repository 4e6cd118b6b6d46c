// The option `device` in headless Chromium on SwiftShader: runs the tests of the files in-page.js.

import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';

import { shown } from '../js/shown.js';
import { startWithGpu } from './chromium.mjs';

/** @type {Awaited<ReturnType<typeof startWithGpu>>} */ let host;
/** @type {any} */ let page;
before(async () => {
  host = await startWithGpu();
  page = await host.newPage();
  await page.goto(`${host.url}/demo/`);
});
after(() => host?.close());

for (const file of [
  'in-page.js',
  'lost-in-page.js',
  'weights-in-page.js',
  'rows-in-page.js',
  'small-rows-in-page.js',
  'pointwise-in-page.js',
  'profile-in-page.js',
  'outputs-in-page.js',
  'refused-in-page.js',
  'worker-in-page.js',
]) {
  const names = readFileSync(new URL(file, import.meta.url), 'utf8').matchAll(
    /^ {2}(?:'([^']+)'|"([^"]+)"): async \(\) => \{$/gm,
  );
  for (const [, single, double] of names) {
    const name = single ?? double ?? '';
    const body = async () => {
      const { maxAbs } = await page.evaluate(
        async (/** @type {string[]} */ [file, name = '']) => {
          const { adapterIsThere, found } = await import('/tests/gpu/in-page-helpers.js');
          if (!(await adapterIsThere())) throw new Error('this Chromium has no adapter');
          const { tests } = await import(`/tests/gpu/${file}`);
          found.maxAbs = 0;
          await tests[name]();
          return found;
        },
        [file, name],
      );
      return { maxAbs };
    };
    // What PyTorch has, too, is a feature.
    test(
      name,
      /^(in|lost-in|profile-in|refused-in|worker-in)-page/.test(file)
        ? async () => void (await body())
        : shown('GPU', `${name}`, body),
    );
  }
}
