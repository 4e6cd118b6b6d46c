// Tests of profile() on the GPU. They run as those of in-page.js do.

import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';
import { DISPATCHES, counting, equal, losing, ownGpu, replace, separateGpu } from './in-page-helpers.js';
import { X, layers, port } from './small-models.js';

const { GPUCommandEncoder, GPUDevice } = /** @type {any} */ (globalThis);

/** A GPU object whose adapter has no features. */
function withoutFeatures() {
  const { gpu } = separateGpu();
  return {
    requestAdapter: async () => {
      const { limits, info, requestDevice } = await gpu.requestAdapter();
      return { limits, info, requestDevice };
    },
  };
}

/** Counts timestamps that passes write, and passes. @param {(count: { passes: number, writes: number }) => any} body */
async function countingPasses(body) {
  const count = { passes: 0, writes: 0 };
  const undo = replace(
    GPUCommandEncoder.prototype,
    'beginComputePass',
    (own) =>
      function (/** @type {any} */ ...args) {
        count.passes++;
        if (args[0]?.timestampWrites) count.writes++;
        return own.apply(/** @type {any} */ (this), args);
      },
  );
  try {
    await body(count);
  } finally {
    undo();
  }
}

/** relu and a product on the GPU, and bitwise_not on the CPU. */
function mixed() {
  const f = layers();
  f.method('other', { inputs: [port], outputs: ['y'] }, (m, x) =>
    m.op('aten::bitwise_not', [m.op('aten::argmax', [m.op('aten::relu', [x]), f.int(1), f.bool(false)])]),
  );
  return f.bytes();
}

/** relu, n times. */
function looped() {
  const f = new RushFile();
  f.method('forward', { inputs: [port, { name: 'n', type: 'int' }], outputs: ['y'] }, (m, x, n) => {
    const [y = x] = m.loop(n, [x], (_, v) => [m.op('aten::relu', [v])]);
    return y;
  });
  return f.bytes();
}

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'profile() has the time of each kernel, if the adapter has timestamps': async () => {
    const adapter = await ownGpu().requestAdapter();
    equal(adapter.features.has('timestamp-query'), true); // of both adapters in software
    const model = await load(mixed(), { device: 'webgpu', gpu: separateGpu().gpu });
    await countingPasses(async (count) => {
      await model.run({ x: X });
      equal(count, { passes: 1, writes: 0 });
      const rows = await model.profile({ x: X }, { runs: 3 });
      equal(count, { passes: 10, writes: 9 }); // each kernel is a pass
      equal(rows.map(({ op, calls }) => [op, calls]).sort(), [
        ['aten::linear', 3],
        ['aten::relu', 3],
        ['aten::sigmoid', 3],
      ]);
      let last = Infinity;
      for (const { ms, gpuMs = NaN } of rows) {
        if (!(gpuMs >= 0 && gpuMs < 10000 && ms + gpuMs <= last)) throw new Error(`${gpuMs} ms after ${last} ms`);
        last = ms + gpuMs;
      }
      const other = await model.profile({ x: X }, { method: 'other' });
      const inMemory = other.find(({ op }) => op === 'aten::bitwise_not'); // waits for its argument
      equal([inMemory?.calls, inMemory?.gpuMs], [1, 0]);
      await model.run({ x: X });
      equal(count, { passes: 13, writes: 11 });
    });
    model.dispose();
  },

  'profile() sums the times of a loop and of several submits': async () => {
    const model = await load(looped(), { device: 'webgpu', gpu: separateGpu().gpu });
    const n = 1500; // more than a submit has
    await counting([...DISPATCHES, [GPUDevice.prototype, 'createQuerySet']], async (count) => {
      const [row] = await model.profile({ x: X, n });
      equal([row?.op, row?.calls, count.dispatchWorkgroups, count.createQuerySet], ['aten::relu', n, n, 2]);
      if (!(Number(row?.gpuMs) >= 0)) throw new Error(`${row?.gpuMs} ms`);
    });
    model.dispose();
  },

  'profile() has no times of kernels on an adapter without timestamps': async () => {
    const model = await load(layers().bytes(), { device: 'webgpu', gpu: withoutFeatures() });
    const rows = await model.profile({ x: X });
    equal([rows.length, rows.some((row) => 'gpuMs' in row), model.backend.device], [3, false, 'webgpu']);
    model.dispose();
    const cpu = await load(layers().bytes());
    equal(
      (await cpu.profile({ x: X })).some((row) => 'gpuMs' in row),
      false,
    );
  },

  'profile() of a device that is lost has no times of kernels afterwards': async () => {
    await losing(15, async (gpu, lost) => {
      const model = await load(layers().bytes(), { device: 'webgpu', gpu });
      const first = await model.profile({ x: X }).catch((e) => e);
      if (lost()) {
        equal([first.code, model.backend.device], ['device-lost', undefined]);
        const rows = await model.profile({ x: X });
        equal([rows.length, rows.some((row) => 'gpuMs' in row)], [3, false]);
      } else equal(first.length, 3);
      model.dispose();
    });
  },

  'profile() stops by its signal, and the next run is not measured': async () => {
    const model = await load(looped(), { device: 'webgpu', gpu: separateGpu().gpu });
    const stopped = await model
      .profile({ x: X, n: 1e9 }, { signal: AbortSignal.timeout(50) })
      .catch((/** @type {any} */ e) => e.code);
    equal(stopped, 'aborted');
    await countingPasses(async (count) => {
      await model.run({ x: X, n: 1 });
      equal(count, { passes: 1, writes: 0 });
    });
    model.dispose();
  },
};
