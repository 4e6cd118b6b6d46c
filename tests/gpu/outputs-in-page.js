// Tests of inputs and outputs that stay on the GPU. They run as those of in-page.js do.

import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';
import { CALLS, DISPATCHES, counting, equal, note, ownGpu, separateGpu } from './in-page-helpers.js';
import { X, close, counter, layers, linearOf, port, sigmoid } from './small-models.js';

/** @typedef {import('../../js/src/index.js').GpuTensor} GpuTensor */

const { GPUBufferUsage } = /** @type {any} */ (globalThis);

/** @param {Uint8Array} file @returns {Promise<any>} */
const onGpu = (file) => load(file, { device: 'webgpu', gpu: ownGpu() });

/** Returns 2 x of any shape. */
function doubled() {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32' }], outputs: ['y'] }, (m, x) =>
    m.op('aten::add.Tensor', [x, x, f.int(1)]),
  );
  return f.bytes();
}

/**
 * A buffer of the caller with these bytes after `offset` others.
 * @param {any} device @param {ArrayBufferView} data @param {number} [offset]
 */
function bufferOf(device, data, offset = 0) {
  const bytes = new Uint8Array(offset + ((data.byteLength + 3) & -4)),
    usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
  const buffer = device.createBuffer({ size: bytes.length, usage });
  device.queue.writeBuffer(buffer, 0, bytes);
  return buffer;
}

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'outputs stay on the GPU, and are inputs of another model there': async () => {
    const first = await onGpu(layers().bytes()),
      second = await onGpu(doubled());
    for (let k = 0; k < 2; k++)
      await counting([...DISPATCHES, ...CALLS.filter(([, name]) => name === 'writeBuffer')], async (count) => {
        const { y } = await first.run({ x: X }, { outputDevice: 'webgpu' });
        equal([y.dtype, y.shape, y.offset, y.size, y.device], ['float32', [2, 4], 0, 32, undefined]);
        equal(y.gpuBuffer.size, 32);
        const out = await second.run({ x: y }, { outputDevice: 'webgpu' });
        equal([count.dispatchWorkgroups, count.submit, count.mapAsync], [4, 3, 0]);
        equal(count.writeBuffer, 3); // the input, and parameters of both runs
        const { dtype, shape, data } = await out.y.download();
        equal([dtype, shape, count.mapAsync], ['float32', [2, 4], 1]);
        close(
          data,
          linearOf((v) => 2 * sigmoid(v)),
        );
        data.forEach((/** @type {number} */ v, /** @type {number} */ i) =>
          note(v, Number(linearOf((w) => 2 * sigmoid(w))[i])),
        );
        y.dispose();
        out.y.dispose();
      });
    first.dispose();
    second.dispose();
  },

  'a run takes the buffers of results that were disposed, and makes no others': async () => {
    const model = await onGpu(doubled()),
      at = Float32Array.of(1, 2, 3);
    const run = async (/** @type {Float32Array} */ x) => (await model.run({ x }, { outputDevice: 'webgpu' })).y;
    const first = await run(at),
      second = await run(X);
    first.dispose();
    first.dispose();
    await counting(
      CALLS.filter(([, name]) => name === 'createBuffer'),
      async (count) => {
        const third = await run(at);
        equal([third.gpuBuffer === first.gpuBuffer, count.createBuffer], [true, 0]);
        third.dispose();
        const fourth = await run(X); // while `second` is still there
        equal([fourth.gpuBuffer === third.gpuBuffer, count.createBuffer], [false, 1]);
        equal([...(await fourth.download()).data], [...(await second.download()).data]);
        count.createBuffer = 0;
        const fifth = await run(at); // the run before had no use for the buffer of the third
        equal([fifth.gpuBuffer === third.gpuBuffer, count.createBuffer], [false, 1]);
        model.dispose();
        equal([...(await fifth.download()).data], [2, 4, 6]);
        for (const tensor of [second, fourth, fifth]) tensor.dispose();
      },
    );
  },

  'an input comes from a GPUBuffer, and is as it was when the run began': async () => {
    const model = await onGpu(doubled()),
      { gpuDevice } = model.backend,
      gpuBuffer = bufferOf(gpuDevice, X, 8);
    const run = model.run({ x: { gpuBuffer, offset: 8, dtype: 'float32', shape: [3, 2] } });
    gpuDevice.queue.writeBuffer(gpuBuffer, 0, new Uint8Array(gpuBuffer.size));
    const { y } = await run;
    equal([y.shape, ...y.data], [[3, 2], ...X.map((v) => 2 * v)]);
    const hinted = await onGpu(layers().bytes());
    close((await hinted.run({ x: { gpuBuffer: bufferOf(gpuDevice, X) } })).y.data, linearOf(sigmoid));
    const called = await hinted.call('forward', { gpuBuffer: bufferOf(gpuDevice, X) });
    close(called.data, linearOf(sigmoid));
    model.dispose();
    hinted.dispose();
  },

  'buffers of every dtype go in and come out': async () => {
    const f = new RushFile();
    f.method('forward', { inputs: [{ name: 'x' }], outputs: ['x', 'twice'] }, (m, x) => {
      const twice = m.op('aten::cat', [m.op('prim::ListConstruct', [x, x], 'Tensor[]'), f.int(0)]);
      return m.op('prim::TupleConstruct', [x, twice], '(Tensor, Tensor)');
    });
    const model = await onGpu(f.bytes());
    const rows = /** @type {[string, any][]} */ ([
      ['int64', BigInt64Array.of(-1n, 2n ** 60n, 3n)],
      ['float64', Float64Array.of(0.1, -Infinity, 1e300)],
      ['uint8', Uint8Array.of(1, 2, 255)],
      ['bool', Uint8Array.of(1, 0, 1)],
      ['int16', Int16Array.of(-1, 2, 3)],
      ['bfloat16', Uint16Array.of(1, 2, 3)],
      ['complex64', Float32Array.of(1, 2, 3, 4, 5, 6)],
      ['float32', Float32Array.of(1, NaN, -0)],
    ]);
    for (const [dtype, data] of rows) {
      const gpuBuffer = bufferOf(model.backend.gpuDevice, data),
        inputs = { x: { gpuBuffer, dtype, shape: [3] } };
      const there = await model.run(inputs, { outputDevice: 'webgpu' }),
        here = await model.run(inputs);
      for (const name of ['x', 'twice']) {
        const { shape, data: bytes } = await there[name].download();
        equal([dtype, name, there[name].dtype, shape], [dtype, name, dtype, [name === 'x' ? 3 : 6]]);
        equal(Array.from(bytes, String), Array.from(here[name].data, String));
        equal(bytes.constructor.name, data.constructor.name);
      }
      equal(Array.from(here.x.data, String), Array.from(data, String));
    }
    model.dispose();
  },

  'views, transposed and empty tensors stay on the GPU in row-major order': async () => {
    const f = new RushFile();
    f.method('forward', { inputs: [port], outputs: ['y'] }, (m, x) => {
      const h = m.op('aten::relu', [x]);
      const part = m.op('aten::slice.Tensor', [h, f.int(0), f.int(1), f.int(2), f.int(1)]),
        none = m.op('aten::slice.Tensor', [h, f.int(0), f.int(0), f.int(0), f.int(1)]),
        turned = m.op('aten::transpose.int', [h, f.int(0), f.int(1)]),
        column = m.op('aten::select.int', [h, f.int(1), f.int(2)]);
      return m.op('prim::ListConstruct', [h, part, none, turned, column, h], 'Tensor[]');
    });
    const model = await onGpu(f.bytes());
    await counting(DISPATCHES, async (count) => {
      const tensors = await model.run({ x: X }, { outputDevice: 'webgpu' }).then((/** @type {any} */ { y }) => y);
      equal(count, { dispatchWorkgroups: 3, submit: 1, mapAsync: 0 });
      equal(
        tensors.map((/** @type {GpuTensor} */ t) => t.shape),
        [[2, 3], [1, 3], [0, 3], [3, 2], [2], [2, 3]],
      );
      const all = await Promise.all(tensors.map((/** @type {GpuTensor} */ t) => t.download()));
      equal(
        all.map(({ data }) => [...data]),
        [[0, 0, 0, 0.5, 1.5, 2.5], [0.5, 1.5, 2.5], [], [0, 0.5, 0, 1.5, 0, 2.5], [0, 2.5], [0, 0, 0, 0.5, 1.5, 2.5]],
      );
    });
    model.dispose();
  },

  'results outlive the model, runs after them, and each other': async () => {
    const model = await onGpu(doubled());
    const first = (await model.run({ x: X }, { outputDevice: 'webgpu' })).y;
    const second = (await model.run({ x: X.map((v) => v + 1) }, { outputDevice: 'webgpu', outputs: ['y'] })).y;
    await model.run({ x: X.map((v) => 7 * v) });
    first.dispose();
    model.dispose();
    equal([...(await second.download()).data], [...X.map((v) => 2 * v + 2)]);
  },

  'a model with state takes and gives tensors on the GPU': async () => {
    const model = await onGpu(counter());
    let { y } = await model.run({ x: X }, { outputDevice: 'webgpu' });
    ({ y } = await model.run({ x: y }, { outputDevice: 'webgpu' }));
    ({ y } = await model.run({ x: y }));
    equal([...y.data], [...X.map((v) => 4 * v)]);
    equal([.../** @type {any} */ ((await model.state()).total).data], [...X.map((v) => 4 * v)]);
    model.dispose();
  },

  'runs with outputs on the GPU keep memory flat, and wait for their turn': async () => {
    const model = await onGpu(layers().bytes());
    /** @type {any} */ let live;
    for (let k = 0; k < 300; k++) {
      const runs = [1, 2].map(() => model.run({ x: X }, { outputDevice: 'webgpu' }));
      for (const { y } of await Promise.all(runs)) y.dispose();
      if (k === 3) live = await model.memory();
    }
    const after = await model.memory();
    equal([after.live, after.heap], [live.live, live.heap]);
    const { y } = await model.run({ x: X }, { outputDevice: 'webgpu' });
    const queued = [model.run({ x: X }), model.run({ x: { gpuBuffer: bufferOf(model.backend.gpuDevice, X) } })];
    for (const one of await Promise.all(queued)) close(one.y.data, linearOf(sigmoid));
    close((await y.download()).data, linearOf(sigmoid));
    y[Symbol.dispose]();
    equal(y.disposed, true);
    model.dispose();
  },

  'profile(), steps() and functions of `ops` take inputs on the GPU': async () => {
    const model = await load(doubled(), { device: 'webgpu', gpu: separateGpu().gpu });
    const x = { gpuBuffer: bufferOf(model.backend.gpuDevice, X), dtype: 'float32', shape: [6] };
    const rows = await model.profile({ x }, { runs: 2 });
    equal([rows.length, rows[0]?.calls, 'gpuMs' in (rows[0] ?? {})], [1, 2, true]);
    const steps = await model.steps({ x });
    const { results } = await steps.step();
    equal([.../** @type {any} */ (results[0]).data], [...X.map((v) => 2 * v)]);
    await steps.end();
    model.dispose();
  },
};
