// Damaged assets of models of text: each field with values of a wrong kind or size. A file gives a model or a
// RushlightError, and never a bare error, a hang or much memory.

import assert from 'node:assert/strict';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import * as jinja from '@huggingface/jinja';

import { load } from '../../js/src/index.js';
import { regexCost } from '../../js/src/text/regex-cost.js';

const folder = fileURLToPath(new URL('../../build/text/', import.meta.url)); // export_models.py writes it

/** The most milliseconds of a case. The longest one has about 300. */
const MOST_TIME = 30_000;

/** @typedef {{ file: string, asset: string, name: string, text: string }} Case */

/** Values as JSON. A number of 999 digits is infinite, and undefined leaves the field out. */
const VALUES = [
  ...[undefined, 'null', 'true', '-1', '0', '1.5', '1e999', '4294967294'],
  ...['""', '"x"', JSON.stringify('x'.repeat(100_000)), '[]', '[[]]', '[-1]', '["x"]', '{}'],
  ...['{"__proto__":{"x":1}}', '{"x":4294967295}', '{"constructor":{"name":{"toString":5}}}'],
  '['.repeat(5000) + ']'.repeat(5000),
];

/**
 * Returns JSON of a value with one changed field.
 * @param {any} value @param {readonly (string | number)[]} path @param {string | undefined} text
 */
function withField(value, path, text) {
  const mark = '\u0001changed\u0001',
    copy = structuredClone(value),
    last = /** @type {string} */ (path.at(-1));
  const parent = path.slice(0, -1).reduce((at, key) => at[key], copy);
  if (text === undefined) delete parent[last];
  else parent[last] = mark;
  return JSON.stringify(copy).replace(JSON.stringify(mark), () => text ?? '');
}

/** Returns the paths of all fields, but only the first ones of long lists. @param {any} value @returns {any[][]} */
const pathsOf = (value) =>
  typeof value !== 'object' || value === null
    ? []
    : Object.keys(value)
        .slice(0, 12)
        .flatMap((key) => [[key], ...pathsOf(value[key]).map((path) => [key, ...path])]);

/** @param {string} file @param {string} asset @param {readonly (string | undefined)[]} [values] */
async function casesOf(file, asset, values = VALUES) {
  const model = await load(`${folder}${file}`),
    json = await (await model.asset(asset)).json();
  model.dispose();
  if (json.model) json.model.vocab = Object.fromEntries(Object.entries(json.model.vocab).slice(0, 300));
  const paths = pathsOf(json).filter(([one, two, third]) => {
    if (one === 'added_tokens' && Number(two) > 0) return false; // they are all alike
    return two !== 'vocab' || third === undefined || third === Object.keys(json.model.vocab)[0];
  });
  return paths.flatMap((path) =>
    values.map((text) => ({
      file,
      asset,
      name: `${path.join('.')} = ${text?.slice(0, 60)}`,
      text: withField(json, path, text),
    })),
  );
}

