#!/usr/bin/env node
// Classifies pictures: node demo/01-image-classifier/run.mjs [PICTURE...]
// Without arguments it classifies the sample photographs.

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'
import { decode } from '../shared/decode.mjs';
import '../shared/fail.mjs';
import { preprocess, top } from './preprocess.js';

const folder = new URL('../../build/demo/01-image-classifier/', import.meta.url);
const json = async (/** @type {string} */ file) => JSON.parse(await readFile(new URL(file, folder), 'utf8'));

const manifest = await json('manifest.json');
const classes = await json('classes.json');
const model = await load(new URL(manifest.file, folder));
console.log(`${manifest.title}, backend ${model.backend.name}: ${model.backend.reason}`);

const pictures =
  process.argv.length > 2
    ? process.argv.slice(2)
    : manifest.samples.map((/** @type {any} */ sample) => new URL(`photos/${sample.file}`, folder));
for (const picture of pictures) {
  const image = preprocess(await decode(picture));
  const start = performance.now();
  const { logits } = await model.run({ image });
  const took = performance.now() - start;
  const answers = top(logits.data, classes, 3).map(
    ({ name, probability }) => `${name} ${(probability * 100).toFixed(0)} %`,
  );
  console.log(`${String(picture).split('/').pop()}: ${answers.join(', ')} (${took.toFixed(1)} ms)`);
}
model.dispose();
