// rushlight/image and rushlight/audio in headless Chromium, from what a page has. In a worker: in-page.js.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';
import { flipFile } from '../js/build-rush.mjs';

const dir = mkdtempSync(join(tmpdir(), 'rush-media-'));
execFileSync('python3', [fileURLToPath(new URL('../js/torchvision_rows.py', import.meta.url)), dir], {
  stdio: ['ignore', 'ignore', 'inherit'],
});

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
/** @type {any} */ let page;
before(async () => {
  host = await start();
  page = await host.newPage();
  await page.route('**/rows/*', (/** @type {any} */ route) =>
    route.fulfill({ body: readFileSync(join(dir, new URL(route.request().url()).pathname.slice(6))) }),
  );
  await page.route('http://elsewhere.test/*', (/** @type {any} */ route) =>
    route.fulfill({
      body: readFileSync(join(dir, 'odd.png')),
      contentType: 'image/png',
      headers: { 'cross-origin-resource-policy': 'cross-origin' },
    }),
  );
  for (const [name, file] of Object.entries(files))
    await page.route(`**/declared/${name}.rush`, (/** @type {any} */ route) =>
      route.fulfill({ body: Buffer.from(file.bytes()) }),
    );
  await page.goto(`${host.url}/demo/`); // has no Content-Security-Policy: blob: and other origins may be shown
});
const picture = { size: [4, 6], mean: 0.5, std: 0.25, layout: 'hwc' },
  sound = { sampleRate: 16000, mono: true };
const files = {
  pictures: flipFile().asset('images.json', JSON.stringify({ x: picture })),
  sounds: flipFile().asset('audio.json', JSON.stringify({ x: sound })),
};

after(async () => {
  await host?.close();
  rmSync(dir, { recursive: true });
});

for (const { name, picture, options } of JSON.parse(readFileSync(join(dir, 'rows.json'), 'utf8')).slice(0, 9)) {
  test(`whatever holds ${picture}, its tensor is torchvision's: ${JSON.stringify(options)}`, async () => {
    const seen = await page.evaluate(
      async (/** @type {any} */ { name, picture, options }) => {
        const { imageToTensor } = await import('/js/src/media/image.js');
        const { readNpy } = await import('/js/src/media/npy.js');
        const wanted = readNpy(await (await fetch(`/rows/${name}.npy`)).arrayBuffer());
        const blob = await (await fetch(`/rows/${picture}.png`)).blob();
        const bitmap = await createImageBitmap(blob, { colorSpaceConversion: 'none' });
        const image = Object.assign(new Image(), { src: URL.createObjectURL(blob) });
        await image.decode();
        const canvas = Object.assign(document.createElement('canvas'), { width: bitmap.width, height: bitmap.height });
        const offscreen = new OffscreenCanvas(bitmap.width, bitmap.height);
        const contexts = [canvas, offscreen].map((each) => /** @type {any} */ (each.getContext('2d')));
        for (const context of contexts) context.drawImage(bitmap, 0, 0);
        const sources = {
          bitmap,
          image,
          canvas,
          offscreen,
          data: contexts[0].getImageData(0, 0, bitmap.width, bitmap.height),
          frame: new VideoFrame(bitmap, { timestamp: 0 }),
        };
        const result = Object.entries(sources).map(([kind, source]) => {
          const { dtype, shape, data } = imageToTensor(source, options);
          const apart = Array.from(data, (v, i) => Math.abs(v - wanted.data[i]));
          return {
            kind,
            like: `${dtype} ${shape}` === `${wanted.dtype} ${wanted.shape}`,
            worst: apart.reduce((a, b) => Math.max(a, b), 0),
            part: apart.filter(Boolean).length / apart.length,
          };
        });
        sources.frame.close();
        return result;
      },
      { name, picture, options },
    );
    assert.equal(seen.length, 6);
    for (const { kind, like, worst, part } of seen) {
      assert(like, kind);
      if (options.dtype === 'uint8' && options.like !== 'pil')
        assert(worst <= 1 && part < 1 / 1000, `${kind}: ${worst}`);
      else assert(worst < (options.like === 'pil' ? 1e-6 : 1e-4), `${kind}: ${worst}`);
    }
  });
}

