// A layer of a Llama-shaped model whose weights have four bits, with a cache that is state.

import { RushFile } from '../js/build-rush.mjs';
import { numbers } from './in-page-helpers.js';

const [WIDTH, HEADS, SHARED, DIM, INNER, GROUP] = [64, 4, 2, 16, 96, 32];

/** What one method needs: its file, itself and the next seed. @typedef {{ f: any, m: any, seed: number }} At */

/** rush::linear_weights with random weights. @param {At} at @param {number} x @param {number} k @param {number} n */
function linear(at, x, k, n) {
  const { f, m } = at,
    groups = k / GROUP,
    raw = Uint8Array.from(numbers((n * k) / 2, at.seed++), (v) => v * 127 + 128),
    none = f.none();
  const scales = f.tensor(
    numbers(n * groups, at.seed++).map((v) => (v + 1.25) / 64),
    [n, groups],
  );
  const [min, max] = [f.float(-Infinity), f.float(Infinity)];
  const w = f.tensor(raw, [n, k / 2]);
  return m.op('rush::linear_weights', [x, w, scales, none, none, f.int(4), f.int(k), f.int(GROUP), min, max, f.int(8)]);
}

/** @param {At} at @param {number} x */
function norm(at, x) {
  const { f, m } = at,
    weight = f.tensor(
      numbers(WIDTH, at.seed++).map((v) => v + 1.5),
      [WIDTH],
    );
  return m.op('aten::mul.Tensor', [weight, m.op('rush::rms_norm', [x, f.float(1e-6)])]);
}

/** [1, 1, heads * DIM] as [1, heads, 1, DIM]. @param {At} at @param {number} x @param {number} heads */
function split({ f, m }, x, heads) {
  return m.op('aten::transpose.int', [m.op('aten::view', [x, f.ints([1, 1, heads, DIM])]), f.int(1), f.int(2)]);
}

/** @param {At} at @param {number} x @param {number} cos @param {number} sin */
function rotate({ f, m }, x, cos, sin) {
  const straight = m.op('aten::mul.Tensor', [x, cos]),
    turned = m.op('rush::rotate_half', [x, f.int(3), f.int(DIM / 2), f.int(-1)]);
  m.call('rush::chain', [f.int(2)]);
  return m.op('aten::add.Tensor', [straight, m.op('aten::mul.Tensor', [turned, sin]), f.int(1)]);
}

/**
 * Writes a token to a cache, and returns its tokens so far.
 * @param {At} at @param {string} name @param {number} x @param {number} start @param {number} end
 */
function remember({ f, m }, name, x, start, end) {
  const slot = f.attribute(name, 'Tensor', f.tensor(new Float32Array(8 * SHARED * DIM), [1, SHARED, 8, DIM])),
    part = (/** @type {number} */ from) =>
      m.op('aten::slice.Tensor', [m.op('rush::get_attr', [f.int(slot)]), f.int(2), from, end, f.int(1)]);
  m.op('aten::copy_', [part(start), x, f.bool(false)]);
  return part(f.none());
}

/** @param {At} at @param {number} x @param {number} angles @param {number} position */
function attend(at, x, angles, position) {
  const { f, m } = at,
    start = m.op('aten::Int.Tensor', [position], 'int'),
    end = m.op('aten::add.int', [start, f.int(1)], 'int'),
    [cos, sin] = [m.op('aten::cos', [angles]), m.op('aten::sin', [angles])],
    q = rotate(at, split(at, linear(at, x, WIDTH, HEADS * DIM), HEADS), cos, sin),
    k = rotate(at, split(at, linear(at, x, WIDTH, SHARED * DIM), SHARED), cos, sin),
    v = split(at, linear(at, x, WIDTH, SHARED * DIM), SHARED),
    [keys, values] = [remember(at, 'keys', k, start, end), remember(at, 'values', v, start, end)],
    no = f.bool(false),
    out = m.op('aten::scaled_dot_product_attention', [
      q,
      keys,
      values,
      f.none(),
      f.float(0),
      no,
      f.none(),
      f.bool(true),
    ]);
  const joined = m.op('aten::transpose.int', [out, f.int(1), f.int(2)]);
  return linear(at, m.op('aten::reshape', [joined, f.ints([1, 1, HEADS * DIM])]), HEADS * DIM, WIDTH);
}

/** The file. Its inputs are an embedding, the angles of a position, and that position. */
export function llamaShaped() {
  const f = new RushFile();
  const inputs = [
    { name: 'x', dtype: 'float32', shape: [1, 1, WIDTH] },
    { name: 'angles', dtype: 'float32', shape: [1, 1, 1, DIM] },
    { name: 'position', dtype: 'int64', shape: [] },
  ];
  f.method('forward', { inputs, outputs: ['y'] }, (m, x, angles, position) => {
    const at = { f, m, seed: 1 },
      add = (/** @type {number} */ a, /** @type {number} */ b) => m.op('aten::add.Tensor', [a, b, f.int(1)]),
      h = add(
        x,
        attend(
          at,
          norm(at, m.op('aten::to.dtype', [x, f.int(6), f.bool(false), f.bool(false), f.none()])),
          angles,
          position,
        ),
      ),
      n = norm(at, h),
      gate = m.op('aten::silu', [linear(at, n, WIDTH, INNER)]),
      inner = m.op('aten::mul.Tensor', [gate, linear(at, n, WIDTH, INNER)]);
    return linear(at, norm(at, add(h, linear(at, inner, INNER, WIDTH))), WIDTH, 258);
  });
  return f.bytes();
}

/** The inputs of a position. @param {number} at */
export const stepOf = (at) => ({
  x: numbers(WIDTH, 100 + at),
  angles: Float32Array.from({ length: DIM }, (_, i) => at / 10 ** ((i % (DIM / 2)) / 4)),
  position: BigInt64Array.of(BigInt(at)),
});
