// Tensors of results that stay on the GPU: run() with the option `outputDevice`.

import { RushlightError } from '../base/errors.js';
import { DTYPES } from '../base/types.js';
import { COPY_DST, COPY_SRC, MAP_READ, READ, STORAGE, paddedSize } from './driver.js';

/**
 * @typedef {import('../base/types.js').DType} DType
 * @typedef {import('./driver.js').GpuBuffer} GpuBuffer
 */

/**
 * @template {DType} D
 * @typedef {import('../base/types.js').GpuTensorMembers<D>} GpuTensorMembers
 */

/** The buffers of a model's results. A run takes those whose tensors were disposed before it. */
export class ResultBuffers {
  #device;
  /** The buffers that were given back since the last run began. @type {GpuBuffer[]} */ #given = [];
  /** The buffers that the current run may take. @type {GpuBuffer[]} */ #free = [];
  #ended = false;

  /** @param {import('./driver.js').GpuDevice} device */
  constructor(device) {
    this.#device = device;
  }

  beginRun() {
    this.#free = this.#given;
    this.#given = [];
  }

  /** @param {number} bytes */
  take(bytes) {
    const size = Math.max(4, paddedSize(bytes)),
      at = this.#free.findIndex((buffer) => buffer.size === size);
    return at < 0
      ? this.#device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST })
      : /** @type {GpuBuffer} */ (this.#free.splice(at, 1)[0]);
  }

  /** @param {GpuBuffer} buffer */
  give(buffer) {
    if (this.#ended) buffer.destroy();
    else this.#given.push(buffer);
  }

  /** Destroys what the run has not taken, so that results of other sizes do not add up. */
  endRun() {
    for (const buffer of this.#free) buffer.destroy();
    this.#free = [];
  }

  end() {
    this.#ended = true;
    for (const buffer of [...this.#given, ...this.#free]) buffer.destroy();
  }
}

/**
 * A tensor on the GPU, which belongs to the caller. It is also an input of models on the same device.
 * @template {DType} [D=DType]
 * @implements {GpuTensorMembers<D>}
 * @implements {Disposable}
 */
export class GpuTensor {
  #shared;
  #buffers;
  /** Whether dispose() was called. */ disposed = false;

  /**
   * @param {import('./driver.js').Shared} shared @param {ResultBuffers} buffers
   * @param {D} dtype @param {number[]} shape @param {number} size
   */
  constructor(shared, buffers, dtype, shape, size) {
    this.#shared = shared;
    this.#buffers = buffers;
    /** PyTorch's name of the elements' type. */
    this.dtype = dtype;
    /** The size of each dimension, outermost first. */
    this.shape = shape;
    /** The buffer with the elements in row-major order. It can be bound as storage, and copied. */
    this.gpuBuffer = /** @type {import('../base/types.js').WebGpuBuffer} */ (
      /** @type {unknown} */ (buffers.take(size))
    );
    /** The first byte in the buffer. */
    this.offset = 0;
    /** The number of bytes. */
    this.size = size;
  }

  /** Tests whether the tensor is on a device. @param {object} device */
  isOn(device) {
    return this.#shared.device === device;
  }

  /**
   * Copies the tensor to memory.
   * @returns {Promise<import('../base/types.js').Tensor<D>>}
   * @throws {RushlightError} `disposed`, or `device-lost` if the GPU was lost or has reported an error
   */
  async download() {
    if (this.disposed) throw new RushlightError('disposed', 'download: the tensor was disposed');
    const { device } = this.#shared,
      bytes = paddedSize(this.size),
      staging = device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST }),
      encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(/** @type {GpuBuffer} */ (this.gpuBuffer), this.offset, staging, 0, bytes);
    device.queue.submit([encoder.finish()]);
    try {
      const fault = await staging.mapAsync(READ).then(
        () => undefined,
        (/** @type {Error} */ e) => `the GPU failed: ${e.message}`,
      );
      await undefined; // the event of an error comes before the next task
      const text = this.#shared.fault ?? fault;
      if (text !== undefined) throw new RushlightError('device-lost', `download: ${text}, and with it the tensor`);
      const data = new DTYPES[this.dtype].Array(staging.getMappedRange().slice(0, this.size));
      return /** @type {import('../base/types.js').Tensor<D>} */ (
        /** @type {unknown} */ ({ dtype: this.dtype, shape: this.shape.slice(), data })
      );
    } finally {
      staging.destroy();
    }
  }

  /** Gives the buffer back to the model, whose next run may write it. */
  dispose() {
    if (!this.disposed) this.#buffers.give(/** @type {GpuBuffer} */ (this.gpuBuffer));
    this.disposed = true;
  }

  /** For `using tensor = ...`. */
  [Symbol.dispose]() {
    this.dispose();
  }
}
