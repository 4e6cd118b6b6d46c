#!/usr/bin/env node
// Writes recordings down as if they were spoken now: node demo/09-speech-to-text/run.mjs [RECORDING.wav...]
// It takes 16-bit WAV files. Without arguments it uses the sample.

import { readFile } from 'node:fs/promises';

import { loadText } from '../../js/src/text/load-text.js'; // in a project of yours: from 'rushlight/text'
import '../shared/fail.mjs';
import { readWav } from '../shared/recording.js';
import { Captions } from './captions.js';

const RATE = 16000;
const folder = new URL('../../build/demo/09-speech-to-text/', import.meta.url);
const library = (/** @type {string} */ name) => import(new URL(`${name}.mjs`, folder).href);
const manifest = JSON.parse(await readFile(new URL('manifest.json', folder), 'utf8'));
const speech = await loadText(new URL(manifest.file, folder), {
  threads: 'auto',
  tokenizers: await library('tokenizers'), // a project of yours has these packages
  jinja: await library('jinja'),
});
const { backend } = speech.model;
console.log(`${manifest.title}, backend ${backend.name}: ${backend.reason}`);
if (manifest.note) console.log(manifest.note);

const given = process.argv.slice(2);
for (const file of given.length ? given : [new URL(manifest.sample, folder)]) {
  const sound = readWav(await readFile(file), [RATE]);
  if (!sound) throw new Error(`${file} is not a WAV file of 16-bit samples`);
  const { samples } = sound;
  console.log(`\n${String(file).split('/').pop()}`);
  const captions = new Captions(speech);
  let written = 0,
    slowest = 0;
  for (let at = 0; at < samples.length; at += RATE) {
    captions.add(samples.subarray(at, at + RATE));
    const start = performance.now(),
      { certain } = await captions.pass(at + RATE < samples.length ? {} : { last: true });
    slowest = Math.max(slowest, performance.now() - start);
    for (const { text, start: from, end } of certain.slice(written))
      console.log(`${from.toFixed(2).padStart(6)} – ${end.toFixed(2).padStart(6)} s ${text}`);
    written = certain.length;
  }
  console.log(`The slowest pass took ${slowest.toFixed(0)} ms.`);
}
speech.dispose();
