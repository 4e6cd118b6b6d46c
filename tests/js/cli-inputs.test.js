// Images and audio as values of --input.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { audioToTensor } from '../../js/src/media/audio.js';
import { imageToTensor } from '../../js/src/media/image.js';
import { RushFile } from './build-rush.mjs';
import { ending, ranBefore } from './nodes.mjs';

const bin = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url));
const tests = fileURLToPath(new URL('..', import.meta.url)); // its node_modules has sharp and audio-decode
const { PNG } = createRequire(join(tests, 'package.json'))('pngjs');
const dir = mkdtempSync(join(tmpdir(), 'rush-cli-inputs-'));
after(() => rmSync(dir, { recursive: true }));

/** @param {string} cwd @param {string[]} args */
function cli(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...ending, bin, ...args], { cwd, encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}
/** @param {string} name */
const at = (name) => join(dir, name);

/**
 * Writes a model that returns its input.
 * @param {string} name @param {(number | null)[]} shape @param {string} [dtype]
 */
function same(name, shape, dtype = 'float32') {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype, shape }] }, (_, x) => x);
  writeFileSync(at(name), f.bytes());
  return at(name);
}

/** Runs a model, and returns its answer. @param {string} model @param {string} value */
function answer(model, value) {
  const { status, out, err } = cli(tests, 'run', model, '--input', `x=${value}`, '--json');
  assert.equal(status, 0, err);
  return { y: JSON.parse(out).y, err };
}

const picture = { width: 5, height: 4, data: Uint8Array.from({ length: 80 }, (_, i) => (i % 4 === 3 ? 255 : i * 3)) };
writeFileSync(at('p.png'), PNG.sync.write(Object.assign(new PNG(picture), { data: Buffer.from(picture.data) })));
const numbers = (/** @type {{ data: ArrayLike<number> }} */ { data }) => [...Float32Array.from(data)];

test('an image has the sizes, the layout and the range of its input', () => {
  const chw = same('chw.rush', [1, 3, 2, 3]),
    { y, err } = answer(chw, at('p.png'));
  const expected = imageToTensor(picture, { size: [2, 3] });
  assert.deepEqual([y.shape, numbers(y)], [[1, 3, 2, 3], [...expected.data]]);
  assert.equal(err, `x: float32 [1, 3, 2, 3] of ${at('p.png')}, 5 x 4 pixels, values 0 to 1\n`);
  const normalized = answer(chw, `${at('p.png')}:imagenet`).y;
  assert.deepEqual(numbers(normalized), [
    ...imageToTensor(picture, { size: [2, 3], mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }).data,
  ]);
  const bytes = answer(same('hwc.rush', [null, null, 3], 'uint8'), at('p.png')).y;
  assert.deepEqual([bytes.shape, bytes.dtype], [[4, 5, 3], 'uint8']);
  assert.deepEqual(numbers(bytes), [...picture.data.filter((_, i) => i % 4 !== 3)]);
  const signed = answer(chw, `${at('p.png')}:-1..1`).y;
  assert.deepEqual(numbers(signed), [...imageToTensor(picture, { size: [2, 3], mean: 0.5, std: 0.5 }).data]);
  const gray = answer(same('gray.rush', [1, 1, 2, 3]), at('p.png')).y;
  assert.deepEqual(numbers(gray), [...imageToTensor(picture, { size: [2, 3], channels: 1 }).data]);
});

/**
 * Makes a .wav file.
 * @param {number} kind @param {number} bits @param {number} channels @param {Buffer} data @param {number} rate
 */
