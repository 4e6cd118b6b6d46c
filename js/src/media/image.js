/**
 * Converts images to tensors and back, with torchvision's Resize, CenterCrop and Normalize.
 * @module rushlight/image
 */

import { RushlightError, badArgument, checkOptions, describeValue, unknownNameError } from '../base/errors.js';
import { tensorParts } from './checks.js';
import { withDeclared } from './declared-inputs.js';

/** @import { Tensor } from '../base/types.js' */

export { videoFrames } from './video-frames.js';

/**
 * @template {string} K
 * @typedef {K extends unknown ? typeof globalThis extends Record<K, Record<'prototype', infer T>> ? T : never : never}
 *   Global
 *   a class of the browser, if TypeScript knows the DOM
 * @internal
 */

/**
 * @typedef {object} Pixels the pixels of an image, as in ImageData or from a decoder in Node
 * @property {Uint8Array | Uint8ClampedArray} data row by row: R, G, B and A of each pixel, or R, G and B
 * @property {number} width in pixels
 * @property {number} height in pixels
 *
 * @typedef {Pixels | Global<'ImageData' | 'ImageBitmap' | 'HTMLImageElement' | 'HTMLCanvasElement' | 'OffscreenCanvas'
 *   | 'VideoFrame' | 'HTMLVideoElement'>} ImageSource
 *   an image; `await createImageBitmap(blob)` makes one of a Blob
 *
 * @typedef {import('./video-frames.js').ShownFrame} ShownFrame
 * @typedef {import('./declared-inputs.js').MediaModel} MediaModel
 * @typedef {import('./declared-inputs.js').Runnable} Runnable
 *
 * @typedef {'nchw' | 'nhwc' | 'chw' | 'hwc'} Layout the dimensions, outermost first: n is 1, c are the channels
 */

/**
 * @template {'float32' | 'uint8'} [D='float32']
 * @typedef {object} ImageToTensorOptions options of imageToTensor(), in the order in which they apply
 * @property {number | readonly number[]} [size] torchvision's Resize of the shorter side, or to [height, width]; by
 *   default the image keeps its size
 * @property {number | readonly number[]} [crop] CenterCrop of both sides, or to [height, width]. Black is added if the
 *   image is smaller
 * @property {number | readonly number[]} [mean] Normalize of values from 0 to 1: one number, or one for each channel; 0
 *   by default
 * @property {number | readonly number[]} [std] Normalize, likewise; 1 by default
 * @property {Layout} [layout] the order of the dimensions; 'nchw' by default
 * @property {D} [dtype] 'float32', with values from 0 to 1 before `mean` and `std`, or 'uint8', with values from 0 to
 *   255
 * @property {'bilinear' | 'bicubic'} [interpolation] the antialiased filter of Resize; 'bilinear' by default
 * @property {'tensor' | 'pil'} [like] the input of torchvision: a tensor, which is the default, or a PIL image, where
 *   each step rounds to bytes
 * @property {1 | 3} [channels] 3, or 1 for torchvision's Grayscale
 * @property {number | readonly number[] | null} [background] the color behind transparent pixels, from 0 to 255; white
 *   by default. null ignores alpha, as PIL's convert('RGB') does
 */

/**
 * @template {Runnable} M
 * @typedef {import('./declared-inputs.js').MediaRun<M>} MediaRun
 */

/** The classes of images that are drawn to a canvas. */
const ELEMENTS = /^(HTML(Image|Canvas|Video)Element|OffscreenCanvas|ImageBitmap|VideoFrame)$/;
const LAYOUTS = ['nchw', 'nhwc', 'chw', 'hwc'];
/** The choices of imageToTensor(). The first one is the default. */
const CHOICES = {
  layout: LAYOUTS,
  dtype: ['float32', 'uint8'],
  interpolation: ['bilinear', 'bicubic'],
  like: ['tensor', 'pil'],
  channels: [3, 1],
};

/**
 * Converts an image to a tensor, [1, 3, height, width] by default. The pixels are sRGB bytes, as in a canvas.
 * @template {'float32' | 'uint8'} [D='float32']
 * @param {ImageSource} source
 * @param {ImageToTensorOptions<D>} [options]
 * @returns {Tensor<D>}
 * @throws {RushlightError} `bad-argument`, also for pixels of another origin; `bad-state` if the source has no image
 *   yet, or was closed
 */
