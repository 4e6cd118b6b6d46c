// A GPU object that counts commands and computes nothing, so that counts depend on no machine: all bytes that it gives
// are zeros.

const MAP_READ = 1,
  UNIFORM = 0x40;

/** @param {object} members @returns {any} */
const object = (members = {}) => ({ destroy() {}, ...members });

/**
 * @typedef {object} Counts
 * @property {number} dispatches
 * @property {number} submits
 * @property {number} buffers that were made, also those that the host can map
 * @property {number} pipelines
 * @property {number} uploaded bytes, without the parameters of dispatches
 * @property {number} read bytes
 */

/** Returns a GPU object, and a function that returns the counts since its last call. */
export function recordingGpu() {
  const none = () => ({ dispatches: 0, submits: 0, buffers: 0, pipelines: 0, uploaded: 0, read: 0 });
  /** @type {Counts} */ let count = none();
  const encoder = () => ({
    beginComputePass: () => ({
      setPipeline() {},
      setBindGroup() {},
      end() {},
      dispatchWorkgroups: () => void count.dispatches++,
    }),
    copyBufferToBuffer(/** @type {any} */ _, /** @type {number} */ __, /** @type {any} */ to, ...[, bytes = 0]) {
      if (to.usage & MAP_READ) count.read += bytes;
    },
    finish: () => ({}),
  });
  const device = object({
    limits: { maxBufferSize: 2 ** 30, maxStorageBufferBindingSize: 2 ** 30 },
    features: new Set(),
    lost: new Promise(() => {}),
    queue: {
      writeBuffer(/** @type {any} */ to, /** @type {number} */ _, /** @type {Uint8Array} */ from, at = 0, bytes) {
        if (!(to.usage & UNIFORM)) count.uploaded += bytes ?? from.length - at;
      },
      submit: () => void count.submits++,
    },
    createBuffer(/** @type {{ size: number, usage: number }} */ { size, usage }) {
      count.buffers++;
      const mapAsync = async () => {},
        getMappedRange = () => new ArrayBuffer(size);
      return object({ size, usage, mapState: 'unmapped', mapAsync, getMappedRange, unmap() {} });
    },
    createComputePipeline() {
      count.pipelines++;
      return object();
    },
    createBindGroupLayout: object,
    createPipelineLayout: object,
    createShaderModule: object,
    createBindGroup: object,
    createCommandEncoder: encoder,
  });
  return {
    gpu: { requestAdapter: async () => ({ limits: device.limits, requestDevice: async () => device }) },
    counts() {
      const last = count;
      count = none();
      return last;
    },
  };
}
