// Images and audio as inputs of run(), as the assets images.json and audio.json of a file declare them.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { audioToTensor, withAudio } from '../../js/src/media/audio.js';
import { imageToTensor, withImages } from '../../js/src/media/image.js';
import { flipFile } from './build-rush.mjs';

const options = { size: [4, 6], mean: 0.5, std: 0.25, layout: 'hwc' };
const pixels = { width: 9, height: 5, data: Uint8Array.from({ length: 9 * 5 * 4 }, (_, i) => (i * 37) % 256) };
const sound = {
  sampleRate: 8000,
  numberOfChannels: 2,
  getChannelData: (/** @type {number} */ c) => Float32Array.from({ length: 40 }, (_, i) => Math.sin(i + c)),
};

/** @param {string} name @param {unknown} declared */
const modelWith = (name, declared) => load(flipFile().asset(name, JSON.stringify(declared)).bytes());

/** @param {import('../../js/src/index.js').Model} model */
const inputOf = (model) => /** @type {import('../../js/src/index.js').Port} */ (model.inputs[0]).name;

test('run() takes an image, and a tensor as before', async () => {
  const plain = await modelWith('images.json', {}),
    name = inputOf(plain),
    tensor = imageToTensor(pixels, /** @type {object} */ (options));
  const want = await plain.run({ [name]: tensor });
  const model = await withImages(await modelWith('images.json', { [name]: options }));
  assert.deepEqual(await model.run({ [name]: pixels }), want);
  assert.deepEqual(await model.run({ [name]: tensor }), want);
  assert.deepEqual(await model.run({ [name]: pixels }, { method: 'forward' }), want);
  await assert.rejects(model.run({ [name]: { [Symbol.toStringTag]: 'ImageBitmap', width: 0, height: 0 } }), {
    code: 'bad-state',
    message: /the ImageBitmap has no pixels/,
  });
  await assert.rejects(model.run(/** @type {any} */ (null)), { code: 'bad-argument' });
});

test('run() takes audio', async () => {
  const plain = await modelWith('audio.json', {}),
    name = inputOf(plain),
    rate = { sampleRate: 16000, mono: true };
  const want = await plain.run({ [name]: audioToTensor(sound, rate) });
  const model = await withAudio(await modelWith('audio.json', { [name]: rate }));
  assert.deepEqual(await model.run({ [name]: sound }), want);
  assert.deepEqual(await model.run({ [name]: audioToTensor(sound, rate) }), want);
});

test('a file without the asset, with another input or with wrong options is refused by name', async () => {
  await assert.rejects(withImages(await load(flipFile().bytes())), { message: /images\.json/ });
  const other = await modelWith('images.json', { picture: {} });
  await assert.rejects(withImages(other), { message: /images\.json: there is no input "picture"/ });
  const list = await modelWith('audio.json', []);
  await assert.rejects(withAudio(list), { message: /audio\.json must be an object with the options of each input/ });
  const name = inputOf(list),
    wrong = await withImages(await modelWith('images.json', { [name]: { sizes: 3 } }));
  await assert.rejects(wrong.run({ [name]: pixels }), { code: 'bad-argument', message: /sizes/ });
});
