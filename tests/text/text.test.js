// rushlight/text beside transformers: tokens, templates, answers, sampling, embeddings and labels.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as jinja from '@huggingface/jinja';
import * as tokenizers from '@huggingface/tokenizers';

import { load } from '../../js/src/index.js';
import { loadText } from '../../js/src/text/load-text.js';
import { Detokenizer, StopSequences } from '../../js/src/text/detokenizer.js';
import { placesOf } from '../../js/src/text/offsets.js';
import { withUnicodeSpaces } from '../../js/src/text/white-space.js';
import { candidates, tokenSampler, logProbabilities, randomNumbers } from '../../js/src/text/sampling.js';

const folder = fileURLToPath(new URL('../../build/text/', import.meta.url)); // export_models.py writes it
const want = JSON.parse(readFileSync(`${folder}expected.json`, 'utf8'));
const libraries = { tokenizers, jinja };

/** @type {import('../../js/src/text/load-text.js').TextModel} */ let chat;
before(async () => {
  chat = await loadText(`${folder}decoder.rush`, libraries);
});
after(() => chat.dispose());

const near = (/** @type {ArrayLike<number>} */ got, /** @type {number[]} */ wanted, atol = 1e-5) => {
  assert.equal(got.length, wanted.length);
  wanted.forEach((w, i) => assert(Math.abs(/** @type {number} */ (got[i]) - w) <= atol, `${i}: ${got[i]}, not ${w}`));
};
const ids = (/** @type {import('../../js/src/text/load-text.js').Answer} */ answer) =>
  answer.tokens.map(({ id }) => id);
const greedy = /** @type {const} */ ({ temperature: 0 });

test('the same tokens as in Python on ten thousand lines in twenty scripts', () => {
  assert.equal(want.lines.length, 10_000);
  for (const [line, tokens] of want.lines) assert.deepEqual(chat.encode(line), tokens, JSON.stringify(line));
});

const kinds = JSON.parse(readFileSync(`${folder}tokens.json`, 'utf8'));
for (const kind of Object.keys(kinds))
  test(`the same tokens as in Python with a trained tokenizer: ${kind}`, () => {
    const { tokenizer, tokens } = kinds[kind],
      made = new tokenizers.Tokenizer(withUnicodeSpaces(tokenizer), {});
    assert.equal(tokens.length, want.lines.length);
    tokens.forEach((/** @type {number[]} */ ids, /** @type {number} */ i) =>
      assert.deepEqual(made.encode(want.lines[i][0]).ids, ids, JSON.stringify(want.lines[i][0])),
    );
  });

test('a conversation has the prompt, the answer and the probabilities of transformers', async () => {
  const answer = chat.generate(want.messages, { ...greedy, maxTokens: 12, logProbabilities: true });
  const text = await answer.text();
  assert.deepEqual(ids(answer), want.answer);
  near(
    answer.tokens.map(({ logProbability }) => logProbability ?? NaN),
    want.logProbabilities,
  );
  assert.equal(text, want.text);
  assert.equal(answer.finishReason, 'length');
  assert.deepEqual(answer.usage, { prompt: want.prompt.length, cached: 0, answer: 12 });
});

test('tokens in the cache are not computed again, and give the same answer', async () => {
  const first = chat.generate(want.messages, { ...greedy, maxTokens: 5 });
  await first.text();
  const second = chat.generate(want.messages, { ...greedy, maxTokens: 12 });
  await second.text();
  assert.deepEqual(ids(second), want.answer);
  assert.equal(second.usage.cached, want.prompt.length - 1);
  const other = chat.generate([{ role: 'user', content: 'Hi, x' }], { ...greedy, maxTokens: 3 });
  await other.text();
  assert(other.usage.cached > 5 && other.usage.cached < want.prompt.length - 1);
  const back = chat.generate(want.messages, { ...greedy, maxTokens: 12 });
  await back.text();
  assert.deepEqual(ids(back), want.answer);
});

