// Tests of the option `device` that run in a page and in Node; device.test.mjs and node/node.test.js call them by name.
// A failure is an exception.

import { clear } from '../../js/src/api/cache.js';
import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';
import {
  CALLS,
  DISPATCHES,
  counting,
  equal,
  losing,
  matches,
  ownGpu,
  refused,
  separateGpu,
  serving,
} from './in-page-helpers.js';
import { X, answerOf, changeKernels, close, counter, layers, linearOf, port, sigmoid, tested } from './small-models.js';

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'a second run makes no buffer and no pipeline, and submits once': async () => {
    const calls = CALLS.filter(([, name]) => /^create.*(Buffer|Pipeline)|submit|mapAsync/.test(name));
    await counting(calls, async (count) => {
      const model = await load(layers().bytes(), { device: 'webgpu', gpu: separateGpu().gpu });
      equal(model.backend.device, 'webgpu');
      matches(model.backend.reason, /the GPU is .*(swiftshader|llvmpipe)/i);
      close(await answerOf(model), linearOf(sigmoid));
      if (count.createComputePipeline !== 3) throw new Error(`${count.createComputePipeline} pipelines, not 3`);
      for (let k = 0; k < 3; k++) {
        for (const name in count) count[name] = 0;
        close(await answerOf(model), linearOf(sigmoid));
      }
      equal(count, { createBuffer: 0, createComputePipeline: 0, submit: 1, mapAsync: 1 });
      model.dispose();
    });
  },

  'a second run makes no buffer after a first one that uploads a weight in the middle': async () => {
    const f = new RushFile(),
      w = f.tensor(X, [2, 3]);
    f.method('forward', { inputs: [port], outputs: ['y'] }, (m, x) => {
      const h = m.op('aten::relu', [x]),
        sum = m.op('aten::add.Tensor', [h, m.op('aten::sigmoid', [h]), f.int(1)]),
        inMemory = m.op('aten::log1p', [sum]);
      return m.op('aten::add.Tensor', [inMemory, w, f.int(1)]);
    });
    await counting(CALLS, async (count) => {
      const model = await load(f.bytes(), { device: 'webgpu', gpu: separateGpu().gpu });
      await answerOf(model);
      count.createBuffer = 0;
      await answerOf(model);
      equal([count.createBuffer, model.backend.device], [0, 'webgpu']);
      model.dispose();
    });
  },

  'a chain is one dispatch, and kernels need no bytes in memory': async () => {
    const f = new RushFile();
    f.method('forward', { inputs: [port], outputs: ['y'] }, (m, x) => {
      m.call('rush::chain', [f.int(3)]);
      let h = m.op('aten::relu', [x]);
      h = m.op('aten::div.Scalar', [h, f.float(2)]);
      h = m.op('aten::sqrt', [h]);
      h = m.op('aten::group_norm', [h, f.int(1), f.none(), f.none(), f.float(1e-5), f.bool(false)]);
      return m.op('aten::argmax', [h, f.int(1), f.bool(false)]);
    });
    await counting(DISPATCHES, async (count) => {
      const model = await load(f.bytes(), { device: 'webgpu', gpu: separateGpu().gpu });
      equal(Array.from(await answerOf(model), Number), [0, 2]);
      equal(count, { dispatchWorkgroups: 3, submit: 1, mapAsync: 1 });
      model.dispose();
    });
  },

  'cat takes transposed tensors on the device': async () => {
    const f = new RushFile();
    f.method('forward', { inputs: [port], outputs: ['y'] }, (m, x) => {
      const t = m.op('aten::transpose.int', [m.op('aten::relu', [x]), f.int(0), f.int(1)]);
      return m.op('aten::cat', [m.op('prim::ListConstruct', [t, t], 'Tensor[]'), f.int(1)]);
    });
    await counting(DISPATCHES, async (count) => {
      const model = await load(f.bytes(), { device: 'webgpu', gpu: separateGpu().gpu });
      equal(await answerOf(model), [0, 0.5, 0, 0.5, 0, 1.5, 0, 1.5, 0, 2.5, 0, 2.5]);
      equal(count, { dispatchWorkgroups: 3, submit: 1, mapAsync: 1 });
      model.dispose();
    });
  },

  'a device that is lost at any call gives the answers of the CPU': async () => {
    const want = linearOf(sigmoid);
    await losing(20, async (gpu, lost) => {
      const model = await load(layers().bytes(), { device: 'webgpu', gpu });
      for (let k = 0; k < 3; k++) close(await answerOf(model), want);
      if (lost()) {
        equal(model.backend.device, undefined);
        matches(model.backend.reason, /; the GPU (was lost|failed): .*, and operators now run on the CPU$/);
      }
      model.dispose();
    });
  },

  'random numbers are drawn again if a run begins again': async () => {
    const cpu = await load(layers({ random: true }).bytes());
    await cpu.manualSeed(5);
    const want = [await answerOf(cpu), await answerOf(cpu)];
    const { gpu, made } = separateGpu();
    const model = await load(layers({ random: true }).bytes(), { device: 'webgpu', gpu });
    await model.manualSeed(5);
    close(await answerOf(model), want[0]);
    made.device.destroy();
    close(await answerOf(model), want[1]);
  },

  'a run whose inputs change begins again from its own inputs': async () => {
    const { gpu, made } = separateGpu();
    const model = await load(layers().bytes(), { device: 'webgpu', gpu });
    const x = X.slice(),
      run = model.run({ x });
    made.device.destroy();
    x.fill(7);
    close(/** @type {any} */ ((await run).y).data, linearOf(sigmoid));
  },

  'a pipeline that does not compile leaves the model to the CPU': async () => {
    const undo = changeKernels('fn main', 'fn ma in');
    try {
      const { gpu, made } = separateGpu();
      const model = await load(layers().bytes(), { device: 'webgpu', gpu });
      close(await answerOf(model), linearOf(sigmoid));
      equal(model.backend.device, undefined);
      matches(model.backend.reason, /the GPU failed: .*and operators now run on the CPU$/s);
      made.device.destroy();
    } finally {
      undo();
    }
  },

  'a model with state says that its state is lost, and goes on from the values of the file': async () => {
    const { gpu, made } = separateGpu();
    const model = await load(counter(), { device: 'webgpu', gpu });
    await answerOf(model);
    close(
      await answerOf(model),
      X.map((v) => 2 * v),
    );
    close(
      /** @type {any} */ ((await model.state()).total).data,
      X.map((v) => 2 * v),
    );
    await answerOf(model);
    made.device.destroy();
    await refused(answerOf(model), 'device-lost', /the GPU was lost.* attributes .* have the file's values again/);
    close(await answerOf(model), X);
    equal(model.backend.device, undefined);
  },

  'the next load has another device': async () => {
    const { gpu, made } = separateGpu();
    const model = await load(tested(), { device: 'webgpu', gpu });
    await model.verify();
    const lost = made.device;
    lost.destroy();
    const { tests } = await model.verify();
    equal(tests[0]?.code, 'device-lost');
    equal((await model.verify()).passed, true);
    const again = await load(tested(), { device: 'webgpu', gpu });
    equal((await again.verify()).passed, true);
    if (made.device === lost) throw new Error('the same device');
    equal(again.backend.device, 'webgpu');
  },

  'diff() names the first operator that differs on the GPU, with its line': async () => {
    const right = await load(tested(linearOf()), { device: 'webgpu', gpu: ownGpu() });
    const report = await right.diff();
    equal([report.agrees, report.compared, report.unpaired], [true, 3, 0]);
    const wrong = await load(tested(linearOf((v, i) => (i === 5 ? v + 1 : v))), { device: 'webgpu', gpu: ownGpu() });
    const { agrees, first } = await wrong.diff();
    equal(agrees, false);
    equal(first?.source, 'model.py:4');
    equal(first?.node.target, 'aten::linear');
    equal(wrong.backend.device, 'webgpu');
  },

  'diff({ device }) names the first operator that differs from the CPU, with its line': async () => {
    const f = layers({ trace: true });
    f.test(0, [f.tensor(X, [2, 3])], ['Tensor'], f.tensor(linearOf(sigmoid), [2, 4]));
    const file = f.bytes(),
      right = await load(file, { device: 'webgpu', gpu: separateGpu().gpu });
    const report = await right.diff({ device: 'webgpu' });
    equal([report.agrees, report.compared, report.first], [true, 3, null]);
    await refused(right.diff({ device: /** @type {any} */ ('tpu') }), 'bad-argument', /must be 'webgpu', got .*"tpu"/);
    await refused((await load(file)).diff({ device: 'webgpu' }), 'unsupported', /load it with device: 'webgpu'/);
    const undo = changeKernels('var y = sum', 'var y = 1.5 * sum');
    try {
      const wrong = await load(file, { device: 'webgpu', gpu: separateGpu().gpu });
      const { agrees, compared, first } = await wrong.diff({ device: 'webgpu' });
      equal([agrees, compared, first?.node.target, first?.source], [false, 1, 'aten::linear', 'model.py:4']);
      matches(first?.message ?? '', /^aten::linear: element \d is .* on the GPU and .* on the CPU$/);
      equal(wrong.backend.device, 'webgpu');
      equal((await wrong.verify()).passed, false);
    } finally {
      undo();
    }
  },

  'verify({ device }) runs on one device, and names the first operator that differs': async () => {
    const f = layers({ trace: true });
    f.test(0, [f.tensor(X, [2, 3])], ['Tensor'], f.tensor(linearOf(sigmoid), [2, 4]));
    const file = f.bytes(),
      { gpu } = separateGpu();
    const onCpu = await load(file, { device: 'cpu', gpu });
    equal((await onCpu.verify({ device: 'webgpu' })).passed, true);
    equal(onCpu.backend.device, undefined);
    await refused((await load(file)).verify({ device: 'webgpu' }), 'unsupported', /load it with device: 'webgpu'/);
    await refused(
      onCpu.verify({ device: /** @type {any} */ ('tpu') }),
      'bad-argument',
      /must be 'cpu' or 'webgpu', got/,
    );
    const undo = changeKernels('var y = sum', 'var y = 1.5 * sum');
    try {
      const options = { gpu: separateGpu().gpu };
      for (const device of /** @type {const} */ (['webgpu', 'cpu'])) {
        const wrong = await load(file, { ...options, device });
        const { passed, tests } = await wrong.verify({ device: 'webgpu' });
        equal(passed, false);
        matches(tests[0]?.message ?? '', /; the first operator that differs is aten::linear: .* \(model\.py:4\)$/);
        equal((await wrong.verify({ device: 'cpu' })).passed, true);
        equal((await wrong.verify()).passed, device === 'cpu');
      }
    } finally {
      undo();
    }
  },

  'steps show results of the GPU': async () => {
    const model = await load(layers().bytes(), { device: 'webgpu', gpu: ownGpu() });
    const steps = await model.steps({ x: X });
    const seen = [];
    for (let k = 0; k < 3; k++) {
      const { node } = await steps.next();
      const { results } = await steps.step();
      seen.push([node.target, .../** @type {any} */ (results[0]).data]);
    }
    equal(seen[0], ['aten::relu', ...X.map((v) => Math.max(0, v))]);
    close(/** @type {any} */ (seen[1]?.slice(1)), linearOf());
    close(/** @type {any} */ (seen[2]?.slice(1)), linearOf(sigmoid));
    await steps.end();
  },

  'a buffer that is larger than the limits of the device runs in memory': async () => {
    const { gpu } = separateGpu();
    const model = await load(layers().bytes(), {
      device: 'webgpu',
      gpu: {
        requestAdapter: async () => {
          const adapter = await gpu.requestAdapter();
          return {
            ...adapter,
            requestDevice: async (/** @type {object} */ how) => {
              const device = await adapter.requestDevice(how);
              return new Proxy(device, {
                get: (own, name) => {
                  if (name === 'limits') return { maxBufferSize: 128, maxStorageBufferBindingSize: 128 };
                  const v = own[name];
                  return typeof v === 'function' ? v.bind(own) : v;
                },
                set: (own, name, v) => {
                  own[name] = v;
                  return true;
                },
              });
            },
          };
        },
      },
    });
    close(await answerOf(model), linearOf(sigmoid));
    equal(model.backend.device, 'webgpu');
  },

  'runs and loads keep memory flat': async () => {
    const model = await load(layers().bytes(), { device: 'webgpu', gpu: ownGpu() });
    for (let k = 0; k < 3; k++) await answerOf(model);
    const { live, heap } = await model.memory();
    for (let k = 0; k < 1000; k++) await answerOf(model);
    const after = await model.memory();
    equal([after.live, after.heap], [live, heap]);
    model.dispose();
    // An engine has room for about 120 memories at a time.
    const bytes = layers().bytes();
    for (let k = 0; k < 150; k++) {
      const one = await load(bytes, { device: 'webgpu', gpu: ownGpu() });
      if (k % 10 === 0) await answerOf(one);
      one.dispose();
    }
  },

  "'auto' on an adapter in software runs on the CPU, and says why": async () => {
    const { gpu } = separateGpu({ vendor: 'soft', isFallbackAdapter: true });
    const model = await load(tested(), { device: 'auto', gpu });
    equal(model.backend.device, undefined);
    matches(model.backend.reason, /; device 'auto' runs on the CPU: the adapter computes in software$/);
    close(await answerOf(model), linearOf(sigmoid));
  },

  "'auto' times the test vectors on both devices, keeps the faster one, and remembers it": async () => {
    localStorage.clear();
    const info = { vendor: 'test', device: 'one' };
    const open = async () => load(tested(), { device: 'auto', gpu: separateGpu(info).gpu });
    const model = await open();
    matches(
      model.backend.reason,
      /; device 'auto' runs on the [CG]PU: the test vectors take [\d.]+ ms on the GPU and [\d.]+ ms on the CPU$/,
    );
    close(await answerOf(model), linearOf(sigmoid));
    const [key = ''] = Object.keys(localStorage);
    matches(key, /^rushlight-device test one [0-9a-f]{32}$/);
    // The decision of another page, about another adapter of the same model
    localStorage.setItem(key.replace('one', 'two'), JSON.stringify({ device: 'webgpu', why: 'a test says so' }));
    info.device = 'two';
    const other = await open();
    equal(other.backend.device, 'webgpu');
    matches(other.backend.reason, /; device 'auto' runs on the GPU: a test says so$/);
    close(await answerOf(other), linearOf(sigmoid));
    localStorage.clear();
  },

  "'auto' keeps no GPU whose answers are wrong": async () => {
    localStorage.clear();
    const undo = changeKernels('sigmoid_(x);', '0.5;');
    try {
      const model = await load(tested(), { device: 'auto', gpu: separateGpu({ vendor: 'wrong' }).gpu });
      equal(model.backend.device, undefined);
      matches(model.backend.reason, /; device 'auto' runs on the CPU: the GPU gives a wrong answer: test vector 0: /);
      close(await answerOf(model), linearOf(sigmoid));
    } finally {
      undo();
    }
    localStorage.clear();
  },

  "'auto' says why it cannot compare": async () => {
    const why = async (/** @type {any} */ options, bytes = tested()) => {
      const model = await load(bytes, { device: 'auto', gpu: separateGpu({ vendor: 'test' }).gpu, ...options });
      equal(model.backend.device, undefined);
      model.dispose();
      return model.backend.reason.split("; device 'auto' runs on the CPU: ")[1] ?? '';
    };
    equal(await why({}, layers().bytes()), 'the file has no test vectors');
    matches(await why({ gpu: { requestAdapter: async () => null } }), /^device: WebGPU has no adapter here\./);
    equal(await why({ ops: {} }), 'trials would call functions of the option `ops`');
  },

  'a model on the GPU has one thread': async () => {
    const model = await load(layers().bytes(), { device: 'webgpu', gpu: separateGpu().gpu, threads: 'auto' });
    equal([model.backend.device, model.backend.threads], ['webgpu', 1]);
    matches(model.backend.reason, /; the GPU is .*; one thread: more are not supported beside a GPU$/);
    close(await answerOf(model), linearOf(sigmoid));
    model.dispose();
  },

  'a model from the cache is downloaded once, also after a lost device': async () => {
    const url = 'https://rushlight.invalid/model.rush',
      bytes = layers().bytes(),
      { digest, served, undo } = await serving(url, bytes),
      cache = 'gpu-test';
    await clear({ cache });
    try {
      for (const device of ['webgpu', 'webgpu', 'auto']) {
        const { gpu, made } = separateGpu({ vendor: 'cached' }),
          /** @type {any} */ options = { device, gpu, cache, integrity: digest },
          model = await load(url, options);
        if (device === 'webgpu') equal(model.backend.device, 'webgpu');
        close(await answerOf(model), linearOf(sigmoid));
        if (device === 'auto')
          matches(model.backend.reason, /; device 'auto' runs on the CPU: the file has no test vectors$/);
        made.device.destroy();
        close(await answerOf(model), linearOf(sigmoid));
        equal(model.backend.device, undefined);
        model.dispose();
      }
      equal(served.whole, 1);
      await refused(
        load(url, { device: 'webgpu', gpu: separateGpu().gpu, integrity: `sha256-${'A'.repeat(43)}` }),
        'bad-file',
        /must have the digest/,
      );
    } finally {
      undo();
      await clear({ cache });
    }
  },

  'a device that is not there, and options that it does not take': async () => {
    const open = (/** @type {any} */ options) => load(layers().bytes(), options);
    await refused(open({ device: 'tpu' }), 'bad-argument', /must be 'cpu', 'webgpu' or 'auto', got the string "tpu"/);
    await refused(open({ device: 'webgpu', gpu: {} }), 'bad-argument');
    await refused(open({ device: 'webgpu', gpu: { requestAdapter: async () => null } }), 'unsupported');
    await refused(
      open({ device: 'webgpu', worker: true, gpu: ownGpu() }),
      'unsupported',
      /^load: gpu is not supported with `worker`: a GPU object cannot be sent to a worker$/,
    );
    await refused(open({ device: 'webgpu', gpu: ownGpu(), threads: 0 }), 'bad-argument', /threads must be 'auto' or/);
    equal((await open({ device: 'cpu' })).backend.device, undefined);
  },
};
