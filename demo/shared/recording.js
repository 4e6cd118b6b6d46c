// Reads recordings, for the demos that take speech.

import { audioToTensor } from '../../js/src/media/audio.js'; // in a project of yours: from 'rushlight/audio'

/**
 * Reads a WAV file of 16-bit integers. Returns undefined for other files.
 * @param {Uint8Array} bytes
 * @param {readonly number[]} rates the sample rates that the model takes; other rates are resampled to the first
 * @returns {{ rate: number, samples: Float32Array } | undefined} one channel
 */
export function readWav(bytes, rates) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (/** @type {number} */ at) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 44 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined;
  let rate = 0,
    channels = 0;
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = view.getUint32(at + 4, true),
      body = at + 8;
    if (word(at) === 'fmt ' && body + 16 <= bytes.length) {
      if (view.getUint16(body, true) !== 1 || view.getUint16(body + 14, true) !== 16) return undefined;
      channels = view.getUint16(body + 2, true);
      rate = view.getUint32(body + 4, true);
    } else if (word(at) === 'data' && channels > 0) {
      const n = Math.floor(Math.min(size, bytes.length - body) / (2 * channels));
      const sound = Array.from({ length: channels }, (_, c) =>
        Float32Array.from({ length: n }, (_, i) => view.getInt16(body + 2 * (channels * i + c), true) / 32768),
      );
      const sampleRate = rates.includes(rate) ? rate : (rates[0] ?? rate);
      return { rate: sampleRate, samples: audioToTensor(sound, { from: rate, sampleRate, mono: true }).data };
    }
    at = body + size + (size & 1);
  }
  return undefined;
}

/**
 * Reads a recording in a page. A WAV file gives the same numbers as in Python; the browser decodes other files.
 * @param {Uint8Array<ArrayBuffer>} bytes @param {string} name for messages
 * @param {readonly number[]} rates the sample rates that the model takes
 * @returns {Promise<{ rate: number, samples: Float32Array }>} one channel
 */
export async function decodeRecording(bytes, name, rates) {
  const wav = readWav(bytes, rates);
  if (wav) return wav;
  try {
    const sound = await new OfflineAudioContext(1, 1, 48000).decodeAudioData(bytes.slice().buffer);
    const [rate = 16000] = rates;
    return { rate, samples: audioToTensor(sound, { sampleRate: rate, mono: true }).data };
  } catch {
    throw new Error(`${name} is not a recording that this browser can read`);
  }
}