export function imageToTensor(source, options = {}) {
  const chosen = choose('imageToTensor', options, CHOICES, ['size', 'crop', 'mean', 'std', 'background']);
  const { layout, dtype, interpolation, like, channels, size, crop, mean, std, background = 255 } = chosen;
  const bytes = dtype === 'uint8',
    pil = like === 'pil';
  const means = perChannel('mean', mean ?? 0, channels),
    stds = perChannel('std', std ?? 1, channels);
  if (bytes && (mean || std)) throw badArgument('dtype must be float32 with mean or std, got uint8');
  const target = sides('size', size),
    [cropHeight, cropWidth = cropHeight] = sides('crop', crop);
  const pixels = read(source),
    [newHeight, newWidth] = resized(target, pixels.height, pixels.width);
  const cubic = interpolation === 'bicubic',
    columns = taps(pixels.width, newWidth, cropWidth ?? newWidth, cubic, pil),
    rows = taps(pixels.height, newHeight, cropHeight ?? newHeight, cubic, pil),
    plane = rows.length * columns.length,
    planar = /ch/.test(layout);
  const values = resample(pixels, background, columns, rows, channels, pil);
  // Uint8ClampedArray rounds to even, as torch does.
  const out = new (bytes ? Uint8ClampedArray : Float32Array)(values.length);
  values.forEach((v, i) => {
    const c = i % channels;
    out[planar ? c * plane + (i - c) / channels : i] = bytes
      ? v
      : (v / 255 - /** @type {number} */ (means[c])) / /** @type {number} */ (stds[c]);
  });
  const shape = planar ? [channels, rows.length, columns.length] : [rows.length, columns.length, channels];
  return /** @type {Tensor<D>} */ ({
    dtype,
    shape: layout.length > 3 ? [1, ...shape] : shape,
    data: bytes ? new Uint8Array(out.buffer) : out,
  });
}

/**
 * Makes run() of a model take images: `model.run({ image: video })`. The asset "images.json" of its file has the
 * options of imageToTensor() for each such input, as in `{ "image": { "size": 224 } }`. Tensors stay unchanged.
 * @template {MediaModel} M
 * @param {M} model
 * @returns {Promise<M & MediaRun<M>>} the same model
 * @throws {RushlightError} `bad-argument`: the file has no such asset, or it names another input
 */
export async function withImages(model) {
  return withDeclared(model, 'images.json', isImage, imageToTensor);
}

/** Returns whether a value is an ImageSource. @param {unknown} value */
function isImage(value) {
  const { dtype, data, width } = /** @type {Record<string, unknown>} */ (value ?? {});
  return ELEMENTS.test(tag(value)) || (dtype === undefined && data !== undefined && width !== undefined);
}

/**
 * Returns the options. An option with choices has its first choice by default. Refuses other values and unknown
 * options.
 * @template {object} O
 * @template {keyof O} K
 * @param {string} where
 * @param {O} options
 * @param {Record<K, unknown[]>} choices
 * @param {string[]} others
 * @returns {O & Required<Pick<O, K>>}
 */
function choose(where, options, choices, others) {
  checkOptions(where, options, [...Object.keys(choices), ...others]);
  const chosen = /** @type {Record<string, unknown>} */ ({ ...options });
  for (const [name, known] of /** @type {[string, string[]][]} */ (Object.entries(choices))) {
    chosen[name] ??= known[0];
    if (!known.includes(/** @type {string} */ (chosen[name])))
      throw unknownNameError(`${where}: there is no ${name}`, chosen[name], known);
  }
  return /** @type {O & Required<Pick<O, K>>} */ (chosen);
}

/** @param {string} name @param {unknown} value @param {number} channels @returns {number[]} */
function perChannel(name, value, channels) {
  const all = Array.isArray(value) ? value : Array(channels).fill(value);
  if (all.length !== channels || !all.every(Number.isFinite))
    throw badArgument(`${name} must be a number, or one for each of ${channels} channels, got ${describeValue(value)}`);
  if (name === 'std' && !all.every(Math.fround))
    throw badArgument('std must not be 0 in float32: the values are divided by it');
  return all;
}

/** Returns [], [n] or [height, width]. @param {string} name @param {unknown} value @returns {number[]} */
function sides(name, value = []) {
  const all = Array.isArray(value) ? value : [value];
  if (all.length > 2 || !all.every((n) => Number.isInteger(n) && n > 0 && n < 65536))
    throw badArgument(
      `${name} must be an integer between 1 and 65535, in pixels, or [height, width], got ${describeValue(value)}`,
    );
  return all;
}

