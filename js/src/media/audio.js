/**
 * Converts audio to tensors and back, and resamples as torchaudio's functional.resample does.
 * @module rushlight/audio
 */

import { RushlightError, badArgument, checkOptions, describeValue, messageOf } from '../base/errors.js';
import { tensorParts } from './checks.js';
import { withDeclared } from './declared-inputs.js';

/** @import { Tensor, TensorOf } from '../base/types.js' */

export { Microphone, openMicrophone } from './microphone.js';

/**
 * @typedef {import('./microphone.js').MicrophoneOptions} MicrophoneOptions
 *
 * @typedef {import('./microphone.js').Step} Step
 *
 * @typedef {import('./declared-inputs.js').MediaModel} MediaModel
 * @typedef {import('./declared-inputs.js').Runnable} Runnable
 *
 * @typedef {object} AudioBufferLike the part of AudioBuffer that Rushlight uses
 * @property {number} sampleRate samples per second
 * @property {number} numberOfChannels one or more, of equal length
 * @property {(channel: number) => Float32Array} getChannelData returns the samples of a channel, from -1 to 1
 *
 * @typedef {object} AudioToTensorOptions options of audioToTensor()
 * @property {number} [sampleRate] the sample rate of the tensor, a whole number; by default that of the source
 * @property {number} [from] the sample rate of a Float32Array; an AudioBuffer has its own
 * @property {boolean} [mono] whether to average the channels; false by default
 */

/**
 * @template {Runnable} M
 * @typedef {import('./declared-inputs.js').MediaRun<M>} MediaRun
 */

/** @param {unknown} source */
const isAudioBuffer = (source) =>
  typeof (/** @type {Partial<AudioBufferLike> | null} */ (source)?.getChannelData) === 'function';

/** Returns the samples of each channel, or throws. @param {AudioBufferLike} source @returns {Float32Array[]} */
function channelsOf(source) {
  const channels = isAudioBuffer(source)
    ? Array.from({ length: source.numberOfChannels }, (_, c) => source.getChannelData(c))
    : Array.isArray(source)
      ? source
      : /** @type {Float32Array[]} */ (/** @type {unknown} */ ([source]));
  if (
    channels.length &&
    channels.every(
      (x) => Object.prototype.toString.call(x) === '[object Float32Array]' && x.length === channels[0]?.length,
    )
  )
    return channels;
  throw badArgument(
    'audio must be an AudioBuffer, a Float32Array, or an array of one Float32Array for each channel, all ' +
      `of one length, got ${describeValue(source)}. decodeAudioData() decodes a file; divide 16-bit samples by 32768`,
  );
}

/**
 * Converts audio to a tensor [channels, samples]. It resamples with the defaults of torchaudio.functional.resample.
 * @param {AudioBufferLike | Float32Array | readonly Float32Array[]} source an AudioBuffer, samples, or those of each
 *   channel
 * @param {AudioToTensorOptions} [options]
 * @returns {TensorOf<'float32'>}
 * @throws {RushlightError} `bad-argument`
 */
export function audioToTensor(source, options = {}) {
  checkOptions('audioToTensor', options, ['sampleRate', 'from', 'mono']);
  const { sampleRate, mono = false } = options,
    given = /** @type {AudioBufferLike} */ (source),
    isBuffer = isAudioBuffer(given),
    from = isBuffer ? given.sampleRate : options.from;
  let channels = channelsOf(given);
  if (isBuffer && (options.from ?? from) !== from)
    throw badArgument(
      `from must be ${from}, the sample rate of the AudioBuffer, got ${describeValue(options.from)}: leave it out`,
      { expected: from, actual: options.from },
    );
  if (mono && channels.length > 1) {
    const all = channels;
    channels = [
      Float32Array.from(
        all[0] ?? [],
        (_, i) => all.reduce((sum, x) => sum + /** @type {number} */ (x[i]), 0) / all.length,
      ),
    ];
  }
  if (sampleRate !== undefined) {
    for (const rate of [sampleRate, from]) {
      if (!(Number.isInteger(rate) && /** @type {number} */ (rate) > 0))
        throw badArgument(
          'sampleRate and from must be integers, in samples per second, got ' +
            `${describeValue(sampleRate)} and ${describeValue(from)}`,
          { actual: rate },
        );
    }
    channels = resample(channels, /** @type {number} */ (from), sampleRate);
  }
  const length = channels[0]?.length ?? 0,
    data = new Float32Array(length * channels.length);
  channels.forEach((x, c) => data.set(x, c * length));
  return { dtype: 'float32', shape: [channels.length, length], data };
}

