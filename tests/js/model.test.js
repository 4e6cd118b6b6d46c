// The facts that a model gives about itself: description, test vectors, profile, state.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { RushFile, flipFile } from './build-rush.mjs';
import { shown } from './shown.js';

test('inputs, outputs, methods and weights are described', async () => {
  const f = new RushFile();
  f.meta('licence', 'BSD-3-Clause "new"');
  const w = f.tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3], { name: 'linear.weight' });
  f.method(
    'encode',
    {
      inputs: [
        { name: 'x', dtype: 'float32', shape: [null, 3] },
        { name: 'k', type: 'int?', initial: f.none() },
      ],
      outputs: [{ name: 'code', dtype: 'float32', shape: [2, null] }],
    },
    (m) => m.op('aten::cat', [f.container('list', 'Tensor[]', [w])]),
  );
  f.method('forward', { inputs: [{ name: 'z' }] }, (m, z) => z);
  const model = await load(f.bytes());
  assert.deepEqual(Object.keys(model.methods), ['encode', 'forward']);
  assert.deepEqual(model.methods.encode?.inputs, [
    { name: 'x', type: 'Tensor', dtype: 'float32', shape: [null, 3], optional: false },
    { name: 'k', type: 'int?', dtype: null, shape: null, optional: true },
  ]);
  assert.deepEqual(model.methods.encode?.outputs, [
    { name: 'code', type: 'Tensor', dtype: 'float32', shape: [2, null], optional: false },
  ]);
  assert.deepEqual(
    model.inputs.map((p) => p.name),
    ['z'],
    'forward comes first, wherever it stands',
  );
  const d = model.describe();
  assert.deepEqual(d.operators, [{ name: 'aten::cat', count: 1 }]);
  assert.deepEqual(d.weights, [{ name: 'linear.weight', dtype: 'float32', shape: [2, 3], bytes: 24, used: true }]);
  assert.deepEqual(d.meta, { licence: 'BSD-3-Clause "new"' });
  d.methods.length = 0;
  assert.equal(model.describe().methods.length, 2, 'a description is a copy');
  assert.match(model.describeText(), /method encode\n[^]*x : Tensor float32\[\?, 3\][^]*aten::cat/);
  assert.deepEqual((await model.call('encode', new Float32Array(3))).shape, [2, 3]);
  assert.deepEqual(Object.keys(await model.run({ x: new Float32Array(3) }, { method: 'encode' })), ['code']);
  model.dispose();
});

/** A file with a correct answer and wrong ones. */
function testedFile() {
  const f = flipFile();
  const x = f.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  const answers = [
    [2, 1, 4, 3],
    [2, 1, 4, 3.00001],
    [2, 1, 4, 3.1],
    [2, 1, NaN, 3],
  ].map((v) => f.tensor(Float32Array.from(v), [2, 2]));
  for (const y of answers) f.test(0, [x], ['Tensor'], y);
  f.test(0, [x], ['Tensor'], f.tensor(Float32Array.of(2, 1, 4, 3), [4]));
  return f;
}

test('verify() replays the test vectors and says where an answer differs', async () => {
  const model = await load(testedFile().bytes());
  const report = await model.verify();
  assert.equal(report.passed, false);
  assert.deepEqual(
    report.tests.map((t) => t.passed),
    [true, true, false, false, false],
  );
  const [exact, near, far, nan, shape] = report.tests;
  assert.deepEqual(exact, { index: 0, passed: true, maxAbs: 0, maxRel: 0, compared: 4 });
  assert(near && near.maxAbs > 9e-6 && near.maxAbs < 1.1e-5 && near.maxRel < near.maxAbs);
  assert.equal(far?.code, 'mismatch');
  assert.match(far?.message ?? '', /3\.099/);
  assert(Math.abs((far?.maxAbs ?? 0) - 0.1) < 1e-6);
  assert.equal(nan?.code, 'mismatch');
  assert.match(shape?.message ?? '', /\[4\]/);
  assert.deepEqual((await model.run({ x: [1, 2] })).y.data, Float32Array.of(2, 1));
  model.dispose();
});

