// demo/07-text-generation in Node: token by token PyTorch's logits, from a model that keeps its cache; how tokens are
// chosen.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { generate, greatest, sampler } from '../../demo/07-text-generation/generate.js';
import { agreement } from '../../demo/shared/agreement.js';
import { load } from '../../js/src/index.js';
import { readNpy } from '../../js/src/media/npy.js';
import { loadText } from '../../js/src/text/load-text.js';

const TOP = new URL('../../', import.meta.url);
const FOLDER = new URL('build/demo/07-text-generation/', TOP);
const path = (/** @type {URL} */ url) => fileURLToPath(url);
const json = async (/** @type {string} */ file) => JSON.parse(await readFile(new URL(file, FOLDER), 'utf8'));

execFileSync(path(new URL('demo/run', TOP)), ['--export'], { stdio: ['ignore', 'ignore', 'inherit'] });
const { variants } = await json('manifest.json');
const manifest = await json('smollm2/manifest.json');
const libraries = {
  tokenizers: await import(new URL('smollm2/tokenizers.mjs', FOLDER).href),
  jinja: await import(new URL('smollm2/jinja.mjs', FOLDER).href),
};
const talker = () => loadText(new URL(`smollm2/${manifest.file}`, FOLDER), libraries);
const small = () => load(new URL('llama/llama.rush', FOLDER));
const PROMPT = [5, 42, 7, 7, 90];

/** @template T @param {AsyncIterable<T>} from @returns {Promise<T[]>} */
async function all(from) {
  const out = [];
  for await (const item of from) out.push(item);
  return out;
}

// ---- the models

for (const variant of variants) {
  test(`${variant} gives PyTorch's logits, whatever the pieces in which it is given tokens`, async () => {
    const { cases } = await agreement({
      load,
      read: (file) => readFile(new URL(`${variant}/${file}`, FOLDER)),
      runs: 1,
    });
    assert.ok(cases.length >= 2);
    for (const { name, close, maxAbs } of cases) assert.ok(close, `${name}: max abs ${maxAbs}`);
  });
}

test('the native runtime gives them, too', () => {
  const code = `import json, sys, numpy, torch, rushlight
for folder in sys.argv[1:]:
    manifest = json.load(open(folder + '/manifest.json'))
    session = rushlight.load(folder + '/' + manifest['file'])
    for case in manifest['cases']:
        files = (f"{folder}/cases/{case['name']}.{key}.npy" for key in ('tokens', 'logits'))
        tokens, wanted = (torch.from_numpy(numpy.load(file)) for file in files)
        position, rows = 0, []
        for piece in tokens.split(case['pieces'], 1):
            rows.append(session.run({'tokens': piece, 'position': position})['logits'])
            position += piece.size(1)
        torch.testing.assert_close(torch.cat(rows), wanted, rtol=1e-4, atol=case['atol'])`;
  execFileSync('python3', ['-c', code, ...variants.map((/** @type {string} */ v) => path(new URL(v, FOLDER)))], {
    encoding: 'utf8',
  });
});

test('what is generated is what PyTorch chooses', async () => {
  const model = await load(new URL(`smollm2/${manifest.file}`, FOLDER));
  for (const { name, pieces, answer, sure } of manifest.cases) {
    const tokens = Array.from(
      readNpy(await readFile(new URL(`smollm2/cases/${name}.tokens.npy`, FOLDER))).data,
      Number,
    );
    const came = await all(generate(model, tokens.slice(0, pieces[0]), { maxTokens: answer.length }));
    assert.ok(manifest.note || sure > 3, `PyTorch is sure of ${sure} tokens only`);
    assert.deepEqual(came.slice(0, sure), answer.slice(0, sure));
  }
  model.dispose();
});

test('the cache gives what a run of all tokens gives, and a position goes back', async () => {
  const model = await small(),
    whole = await small();
  const came = await all(generate(model, PROMPT, { maxTokens: 20 }));
  for (const n of [1, 5, 19]) {
    const [next] = await all(generate(whole, [...PROMPT, ...came.slice(0, n)], { maxTokens: 1 }));
    assert.equal(next, came[n]);
  }
  const again = await all(generate(model, came.slice(3, 5), { maxTokens: 15, position: PROMPT.length + 3 }));
  assert.deepEqual(again, came.slice(5));
  model.dispose();
  whole.dispose();
});

test('generating ends after a stop token, after as many as were asked for, and where it is told to', async () => {
  const model = await small();
  const came = await all(generate(model, PROMPT, { maxTokens: 12 }));
  assert.equal(came.length, 12);
  const stop = came[6],
    first = came.indexOf(stop);
  assert.deepEqual(await all(generate(model, PROMPT, { maxTokens: 12, stop: [stop] })), came.slice(0, first + 1));
  const ended = new AbortController(),
    before = [];
  await assert.rejects(
    async () => {
      for await (const token of generate(model, PROMPT, { maxTokens: 12, signal: ended.signal }))
        if (before.push(token) === 4) ended.abort();
    },
    { code: 'aborted' },
  );
  assert.deepEqual(before, came.slice(0, 4));
  assert.deepEqual(
    await all(generate(model, before.slice(-1), { maxTokens: 8, position: PROMPT.length + 3 })),
    came.slice(4),
  );
  model.dispose();
});

