// Each line after the first of a function is an error.
import { load, tensor } from 'rushlight';
import type { Digits } from './digits.js';

export async function typed(picture: { data: Uint8ClampedArray; width: number; height: number }) {
  const model = await load<Digits>('digits.rush');
  await model.run({ z: new Float32Array(784) });
  await model.run({});
  await model.run({ x: new Int32Array(784) });
  await model.run({ x: ['0.5'] });
  await model.run({ x: tensor('int64', [1]) });
  await model.run({ x: picture });
  await model.run({ x: 1 }, { method: 'backward' });
  await model.call('forward', 1, 2);
  (await model.run({ x: 1 })).z;
  (await model.run({ x: 1 })).y.dims;
}

export async function untyped(picture: { data: Uint8ClampedArray; width: number; height: number }) {
  const model = await load('m.rush');
  await model.run({ x: picture });
  await model.run({ x: { data: new BigUint64Array(2), shape: [2] } });
  (await model.run({})).y?.dims;
}
