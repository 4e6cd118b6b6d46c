// rushlight/image in Node, on pixels as decoders give them. In Chromium: ../browser/media.test.js.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { imageToTensor, tensorToImage } from '../../js/src/media/image.js';
import { readNpy } from '../../js/src/media/npy.js';

const dir = mkdtempSync(join(tmpdir(), 'rush-image-'));
after(() => rmSync(dir, { recursive: true }));

/** @param {string} name */
const npy = (name) => readNpy(readFileSync(join(dir, `${name}.npy`)));

test('pictures become the tensors that torchvision makes', (t) => {
  const { status, stderr, error } = spawnSync(
    'python3',
    [fileURLToPath(new URL('torchvision_rows.py', import.meta.url)), dir],
    { encoding: 'utf8' },
  );
  if (error || /No module named 'torch'/.test(stderr)) return t.skip('there is no python3 with torch: use ./dev test');
  assert.equal(status, 0, stderr);
  const rows = JSON.parse(readFileSync(join(dir, 'rows.json'), 'utf8'));
  assert(rows.length > 50);
  let most = 0;
  for (const { name, picture, options } of rows) {
    const {
        shape: [height = 0, width = 0],
        data,
      } = npy(picture),
      wanted = npy(name),
      what = `${picture} ${JSON.stringify(options)}`;
    const got = imageToTensor({ data: /** @type {Uint8Array} */ (data), width, height }, options);
    assert.deepEqual([got.dtype, got.shape], [wanted.dtype, wanted.shape], what);
    const apart = Array.from(got.data, (v, i) => Math.abs(v - Number(wanted.data[i]))),
      worst = apart.reduce((a, b) => Math.max(a, b), 0);
    if (options.like === 'pil')
      assert(worst < 1e-6, `${what}: ${worst}`); // the very bytes
    else if (options.dtype === 'uint8')
      // Halves may go either way
      assert(worst <= 1 && apart.filter(Boolean).length < apart.length / 1000, `${what}: ${worst}`);
    else assert(worst < 1e-4, `${what}: ${worst}`);
    if (options.dtype !== 'uint8') most = Math.max(most, worst);
  }
  t.diagnostic(`largest difference to torchvision: ${most}`);
});

test('pixels may be RGB or RGBA, layouts are what they say', () => {
  const source = { width: 2, height: 1, data: new Uint8ClampedArray([255, 0, 51, 255, 0, 255, 102, 255]) };
  const rgb = { ...source, data: Uint8Array.of(255, 0, 51, 0, 255, 102) };
  for (const [layout, shape, data] of /** @type {[any, number[], number[]][]} */ ([
    ['nchw', [1, 3, 1, 2], [1, 0, 0, 1, 0.2, 0.4]],
    ['chw', [3, 1, 2], [1, 0, 0, 1, 0.2, 0.4]],
    ['nhwc', [1, 1, 2, 3], [1, 0, 0.2, 0, 1, 0.4]],
    ['hwc', [1, 2, 3], [1, 0, 0.2, 0, 1, 0.4]],
  ])) {
    for (const given of [source, rgb])
      assert.deepEqual(imageToTensor(given, { layout }), { dtype: 'float32', shape, data: Float32Array.from(data) });
  }
  assert.deepEqual(imageToTensor(rgb, { dtype: 'uint8', layout: 'hwc' }), {
    dtype: 'uint8',
    shape: [1, 2, 3],
    data: rgb.data,
  });
  assert.deepEqual(imageToTensor(rgb, { mean: [1, 0, 0], std: 0.5 }).data, Float32Array.of(0, -2, 0, 2, 0.4, 0.8));
});

test('what is transparent shows the background, or its color', () => {
  const rows = /** @type {[any, number[]][]} */ ([
    [undefined, [193, 233, 253]],
    [0, [40, 80, 100]],
    [
      [255, 0, 0],
      [193, 80, 100],
    ],
    [null, [100, 200, 250]],
  ]);
  for (const [background, wanted] of rows) {
    const source = { data: Uint8Array.of(100, 200, 250, 102), width: 1, height: 1 };
    assert.deepEqual([...imageToTensor(source, { dtype: 'uint8', background }).data], wanted, `${background}`);
    assert.deepEqual([...source.data], [100, 200, 250, 102]);
  }
});

