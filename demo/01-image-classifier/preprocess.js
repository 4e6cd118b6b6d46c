// Converts a picture to EfficientNet-Lite0's input, as effnet.py does with a PIL image, and its answer to names.

import { imageToTensor } from '../../js/src/media/image.js'; // in a project of yours: from 'rushlight/image'

/**
 * Returns the model's input for a picture. The same pixels give the same tensor as in Python, bit for bit.
 * @param {import('../../js/src/media/image.js').ImageSource} source
 */
export const preprocess = (source) =>
  imageToTensor(source, {
    size: 256,
    crop: 224,
    interpolation: 'bicubic',
    like: 'pil',
    mean: 127 / 255,
    std: 128 / 255,
  });

/**
 * Returns the classes of the highest logits, with their softmax.
 * @param {Float32Array} logits @param {string[]} names @param {number} count
 */
export function top(logits, names, count = 5) {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const exp = Float64Array.from(logits, (x) => Math.exp(x - max));
  const sum = exp.reduce((a, b) => a + b, 0);
  return Array.from(exp, (e, i) => ({ name: names[i] ?? `class ${i}`, probability: e / sum }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, count);
}
