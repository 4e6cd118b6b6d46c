#!/usr/bin/env node
// Searches the sentences by meaning: node demo/02-semantic-search/run.mjs [QUERY...]

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'
import '../shared/fail.mjs';
import { SemanticIndex } from './search.js';
import { makeTokenizer } from './tokenizer.js';

const folder = new URL('../../build/demo/02-semantic-search/', import.meta.url);
const json = async (/** @type {string} */ file) => JSON.parse(await readFile(new URL(file, folder), 'utf8'));

const manifest = await json('manifest.json');
const { Tokenizer } = await import(new URL('tokenizers.mjs', folder).href);
const tokenize = makeTokenizer(Tokenizer, await json('tokenizer.json'), await json('tokenizer_config.json'));
const model = await load(new URL(manifest.file, folder));
console.log(`${manifest.title}, backend ${model.backend.name}: ${model.backend.reason}`);

const sentences = (await readFile(new URL('sentences.txt', import.meta.url), 'utf8')).trim().split('\n');
const index = new SemanticIndex(model, tokenize);
const start = performance.now();
await index.add(sentences);
console.log(`${sentences.length} sentences read in ${((performance.now() - start) / 1000).toFixed(1)} s`);

const queries =
  process.argv.length > 2 ? process.argv.slice(2) : ['a sleepy pet', 'my computer is broken', 'the night sky'];
for (const query of queries) {
  const start = performance.now();
  const results = await index.search(query, 3);
  console.log(`\n${query} (${(performance.now() - start).toFixed(1)} ms)`);
  for (const { text, score } of results) console.log(`  ${score.toFixed(3)}  ${text}`);
}
model.dispose();
