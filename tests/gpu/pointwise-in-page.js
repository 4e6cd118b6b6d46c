// Tests of pointwise operators, of masks and of reductions, which run as those of in-page.js do. The CPU's answers are
// the expected ones.

import { check, numbers, turn } from './in-page-helpers.js';

/** @typedef {import('../js/build-rush.mjs').RushFile} RushFile */
/** @typedef {(f: RushFile, m: any, x: number) => number} Body */

const ODD = [NaN, Infinity, -Infinity, 0, -0, 1e-40, -1e-40, 0.5, -0.5, 1.5, 2.5, -2.5, 1e30, 3];

/** Numbers that often equal those of ODD, negated as the tests negate their input. @param {number} n */
const others = (n) => numbers(n, 5).map((v, i) => (i % 3 ? -Number(ODD[i % ODD.length]) : v));

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'comparisons of floats give bool on the GPU': async () => {
    for (const shape of [[1], [2], [3], [4], [5], [255], [257], [3, 5, 9]])
      for (const name of shape.length > 1 ? ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] : ['le']) {
        const numel = shape.reduce((a, b) => a * b),
          how = { values: ODD.slice(0, numel) };
        await check(`${name} ${shape}`, shape, 1, (f, m, x) => m.op(`aten::${name}.Scalar`, [x, f.float(-0.5)]), how);
        await check(
          `${name} ${shape}, a tensor`,
          shape,
          1,
          (f, m, x) => m.op(`aten::${name}.Tensor`, [x, f.tensor(others(numel), shape)]),
          how,
        );
      }
    for (const scalar of [NaN, Infinity, 0])
      await check('odd', [20], 1, (f, m, x) => m.op('aten::le.Scalar', [x, f.float(scalar)]), { values: ODD });
    for (const name of ['isnan', 'isinf', 'isfinite', 'isposinf', 'isneginf', 'signbit'])
      await check(name, [30], 1, (f, m, x) => m.op(`aten::${name}`, [x]), { values: ODD });
  },

  'masks are views, combine, select and become float32 on the GPU': async () => {
    const mask = (/** @type {RushFile} */ f, /** @type {any} */ m, /** @type {number} */ x) => {
      const a = m.op('aten::gt.Scalar', [x, f.float(-0.6)]),
        b = m.op('aten::lt.Scalar', [x, f.float(0.3)]);
      return m.op('aten::logical_xor', [m.op('aten::__and__.Tensor', [a, b]), m.op('aten::bitwise_not', [a])]);
    };
    const none = (/** @type {RushFile} */ f) => f.none();
    await check('bits', [5, 7], 5, mask);
    await check('or', [5, 7], 3, (f, m, x) =>
      m.op('aten::logical_or', [m.op('aten::isnan', [x]), m.op('aten::signbit', [x])]),
    );
    await check('where', [5, 7], 6, (f, m, x) => m.op('aten::where.ScalarOther', [mask(f, m, x), x, f.float(-9)]));
    await check('where of numbers', [5, 7], 6, (f, m, x) =>
      m.op('aten::where.Scalar', [mask(f, m, x), f.float(2), f.float(-9)]),
    );
    await check('a turned mask, broadcast', [5, 5], 6, (f, m, x) =>
      m.op('aten::masked_fill.Scalar', [x, turn(f, m, mask(f, m, x), 0, 1), f.float(7)]),
    );
    await check('float32', [5, 7], 6, (f, m, x) => {
      const row = m.op('aten::view', [mask(f, m, x), f.ints([35])]),
        back = m.op('aten::reshape', [row, f.ints([7, 5])]);
      return m.op('aten::to.dtype', [turn(f, m, back, 0, 1), f.int(6), f.bool(false), f.bool(false), none(f)]);
    });
    await check(
      'bool',
      [21],
      1,
      (f, m, x) => m.op('aten::to.dtype', [x, f.int(11), f.bool(false), f.bool(false), none(f)]),
      {
        values: ODD,
      },
    );
    await check('read by the CPU', [5, 7], 5, (f, m, x) => m.op('aten::any', [mask(f, m, x)]));
    // Masks in memory are combined there, and uploaded once.
    await check('in memory', [2, 3], 1, (f, m, x) => {
      const of = (/** @type {number[]} */ bits) => f.tensor(Uint8Array.from(bits), [2, 3], { dtype: 'bool' });
      const both = m.op('aten::logical_and', [of([1, 1, 0, 1, 0, 1]), of([0, 1, 1, 1, 1, 1])]);
      return m.op('aten::masked_fill.Scalar', [x, both, f.float(7)]);
    });
  },

  'rounding, logarithms and activations': async () => {
    const exact = { values: ODD },
      close = { within: 2e-6, values: ODD.filter((v) => Math.abs(v) < 1e30) };
    const check1 = async (/** @type {string} */ name, /** @type {any[]} */ more, /** @type {any} */ how) =>
      check(
        `${name} ${more}`,
        [7, 30],
        1,
        (f, m, x) => {
          const y = how.wide ? m.op('aten::mul.Scalar', [x, f.float(how.wide)]) : x;
          return m.op(`aten::${name}`, [y, ...more.map((v) => f.float(v))]);
        },
        how,
      );
    for (const name of ['floor', 'ceil', 'trunc', 'round', 'sign', 'absolute', 'negative'])
      await check1(name, [], exact);
    for (const name of ['rsqrt', 'log1p', 'mish', 'selu', 'log_sigmoid']) await check1(name, [], close);
    for (const [name, ...more] of /** @type {[string, ...number[]][]} */ ([
      ['softplus', 1, 20],
      ['softplus', 3, 0.5],
      ['celu', 0.7],
      ['threshold', 0.1, 5],
      ['hardshrink', 0.5],
      ['softshrink', 0.5],
      ['pow.Tensor_Scalar', -2],
      ['pow.Tensor_Scalar', -0.5],
    ]))
      await check1(name, more, close);
    const other = (/** @type {RushFile} */ f, seed = 3) => f.tensor(numbers(210, seed), [7, 30]);
    await check('lerp', [7, 30], 1, (f, m, x) => m.op('aten::lerp.Tensor', [x, other(f), other(f, 4)]), close);
    await check('lerp by a number', [7, 30], 1, (f, m, x) => m.op('aten::lerp.Scalar', [x, other(f), f.float(0.3)]), {
      within: 2e-6,
    });
    await check('addcdiv', [7, 30], 1, (f, m, x) => m.op('aten::addcdiv', [x, other(f), other(f, 4), f.float(0.3)]), {
      within: 2e-6,
    });
    for (const name of ['subtract.Tensor', 'true_divide.Tensor', 'max.other', 'min.other'])
      await check(
        name,
        [7, 30],
        1,
        (f, m, x) => m.op(`aten::${name}`, name[0] === 's' ? [x, other(f), f.int(2)] : [x, other(f)]),
        { within: 1e-6, values: ODD },
      );
  },

  'a number in a tensor without dimensions is a parameter of the kernel': async () => {
    for (const [dtype, data] of /** @type {[string, any][]} */ ([
      ['int64', BigInt64Array.of(7n)],
      ['int32', Int32Array.of(-3)],
      ['uint8', Uint8Array.of(200)],
      ['float32', Float32Array.of(0.3)],
      ['float64', Float64Array.of(0.1)],
    ]))
      for (const name of ['div.Tensor', 'mul.Tensor', 'maximum'])
        await check(`${name} ${dtype}`, [3, 5], 1, (f, m, x) =>
          m.op(`aten::${name}`, [x, f.tensor(data, [], { dtype })]),
        );
  },

  'int64 operands are converted to float32 exactly': async () => {
    const base = [0n, 1n, -1n, 16777215n, 16777217n, 16777219n, -16777217n, 4294967295n, 4294967296n, -4294967296n];
    const large = [2n ** 62n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 40n + 2n ** 16n, 2n ** 40n + 2n ** 16n + 1n];
    const values = BigInt64Array.from([...base, ...large, ...large.map((v) => v ^ 0x5a5a5a5a5a5a5n)]);
    const shape = [5, values.length];
    for (const [name, ints] of /** @type {[string, number[]][]} */ ([
      ['mul.Tensor', [values.length]],
      ['sub.Tensor', [1, values.length]],
      ['maximum', [values.length]],
    ]))
      await check(name, shape, 1, (f, m, x) => {
        const y = f.tensor(values, ints, { dtype: 'int64' });
        return m.op(`aten::${name}`, name === 'sub.Tensor' ? [x, y, f.int(1)] : [x, y]);
      });
  },

  'repeat, also of views and along new dimensions': async () => {
    for (const [shape, turned, repeats] of /** @type {[number[], boolean, number[]][]} */ ([
      [[3, 5], false, [2, 1]],
      [[3, 5], true, [1, 4]],
      [[7], false, [3, 2, 2]],
      [[2, 1, 5], false, [2, 3, 1]],
      [[2, 3, 4], true, [2, 2, 2]],
    ]))
      await check(`${shape} ${repeats}`, shape, 1, (f, m, x) =>
        m.op('aten::repeat', [turned ? turn(f, m, x, 0, 1) : x, f.ints(repeats)]),
      );
  },

  'sums, means, extremes and variances of all elements and of dimensions': async () => {
    const none = (/** @type {RushFile} */ f) => f.none();
    for (const shape of [[1], [3, 5], [2, 70, 3], [5000], [3, 9001]]) {
      const how = { within: 2e-6, values: [1e3] };
      for (const name of ['sum', 'mean', 'max', 'min'])
        await check(
          `${name} ${shape}`,
          shape,
          1,
          (f, m, x) => m.op(`aten::${name}`, name.length === 3 && name[0] === 'm' ? [x] : [x, none(f)]),
          how,
        );
      for (const [name, at] of /** @type {[string, number][]} */ (
        ['max.dim', 'min.dim'].flatMap((n) => [
          [n, 0],
          [n, 1],
        ])
      ))
        await check(
          `${name} ${at} ${shape}`,
          shape,
          2,
          (f, m, x) => m.ops(`aten::${name}`, [x, f.int(0), f.bool(false)], ['Tensor', 'Tensor'])[at],
          { values: shape.length > 1 ? [NaN, 2, 2, Infinity] : [] },
        );
      await check(
        `logsumexp ${shape}`,
        shape,
        1,
        (f, m, x) => m.op('aten::logsumexp', [x, f.ints([-1]), f.bool(true)]),
        { within: 2e-6, values: [90, 100] },
      );
      if (shape[0] === 1) continue;
      for (const name of ['var', 'std'])
        for (const correction of [0, 1])
          await check(
            `${name} ${correction} ${shape}`,
            shape,
            1,
            (f, m, x) => m.op(`aten::${name}.correction`, [x, f.ints([0]), f.int(correction), f.bool(false)]),
            { within: 1e-5 },
          );
    }
    for (const values of [[Infinity, 1], [NaN], [-Infinity], []])
      for (const at of [0, 1])
        await check(
          `var_mean ${values} ${at}`,
          [4, 66],
          2,
          (f, m, x) =>
            m.ops('aten::var_mean.dim', [x, f.ints([1]), f.bool(true), f.bool(true)], ['Tensor', 'Tensor'])[at],
          { within: 1e-5, values },
        );
    for (const values of [[Infinity], Array(5).fill(Infinity), [NaN]])
      await check(
        `logsumexp of ${values}`,
        [2, 5],
        1,
        (f, m, x) => m.op('aten::logsumexp', [x, f.ints([1]), f.bool(false)]),
        { within: 1e-6, values },
      );
  },

  'reductions of views, and of dimensions that do not follow each other': async () => {
    const none = (/** @type {RushFile} */ f) => f.none();
    for (const [dims, turned, dispatches] of /** @type {[number[], boolean, number][]} */ ([
      [[0, 2], false, 2],
      [[1, 3], true, 2],
      [[-1], true, 2],
      [[0, 1], true, 2],
      [[1, 2], false, 1],
    ]))
      for (const keeps of [false, true]) {
        const what = `${dims} ${turned} ${keeps}`,
          how = { within: 2e-6, values: [3, NaN] };
        const from = (/** @type {RushFile} */ f, /** @type {any} */ m, /** @type {number} */ x) =>
          turned ? turn(f, m, x, 1, 3) : x;
        await check(
          `mean ${what}`,
          [3, 4, 5, 66],
          dispatches,
          (f, m, x) => m.op('aten::mean.dim', [from(f, m, x), f.ints(dims), f.bool(keeps), none(f)]),
          how,
        );
        await check(
          `norm ${what}`,
          [3, 4, 5, 66],
          dispatches,
          (f, m, x) =>
            m.op('aten::linalg_vector_norm', [from(f, m, x), f.int(2), f.ints(dims), f.bool(keeps), none(f)]),
          how,
        );
      }
    for (const at of [0, 1])
      await check(
        `max.dim ${at}`,
        [4, 70, 3],
        3,
        (f, m, x) => m.ops('aten::max.dim', [turn(f, m, x, 0, 2), f.int(1), f.bool(true)], ['Tensor', 'Tensor'])[at],
        { values: [1, 1, 1, NaN, 5, 5, 5] },
      );
    await check(
      'argmax',
      [6, 11],
      2,
      (f, m, x) => m.op('aten::argmax', [turn(f, m, x, 0, 1), none(f), f.bool(false)]),
      {
        values: [-7, 0, -7],
      },
    );
    for (const size of [1, 2])
      await check(
        `adaptive_avg_pool2d ${size}, channels last`,
        [2, 7, 5, 3],
        1,
        (f, m, x) => {
          const image = m.op('aten::permute', [x, f.ints([0, 3, 1, 2])]);
          return m.op('aten::adaptive_avg_pool2d', [image, f.ints([size, size])]);
        },
        { within: 2e-6 },
      );
  },
};