function wav(kind, bits, channels, data, rate = 8000) {
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(kind, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE((rate * channels * bits) / 8, 28);
  head.writeUInt16LE((channels * bits) / 8, 32);
  head.writeUInt16LE(bits, 34);
  head.write('data', 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}

test('the samples of a .wav file are those of torchaudio, in every format', { skip: ranBefore }, () => {
  const model = same('sound.rush', [1, null]);
  const least = Buffer.from([0x00, 0x00, 0x80]),
    most = Buffer.from([0xff, 0xff, 0x7f]);
  for (const [kind, bits, data, expected] of /** @type {[number, number, Buffer, number[]][]} */ ([
    [1, 8, Buffer.from([0, 128, 192, 255]), [-1, 0, 0.5, 127 / 128]],
    [1, 16, Buffer.from(Int16Array.of(-32768, 0, 16384, 32767).buffer), [-1, 0, 0.5, 32767 / 32768]],
    [1, 24, Buffer.concat([least, Buffer.alloc(3), most]), [-1, 0, (2 ** 23 - 1) / 2 ** 23]],
    [1, 32, Buffer.from(Int32Array.of(-(2 ** 31), 2 ** 30).buffer), [-1, 0.5]],
    [3, 32, Buffer.from(Float32Array.of(0.1, -2).buffer), [0.1, -2].map(Math.fround)],
    [3, 64, Buffer.from(Float64Array.of(0.25, -0.5).buffer), [0.25, -0.5]],
  ])) {
    writeFileSync(at('s.wav'), wav(kind, bits, 1, data));
    const { y, err } = answer(model, at('s.wav'));
    assert.deepEqual([y.shape, numbers(y)], [[1, expected.length], expected], `format ${kind} of ${bits} bits`);
    assert.match(err, /, 8000 samples per second\n$/);
  }
});

test('audio has the channels, the dimensions and the sample rate of its input', { skip: ranBefore }, () => {
  const samples = Int16Array.from({ length: 32 }, (_, i) => 1000 * (i % 7) - 2000);
  writeFileSync(at('two.wav'), wav(1, 16, 2, Buffer.from(samples.buffer)));
  const channel = (/** @type {number} */ c) =>
    Float32Array.from({ length: 16 }, (_, i) => (samples[2 * i + c] ?? 0) / 32768);
  const both = [channel(0), channel(1)];
  const stereo = answer(same('stereo.rush', [1, 2, null]), at('two.wav')).y;
  assert.deepEqual([stereo.shape, numbers(stereo)], [[1, 2, 16], numbers(audioToTensor(both))]);
  const mono = answer(same('mono.rush', [null]), `${at('two.wav')}:4000`).y;
  const expected = audioToTensor(both, { from: 8000, sampleRate: 4000, mono: true });
  assert.deepEqual([mono.shape, numbers(mono)], [[8], numbers(expected)]);
});

test('audio-decode reads other audio files', () => {
  // The smallest .aiff file: 16-bit samples, most significant byte first.
  const samples = Buffer.from([0xc0, 0x00, 0x00, 0x00, 0xe0, 0x00]),
    form = Buffer.alloc(54);
  form.write('FORM');
  form.writeUInt32BE(46 + samples.length, 4);
  form.write('AIFFCOMM', 8);
  form.writeUInt32BE(18, 16);
  form.writeUInt16BE(1, 20);
  form.writeUInt32BE(3, 22);
  form.writeUInt16BE(16, 26);
  Buffer.from([0x40, 0x0b, 0xfa, 0, 0, 0, 0, 0, 0, 0]).copy(form, 28); // 8000 as an 80-bit float
  form.write('SSND', 38);
  form.writeUInt32BE(8 + samples.length, 42);
  writeFileSync(at('s.aiff'), Buffer.concat([form, samples]));
  assert.deepEqual(numbers(answer(same('sound.rush', [1, null]), at('s.aiff')).y), [-0.5, 0, -0.25]);
});

test('bad media and missing packages are refused in one sentence', { skip: ranBefore }, () => {
  writeFileSync(at('text.png'), 'no picture');
  writeFileSync(at('text.mp3'), 'no sound');
  writeFileSync(at('odd.wav'), wav(85, 16, 1, Buffer.alloc(4)));
  writeFileSync(at('cut.wav'), wav(1, 16, 1, Buffer.alloc(4)).subarray(0, 20));
  const chw = same('chw.rush', [1, 3, 2, 3]);
  for (const [cwd, value, code, message] of /** @type {[string, string, number, RegExp][]} */ ([
    [tests, at('text.png'), 1, /^rushlight: cannot decode .*text\.png: .*unsupported image format\n$/],
    [tests, at('text.mp3'), 1, /^rushlight: cannot decode .*text\.mp3: .*\n$/],
    [tests, at('none.png'), 1, /^rushlight: cannot read .*none\.png: no such file or directory\n$/],
    [tests, `${at('p.png')}:1..0`, 2, /must be LOW\.\.HIGH with LOW below HIGH, got 1\.\.0\n$/],
    [dir, 'p.png', 1, /^rushlight: reading p\.png needs the package sharp: run npm install sharp\n$/],
    [dir, 'text.mp3', 1, /^rushlight: reading text\.mp3 needs the package audio-decode: run npm install .*\n$/],
    [dir, 'odd.wav', 2, /must have samples of 8, 16, 24 or 32 bits or floats, got format 85 of 16 bits\n$/],
    [dir, 'cut.wav', 2, /^rushlight: cut\.wav is not a complete \.wav file\n$/],
    [dir, 'two.wav', 2, /audio needs an input of 1 to 3 dimensions, got x of 4\n$/],
  ])) {
    const { status, err } = cli(cwd, 'run', chw, '--input', `x=${value}`);
    assert.match(err, message, value);
    assert.equal(status, code, value);
  }
  const flat = cli(tests, 'run', same('flat.rush', [2, 2]), '--input', `x=${at('p.png')}`);
  assert.match(flat.err, /an image needs an input of 1 or 3 channels in 3 or 4 dimensions, got x of shape \[2, 2\]\n$/);
});
