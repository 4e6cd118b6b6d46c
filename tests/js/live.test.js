// openMicrophone() and videoFrames() with a page's classes made by hand, so that the test decides what time it is.
// tests/browser/live.test.js has the real ones.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { openMicrophone } from '../../js/src/media/audio.js';
import { videoFrames } from '../../js/src/media/image.js';

/** The processor of the audio thread. @type {any} */ let Capture;
/** What the last microphone has: its processor, its context and its stream. @type {any} */ let last;
/** An error of getUserMedia() or of addModule(). @type {Error | undefined} */ let refusal;

/** The port of either side; messages arrive at once. */
class Port {
  /** @type {any} */ onmessage;
  /** @type {Port | undefined} */ other;
  /** @param {any} data */
  postMessage(data) {
    this.other?.onmessage?.({ data });
  }
}

class Stream {
  track = Object.assign(new EventTarget(), { stopped: false, stop: () => void (this.track.stopped = true) });
  getTracks() {
    return [this.track];
  }
  getAudioTracks() {
    return [this.track];
  }
}

const fakes = {
  AudioWorkletProcessor: class {
    port = new Port();
  },
  registerProcessor: (/** @type {string} */ _, /** @type {any} */ processor) => (Capture = processor),
  AudioContext: class {
    closed = false;
    audioWorklet = {
      addModule: async (/** @type {string} */ url) => {
        if (refusal) throw refusal;
        await import(url);
      },
    };
    /** @param {{ sampleRate: number }} options */
    constructor({ sampleRate }) {
      this.sampleRate = sampleRate;
    }
    createMediaStreamSource(/** @type {Stream} */ stream) {
      last.stream = stream;
      return { connect() {} };
    }
    async resume() {}
    async close() {
      this.closed = true;
    }
  },
  AudioWorkletNode: class {
    port = new Port();
    /** @param {any} context @param {string} _ @param {any} options */
    constructor(context, _, options) {
      const processor = new Capture(options);
      processor.port.other = this.port;
      this.port.other = processor.port;
      last = { context, processor };
    }
  },
};
const devices = {
  getUserMedia: async () => {
    if (refusal) throw refusal;
    return new Stream();
  },
};

before(() => {
  Object.assign(globalThis, fakes);
  Object.defineProperty(globalThis, 'navigator', { value: { mediaDevices: devices }, configurable: true });
});
after(() => {
  for (const name of Object.keys(fakes)) delete (/** @type {any} */ (globalThis)[name]);
});

/** The audio thread gets samples: from, from + 1 and so on. @param {number} from @param {number} count */
const hear = (from, count) => last.processor.process([[Float32Array.from({ length: count }, (_, i) => from + i)]]);
const numbers = (/** @type {any} */ { value }) => [...value];

test('a block comes when its samples are there, and the next one follows without a gap', async () => {
  const microphone = await openMicrophone({ sampleRate: 8000, block: 4, room: 8 });
  const first = microphone.next(),
    second = microphone.next();
  hear(0, 3);
  last.processor.process([[]]); // a device that is not ready yet
  hear(3, 3);
  assert.deepEqual(numbers(await first), [0, 1, 2, 3]);
  hear(6, 3);
  assert.deepEqual(numbers(await second), [4, 5, 6, 7]);
  assert.deepEqual([microphone.lost, microphone.sampleRate], [0, 8000]);
  microphone.close();
});

test('the ring keeps the newest samples, and counts the others', async () => {
  const microphone = await openMicrophone({ block: 4, room: 8 });
  for (let at = 0; at < 20; at += 5) hear(at, 5);
  assert.deepEqual(numbers(await microphone.next()), [12, 13, 14, 15]);
  assert.equal(microphone.lost, 12);
  assert.deepEqual(numbers(await microphone.next()), [16, 17, 18, 19]);
  hear(20, 20); // more than the ring has
  assert.deepEqual(numbers(await microphone.next()), [32, 33, 34, 35]);
  assert.equal(microphone.lost, 24);
  microphone.close();
});

