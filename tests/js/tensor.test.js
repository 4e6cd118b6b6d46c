// tensor() of the package: what it makes, and what it refuses.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load, tensor } from '../../js/src/index.js';
import { flipFile } from './build-rush.mjs';

test('a typed array stays the data of the tensor', () => {
  const data = new Float32Array(6);
  const x = tensor('float32', data, [2, 3]);
  assert.deepEqual(x, { dtype: 'float32', shape: [2, 3], data });
  assert.equal(x.data, data);
  assert.deepEqual(tensor('complex64', data).shape, [3]);
});

test('other elements are converted, and nested arrays give the shape', () => {
  assert.deepEqual(
    tensor('float32', [
      [1, 2],
      [3, 4],
    ]),
    { dtype: 'float32', shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) },
  );
  assert.deepEqual(tensor('int64', [1, 2n]), { dtype: 'int64', shape: [2], data: BigInt64Array.of(1n, 2n) });
  assert.deepEqual(tensor('bool', true), { dtype: 'bool', shape: [], data: Uint8Array.of(1) });
  assert.deepEqual(tensor('int32', [5, 6], [2, 1]).shape, [2, 1]);
  assert.deepEqual(tensor('uint8', []).shape, [0]);
});

test('a run takes it', async () => {
  const model = await load(flipFile().bytes());
  const { y } = await model.run({ x: tensor('float32', [1, 2], [1, 2]) });
  assert.deepEqual(y, { dtype: 'float32', shape: [1, 2], data: Float32Array.of(2, 1) });
  model.dispose();
});

/** @type {[any[], RegExp][]} */
const REFUSED = [
  [['float', [1]], /^tensor: there is no dtype "float".*float32/],
  [[undefined, [1]], /^tensor: an array of numbers must have a dtype/],
  [['int64', new Float32Array(2)], /^tensor must be int64 elements, as its dtype says, got Float32Array$/],
  [['float32', new Float32Array(3), [2, 2]], /^tensor: the data must have 4 elements for shape \[2, 2\], got 3$/],
  [['float32', [1], [-1]], /^tensor: a shape must be an array of sizes, got \[-1\]$/],
  [['int8', [1, 128]], /^tensor: element 1 must be a value of int8, got 128$/],
  [['float32', [[1, 2], [3]]], /^tensor must be rows of one length, 2, got \[3\]$/],
  [['float32'], /^tensor must be a tensor \(.*\), got undefined$/],
];
for (const [args, message] of REFUSED) {
  test(`tensor(${args.map((a) => JSON.stringify(a)).join(', ')}) is refused`, () => {
    assert.throws(() => /** @type {any} */ (tensor)(...args), { code: 'bad-argument', message });
  });
}
