// Structured answers: regular expressions beside the engine's own, schemas beside ajv, parts of characters as tokens.

import assert from 'node:assert/strict';
import test from 'node:test';

import Ajv from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

import { Compiler } from '../../js/src/grammar/constraint.js';
import { MAX_STATES } from '../../js/src/grammar/nfa.js';
import { randomNumbers } from '../../js/src/text/sampling.js';

const END = 0;
const visible = (/** @type {number} */ b) => (b > 32 && b < 127) || (b > 160 && b !== 173);
let other = 256;
const LETTERS = Array.from({ length: 256 }, (_, b) => String.fromCharCode(visible(b) ? b : other++));
const LONGER = [
  'ab',
  '{"',
  '":',
  '", "',
  '"}',
  '": "',
  'true',
  'null',
  '12',
  '2024',
  '-0',
  '0.',
  '\\n',
  '\\"',
  'aé',
  '🦉!',
];

/** @param {string} text */
const byteLevel = (text) => Array.from(new TextEncoder().encode(text), (b) => LETTERS[b]).join('');

/** A byte-level tokenizer with a token for each byte, longer ones, and one that ends within a character. */
function byteTokenizer() {
  const texts = [...LETTERS, ...LONGER.map(byteLevel), ...['"é', ' 🦉'].map((t) => byteLevel(t).slice(0, -1))];
  return {
    model: { type: 'BPE', vocab: Object.fromEntries(texts.map((text, i) => [text, i + 1])) },
    added_tokens: [
      { id: END, content: '<|end|>', special: true },
      { id: texts.length + 1, content: '<tool>', special: false },
    ],
    decoder: { type: 'ByteLevel' },
  };
}

