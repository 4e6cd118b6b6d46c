// Small models for tests of the option `device`, and their answers.

import { RushFile } from '../js/build-rush.mjs';
import { replace } from './in-page-helpers.js';

const { GPUDevice } = /** @type {any} */ (globalThis);

/**
 * Changes a part of the text of each kernel, until the returned function is called.
 * @param {string} part @param {string} other
 */
export const changeKernels = (part, other) =>
  replace(
    GPUDevice.prototype,
    'createShaderModule',
    (own) =>
      function (/** @type {any} */ how) {
        return own.call(/** @type {any} */ (this), { ...how, code: how.code.replace(part, other) });
      },
  );

export const X = Float32Array.from({ length: 6 }, (_, i) => i - 2.5);
/** A weight of 12 elements in a storage that is large enough to move to the GPU while it is loaded. */
const W = Float32Array.of(1, -2, 3, 0.5, 0.25, -1, 4, 1, 2, -0.5, 1, 1, ...new Float32Array(68));
export const port = { name: 'x', dtype: 'float32', shape: [2, 3] };

/** sigmoid(linear(relu(x), w)), plus random numbers of the CPU. @param {{ random?: boolean, trace?: boolean }} [how] */
export function layers({ random = false, trace = false } = {}) {
  const f = new RushFile(),
    w = f.tensor(W, [4, 3], { name: 'w' }),
    none = f.none();
  f.method('forward', { inputs: [port], outputs: ['y'] }, (m, x) => {
    if (trace) m.at = f.source('model.py', 3, 5);
    let h = m.op('aten::relu', [x]);
    if (random) h = m.op('aten::add.Tensor', [h, m.op('aten::rand_like', [h, none, none, none, none, none]), f.int(1)]);
    if (trace) m.at = f.source('model.py', 4, 6);
    h = m.op('aten::linear', [h, w, none]);
    if (trace) m.at = f.source('model.py', 5, 7);
    return m.op('aten::sigmoid', [h]);
  });
  return f;
}

/** What sigmoid(linear(relu(x), w)) is. @param {(v: number, i: number) => number} [after] is the last function */
export const linearOf = (after = (v) => v) =>
  Float32Array.from({ length: 8 }, (_, i) =>
    after(
      [0, 1, 2].reduce(
        (sum, k) => sum + Math.max(0, Number(X[3 * Math.floor(i / 4) + k])) * Number(W[3 * (i % 4) + k]),
        0,
      ),
      i,
    ),
  );
export const sigmoid = (/** @type {number} */ v) => 1 / (1 + Math.exp(-v));

/** A file with a test vector, and with a trace if `middle` is what linear gives. @param {Float32Array} [middle] */
export function tested(middle) {
  const f = layers({ trace: middle !== undefined });
  f.test(0, [f.tensor(X, [2, 3])], ['Tensor'], f.tensor(linearOf(sigmoid), [2, 4]));
  if (middle) {
    f.traced(0, 5, [
      f.tensor(
        X.map((v) => Math.max(0, v)),
        [2, 3],
      ),
    ]);
    f.traced(0, 6, [f.tensor(middle, [2, 4])]);
    f.traced(0, 7, [f.tensor(linearOf(sigmoid), [2, 4])]);
  }
  return f.bytes();
}

/** Adds x to an attribute, and returns the sum. */
export function counter() {
  const f = new RushFile(),
    slot = f.attribute('total', 'Tensor', f.tensor(new Float32Array(6), [2, 3]));
  f.method('forward', { inputs: [port], outputs: ['y'] }, (m, x) => {
    const sum = m.op('aten::add.Tensor', [m.op('rush::get_attr', [f.int(slot)]), x, f.int(1)]);
    m.call('rush::set_attr', [f.int(slot), sum]);
    return sum;
  });
  return f.bytes();
}

/** @param {import('../../js/src/index.js').Model} model */
export const answerOf = async (model) => /** @type {any} */ ((await model.run({ x: X })).y).data;

/** Fails unless the numbers are close. @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function close(a, b) {
  const off = Array.from(a).findIndex((v, i) => !(Math.abs(v - Number(b[i])) <= 1e-5));
  if (off >= 0 || a.length !== b.length) throw new Error(`element ${off}: ${a[off]}, not ${b[off]}`);
}
