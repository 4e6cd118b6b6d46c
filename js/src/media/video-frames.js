// The frames of a camera or of a film, one at a time.

import { badArgument, checkOptions, describeValue, throwIfAborted } from '../base/errors.js';

/**
 * @typedef {import('./image.js').Global<'HTMLVideoElement'>} Video
 *
 * @typedef {object} ShownFrame a frame that the element shows
 * @property {Video} video the element, for imageToTensor()
 * @property {number} time the place of the frame, in seconds
 * @property {number} skipped the frames since the last one, which were shown while the program computed
 */

/**
 * Yields the frames that a <video> shows, until it ends. The next frame is asked for when the program is ready: frames
 * in between are skipped, so that a slow model sees the newest image.
 * @param {Video} video which plays; for a camera, set its srcObject to the stream of getUserMedia()
 * @param {{ signal?: AbortSignal }} [options] signal ends the loop without an error
 * @returns {AsyncGenerator<ShownFrame, void, void>}
 * @throws {RushlightError} `bad-argument`; `aborted` if the signal was aborted before the loop
 */
export async function* videoFrames(video, options = {}) {
  checkOptions('videoFrames', options, ['signal']);
  const { signal } = options,
    element = /** @type {HTMLVideoElement} */ (video);
  if (typeof element?.requestVideoFrameCallback !== 'function')
    throw badArgument(`videoFrames: the argument must be a <video>, got ${describeValue(video)}`);
  throwIfAborted(signal, 'videoFrames');
  for (let last = 0; ;) {
    const shown = await nextFrame(element, signal);
    if (!shown) return;
    const { mediaTime: time, presentedFrames } = shown,
      skipped = last ? presentedFrames - last - 1 : 0;
    last = presentedFrames;
    yield { video, time, skipped };
  }
}

/**
 * Waits for the next frame. Returns undefined if the video ends or the signal is aborted.
 * @param {HTMLVideoElement} video
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<VideoFrameCallbackMetadata | undefined>}
 */
function nextFrame(video, signal) {
  if (video.ended || signal?.aborted) return Promise.resolve(undefined);
  const done = new AbortController();
  return new Promise((resolve) => {
    const end = () => resolve(undefined),
      once = { once: true, signal: done.signal };
    const handle = video.requestVideoFrameCallback((_, metadata) => resolve(metadata));
    done.signal.addEventListener('abort', () => video.cancelVideoFrameCallback(handle));
    for (const type of ['ended', 'emptied', 'error']) video.addEventListener(type, end, once);
    signal?.addEventListener('abort', end, once);
  }).finally(() => done.abort());
}