/** Runs cases in a worker, and returns whether each one gave a model. @param {Case[]} cases */
async function run(cases) {
  const worker = new Worker(new URL('damaged-worker.mjs', import.meta.url), {
    workerData: { folder, cases },
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  /** @type {boolean[]} */ const loaded = [];
  const /** @type {string[]} */ wrong = [];
  let at = 0;
  await new Promise((resolve, reject) => {
    const fail = (/** @type {unknown} */ why) => {
      const { file, asset, name } = cases[at] ?? { file: '', asset: '', name: 'the end' };
      reject(new Error(`${file}, ${asset}: ${name}: ${why}`));
    };
    let timer = setTimeout(fail, MOST_TIME, 'no answer');
    worker.on('error', fail);
    worker.on('message', (message) => {
      clearTimeout(timer);
      ({ at } = message);
      if (message.wrong) {
        loaded[at] = message.loaded;
        const { file, asset, name } = /** @type {Case} */ (cases[at]);
        for (const text of message.wrong) wrong.push(`${file}, ${asset}: ${name}: ${text}`);
      }
      if (at === cases.length) resolve(undefined);
      else timer = setTimeout(fail, MOST_TIME, 'no answer');
    });
  }).finally(() => worker.terminate());
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} cases`);
  return loaded;
}

const FILES = ['decoder', 'translator', 'whisper', 'entities', 'classifier', 'embedder'];

test('files that are whole are used as before', async () => {
  const cases = FILES.map((file) => ({ file: `${file}.rush`, asset: '', name: 'whole', text: '' }));
  assert((await run(cases)).every(Boolean));
});

for (const file of FILES)
  test(`text.json of ${file} with any value in each field`, async () => {
    await run(await casesOf(`${file}.rush`, 'text.json'));
  });

for (const file of ['decoder', 'whisper', 'Bart'])
  test(`generation_config.json of ${file} with any value in each field`, async () => {
    await run(await casesOf(`${file}.rush`, 'generation_config.json'));
  });

for (const file of ['decoder', 'entities'])
  test(`tokenizer.json and tokenizer_config.json of ${file} with any value in each field`, async () => {
    await run(await casesOf(`${file}.rush`, 'tokenizer.json'));
    await run(await casesOf(`${file}.rush`, 'tokenizer_config.json'));
  });

/** Expressions of published tokenizers. */
const CONTRACTIONS = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)`,
  UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`,
  LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`,
  FIRST = String.raw`[^\r\n\p{L}\p{N}]?`,
  SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const PUBLISHED = [
  `${FIRST}${UPPER}*${LOWER}+${CONTRACTIONS}?|${FIRST}${UPPER}+${LOWER}*${CONTRACTIONS}?|` +
    String.raw`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${SPACES}`,
  String.raw`${CONTRACTIONS}|${FIRST}\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|${SPACES}`,
  String.raw`'(?i:[sdmt]|ll|ve|re)|${FIRST}+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`,
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|' +
    String.raw`[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*`,
  String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
  String.raw` ?[^(\s|[.,!?…。，、।۔،])]+`,
  String.raw`\d{1,3}(?=(?:\d{3})*\b)`,
  String.raw`(?=(\d{3})+(?!\d))`,
  String.raw`(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`,
  String.raw`<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`,
  String.raw`[\p{Han}&&[^\p{Lu}]]+|\s{512}(?!\S)|\s{1,2}(?!\S)|\s{1}`,
  ' {2,}',
  String.raw`${CONTRACTIONS}|${FIRST}(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]?|` +
    String.raw`\s*[\r\n]|\s+(?!\S)|\s+`,
];

/** Returns the case of a file whose tokenizer.json has other properties. @param {string} name @param {object} more */
async function tokenizerCase(name, more) {
  const model = await load(`${folder}decoder.rush`),
    json = await (await model.asset('tokenizer.json')).json();
  model.dispose();
  return { file: 'decoder.rush', asset: 'tokenizer.json', name, text: JSON.stringify({ ...json, ...more(json) }) };
}

test('a tokenizer that would not end, or needs much memory, is refused', async () => {
  const replace = (/** @type {object} */ pattern, /** @type {string} */ content) => ({
      type: 'Replace',
      pattern,
      content,
    }),
    sequence = (/** @type {object[]} */ normalizers) => () => ({ normalizer: { type: 'Sequence', normalizers } }),
    split = (/** @type {string} */ Regex) => () => ({ pre_tokenizer: { type: 'Split', pattern: { Regex } } }),
    vocab = (/** @type {object} */ more) => (/** @type {any} */ json) => ({
      model: { ...json.model, vocab: { ...json.model.vocab, ...more } },
    });
  const refused = {
    'a number of a token near 2 ** 32': vocab({ zz: 4294967294 }),
    'a number of a token near 2 ** 28': vocab({ zz: 268435455 }),
    'doubling 40 times': sequence(Array(40).fill(replace({ String: 'a' }, 'aa'))),
    'a long content at each place': sequence([replace({ Regex: 'x*' }, 'y'.repeat(1000))]),
    'pieces of no characters': () => ({ pre_tokenizer: { type: 'FixedLength', length: 0 } }),
    'a nested repetition': split('(a+)+b'),
    'equal alternatives': split('(?:a|a)*b'),
    'many optional parts': split(`${'a?'.repeat(40)}${'a'.repeat(40)}`),
    'a group that is repeated': split('(a|ab){1,30}c'),
    'a reference': split('(a*)\\1b'),
  };
  const kept = {
    'a token of 60,000 characters': vocab({ ['é'.repeat(60_000)]: 300 }),
    'a token named __proto__': vocab(JSON.parse('{"__proto__":300}')),
    'an expression of GPT-4': split(PUBLISHED[0]),
  };
  const cases = await Promise.all(
    Object.entries({ ...refused, ...kept }).map(([name, more]) => tokenizerCase(name, more)),
  );
  const loaded = await run(cases);
  assert.deepEqual(
    cases.filter((_, i) => loaded[i]).map(({ name }) => name),
    Object.keys(kept),
  );
});

test('the expressions of published tokenizers are used, and the ways to match grow with a power', () => {
  for (const regex of PUBLISHED) assert(regexCost(regex).power <= 2, regex);
  assert.deepEqual(regexCost(PUBLISHED[7] ?? ''), { ways: 1, power: 1, least: 0 });
  assert.deepEqual(regexCost('a{2,4}b?(?:x|yz)+?'.replace('+?', '')), { ways: 12, power: 0, least: 3 });
  for (const [regex, why] of [
    ['(a+)+b', /repeats a group/],
    ['(?:a+)+b', /repeats a group/],
    [String.raw`(?:(?: \p{L}\p{M}*)+)+`, /repeats a group/],
    [String.raw`(?i:(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+)`, /repeats a group/],
    [String.raw`(?: \p{L}\p{M}*){2,}`.repeat(4), /unbounded repetitions/],
    ['(?:a|b?)*', /repeats a group/],
    ['(?:a{0,3})+', /repeats a group/],
    ['a*a*a*a*', /unbounded repetitions/],
    ['(?:a|aa){30}', /too many ways/],
    ['a?'.repeat(20), /too many ways/],
    ['(a)\\1', /has a backreference/],
    ['(?<n>a)\\k<n>', /has a backreference/],
    ['('.repeat(100) + ')'.repeat(100), /more than 64 nested groups/],
    ['x'.repeat(20_000), /has 20000 characters/],
    ...['(', ')', '[', '[^]', '(?:a'].map((text) => /** @type {const} */ ([text, /there is a/])),
  ])
    assert.throws(() => regexCost(/** @type {string} */ (regex)), { name: 'SyntaxError', message: why }, String(regex));
});

test('a chat template ends, whatever it does', async () => {
  const templates = {
    'loops in loops': '{% for a in range(60000) %}{% for b in range(60000) %}{% endfor %}{% endfor %}',
    'a long range': '{% for a in range(1000000000) %}x{% endfor %}',
    'endless recursion': '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}',
    'recursion that doubles':
      '{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}',
    'a string that doubles':
      "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    'a list that doubles':
      '{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}',
    'many groups': `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`,
    'a template that is refused': '{% if %}',
    'a refusal': "{{ raise_exception('no') }}",
    'an unknown function': '{{ nothing() }}',
  };
  const cases = Object.entries(templates).map(([name, text]) => ({
    file: 'decoder.rush',
    asset: 'chat_template.jinja',
    name,
    text,
  }));
  await run(cases);
});

test('a chat template has its functions', async () => {
  const { ChatTemplate } = await import('../../js/src/text/template.js'),
    made = (/** @type {string} */ text, /** @type {Record<string, unknown>} */ variables = {}) =>
      new ChatTemplate(jinja, text).render(variables);
  assert.equal(made('{% for i in range(2, 9, 3) %}{{ i }}{% endfor %}{{ none }}{{ True }}'), '258true');
  assert.equal(made("{{ strftime_now('%Y') }}"), String(new Date().getFullYear()));
  assert.equal(made('{{ range(3) | length }}{{ range(5, 2) | length }}{{ x.y }}', { x: { y: 'z' } }), '30z');
  assert.throws(() => made("{{ raise_exception('roles must alternate') }}"), {
    code: 'bad-argument',
    message: 'generate: the chat template refuses the messages: roles must alternate',
  });
  const messages = Array.from({ length: 2000 }, (_, i) => ({
    role: i % 2 ? 'assistant' : 'user',
    content: `${i} `.repeat(200),
  }));
  const text =
    '{% for m in messages %}{% if (m.role == "user") != (loop.index0 % 2 == 0) %}{{ raise_exception("x") }}' +
    '{% endif %}{{ messages[loop.index0].role + m.content | trim }}{% endfor %}';
  assert(made(text, { messages }).startsWith('user0 0'));
});