test('a video is read at its frame', async () => {
  const [before, size, worst, near] = await page.evaluate(async () => {
    const { imageToTensor } = await import('/js/src/media/image.js');
    const bitmap = await createImageBitmap(await (await fetch('/rows/chelsea.png')).blob());
    const canvas = Object.assign(document.createElement('canvas'), { width: bitmap.width, height: bitmap.height });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')),
      video = document.createElement('video');
    video.muted = true;
    const before = await Promise.resolve()
      .then(() => imageToTensor(video))
      .catch((e) => `${e.code}: ${e.message}`);
    video.srcObject = canvas.captureStream();
    context.drawImage(bitmap, 0, 0);
    await video.play();
    video.pause();
    const copy = new OffscreenCanvas(bitmap.width, bitmap.height),
      drawn = /** @type {any} */ (copy.getContext('2d', { willReadFrequently: true }));
    drawn.drawImage(video, 0, 0);
    const [got, wanted, first] = [video, drawn.getImageData(0, 0, copy.width, copy.height), bitmap].map((source) =>
      imageToTensor(source, { dtype: 'uint8' }),
    );
    const most = (/** @type {any} */ a, /** @type {any} */ b) =>
      a.data.reduce(
        (/** @type {number} */ m, /** @type {number} */ v, /** @type {number} */ i) => m + Math.abs(v - b.data[i]),
        0,
      ) / a.data.length;
    return [before, got.shape, most(got, wanted), most(got, first)];
  });
  assert.equal(before, 'bad-state: the HTMLVideoElement has no pixels: wait for its event "loadeddata"');
  assert.deepEqual(size, [1, 3, 300, 451]);
  assert.equal(worst, 0);
  assert(near < 8, `${near} levels on the mean: a video keeps less of the colors`);
});

test('what holds no pixels says why', async () => {
  const said = await page.evaluate(async () => {
    const { imageToTensor } = await import('/js/src/media/image.js');
    const bytes = await (await fetch('/rows/odd.png')).blob(),
      bitmap = await createImageBitmap(bytes),
      frame = new VideoFrame(bitmap, { timestamp: 0 });
    bitmap.close();
    frame.close();
    const broken = Object.assign(new Image(), { src: '/tests/browser/empty.html' });
    await broken.decode().catch(() => {});
    const foreign = Object.assign(new Image(), { src: 'http://elsewhere.test/a.png' });
    await foreign.decode();
    const loading = Object.assign(new Image(), { src: URL.createObjectURL(bytes) });
    const sources = [
      new Image(),
      loading,
      broken,
      bitmap,
      frame,
      Object.assign(document.createElement('canvas'), { width: 0 }),
      foreign,
      bytes,
      new ImageData(1, 1, { colorSpace: 'display-p3' }),
      document.body,
    ];
    return sources.map((source) => {
      try {
        return imageToTensor(/** @type {any} */ (source));
      } catch (e) {
        return `${/** @type {any} */ (e).code}: ${/** @type {any} */ (e).message}`;
      }
    });
  });
  const wanted = [
    ...Array(3).fill(/^bad-state: the HTMLImageElement has no pixels: await its decode\(\) before$/),
    /^bad-state: the ImageBitmap has no pixels: it is empty, closed or transferred$/,
    /^bad-state: the VideoFrame has no pixels: it is empty, closed or transferred$/,
    /^bad-state: the HTMLCanvasElement has no pixels: it is empty/,
    /^bad-argument: the HTMLImageElement cannot be read: SecurityError: .*tainted.*Set crossOrigin = "" before its src; its server must send Access-Control-Allow-Origin$/,
    /^bad-argument: an image must be .*, got Blob: give await createImageBitmap\(it\)$/,
    /^bad-argument: the pixels must be srgb, got the string "display-p3": call getImageData\(\) with/,
    /^bad-argument: an image must be \{ data, width, height \} .*; in a browser also an <img>, <canvas> or <video>.*, got HTMLBodyElement$/,
  ];
  assert.equal(said.length, wanted.length);
  wanted.forEach((message, i) => assert.match(said[i], message));
});

