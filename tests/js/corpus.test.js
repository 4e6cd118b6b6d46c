// Files that broke a rule once (tests/fuzz/corpus), aborts at any moment, damaged files of other formats: only
// RushlightErrors come out, and nothing of JavaScript's own is changed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { RushlightError, load, plan } from '../../js/src/index.js';
import { readNpy, writeNpy } from '../../js/src/media/npy.js';
import { readSafetensors, writeSafetensors } from '../../js/src/media/safetensors.js';
import { RushFile, flipFile } from './build-rush.mjs';
import { ending } from './nodes.mjs';

const ownOf = () =>
  JSON.stringify(
    [Object.prototype, Array.prototype, Object, Function.prototype].map((o) => Reflect.ownKeys(o).map(String).sort()),
  );
const untouched = ownOf();
const clean = () => assert.equal(ownOf(), untouched, 'a prototype was changed');

/** Gives what `job` gives; a failure must be a RushlightError, and is returned. @param {() => any} job */
async function only(job) {
  try {
    return await job();
  } catch (e) {
    assert(e instanceof RushlightError && e.message && e.code, `${/** @type {any} */ (e)?.stack ?? e}`);
    return e;
  }
}

/** Asks a model for all that it can tell. @param {import('../../js/src/index.js').Model} model */
async function ask(model) {
  for (const job of [
    () => model.describe(),
    () => model.describeText(),
    () => model.methods,
    () => model.inputs,
    () => model.outputs,
    () => model.graphs,
    () => model.torch,
    () => model.code,
    () => model.memory(),
    () => model.reset(),
    () => model.verify(),
    () => model.diff(),
    async () => model.setState(await model.state()),
  ])
    await only(job);
}

/* ---- Operators ---------------------------------------------------------------------------------- */

const names = ['__proto__', 'constructor', 'then', '', '\0', '"', '\u2028'];

test('operators of any name are refused or asked of the user', async () => {
  for (const name of [...names, 'a::b(', 'a::__proto__', '::', 'aten::add', 'my::op(Tensor x']) {
    for (const schema of [undefined, name, `${name}(Tensor x) -> Tensor`, '(('.repeat(5000)]) {
      const f = new RushFile().method('forward', { inputs: [{ name: 'x' }] }, (m, x) =>
        m.op(name, [x], 'Tensor', schema),
      );
      for (const ops of [undefined, {}, Object.fromEntries([[name, (/** @type {any} */ x) => x]])]) {
        const model = await only(() => load(f.bytes(), { ops }));
        clean();
        if (model instanceof RushlightError) continue;
        await only(() => model.run({ x: [1] }));
        await ask(model);
        model.dispose();
      }
      await only(() => plan(f.bytes()));
      clean();
    }
  }
});

/* ---- Files that were found --------------------------------------------------------------------- */

const corpus = new URL('../fuzz/corpus/files/', import.meta.url);
const limits = { bytes: 1 << 28, steps: 2000 };

for (const worker of [false, true]) {
  test(`the files that broke a rule give a model or a message${worker ? ', in a worker' : ''}`, async () => {
    for (const file of readdirSync(corpus)) {
      const model = await only(() => load(readFileSync(new URL(file, corpus)), { worker, limits }));
      clean();
      if (model instanceof RushlightError) continue;
      for (const job of [() => model.describe(), () => model.describeText(), () => model.graphs, () => model.torch])
        await only(job);
      for (const method of Object.values(model.methods)) {
        if (!method.inputs.every((p) => p.optional)) continue;
        await only(() => model.run({}, { method: method.name }));
        clean();
      }
      model.dispose();
    }
  });
}

const cli = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url));
for (const command of [
  ['inspect'],
  ['inspect', '--json'],
  ['run', '--max-bytes', `${1 << 28}`, '--max-steps', '2000'],
]) {
  test(`npx rushlight ${command.join(' ')} gives a text or a message for each of them`, () => {
    for (const file of readdirSync(corpus)) {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [...ending, cli, ...command, fileURLToPath(new URL(file, corpus))],
        { encoding: 'utf8' },
      );
      assert(
        status === 0 || ((status === 1 || status === 2) && /^rushlight: .+\n$/.test(stderr) && !stdout),
        `${file}: ${status} ${stderr}`,
      );
    }
  });
}

/* ---- Any moment -------------------------------------------------------------------------------- */

const twice = (/** @type {any} */ x) => Promise.resolve({ ...x, data: x.data.map((/** @type {number} */ v) => 2 * v) });
const waiting = () =>
  new RushFile()
    .method(
      'forward',
      { inputs: [{ name: 'x', dtype: 'float32', shape: [2] }] },
      (m, x) =>
        m.loop(m.file.int(2), [m.op('aten::flip', [x, m.file.ints([0])])], (_, v) => [
          m.op('my::twice', [v], 'Tensor', 'my::twice(Tensor x) -> Tensor'),
        ])[0],
    )
    .bytes();

/** One turn of what the event loop does: promises, and every few times its messages. @param {number} i */
const turn = (i) => (i % 4 === 3 ? new Promise((done) => setImmediate(done)) : Promise.resolve());

