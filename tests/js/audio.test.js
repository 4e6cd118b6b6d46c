// rushlight/audio in Node. In Chromium: ../browser/media.test.js.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { audioToTensor, tensorToAudio } from '../../js/src/media/audio.js';
import { readNpy } from '../../js/src/media/npy.js';

const dir = mkdtempSync(join(tmpdir(), 'rush-audio-'));
after(() => rmSync(dir, { recursive: true }));

/** As far as it is used. @param {number} sampleRate @param {Float32Array[]} channels */
const buffer = (sampleRate, ...channels) => ({
  sampleRate,
  numberOfChannels: channels.length,
  getChannelData: (/** @type {number} */ c) => /** @type {Float32Array} */ (channels[c]),
});

test('sounds of any rate are resampled by the formula of torchaudio', (t) => {
  const { status, stderr, error } = spawnSync(
    'python3',
    [fileURLToPath(new URL('resample_rows.py', import.meta.url)), dir],
    { encoding: 'utf8' },
  );
  if (error || /No module named 'torch'/.test(stderr)) return t.skip('there is no python3 with torch: use ./dev test');
  assert.equal(status, 0, stderr);
  const rows = JSON.parse(readFileSync(join(dir, 'rows.json'), 'utf8'));
  assert(rows.length > 15);
  for (const { name, from, to } of rows) {
    const [x, y] = ['x', 'y'].map((file) => readNpy(readFileSync(join(dir, `${name}.${file}.npy`))));
    const data = /** @type {Float32Array} */ (x?.data),
      half = data.length / 2;
    const channels = [data.subarray(0, half), data.subarray(half)];
    for (const got of [
      audioToTensor(channels, { from, sampleRate: to }),
      audioToTensor(buffer(from, ...channels), { sampleRate: to }),
    ]) {
      assert.deepEqual([got.dtype, got.shape], ['float32', y?.shape], `${from} to ${to}`);
      const apart = Math.max(...got.data.map((v, i) => Math.abs(v - Number(y?.data[i]))));
      assert(apart <= 1e-6, `${from} to ${to}, ${half} samples: ${apart}`);
    }
  }
});

test('channels stay, or are mixed; without a rate nothing is resampled', () => {
  const [left, right] = [Float32Array.of(1, 0, -1), Float32Array.of(0.5, 0.5, 0.5)];
  assert.deepEqual(audioToTensor(left), { dtype: 'float32', shape: [1, 3], data: left });
  assert.notEqual(audioToTensor(left).data, left);
  assert.deepEqual(audioToTensor(buffer(8000, left, right)), {
    dtype: 'float32',
    shape: [2, 3],
    data: Float32Array.of(1, 0, -1, 0.5, 0.5, 0.5),
  });
  assert.deepEqual(audioToTensor([left, right], { mono: true }), {
    dtype: 'float32',
    shape: [1, 3],
    data: Float32Array.of(0.75, 0.25, -0.25),
  });
  assert.deepEqual(
    audioToTensor(buffer(8000, left, right), { mono: true, sampleRate: 8000 }).data,
    Float32Array.of(0.75, 0.25, -0.25),
  );
  assert.deepEqual(audioToTensor(new Float32Array(0), { from: 8000, sampleRate: 16000 }).shape, [1, 0]);
});

test('a value that is not audio is refused with a way out', () => {
  const x = new Float32Array(4);
  const rows = /** @type {[() => unknown, RegExp][]} */ ([
    [
      () => audioToTensor(/** @type {any} */ (new Int16Array(4))),
      /^audio must be an AudioBuffer, a Float32Array, .* divide 16-bit samples by 32768$/,
    ],
    [() => audioToTensor(/** @type {any} */ (undefined)), /^audio must be/],
    [() => audioToTensor([]), /^audio must be/],
    [() => audioToTensor([x, new Float32Array(3)]), /^audio must be .* of one length/],
    [
      () => audioToTensor(x, { sampleRate: 16000 }),
      /^sampleRate and from must be integers, in samples per second, got 16000 and undefined$/,
    ],
    [() => audioToTensor(x, { sampleRate: 0.5, from: 1 }), /must be integers/],
    [() => audioToTensor(x, { sampleRate: 1, from: -1 }), /must be integers/],
    [
      () => audioToTensor(buffer(48000, x), { from: 44100 }),
      /^from must be 48000, the sample rate of the AudioBuffer, got 44100: leave it out$/,
    ],
    [
      () => audioToTensor(x, /** @type {any} */ ({ rate: 16000 })),
      /^audioToTensor: there is no option "rate"; known: sampleRate, from, mono$/,
    ],
    [
      () =>
        tensorToAudio(/** @type {any} */ ({ dtype: 'int64', shape: [1], data: new BigInt64Array(1) }), {
          sampleRate: 8000,
        }),
      /^a tensor of audio must be float32 of .*, got int64 of shape \[1\]$/,
    ],
    [
      () => tensorToAudio({ dtype: 'float32', shape: [2, 1, 2], data: x }, { sampleRate: 8000 }),
      /got float32 of shape \[2,1,2\]$/,
    ],
  ]);
  for (const [call, message] of rows) assert.throws(call, { name: 'RushlightError', code: 'bad-argument', message });
  assert.throws(() => tensorToAudio({ dtype: 'float32', shape: [4], data: x }, { sampleRate: 8000 }), {
    name: 'RushlightError',
    code: 'unsupported',
    message: /only available in a page/,
  });
});
