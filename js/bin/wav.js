// Reads the samples of a .wav file, with the numbers that torchaudio.load gives.

import { badArgument } from '../src/base/errors.js';

const PCM = 1,
  FLOAT = 3,
  EXTENSIBLE = 0xfffe;

/**
 * A function for each kind of sample, which reads it at a byte.
 * @type {Record<string, (v: DataView, at: number) => number>}
 */
const SAMPLES = {
  [`${PCM}:8`]: (v, at) => (v.getUint8(at) - 128) / 128,
  [`${PCM}:16`]: (v, at) => v.getInt16(at, true) / 2 ** 15,
  [`${PCM}:24`]: (v, at) => (v.getUint16(at, true) / 2 ** 8 + v.getInt8(at + 2) * 2 ** 8) / 2 ** 15,
  [`${PCM}:32`]: (v, at) => v.getInt32(at, true) / 2 ** 31,
  [`${FLOAT}:32`]: (v, at) => v.getFloat32(at, true),
  [`${FLOAT}:64`]: (v, at) => v.getFloat64(at, true),
};

/** @param {Uint8Array} bytes */
export const isWav = (bytes) => fourLetters(viewOf(bytes), 0) === 'RIFF' && fourLetters(viewOf(bytes), 8) === 'WAVE';

/**
 * Returns the samples of each channel, from -1 to 1.
 * @param {Uint8Array} bytes
 * @param {string} path for messages
 * @returns {{ channelData: Float32Array[], sampleRate: number }}
 */
export function readWav(bytes, path) {
  const view = viewOf(bytes),
    chunks = chunksOf(view),
    format = chunks.get('fmt '),
    data = chunks.get('data');
  if (!format || format.size < 16 || !data) throw badArgument(`${path} is not a complete .wav file`);
  const { kind, channels, sampleRate, bits } = formatOf(view, format);
  const read = SAMPLES[`${kind}:${bits}`];
  if (!read || !channels || !sampleRate)
    throw badArgument(
      `${path} must have samples of 8, 16, 24 or 32 bits or floats, got format ${kind} of ${bits} bits`,
    );
  const step = bits / 8,
    length = Math.floor(data.size / step / channels);
  const channelData = Array.from({ length: channels }, (_, c) =>
    Float32Array.from({ length }, (_, i) => read(view, data.at + (i * channels + c) * step)),
  );
  return { channelData, sampleRate };
}

/** @param {DataView} view @param {{ at: number, size: number }} format */
function formatOf(view, { at, size }) {
  const kind = view.getUint16(at, true);
  return {
    kind: kind === EXTENSIBLE && size >= 26 ? view.getUint16(at + 24, true) : kind,
    channels: view.getUint16(at + 2, true),
    sampleRate: view.getUint32(at + 4, true),
    bits: view.getUint16(at + 14, true),
  };
}

/** Returns the place and the size of each chunk, which end with the file. @param {DataView} view */
function chunksOf(view) {
  /** @type {Map<string, { at: number, size: number }>} */
  const chunks = new Map();
  for (let at = 12; at + 8 <= view.byteLength;) {
    const size = view.getUint32(at + 4, true);
    chunks.set(fourLetters(view, at), { at: at + 8, size: Math.min(size, view.byteLength - at - 8) });
    at += 8 + size + (size % 2);
  }
  return chunks;
}

/** @param {Uint8Array} bytes */
const viewOf = ({ buffer, byteOffset, byteLength }) => new DataView(buffer, byteOffset, byteLength);

/** @param {DataView} view @param {number} at */
const fourLetters = (view, at) =>
  view.byteLength < at + 4 ? '' : String.fromCharCode(...[0, 1, 2, 3].map((i) => view.getUint8(at + i)));
