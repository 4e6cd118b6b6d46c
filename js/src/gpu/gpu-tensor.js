// Tensors of results that stay on the GPU: run() with the option `outputDevice`.

import { RushlightError } from '../base/errors.js';
import { DTYPES } from '../base/types.js';
import { COPY_DST, MAP_READ, READ, paddedSize } from './driver.js';

/**
 * @typedef {import('../base/types.js').DType} DType
 * @typedef {import('./driver.js').GpuBuffer} GpuBuffer
 */

/**
 * @template {DType} D
 * @typedef {import('../base/types.js').GpuTensorMembers<D>} GpuTensorMembers
 */

/**
 * A tensor on the GPU, which belongs to the caller. It is also an input of models on the same device.
 * @template {DType} [D=DType]
 * @implements {GpuTensorMembers<D>}
 * @implements {Disposable}
 */
export class GpuTensor {
  #shared;
  /** Whether dispose() was called. */ disposed = false;

  /**
   * @param {import('./driver.js').Shared} shared @param {GpuBuffer} gpuBuffer
   * @param {D} dtype @param {number[]} shape @param {number} size
   */
  constructor(shared, gpuBuffer, dtype, shape, size) {
    this.#shared = shared;
    /** PyTorch's name of the elements' type. */
    this.dtype = dtype;
    /** The size of each dimension, outermost first. */
    this.shape = shape;
    /** The buffer with the elements in row-major order. It can be bound as storage, and copied. */
    this.gpuBuffer = /** @type {import('../base/types.js').WebGpuBuffer} */ (/** @type {unknown} */ (gpuBuffer));
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

  /** Frees the buffer. */
  dispose() {
    this.disposed = true;
    /** @type {GpuBuffer} */ (this.gpuBuffer).destroy();
  }

  /** For `using tensor = ...`. */
  [Symbol.dispose]() {
    this.dispose();
  }
}