/** A tokenizer of SentencePiece with byte fallback. */
function fallbackTokenizer() {
  const bytes = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`);
  const texts = [...bytes, ...'{}[]",:0123456789abé'.split(''), '▁', '▁"', '"▁', '":▁', '▁yes', 'yes'];
  return {
    model: { type: 'BPE', vocab: Object.fromEntries(texts.map((text, i) => [text, i + 1])) },
    added_tokens: [{ id: END, content: '</s>', special: true }],
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ' },
      ],
    },
  };
}

const compiler = new Compiler(byteTokenizer(), [END]);
const fallback = new Compiler(fallbackTokenizer(), [END]);

/**
 * Writes an answer of random tokens. Later in the answer, an end is taken as soon as it is allowed.
 * @param {import('../../js/src/grammar/constraint.js').Structure} structure @param {() => number} random
 */
function write(structure, random, make = compiler) {
  const constraint = make.constraint(structure);
  let text = '';
  for (let n = 0; !constraint.complete; n++) {
    assert(n < 5000, `no end: ${text.slice(0, 200)}`);
    const logits = Float32Array.from({ length: 300 }, () => random());
    // Brackets and quotes that close make the answer end.
    if (n > 20 && random() < 0.6) for (const c of '"}]') logits[LETTERS.indexOf(c) + 1] = 1 + random();
    if (n > 20) logits[END] = 3;
    const masked = constraint.masked(logits);
    if (n % 8 === 0)
      masked.forEach((x, id) =>
        assert.equal(x > -Infinity, constraint.allows(id), `${JSON.stringify(text)}, token ${id}`),
      );
    const token = masked.indexOf(masked.reduce((a, b) => Math.max(a, b)));
    if (token === END) break;
    text += constraint.add(token);
  }
  return text + constraint.end();
}

/** Tests whether a text is an answer, byte by byte. @param {object} structure @param {string} text */
function accepts(structure, text) {
  const constraint = compiler.constraint(structure);
  for (const byte of new TextEncoder().encode(text)) {
    if (!constraint.allows(byte + 1)) return false;
    constraint.add(byte + 1);
  }
  return constraint.allows(END);
}

const REGEXES = [
  'a|bc|',
  '(ab)*c?',
  'a{2,4}b{0}',
  'a{3,}',
  '[a-cé-ü]+',
  '[^a-y"]{1,3}',
  '.',
  '.{2}',
  '\\d+\\.\\d*',
  '\\w\\W\\s\\S',
  '(?:x|y)+z',
  '(?<year>[12]\\d{3})-\\d\\d',
  '[\\d_-]+',
  '\\u00e9|\\x41|\\u{1F989}',
  '[🦉-🦊]',
  '[\\u{10000}-\\u{10ffff}]',
  '\\p{Lu}\\p{Ll}*',
  '\\P{L}',
  '(a*)*',
  '(a|a)*b',
  '\\t|\\n|\\cA|\\/|\\.|\\{',
  '[\\]^-]',
  'a??b+?',
  '[^]',
  '(|a)(|b)',
];

test('a regular expression allows what the engine matches, and nothing else', () => {
  const random = randomNumbers(1),
    letters = [...'aabbcxyz1290_-. \n\t"é€A🦉🦊^]/{}', '\u0001', 'Ä', 'ü'];
  for (const source of REGEXES) {
    const whole = new RegExp(`^(?:${source})$`, 'u');
    for (let n = 0; n < 40; n++) {
      const text = write({ regex: source }, random);
      assert.match(text, whole, source);
    }
    for (let n = 0; n < 300; n++) {
      const text = Array.from({ length: random() * 6 }, () => letters[Math.floor(random() * letters.length)]).join('');
      assert.equal(accepts({ regex: source }, text), whole.test(text), `${source}: ${JSON.stringify(text)}`);
    }
  }
});

test('a RegExp may have flags', () => {
  assert(accepts({ regex: /a.b/s }, 'a\nb') && !accepts({ regex: /a.b/ }, 'a\nb'));
  assert.throws(() => compiler.constraint({ regex: /a/i }), {
    code: 'bad-argument',
    message: /must not have the flag i/,
  });
});

test('what a regular expression must not have is named', () => {
  const wrong = {
    'a(?=b)': /lookahead/,
    '(a)\\1': /a backreference/,
    '\\ba': /\\b/,
    '(^a)': /\^ or \$ within/,
    a$b: /\$ before/,
  };
  for (const [regex, message] of Object.entries(wrong))
    assert.throws(() => compiler.constraint({ regex }), { code: 'bad-argument', message }, regex);
  assert.throws(() => compiler.constraint({ regex: 'a)' }), {
    code: 'bad-argument',
    message: /must be valid with the flag u/,
  });
  assert.throws(() => compiler.constraint({ regex: '[]' }), {
    code: 'bad-argument',
    message: /at least one character/,
  });
});

test('hostile regular expressions are bounded, and the limit is named', () => {
  const message = new RegExp(`at most ${MAX_STATES} states`);
  for (const regex of ['a{1000000}', '((((a{99}){99}){99}){99})', '(.{300}){300}', '(a{0,5000}){5000}'])
    assert.throws(() => compiler.constraint({ regex }), { code: 'bad-argument', message }, regex);
  assert.throws(() => compiler.constraint({ regex: '('.repeat(5000) + ')'.repeat(5000) }), {
    code: 'bad-argument',
    message: /more than 200 nested groups/,
  });
  const constraint = compiler.constraint({ regex: '(a|b)*a(a|b){16}' }),
    random = randomNumbers(5);
  assert.throws(
    () => {
      for (let n = 0; n < 200_000; n++) constraint.add(LETTERS.indexOf(random() < 0.5 ? 'a' : 'b') + 1);
    },
    { code: 'bad-argument', message },
  );
});

/** A chain of schemas, each of which is one of two that are alike. @param {number} length */
function chain(length) {
  const either = (/** @type {number} */ i) => ({ anyOf: [{ $ref: `#/$defs/a${i}` }, { $ref: `#/$defs/b${i}` }] });
  const $defs = Object.fromEntries(
    Array.from({ length }, (_, i) => (i + 1 < length ? either(i + 1) : { type: 'boolean' })).flatMap((schema, i) => [
      [`a${i}`, schema],
      [`b${i}`, schema],
    ]),
  );
  return { $defs, $ref: '#/$defs/a0' };
}

