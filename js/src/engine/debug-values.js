// Reads the values of a run in single steps. They include quantized tensors, which inputs and outputs cannot be.

import { RushlightError } from '../base/errors.js';
import { VALUE_BYTES, Values } from './values.js';

/**
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('../base/types.js').Tensor} Tensor
 * @typedef {import('../base/types.js').QuantizedTensor} QuantizedTensor
 * @typedef {import('../base/types.js').Value} Value
 */

// Offsets of members of C structs. wasm/bridge/bridge.c asserts the same values.
const QUANT = 28;

/**
 * Quantized dtypes by PyTorch's number, with the arrays of their integers.
 * @type {Record<number, [QuantizedTensor['dtype'], Uint8ArrayConstructor | Int8ArrayConstructor |
 *    Int32ArrayConstructor]>}
 */
const DTYPES = { 12: ['qint8', Int8Array], 13: ['quint8', Uint8Array], 14: ['qint32', Int32Array] };

class DebugValues extends Values {
  /** @override @param {number} p @returns {Tensor | QuantizedTensor} */
  readTensor(p) {
    const { m, e } = this,
      info = e.scratch;
    e.check(e.c.rush_tensor_inspect(e.session, p, info));
    const [id, rank, sizes, strides, , , at] = m.words(info),
      [dtype, Type] = DTYPES[id] ?? [];
    if (!dtype || !Type) return super.readTensor(p);
    const ints = (/** @type {number} */ from, /** @type {number} */ n) =>
      Array.from({ length: n }, (_, i) => Number(m.i64(from + 8 * i)));
    const shape = ints(sizes, rank),
      steps = ints(strides, rank),
      n = shape.reduce((a, b) => a * b, 1);
    this.take(16384 + n * Type.BYTES_PER_ELEMENT);
    const [axis, places, scales, zeroPoints] = m.words(m.u32(info + QUANT));
    const first = {
      scales: Array.from({ length: places }, (_, i) => m.f64(scales + 8 * i)),
      zeroPoints: ints(zeroPoints, places),
    };
    const lying = m.copyOut(
      Type,
      at,
      n &&
        Type.BYTES_PER_ELEMENT *
          shape.reduce((last, size, d) => last + (size - 1) * /** @type {number} */ (steps[d]), 1),
    );
    const data = toRowMajor(lying, new Type(n), shape, steps);
    return (axis | 0) < 0
      ? { dtype, shape, data, scale: first.scales[0], zeroPoint: first.zeroPoints[0] }
      : { dtype, shape, data, axis, ...first };
  }
}

/**
 * Copies elements with strides into row-major order.
 * @template {Uint8Array | Int8Array | Int32Array} A
 * @param {A} from
 * @param {A} to
 * @param {number[]} shape
 * @param {number[]} strides
 */
function toRowMajor(from, to, shape, strides) {
  let i = 0;
  const walk = (/** @type {number} */ d, /** @type {number} */ at) => {
    if (d === shape.length) to[i++] = /** @type {number} */ (from[at]);
    else
      for (let k = 0; k < /** @type {number} */ (shape[d]); k++)
        walk(d + 1, at + k * /** @type {number} */ (strides[d]));
  };
  walk(0, 0);
  return to;
}

/**
 * Returns copies of the arguments or results of an instruction.
 * @param {Engine} engine
 * @param {{ at: number, n: number }} values
 * @returns {import('../base/types.js').StepValue[]}
 */
export function debugValues(engine, { at, n }) {
  const values = new DebugValues(engine);
  return Array.from({ length: n }, (_, i) => values.read(at + VALUE_BYTES * i));
}

/** Refuses quantized tensors, also within lists. @param {unknown} value */
export function checkReplaceable(value) {
  if (Array.isArray(value)) value.forEach(checkReplaceable);
  const { dtype } = /** @type {{ dtype?: unknown }} */ (value ?? {});
  if (Object.values(DTYPES).some(([name]) => name === dtype)) {
    throw new RushlightError(
      'unsupported',
      `a result must not be a ${dtype} tensor: replace the result of the dequantize that follows`,
      { actual: dtype },
    );
  }
}
