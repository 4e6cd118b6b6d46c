// Reads images and audio as values of --input. sharp and audio-decode are optional packages.

import { RushlightError, badArgument, messageOf } from '../src/base/errors.js';
import { audioToTensor } from '../src/media/audio.js';
import { importOptional } from './optional-packages.js';
import { IMAGENET, imageToInput } from './image-input.js';
import { indented } from './printable.js';
import { readLocal } from './read-file.js';
import { isWav, readWav } from './wav.js';

/**
 * @typedef {import('../src/base/types.js').Port} Port
 * @typedef {import('../src/base/types.js').Tensor} Tensor
 */

const NUMBER = String.raw`-?\d+(?:\.\d+)?`;
const PICTURE = new RegExp(
  String.raw`^(.+\.(?:avif|gif|jpe?g|png|svg|tiff?|webp))(?::(imagenet|(${NUMBER})\.\.(${NUMBER})))?$`,
  'i',
);
const SOUND = /^(.+\.(?:aac|aiff?|flac|m4a|mp3|oga|ogg|opus|wav))(?::(\d+))?$/i;

/**
 * Reads an image or audio. Returns undefined if the text names neither.
 * @param {Pick<Port, 'name' | 'dtype' | 'shape'>} port
 * @param {string} text FILE[:LOW..HIGH|:imagenet] of an image, FILE[:RATE] of audio
 * @returns {Promise<Tensor | undefined>}
 */
export async function readMedia(port, text) {
  const picture = PICTURE.exec(text),
    sound = SOUND.exec(text);
  if (picture) return readPicture(port, picture);
  return sound ? readSound(port, sound) : undefined;
}

/** @param {Pick<Port, 'name' | 'dtype' | 'shape'>} port @param {RegExpExecArray} match */
async function readPicture(port, [, path = '', scale, low = '0', high = '1']) {
  const bytes = await readLocal(path),
    sharp = await importPeer('sharp', path);
  const { data, info } = await decodeFile(path, () =>
    sharp(bytes).autoOrient().toColorspace('srgb').ensureAlpha().raw().toBuffer({ resolveWithObject: true }),
  );
  const tensor = imageToInput({ data, width: info.width, height: info.height }, port, scaleOf(scale, low, high));
  const values = scale?.toLowerCase() === 'imagenet' ? "ImageNet's" : `${low} to ${high}`;
  const range = tensor.dtype === 'uint8' ? '0 to 255' : values;
  reportConversion(port, tensor, `${path}, ${info.width} x ${info.height} pixels, values ${range}`);
  return tensor;
}

/** @param {string | undefined} scale @param {string} low @param {string} high */
function scaleOf(scale, low, high) {
  if (scale?.toLowerCase() === 'imagenet') return IMAGENET;
  const range = Number(high) - Number(low);
  if (!(range > 0)) throw badArgument(`a range must be LOW..HIGH with LOW below HIGH, got ${low}..${high}`);
  const all = (/** @type {number} */ n) => [n, n, n];
  return low === '0' && high === '1' ? {} : { mean: all(-Number(low) / range), std: all(1 / range) };
}

/** @param {Pick<Port, 'name' | 'dtype' | 'shape'>} port @param {RegExpExecArray} match */
async function readSound(port, [, path = '', rate]) {
  const bytes = await readLocal(path);
  const { channelData, sampleRate } = isWav(bytes) ? readWav(bytes, path) : await decodeSound(path, bytes);
  const { shape } = port,
    wanted = shape && shape.length > 1 ? shape[shape.length - 2] : 1;
  const to = rate === undefined ? sampleRate : Number(rate);
  const tensor = audioToTensor(channelData, { from: sampleRate, sampleRate: to, mono: (wanted ?? 1) === 1 });
  const fitted = { ...tensor, shape: soundShape(port, tensor.shape) };
  reportConversion(port, fitted, `${path}, ${to} samples per second`);
  return fitted;
}

/** @param {string} path @param {Uint8Array} bytes */
async function decodeSound(path, bytes) {
  const decode = await importPeer('audio-decode', path);
  return decodeFile(path, () => decode(bytes));
}

/**
 * Returns [samples], [channels, samples] or [1, channels, samples].
 * @param {Pick<Port, 'name' | 'shape'>} port
 * @param {number[]} sizes of the channels and the samples
 */
function soundShape({ name, shape }, [channels = 1, length = 0]) {
  const dimensions = shape?.length ?? 2;
  if (dimensions < 1 || dimensions > 3)
    throw badArgument(`audio needs an input of 1 to 3 dimensions, got ${name} of ${dimensions}`, { input: name });
  return [1, channels, length].slice(-dimensions);
}

/**
 * @param {string} name
 * @param {string} path of the file that needs it
 */
async function importPeer(name, path) {
  const module = await importOptional(name);
  if (!module)
    throw new RushlightError('unsupported', `reading ${path} needs the package ${name}: run npm install ${name}`);
  return module;
}

/** @template T @param {string} path @param {() => Promise<T>} decode */
async function decodeFile(path, decode) {
  try {
    return await decode();
  } catch (cause) {
    throw new RushlightError('unreadable', `cannot decode ${path}: ${messageOf(cause)}`, { source: path, cause });
  }
}

/**
 * Prints to stderr how a file was converted.
 * @param {Pick<Port, 'name'>} port @param {Tensor} tensor @param {string} of
 */
function reportConversion({ name }, { dtype, shape }, of) {
  process.stderr.write(`${indented(`${name}: ${dtype} [${shape.join(', ')}] of ${of}`)}\n`);
}
