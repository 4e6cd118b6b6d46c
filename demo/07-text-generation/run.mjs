#!/usr/bin/env node
// Asks SmolLM2: node demo/07-text-generation/run.mjs [QUESTION...] (several questions form one conversation)

import { readFile } from 'node:fs/promises';

import { loadText } from '../../js/src/text/load-text.js'; // in a project of yours: from 'rushlight/text'
import '../shared/fail.mjs';

const folder = new URL('../../build/demo/07-text-generation/smollm2/', import.meta.url);
const library = (/** @type {string} */ name) => import(new URL(`${name}.mjs`, folder).href);

const manifest = JSON.parse(await readFile(new URL('manifest.json', folder), 'utf8'));
const chat = await loadText(new URL(manifest.file, folder), {
  threads: 'auto',
  tokenizers: await library('tokenizers'), // a project of yours has these packages
  jinja: await library('jinja'),
});
const { backend } = chat.model;
console.log(`${manifest.title}, backend ${backend.name}: ${backend.reason}`);
if (manifest.note) console.log(manifest.note);

const questions = process.argv.length > 2 ? process.argv.slice(2) : ['What is the capital of France?', 'And of Italy?'];
const messages = [];
for (const question of questions) {
  console.log(`\n> ${question}`);
  messages.push({ role: 'user', content: question });
  const start = performance.now();
  let first = 0,
    text = '';
  const answer = chat.generate(messages, { maxTokens: 200 });
  for await (const piece of answer) {
    if (!text) first = performance.now();
    process.stdout.write(piece);
    text += piece;
  }
  messages.push({ role: 'assistant', content: text });
  const { prompt, cached, answer: tokens } = answer.usage;
  console.log(
    `\n(${cached} of ${prompt} tokens were in the cache, the first came after ${(first - start).toFixed(0)} ms, then ` +
      `${(((tokens - 1) / (performance.now() - first)) * 1000).toFixed(1)} tokens/s)`,
  );
}
chat.dispose();