test('a seed chooses the same tokens, and another seed others', async () => {
  const write = async (/** @type {number} */ seed) => {
    const answer = chat.generate('Once', { temperature: 2, topK: 0, seed, maxTokens: 10 });
    await answer.text();
    return ids(answer);
  };
  const one = await write(1);
  assert.deepEqual(await write(1), one);
  assert.notDeepEqual(await write(2), one);
});

test('a full cache is an error, an end, or forgets the older half', async () => {
  const long = 'x'.repeat(60);
  assert.throws(() => chat.generate(long, { overflow: /** @type {any} */ ('drop') }), { code: 'bad-argument' });
  await assert.rejects(chat.generate(long).text(), { code: 'bad-argument', message: /at most 48 tokens, got 60/ });
  await assert.rejects(chat.generate('x'.repeat(40), { ...greedy, maxTokens: 30 }).text(), { code: 'bad-argument' });
  const cut = chat.generate('x'.repeat(40), { ...greedy, overflow: 'truncate' });
  await cut.text();
  assert.equal(cut.finishReason, 'length');
  assert.equal(cut.usage.answer, 9); // 48 tokens are in the cache, and one follows
  const slid = chat.generate(long, { ...greedy, overflow: 'slide', maxTokens: 70 });
  await slid.text();
  assert.equal(slid.usage.answer, 70);
});

test('stop strings, stop tokens and signals end an answer', async () => {
  const whole = await chat.generate(want.messages, { ...greedy, maxTokens: 12 }).text();
  const stop = whole.slice(4, 6);
  const stopped = chat.generate(want.messages, { ...greedy, maxTokens: 12, stop });
  assert.equal(await stopped.text(), whole.slice(0, whole.indexOf(stop)));
  assert.equal(stopped.finishReason, 'stop');
  const control = new AbortController();
  const answer = chat.generate(want.messages, { ...greedy, signal: control.signal });
  await assert.rejects(
    async () => {
      for await (const _ of answer) control.abort();
    },
    { code: 'aborted' },
  );
  const again = chat.generate(want.messages, { ...greedy, maxTokens: 12 });
  await again.text();
  assert.deepEqual(ids(again), want.answer);
});

test('values of a wrong kind are refused in words', () => {
  const wrong = /** @type {any[]} */ ([5, null, [null], {}, Symbol('s')]);
  for (const value of wrong) {
    assert.throws(() => chat.encode(value), { code: 'bad-argument', message: /encode: text must be a string/ });
    assert.throws(() => chat.decode(value), { code: 'bad-argument', message: /decode: tokens must be an array of/ });
    assert.throws(() => chat.generate('x', { stop: value }), {
      code: 'bad-argument',
      message: /stop must be a string/,
    });
  }
  for (const variables of /** @type {any[]} */ ([5, null, 'x']))
    assert.throws(() => chat.generate('x', { variables }), {
      code: 'bad-argument',
      message: /variables must be an obj/,
    });
});

test('one answer at a time; a loop that ends early frees the model', async () => {
  const first = chat.generate(want.messages, { ...greedy, maxTokens: 12 });
  for await (const _ of first) {
    await assert.rejects(chat.generate('x').text(), { code: 'bad-state' });
    break;
  }
  assert.equal((await chat.generate('x', { ...greedy, maxTokens: 2 }).text()).length > 0, true);
});