test('hostile structures are bounded, and the limit is named', () => {
  assert(accepts({ regex: '(?:){9000000000000000}a(?:b{0}){9}' }, 'a'));
  assert(accepts({ schema: chain(100) }, 'true'));
  const item = { type: 'boolean' },
    /** @type {any} */ circular = { type: 'array' },
    nested = (/** @type {number} */ n) =>
      Array(n)
        .fill(0)
        .reduce((items) => ({ type: 'array', items }), item),
    object = (/** @type {number} */ n, /** @type {object} */ schema) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${i}`, schema]));
  circular.items = circular;
  /** @type {[import('../../js/src/grammar/constraint.js').Structure, RegExp][]} */ const wrong = [
    [{ schema: circular }, /JSON.stringify\(\) takes/],
    [{ schema: nested(30_000) }, /JSON.stringify\(\) takes/],
    [{ schema: nested(1000) }, /nested at most 400 deep/],
    [{ schema: { properties: { ['x'.repeat(100_000)]: item }, additionalProperties: true } }, /at most 256 characters/],
    [{ schema: { properties: { ['x'.repeat(100_000)]: item } } }, /at most 20000 states/],
    [{ schema: { properties: object(21_000, {}) } }, /at most 20000 states/],
    [{ schema: { properties: object(50, { type: 'array', items: { type: 'string', maxLength: 400 } }) } }, /100000 s/],
    [{ schema: { oneOf: Array.from({ length: 8000 }, (_, i) => ({ const: i })) } }, /at most 256 schemas/],
    [{ schema: { enum: Array(30_000).fill(0) } }, /at most 20000 states/],
    [{ schema: { prefixItems: Array(5000).fill(true) } }, /at most 400 items/],
    [{ schema: { $ref: '#/%' } }, /there is no "#\/%" in the schema/],
    [{ choices: Array(30_000).fill('a') }, /at most 20000 states/],
    [{ regex: 'a'.repeat(300_000) }, /at most 262144 characters, got 3000/],
  ];
  for (const [structure, message] of wrong)
    assert.throws(() => compiler.constraint(structure), { code: 'bad-argument', message });
});

test('an answer that fits a schema in too many ways is refused', () => {
  const items = { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }] },
    $defs = { a: { type: 'array', items }, b: { type: 'array', items } },
    constraint = compiler.constraint({ schema: { $defs, ...items } });
  assert.throws(
    () => {
      for (let n = 0; n < 60; n++) constraint.add(LETTERS.indexOf('[') + 1);
    },
    { code: 'bad-argument', message: /in at most 512 ways/ },
  );
});

test('the properties of code points are those of the engine', () => {
  for (const property of [
    '\\p{Lu}',
    '\\P{L}',
    '\\p{Script=Greek}',
    '\\p{Emoji}',
    '\\p{ASCII}',
    '\\P{ASCII}',
    '\\p{Any}',
  ]) {
    const regex = new RegExp(property, 'u');
    for (const point of [0, 65, 127, 128, 0x3b1, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x1f989, 0x10fffe, 0x10ffff]) {
      const text = String.fromCodePoint(point);
      assert.equal(accepts({ regex: property }, text), regex.test(text), `${property}: ${point}`);
    }
  }
});

test('choices are the only answers', () => {
  const choices = ['yes', 'no', 'maybe é', 'no way'],
    seen = new Set();
  for (let seed = 0; seed < 60; seed++) seen.add(write({ choices }, randomNumbers(seed)));
  assert.deepEqual([...seen].sort(), [...choices].sort());
  assert.equal(write({ choices: ['yes'] }, randomNumbers(0), fallback), 'yes');
  assert.throws(() => compiler.constraint({ choices: [] }), { code: 'bad-argument', message: /at least one string/ });
});

/**
 * Random schemas of all that is supported.
 * @param {() => number} random @param {number} depth @returns {object | boolean}
 */
function randomSchema(random, depth) {
  const n = (/** @type {number} */ most) => Math.floor(random() * most),
    inner = () => randomSchema(random, depth - 1),
    some = () => Array.from({ length: 1 + n(3) }, inner),
    maybe = (/** @type {object} */ part) => (random() < 0.5 ? part : {});
  const names = ['a', 'name', 'größe', 'x"y', 'n'].filter(() => random() < 0.5);
  const least = n(40) - 20,
    bound = least / [1, 4, 100][n(3)];
  const simple = [
    () => ({ type: 'string' }),
    () => ({ type: 'string', minLength: n(3), maxLength: 3 + n(4) }),
    () => ({ type: 'string', pattern: ['^a+$', 'é|ü', '^["\\\\]{1,3}$', '\\d\\d', '^.{2}\\n?$'][n(5)] }),
    () => ({ type: 'string', format: ['date', 'time', 'date-time', 'email', 'hostname', 'ipv4', 'uri', 'uuid'][n(8)] }),
    () => ({ type: 'integer' }),
    () => ({ type: 'integer', minimum: least, maximum: least + n(1200) }),
    () => ({ type: 'integer', ...maybe({ exclusiveMinimum: bound }), exclusiveMaximum: bound + 3 + n(200) }),
    () => ({ type: 'number' }),
    () => ({ type: 'number', minimum: bound, maximum: bound + random() * 3 }),
    () => ({ type: 'number', exclusiveMinimum: bound, ...maybe({ exclusiveMaximum: bound + 0.5 + n(12) }) }),
    () => ({ type: ['boolean', 'null'] }),
    () => ({ enum: ['a', 1, null, { x: [1.5, 'é'] }, true] }),
    () => ({ const: ['"\\', 7, -0.25][n(3)] }),
    () => ({ type: 'object' }),
    () => true,
  ];
  if (depth < 1) return /** @type {() => object} */ (simple[n(simple.length)])();
  const object = () => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, inner()])),
    ...maybe({ required: names.filter(() => random() < 0.5) }),
    ...maybe({ additionalProperties: random() < 0.5 ? false : inner() }),
  });
  const nested = [
    ...[object, object, object],
    () => ({ type: 'array', items: inner(), ...maybe({ minItems: n(3) }), ...maybe({ maxItems: 3 + n(3) }) }),
    () => ({ type: 'array', prefixItems: some(), ...maybe({ items: inner() }), ...maybe({ minItems: 1 }) }),
    () => ({ anyOf: some(), description: 'several' }),
    () => ({ allOf: [inner()] }),
    () => ({ oneOf: [{ type: 'string' }, { type: 'integer' }, { type: 'array', items: inner() }] }),
  ];
  return /** @type {() => object} */ (nested[n(nested.length)])();
}

test('an answer is JSON that fits its schema: random schemas beside ajv', () => {
  const ajv = formats.default(new Ajv.default({ strict: false, allErrors: true }));
  let long = 0;
  for (let seed = 0; seed < 120; seed++) {
    const random = randomNumbers(seed),
      schema = randomSchema(random, seed % 4),
      fits = ajv.compile(/** @type {any} */ (schema));
    for (let n = 0; n < 4; n++) {
      const text = write({ schema }, random, n === 3 ? fallback : compiler);
      assert(fits(JSON.parse(text)), `${text} is not ${JSON.stringify(schema)}: ${JSON.stringify(fits.errors)}`);
      long += Number(text.length > 20);
    }
  }
  assert(long > 150, `${long}`);
});

test('the numbers within bounds are those that JSON Schema allows', () => {
  const numbers = [
    -12, -1.5, -1, -0.05, 0, 0.049, 0.05, 0.051, 0.5, 1, 1.01, 1.5, 1.51, 2, 3, 9.99, 10, 12, 99, 100, 101, 12345,
  ];
  for (const low of [undefined, -1.5, -1, 0, 0.05, 1, 10])
    for (const high of [undefined, -1, 0, 0.05, 1.5, 2, 10, 100])
      for (const [from, to] of [
        ['minimum', 'maximum'],
        ['exclusiveMinimum', 'exclusiveMaximum'],
      ])
        for (const type of ['integer', 'number']) {
          const fits = (/** @type {number} */ x) =>
            (type === 'number' || Number.isInteger(x)) &&
            (low === undefined || (from === 'minimum' ? x >= low : x > low)) &&
            (high === undefined || (to === 'maximum' ? x <= high : x < high));
          const schema = { type, ...(low !== undefined && { [from]: low }), ...(high !== undefined && { [to]: high }) };
          if ((low ?? -99) > (high ?? 99) || !numbers.some(fits)) continue;
          for (const x of numbers)
            assert.equal(accepts({ schema }, String(x)), fits(x), `${JSON.stringify(schema)}: ${x}`);
        }
});

test('objects have the properties of their schema in its order, and others by other names', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'null' }, aé: true },
    required: ['b'],
    additionalProperties: { type: 'boolean' },
  };
  const yes = [
    '{"b":null}',
    '{"a":1,"b":null}',
    '{\n  "a": 1,\n  "b": null,\n  "aé": [{}]\n}',
    '{"b":null,"":true,"aa":false,"é":true}',
  ];
  const no = [
    '{}',
    '{"a":1}',
    '{"b":null,"a":1}',
    '{"b":null,}',
    '{"b":null,"a":true}',
    '{"b":null,"\\u0061":true}',
    '{"b":null,"x":1}',
  ];
  for (const text of yes) assert(accepts({ schema }, text), text);
  for (const text of no) assert(!accepts({ schema }, text), text);
  assert(accepts({ schema: true }, '[{"x":"\\ud83e\\udd89🦉\\n"},[1e5,-0.5],""]'));
  for (const text of ['"\n"', '"\\ud83e"', '01', '[1,]', '{"a"}', 'tru', '"\\x"'])
    assert(!accepts({ schema: true }, text), text);
});

test('schemas may be recursive', () => {
  const schema = {
    $defs: {
      tree: {
        type: 'object',
        properties: { v: { type: 'integer' }, kids: { type: 'array', items: { $ref: '#/$defs/tree' } } },
        required: ['v'],
      },
    },
    $ref: '#/$defs/tree',
  };
  assert(accepts({ schema }, '{"v":1,"kids":[{"v":2,"kids":[]},{"v":3}]}'));
  assert(!accepts({ schema }, '{"v":1,"kids":[{"kids":[]}]}'));
  const endless = {
    $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
    $ref: '#/$defs/a',
  };
  assert.throws(() => compiler.constraint({ schema: endless }), {
    code: 'bad-argument',
    message: /must have a finite answer/,
  });
  const either = { $defs: endless.$defs, type: 'array', items: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } };
  assert.match(write({ schema: either }, randomNumbers(1)), /^\[[\s,nul]*\]$/);
  for (const loop of [
    { $ref: '#' },
    { $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
  ])
    assert.throws(() => compiler.constraint({ schema: loop }), {
      code: 'bad-argument',
      message: /must not refer directly to itself/,
    });
});

test('what a schema must not have is named with its place', () => {
  /** @type {[any, RegExp][]} */
  const wrong = [
    [{ type: 'object', properties: { a: { not: {} } } }, /schema\/properties\/a: the keyword "not" is not supported/],
    [{ type: 'array', uniqueItems: true }, /the keyword "uniqueItems" is not supported/],
    [{ patternProperties: {} }, /the keyword "patternProperties"/],
    [{ type: 'number', multipleOf: 3 }, /the keyword "multipleOf"/],
    [{ type: 'text' }, /type must be one of string, .*, got the string "text"/],
    [{ type: 'string', format: 'iban' }, /format must be one of date, .* got the string "iban"/],
    [{ type: 'string', pattern: 'a', maxLength: 3 }, /maxLength must not have pattern beside it/],
    [{ oneOf: [{ type: 'object' }, { type: 'object' }] }, /oneOf must have schemas of different types/],
    [{ allOf: [{}, {}] }, /allOf must have one schema/],
    [{ $ref: '#/$defs/x' }, /there is no "#\/\$defs\/x" in the schema/],
    [{ $ref: 'https://example.org' }, /\$ref must point into the schema/],
    [{ enum: [] }, /enum must be an array of at least one value/],
    [
      { type: 'object', required: ['x'], properties: { y: {} } },
      /required must name properties of the schema, got "x"/,
    ],
    [{ type: 'array', minItems: 3, maxItems: 2 }, /minItems must be at most 2, got 3/],
    [{ type: 'integer', minimum: 3, maximum: 2 }, /minimum and maximum must allow a number/],
    [false, /must be an object or true, got false/],
    [null, /must be an object or true, got null/],
  ];
  for (const [schema, message] of wrong)
    assert.throws(() => compiler.constraint({ schema }), { code: 'bad-argument', message }, JSON.stringify(schema));
});

test('oneOf takes objects that a const tells apart', () => {
  const shape = (/** @type {string} */ kind) => ({
    type: 'object',
    properties: { kind: { const: kind } },
    required: ['kind'],
  });
  assert(accepts({ schema: { oneOf: [shape('a'), shape('b')] } }, '{"kind":"b"}'));
});

test('a tokenizer without bytes, and one that lacks a character', () => {
  const pieces = { ...byteTokenizer(), decoder: { type: 'WordPiece' } };
  assert.throws(() => new Compiler(pieces, [END]), {
    code: 'unsupported',
    message: /ByteLevel, ByteFallback or Metaspace, got WordPiece/,
  });
  const few = new Compiler(
    {
      model: {
        type: 'Unigram',
        vocab: [
          ['▁a', 0],
          ['b', 0],
        ],
      },
      added_tokens: [],
      decoder: { type: 'Metaspace', replacement: '▁' },
    },
    [],
  );
  assert.equal(few.constraint({ regex: ' ab' }).allows(0), true);
  assert.throws(() => few.constraint({ regex: 'c' }).masked(new Float32Array(2)), {
    code: 'unsupported',
    message: /no token that can continue/,
  });
});
