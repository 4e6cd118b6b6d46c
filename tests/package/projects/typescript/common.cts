import { RushlightError, load } from 'rushlight';
import type { Model, Tensor } from 'rushlight';
import audio = require('rushlight/audio');
import { esbuild } from 'rushlight/bundler';
import { list } from 'rushlight/cache';
import { Interpreter } from 'rushlight/fx';
import { imageToTensor } from 'rushlight/image';
import { readNpy } from 'rushlight/npy';
import { readSafetensors } from 'rushlight/safetensors';

export { audio, esbuild, imageToTensor, list, readNpy, readSafetensors };

export async function typed() {
  const model = await load<{ forward: { inputs: { x: Tensor<'float32'> }; outputs: { y: Tensor<'float32'> }; args: [Tensor<'float32'>]; result: Tensor<'float32'> } }>('digits.rush').catch((e: unknown) => { throw e instanceof RushlightError ? e.source : e; });
  const { y } = await model.run({ x: { dtype: 'float32', shape: [1], data: new Float32Array(1) } });
  const data: Float32Array = y.data;
  await new Interpreter(model).run({ x: y });
  const any: Model = model;
  return [data, any];
}
