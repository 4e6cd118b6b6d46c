// Inputs that come from buffers of the GPU, and results that stay there.

import { RushlightError, badArgument, describeValue, unknownNameError } from '../base/errors.js';
import { DTYPES, DTYPE_NAMES, partsOf } from '../base/types.js';
import { Values, VALUE_BYTES, isPlainObject, named, throwMismatch } from '../engine/values.js';
import { COPY_SRC, paddedSize } from './driver.js';
import { GpuTensor } from './gpu-tensor.js';

/**
 * @typedef {import('../base/types.js').DType} DType
 * @typedef {import('../base/types.js').Type} Type
 * @typedef {import('../engine/host.js').LocalHost} LocalHost
 * @typedef {import('./driver.js').GpuBuffer} GpuBuffer
 * @typedef {{ gpuBuffer: GpuBuffer, dtype: DType, shape: readonly number[], offset: number }} GpuInput
 * @typedef {import('../engine/values.js').Hint} Hint
 */

const KEYS = ['gpuBuffer', 'offset', 'dtype', 'shape'],
  MAX_RANK = 8,
  /** Offsets of members of rush_gpu_region. */
  SIZES = 16,
  PLACE_BYTES = SIZES + 8 * MAX_RANK;

/** @param {unknown} v @returns {v is Partial<GpuInput>} */
const isGpuInput = (v) => isPlainObject(v) && 'gpuBuffer' in v;

/** Tests whether a value of a type may be a tensor. @param {Type} type @returns {boolean} */
const takesTensor = ({ kind, of }) =>
  kind === 'Tensor' || kind === 'Any' || (/^(Optional|Union)$/.test(kind) && of.some(takesTensor));

/** @param {DType} dtype @param {readonly number[]} shape */
const bytesOf = (dtype, shape) => shape.reduce((a, b) => a * b, DTYPES[dtype].Array.BYTES_PER_ELEMENT * partsOf(dtype));

/** @param {unknown} v @param {string} where @returns {GpuBuffer} */
function checkBuffer(v, where) {
  const buffer = /** @type {GpuBuffer | undefined} */ (v);
  if (typeof buffer?.usage !== 'number' || typeof buffer.mapAsync !== 'function')
    throwMismatch(`${where}: gpuBuffer`, 'a GPUBuffer', v);
  if (!(buffer.usage & COPY_SRC)) throw badArgument(`${where}: the buffer must have the usage GPUBufferUsage.COPY_SRC`);
  if (buffer.mapState !== 'unmapped')
    throw badArgument(`${where}: the buffer must not be mapped, its mapState is "${buffer.mapState}"`);
  return buffer;
}

/**
 * Checks an input. Only the device knows whether the buffer belongs to it and is not destroyed.
 * @param {Partial<GpuInput>} value @param {Hint} hint @param {string} where @param {object} device
 * @returns {GpuInput}
 */
function checkInput(value, hint, where, device) {
  if (value instanceof GpuTensor) {
    if (value.disposed) throw badArgument(`${where}: the tensor was disposed`);
    if (!value.isOn(device)) throw badArgument(`${where}: the tensor must be on the device of this model`);
  } else {
    const other = Object.keys(value).find((key) => !KEYS.includes(key));
    if (other) throw unknownNameError(`${where}: a tensor on the GPU has no`, other, KEYS);
  }
  const { dtype = hint.dtype, offset = 0 } = value,
    shape = /** @type {readonly number[]} */ (value.shape ?? hint.shape); // an open size of the hint is null
  const gpuBuffer = checkBuffer(value.gpuBuffer, where);
  if (!dtype) throw badArgument(`${where}: dtype must be given, because the type of the input has none`);
  if (!DTYPE_NAMES.includes(dtype)) throw unknownNameError(`${where}: there is no dtype`, dtype, DTYPE_NAMES);
  if (!Array.isArray(shape) || shape.length > MAX_RANK || !shape.every((s) => Number.isSafeInteger(s) && s >= 0))
    throw badArgument(`${where}: its shape must be an array of at most ${MAX_RANK} sizes, got ${describeValue(shape)}`);
  if (!Number.isSafeInteger(offset) || offset < 0 || offset % 4)
    throw badArgument(`${where}: its offset must be a multiple of 4, got ${describeValue(offset)}`);
  const end = offset + paddedSize(bytesOf(dtype, shape));
  if (!(end <= gpuBuffer.size))
    throw badArgument(
      `${where}: the buffer must have ${end} bytes for shape [${shape.join(', ')}], got ${gpuBuffer.size}`,
    );
  return { gpuBuffer, dtype, shape, offset };
}

/** Values of a model on the GPU. */
export class GpuValues extends Values {
  #gpu;
  /** Whether inputs of a run are being written. Other values must be in memory. */ takes = false;
  /** Whether tensors of results stay on the device. */ keeps = false;
  /** The tensors of the last result. @type {GpuTensor[]} */ kept = [];
  /** Copies of inputs that the device checks. @type {{ where: string, fault: Promise<string | undefined> }[]} */
  #copies = [];
  /** Whether the inputs of the last run were on the GPU. */ took = false;

  /** @param {import('../engine/engine.js').Engine} engine @param {import('./load-gpu.js').Gpu} gpu */
  constructor(engine, gpu) {
    super(engine);
    this.#gpu = gpu;
  }

