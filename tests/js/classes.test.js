// Enums and objects of a program's own classes, as inputs and results: an enum is [name, value], an object its
// attributes in their order. The program is in exported_classes.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { exportedBy } from './exported-by.mjs';
import { shown } from './shown.js';

const made = exportedBy('exported_classes.py'),
  { dir } = made;

/** @param {number[]} data */
const floats = (...data) => ({
  dtype: /** @type {const} */ ('float32'),
  shape: [data.length],
  data: Float32Array.from(data),
});

/** @param {boolean} worker */
const plainData = (worker) => async (/** @type {import('node:test').TestContext} */ t) => {
  if (made.missing) return t.skip(made.missing);
  const model = await load(new Uint8Array(readFileSync(join(dir, 'steps.rush'))), { worker });
  assert.equal(model.inputs[1]?.type, 'Mode(str, int)');
  assert.equal(model.inputs[2]?.type, 'Account(Tensor, str, Mode(str, int))');
  const given = [floats(1, 2), 'mine', ['SCALE', 2]],
    other = [floats(5, 5), 'other', ['ADD', 1]];
  const call = (/** @type {any} */ mode, /** @type {any} */ maybe) =>
    model.call('forward', floats(10, 20), mode, given, [other], { a: ['ADD', 1] }, maybe);
  const [account, list, counts, byName, nothing] = /** @type {any} */ (await call(['ADD', 1], null));
  assert.deepEqual(
    [[...account[0].data], account[1], account[2][0], Number(account[2][1])],
    [[16, 27], 'mine', 'ADD', 1],
  );
  assert.deepEqual([list.length, list[1][1], [...list[1][0].data]], [2, 'new', [10, 20]]);
  assert.deepEqual([Number(counts.get('n')), byName.get('a')[0], nothing], [1, 'ADD', null]);
  assert.deepEqual([...given[0].data], [1, 2]); // the caller's own
  const [scaled, , , , same] = /** @type {any} */ (await call(['SCALE', 2], account)); // what came out goes in
  assert.deepEqual([[...scaled[0].data], [...same[0].data], same[2][0]], [[15, 45], [16, 27], 'ADD']);
  await assert.rejects(call(['SUBTRACT', 3], null), {
    code: 'model-raised',
    message: /it must be the name of a member of Mode/,
  });
  await assert.rejects(call(3, null), { name: 'RushlightError' });
  model.dispose();
};

test('an enum and an object are plain data', shown('TorchScript', 'an enum as an input or result', plainData(false)));
test('an enum and an object are plain data, in a worker', plainData(true));

test('an enum as the one result has its name and value by name', async (t) => {
  if (made.missing) return t.skip(made.missing);
  const model = await load(new Uint8Array(readFileSync(join(dir, 'one.rush'))));
  assert.deepEqual(
    model.outputs.map(({ name }) => name),
    ['name', 'value'],
  );
  const { name, value } = /** @type {any} */ (await model.run({ n: 2 }));
  assert.deepEqual([name, Number(value)], ['SCALE', 2]);
  model.dispose();
});
