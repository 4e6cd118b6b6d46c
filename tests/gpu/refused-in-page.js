// Tests of inputs and outputs on the GPU that are refused. They run as those of in-page.js do.

import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';
import { equal, losing, ownGpu, refused, separateGpu } from './in-page-helpers.js';
import { X, answerOf, close, counter, layers, linearOf, sigmoid } from './small-models.js';

const { GPUBufferUsage } = /** @type {any} */ (globalThis);
const KEPT = /** @type {any} */ ({ outputDevice: 'webgpu' });

/** A page clones no GPUBuffer, and Node makes an empty object of it. */
const CLONED =
  /^input "x"( must be plain data|: gpuBuffer must be a GPUBuffer, got Object| must be a tensor .*, got Object)/;

/** @param {any} device @param {object} [how] */
const bufferOf = (device, how) => device.createBuffer({ size: 24, usage: GPUBufferUsage.COPY_SRC, ...how });

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'inputs on the GPU that do not fit are refused by name, and the model stays usable': async () => {
    const { gpu } = separateGpu(),
      model = /** @type {any} */ (await load(layers().bytes(), { device: 'webgpu', gpu }));
    const { gpuDevice } = model.backend,
      gpuBuffer = bufferOf(gpuDevice);
    const destroyed = bufferOf(gpuDevice);
    destroyed.destroy();
    const other = await load(layers().bytes(), { device: 'webgpu', gpu: separateGpu().gpu });
    const far = await other.run({ x: X }, KEPT),
      gone = await model.run({ x: X }, KEPT);
    gone.y.dispose();
    const rows = /** @type {[unknown, RegExp][]} */ ([
      [{ gpuBuffer, shape: [7] }, /^input "x": the buffer must have 28 bytes for shape \[7\], got 24$/],
      [{ gpuBuffer, offset: 4 }, /^input "x": the buffer must have 28 bytes for shape \[2, 3\], got 24$/],
      [{ gpuBuffer, dtype: 'float64' }, /must have 48 bytes for shape \[2, 3\]/],
      [{ gpuBuffer, offset: 2 }, /its offset must be a multiple of 4, got 2$/],
      [{ gpuBuffer, dtype: 'float' }, /there is no dtype "float"; known: uint8, /],
      [{ gpuBuffer, shape: [-1] }, /its shape must be an array of at most 8 sizes, got \[-1\]$/],
      [{ gpuBuffer, shape: Array(9).fill(1) }, /its shape must be an array of at most 8 sizes/],
      [{ gpuBuffer, size: 24 }, /a tensor on the GPU has no "size"; known: gpuBuffer, offset, dtype, shape$/],
      [{ gpuBuffer: new Uint8Array(24) }, /^input "x": gpuBuffer must be a GPUBuffer, got Uint8Array$/],
      [{ gpuBuffer: bufferOf(gpuDevice, { usage: GPUBufferUsage.VERTEX }) }, /must have the usage .*COPY_SRC$/],
      [{ gpuBuffer: bufferOf(gpuDevice, { mappedAtCreation: true }) }, /must not be mapped, its mapState is "mapped"$/],
      [{ gpuBuffer: destroyed }, /^input "x": the GPU refuses to copy its buffer: .*destroyed/s],
      [{ gpuBuffer: bufferOf(other.backend.gpuDevice) }, /^input "x": the GPU refuses to copy its buffer: .*evice/s],
      [far.y, /^input "x": the tensor must be on the device of this model$/],
      [gone.y, /^input "x": the tensor was disposed$/],
    ]);
    for (const [x, message] of rows) {
      await refused(model.run({ x }), 'bad-argument', message);
      equal(await model.run({ x }).catch((/** @type {any} */ e) => e.input), 'x');
      await refused(model.run({ x }, KEPT), 'bad-argument', message);
    }
    const plain = new RushFile();
    plain.method('forward', { inputs: [{ name: 'x', shape: [2, 3] }], outputs: ['y'] }, (_, x) => x);
    const untyped = /** @type {any} */ (await load(plain.bytes(), { device: 'webgpu', gpu }));
    await refused(untyped.run({ x: { gpuBuffer } }), 'bad-argument', /^input "x": dtype must be given, because /);
    close((await untyped.run({ x: { gpuBuffer, dtype: 'float32' } })).y.data, new Float32Array(6));
    untyped.dispose();
    await refused(gone.y.download(), 'disposed', /^download: the tensor was disposed$/);
    await refused(model.run({ x: { gpuBuffer } }, { transfer: [] }), 'bad-argument', CLONED);
    await refused(
      model.run({ x: X }, { outputDevice: 'cpu' }),
      'bad-argument',
      /must be 'webgpu', got the string "cpu"$/,
    );
    close(await answerOf(model), linearOf(sigmoid));
    close(await answerOf(/** @type {any} */ (other)), linearOf(sigmoid));
    equal([model.backend.device, other.backend.device], ['webgpu', 'webgpu']);
  },

  'a model on the CPU, or in a worker, refuses tensors on the GPU': async () => {
    const gpu = ownGpu(),
      there = await load(layers().bytes(), { device: 'webgpu', gpu });
    const { y } = await there.run({ x: X }, KEPT);
    const cpu = await load(layers().bytes()),
      worker = await load(layers().bytes(), { worker: true });
    await refused(cpu.run({ x: y }), 'bad-argument', /^input "x" must be a tensor .*, got GpuTensor$/);
    await refused(cpu.run({ x: X }, KEPT), 'unsupported', /^run: outputDevice: .* load it with device: 'webgpu'$/);
    await refused(worker.run({ x: /** @type {any} */ (y) }), 'bad-argument', CLONED);
    await refused(worker.run({ x: X }, KEPT), 'unsupported', /^run: outputDevice is not supported with .* `worker`/);
    for (const model of [cpu, worker]) close(await answerOf(model), linearOf(sigmoid));
    worker.dispose();
  },

  'attributes are set from memory': async () => {
    const model = await load(counter(), { device: 'webgpu', gpu: ownGpu() });
    const { y } = await model.run({ x: X }, KEPT);
    await refused(
      model.setState({ total: /** @type {any} */ (y) }),
      'bad-argument',
      /^attribute "total" must be in memory: download\(\) copies/,
    );
    close(/** @type {any} */ ((await model.state()).total).data, X);
  },

  'a device that is lost at any call gives no wrong tensor': async () => {
    await losing(20, async (gpu, lost) => {
      const model = await load(layers().bytes(), { device: 'webgpu', gpu });
      const chained = async () => {
        const { y } = await model.run({ x: X }, KEPT);
        const { y: again } = await model.run({ x: { gpuBuffer: y.gpuBuffer, shape: [2, 3] } }, KEPT);
        await again.download();
        return (await y.download()).data;
      };
      const answer = await chained().catch((e) => e);
      if (answer instanceof Error) {
        equal([lost(), /** @type {any} */ (answer).code], [true, 'device-lost']);
        // The next runs find the loss, and the model then runs on the CPU.
        await model.run({ x: X }, KEPT).catch((/** @type {any} */ e) => equal(e.code, 'device-lost'));
        close(await answerOf(model), linearOf(sigmoid));
        await refused(model.run({ x: X }, KEPT), 'device-lost', /outputDevice: the GPU .*now runs on the CPU$/);
        equal([model.backend.device, model.backend.gpuDevice], [undefined, undefined]);
      } else close(answer, linearOf(sigmoid));
      model.dispose();
    });
  },

  'a run whose inputs were lost with the device says so': async () => {
    const { gpu, made } = separateGpu();
    const model = await load(layers().bytes(), { device: 'webgpu', gpu });
    const x = { gpuBuffer: bufferOf(made.device) },
      run = model.run({ x });
    made.device.destroy();
    await refused(run, 'device-lost', /^the GPU was lost: .*, and with it inputs of this run\. Operators now run on/);
    await refused(model.run({ x }), 'device-lost', /^input "x": the GPU was lost: .*now runs on the CPU$/);
    close(await answerOf(model), linearOf(sigmoid));
  },
};