test('an answer fits its schema, regular expression or choices', async () => {
  const write = async (/** @type {object} */ options) => {
    const answer = chat.generate('Hi', { maxTokens: 40, ...options });
    return { text: await answer.text(), answer };
  };
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  for (const settings of [greedy, { temperature: 1, topK: 3, seed: 4 }, { temperature: 1.5, topK: 0, topP: 0.9 }]) {
    const { text, answer } = await write({ ...settings, schema });
    assert.equal(typeof JSON.parse(text).ok, 'boolean');
    assert.equal(answer.finishReason, 'stop');
    assert.match((await write({ ...settings, regex: /é{2}🦉[^a]/ })).text, /^éé🦉[^a]$/u);
    assert(['yes', 'nein'].includes((await write({ ...settings, choices: ['yes', 'nein'] })).text));
  }
  const ended = await write({ ...greedy, regex: '[a-c]*' });
  assert(ended.answer.finishReason === 'length' || ended.answer.tokens.at(-1)?.id === 256);
  assert.match(ended.text, /^[a-c]*$/);
  await assert.rejects(write({ schema: { not: {} } }), { code: 'bad-argument', message: /the keyword "not"/ });
  assert.throws(() => chat.generate('Hi', { regex: 'a', choices: ['b'] }), {
    code: 'bad-argument',
    message: /one of schema, regex, choices, got regex and choices/,
  });
});

test('the likeliest tokens with their probabilities', async () => {
  const answer = chat.generate(want.messages, { ...greedy, maxTokens: 3, logProbabilities: 4 });
  await answer.text();
  for (const { id, logProbability, alternatives } of answer.tokens) {
    assert.equal(alternatives?.length, 4);
    assert.deepEqual(alternatives?.[0], { id, logProbability });
    assert(alternatives?.every((a, i, all) => i === 0 || a.logProbability <= Number(all[i - 1]?.logProbability)));
  }
});

test('conversations are saved and restored', async () => {
  const say = async (/** @type {string} */ content, /** @type {number} */ maxTokens) => {
    const answer = chat.generate([{ role: 'user', content }], { ...greedy, maxTokens });
    return { text: await answer.text(), cached: answer.usage.cached };
  };
  await say('Hi, é!', 3);
  const first = structuredClone(await chat.save());
  await say('Other', 5);
  const second = await chat.save();
  await chat.restore(first);
  const again = await say('Hi, é!', 12);
  assert.equal(again.cached, want.prompt.length - 1);
  assert.equal(again.text, want.text);
  await chat.restore(second);
  assert((await say('Other', 2)).cached > 10);
  const bytes = Object.values(first.state).reduce((n, v) => n + /** @type {any} */ (v).data.byteLength, 0);
  assert.equal(bytes, 2 * 2 * 48 * 4 * first.tokens.length); // layers, keys and values, features, bytes
  const other = await loadText(`${folder}decoder.rush`, { ...libraries, worker: true });
  await other.restore(first);
  const answer = other.generate(want.messages, { ...greedy, maxTokens: 12 });
  await answer.text();
  assert.deepEqual(ids(answer), want.answer);
  assert.equal(answer.usage.cached, want.prompt.length - 1);
  other.dispose();
  await assert.rejects(chat.restore(/** @type {any} */ ({})), { code: 'bad-argument', message: /a value of save\(\)/ });
});

test('wrong arguments are refused', async () => {
  const wrong = (/** @type {any} */ input, /** @type {any} */ options, /** @type {RegExp} */ message) =>
    assert.throws(() => chat.generate(input, options), { code: 'bad-argument', message });
  wrong(5, {}, /must be a string or an array of messages, got 5/);
  wrong([{ content: 'x' }], {}, /must be a string or an array of messages/);
  wrong('', {}, /at least one token/);
  wrong('x', { temprature: 1 }, /there is no option "temprature"/);
  wrong('x', { temperature: -1 }, /temperature must be a number of at least 0, got -1/);
  wrong('x', { topP: 0 }, /topP must be a number above 0 and at most 1, got 0/);
  wrong('x', { topK: 1.5 }, /topK must be an integer of at least 0, got 1.5/);
  wrong('x', { maxTokens: 0 }, /maxTokens must be an integer of at least 1, got 0/);
  await assert.rejects(chat.embed(['x']), {
    code: 'unsupported',
    message: "embed() needs a model for 'embed', got one for 'generate'",
  });
});