test('a cache that is full says so', async () => {
  const model = await small();
  await assert.rejects(all(generate(model, PROMPT, { maxTokens: 100 })), {
    code: 'model-raised',
    message: /the cache has room for 64 tokens, not for 65/,
  });
  assert.equal((await all(generate(model, PROMPT, { maxTokens: 3 }))).length, 3);
  model.dispose();
});

// ---- a conversation

/** The tokens that PyTorch was given, with its answer. @param {string} name */
const tokensOf = async (name) =>
  Array.from(readNpy(await readFile(new URL(`smollm2/cases/${name}.tokens.npy`, FOLDER))).data, Number);

test('the template and the tokenizer give the ids that Python gave the model, and text comes back whole', async () => {
  const chat = await talker();
  assert.equal(chat.task, 'generate');
  for (const { name, pieces, question } of manifest.cases) {
    const prompt = chat.applyTemplate([{ role: 'user', content: question }]);
    assert.deepEqual(chat.encode(prompt), (await tokensOf(name)).slice(0, pieces[0]));
  }
  for (const text of ['a  b\n\tc 1234', 'Übergrößenträger', '日本語 🦊👩‍👩‍👧', '<|im_end|>'])
    assert.equal(chat.decode(chat.encode(text)), text === '<|im_end|>' ? '' : text);
  chat.dispose();
});

test('a conversation has the answers of PyTorch, and computes what is new alone', async () => {
  const chat = await talker();
  for (const { answer, sure, question, pieces } of manifest.cases) {
    const messages = [{ role: 'user', content: question }];
    const written = chat.generate(messages, { maxTokens: answer.length });
    const text = await written.text();
    assert.equal(written.usage.prompt, pieces[0]);
    assert.deepEqual(written.tokens.map(({ id }) => id).slice(0, sure), answer.slice(0, sure));
    if (manifest.note) continue; // random bytes are no text, which would not give the same tokens again
    const more = [...messages, { role: 'assistant', content: text }, { role: 'user', content: 'And?' }];
    const next = chat.generate(more, { maxTokens: 1 });
    await next.text();
    const known = pieces[0] + answer.length - 1; // the last token of an answer is not in the cache
    assert.equal(next.usage.cached, known);
  }
  await assert.rejects(chat.generate('word '.repeat(2000)).text(), { code: 'bad-argument', message: /1024 tokens/ });
  chat.dispose();
});

// ---- choosing

const LOGITS = Float32Array.from([1, 3, 2, 3, -5]);

test('the greatest are found in their order, equal ones by their place', () => {
  assert.deepEqual(greatest(LOGITS, 3), [1, 3, 2]);
  assert.deepEqual(greatest(LOGITS, 9), [1, 3, 2, 0, 4]);
  const many = Float32Array.from({ length: 1000 }, (_, i) => (i * 7919) % 101);
  const sorted = [...many.keys()].sort((a, b) => many[b] - many[a] || a - b);
  for (const k of [1, 2, 50, 1000]) assert.deepEqual(greatest(many, k), sorted.slice(0, k));
});

test('temperature, top-k and top-p choose as often as the probabilities say', () => {
  /** @param {import('../../demo/07-text-generation/generate.js').Sampling} how */
  const shares = (how) => {
    const choose = sampler(how),
      counts = LOGITS.map(() => 0);
    for (let i = 0; i < 20000; i++) counts[choose(LOGITS)]++;
    return counts.map((n) => n / 20000);
  };
  /** @param {number} temperature @param {number[]} kept */
  const wanted = (temperature, kept) => {
    const weights = LOGITS.map((x, i) => (kept.includes(i) ? Math.exp(x / temperature) : 0));
    return weights.map((w) => w / weights.reduce((a, b) => a + b));
  };
  for (const [how, want] of /** @type {[any, Float32Array][]} */ ([
    [{ temperature: 1, topK: 0 }, wanted(1, [0, 1, 2, 3, 4])],
    [{ temperature: 2, seed: 7 }, wanted(2, [0, 1, 2, 3, 4])],
    [{ temperature: 1, topK: 3 }, wanted(1, [1, 2, 3])],
    [{ temperature: 1, topP: 0.5 }, wanted(1, [1, 3])],
    [{ temperature: 1, topP: 1e-9 }, wanted(1, [1])],
    [{ temperature: 0 }, wanted(1, [1])],
    [{}, wanted(1, [1])],
  ]))
    shares(how).forEach((share, i) =>
      assert.ok(Math.abs(share - want[i]) < 0.015, `${JSON.stringify(how)}: ${i} in ${share}, not ${want[i]}`),
    );
});

test('a seed chooses the same tokens, another one others', () => {
  const draw = (/** @type {number} */ seed) => {
    const choose = sampler({ temperature: 1, seed });
    return Array.from({ length: 40 }, () => choose(LOGITS)).join('');
  };
  assert.equal(draw(3), draw(3));
  assert.equal(new Set([0, 1, 2, 3, -1].map(draw)).size, 5);
  assert.throws(() => sampler({ temperature: -1 }), RangeError);
  assert.throws(() => sampler({ topP: 0 }), RangeError);
});
