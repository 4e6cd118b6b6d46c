// Executes the commands of wasm/src/gpu with WebGPU. It makes no decisions.

import { messageOf } from '../base/errors.js';

/**
 * The part of WebGPU that is used here. Users of the package may have no types of WebGPU.
 * @typedef {object} GpuBuffer
 * @property {number} size
 * @property {number} usage
 * @property {string} mapState
 * @property {() => void} destroy
 * @property {(mode: number) => Promise<void>} mapAsync
 * @property {() => ArrayBuffer} getMappedRange
 * @property {() => void} unmap
 *
 * @typedef {object} GpuPass
 * @property {(pipeline: object) => void} setPipeline
 * @property {(index: number, group: object, offsets: number[]) => void} setBindGroup
 * @property {(x: number, y: number, z: number) => void} dispatchWorkgroups
 * @property {() => void} end
 *
 * @typedef {object} GpuEncoder
 * @property {(how?: object) => GpuPass} beginComputePass
 * @property {(from: GpuBuffer, at: number, to: GpuBuffer, toAt: number, bytes: number) => void} copyBufferToBuffer
 * @property {(queries: object, first: number, n: number, to: GpuBuffer, toAt: number) => void} resolveQuerySet
 * @property {() => object} finish
 *
 * @typedef {object} GpuQueue
 * @property {(to: GpuBuffer, toAt: number, from: Uint8Array, at?: number, bytes?: number) => void} writeBuffer
 * @property {(commands: object[]) => void} submit
 *
 * @typedef {object} GpuLimits
 * @property {number} maxBufferSize
 * @property {number} maxStorageBufferBindingSize
 *
 * @typedef {object} GpuDevice
 * @property {GpuLimits} limits
 * @property {{ has: (name: string) => boolean }} [features]
 * @property {GpuQueue} queue
 * @property {Promise<{ message: string }>} lost
 * @property {(event: { error: { message: string } }) => void} onuncapturederror
 * @property {(how: { size: number, usage: number }) => GpuBuffer} createBuffer
 * @property {(how: object) => object} createBindGroupLayout
 * @property {(how: object) => object} createPipelineLayout
 * @property {(how: { code: string }) => object} createShaderModule
 * @property {(how: object) => object} createComputePipeline
 * @property {(how: object) => object} createBindGroup
 * @property {() => GpuEncoder} createCommandEncoder
 * @property {(how: object) => { destroy: () => void }} createQuerySet
 * @property {(filter: string) => void} pushErrorScope
 * @property {() => Promise<{ message: string } | null>} popErrorScope
 *
 * @typedef {object} GpuInfo
 * @property {string} [vendor]
 * @property {string} [architecture]
 * @property {string} [device]
 * @property {string} [description]
 * @property {boolean} [isFallbackAdapter] whether it computes in software
 *
 * @typedef {object} GpuAdapter
 * @property {GpuLimits} limits
 * @property {{ has: (name: string) => boolean }} [features]
 * @property {GpuInfo} [info]
 * @property {(how: object) => Promise<GpuDevice>} requestDevice
 *
 * @typedef {{ requestAdapter: (how: object) => Promise<GpuAdapter | null> }} Gpu
 */

/**
 * The state that all models on one device share.
 * @typedef {object} Shared
 * @property {GpuDevice} device
 * @property {GpuInfo | undefined} info about its adapter
 * @property {string | undefined} fault its first fault
 * @property {object[]} layouts of bind groups, by the number of buffers
 * @property {Map<string, object>} pipelines by their number of buffers and WGSL
 */

const UNIFORM = 0x40,
  COMPUTE = 0x4;
export const STORAGE = 0x80,
  COPY_SRC = 0x4,
  COPY_DST = 0x8,
  MAP_READ = 0x1,
  READ = 0x1;
/** The uniform buffer of a dispatch. */
const PARAMS = 256;
/** The most dispatches of a submit. */
export const SLOTS = 1024;
const GROUPS = 1 << 12;

/** Returns the bytes of a copy, a multiple of 4, for n bytes of elements. @param {number} n */
export const paddedSize = (n) => 4 * Math.ceil(n / 4);

export class Driver {
  #shared;
  #device;
  #memory;
  /** @type {Map<number, GpuBuffer>} */ #buffers = new Map();
  /** @type {object[]} */ #pipelines = [];
  /** @type {Map<string, object>} */ #groups = new Map();
  #params = new Uint8Array(PARAMS * SLOTS);
  #slot = 0;
  #uniform;
  /** @type {GpuEncoder | undefined} */ #encoder;
  /** @type {GpuPass | undefined} */ #pass;
  /** @type {{ buffer: GpuBuffer, bytes: number, token: number }[]} */ #reads = [];
  /** Buffers that the host can map. @type {GpuBuffer[]} */ #staging = [];
  #last = 0;
  /** @type {import('./profile-gpu.js').Timer | undefined} */ #timer;