test('verify() measures with float64, where the file has its answer', async () => {
  const f = flipFile();
  const x = f.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  // PyTorch is off by 0.002 from what this gives, or 0.001 from float64's answer, which lies between them.
  const off = f.tensor(Float32Array.of(2, 1, 4.002, 3), [2, 2]);
  f.test(0, [x], ['Tensor'], off).test(0, [x], ['Tensor'], off).test(0, [x], ['Tensor'], off);
  f.measure(0, f.tensor(Float64Array.of(2, 1, 4.001, 3), [2, 2]))
    .measure(1, f.tensor(Float64Array.of(2, 1, 4.00199, 3), [2, 2]))
    .measure(2);
  const model = await load(f.bytes());
  const {
    passed,
    tests: [right, wrong, unknown],
  } = await model.verify();
  assert.equal(passed, false);
  assert.equal(right?.passed, true, right?.message);
  const { pytorch, rushlight, difference } = right?.float64 ?? assert.fail('not measured');
  for (const [got, want] of /** @type {[{ max: number, l2: number }, number][]} */ ([
    [pytorch, 0.001],
    [rushlight, 0.001],
    [difference, 0.002],
  ])) {
    assert(
      Math.abs(got.max - want / 4.001) < 1e-6 && Math.abs(got.l2 - want / 5.478) < 1e-6,
      JSON.stringify(right?.float64),
    );
  }
  assert.equal(wrong?.passed, false);
  assert.match(wrong?.message ?? '', /from float64's answer PyTorch is off by .*, this by 0\.000/);
  assert.deepEqual([unknown?.passed, unknown?.float64], [false, undefined]);
  model.dispose();
});

test('verify() without test vectors does not say that they passed', async () => {
  const model = await load(flipFile().bytes());
  assert.deepEqual(await model.verify(), { passed: false, tests: [] });
  model.dispose();
});

test('profile() gives the time of each instruction, with its Python line', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] }, (m, x, n) => {
    m.at = f.source('net.py', 3);
    const y = m.op('aten::clone', [x]);
    m.at = f.source('net.py', 4);
    return m.loop(n, [y], (_, v) => [m.op('aten::flip', [v, f.ints([0])])])[0];
  });
  const model = await load(f.bytes());
  const inputs = { x: new Float32Array(1 << 16), n: 100 };
  const rows = await model.profile(inputs, { runs: 2 });
  assert.deepEqual(rows.map((r) => [r.op, r.method, r.calls, r.source]).sort(), [
    ['aten::clone', 'forward', 2, 'net.py:3'],
    ['aten::flip', 'forward', 200, 'net.py:4'],
  ]);
  assert(rows.every((r) => r.ms > 0 && r.ms < 10000));
  assert(
    rows.every((r, i) => i === 0 || r.ms <= /** @type {any} */ (rows[i - 1]).ms),
    'the longest comes first',
  );
  await assert.rejects(model.profile({ x: 5n, n: 1 }), { code: 'bad-argument' });
  assert.equal((await model.profile(inputs)).length, 2, 'each profile begins anew');
  model.dispose();
});

test('memory() tells what is held, what was held at most, and the heap', async () => {
  const model = await load(flipFile().bytes());
  const before = await model.memory();
  await model.run({ x: new Float32Array(1 << 20) });
  const { live, peak, heap } = await model.memory();
  assert(before.live > 1000 && live >= before.live);
  assert(peak >= 2 * (4 << 20), 'input and output');
  assert(heap >= peak);
  model.dispose();
});

test(
  "print goes to the console, in libtorch's text",
  shown('TorchScript', 'in JavaScript: print goes to the console', async (t) => {
    const f = new RushFile();
    f.method('forward', { inputs: [{ name: 'x', type: 'int' }], outputs: [] }, (m, x) => {
      m.call('prim::Print', [f.str('x is'), x, f.str('grün'), f.ints([1, 2])]);
      return f.none();
    });
    const model = await load(f.bytes());
    const { mock } = t.mock.method(console, 'log', () => {});
    await model.call('forward', 5);
    assert.deepEqual(
      mock.calls.map((c) => c.arguments),
      [['x is 5 grün [1, 2]']],
    );
    mock.restore();
    model.dispose();
  }),
);

test('call without the name of a method says so, and prints no tensor', async () => {
  const model = await load(flipFile().bytes());
  for (const value of [new Float32Array([0.5, 0.25]), { data: new Float32Array(2), shape: [1, 2] }, undefined]) {
    await assert.rejects(() => model.call(/** @type {any} */ (value)), {
      code: 'bad-argument',
      message: /^a method must be given by its name, got .*; known: forward$/,
    });
  }
  model.dispose();
});
