// Runs a .rush file of build/ step by step in Node and in Chromium, in the page and in a worker: decoding.mjs FILE. It
// reads the steps of decoding.py from stdin, prints the largest difference in each, and throws if a step differs.

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';
import { stepByStep } from '../js/steps.js';

const TOP = fileURLToPath(new URL('../../', import.meta.url));
const told = JSON.parse(readFileSync(0, 'utf8'));
/** @type {Record<string, number>} */
const maxAbs = { node: await stepByStep(process.argv[2], told, { backend: 'simd' }) };
const { newPage, url, close } = await start();
try {
  const page = await newPage();
  await page.goto(`${url}/tests/browser/empty.html`);
  for (const worker of [false, true]) {
    maxAbs[worker ? 'worker' : 'page'] = await page.evaluate(
      async (/** @type {any} */ { file, told, worker }) => {
        const { stepByStep } = await import('/tests/js/steps.js');
        return stepByStep(file, told, { worker });
      },
      { file: `/${relative(TOP, process.argv[2])}`, told, worker },
    );
  }
} finally {
  await close();
}
console.log(JSON.stringify(maxAbs));