/**
 * Returns the height and width after Resize.
 * @param {number[]} size
 * @param {number} height
 * @param {number} width
 * @returns {[number, number]}
 */
function resized([short, other], height, width) {
  if (!short) return [height, width];
  if (other) return [short, other];
  return width <= height
    ? [Math.trunc((short * height) / width), short]
    : [short, Math.trunc((short * width) / height)];
}

/**
 * Returns the first input and the weights for each of the middle `count` of `to` outputs. An output outside of the
 * image has no weights.
 * @param {number} from size of the input
 * @param {number} to size of the output
 * @param {number} count
 * @param {boolean} cubic
 * @param {boolean} pil
 * @returns {{ begin: number, weights: ArrayLike<number> }[]}
 */
function taps(from, to, count, cubic, pil) {
  const scale = from / to,
    stretch = Math.max(scale, 1); // antialiasing: the filter is wider if the image shrinks
  const support = (cubic ? 2 : 1) * stretch,
    half = (to - count) / 2;
  // Python rounds to even.
  const first = half < 0 ? Math.ceil(half) : half % 1 ? Math.round(half / 2) * 2 : half;
  return Array.from({ length: count }, (_, i) => {
    const at = first + i,
      centre = (at + 0.5) * scale;
    const begin = Math.max(0, Math.floor(centre - support + 0.5)),
      end = Math.min(from, Math.floor(centre + support + 0.5));
    const exact = Float64Array.from({ length: at < 0 || at >= to ? 0 : end - begin }, (_, k) =>
      filter(Math.abs((begin + k - centre + 0.5) * (1 / stretch)), cubic),
    );
    let sum = 0;
    for (const w of exact) sum += w;
    // Pillow has 22 fractional bits, and rounds away from 0.
    return {
      begin,
      weights: exact.map((w) => (pil ? Math.trunc((w / sum) * 2 ** 22 + Math.sign(w) / 2) / 2 ** 22 : w / sum)),
    };
  });
}

/**
 * Resizes the needed rows, then the columns, then converts to gray if there are fewer than 3 channels.
 * @param {Pixels} pixels @param {number | readonly number[] | null} background
 * @param {ReturnType<typeof taps>} columns @param {ReturnType<typeof taps>} rows
 * @param {number} channels @param {boolean} pil
 */
function resample({ data, width, height }, background, columns, rows, channels, pil) {
  const step = data.length / width / height,
    stride = columns.length * 3,
    used = rows.filter((tap) => tap.weights.length),
    first = /** @type {ReturnType<typeof taps>[0]} */ (used[0]),
    last = /** @type {ReturnType<typeof taps>[0]} */ (used[used.length - 1]);
  let values = convolve(
    background !== null && step > 3 ? flatten(data, perChannel('background', background, 3)) : data,
    first.begin,
    last.begin + last.weights.length,
    width * step,
    columns,
    step,
    3,
    pil,
  );
  values = convolve(values, 0, 1, 0, rows, stride, stride, pil);
  const gray = { begin: 0, weights: pil ? [19595 / 65536, 38470 / 65536, 7471 / 65536] : [0.2989, 0.587, 0.114] };
  return channels < 3 ? convolve(values, 0, rows.length * columns.length, 3, [gray], 1, 1, pil) : values;
}

/**
 * Computes weighted sums of neighbors, for each line, each tap and each of the `inner` adjacent values.
 * @param {ArrayLike<number>} input
 * @param {number} line the first line
 * @param {number} end the line after the last
 * @param {number} distance the distance between lines
 * @param {ReturnType<typeof taps>} taps
 * @param {number} step the distance between neighbors
 * @param {number} inner
 * @param {boolean} pil whether to round to bytes
 */
function convolve(input, line, end, distance, taps, step, inner, pil) {
  const out = new (pil ? Uint8ClampedArray : Float32Array)(end * taps.length * inner);
  for (let to = line * taps.length * inner; line < end; line++) {
    for (const { begin, weights } of taps) {
      for (let x = 0; x < inner; x++) {
        let sum = 0;
        for (let k = 0, p = line * distance + begin * step + x; k < weights.length; k++, p += step)
          sum += /** @type {number} */ (input[p]) * /** @type {number} */ (weights[k]);
        out[to++] = pil ? Math.floor(sum + 0.5) : sum;
      }
    }
  }
  return out;
}

