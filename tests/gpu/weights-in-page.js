// Tests of weights in float16, 8 and 4 bits on the device, which run as those of in-page.js do. The CPU's answers are
// the expected ones.

import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';
import { DISPATCHES, agrees, counting, equal, halves, note, numbers, replace, separateGpu } from './in-page-helpers.js';
import { llamaShaped, stepOf } from './llama-shaped.js';

const { GPUDevice, GPUQueue } = /** @type {any} */ (globalThis);
/** @type {[any, string][]} */
const MAKES = [
  [GPUDevice.prototype, 'createBuffer'],
  [GPUDevice.prototype, 'createComputePipeline'],
];

/**
 * @typedef {object} How
 * @property {number} [m] @property {number} [n] @property {number} [k] @property {number} [group]
 * @property {4 | 8} [bits] @property {8 | 16} [rows] bits of the rows
 * @property {'none' | 'zeros' | 'minima'} [offsets]
 * @property {boolean} [scalesInHalf] @property {boolean} [bias]
 * @property {[number, number]} [limits]
 * @property {number[]} [shape] of the input, whose last dimensions are turned into [..., k] if it is `turned`
 * @property {boolean} [turned]
 */

/** @param {number} m @param {number} k @param {How} how */
const inputOf = (m, k, { shape = [m, k] }) => ({ name: 'x', dtype: 'float32', shape });

/**
 * Exchanges the last two dimensions of -x, if it is `turned`.
 * @param {any} f @param {any} p @param {number} x @param {How} how
 */
const turnedBack = (f, p, x, { turned }) =>
  turned ? p.op('aten::transpose.int', [p.op('aten::neg', [x]), f.int(-2), f.int(-1)]) : x;

/** rush::linear_weights. @param {How} how */
function weights({ m = 1, n = 8, k = 32, group = 32, bits = 4, rows = 16, offsets = 'none', bias, ...how }) {
  const f = new RushFile(),
    groups = Math.ceil(k / group),
    bytes = bits === 4 ? Math.ceil(k / 2) : k,
    raw = Uint8Array.from(numbers(n * bytes, 3), (v) => v * 127 + 128),
    w = bits === 4 ? f.tensor(raw, [n, bytes]) : f.tensor(new Int8Array(raw.buffer), [n, bytes]);
  const real = (/** @type {Float32Array} */ v) =>
    how.scalesInHalf ? f.tensor(halves(v), [n, groups], { dtype: 'float16' }) : f.tensor(v, [n, groups]);
  const scales = real(numbers(n * groups, 5).map((v) => (v + 1.25) / 16)),
    offset = {
      none: () => f.none(),
      zeros: () =>
        f.tensor(
          Uint8Array.from(numbers(n * groups, 7), (v) => v * 7 + 8),
          [n, groups],
        ),
      minima: () => real(numbers(n * groups, 7)),
    }[offsets](),
    [min, max] = how.limits ?? [-Infinity, Infinity];
  f.method('forward', { inputs: [inputOf(m, k, how)], outputs: ['y'] }, (p, x) =>
    p.op('rush::linear_weights', [
      turnedBack(f, p, x, how),
      w,
      scales,
      offset,
      bias ? f.tensor(numbers(n, 9), [n]) : f.none(),
      f.int(bits),
      f.int(k),
      f.int(group),
      f.float(min),
      f.float(max),
      f.int(rows),
    ]),
  );
  return f.bytes();
}

/** rush::linear_int8. @param {How} how */
function bytesOf({ m = 1, n = 8, k = 32, bias, limits: [min, max] = [-Infinity, Infinity], ...how }) {
  const f = new RushFile(),
    w = f.tensor(
      Int8Array.from(numbers(n * k, 3), (v) => v * 127),
      [n, k],
    ),
    scales = f.tensor(
      numbers(n, 5).map((v) => (v + 1.25) / 128),
      [n],
    );
  f.method('forward', { inputs: [inputOf(m, k, how)], outputs: ['y'] }, (p, x) =>
    p.op('rush::linear_int8', [
      turnedBack(f, p, x, how),
      w,
      scales,
      bias ? f.tensor(numbers(n, 9), [n]) : f.none(),
      f.float(min),
      f.float(max),
    ]),
  );
  return f.bytes();
}

/** rush::linear with a float16 weight. @param {How} how @param {Uint16Array} weight */
function halfLinear({ m = 1, n = 8, k = 32, bias }, weight) {
  const f = new RushFile(),
    w = f.tensor(weight, [n, k], { dtype: 'float16' });
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [m, k] }], outputs: ['y'] }, (p, x) =>
    p.op('rush::linear', [x, w, bias ? f.tensor(numbers(n, 9), [n]) : f.none(), f.float(-Infinity), f.float(Infinity)]),
  );
  return f.bytes();
}