  /**
   * @override
   * @param {number} p @param {Type} type @param {unknown} v @param {string} where @param {Hint} [hint]
   * @returns {void}
   */
  write(p, type, v, where, hint = {}) {
    if (!isGpuInput(v) || !takesTensor(type)) return super.write(p, type, v, where, hint);
    if (!this.takes) throw badArgument(`${where} must be in memory: download() copies a tensor from the GPU`);
    this.#writeInput(p, checkInput(v, hint, where, this.#gpu.device), where);
  }

  /** @param {number} p @param {GpuInput} input @param {string} where */
  #writeInput(p, { gpuBuffer, dtype, shape, offset }, where) {
    const { e, m } = this,
      gpu = this.#gpu;
    if (gpu.fault !== undefined)
      throw new RushlightError('device-lost', `${where}: ${gpu.fault}, and the model now runs on the CPU`);
    const number = e.withBytes(8 * MAX_RANK, (at) => {
      shape.forEach((s, i) => m.setI64(at + 8 * i, BigInt(s)));
      e.check(gpu.makeInput(e.session, DTYPES[dtype].id, shape.length, at, p, e.scratch));
      return m.u32(e.scratch);
    });
    this.took = true;
    const bytes = paddedSize(bytesOf(dtype, shape));
    if (bytes) this.#copies.push({ where, fault: gpu.driver.copyIn(number, gpuBuffer, offset, bytes) });
  }

  /** Begins to write inputs. */
  begin() {
    this.takes = true;
    this.took = false;
    this.#copies = []; // of a run whose inputs were refused
  }

  /** Waits until the device has checked the copies of inputs, and ends the run if one is refused. */
  async checked() {
    const copies = this.#copies;
    this.#copies = [];
    for (const { where, fault } of copies) {
      const text = await fault;
      if (text === undefined || !this.e.alive) continue;
      this.e.c.rush_session_cancel(this.e.session);
      const [, input = ''] = /^input "(.*?)"/.exec(where) ?? [];
      throw named(badArgument(`${where}: the GPU refuses to copy its buffer: ${text}`), input);
    }
  }

  /**
   * @override
   * @param {number} p @returns {import('../base/types.js').Tensor} a GpuTensor while results stay on the device
   */
  readTensor(p) {
    if (!this.keeps) return /** @type {import('../base/types.js').Tensor} */ (super.readTensor(p));
    const tensor = this.#keep(p);
    this.kept.push(tensor);
    return /** @type {import('../base/types.js').Tensor} */ (/** @type {unknown} */ (tensor));
  }

  /** @param {number} p */
  #keep(p) {
    const { e, m } = this,
      gpu = this.#gpu;
    return e.withValues(1, (copy) => {
      e.c.rush_value_retain(e.session, p); // a value in a container is only borrowed
      m.copyIn(copy, m.copyOut(Uint8Array, p, VALUE_BYTES));
      return e.withBytes(PLACE_BYTES, (place) => {
        e.check(gpu.placeResult(e.session, copy, place));
        const [buffer, id, rank, offset] = m.words(place);
        if (!buffer) return this.#upload(copy);
        const dtype = /** @type {DType} */ (DTYPE_NAMES.find((name) => DTYPES[name].id === id)),
          shape = Array.from({ length: rank }, (_, i) => Number(m.i64(place + SIZES + 8 * i))),
          size = bytesOf(dtype, shape);
        return gpu.tensor(dtype, shape, size, (driver, to) =>
          driver.copyOut(/** @type {number} */ (buffer), offset ?? 0, to, paddedSize(size)),
        );
      });
    });
  }

  /** @param {number} p a tensor in memory */
  #upload(p) {
    const { dtype, shape, data } = super.readTensor(p);
    if (!data || !(dtype in DTYPES))
      throw new RushlightError('unsupported', `run: a ${dtype} tensor of this kind cannot be put on the GPU`);
    return this.#gpu.tensor(/** @type {DType} */ (dtype), shape, data.byteLength, (driver, to) =>
      driver.upload(to, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
    );
  }
}

/**
 * Lets a host take inputs from the GPU, and leave results there.
 * @param {LocalHost} host @param {import('./load-gpu.js').Gpu} gpu
 */
export function useGpuValues(host, gpu) {
  const { engine } = host,
    values = (engine.values = new GpuValues(engine, gpu)),
    begin = engine.begin.bind(engine),
    drive = engine.drive.bind(engine),
    beginSteps = host.begin.bind(host);
  engine.begin = (...how) => {
    values.begin();
    try {
      begin(...how);
    } finally {
      values.takes = false;
    }
  };
  engine.drive = async (...how) => {
    await values.checked();
    return drive(...how);
  };
  host.begin = async (...how) => {
    await beginSteps(...how);
    await values.checked();
  };
  return values;
}

/**
 * Runs a job whose results stay on the device.
 * @template T @param {import('../engine/engine.js').Engine} engine @param {GpuValues} values
 * @param {import('./load-gpu.js').Gpu} gpu @param {() => Promise<T>} job
 */
export async function keepResultsOf(engine, values, gpu, job) {
  const result = engine.result.bind(engine);
  values.kept = [];
  gpu.results.beginRun();
  gpu.keepResults(1);
  engine.result = (read) => {
    values.keeps = true;
    try {
      return result(read);
    } finally {
      values.keeps = false;
    }
  };
  try {
    const results = await job();
    gpu.submit();
    return results;
  } catch (e) {
    for (const tensor of values.kept) tensor.dispose();
    throw e;
  } finally {
    values.kept = [];
    gpu.results.endRun();
    Reflect.deleteProperty(engine, 'result');
    if (engine.alive) gpu.keepResults(0);
  }
}
