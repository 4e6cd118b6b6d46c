// Fits an image to an input of a model, for Node and for the page of `serve`.

import { badArgument } from '../src/base/errors.js';
import { imageToTensor } from '../src/media/image.js';

/**
 * @typedef {import('../src/base/types.js').Port} Port
 * @typedef {{ mean?: number[], std?: number[] }} Scale as in torchvision's Normalize; by default values are 0 to 1
 */

/** The numbers by which torchvision's models normalize images. @type {Scale} */
export const IMAGENET = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };

/**
 * Converts an image to a tensor in the sizes of the input's example. Unknown sizes are those of the image.
 * @param {import('../src/media/image.js').ImageSource & { width: number, height: number }} source
 * @param {Pick<Port, 'name' | 'dtype' | 'shape'>} port
 * @param {Scale} scale which an input of bytes does not have
 */
export function imageToInput(source, port, scale) {
  const { channels, height, width, last, batch } = sizesOf(port);
  const dtype = port.dtype === 'uint8' ? 'uint8' : 'float32';
  return imageToTensor(source, {
    size: [height ?? source.height, width ?? source.width],
    channels,
    dtype,
    layout: /** @type {'nchw'} */ ((batch ? 'n' : '') + (last ? 'hwc' : 'chw')),
    ...(dtype === 'float32' && scale.mean && { mean: scale.mean.slice(0, channels) }),
    ...(dtype === 'float32' && scale.std && { std: scale.std.slice(0, channels) }),
  });
}

/** Finds the sizes of an image in the shape of an input. @param {Pick<Port, 'name' | 'shape'>} port */
function sizesOf({ name, shape }) {
  const sizes = shape ?? [1, 3, null, null],
    [a = null, b = null, c = null] = sizes.slice(-3);
  const isChannels = (/** @type {number | null} */ n) => n === 1 || n === 3;
  const last = !isChannels(a) && isChannels(c);
  const channels = (last ? c : a) ?? 3;
  if (![3, 4].includes(sizes.length) || !isChannels(channels))
    throw badArgument(
      `an image needs an input of 1 or 3 channels in 3 or 4 dimensions, got ${name} of shape ` +
        `[${sizes.map((n) => n ?? '?').join(', ')}]`,
      { input: name, actual: shape },
    );
  const [height, width] = last ? [a, b] : [b, c];
  return { channels: /** @type {1 | 3} */ (channels), height, width, last, batch: sizes.length === 4 };
}