/** Sizes around the borders of tiles, groups, words and pieces. @type {[number, number, number, number][]} */
const SIZES = [
  [1, 8, 32, 32],
  [1, 9, 64, 32],
  [4, 17, 96, 32],
  [5, 33, 64, 32],
  [33, 31, 160, 64],
  [32, 32, 16, 16],
  [1, 7, 33, 32],
  [2, 5, 31, 7],
  [6, 35, 37, 5],
  [3, 3, 1, 1],
  [1, 16, 520, 512],
  [7, 9, 300, 300],
  [2, 6, 72, 24],
  [1, 9, 1056, 32],
  [6, 9, 1056, 32],
];

/** Rows of numbers; the second one has a NaN, and the third one an infinity. @param {number} m @param {number} k */
function rowsOf(m, k) {
  const x = numbers(m * k, 11);
  if (m > 2) {
    x[2 * k - 1] = NaN;
    x[2 * k] = Infinity;
  }
  if (m > 3) x.fill(0, 3 * k, 4 * k);
  return x;
}

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'weights of 4 and 8 bits, with sizes around borders': async () => {
    for (const [m, n, k, group] of SIZES)
      for (const [bits, offsets] of /** @type {const} */ ([
        [4, 'none'],
        [4, 'zeros'],
        [4, 'minima'],
        [8, 'none'],
        [8, 'minima'],
      ])) {
        const how = { m, n, k, group, bits, offsets, bias: n % 2 === 1, scalesInHalf: m % 2 === 1 };
        await agrees(weights(how), rowsOf(m, k), { within: 1e-6, dispatches: 2, what: JSON.stringify(how) });
      }
  },

  'rows of 8 bits are rounded as on the CPU': async () => {
    for (const [m, n, k, group] of SIZES) {
      for (const offsets of /** @type {const} */ (['none', 'zeros', 'minima'])) {
        const how = { m, n, k, group, offsets, rows: /** @type {const} */ (8), bias: n % 2 === 1 };
        await agrees(weights(how), rowsOf(m, k), { within: 1e-6, dispatches: 2, what: JSON.stringify(how) });
      }
      const how = { m, n, k, bias: n % 2 === 1 };
      await agrees(bytesOf(how), rowsOf(m, k), { within: 1e-6, dispatches: 2, what: `int8 ${JSON.stringify(how)}` });
    }
  },

  'rows of 8 bits at the borders of a range': async () => {
    const k = 64;
    for (const [what, one] of /** @type {[string, (i: number) => number][]} */ ([
      ['ties', (i) => (i === 0 ? 127 : i % 20) + (i % 2) / 2],
      ['negative', (i) => -1 - i],
      ['tiny', (i) => (i - 32) * 1e-38],
      ['small', (i) => (i - 32) * 1e-34],
      ['large', (i) => (i - 32) * 1e36],
      ['zero', () => 0],
      ['subnormal', (i) => i * 1e-42],
    ])) {
      const x = Float32Array.from({ length: k }, (_, i) => one(i));
      for (const file of [weights({ k, rows: 8 }), bytesOf({ k })])
        await agrees(file, x, { within: 1e-6, dispatches: 2, what });
    }
  },

  'limits clamp the product of a quantized weight': async () => {
    const how = { m: 5, n: 9, k: 64, bias: true, limits: /** @type {[number, number]} */ ([0, 0.25]) };
    for (const file of [weights(how), bytesOf(how)])
      await agrees(file, rowsOf(5, 64), { within: 1e-6, dispatches: 2, what: 'limits' });
  },

  'limits in the wrong order give the second one': async () => {
    const limits = /** @type {[number, number]} */ ([1, -1]);
    for (const m of [1, 6]) {
      const how = { m, n: 9, k: 64, limits };
      for (const file of [weights(how), weights({ ...how, rows: 8 }), bytesOf(how)]) {
        const model = await load(file);
        equal(/** @type {any} */ ((await model.run({ x: numbers(m * 64, 3) })).y).data, new Array(9 * m).fill(-1));
        await agrees(file, numbers(m * 64, 3), { within: 0, dispatches: 2, what: 'limits' });
      }
      const f = new RushFile();
      f.method('forward', { inputs: [inputOf(m, 8, {})], outputs: ['y'] }, (p, x) =>
        p.op('rush::linear', [
          x,
          p.op('aten::neg', [f.tensor(numbers(32, 5), [4, 8])]),
          f.none(),
          f.float(1),
          f.float(-1),
        ]),
      );
      await agrees(f.bytes(), numbers(8 * m, 7), { within: 0, dispatches: 2, what: 'a weight that is computed' });
    }
  },

  'rows of tensors with more dimensions, and of views': async () => {
    const [n, k, group] = [9, 320, 32];
    for (const shape of /** @type {number[][]} */ ([
      [k],
      [2, 3, k],
      [1, 2, 2, k],
      [1, k, 5],
      [2, k, 3],
      [2, 2, k, 3],
    ])) {
      const turned = shape.at(-1) !== k,
        m = shape.reduce((a, b) => a * b) / k,
        own = { n, k, group, shape, turned, bias: true };
      const check = (/** @type {Uint8Array} */ file, /** @type {number} */ dispatches, /** @type {string} */ what) =>
        agrees(file, numbers(m * k, 13), { within: 1e-6, dispatches, what: `${what} ${shape}` });
      await check(weights({ ...own, offsets: 'minima' }), 2 + 2 * Number(turned), 'rows as they are');
      await check(weights({ ...own, rows: 8 }), 2 + 2 * Number(turned), 'rounded rows');
      await check(bytesOf(own), 2 + 2 * Number(turned), 'int8');
    }
  },

  'float16 weights: each number, and sizes around borders': async () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    await agrees(halfLinear({ n: 65536, k: 1 }, all), Float32Array.of(1), {
      within: 0,
      dispatches: 1,
      what: 'numbers',
    });
    for (const [m, n, k] of SIZES) {
      const how = { m, n, k, bias: n % 2 === 1 };
      await agrees(halfLinear(how, halves(numbers(n * k, 3))), numbers(m * k, 11), {
        within: 1e-5,
        dispatches: 1,
        what: JSON.stringify(how),
      });
    }
  },

  'convolutions with float16 weights': async () => {
    for (const groups of [1, 2]) {
      const f = new RushFile(),
        w = f.tensor(halves(numbers((6 * 4 * 9) / groups, 3)), [6, 4 / groups, 3, 3], { dtype: 'float16' });
      const [pairs, fours] = [f.ints([1, 2]), f.ints([1, 0, 2, 1])];
      f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [1, 4, 9, 7] }], outputs: ['y'] }, (p, x) =>
        p.op('rush::conv', [
          x,
          w,
          f.tensor(numbers(6, 9), [6]),
          pairs,
          fours,
          f.ints([2, 1]),
          f.int(groups),
          f.float(0),
          f.float(Infinity),
          f.int(0),
        ]),
      );
      await agrees(f.bytes(), numbers(4 * 63, 11), { within: 1e-5, dispatches: 1, what: `${groups} groups` });
    }
  },

  'transposed convolutions with groups, dilation and no bias': async () => {
    for (const [groups, dims, bias, half] of /** @type {[number, number, boolean, boolean][]} */ ([
      [1, 2, false, false],
      [2, 2, false, false],
      [2, 2, true, true],
      [4, 2, false, true],
      [2, 1, false, false],
    ])) {
      const f = new RushFile(),
        each = (/** @type {number[]} */ v) => f.ints(v.slice(0, dims)),
        shape = [4, 3, 3, 2].slice(0, dims + 2),
        size = shape.reduce((a, b) => a * b),
        input = [2, 4, 5, 6].slice(0, dims + 2),
        w = half ? f.tensor(halves(numbers(size, 3)), shape, { dtype: 'float16' }) : f.tensor(numbers(size, 3), shape);
      f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: input }], outputs: ['y'] }, (p, x) =>
        p.op(`aten::conv_transpose${dims}d${dims === 2 ? '.input' : ''}`, [
          x,
          w,
          bias ? f.tensor(numbers(3 * groups, 9), [3 * groups]) : f.none(),
          each([2, 3]),
          each([1, 2]),
          each([1, 0]),
          f.int(groups),
          each([3, 2]),
        ]),
      );
      const x = numbers(
        input.reduce((a, b) => a * b),
        11,
      );
      await agrees(f.bytes(), x, { within: 1e-5, dispatches: 1, what: `${groups} groups, ${dims}, ${half}` });
    }
  },

  'a token of a Llama-shaped model in 4 bits is one submit, and uploads its inputs': async () => {
    const cpu = await load(llamaShaped()),
      model = await load(llamaShaped(), { device: 'webgpu', gpu: separateGpu().gpu });
    let uploaded = 0;
    const undo = replace(
      GPUQueue.prototype,
      'writeBuffer',
      (own) =>
        function (/** @type {any} */ ...args) {
          uploaded += args[4] ?? args[2].byteLength;
          return own.apply(/** @type {any} */ (this), args);
        },
    );
    try {
      await counting([...DISPATCHES, ...MAKES], async (count) => {
        for (let at = 0; at < 5; at++) {
          for (const name in count) count[name] = 0;
          uploaded = 0;
          const step = async (/** @type {any} */ on) => /** @type {any} */ ((await on.run(stepOf(at))).y).data,
            [want, got] = [await step(cpu), await step(model)];
          want.forEach((/** @type {number} */ v, /** @type {number} */ i) => {
            note(v, got[i]);
            if (!(Math.abs(v - got[i]) <= 1e-3)) throw new Error(`step ${at}: ${got[i]} is not ${v}`);
          });
          if (at < 2) continue; // buffers are made
          equal(count, { dispatchWorkgroups: 37, submit: 1, mapAsync: 1, createBuffer: 0, createComputePipeline: 0 });
          equal(uploaded, 4 * (64 + 16) + 256 * 37); // and the parameters of the dispatches
        }
      });
    } finally {
      undo();
    }
    cpu.dispose();
    model.dispose();
  },
};