test('a source that is not an image, and an unknown option, are refused with a way out', () => {
  const data = new Uint8Array(16),
    good = { data, width: 2, height: 2 };
  const rows = /** @type {[() => unknown, RegExp][]} */ ([
    [
      () => imageToTensor(/** @type {any} */ (undefined)),
      /^an image must be \{ data, width, height \} .* bytes of R, G, B and A; in a browser also an <img>.*, got undefined$/,
    ],
    [() => imageToTensor(/** @type {any} */ (new Float32Array(4))), /, got Float32Array$/],
    [() => imageToTensor(/** @type {any} */ ({ ...good, data: new Float32Array(16) })), /, got a tensor$/],
    [() => imageToTensor(/** @type {any} */ (new Blob([]))), /, got Blob: give await createImageBitmap\(it\)$/],
    [() => imageToTensor(/** @type {any} */ (Promise.resolve(good))), /, got a Promise: did you forget await\?$/],
    [() => imageToTensor(good, { std: 0 }), /^std must not be 0/],
    [() => imageToTensor(good, { std: [1, 1e-60, 1] }), /^std must not be 0/],
    [
      () => imageToTensor({ ...good, width: 3 }),
      /^data must have 4 or 3 bytes for each of 3 x 2 pixels, got 16 bytes$/,
    ],
    [() => imageToTensor({ ...good, width: -2, height: -2 }), /for each of -2 x -2 pixels, got 16 bytes$/],
    [() => imageToTensor({ ...good, width: 1.6, height: 2.5 }), /^data must have 4 or 3 bytes/],
    [
      () => imageToTensor(/** @type {any} */ ({ ...good, colorSpace: 'display-p3' })),
      /^the pixels must be srgb, got the string "display-p3": call getImageData\(\) with \{ colorSpace: 'srgb' \}$/,
    ],
    [
      () => imageToTensor(good, /** @type {any} */ ({ resize: 5 })),
      /^imageToTensor: there is no option "resize"; known: layout, .*size, crop, mean/,
    ],
    [
      () => imageToTensor(good, { size: 0 }),
      /^size must be an integer between 1 and 65535, in pixels, or \[height, width\], got 0$/,
    ],
    [() => imageToTensor(good, { size: [1, 2, 3] }), /^size must be .*, got \[1, 2, 3\]$/],
    [() => imageToTensor(good, { crop: 1.5 }), /^crop must be an integer/],
    [
      () => imageToTensor(good, { mean: [0, 0] }),
      /^mean must be a number, or one for each of 3 channels, got \[0, 0\]$/,
    ],
    [() => imageToTensor(good, { std: NaN }), /^std must be a number/],
    [
      () => imageToTensor(good, { std: [1, 1, 1], channels: 1 }),
      /^std must be a number, or one for each of 1 channels, got \[1, 1, 1\]$/,
    ],
    [
      () => imageToTensor(good, { dtype: 'uint8', mean: [0.5, 0.5, 0.5] }),
      /^dtype must be float32 with mean or std, got uint8$/,
    ],
    [
      () => imageToTensor(good, { layout: /** @type {any} */ ('hw') }),
      /^imageToTensor: there is no layout "hw"; known: nchw, nhwc, chw, hwc$/,
    ],
    [
      () => imageToTensor(good, { interpolation: /** @type {any} */ ('nearest') }),
      /there is no interpolation "nearest"; known: bilinear, bicubic$/,
    ],
    [
      () => tensorToImage(/** @type {any} */ (undefined)),
      /^tensorToImage: a tensor must be \{ dtype, shape, data \}, got undefined$/,
    ],
    [
      () =>
        tensorToImage(
          { dtype: 'float32', shape: [1, 1], data: new Float32Array(1) },
          { range: /** @type {any} */ (5) },
        ),
      /^range must be 'auto' or \[black, white\], got 5$/,
    ],
    [
      () => tensorToImage({ dtype: 'float32', shape: [2, 3, 1, 1], data: new Float32Array(6) }),
      /^a tensor must be one image nchw of 1, 3 or 4 channels, got shape \[2,3,1,1\]$/,
    ],
    [
      () => tensorToImage({ dtype: 'float32', shape: [3, 1, 2], data: new Float32Array(6) }, { layout: 'hwc' }),
      /one image hwc .* got shape \[3,1,2\]/,
    ],
    [
      () =>
        tensorToImage(
          { dtype: 'float32', shape: [1, 1], data: new Float32Array(1) },
          { colormap: /** @type {any} */ ('jet') },
        ),
      /there is no colormap "jet"; known: gray, viridis, turbo$/,
    ],
    [
      () =>
        tensorToImage(
          { dtype: 'float32', shape: [1, 1], data: new Float32Array(1) },
          /** @type {any} */ ({ cmap: 'gray' }),
        ),
      /there is no option "cmap"/,
    ],
  ]);
  for (const [call, message] of rows) assert.throws(call, { name: 'RushlightError', code: 'bad-argument', message });
});

