// The demo's operator in JavaScript. (That it agrees with OpenCV is the demo's own comparison.)

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { warpPerspective } from '../../demo/04-custom-operator/warp.js';
import { RushFile } from './build-rush.mjs';

const matrix = (/** @type {number[]} */ ...v) => ({
  dtype: /** @type {const} */ ('float32'),
  shape: [3, 3],
  data: Float32Array.from(v),
});
const ramp = {
  dtype: /** @type {const} */ ('float32'),
  shape: [8, 8],
  data: Float32Array.from({ length: 64 }, (_, i) => i),
};
const row = (/** @type {ReturnType<typeof matrix>} */ warp, y = 1) => [
  ...warpPerspective(ramp, warp).data.subarray(8 * y, 8 * y + 3),
];

test('an image is warped as OpenCV does: whole pixels, parts of 1/32, a black border, perspective', () => {
  assert.deepEqual(warpPerspective(ramp, matrix(1, 0, 0, 0, 1, 0, 0, 0, 1)), ramp);
  assert.deepEqual(row(matrix(1, 0, 1, 0, 1, 0, 0, 0, 1)), [0, 8, 9]);
  assert.deepEqual(row(matrix(1, 0, -0.5, 0, 1, 0, 0, 0, 1)), [8.5, 9.5, 10.5]);
  assert.deepEqual(row(matrix(1, 0, -0.01, 0, 1, 0, 0, 0, 1)), [8, 9, 10], 'a hundredth is not a thirty-second');
  assert.deepEqual(row(matrix(1, 0, 0, 0, 1, 0, 0, 0, 2)), [16, 18, 20]);
  assert.throws(() => warpPerspective({ ...ramp, shape: [64] }, matrix(1)), RangeError);
});

test('it runs in a model, between relu and matmul', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'image' }, { name: 'warp' }] }, (m, image, warp) =>
    m.op('aten::matmul', [
      m.op(
        'my_ops::warp_perspective',
        [m.op('aten::relu', [image]), warp],
        'Tensor',
        'my_ops::warp_perspective(Tensor image, Tensor warp) -> Tensor',
      ),
      image,
    ]),
  );
  const model = await load(f.bytes(), { ops: { 'my_ops::warp_perspective': warpPerspective } });
  const eye = {
    dtype: /** @type {const} */ ('float32'),
    shape: [8, 8],
    data: Float32Array.from({ length: 64 }, (_, i) => (i % 9 ? 0 : 1)),
  };
  assert.deepEqual((await model.run({ image: eye, warp: matrix(1, 0, 0, 0, 1, 0, 0, 0, 1) })).y, eye);
  model.dispose();
});
