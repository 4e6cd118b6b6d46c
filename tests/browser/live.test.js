// A microphone and a camera in Chromium, which has devices for tests: a beep each second, and a moving picture.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';

/** @type {Awaited<ReturnType<typeof start>>} */ let host;
/** @type {any} */ let page;
before(async () => {
  host = await start([
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    '--autoplay-policy=no-user-gesture-required',
  ]);
  page = await host.newPage();
  await page.goto(`${host.url}/demo/`);
});
after(() => host?.close());

test('blocks of a microphone have their size and rate, and the samples follow each other', async () => {
  const seen = await page.evaluate(async () => {
    const { openMicrophone } = await import('/js/src/media/audio.js');
    const microphone = await openMicrophone({ sampleRate: 16000, block: 512 });
    const sizes = new Set();
    let loudest = 0,
      blocks = 0;
    for await (const samples of microphone) {
      sizes.add(samples.length);
      for (const v of samples) loudest = Math.max(loudest, Math.abs(v));
      if ((++blocks > 4 && loudest > 0.01) || blocks > 300) break; // a beep comes each second, and 300 blocks are ten
    }
    const after = await microphone.next();
    return { sizes: [...sizes], loudest, lost: microphone.lost, rate: microphone.sampleRate, after };
  });
  assert.deepEqual(seen.sizes, [512]);
  assert(seen.loudest > 0.01 && seen.loudest <= 1, `${seen.loudest}`);
  assert.deepEqual([seen.lost, seen.rate, seen.after.done], [0, 16000, true]);
});

test('a program that is slower than the microphone loses the oldest samples, and knows how many', async () => {
  const seen = await page.evaluate(async () => {
    const { openMicrophone } = await import('/js/src/media/audio.js');
    const microphone = await openMicrophone({ sampleRate: 8000, block: 400, room: 800 });
    /** @type {number[]} */ const lost = [];
    for (let i = 0; i < 4; i++) {
      await microphone.next();
      lost.push(microphone.lost);
      const end = performance.now() + 400; // the page computes
      while (i === 1 && performance.now() < end);
    }
    microphone.close();
    return lost;
  });
  assert.equal(seen[1], seen[0]);
  assert(seen[2] > seen[1] && seen[2] <= seen[3], `${seen}`);
});

test('a microphone ends by its signal, by its track and by an abort before', async () => {
  const seen = await page.evaluate(async () => {
    const { openMicrophone } = await import('/js/src/media/audio.js');
    const stop = new AbortController();
    const first = await openMicrophone({ block: 16000 * 20, room: 16000 * 20, signal: stop.signal });
    const waiting = first.next();
    stop.abort();
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const second = await openMicrophone({ stream });
    await second.next();
    stream.getAudioTracks()[0].dispatchEvent(new Event('ended'));
    const refused = await openMicrophone({ signal: stop.signal }).catch((/** @type {any} */ e) => e.code);
    const bad = await openMicrophone({ block: 10, room: 5 }).catch((/** @type {any} */ e) => e.message);
    return [(await waiting).done, (await second.next()).done, stream.active, refused, bad];
  });
  assert.deepEqual(seen, [
    true,
    true,
    false,
    'aborted',
    'openMicrophone: room must be an integer of at least 10, the block, got 5',
  ]);
});

test('frames of a camera become tensors, and a slow program skips frames', async () => {
  const seen = await page.evaluate(async () => {
    const { imageToTensor, videoFrames } = await import('/js/src/media/image.js');
    const video = document.createElement('video');
    video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { width: 320, height: 240 } });
    document.body.append(video);
    await video.play();
    /** @type {any[]} */ const frames = [];
    const stop = new AbortController();
    for await (const { video: shown, time, skipped } of videoFrames(video, { signal: stop.signal })) {
      const { shape, data } = imageToTensor(shown, { size: [24, 32] });
      frames.push({ time, skipped, shape, varied: new Set(data).size > 2 });
      if (frames.length === 2) {
        const end = performance.now() + 500; // the page computes
        while (performance.now() < end);
      }
      if (frames.length === 4) stop.abort();
    }
    const early = await videoFrames(video, { signal: stop.signal })
      .next()
      .catch((/** @type {any} */ e) => e.code);
    const wrong = await videoFrames(/** @type {any} */ (document.body))
      .next()
      .catch((/** @type {any} */ e) => e.message);
    for (const track of /** @type {MediaStream} */ (video.srcObject).getTracks()) track.stop();
    video.remove();
    return { frames, early, wrong };
  });
  assert.equal(seen.frames.length, 4);
  for (const { shape, varied } of seen.frames) assert.deepEqual([shape, varied], [[1, 3, 24, 32], true]);
  const times = seen.frames.map((/** @type {any} */ frame) => frame.time);
  assert.deepEqual(
    times,
    [...times].sort((a, b) => a - b),
  );
  assert.equal(seen.frames[0].skipped, 0);
  assert.equal(seen.early, 'aborted');
  assert.match(seen.wrong, /^videoFrames: the argument must be a <video>, got /);
});

test('the loop over a film ends with it', async () => {
  const seen = await page.evaluate(async () => {
    const { videoFrames } = await import('/js/src/media/image.js');
    const canvas = Object.assign(document.createElement('canvas'), { width: 32, height: 32 }),
      context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: 'video/webm' });
    const recorded = new Promise((resolve) => (recorder.ondataavailable = ({ data }) => resolve(data)));
    recorder.start();
    for (let i = 0; i < 6; i++) {
      context.fillRect(i, i, 4, 4);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    recorder.stop();
    const video = Object.assign(document.createElement('video'), { src: URL.createObjectURL(await recorded) });
    document.body.append(video);
    await video.play();
    let frames = 0;
    for await (const { time } of videoFrames(video)) frames += Number(time >= 0);
    video.remove();
    return { frames, ended: video.ended };
  });
  assert.equal(seen.ended, true);
  assert(seen.frames >= 1);
});