test('a file without a tokenizer, and missing packages', async () => {
  const bytes = readFileSync(fileURLToPath(new URL('../../build/text/plain.rush', import.meta.url)));
  await assert.rejects(loadText(bytes, libraries), { code: 'bad-argument', message: /export it by export_text\(\)/ });
  await assert.rejects(loadText(`${folder}decoder.rush`), {
    code: 'unsupported',
    message:
      /needs the package @huggingface\/tokenizers, which cannot be imported .*: npm install @huggingface\/tokenizers/,
  });
});

test('embeddings and labels are those of transformers, alone and in batches', async () => {
  for (const batch of [1, 2, 16]) {
    const embedder = await loadText(`${folder}embedder.rush`, libraries);
    const vectors = await embedder.embed(want.texts, { batch });
    vectors.forEach((vector, i) => near(vector, want.vectors[i]));
    embedder.dispose();
    const classifier = await loadText(`${folder}classifier.rush`, { ...libraries, worker: batch === 2 });
    assert.deepEqual(classifier.labels, ['no', 'yes', 'other']);
    const labels = await classifier.classify(want.texts, { batch });
    labels.forEach((row, i) => {
      near(
        classifier.labels.map((name) => row.find(({ label }) => label === name)?.score ?? NaN),
        want.scores[i],
      );
      assert(row.every(({ score }, k) => k === 0 || score <= /** @type {any} */ (row[k - 1]).score));
    });
    await assert.rejects(classifier.classify(['x'.repeat(65)]), {
      code: 'bad-argument',
      message: /1 to 64 tokens, got 65/,
    });
    classifier.dispose();
  }
});

test('a cross-encoder scores pairs of texts as transformers does', async () => {
  const model = await loadText(`${folder}cross.rush`, libraries);
  for (const batch of [1, 16]) {
    const rows = await model.classify(want.pairs, { batch });
    near(
      rows.map(([row]) => row?.score ?? NaN),
      want.pairScores,
    );
  }
  model.dispose();
});

/** Returns the index in UTF-16 units of a character. @param {string} text @param {number} at */
const units = (text, at) => [...text].slice(0, at).join('').length;

test('labeled parts of texts are those of the pipeline of transformers', async () => {
  const model = await loadText(`${folder}entities.rush`, libraries);
  for (const batch of [1, 16]) {
    const rows = await model.classify(want.sentences, { batch });
    want.sentences.forEach((/** @type {string} */ text, /** @type {number} */ i) => {
      const /** @type {[string, number, number, number][]} */ parts = want.entities[i],
        row = rows[i] ?? [];
      assert(parts.length > 0);
      assert.deepEqual(
        row.map(({ label, start, end, text }) => [label, start, end, text]),
        parts.map(([label, , from, to]) => {
          const [start, end] = [units(text, from), units(text, to)];
          return [label, start, end, text.slice(start, end)];
        }),
      );
      near(
        row.map(({ score }) => score),
        parts.map(([, score]) => score),
      );
    });
  }
  await assert.rejects(model.classify([['a', 'b']]), { code: 'bad-argument', message: /must be a string for a model/ });
  model.dispose();
});

/** Normalizers that remove or join accents make Python leave them out of a place. @param {string} text */
const plain = (text) => text.trim().replace(/[\p{Mn}\p{C}]/gu, '');

for (const kind of Object.keys(kinds))
  test(`tokens have the places that Python's tokenizer gives, but for spaces and accents: ${kind}`, () => {
    const { tokenizer, places } = kinds[kind],
      made = new tokenizers.Tokenizer(withUnicodeSpaces(tokenizer), {});
    places.forEach((/** @type {[number, number][]} */ wanted, /** @type {number} */ i) => {
      const text = /** @type {string} */ (want.lines[i][0]),
        tokens = made.tokenize(text, { add_special_tokens: false }),
        got = placesOf(text, tokens, tokenizer);
      assert.equal(got.length, wanted.length);
      tokens.forEach((token, k) => {
        // Python gives an unknown token, or a space that is not in the text, a place beside it.
        if (/^(\[UNK\]|<unk>|\u2581)$/u.test(token) || made.token_to_id(token) === undefined) return;
        const { start, end } = /** @type {{ start: number, end: number }} */ (got[k]),
          [from, to] = /** @type {[number, number]} */ (wanted[k]);
        const expected = text.slice(units(text, from), units(text, to));
        assert.equal(plain(text.slice(start, end)), plain(expected), JSON.stringify([text, token]));
      });
    });
  });

