// Tests of operators between the large ones, such as stack and index, which run as those of in-page.js do. The CPU's
// answers are the expected ones.

import { check, numbers, turn } from './in-page-helpers.js';

/** @typedef {import('../js/build-rush.mjs').RushFile} RushFile */

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'stack along each dimension, also of views': async () => {
    for (const dim of [0, 1, 2, -1])
      for (const turned of [false, true])
        await check(`${dim} ${turned}`, [3, 3], 3, (f, m, x) => {
          const y = turned ? turn(f, m, x, 0, 1) : x;
          return m.op('aten::stack', [m.op('prim::ListConstruct', [x, y, x], 'Tensor[]'), f.int(dim)]);
        });
    await check('many dimensions', [2, 1, 3, 1, 2, 2], 2, (f, m, x) =>
      m.op('aten::stack', [m.op('prim::ListConstruct', [x, x], 'Tensor[]'), f.int(3)]),
    );
  },

  'glu of each dimension, also of views': async () => {
    const how = { within: 1e-6, values: [NaN, Infinity, -Infinity, 80, -80] };
    for (const [shape, dim, turned] of /** @type {[number[], number, boolean][]} */ ([
      [[70, 6], -1, false],
      [[4, 6, 5], 1, false],
      [[2, 4, 1, 3], 0, false],
      [[2, 6, 4], 1, true],
    ]))
      await check(
        `${shape} ${dim}`,
        shape,
        1,
        (f, m, x) => m.op('aten::glu', [turned ? turn(f, m, x, 1, 2) : x, f.int(dim)]),
        how,
      );
  },

  'index of one dimension and of several, with indices in memory and on the device': async () => {
    const index = (/** @type {RushFile} */ f, /** @type {number[]} */ values) =>
      f.tensor(BigInt64Array.from(values, BigInt), [2, values.length / 2], { dtype: 'int64' });
    const at = (/** @type {any} */ m, /** @type {number} */ x, /** @type {number[]} */ list) =>
      m.op('aten::index.Tensor', [x, m.op('prim::ListConstruct', list, 'Tensor?[]')]);
    await check('the first', [4, 5, 3], 1, (f, m, x) => at(m, x, [index(f, [3, 0, 1, 1])]));
    await check('the middle', [4, 5, 3], 1, (f, m, x) => at(m, x, [f.none(), index(f, [4, 0, 1, 4])]));
    await check('two', [4, 5, 3], 1, (f, m, x) => at(m, x, [index(f, [3, 0]), index(f, [4, 2])]));
    await check('the last two', [4, 5, 3], 1, (f, m, x) => at(m, x, [f.none(), index(f, [3, 0]), index(f, [2, 1])]));
    await check('a negative one, in memory', [4, 3], 0, (f, m, x) => at(m, x, [index(f, [-1, 2])]));
    await check('of a result', [4, 3], 2, (f, m, x) => at(m, x, [m.op('aten::argmax', [x, f.int(1), f.bool(false)])]));
  },

  'instance_norm with and without factors': async () => {
    for (const turned of [false, true])
      for (const scaled of [false, true])
        await check(
          `${turned} ${scaled}`,
          [2, 5, 5, 70],
          turned ? 2 : 1,
          (f, m, x) => {
            const none = f.none(),
              [w, b] = scaled ? [3, 5].map((seed) => f.tensor(numbers(5, seed), [5])) : [none, none],
              y = turned ? turn(f, m, x, 1, 2) : x;
            const args = [y, w, b, none, none, f.bool(true), f.float(0.1), f.float(1e-5), f.bool(false)];
            return m.op('aten::instance_norm', args);
          },
          { within: 1e-5 },
        );
  },

  'grid_sampler with zeros and the border outside': async () => {
    const values = [NaN, 0, 1, -1, 1e30, 0, -1, 1, Infinity, 0.5];
    for (const border of [0, 1])
      for (const aligned of [false, true])
        await check(
          `${border} ${aligned}`,
          [2, 7, 9, 2],
          2,
          (f, m, x) => {
            const image = f.tensor(numbers(2 * 3 * 5 * 4, 5), [2, 3, 5, 4]),
              grid = m.op('aten::mul.Scalar', [x, f.float(1.5)]);
            return m.op('aten::grid_sampler', [image, grid, f.int(0), f.int(border), f.bool(aligned)]);
          },
          { within: 1e-5, values },
        );
  },

  'norms of order 2, also of numbers whose squares are out of range': async () => {
    for (const values of [[], [1e30, -2e30], [1e-30], [NaN], [Infinity, 1]])
      for (const keeps of [false, true])
        await check(
          `${values} ${keeps}`,
          [3, 70],
          1,
          (f, m, x) => m.op('aten::linalg_vector_norm', [x, f.int(2), f.ints([-1]), f.bool(keeps), f.none()]),
          { within: 1e-6, values },
        );
    for (const values of [[1e30], [1e-30], [0]])
      await check(
        `only ${values}`,
        [2, 1],
        1,
        (f, m, x) => m.op('aten::linalg_vector_norm', [x, f.int(2), f.ints([1]), f.bool(true), f.none()]),
        { values },
      );
  },
};