test('orientation, transparency and color space are as a page shows them', async () => {
  const { turned, clear, wide } = await page.evaluate(async () => {
    const { imageToTensor } = await import('/js/src/media/image.js');
    const canvas = new OffscreenCanvas(32, 16),
      context = /** @type {any} */ (canvas.getContext('2d'));
    context.fillStyle = '#fff';
    context.fillRect(0, 0, 16, 16); // white on the left, black on the right
    context.fillStyle = '#000';
    context.fillRect(16, 0, 16, 16);
    const jpeg = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/jpeg' })).arrayBuffer());
    // An EXIF segment that says: turn by 90 degrees, so that the left side is at the top.
    const exif = [
      0xff, 0xe1, 0, 34, 69, 120, 105, 102, 0, 0, 77, 77, 0, 42, 0, 0, 0, 8, 0, 1, 1, 18, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0,
      0, 0, 0, 0,
    ];
    const blob = new Blob([jpeg.subarray(0, 2), new Uint8Array(exif), jpeg.subarray(2)], { type: 'image/jpeg' });
    const image = Object.assign(new Image(), { src: URL.createObjectURL(blob) });
    await image.decode();
    const turned = [image, await createImageBitmap(blob)].map((source) => {
      const { shape, data } = imageToTensor(source, { channels: 1 });
      return [shape, Math.round(data[8 * 16 + 8]), Math.round(data[24 * 16 + 8])];
    });
    const glass = new OffscreenCanvas(1, 1),
      on = /** @type {any} */ (glass.getContext('2d'));
    on.fillStyle = 'rgb(100 200 250 / 40%)';
    on.fillRect(0, 0, 1, 1);
    const clear = [255, [255, 0, 0]].map((background) => [
      ...imageToTensor(glass, { dtype: 'uint8', background }).data,
    ]);
    const p3 = new OffscreenCanvas(1, 1),
      red = /** @type {any} */ (p3.getContext('2d', { colorSpace: 'display-p3' }));
    red.fillStyle = '#f00';
    red.fillRect(0, 0, 1, 1);
    return { turned, clear, wide: [...imageToTensor(p3, { dtype: 'uint8' }).data] };
  });
  assert.deepEqual(turned, Array(2).fill([[1, 1, 32, 16], 1, 0]));
  [
    [193, 233, 253],
    [193, 80, 100],
  ].forEach((wanted, i) => wanted.forEach((v, c) => assert(Math.abs(clear[i][c] - v) <= 1, `${clear[i]}`)));
  [255, 0, 0].forEach((v, c) => assert(Math.abs(wide[c] - v) <= 2, `${wide}`));
});