test('an unknown token has the word between its neighbors', () => {
  const { tokenizer } = kinds.WordPiece,
    at = (/** @type {string} */ text, /** @type {string[]} */ tokens) =>
      placesOf(text, tokens, tokenizer).map(({ start, end }) => text.slice(start, end));
  assert.deepEqual(at('An owl ☃☃ sings', ['an', 'owl', '[UNK]', 'sing', '##s']), ['An', 'owl', '☃☃', 'sing', 's']);
  assert.deepEqual(at('☃ ☂, é', ['[UNK]', '[UNK]', 'e']), ['☃', '☂,', 'é']);
  assert.deepEqual(at('a ☃', ['a', '[UNK]']), ['a', '☃']);
  assert.deepEqual(at('a', ['a', '[UNK]']), ['a', '']);
});

test('sampling leaves the tokens and probabilities of transformers', () => {
  const defaults = { temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1 };
  for (const { settings, seen, logits, kept } of want.sampling) {
    const { tokens, weights } = candidates(Float32Array.from(logits), seen, { ...defaults, ...settings });
    const all = weights.reduce((a, b) => a + b, 0);
    assert.deepEqual(
      [...tokens].sort((a, b) => a - b),
      Object.keys(kept).map(Number),
      JSON.stringify(settings),
    );
    near(
      tokens.map((_, i) => /** @type {number} */ (weights[i]) / all),
      tokens.map((token) => kept[token]),
      1e-6,
    );
  }
});

test('tokens are chosen as often as their probabilities say', () => {
  const logits = Float32Array.from([0, 1, 2, -1]),
    choose = tokenSampler({ temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1 }, randomNumbers(3)),
    counts = [0, 0, 0, 0];
  for (let i = 0; i < 20000; i++) counts[choose(logits, [])]++;
  counts.forEach((n, i) => assert(Math.abs(n / 20000 - Math.exp(logProbabilities(logits)(i))) < 0.015, `${counts}`));
});

test('text comes in whole characters', () => {
  const bytes = [...new TextEncoder().encode('aé🦉\u{1F469}\u200D!')],
    decoder = new Detokenizer((tokens) => new TextDecoder().decode(Uint8Array.from(tokens)));
  const pieces = bytes.map((byte) => decoder.add(byte));
  assert.equal(pieces.join(''), 'aé🦉\u{1F469}\u200D!');
  assert(pieces.every((piece) => !piece.includes('\uFFFD')));
  const cut = new Detokenizer((tokens) => new TextDecoder().decode(Uint8Array.from(tokens)));
  assert.equal(cut.add(0xc3) + cut.end(), '\uFFFD');
});

test('a stop string may be spread over pieces', () => {
  const stops = new StopSequences(['END', '']);
  assert.deepEqual(
    ['aE', 'N', 'x', 'E', 'N', 'D'].map((piece) => stops.add(piece)),
    ['a', '', 'ENx', '', '', ''],
  );
  assert.equal(stops.found, true);
  const open = new StopSequences(['END']);
  assert.equal(open.add('aEN') + open.end(), 'aEN');
});

test('an ordinary load() runs the same file', async () => {
  const model = await load(`${folder}decoder.rush`);
  const { logits } = await model.run({ tokens: [want.prompt], position: 0 });
  const data = /** @type {Float32Array} */ (/** @type {any} */ (logits).data);
  assert.equal(data.indexOf(Math.max(...data)), want.answer[0]);
  model.dispose();
});
