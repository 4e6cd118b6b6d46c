// Models with an encoder and a decoder beside transformers: translations, summaries and speech to text.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import * as jinja from '@huggingface/jinja';
import * as tokenizers from '@huggingface/tokenizers';

import { loadText } from '../../js/src/text/load-text.js';
import { rulesOf, timeRules } from '../../js/src/text/logits-rules.js';
import { wordsOf } from '../../js/src/text/words.js';

const folder = fileURLToPath(new URL('../../build/text/', import.meta.url)); // export_models.py writes it
const want = JSON.parse(readFileSync(`${folder}encoded.json`, 'utf8'));
const libraries = { tokenizers, jinja };

const kept = (/** @type {Float32Array} */ logits) => [...logits.keys()].filter((i) => logits[i] !== -Infinity);

test('the rules of generation_config.json leave the tokens of transformers', () => {
  const { rules, cases } = want.rules,
    change = rulesOf(rules, { begin: 2, start: 1, end: 12, stop: [9] });
  for (const { context, kept: left } of cases)
    assert.deepEqual(kept(change(new Float32Array(12).fill(0.5), context)), left, String(context));
});

test('the rules of timestamps leave the tokens of transformers', () => {
  const change = timeRules({ begin: 2, stop: 9, noTimestamps: 11, timestamps: 12, latest: 4 });
  assert(want.times.length > 100);
  for (const { context, scores, kept: left } of want.times)
    assert.deepEqual(kept(change(Float32Array.from(scores), context)), left, String(context));
});

for (const name of Object.keys(want.seq2seq.models))
  test(`${name}: the tokens of transformers for several inputs`, async () => {
    const model = await loadText(`${folder}${name}.rush`, { ...libraries, worker: name === 'Bart' }),
      { begin, answers, texts } = want.seq2seq.models[name];
    assert.equal(model.task, 'seq2seq');
    for (const i of [0, 1, 2, 0]) {
      const answer = model.generate(want.seq2seq.texts[i]),
        text = await answer.text();
      assert.deepEqual(
        answer.tokens.map(({ id }) => id),
        answers[i].slice(begin), // behind the start, and a first token that is forced
      );
      assert.equal(text, texts[i]);
      assert.equal(answer.usage.prompt, model.encode(want.seq2seq.texts[i]).length);
    }
    const short = model.generate(want.seq2seq.texts[0], { maxTokens: 3 });
    await short.text();
    assert.equal(short.finishReason, name === 'Bart' ? 'stop' : 'length'); // BART's last token is forced to be a stop
    model.dispose();
  });

test('a translator writes the language that is asked for', async () => {
  const model = await loadText(`${folder}translator.rush`, libraries);
  for (const [language, answers] of Object.entries(want.seq2seq.translator))
    for (const [i, text] of want.seq2seq.texts.entries()) {
      const answer = model.generate(text, { language });
      await answer.text();
      assert.deepEqual(
        answer.tokens.map(({ id }) => id),
        answers[i].slice(2),
      );
    }
  const wrong = (/** @type {any} */ input, /** @type {any} */ options, /** @type {RegExp} */ message) =>
    assert.throws(() => model.generate(input, options), { code: 'bad-argument', message });
  wrong('x', { language: 'fr' }, /language must be one of deu_Latn, eng_Latn, got the string "fr"/);
  wrong([{ role: 'user', content: 'x' }], {}, /the input must be a string/);
  wrong('x'.repeat(65), {}, /the input must have 1 to 64 tokens, got 65/);
  model.dispose();
});

test('words are those of transformers', () => {
  for (const { tokens, language, words } of want.words) {
    const vocabulary = bytesOf();
    const decode = (/** @type {readonly number[]} */ ids) =>
      new TextDecoder().decode(Uint8Array.from(ids, (id) => /** @type {number} */ (vocabulary[id])));
    assert.deepEqual(wordsOf(tokens, decode, language), words);
  }
});

/** Returns the byte of each token of text_models.tokenizer(): its letters in order. */
function bytesOf() {
  const printable = (/** @type {number} */ b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let more = 256;
  return Array.from({ length: 256 }, (_, byte) => ({ byte, letter: printable(byte) ? byte : more++ }))
    .sort((a, b) => a.letter - b.letter)
    .map(({ byte }) => byte);
}

for (const { samples, options, ...wanted } of want.speech)
  test(`speech: ${samples.length} samples, ${JSON.stringify(options)}`, async () => {
    const model = await loadText(`${folder}whisper.rush`, { ...libraries, worker: options.timestamps === 'word' }),
      got = await model.transcribe(Float32Array.from(samples), options);
    assert.equal(got.text, wanted.text);
    assert.equal(got.language, wanted.language);
    assert.deepEqual(got.segments, options.timestamps ? wanted.segments : undefined);
    assert.deepEqual(got.words, options.timestamps === 'word' ? wanted.words : undefined);
    model.dispose();
  });

test('a sound of a page is resampled; other things are refused', async () => {
  const model = await loadText(`${folder}whisper.rush`, libraries),
    { samples, text } = want.speech[0],
    data = Float32Array.from(samples);
  const sound = { sampleRate: 16000, numberOfChannels: 2, getChannelData: () => data };
  assert.equal((await model.transcribe(sound)).text, text);
  const slow = await model.transcribe({ ...sound, sampleRate: 8000 });
  assert.equal(typeof slow.text, 'string');
  const wrong = (/** @type {any} */ audio, /** @type {any} */ options, /** @type {RegExp} */ message) =>
    assert.rejects(model.transcribe(audio, options), { code: 'bad-argument', message });
  await wrong([1, 2], {}, /audio must be an AudioBuffer, a Float32Array/);
  await wrong(data, { language: 'fr' }, /language must be one of de, en, got the string "fr"/);
  await wrong(data, { task: 'sing' }, /task must be one of transcribe, translate, got the string "sing"/);
  await wrong(data, { timestamps: 'words' }, /timestamps must be false, true or 'word', got the string "words"/);
  await wrong(data, { timestamp: true }, /there is no option "timestamp"/);
  const first = model.transcribe(data);
  await assert.rejects(model.transcribe(data), { code: 'bad-state' });
  assert.equal((await first).text, text);
  await assert.rejects(model.transcribe(data, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  assert.throws(() => model.generate('x'), { code: 'unsupported' });
  model.dispose();
});
