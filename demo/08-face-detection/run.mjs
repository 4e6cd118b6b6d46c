#!/usr/bin/env node
// Finds faces: node demo/08-face-detection/run.mjs [PICTURE...]
// Without arguments it looks at the sample photographs.

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'
import { decode } from '../shared/decode.mjs';
import '../shared/fail.mjs';
import { findFaces, inWords } from './faces.js';

const folder = new URL('../../build/demo/08-face-detection/', import.meta.url);
const manifest = JSON.parse(await readFile(new URL('manifest.json', folder), 'utf8'));
const model = await load(new URL(manifest.file, folder));
console.log(`${manifest.title}, backend ${model.backend.name}: ${model.backend.reason}`);

const pictures =
  process.argv.length > 2
    ? process.argv.slice(2)
    : manifest.samples.map((/** @type {any} */ sample) => new URL(`photos/${sample.file}`, folder));
for (const picture of pictures) {
  const image = await decode(picture);
  const start = performance.now();
  const faces = await findFaces(model, image);
  const took = performance.now() - start;
  console.log(`${String(picture).split('/').pop()}: ${inWords(faces)} (${took.toFixed(1)} ms)`);
  for (const { box, probability } of faces)
    console.log(`  ${box.map((v) => v.toFixed(0)).join(' ')}, ${(probability * 100).toFixed(1)} %`);
}
model.dispose();
