// Lists the operators of a file that may run on a GPU. This needs no GPU.

import { compile, createRuntime } from '../src/engine/runtime.js';
import { Engine } from '../src/engine/engine.js';
import { link } from '../src/gpu/link.js';
import { packageFile } from '../src/base/platform.js';

/** @typedef {'cpu' | 'webgpu' | 'none'} Place none: the operator reads no elements of tensors, as a view does */
/** Their names in wasm/src/gpu/gpu.h. @type {Place[]} */
const PLACES = ['cpu', 'webgpu', 'none'];

/**
 * Adds the place of each operator.
 * @template {{ name: string }} T
 * @param {T[]} operators
 * @returns {Promise<(T & { device: Place })[]>}
 */
export async function withPlaces(operators) {
  const runtime = await createRuntime({ backend: 'simd' }, undefined),
    engine = new Engine(runtime, undefined, {}),
    module = await compile(() => packageFile(new URL('../wasm/rushlight-gpu.wasm', import.meta.url))),
    c = /** @type {Parameters<typeof link>[1]} */ (/** @type {unknown} */ (runtime.c)),
    driver = WebAssembly.Module.imports(module).filter((i) => i.module === 'gpu');
  try {
    const gpu = link(module, c, engine.ctx, Object.fromEntries(driver.map(({ name }) => [name, () => 0])));
    const placeOf = (/** @type {string} */ name) => {
      const bytes = new TextEncoder().encode(`${name}\0`),
        at = c.malloc(bytes.length) >>> 0;
      new Uint8Array(c.memory.buffer, at, bytes.length).set(bytes);
      return PLACES[gpu.rush_gpu_where_of(at)] ?? 'cpu';
    };
    return operators.map((operator) => {
      const own = placeOf(operator.name);
      // An in-place form, such as aten::add_.Tensor, has the kernel of the other one.
      return { ...operator, device: own === 'cpu' ? placeOf(operator.name.replace(/_(?=\.|$)/, '')) : own };
    });
  } finally {
    engine.destroy();
  }
}
