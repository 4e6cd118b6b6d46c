#!/usr/bin/env node
// Finds speech in recordings: node demo/05-voice-activity/run.mjs [RECORDING.wav...]
// It takes 16-bit WAV files. Without arguments it uses the sample.

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'
import '../shared/fail.mjs';
import { readWav } from '../shared/recording.js';
import { Listener, RATES, chunks, stretches } from './vad.js';

const folder = new URL('../../build/demo/05-voice-activity/', import.meta.url);
const manifest = JSON.parse(await readFile(new URL('manifest.json', folder), 'utf8'));
const model = await load(new URL(manifest.file, folder));
console.log(`${manifest.title}, backend ${model.backend.name}: ${model.backend.reason}`);

const given = process.argv.slice(2);
for (const file of given.length ? given : [new URL(manifest.sample, folder)]) {
  const sound = readWav(await readFile(file), RATES);
  if (!sound) throw new Error(`${file} is not a WAV file of 16-bit samples`);
  const listener = new Listener(model, sound.rate);
  await listener.reset();
  const heard = [];
  const start = performance.now();
  for (const chunk of chunks(sound.samples, listener.size)) heard.push(await listener.hear(chunk));
  const took = performance.now() - start;
  const seconds = (/** @type {number} */ chunk) => ((chunk * listener.size) / sound.rate).toFixed(1);
  console.log(
    `${String(file).split('/').pop()}: ${seconds(heard.length)} s, heard in ${took.toFixed(0)} ` +
      `ms (${(took / heard.length).toFixed(2)} ms a chunk)`,
  );
  for (const { from, to } of stretches(heard)) console.log(`  speech from ${seconds(from)} s to ${seconds(to)} s`);
}
model.dispose();
