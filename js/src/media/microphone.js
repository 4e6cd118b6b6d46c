// The samples of a microphone, block by block.

import {
  RushlightError,
  abortError,
  badArgument,
  checkInteger,
  checkOptions,
  messageOf,
  throwIfAborted,
} from '../base/errors.js';
import { packageFile } from '../base/platform.js';

/**
 * @typedef {object} MicrophoneOptions options of openMicrophone()
 * @property {number} [sampleRate] samples per second; 16,000 by default. The browser resamples
 * @property {number} [block] the samples of a block; by default a tenth of a second
 * @property {number} [room] the samples that wait for a slow program, at least a block; by default 30 seconds. The
 *   oldest are dropped
 * @property {MediaStream} [stream] the audio source; by default the default
 *   microphone, with the browser's question for permission
 * @property {AbortSignal} [signal] closes the microphone
 */

/** @typedef {IteratorResult<import('../base/types.js').ArrayOf['float32'], undefined>} Step a block, or the end */
/**
 * @typedef {{ samples: import('../base/types.js').ArrayOf['float32'], lost: number }} Block a message of the worklet
 * @internal
 */

/**
 * An open microphone: an async iterator of blocks. A loop that ends closes it.
 * @hideconstructor
 */
export class Microphone {
  #context;
  #node;
  #stream;
  #block;
  #closed = false;
  /** @type {((result: Step) => void)[]} */
  #waiting = [];

  /**
   * @param {import('./image.js').Global<'AudioContext'>} context
   * @param {import('./image.js').Global<'AudioWorkletNode'>} node
   * @param {import('./image.js').Global<'MediaStream'>} stream
   * @param {number} block
   */
  constructor(context, node, stream, block) {
    this.#context = /** @type {AudioContext} */ (context);
    this.#node = /** @type {AudioWorkletNode} */ (node);
    this.#stream = /** @type {MediaStream} */ (stream);
    this.#block = block;
    /** Samples per second. */
    this.sampleRate = this.#context.sampleRate;
    /** The number of samples that were dropped, because the program was slower than the microphone. */
    this.lost = 0;
    this.#node.port.onmessage = ({ data }) => this.#take(data);
    for (const track of this.#stream.getAudioTracks()) track.addEventListener('ended', () => this.close());
  }

  /** Returns itself, for loops. */
  [Symbol.asyncIterator]() {
    return this;
  }

  /**
   * Returns the next block when its samples are there.
   * @returns {Promise<Step>}
   */
  next() {
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) this.#ask();
    });
  }

  /** Closes the microphone, when a loop ends. @returns {Promise<Step>} */
  async return() {
    this.close();
    return { done: true, value: undefined };
  }

  /** Closes the microphone, and ends its loops. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#node.port.postMessage(0);
    for (const track of this.#stream.getTracks()) track.stop();
    void this.#context.close();
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }

  #ask() {
    this.#node.port.postMessage(this.#block);
  }

  /** @param {Block} block */
  #take({ samples, lost }) {
    this.lost = lost;
    this.#waiting.shift()?.({ done: false, value: samples });
    if (this.#waiting.length) this.#ask();
  }
}

/**
 * Opens a microphone. `for await (const samples of await openMicrophone())` gets blocks of one channel, from -1 to 1.
 * Samples wait in a ring while the program computes. It works in secure pages.
 * @param {MicrophoneOptions} [options]
 * @returns {Promise<Microphone>}
 * @throws {RushlightError} `bad-argument`; `unsupported` outside of a page; `bad-state` if the browser refuses the
 *   microphone; `aborted`
 */
export async function openMicrophone(options = {}) {
  checkOptions('openMicrophone', options, ['sampleRate', 'block', 'room', 'stream', 'signal']);
  const { sampleRate = 16000, block = Math.ceil(sampleRate / 10), signal } = options,
    { room = Math.max(block, 30 * sampleRate) } = options;
  checkInteger('openMicrophone: sampleRate', sampleRate, 1);
  checkInteger('openMicrophone: block', block, 1);
  if (!(Number.isInteger(room) && room >= block))
    throw badArgument(`openMicrophone: room must be an integer of at least ${block}, the block, got ${room}`);
  throwIfAborted(signal, 'openMicrophone');
  if (typeof AudioWorkletNode === 'undefined' || !navigator.mediaDevices)
    throw new RushlightError('unsupported', 'a microphone needs a page with HTTPS or localhost');
  const stream = await asked(options);
  try {
    const microphone = await started(stream, sampleRate, block, room);
    signal?.addEventListener('abort', () => microphone.close(), { once: true });
    if (!signal?.aborted) return microphone;
    microphone.close();
  } catch (e) {
    for (const track of stream.getTracks()) track.stop();
    throw e;
  }
  throw abortError(/** @type {AbortSignal} */ (signal), 'openMicrophone');
}

/** Asks for the default microphone. @param {MicrophoneOptions} options @returns {Promise<MediaStream>} */
async function asked({ stream }) {
  if (stream) return stream;
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (cause) {
    throw new RushlightError('bad-state', `the browser refuses the microphone: ${messageOf(cause)}`, { cause });
  }
}

/**
 * @param {MediaStream} stream
 * @param {number} sampleRate
 * @param {number} block
 * @param {number} room
 */
async function started(stream, sampleRate, block, room) {
  const context = new AudioContext({ sampleRate });
  try {
    await context.audioWorklet.addModule(packageFile(new URL('./capture-worklet.js', import.meta.url)));
    const node = new AudioWorkletNode(context, 'rushlight-capture', {
      numberOfOutputs: 0,
      channelCount: 1,
      channelCountMode: 'explicit',
      processorOptions: { room },
    });
    context.createMediaStreamSource(stream).connect(node);
    await context.resume();
    return new Microphone(context, node, stream, block);
  } catch (cause) {
    void context.close();
    throw new RushlightError('unsupported', `the microphone cannot be read: ${messageOf(cause)}`, { cause });
  }
}