test('a tensor becomes the picture that it was', () => {
  const data = Uint8Array.from({ length: 4 * 3 * 5 }, (_, i) => (i % 4 === 3 ? 255 : (i * 7) % 256)),
    source = { data, width: 5, height: 3 };
  const normal = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
  for (const layout of /** @type {const} */ (['nchw', 'nhwc', 'chw', 'hwc'])) {
    for (const options of [{ layout }, { layout, ...normal }]) {
      assert.deepEqual(tensorToImage(imageToTensor(source, options), options), {
        data: new Uint8ClampedArray(data),
        width: 5,
        height: 3,
      });
    }
    assert.deepEqual(
      tensorToImage(imageToTensor(source, { layout, dtype: 'uint8' }), { layout }).data,
      new Uint8ClampedArray(data),
    );
  }
});

test('values are rounded and clamped as torchvision saves them, ranges and alpha are kept', () => {
  /** @param {any} tensor @param {any} [options] */
  const bytes = (tensor, options) => [...tensorToImage(tensor, options).data];
  const grey = (/** @type {number[]} */ ...values) => values.flatMap((v) => [v, v, v, 255]);
  const f32 = (/** @type {number[]} */ ...data) => ({
    dtype: 'float32',
    shape: [1, data.length],
    data: Float32Array.from(data),
  });
  assert.deepEqual(
    bytes(f32(0, 1, -1, 2, 0.5, 0.4 / 255, 0.6 / 255, NaN, Infinity)),
    grey(0, 255, 0, 255, 128, 0, 1, 0, 255),
  );
  assert.deepEqual(bytes(f32(-2, NaN, 6, 2, -Infinity), { range: 'auto' }), grey(0, 0, 255, 128, 0));
  assert.deepEqual(bytes(f32(7, 7), { range: 'auto' }), grey(0, 0));
  assert.deepEqual(bytes(f32(10, 15), { range: [10, 20] }), grey(0, 128));
  assert.deepEqual(bytes(f32(0, 1), { mean: 0.5, std: 0.25 }), grey(128, 191));
  assert.deepEqual(bytes({ dtype: 'bool', shape: [1, 1, 2, 1], data: Uint8Array.of(1, 0) }), grey(255, 0));
  assert.deepEqual(bytes({ dtype: 'int64', shape: [1, 2], data: BigInt64Array.of(255n, 51n) }), grey(255, 51));
  assert.deepEqual(
    bytes({ dtype: 'int32', shape: [2, 1], data: Int32Array.of(0, 20) }, { layout: 'hwc', range: [0, 20] }),
    grey(0, 255),
  );
  assert.deepEqual(
    bytes({ dtype: 'float32', shape: [4, 1, 1], data: Float32Array.of(1, 0, 0.2, 0.4) }),
    [255, 0, 51, 102],
  );
});

test('color maps are those of matplotlib, within one of 255', () => {
  // Of matplotlib's 256 colors every 15th.
  const maps = {
    viridis:
      '440154 481769 472a7a 433d84 3d4e8a 355e8d 2e6d8e 297b8e 23898e 1f978b 21a585 ' +
      '2eb37c 46c06f 65cb5e 89d548 b0dd2f d8e219 fde725',
    turbo:
      '30123b 3f3e9c 4666dd 458cfd 2fb2f4 1ad4d0 22ebaa 52fa7a 8bff4b b7f735 dbe236 ' +
      'f5c53a fea130 f9751d e84b0c ce2d04 a91601 7a0403',
  };
  for (const [colormap, colors] of Object.entries(maps)) {
    const wanted = Buffer.from(colors.replaceAll(' ', ''), 'hex');
    const { data } = tensorToImage(
      { dtype: 'float32', shape: [1, 18], data: Float32Array.from({ length: 18 }, (_, i) => i / 17) },
      { colormap: /** @type {any} */ (colormap) },
    );
    wanted.forEach((v, i) => {
      const got = Number(data[Math.floor(i / 3) * 4 + (i % 3)]);
      assert(Math.abs(got - v) <= 1, `${colormap}, color ${Math.floor(i / 3)}: ${got} for ${v}`);
    });
  }
});
