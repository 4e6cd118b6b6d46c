#!/usr/bin/env node
// Asks SmolLM2: node demo/07-text-generation/run.mjs [QUESTION...] (several questions form one conversation)

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'
import '../shared/fail.mjs';
import { Conversation, makeTokenizer } from './chat.js';

const folder = new URL('../../build/demo/07-text-generation/smollm2/', import.meta.url);
const json = async (/** @type {string} */ file) => JSON.parse(await readFile(new URL(file, folder), 'utf8'));

const manifest = await json('manifest.json');
const { Tokenizer } = await import(new URL('tokenizers.mjs', folder).href);
const model = await load(new URL(manifest.file, folder), { threads: 'auto' });
console.log(`${manifest.title}, backend ${model.backend.name}: ${model.backend.reason}`);
if (manifest.note) console.log(manifest.note);

const conversation = new Conversation(model, makeTokenizer(Tokenizer, await json('tokenizer.json')), manifest);
const questions = process.argv.length > 2 ? process.argv.slice(2) : ['What is the capital of France?', 'And of Italy?'];
for (const question of questions) {
  console.log(`\n> ${question}`);
  const start = performance.now();
  let first = 0,
    count = 0;
  for await (const { text } of conversation.ask(question, { maxTokens: 200 })) {
    process.stdout.write(text);
    if (count++ === 0) first = performance.now();
  }
  console.log(
    `\n(first token after ${(first - start).toFixed(0)} ms, then ` +
      `${(((count - 1) / (performance.now() - first)) * 1000).toFixed(1)} tokens/s)`,
  );
}
model.dispose();
