// What came before, kept in each of the ways that models have: a cache that goes in and comes out, a pair of them, and state.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from '../../js/src/index.js';
import { shown } from './shown.js';

const dir = mkdtempSync(join(tmpdir(), 'rush-decoding-'));
after(() => rmSync(dir, { recursive: true }));

let missing = '';
/** @type {any} */ let wanted;
before(() => {
  const { status, stdout, stderr, error } = spawnSync('python3', [fileURLToPath(new URL('exported_decoding.py', import.meta.url)), dir], { encoding: 'utf8', maxBuffer: 1 << 26 });
  if (error || /No module named '(torch|rushlight)'/.test(stderr)) missing = 'there is no python3 with torch and rushlight: use ./dev test';
  else {
    assert.equal(status, 0, stderr);
    wanted = JSON.parse(/** @type {string} */ (stdout.split('\n').findLast((line) => line.startsWith('{'))));
  }
});

/** JSON with typed arrays. @param {any} value @returns {any} */
const typed = (value) => (Array.isArray(value) ? value.map(typed) : { ...value, data: Float32Array.from(value.data) });

/** The largest difference of tensors in arrays. @param {any} got @param {any} want @returns {number} */
function apart(got, want) {
  if (Array.isArray(want)) {
    assert.equal(got.length, want.length);
    return Math.max(...want.map((w, i) => apart(got[i], w)));
  }
  assert.deepEqual(got.shape, want.shape);
  return Math.max(...want.data.map((/** @type {number} */ w, /** @type {number} */ i) => Math.abs(w - got.data[i])));
}

for (const worker of [false, true]) {
  for (const [name, output] of [['dynamic', 'cache'], ['pair', 'caches']]) {
    test(`${name}: what one run gives is the next one's input${worker ? ', in a worker' : ''}`, async (t) => {
      if (missing) return t.skip(missing);
      const model = await load(join(dir, `${name}.rush`), { worker }), want = wanted[name];
      let cache = typed(want.cache), maxAbs = 0;
      for (const [i, x] of wanted.xs.entries()) {
        const { output: both, ...rest } = /** @type {any} */ (await model.run({ x: typed(x), [output]: cache }));
        const { y, [output]: next } = both instanceof Map ? Object.fromEntries(both) : rest;
        maxAbs = Math.max(maxAbs, apart(y, want.ys[i]));
        cache = next;
      }
      maxAbs = Math.max(maxAbs, apart(cache, want.last));
      assert.ok(maxAbs < 1e-5, `max abs ${maxAbs}`);
      model.dispose();
      shown('torch.export', `a ${name === 'pair' ? 'pair of caches' : 'cache'} that goes round, step by step in JavaScript`, { maxAbs });
    });
  }
}

test('static: a program that writes its buffers keeps them, and forgets them', async (t) => {
  if (missing) return t.skip(missing);
  const model = await load(join(dir, 'static.rush')), { ys } = wanted.static;
  for (let round = 0; round < 2; round++) {
    let maxAbs = 0;
    for (const [i, x] of wanted.xs.entries()) {
      const { y } = /** @type {any} */ (await model.run({ x: typed(x), position: [i] }));
      maxAbs = Math.max(maxAbs, apart(y, ys[i]));
    }
    assert.ok(maxAbs < 1e-5, `max abs ${maxAbs}`);
    assert.equal(Object.keys(await model.state()).length, 4);
    await model.reset();
    assert.ok(Object.values(await model.state()).every((/** @type {any} */ { data }) => data.every((/** @type {number} */ v) => v === 0)));
  }
  // Several positions in one run, and the steps after them.
  const all = { dtype: 'float32', shape: [1, 3, 8], data: Float32Array.from(wanted.xs.slice(0, 3).flatMap((/** @type {any} */ x) => x.data)) };
  const { y } = /** @type {any} */ (await model.run({ x: all, position: [0, 1, 2] }));
  assert.ok(apart(y, { shape: [1, 3, 8], data: ys.slice(0, 3).flatMap((/** @type {any} */ s) => s.data) }) < 1e-5);
  const { y: fourth } = /** @type {any} */ (await model.run({ x: typed(wanted.xs[3]), position: [3] }));
  assert.ok(apart(fourth, ys[3]) < 1e-5);
  model.dispose();
});
