import { readFileSync } from 'node:fs';
import { load } from 'rushlight';
import { expect, test } from 'vitest';
import { check } from './check.js';

test.each([false, true])('a model runs, in a worker: %s', async (worker) => {
  expect(await check(process.env.MODEL, worker)).toEqual({ passed: true, compared: 20, shape: '3,10' });
});

test.each([false, true])('a model runs on two threads, in a worker: %s', async (worker) => {
  expect(await check(process.env.MODEL, worker, 2)).toEqual({
    passed: true,
    compared: 20,
    shape: '3,10',
    threads: 2,
    reason: '2 threads: as requested',
  });
});

test('bytes of this realm are taken', async () => {
  const model = await load(new Uint8Array(readFileSync(process.env.MODEL)).buffer);
  const { y } = await model.run({ x: { dtype: 'float32', shape: [1, 1, 28, 28], data: new Float32Array(784) } });
  expect(y.shape).toEqual([1, 10]);
});
