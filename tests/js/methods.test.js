// Several methods of a traced module in one file, and outputs by the keys of a dict.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { exportedBy } from './exported-by.mjs';

const made = exportedBy('exported_methods.py'),
  { dir } = made;

const row = (/** @type {number[]} */ ...data) => new Float32Array(data);

test('a method reads what another one wrote, and the outputs have the names of keys', async (c) => {
  if (made.missing) return c.skip(made.missing);
  const model = await load(readFileSync(join(dir, 'methods.rush')));
  const x = { data: row(1, 2, 3, 4, 5, 6, 7, 8), shape: [4, 2] };
  await model.run({ x }, { method: 'encode' });
  const { mean, pair } = /** @type {any} */ (await model.run({ y: row(0, 1) }, { method: 'step' }));
  assert.deepEqual([...mean.data], [4, 6]);
  assert.deepEqual([...pair[1].data], [0, 2]);
  model.dispose();
});