  /** @param {Shared} shared @param {WebAssembly.Memory} memory */
  constructor(shared, memory) {
    const { device } = (this.#shared = shared);
    this.#device = device;
    this.#memory = memory;
    this.#uniform = device.createBuffer({ size: PARAMS * SLOTS, usage: UNIFORM | COPY_DST });
  }

  /** Returns the functions that wasm imports. */
  imports() {
    const bytes = (/** @type {number} */ p, /** @type {number} */ n) => new Uint8Array(this.#memory.buffer, p >>> 0, n);
    return {
      makeBuffer: (/** @type {number} */ size) => this.#makeBuffer(size >>> 0),
      destroyBuffer: (/** @type {number} */ buffer) => {
        this.#buffers.get(buffer)?.destroy();
        this.#buffers.delete(buffer);
        this.#groups.clear();
      },
      write: (/** @type {number} */ buffer, /** @type {number} */ p, /** @type {number} */ size) =>
        this.upload(this.#buffer(buffer), bytes(p, size)),
      makePipeline: (/** @type {number} */ p, /** @type {number} */ size, /** @type {number} */ n) =>
        this.#makePipeline(new TextDecoder().decode(bytes(p, size).slice()), n),
      dispatch: (
        /** @type {number} */ pipeline,
        /** @type {number} */ buffers,
        /** @type {number} */ n,
        /** @type {number} */ params,
        /** @type {[number, number, number]} */ ...size
      ) =>
        this.#dispatch(pipeline, new Uint32Array(this.#memory.buffer, buffers >>> 0, n), bytes(params, PARAMS), size),
      read: (/** @type {number} */ buffer, /** @type {number} */ size, /** @type {number} */ token) => {
        this.#reads.push({ buffer: this.#buffer(buffer), bytes: size, token });
      },
      submit: () => this.submit(),
    };
  }

  /** Returns the buffer with this number. @param {number} n */
  #buffer(n) {
    return /** @type {GpuBuffer} */ (this.#buffers.get(n));
  }

  /** @param {number} size */
  #makeBuffer(size) {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    if (size > Math.min(maxBufferSize, maxStorageBufferBindingSize)) return 0;
    this.#buffers.set(++this.#last, this.#device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST }));
    return this.#last;
  }

  /** @param {number} n buffers, the result last */
  #layout(n) {
    return (this.#shared.layouts[n] ??= this.#device.createBindGroupLayout({
      entries: [
        {
          binding: 0,
          visibility: COMPUTE,
          buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: PARAMS },
        },
        ...Array.from({ length: n }, (_, i) => ({
          binding: i + 1,
          visibility: COMPUTE,
          buffer: { type: i + 1 < n ? 'read-only-storage' : 'storage' },
        })),
      ],
    }));
  }

  /** @param {string} code @param {number} n */
  #makePipeline(code, n) {
    const { pipelines } = this.#shared,
      key = `${n} ${code}`;
    let pipeline = pipelines.get(key);
    if (!pipeline) {
      const layout = this.#device.createPipelineLayout({ bindGroupLayouts: [this.#layout(n)] }),
        module = this.#device.createShaderModule({ code });
      pipeline = this.#device.createComputePipeline({ layout, compute: { module } });
      pipelines.set(key, pipeline);
    }
    return this.#pipelines.push(pipeline);
  }

  /** @param {Uint32Array} buffers */
  #group(buffers) {
    const key = buffers.join();
    let group = this.#groups.get(key);
    if (group) return group;
    if (this.#groups.size === GROUPS) this.#groups.clear();
    const resources = [
      { buffer: this.#uniform, offset: 0, size: PARAMS },
      ...Array.from(buffers, (b) => ({ buffer: this.#buffers.get(b) })),
    ];
    group = this.#device.createBindGroup({
      layout: this.#layout(buffers.length),
      entries: resources.map((resource, binding) => ({ binding, resource })),
    });
    this.#groups.set(key, group);
    return group;
  }

  /**
   * @param {number} pipeline @param {Uint32Array} buffers @param {Uint8Array} params
   * @param {[number, number, number]} size
   */
  #dispatch(pipeline, buffers, params, size) {
    if (this.#slot === SLOTS) this.submit();
    this.#encoder ??= this.#device.createCommandEncoder();
    this.#pass ??= this.#encoder.beginComputePass(this.#timer?.begin());
    this.#params.set(params, this.#slot * PARAMS);
    this.#pass.setPipeline(/** @type {object} */ (this.#pipelines[pipeline - 1]));
    this.#pass.setBindGroup(0, this.#group(buffers), [this.#slot++ * PARAMS]);
    this.#pass.dispatchWorkgroups(...size);
    if (this.#timer) this.#endPass();
  }

  #endPass() {
    this.#pass?.end();
    this.#pass = undefined;
  }

  /** Measures dispatches from now on, or no longer. @param {import('./profile-gpu.js').Timer} [timer] */
  setTimer(timer) {
    this.submit();
    this.#timer = timer;
  }

  /** Submits the recorded commands. */
  submit() {
    if (!this.#encoder) return;
    this.#endPass();
    this.#timer?.end(this.#encoder);
    if (this.#slot) this.#device.queue.writeBuffer(this.#uniform, 0, this.#params, 0, this.#slot * PARAMS);
    this.#device.queue.submit([this.#encoder.finish()]);
    this.#encoder = undefined;
    this.#slot = 0;
  }

  /** @param {number} size @returns {GpuBuffer} */
  #stage(size) {
    const at = this.#staging.findIndex((buffer) => buffer.size >= size);
    if (at >= 0) return /** @type {GpuBuffer} */ (this.#staging.splice(at, 1)[0]);
    return this.#device.createBuffer({
      size: 2 ** Math.ceil(Math.log2(Math.max(size, 256))),
      usage: MAP_READ | COPY_DST,
    });
  }

  /**
   * Submits the commands and the requested reads, and waits for them.
   * @param {(token: number) => number} placeOf where the bytes of a read belong; 0 if they are not needed
   * @returns {Promise<string | undefined>} the fault of the device, whose bytes are then not those of the commands
   */
  async settle(placeOf) {
    const reads = this.#reads,
      places = /** @type {number[]} */ ([]);
    this.#reads = [];
    let size = 0;
    for (const read of reads) {
      places.push(size);
      size += (read.bytes + 7) & -8;
    }
    const staging = this.#stage(size);
    this.#endPass();
    const encoder = (this.#encoder ??= this.#device.createCommandEncoder());
    reads.forEach(({ buffer, bytes }, i) =>
      encoder.copyBufferToBuffer(buffer, 0, staging, /** @type {number} */ (places[i]), paddedSize(bytes)),
    );
    this.submit();
    const fault = await staging.mapAsync(READ).then(
      () => undefined,
      (/** @type {Error} */ e) => `the GPU failed: ${e.message}`,
    );
    await undefined; // the event of an error comes before the next task
    if (this.#shared.fault ?? fault) return this.#shared.fault ?? fault;
    const from = new Uint8Array(staging.getMappedRange());
    reads.forEach(({ bytes, token }, i) => {
      const at = placeOf(token) >>> 0,
        begin = /** @type {number} */ (places[i]);
      if (at) new Uint8Array(this.#memory.buffer, at, bytes).set(from.subarray(begin, begin + bytes));
    });
    staging.unmap();
    this.#staging.push(staging);
    return undefined;
  }

  /**
   * Copies a buffer of the caller, after all commands before. Returns the reason if the device refuses the copy.
   * No other command runs in the error scope, which therefore has only the errors of this copy.
   * @param {number} number @param {GpuBuffer} from @param {number} offset @param {number} bytes
   * @returns {Promise<string | undefined>}
   */
  copyIn(number, from, offset, bytes) {
    const device = this.#device;
    /** @type {string | undefined} */ let thrown;
    device.pushErrorScope('validation');
    try {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(from, offset, this.#buffer(number), 0, bytes);
      device.queue.submit([encoder.finish()]);
    } catch (e) {
      thrown = messageOf(e);
    }
    return device.popErrorScope().then(
      (error) => thrown ?? error?.message,
      () => thrown, // the device was lost
    );
  }

  /** @param {number} number @param {number} offset @param {GpuBuffer} to @param {number} bytes */
  copyOut(number, offset, to, bytes) {
    this.#endPass();
    const encoder = (this.#encoder ??= this.#device.createCommandEncoder());
    encoder.copyBufferToBuffer(this.#buffer(number), offset, to, 0, bytes);
  }

  /** Writes bytes before all commands that are not submitted yet. @param {GpuBuffer} to @param {Uint8Array} from */
  upload(to, from) {
    const whole = from.length & -4;
    if (whole) this.#device.queue.writeBuffer(to, 0, from, 0, whole);
    if (whole < from.length) {
      const rest = new Uint8Array(4);
      rest.set(from.subarray(whole));
      this.#device.queue.writeBuffer(to, whole, rest);
    }
  }

  /** The bytes of all buffers of this model. */
  get bytes() {
    const all = [...this.#buffers.values(), ...this.#staging, this.#uniform];
    return all.reduce((sum, { size }) => sum + size, 0);
  }

  /** Destroys the buffers of this model. */
  end() {
    for (const buffer of [...this.#buffers.values(), ...this.#staging, this.#uniform]) buffer.destroy();
    this.#buffers.clear();
    this.#groups.clear();
  }
}
