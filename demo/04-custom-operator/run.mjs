#!/usr/bin/env node
// Runs the model with each way to supply its operator: node demo/04-custom-operator/run.mjs

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'
import { agreement } from '../shared/agreement.js';
import '../shared/fail.mjs';

const folder = new URL('../../build/demo/04-custom-operator/', import.meta.url);
await load(new URL('trace.rush', folder)).catch((e) => console.log(`${e.code}: ${e.message}\n`));
const { variants } = JSON.parse(await readFile(new URL('manifest.json', folder), 'utf8'));
for (const variant of variants) {
  const { title, maxAbs, cases, medianMs } = await agreement({
    load,
    read: (file) => readFile(new URL(`${variant}/${file}`, folder)),
  });
  console.log(
    `${title.padEnd(20)} max abs ${maxAbs.toExponential(1)} from OpenCV in ` +
      `${cases.length} cases, ${medianMs.toFixed(2)} ms`,
  );
}
