// model.profile() on the GPU: measures each kernel by timestamps of the device.

import { RushlightError, messageOf, throwIfAborted } from '../base/errors.js';
import { yieldToEventLoop } from '../base/platform.js';
import { advance } from '../engine/diagnostics.js';
import { COPY_DST, COPY_SRC, MAP_READ, READ, SLOTS } from './driver.js';

/**
 * @typedef {import('./driver.js').GpuBuffer} GpuBuffer
 * @typedef {import('../engine/host.js').LocalHost} LocalHost
 * @typedef {import('../engine/engine.js').ProfileRow} ProfileRow
 * @typedef {{ device: import('./driver.js').GpuDevice, setTimer: (timer?: Timer) => void,
 *   lose: (fault: string) => void, onwait?: () => void, values?: import('./exchange.js').GpuValues }} MeasuredGpu the
 *   device of a model
 * @typedef {object} Batch the dispatches of a submit
 * @property {string[]} instrs the instruction of each
 * @property {{ destroy: () => void }} queries two timestamps of each
 * @property {GpuBuffer} resolved the same in a buffer
 * @property {GpuBuffer} mapped the same where the host can read them
 */

const QUERY_RESOLVE = 0x200,
  BYTES = 2 * SLOTS * BigUint64Array.BYTES_PER_ELEMENT,
  SLICE_MS = 8;

/** Measures dispatches, each of which is a pass. */
export class Timer {
  /** The instruction that runs. */ instr = '';
  #device;
  /** @type {Batch[]} */ #batches = [];
  /** @type {Batch | undefined} */ #open;

  /** @param {import('./driver.js').GpuDevice} device */
  constructor(device) {
    this.#device = device;
  }

  /** Returns the descriptor of the next pass. A submit has at most SLOTS of them. */
  begin() {
    const device = this.#device;
    this.#open ??= {
      instrs: [],
      queries: device.createQuerySet({ type: 'timestamp', count: 2 * SLOTS }),
      resolved: device.createBuffer({ size: BYTES, usage: QUERY_RESOLVE | COPY_SRC }),
      mapped: device.createBuffer({ size: BYTES, usage: MAP_READ | COPY_DST }),
    };
    const { instrs, queries } = this.#open,
      end = 2 * instrs.push(this.instr) - 1;
    return { timestampWrites: { querySet: queries, beginningOfPassWriteIndex: end - 1, endOfPassWriteIndex: end } };
  }

  /** Adds the last commands of a submit. @param {import('./driver.js').GpuEncoder} encoder */
  end(encoder) {
    if (!this.#open) return;
    const { instrs, queries, resolved, mapped } = this.#open;
    encoder.resolveQuerySet(queries, 0, 2 * instrs.length, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, mapped, 0, BYTES);
    this.#batches.push(this.#open);
    this.#open = undefined;
  }

  /** Returns the time of each instruction in ms. @returns {Promise<Map<string, number>>} */
  async times() {
    /** @type {Map<string, number>} */ const times = new Map();
    for (const { instrs, mapped } of this.#batches) {
      await mapped.mapAsync(READ);
      const at = new BigInt64Array(mapped.getMappedRange());
      instrs.forEach((instr, i) => {
        const ns = Number(/** @type {bigint} */ (at[2 * i + 1]) - /** @type {bigint} */ (at[2 * i]));
        times.set(instr, (times.get(instr) ?? 0) + Math.max(0, ns) * 1e-6); // the clock of a device may be set back
      });
    }
    return times;
  }

  destroy() {
    for (const batch of [...this.#batches, this.#open])
      for (const created of batch ? [batch.queries, batch.resolved, batch.mapped] : []) created.destroy();
  }
}

/** @param {{ method: number | string, instr: number }} at */
const keyOf = ({ method, instr }) => `${method} ${instr}`;

/** Returns the key of the next instruction. @param {LocalHost} host @param {{ method: number, instr: number }} next */
const keyOfNext = ({ description }, { method, instr }) =>
  keyOf({ method: description.methods[method]?.name ?? '', instr });

/**
 * Counts an instruction once in a profile, if it ran again after it had waited for bytes of the device.
 * @param {LocalHost} host @param {MeasuredGpu} gpu @param {() => Promise<ProfileRow[]>} profile
 */
export async function countOnce(host, gpu, profile) {
  /** @type {Map<string, number>} */ const waits = new Map();
  gpu.onwait = () => {
    const key = keyOfNext(host, host.engine.next());
    waits.set(key, (waits.get(key) ?? 0) + 1);
  };
  try {
    const rows = await profile();
    return rows.map((row) => ({ ...row, calls: row.calls - (waits.get(keyOf(row)) ?? 0) }));
  } finally {
    gpu.onwait = undefined;
  }
}

/**
 * Engine.drive(), one instruction after the other, so that the timer knows which one runs.
 * @param {LocalHost} host @param {Timer} timer @param {AbortSignal} [signal]
 */
async function drive(host, timer, signal) {
  const { engine } = host;
  let since = performance.now();
  for (let ended = false; !ended;) {
    const next = engine.next();
    timer.instr = keyOfNext(host, next);
    if (next.waits) await /** @type {import('../engine/ops.js').OpTable} */ (engine.ops).compute(engine, next, signal);
    else ended = await advance(host, next);
    if (performance.now() - since < SLICE_MS) continue;
    await yieldToEventLoop();
    since = performance.now();
    if (signal?.aborted) engine.c.rush_session_cancel(engine.session);
    throwIfAborted(signal, 'the run');
  }
}

/**
 * Adds the time on the GPU to each row of a profile.
 * @param {LocalHost} host @param {MeasuredGpu} gpu @param {() => Promise<ProfileRow[]>} profile
 */
export async function profileOn(host, gpu, profile) {
  const timer = new Timer(gpu.device),
    { engine } = host,
    own = engine.drive;
  gpu.setTimer(timer);
  engine.drive = async (_, signal) => {
    await gpu.values?.checked();
    return drive(host, timer, signal);
  };
  try {
    const rows = await profile();
    const times = await timer.times().catch(async (/** @type {unknown} */ cause) => {
      await undefined; // the event of a lost device comes before the next task
      gpu.lose(`the GPU failed: ${messageOf(cause)}`);
      throw new RushlightError('device-lost', 'the times of the GPU are lost', { cause });
    });
    return rows
      .map((row) => ({ ...row, gpuMs: times.get(keyOf(row)) ?? 0 }))
      .sort((a, b) => b.ms + b.gpuMs - a.ms - a.gpuMs);
  } finally {
    gpu.setTimer();
    engine.drive = own;
    timer.destroy();
  }
}
