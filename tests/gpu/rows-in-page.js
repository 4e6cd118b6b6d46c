// Tests of operators on the device with any strides, sizes and numbers, which run as those of in-page.js do. The CPU's
// answers, or those of JavaScript, are the expected ones.

import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';
import { agrees, halves, note, numbers, ownGpu } from './in-page-helpers.js';

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'rotate_half of rows and of parts of other tensors': async () => {
    for (const shape of [[6, 5], [2, 3, 4, 8], [7], [1, 1]])
      for (const turned of [false, true]) {
        if (turned && shape.length < 3) continue;
        const f = new RushFile(),
          n = /** @type {number} */ (shape.at(-1)),
          numel = shape.reduce((a, b) => a * b);
        f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape }], outputs: ['y'] }, (m, x) => {
          const from = turned ? m.op('aten::transpose.int', [x, f.int(1), f.int(2)]) : x;
          return m.op('rush::rotate_half', [from, f.int(-1), f.int(n >> 1), f.int(-1)]);
        });
        const x = numbers(numel, 13);
        [x[0], x[numel - 1]] = [NaN, -Infinity];
        await agrees(f.bytes(), x, { within: 0, dispatches: 1, what: `${shape} ${turned}` });
      }
  },

  'sin and cos have an error of 2 ulp, for large numbers too': async () => {
    const n = 1 << 16;
    for (const name of /** @type {const} */ (['sin', 'cos'])) {
      const f = new RushFile();
      f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [n] }], outputs: ['y'] }, (m, x) =>
        m.op(`aten::${name}`, [x]),
      );
      const model = await load(f.bytes(), { device: 'webgpu', gpu: ownGpu() }),
        x = new Float32Array(Uint32Array.from({ length: n }, (_, i) => i * 65521).buffer),
        { data } = /** @type {any} */ ((await model.run({ x })).y);
      for (let i = 0; i < n; i++) {
        const want = Math[name](/** @type {number} */ (x[i])),
          ulp = 2 ** (Math.floor(Math.log2(Math.abs(want))) - 23);
        note(data[i], want);
        if (Object.is(data[i], want) || Math.abs(data[i] - want) <= Math.max(2 * ulp, 2 ** -126)) continue;
        throw new Error(`${name}(${x[i]}) is ${data[i]}, not ${want}`);
      }
      model.dispose();
    }
  },

  'attention whose heads share keys, of several samples': async () => {
    const D = 8,
      S = 70;
    for (const [batch, heads, groups, tokens] of /** @type {[number, number, number, number][]} */ ([
      [2, 6, 2, 1],
      [3, 4, 1, 2],
      [2, 6, 3, 5],
      [2, 4, 4, 66],
    ]))
      for (const [turned, mask] of [[], [true], [false, 'float'], [true, 'bool']]) {
        const f = new RushFile(),
          none = f.none(),
          shape = [batch, tokens, heads, D];
        f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape }], outputs: ['y'] }, (m, x) => {
          const turn = (/** @type {number} */ v) => m.op('aten::transpose.int', [v, f.int(1), f.int(2)]);
          const shared = (/** @type {number} */ seed) => {
            const data = numbers(batch * S * groups * D, seed);
            return turned ? turn(f.tensor(data, [batch, S, groups, D])) : f.tensor(data, [batch, groups, S, D]);
          };
          const sizes = [batch, 1, tokens, S],
            random = numbers(batch * tokens * S, 9);
          const added =
            mask === 'float'
              ? f.tensor(random, sizes)
              : mask
                ? f.tensor(
                    Uint8Array.from(random, (v) => Number(v > -0.5)),
                    sizes,
                    { dtype: 'bool' },
                  )
                : none;
          const args = [turn(x), shared(3), shared(5), added, f.float(0), f.bool(!mask), none, f.bool(true)];
          return m.op('aten::scaled_dot_product_attention', args);
        });
        const what = `${batch} ${heads} ${groups} ${tokens} ${turned} ${mask}`,
          dispatches = tokens <= 4 ? 1 : 3;
        await agrees(f.bytes(), numbers(batch * tokens * heads * D, 7), { within: 1e-5, dispatches, what });
      }
  },

  'transposed convolutions': async () => {
    for (const [size, w, groups, stride, padding, more, dilation] of /** @type {number[][][]} */ ([
      [[2, 4, 7], [4, 3, 4], [1], [2], [1], [1], [1]],
      [[1, 6, 5, 7], [6, 2, 3, 2], [2], [2, 3], [1, 0], [1, 2], [1, 1]],
      [[2, 4, 3, 1], [4, 5, 2, 3], [1], [1, 1], [0, 2], [0, 0], [2, 3]],
      [[1, 1, 9, 8], [1, 1, 5, 5], [1], [3, 3], [4, 2], [0, 2], [2, 1]],
      [[1, 64, 4, 4], [64, 32, 2, 2], [1], [2, 2], [0, 0], [0, 0], [1, 1]],
    ]).map((c) => /** @type {[number[], number[], number[], number[], number[], number[], number[]]} */ (c)))
      for (const [name, half] of /** @type {[string, boolean][]} */ ([
        [`aten::conv_transpose${size.length - 2}d${size.length === 4 ? '.input' : ''}`, false],
        ['aten::convolution', true],
      ])) {
        const f = new RushFile(),
          product = (/** @type {number[]} */ of) => of.reduce((a, b) => a * b),
          [g = 1, each = 1] = [groups[0], w[1]],
          weight = numbers(product(w), 3);
        const args = [
          half ? f.tensor(halves(weight), w, { dtype: 'float16' }) : f.tensor(weight, w),
          f.tensor(numbers(g * each, 5), [g * each]),
          f.ints(stride),
          f.ints(padding),
        ];
        f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: size }], outputs: ['y'] }, (m, x) =>
          half
            ? m.op(name, [x, ...args, f.ints(dilation), f.bool(true), f.ints(more), f.int(g)])
            : m.op(name, [x, ...args, f.ints(more), f.int(g), f.ints(dilation)]),
        );
        const x = numbers(product(size), 7);
        [x[0], x[5]] = [Infinity, NaN];
        await agrees(f.bytes(), x, { within: 1e-5, dispatches: 1, what: `${name} ${size} ${w}` });
      }
  },
};
