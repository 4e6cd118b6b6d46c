import { RushlightError, load, plan, tensor } from 'rushlight';
import type { Model, Tensor, TensorLike } from 'rushlight';
import * as audio from 'rushlight/audio';
import * as cache from 'rushlight/cache';
import { Interpreter } from 'rushlight/fx';
import * as image from 'rushlight/image';
import { readNpy } from 'rushlight/npy';
import { readSafetensors } from 'rushlight/safetensors';
import wasm from 'rushlight/simd.wasm';
import type { Gate } from 'rushlight/gate.rush';
import type { Digits } from './digits.js';

export { audio, cache, image, plan, readNpy, readSafetensors };

export async function typed() {
  const model = await load<Digits>('digits.rush', { wasm });
  const { y } = await model.run({ x: new Float32Array(784) });
  const probabilities: Float32Array = y.data;
  const same: Tensor<'float32'> = await model.call('forward', y);
  await model.run({ x: { data: [[0.5, 1]], shape: [1, 2] } }, { method: 'forward' });
  const x = { dtype: 'float32', shape: [1, 1, 28, 28], data: new Float32Array(784) };
  await model.run({ x });
  await model.run({ x: tensor('float32', x.data, x.shape) }, { transfer: [x.data.buffer] });
  await new Interpreter(model).run({ x: y });
  const any: Model = model;
  return [probabilities, same, any, y.data.buffer.slice(0)];
}

export async function untyped(x: TensorLike) {
  const model = await load('m.rush').catch((e: unknown) => { throw e instanceof RushlightError ? e.source : e; });
  const { y } = await model.run({ x, list: [1, 2], name: 'x', nothing: null, dict: new Map([['a', 1n]]) });
  const shape: number[] | undefined = y?.shape;
  const gate = await load<Gate>('gate.rush');
  const open: Float32Array = (await gate.run({ x: [[1, 2, 3, 4]] })).y.data;
  void open;
  model.dispose();
  model[Symbol.dispose]();
  return shape;
}
