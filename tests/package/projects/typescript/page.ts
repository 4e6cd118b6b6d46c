import { load, tensor } from 'rushlight';
import { imageToTensor } from 'rushlight/image';
import { writeNpy } from 'rushlight/npy';
import type { Digits } from './digits.js';

export async function natural(picture: ImageData, sound: AudioBuffer) {
  const model = await load<Digits>('digits.rush', { worker: true });
  const x = imageToTensor(picture);
  const { y } = await model.run({ x }, { transfer: [x.data.buffer] });
  sound.copyToChannel(y.data, 0);
  await crypto.subtle.digest('SHA-256', y.data);
  return new Blob([y.data, writeNpy(y), tensor('float32', [[0.5, 1]]).data]);
}