for (const worker of [false, true]) {
  const where = worker ? ' in a worker' : '',
    most = worker ? 50 : 60;
  const options = { worker, ops: { 'my::twice': twice } };

  test(`an abort at any moment of a load${where} leaves no half a model`, async () => {
    for (let turns = 0; turns < most; turns += worker ? 7 : 1) {
      const control = new AbortController(),
        reason = new Error('enough');
      const model = only(() => load(new Blob([waiting()]), { ...options, signal: control.signal }));
      for (let i = 0; i < turns; i++) await turn(i);
      control.abort(reason);
      const came = await model;
      if (came instanceof RushlightError)
        assert.deepEqual([came.code, came.cause], ['aborted', reason], `after ${turns} turns`);
      else {
        assert.deepEqual((await came.run({ x: [1, 2] })).y.data, Float32Array.of(8, 4));
        came.dispose();
      }
    }
  });

  for (const [what, job] of /** @type {[string, (m: any, signal?: AbortSignal) => Promise<any>][]} */ ([
    ['run', (m, signal) => m.run({ x: [1, 2] }, { signal })],
    ['profile', (m) => m.profile({ x: [1, 2] })],
    ['state', (m) => m.state()],
    ['verify', (m) => m.verify()],
  ])) {
    test(`${what}${where} may be aborted or disposed of at any moment`, async () => {
      for (let turns = 0; turns < most; turns += worker ? 11 : 1) {
        const model = await load(waiting(), options);
        const control = new AbortController();
        const result = only(() => job(model, control.signal));
        for (let i = 0; i < turns; i++) await turn(i);
        control.abort();
        const came = await result;
        if (came instanceof RushlightError) assert.equal(came.code, 'aborted');
        const next = only(() => job(model));
        for (let i = 0; i < turns; i++) await turn(i);
        model.dispose();
        const then = await next;
        if (then instanceof RushlightError) assert.equal(then.code, 'disposed');
        await assert.rejects(() => job(model), { code: 'disposed' });
        model.dispose();
      }
    });
  }
}

/* ---- Other readers ------------------------------------------------------------------------------ */

/** Numbers from a seed (SplitMix32). @param {number} seed */
function numbers(seed) {
  return (/** @type {number} */ below) => {
    seed = (seed + 0x9e3779b9) | 0;
    let z = Math.imul(seed ^ (seed >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) % below;
  };
}

const words = [
  '-1',
  '0',
  '1e999',
  '99999999999999999999',
  '1.5',
  'NaN',
  'null',
  '[]',
  '{}',
  '"__proto__"',
  '"',
  ',',
  ')',
  '(',
  '], [',
  '\u2028',
  '0x10',
  ' ',
  '4294967296',
];

/** Bytes, damaged here and there. @param {Uint8Array} bytes @param {(below: number) => number} next */
function damaged(bytes, next) {
  let out = Uint8Array.from(bytes);
  for (let n = 1 + next(4); n > 0; n--) {
    const at = next(out.length + 1),
      to = at + next(9);
    const piece =
      [
        () => Uint8Array.of(next(256)),
        () => new TextEncoder().encode(words[next(words.length)]),
        () => new Uint8Array(0),
        () => out.subarray(next(out.length), next(out.length)),
      ][next(4)]?.() ?? new Uint8Array(0);
    out = next(3)
      ? Uint8Array.from([...out.subarray(0, at), ...piece, ...out.subarray(to)])
      : Uint8Array.from([...out.subarray(0, at), ...piece, ...out.subarray(at + piece.length)]);
  }
  return out;
}

/** @type {[string, (b: Uint8Array) => any, Uint8Array[]][]} */
const readers = [
  [
    '.npy',
    readNpy,
    [
      writeNpy({ dtype: 'float32', shape: [2, 3], data: new Float32Array(6) }),
      writeNpy({ dtype: 'bool', shape: [0, 4], data: new Uint8Array(0) }),
    ],
  ],
  [
    '.safetensors',
    readSafetensors,
    [
      writeSafetensors({
        a: { dtype: 'int64', shape: [2], data: new BigInt64Array(2) },
        b: { dtype: 'float32', shape: [], data: new Float32Array(1) },
      }),
    ],
  ],
];
for (const [what, read, seeds] of readers) {
  test(`damaged ${what} files give tensors or a message`, async () => {
    const next = numbers(1);
    for (let i = 0; i < 20000; i++) {
      const bytes = damaged(/** @type {Uint8Array} */ (seeds[i % seeds.length]), next);
      const came = await only(() => read(bytes));
      if (came instanceof RushlightError) continue;
      for (const t of came.dtype && came.shape ? [came] : Object.values(came)) {
        const n = t.shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
        assert(
          Array.isArray(t.shape) &&
            t.shape.every((/** @type {any} */ s) => Number.isSafeInteger(s) && s >= 0) &&
            n === t.data.length,
          `${what}: ${t.dtype} ${JSON.stringify(t.shape)} ${t.data.length}`,
        );
      }
    }
    clean();
  });
}

test('a file of format version 1 loads and answers for ever', async () => {
  const bytes = readFileSync(new URL('../exporter/stored/version-1.rush', import.meta.url));
  const model = await load(bytes);
  const { passed, tests } = await model.verify();
  assert.deepEqual([passed, tests.length], [true, 3], JSON.stringify(tests));
  assert.deepEqual(Object.keys(model.methods), ['forward', 'sequence', 'total']);
  const x = { dtype: 'float32', shape: [1, 3, 8, 8], data: new Float32Array(192) },
    ids = { dtype: 'int64', shape: [1, 3], data: new BigInt64Array(3) };
  const out = await model.call('forward', x, ids, 3);
  assert.equal((await model.state()).counts.get?.('runs') ?? (await model.state()).counts.runs, 1);
  assert(out);
  model.dispose();
  assert(flipFile().bytes().length < bytes.length);
});