/** Evaluates the filter: a triangle, or Keys' cubic with a = -0.5. @param {number} x @param {boolean} cubic */
function filter(x, cubic) {
  if (!cubic) return Math.max(0, 1 - x);
  return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/**
 * Blends R, G, B, A with a background.
 * @param {Pixels['data']} data
 * @param {number[]} background
 */
function flatten(data, background) {
  let flat = data;
  for (let p = 0; p < data.length; p += 4) {
    const alpha = /** @type {number} */ (data[p + 3]);
    if (alpha === 255) continue;
    flat = flat === data ? new Uint8ClampedArray(data) : flat;
    for (let c = 0; c < 3; c++) {
      const [front, back] = /** @type {[number, number]} */ ([data[p + c], background[c]]);
      flat[p + c] = (front * alpha + back * (255 - alpha)) / 255;
    }
  }
  return flat;
}

/** @param {unknown} source @returns {Pixels} */
function read(source) {
  const kind = tag(source);
  if (ELEMENTS.test(kind)) return draw(/** @type {Parameters<typeof draw>[0]} */ (source), kind);
  const { data, width, height, colorSpace = 'srgb' } = /** @type {Pixels & { colorSpace?: string }} */ (source ?? {});
  if (!/^Uint8(Clamped)?Array$/.test(tag(data))) {
    const wanted =
      '{ data, width, height } with bytes of R, G, B and A; in a browser also an <img>, ' +
      '<canvas> or <video>, an ImageBitmap or a VideoFrame';
    throw badArgument(
      `an image must be ${wanted}, got ` +
        `${describeValue(source)}${
          /** @type {Partial<Blob> | null} */ (source)?.stream ? ': give await createImageBitmap(it)' : ''
        }`,
    );
  }
  if (
    !Number.isInteger(width) ||
    !Number.isInteger(height) ||
    !(width > 0) ||
    ![3, 4].includes(data.length / (width * height))
  )
    throw badArgument(
      `data must have 4 or 3 bytes for each of ${describeValue(width)} x ` +
        `${describeValue(height)} pixels, got ${data.length} bytes`,
    );
  if (colorSpace !== 'srgb')
    throw badArgument(
      `the pixels must be srgb, got ${describeValue(colorSpace)}: call getImageData() with { colorSpace: 'srgb' }`,
    );
  return { data, width, height };
}

/** Returns the name of the class of a value of any realm. @param {unknown} value */
const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);

/** @param {CanvasImageSource & Record<string, unknown>} source @param {string} kind @returns {Pixels} */
function draw(source, kind) {
  const [width, height] = /** @type {[number, number]} */ (
    ['Width', 'Height'].map(
      (side) =>
        source[`natural${side}`] ?? source[`video${side}`] ?? source[`display${side}`] ?? source[side.toLowerCase()],
    )
  );
  if (!(width * height) || source.complete === false || /** @type {number} */ (source.readyState) < 2) {
    throw new RushlightError(
      'bad-state',
      `the ${kind} has no pixels: ${
        source.decode
          ? 'await its decode() before'
          : source.play
            ? 'wait for its event "loadeddata"'
            : 'it is empty, closed or transferred'
      }`,
    );
  }
  try {
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
      new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })
    );
    context.drawImage(source, 0, 0, width, height);
    return context.getImageData(0, 0, width, height);
  } catch (cause) {
    throw badArgument(
      `the ${kind} cannot be read: ${cause}${
        /** @type {Error} */ (cause).name === 'SecurityError'
          ? '. Set crossOrigin = "" before its src; its server must send Access-Control-Allow-Origin'
          : ''
      }`,
      { cause },
    );
  }
}

/**
 * Colors at equal distances, with linear interpolation between them. Viridis (N. Smith, S. van der Walt, E. Firing) and
 * turbo (A. Mikhailov) differ from matplotlib's by at most 1 of 255 at its 256 places.
 */
const COLORMAPS = {
  gray: '000000ffffff',
  viridis:
    '440154481164481f71482d7c443a834046883b528b355d8d31688e2c728e287c8e24868e21908d1e9a8a20a48627ae80' +
    '35b77947c06f5dc96374d0548fd744abdc32c7e01fe3e417fee724',
  turbo:
    '31123c3a2d7b4247ae465fd54777f0458dff39a5fd29bbed1bd0d517e0be24eda73ff68a62fd6b86ff4fa3fd3bbbf634' +
    'd1e934e5da38f4c73bfdb437fe9b2efc8022f46516e94c0cdb3a07c92803b21a01990e017a0402',
};