/**
 * Makes run() of a model take audio: `model.run({ sound: buffer })` with an AudioBuffer. The asset "audio.json" of
 * its file has the options of audioToTensor() for each such input, as in `{ "sound": { "sampleRate": 16000 } }`.
 * Tensors stay unchanged.
 * @template {MediaModel} M
 * @param {M} model
 * @returns {Promise<M & MediaRun<M>>} the same model
 * @throws {RushlightError} `bad-argument`: the file has no such asset, or it names another input
 */
export async function withAudio(model) {
  return withDeclared(model, 'audio.json', isAudioBuffer, audioToTensor);
}

const WIDTH = 6; // zero crossings of the sinc on each side of its center
const ROLLOFF = 0.99; // the cutoff, as a part of the lower Nyquist frequency

/**
 * Resamples by band-limited interpolation, with a sinc in a Hann window. The signal is zero before and after.
 * @param {Float32Array[]} channels @param {number} from @param {number} to samples a second
 */
function resample(channels, from, to) {
  let [divisor, rest] = [from, to];
  while (rest) [divisor, rest] = [rest, divisor % rest];
  const [old, now] = [from / divisor, to / divisor];
  if (old === now) return channels;
  // One unit is `old` samples of the input and `now` samples of the output.
  const cutoff = Math.min(old, now) * ROLLOFF,
    reach = (WIDTH * old) / cutoff;
  /**
   * The first input and the weights of each output in a unit.
   * @type {{ begin: number, weights: Float64Array }[]}
   */
  const taps = [];
  const tap = (/** @type {number} */ place) => {
    const centre = (place * old) / now,
      begin = Math.ceil(centre - reach);
    return {
      begin,
      weights: Float64Array.from({ length: Math.floor(centre + reach) - begin + 1 }, (_, k) => {
        const t = ((((begin + k) * now - place * old) / now) * cutoff * Math.PI) / old;
        return (t ? Math.sin(t) / t : 1) * Math.cos(t / WIDTH / 2) ** 2 * (cutoff / old);
      }),
    };
  };
  return channels.map((x) =>
    Float32Array.from({ length: Math.ceil((now * x.length) / old) }, (_, i) => {
      const place = i % now,
        { begin, weights } = (taps[place] ??= tap(place));
      let sum = 0;
      for (let k = 0, at = begin + ((i - place) / now) * old; k < weights.length; k++, at++)
        sum += (x[at] ?? 0) * /** @type {number} */ (weights[k]);
      return sum;
    }),
  );
}

/**
 * Converts a tensor [samples], [channels, samples] or [1, channels, samples] to an AudioBuffer. It works only in a
 * page; elsewhere, use the samples in `data`.
 * @param {Tensor<'float32'>} tensor
 * @param {{ sampleRate: number }} options the sample rate of the tensor
 * @returns {typeof globalThis extends { AudioBuffer: { prototype: infer T } } ? T : unknown}
 * @throws {RushlightError} `bad-argument`; `unsupported` without AudioBuffer: in Node and in workers
 */
export function tensorToAudio(tensor, options) {
  checkOptions('tensorToAudio', options, ['sampleRate']);
  const { dtype, shape, data } = tensorParts('tensorToAudio', tensor);
  const sizes = shape.length === 3 && shape[0] === 1 ? shape.slice(1) : shape,
    [length = 0, channels = 1] = [...sizes].reverse();
  if (dtype !== 'float32' || sizes.length < 1 || sizes.length > 2 || !(length * channels > 0)) {
    throw badArgument(
      'a tensor of audio must be float32 of shape [samples], [channels, samples] or [1, ' +
        `channels, samples], got ${dtype} of shape [${shape}]`,
      { actual: shape },
    );
  }
  if (typeof AudioBuffer === 'undefined')
    throw new RushlightError(
      'unsupported',
      'AudioBuffer is only available in a page: `data` of the tensor has the samples of one channel after the other',
    );
  const sound = newAudioBuffer(length, channels, options.sampleRate);
  for (let c = 0; c < channels; c++)
    sound.copyToChannel(/** @type {Float32Array<ArrayBuffer>} */ (data.subarray(c * length, (c + 1) * length)), c);
  return sound;
}

/** @param {number} length @param {number} numberOfChannels @param {number} sampleRate */
function newAudioBuffer(length, numberOfChannels, sampleRate) {
  try {
    return new AudioBuffer({ length, numberOfChannels, sampleRate });
  } catch (cause) {
    throw badArgument(
      `tensorToAudio: an AudioBuffer of ${numberOfChannels} channels and sampleRate ` +
        `${describeValue(sampleRate)} cannot be made: ${messageOf(cause)}`,
      { cause },
    );
  }
}
