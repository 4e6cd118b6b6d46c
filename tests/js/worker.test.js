// worker: true. What is the same as without is tested in ops.test.js and graph.test.js.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { RushFile, flipFile } from './build-rush.mjs';

const worker = true;
const loopFile = () => new RushFile().method('forward', { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] }, (m, x, n) =>
  m.loop(n, [x], (_, v) => [m.op('aten::flip', [v, m.file.ints([0])])])[0]);

test('a long run in a worker does not stop the page, and an abort stops the run', async () => {
  const model = await load(loopFile().bytes(), { worker });
  const control = new AbortController(), reason = new Error('enough');
  let ticks = 0;
  const ticking = setInterval(() => ticks++ === 10 && control.abort(reason), 5);
  await assert.rejects(model.run({ x: new Float32Array(1 << 16), n: 1e9 }, { signal: control.signal }), (/** @type {any} */ e) => e.code === 'aborted' && e.cause === reason);
  clearInterval(ticking);
  assert(ticks > 10);
  assert.deepEqual((await model.run({ x: new Float32Array([1, 2]), n: 1 })).y.data, Float32Array.of(2, 1));
  model.dispose();
});

test('dispose() ends a run in a worker at once', async () => {
  const model = await load(loopFile().bytes(), { worker });
  const run = model.run({ x: new Float32Array(1 << 16), n: 1e9 });
  setTimeout(() => model.dispose(), 20);
  await assert.rejects(run, { code: 'disposed' });
  await assert.rejects(model.memory(), { code: 'disposed' });
});

test('every source is loaded in a worker, with its progress', async () => {
  const bytes = flipFile().bytes(), path = `${tmpdir()}/rushlight-worker-${process.pid}.rush`;
  writeFileSync(path, bytes);
  for (const source of [bytes, bytes.buffer, new Blob([bytes]), new Response(bytes), new Blob([bytes]).stream(), path, new URL(`file://${path}`)]) {
    /** @type {any[]} */ const seen = [];
    const model = await load(/** @type {any} */ (source), { worker, onProgress: (p) => void seen.push(p) });
    assert.deepEqual((await model.run({ x: [1, 2] })).y.data, Float32Array.of(2, 1));
    assert.deepEqual(seen.at(-1), { loaded: bytes.length, total: bytes.length });
    assert.match(model.describeText(), /aten::flip/);
    assert.deepEqual(model.inputs.map((p) => p.name), ['x']);
    assert((await model.memory()).heap > 0);
    assert.equal((await model.profile({ x: [1, 2] }))[0]?.op, 'aten::flip');
    assert.deepEqual(await model.verify(), { passed: false, tests: [] });
    model.dispose();
  }
  rmSync(path);
});

test('errors come out of a worker as they are', async () => {
  await assert.rejects(load('/none.rush', { worker }), { code: 'unreadable', source: '/none.rush' });
  await assert.rejects(load(flipFile().bytes().subarray(0, 100), { worker }), { code: 'truncated', actual: 100 });
  await assert.rejects(load(new Response('', { status: 404 }), { worker }), { code: 'network' });
  await assert.rejects(load(flipFile().bytes(), { worker, signal: AbortSignal.abort() }), { code: 'aborted' });
  await assert.rejects(load(flipFile().bytes(), { worker: /** @type {any} */ (4) }), { code: 'bad-argument' });
  const model = await load(flipFile().bytes(), { worker });
  await assert.rejects(model.run({ x: new Int32Array(2) }), { code: 'bad-argument', input: 'x', expected: 'float32', actual: 'int32' });
  await assert.rejects(model.run({ x: /** @type {any} */ (() => 1) }), { code: 'bad-argument', message: /cannot be sent to the worker/ });
  const x = new Float32Array([1, 2]);
  await model.run({ x });
  assert.equal(x.length, 2, 'inputs stay with the caller');
  model.dispose();
});

test('a program ends though a model in a worker was not disposed', () => {
  const script = `
    import { load } from ${JSON.stringify(new URL('../../js/src/index.js', import.meta.url))};
    import { flipFile } from ${JSON.stringify(new URL('./build-rush.mjs', import.meta.url))};
    const model = await load(flipFile().bytes(), { worker: true });
    console.log([...(await model.run({ x: [1, 2] })).y.data].join());`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 30000 });
  assert.equal(stdout, '2,1\n', stderr);
});