/**
 * @typedef {object} TensorToImageOptions options of tensorToImage()
 * @property {Layout} [layout] the order of the dimensions; 'nchw' by default. The first dimension may be missing, and
 *   with one channel also the dimension of channels
 * @property {number | readonly number[]} [mean] the mean that Normalize subtracted: one number, or one for each channel
 * @property {number | readonly number[]} [std] the divisor of Normalize, likewise
 * @property {readonly [number, number] | 'auto'} [range] the values of black and white, after mean and std. By default
 *   [0, 1] for floats and bool, and [0, 255] for integers. 'auto' takes the smallest and the largest finite value
 * @property {keyof typeof COLORMAPS} [colormap] the colors of one channel: 'gray' (the default), 'viridis' or 'turbo'
 */

/**
 * Returns the bytes of R, G, B and A of each pixel.
 * @param {Float64Array} values @param {number} channels @param {number} low @param {number} high @param {string} map
 */
function colored(values, channels, low, high, map) {
  const knots = /** @type {string[]} */ (map.match(/../g)).map((hex) => Number.parseInt(hex, 16)),
    last = knots.length / 3 - 1,
    out = new Uint8ClampedArray((values.length / channels) * 4).fill(255);
  for (let i = 0; i < values.length / channels; i++) {
    for (let c = 0; c < Math.max(channels, 3); c++) {
      const value = /** @type {number} */ (values[i * channels + (c % channels)]);
      const at = Math.max(0, Math.min(1, (value - low) / (high - low || 1))) * last;
      const knot = Math.min(Math.floor(at), last - 1),
        k = knot * 3 + (c % 3);
      const from = /** @type {number} */ (knots[k]),
        to = /** @type {number} */ (knots[k + 3]);
      out[i * 4 + c] = Math.floor(from + (to - from) * (at - knot) + 0.5);
    }
  }
  return out;
}

/**
 * Converts a tensor of 1, 3 (RGB) or 4 (RGBA) channels to an image. Values are rounded as in torchvision's save_image,
 * and NaN is black.
 * @param {Tensor} tensor
 * @param {TensorToImageOptions} [options]
 * @returns {[Global<'ImageData'>] extends [never] ? Pixels : Global<'ImageData'>} in Node an object with data, width
 *   and height
 * @throws {RushlightError} `bad-argument`
 */
export function tensorToImage(tensor, options = {}) {
  const {
    layout,
    colormap,
    mean = 0,
    std = 1,
    range,
  } = choose('tensorToImage', options, { layout: LAYOUTS, colormap: Object.keys(COLORMAPS) }, ['mean', 'std', 'range']);
  const { data, dtype, shape } = tensorParts('tensorToImage', tensor),
    planar = /ch/.test(layout);
  const sizes = shape.length > 2 ? shape.slice(-3) : planar ? [1, ...shape] : [...shape, 1];
  const [channels = 0, height = 0, width = 0] = planar ? sizes : [sizes[2], sizes[0], sizes[1]],
    plane = height * width;
  if (![1, 3, 4].includes(channels) || !(plane > 0) || data.length !== plane * channels)
    throw badArgument(`a tensor must be one image ${layout} of 1, 3 or 4 channels, got shape [${shape}]`);
  const means = perChannel('mean', mean, channels),
    stds = perChannel('std', std, channels);
  if (
    range !== undefined &&
    range !== 'auto' &&
    !(Array.isArray(range) && range.length === 2 && range.every(Number.isFinite))
  )
    throw badArgument(`range must be 'auto' or [black, white], got ${describeValue(range)}`);
  const values = Float64Array.from(/** @type {ArrayLike<unknown>} */ (data), (_, i) => {
    const c = i % channels;
    return (
      Number(data[planar ? c * plane + (i - c) / channels : i]) * /** @type {number} */ (stds[c]) +
      /** @type {number} */ (means[c])
    );
  });
  const ends =
      range === 'auto' ? values.filter(Number.isFinite).sort() : (range ?? [0, /float|bool/.test(dtype) ? 1 : 255]),
    low = ends[0],
    high = ends[ends.length - 1];
  const out = colored(values, channels, low, high, COLORMAPS[channels > 1 ? 'gray' : colormap]);
  return /** @type {ReturnType<typeof tensorToImage>} */ (
    typeof ImageData === 'undefined' ? { data: out, width, height } : new ImageData(out, width, height)
  );
}
