// What came before, kept in each of the ways that models have: a cache that goes in and comes out, a pair of them, and
// state.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from '../../js/src/index.js';
import { shown } from './shown.js';
import { stepByStep } from './steps.js';

const dir = mkdtempSync(join(tmpdir(), 'rush-decoding-'));
after(() => rmSync(dir, { recursive: true }));

let missing = '';
/** @type {any} */ let wanted;
before(() => {
  const { status, stdout, stderr, error } = spawnSync(
    'python3',
    [fileURLToPath(new URL('exported_decoding.py', import.meta.url)), dir],
    { encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  if (error || /No module named '(torch|rushlight)'/.test(stderr))
    missing = 'there is no python3 with torch and rushlight: use ./dev test';
  else {
    assert.equal(status, 0, stderr);
    wanted = JSON.parse(/** @type {string} */ (stdout.split('\n').findLast((line) => line.startsWith('{'))));
  }
});

for (const worker of [false, true]) {
  for (const name of ['dynamic', 'pair']) {
    const caches = name === 'pair' ? 'two caches that are' : 'a cache that is';
    test(
      `${name}: the result of a run is the input of the next run${worker ? ', in a worker' : ''}`,
      shown('torch.export', `${caches} passed in and returned, step by step in JavaScript`, async (t) => {
        if (missing) return t.skip(missing);
        const maxAbs = await stepByStep(join(dir, `${name}.rush`), wanted[name], { worker });
        return { maxAbs };
      }),
    );
  }
}

test('a step that differs, or has another size, is told', async (t) => {
  if (missing) return t.skip(missing);
  const told = wanted.dynamic,
    step = (/** @type {any} */ change) => stepByStep(join(dir, 'dynamic.rush'), { ...told, ...change });
  const other = { ...told.want[2], data: told.want[2].data.map((/** @type {number} */ v) => v + 1e-3) };
  await assert.rejects(step({ want: told.want.with(2, other) }), /^Error: step 2: \S+ instead of \S+$/);
  await assert.rejects(step({ last: told.start.cache }), /^Error: cache\[0\]\[0\]: \[1,8,8\] instead of \[1,3,8\]$/);
});

test('static: a program that writes its buffers keeps them, and forgets them', async (t) => {
  if (missing) return t.skip(missing);
  const model = await load(join(dir, 'static.rush')),
    { steps, want } = wanted.static;
  const step = (/** @type {number} */ i) => ({ x: Float32Array.from(steps[i].x.data), position: [i] });
  const close = (/** @type {any} */ { y }, /** @type {number[]} */ data) => {
    assert.equal(y.data.length, data.length);
    data.forEach((w, i) => assert.ok(Math.abs(y.data[i] - w) < 1e-5, `${y.data[i]} instead of ${w}`));
  };
  for (let round = 0; round < 2; round++) {
    for (const i of steps.keys()) close(await model.run(step(i)), want[i].data);
    assert.equal(Object.keys(await model.state()).length, 4);
    await model.reset();
    assert.ok(
      Object.values(await model.state()).every((/** @type {any} */ { data }) =>
        data.every((/** @type {number} */ v) => v === 0),
      ),
    );
  }
  // Several positions in one run, and the steps after them.
  const first = (/** @type {any[]} */ tensors) => tensors.slice(0, 3).flatMap(({ data }) => data);
  const all = { shape: [1, 3, 8], data: Float32Array.from(first(steps.map((/** @type {any} */ { x }) => x))) };
  close(await model.run({ x: all, position: [0, 1, 2] }), first(want));
  close(await model.run(step(3)), want[3].data);
  model.dispose();
});
