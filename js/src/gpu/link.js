// Links rushlight-gpu.wasm, a position-independent module, to the memory, the table and the functions of the main
// module.

import { RushlightError } from '../base/errors.js';
import { Cursor } from '../engine/wasm-sections.js';

/**
 * @typedef {object} GpuExports functions of wasm/src/gpu/gpu.h
 * @property {(ctx: number) => number} rush_gpu_begin makes the device; 0 if there is no memory
 * @property {(gpu: number) => number} rush_gpu_device_of
 * @property {(name: number) => number} rush_gpu_where_of
 * @property {(gpu: number, token: number) => number} rush_gpu_place
 * @property {(gpu: number) => void} rush_gpu_arrived
 * @property {(gpu: number) => number} rush_gpu_pending
 * @property {(gpu: number) => void} rush_gpu_lose
 * @property {(gpu: number, idle: 0 | 1) => void} rush_gpu_set_idle
 * @property {(gpu: number, session: number) => void} rush_gpu_keep_random
 * @property {(gpu: number, session: number) => void} rush_gpu_return_random
 * @property {(gpu: number, keeps: 0 | 1) => void} rush_gpu_keep_results
 * @property {(gpu: number) => void} rush_gpu_submit
 * @property {(gpu: number, session: number, dtype: number, rank: number, sizes: number, out: number, buffer: number) =>
 *   number} rush_gpu_make_input
 * @property {(gpu: number, session: number, tensor: number, place: number) => number} rush_gpu_place_result
 * @property {(gpu: number) => void} rush_gpu_keep_weights
 * @property {(gpu: number, k: number, out: number) => number} rush_gpu_next_weight
 * @property {(gpu: number) => number} rush_gpu_weights_are_back
 * @property {() => void} __wasm_apply_data_relocs
 */

const STACK_BYTES = 1 << 16,
  ALIGN = 16,
  MEMORY_INFO = 1;

/** Reads how much memory and table a module needs. @param {WebAssembly.Module} module */
function needsOf(module) {
  const [section] = WebAssembly.Module.customSections(module, 'dylink.0');
  const cursor = new Cursor(new Uint8Array(/** @type {ArrayBuffer} */ (section)), 0);
  for (let end = 0; cursor.at < cursor.bytes.length; cursor.at = end) {
    const kind = cursor.byte(),
      size = cursor.number();
    end = cursor.at + size;
    if (kind !== MEMORY_INFO) continue;
    const bytes = cursor.number();
    cursor.number(); // its alignment, at most ALIGN
    return { bytes, entries: cursor.number() };
  }
  throw new TypeError('the module for GPUs has an unknown form');
}

/**
 * Returns the functions that it imports, in the order of wasm/bridge/gpu_services.def.
 * @param {WebAssembly.Module} module
 */
export const namesOf = (module) =>
  WebAssembly.Module.imports(module)
    .filter((i) => i.module === 'env' && i.kind === 'function')
    .map((i) => i.name)
    .sort();

/**
 * @param {WebAssembly.Module} module
 * @param {{ memory: WebAssembly.Memory, __indirect_function_table: WebAssembly.Table, malloc: (n: number) => number,
 *   rush_bridge_device: (ctx: number, device: number) => number }} main the exports of the main module
 * @param {number} ctx
 * @param {Record<string, Function>} driver
 * @returns {GpuExports}
 */
export function link(module, main, ctx, driver) {
  const table = main.__indirect_function_table,
    { bytes, entries } = needsOf(module),
    services = main.rush_bridge_device(ctx, 0) >>> 0;
  if (!services)
    throw new RushlightError(
      'unsupported',
      "load: this runtime was slimmed without --device webgpu, which device: 'webgpu' needs",
    );
  const room = main.malloc(bytes + STACK_BYTES + 2 * ALIGN) >>> 0;
  if (!room) throw new RushlightError('out-of-memory', `cannot allocate ${bytes + STACK_BYTES} bytes for the GPU`);
  const base = (room + ALIGN) & -ALIGN,
    view = new DataView(main.memory.buffer);
  new Uint8Array(main.memory.buffer, base, bytes).fill(0);
  const constant = (/** @type {number} */ value) => new WebAssembly.Global({ value: 'i32' }, value);
  const env = {
    memory: main.memory,
    __indirect_function_table: table,
    __memory_base: constant(base),
    __table_base: constant(table.grow(entries)),
    __stack_pointer: new WebAssembly.Global({ value: 'i32', mutable: true }, (base + bytes + STACK_BYTES) & -ALIGN),
    ...Object.fromEntries(namesOf(module).map((name, i) => [name, table.get(view.getUint32(services + 4 * i, true))])),
  };
  const exports = /** @type {GpuExports} */ (
    /** @type {unknown} */ (
      new WebAssembly.Instance(
        module,
        /** @type {WebAssembly.Imports} */ (/** @type {unknown} */ ({ env, gpu: driver })),
      ).exports
    )
  );
  exports.__wasm_apply_data_relocs();
  return exports;
}