test('a loop that ends closes the microphone, and so do its signal and its track', async () => {
  const stop = new AbortController(),
    microphone = await openMicrophone({ block: 1, signal: stop.signal });
  hear(0, 1);
  for await (const samples of microphone) {
    assert.deepEqual([...samples], [0]);
    break;
  }
  assert.deepEqual([last.stream.track.stopped, last.context.closed, hear(1, 1)], [true, true, false]);
  const second = await openMicrophone({ signal: stop.signal }),
    waiting = second.next();
  stop.abort();
  assert.equal((await waiting).done, true);
  const third = await openMicrophone({ stream: /** @type {any} */ (new Stream()) });
  last.stream.track.dispatchEvent(new Event('ended'));
  assert.equal((await third.next()).done, true);
  third.close(); // again
});

test('what the browser refuses is an error, and leaves nothing open', async () => {
  const code = (/** @type {any} */ options) =>
    openMicrophone(options).then(
      () => assert.fail('it must fail'),
      (e) => [e.code, e.message],
    );
  refusal = new Error('not allowed');
  assert.deepEqual(await code({}), ['bad-state', 'the browser refuses the microphone: not allowed']);
  const stream = new Stream();
  assert.deepEqual(await code({ stream }), ['unsupported', 'the microphone cannot be read: not allowed']);
  assert.equal(stream.track.stopped, true);
  refusal = undefined;
  assert.equal((await code({ signal: AbortSignal.abort() }))[0], 'aborted');
  for (const options of [{ block: 0 }, { sampleRate: 1.5 }, { block: 4, room: 3 }, { blok: 3 }])
    assert.equal((await code(options))[0], 'bad-argument');
  const late = new AbortController(),
    opening = code({ signal: late.signal });
  late.abort();
  assert.equal((await opening)[0], 'aborted');
  Object.defineProperty(globalThis, 'navigator', { value: {}, configurable: true });
  assert.deepEqual(await code({}), ['unsupported', 'a microphone needs a page with HTTPS or localhost']);
});

/** A <video> whose frames the test shows. */
class Video extends EventTarget {
  ended = false;
  shown = 0;
  /** @type {Map<number, Function>} */ waiting = new Map();
  requestVideoFrameCallback(/** @type {Function} */ take) {
    this.waiting.set(this.waiting.size, take);
    return this.waiting.size - 1;
  }
  cancelVideoFrameCallback(/** @type {number} */ handle) {
    this.waiting.delete(handle);
  }
  show() {
    const metadata = { mediaTime: this.shown / 10, presentedFrames: ++this.shown };
    for (const take of this.waiting.values()) take(0, metadata);
    this.waiting.clear();
  }
}

test('frames that are shown while the program computes are skipped and counted', async () => {
  const video = new Video(),
    stop = new AbortController(),
    frames = videoFrames(/** @type {any} */ (video), { signal: stop.signal });
  const first = frames.next();
  video.show();
  assert.deepEqual((await first).value, { video, time: 0, skipped: 0 });
  video.show();
  video.show();
  const second = frames.next();
  video.show();
  const { time, skipped } = /** @type {any} */ ((await second).value);
  assert.deepEqual([time, skipped, video.waiting.size], [0.3, 2, 0]);
  const third = frames.next();
  stop.abort();
  assert.deepEqual([(await third).done, video.waiting.size], [true, 0]);
});

test('the end of a film ends the loop', async () => {
  const video = new Video(),
    frames = videoFrames(/** @type {any} */ (video)),
    first = frames.next();
  video.dispatchEvent(new Event('ended'));
  assert.equal((await first).done, true);
  video.ended = true;
  assert.equal((await videoFrames(/** @type {any} */ (video)).next()).done, true);
  const refused = (/** @type {any} */ options, /** @type {any} */ of = video) =>
    videoFrames(of, options)
      .next()
      .catch((e) => e.code);
  assert.equal(await refused({ signal: AbortSignal.abort() }), 'aborted');
  assert.equal(await refused({}, {}), 'bad-argument');
});
