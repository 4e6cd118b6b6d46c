// rushlight/text in Chromium, under a strict Content-Security-Policy: in a page and in a worker, on one thread and on
// several. The answers are those of transformers, which text.test.js has in Node.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';

const want = JSON.parse(readFileSync(new URL('../../build/text/expected.json', import.meta.url), 'utf8'));
const lines = want.lines.slice(0, 500);

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
/** @type {any} */ let page;
before(async () => {
  host = await start();
  page = await host.newPage();
  await page.goto(`${host.url}/tests/browser/empty.html`);
  await page.evaluate(async () => {
    const { loadText } = await import('/js/src/text/load-text.js');
    const modules = '/tests/node_modules/@huggingface'; // a page has no other way to these packages
    const libraries = {
      tokenizers: await import(/** @type {any} */ (`${modules}/tokenizers/dist/tokenizers.mjs`)),
      jinja: await import(/** @type {any} */ (`${modules}/jinja/dist/index.js`)),
    };
    Object.assign(globalThis, {
      open: (/** @type {string} */ name, /** @type {object} */ options) =>
        loadText(`/build/text/${name}.rush`, { ...libraries, ...options }),
    });
  });
});
after(() => host?.close());

/** Runs a function in the page. @param {(given: any) => any} use @param {object} given */
const inPage = (use, given) => page.evaluate(use, given);

const near = (/** @type {number[]} */ got, /** @type {number[]} */ wanted) => {
  assert.equal(got.length, wanted.length);
  wanted.forEach((w, i) => assert(Math.abs(Number(got[i]) - w) <= 1e-5, `${i}: ${got[i]}, not ${w}`));
};

for (const options of [{}, { worker: true }, { worker: true, threads: 2 }, { worker: true, threads: 'auto' }]) {
  const how = JSON.stringify(options);

  test(`loadText(${how}) writes the answer of transformers, piece by piece`, async () => {
    const got = await inPage(
      async ({ options, messages, lines }) => {
        const chat = await /** @type {any} */ (globalThis).open('decoder', options);
        const answer = chat.generate(messages, { temperature: 0, maxTokens: 12, logProbabilities: true });
        const pieces = [];
        for await (const piece of answer) pieces.push(piece);
        const again = chat.generate(messages, { temperature: 0, maxTokens: 12 });
        await again.text();
        const tokens = lines.map((/** @type {[string]} */ [line]) => chat.encode(line));
        const { backend } = chat.model;
        chat.dispose();
        return {
          pieces,
          answer: answer.tokens,
          usage: answer.usage,
          again: again.tokens.map((/** @type {any} */ { id }) => id),
          cached: again.usage.cached,
          tokens,
          threads: backend.threads,
        };
      },
      { options, messages: want.messages, lines },
    );
    assert.deepEqual(
      got.answer.map((/** @type {any} */ { id }) => id),
      want.answer,
    );
    near(
      got.answer.map((/** @type {any} */ { logProbability }) => logProbability),
      want.logProbabilities,
    );
    assert.equal(got.pieces.join(''), want.text);
    assert(got.pieces.length > 1);
    assert.deepEqual(got.usage, { prompt: want.prompt.length, cached: 0, answer: 12 });
    assert.deepEqual(got.again, want.answer);
    assert.equal(got.cached, want.prompt.length - 1);
    assert.deepEqual(
      got.tokens,
      lines.map((/** @type {[string, number[]]} */ [, tokens]) => tokens),
    );
    if (typeof options.threads === 'number') assert.equal(got.threads, options.threads);
  });

  test(`loadText(${how}) embeds and classifies as transformers does`, async () => {
    const got = await inPage(
      async ({ options, texts }) => {
        const { open } = /** @type {any} */ (globalThis);
        const [embedder, classifier] = await Promise.all([open('embedder', options), open('classifier', options)]);
        const vectors = (await embedder.embed(texts, { batch: 2 })).map((/** @type {Float32Array} */ v) => [...v]);
        const rows = await classifier.classify(texts, { batch: 2 });
        const scoreOf = (/** @type {{ label: string, score: number }[]} */ row) =>
          classifier.labels.map((/** @type {string} */ name) => row.find(({ label }) => label === name)?.score);
        const scores = rows.map(scoreOf);
        embedder.dispose();
        classifier.dispose();
        return { vectors, scores };
      },
      { options, texts: want.texts },
    );
    want.texts.forEach((/** @type {string} */ _, /** @type {number} */ i) => {
      near(got.vectors[i], want.vectors[i]);
      near(got.scores[i], want.scores[i]);
    });
  });
}

test('a signal ends an answer in a worker, and the next one is right', async () => {
  const got = await inPage(
    async ({ messages }) => {
      const chat = await /** @type {any} */ (globalThis).open('decoder', { worker: true });
      const control = new AbortController();
      const answer = chat.generate(messages, { temperature: 0, signal: control.signal });
      const code = await (async () => {
        for await (const _ of answer) control.abort();
      })().then(
        () => 'none',
        (e) => e.code,
      );
      const again = chat.generate(messages, { temperature: 0, maxTokens: 12 });
      await again.text();
      chat.dispose();
      return { code, again: again.tokens.map((/** @type {any} */ { id }) => id) };
    },
    { messages: want.messages },
  );
  assert.deepEqual(got, { code: 'aborted', again: want.answer });
});