test('a tensor becomes ImageData, and sound an AudioBuffer and back', async () => {
  const seen = await page.evaluate(async () => {
    const { imageToTensor, tensorToImage } = await import('/js/src/media/image.js');
    const { audioToTensor, tensorToAudio } = await import('/js/src/media/audio.js');
    const bitmap = await createImageBitmap(await (await fetch('/rows/odd.png')).blob(), {
      colorSpaceConversion: 'none',
    });
    const image = tensorToImage(imageToTensor(bitmap)),
      canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    /** @type {any} */ (canvas.getContext('2d')).putImageData(image, 0, 0);
    const [first, second] = [bitmap, canvas].map((source) => String(imageToTensor(source, { dtype: 'uint8' }).data));
    const left = Float32Array.from({ length: 441 }, (_, i) => Math.sin(i / 9)),
      right = left.map((v) => v / 2);
    const sound = new AudioBuffer({ length: 441, numberOfChannels: 2, sampleRate: 44100 });
    sound.copyToChannel(left, 0);
    sound.copyToChannel(right, 1);
    const tensor = audioToTensor(sound, { sampleRate: 16000 }),
      back = tensorToAudio(tensor, { sampleRate: 16000 });
    return {
      picture: image instanceof ImageData && first === second,
      shape: tensor.shape,
      same: String(tensor.data) === String(audioToTensor([left, right], { from: 44100, sampleRate: 16000 }).data),
      back: [
        back.numberOfChannels,
        back.length,
        back.sampleRate,
        String(back.getChannelData(1)) === String(tensor.data.slice(160)),
      ],
      one: tensorToAudio({ dtype: 'float32', shape: [441], data: left }, { sampleRate: 44100 }).duration,
    };
  });
  assert.deepEqual(seen, { picture: true, shape: [2, 160], same: true, back: [2, 160, 16000, true], one: 0.01 });
});

test('a model with declared pictures takes what a page has', async () => {
  const answers = await page.evaluate(async (/** @type {any} */ options) => {
    const { load } = await import('/js/src/index.js'),
      { imageToTensor, withImages } = await import('/js/src/media/image.js');
    const blob = await (await fetch('/rows/odd.png')).blob(),
      bitmap = await createImageBitmap(blob, { colorSpaceConversion: 'none' });
    const image = Object.assign(new Image(), { src: URL.createObjectURL(blob) });
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: bitmap.width, height: bitmap.height }),
      context = /** @type {any} */ (canvas.getContext('2d'));
    context.drawImage(bitmap, 0, 0);
    const video = Object.assign(document.createElement('video'), { srcObject: canvas.captureStream(), muted: true });
    await video.play();
    const sources = { bitmap, image, canvas, video, frame: new VideoFrame(bitmap, { timestamp: 0 }) };
    const model = await withImages(await load('/declared/pictures.rush')),
      plain = await load('/declared/pictures.rush');
    const rows = [];
    for (const [kind, source] of Object.entries(sources)) {
      const wanted = await plain.run({ x: imageToTensor(source, options) }),
        got = await model.run({ x: source });
      rows.push({ kind, shape: got.y.shape, got: [...got.y.data], wanted: [...wanted.y.data] });
    }
    return rows;
  }, picture);
  assert.equal(answers.length, 5);
  for (const { kind, shape, got, wanted } of answers) {
    assert.deepEqual(shape, [4, 6, 3], kind);
    assert.deepEqual(got, wanted, kind);
    const apart = got.map((/** @type {number} */ v, /** @type {number} */ i) => Math.abs(v - answers[0].got[i]));
    assert.ok(
      Math.max(...apart) < (kind === 'video' ? 0.5 : 0.05),
      `${kind} is the same picture: ${Math.max(...apart)}`,
    );
  }
});

test('a model with declared audio takes an AudioBuffer', async () => {
  const { got, wanted, shape } = await page.evaluate(async (/** @type {any} */ options) => {
    const { load } = await import('/js/src/index.js'),
      { audioToTensor, withAudio } = await import('/js/src/media/audio.js');
    const buffer = new AudioBuffer({ length: 4410, numberOfChannels: 2, sampleRate: 44100 }),
      channels = [0, 1].map((c) => Float32Array.from({ length: 4410 }, (_, i) => Math.sin(i / (9 + c))));
    channels.forEach((channel, c) => buffer.copyToChannel(channel, c));
    const model = await withAudio(await load('/declared/sounds.rush')),
      plain = await load('/declared/sounds.rush');
    const wanted = await plain.run({ x: audioToTensor(channels, { ...options, from: 44100 }) }),
      { y } = await model.run({ x: buffer });
    return { got: [...y.data], wanted: [...wanted.y.data], shape: y.shape };
  }, sound);
  assert.equal(shape.at(-1), 1600);
  assert.deepEqual(got, wanted);
});
