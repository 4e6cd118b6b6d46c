// Tests of a device that is lost while verify(), diff(), profile() and steps() use it. They run as those of in-page.js
// do.

import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';
import { equal, handled, losing, matches, numbers, ownGpu, refused, separateGpu } from './in-page-helpers.js';
import { X, answerOf, changeKernels, close, counter, layers, linearOf, sigmoid } from './small-models.js';

/** @typedef {import('../../js/src/index.js').Model} Model */

const LOST = 'the GPU (was lost|failed): .*';

/** A file with two test vectors. */
function vectors() {
  const f = layers({ trace: true });
  for (let k = 0; k < 2; k++) f.test(0, [f.tensor(X, [2, 3])], ['Tensor'], f.tensor(linearOf(sigmoid), [2, 4]));
  return f.bytes();
}

const onCpu = (/** @type {string} */ where) => new RegExp(`^${where}: ${LOST}, and the model now runs on the CPU`);

/** Fails if the model does not run on the CPU with the correct answer. @param {Model} model */
async function runsOnCpu(model) {
  close(await answerOf(model), linearOf(sigmoid));
  equal(model.backend.device, undefined);
  equal((await model.verify()).passed, true);
  await refused(model.verify({ device: 'webgpu' }), 'device-lost', onCpu('verify'));
  await refused(model.diff({ device: 'webgpu' }), 'device-lost', onCpu('diff'));
  equal((await model.verify({ device: 'cpu' })).passed, true);
}

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'verify({ device }) names the test vectors that a lost device did not answer': async () => {
    await handled(() =>
      losing(20, async (gpu, lost) => {
        const model = await load(vectors(), { device: 'webgpu', gpu });
        const { passed, tests } = await model.verify({ device: 'webgpu' });
        equal(tests.length, 2);
        equal(passed, !lost());
        const first = tests.findIndex((test) => !test.passed);
        for (const { index, code, message } of tests.slice(first < 0 ? 2 : first)) {
          equal(code, 'device-lost');
          matches(message ?? '', new RegExp(`^test vector ${index}: the GPU gave no answer: ${LOST}`));
        }
        if (lost()) await runsOnCpu(model);
        model.dispose();
      }),
    );
  },

  'verify({ device }) says that the operator is not known if the device is lost': async () => {
    await handled(async () => {
      const undo = changeKernels('var y = sum', 'var y = 1.5 * sum'),
        /** @type {Set<string>} */ kinds = new Set();
      try {
        await losing(30, async (gpu) => {
          const model = await load(vectors(), { device: 'webgpu', gpu });
          const { passed, tests } = await model.verify({ device: 'webgpu' });
          equal(passed, false);
          for (const { message = '' } of tests) {
            const [, kind = ''] =
              /(gave no answer|differs is not known|differs is aten::linear): ./.exec(message) ?? [];
            if (!kind) throw new Error(message);
            kinds.add(kind);
          }
          model.dispose();
        });
      } finally {
        undo();
      }
      equal(kinds.size, 3);
    });
  },

  'diff({ device }) says which test vector it compared when the device was lost': async () => {
    await handled(() =>
      losing(20, async (gpu, lost) => {
        const model = await load(vectors(), { device: 'webgpu', gpu });
        const report = model.diff({ device: 'webgpu', test: 1 });
        if (await report.then(() => lost(), lost)) {
          const text = `^diff: test vector 1 was not compared to its end: ${LOST}, and operators now run on the CPU$`;
          await refused(report, 'device-lost', new RegExp(text));
          await runsOnCpu(model);
        } else {
          const { agrees, compared } = await report;
          equal([agrees, compared], [true, 3]);
        }
        model.dispose();
      }),
    );
  },

  'profile() and steps() say that the device was lost': async () => {
    await handled(async () => {
      for (const use of [
        async (/** @type {Model} */ model) => void (await model.profile({ x: X })),
        async (/** @type {Model} */ model) => {
          const steps = await model.steps({ x: X });
          try {
            for (let k = 0; k < 3; k++) await steps.step();
          } finally {
            await steps.end();
          }
        },
      ])
        await losing(15, async (gpu, lost) => {
          const model = await load(vectors(), { device: 'webgpu', gpu }),
            used = use(model);
          if (await used.then(() => lost(), lost)) {
            await refused(used, 'device-lost', new RegExp(`${LOST}, and operators now run on the CPU$`));
            await runsOnCpu(model);
          }
          model.dispose();
        });
    });
  },

  'a model with state has the values of the file after steps() have lost the device': async () => {
    const { gpu, made } = separateGpu();
    const model = await load(counter(), { device: 'webgpu', gpu });
    close(await answerOf(model), X);
    const steps = await model.steps({ x: X });
    made.device.destroy();
    await refused(
      (async () => {
        for (;;) await steps.step();
      })(),
      'device-lost',
      /^the GPU was lost: .*\. The attributes of the model were on the GPU\. They have the file's values again, and/,
    );
    await steps.end();
    close(await answerOf(model), X);
  },

  'weights that only the GPU had are read from the source again': async () => {
    const file = layers().bytes(),
      blob = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (file)]),
      url = URL.createObjectURL(blob);
    for (const source of [file, blob, url, new Response(blob)]) {
      const { gpu, made } = separateGpu(),
        model = await load(source, { device: 'webgpu', gpu }),
        cpu = await load(blob);
      close(await answerOf(model), linearOf(sigmoid));
      const { live, gpu: onGpu = 0 } = await model.memory();
      if (onGpu < 320) throw new Error(`${onGpu} bytes on the GPU`);
      if (live < 320) throw new Error(`${live} bytes are counted`);
      equal((await cpu.memory()).gpu, undefined);
      made.device.destroy();
      close(await answerOf(model), linearOf(sigmoid));
      close(await answerOf(model), linearOf(sigmoid));
      model.dispose();
      cpu.dispose();
    }
    URL.revokeObjectURL(url);
  },

  'weights that only the GPU has take no memory of the model': async () => {
    const side = 512,
      count = 16,
      bytes = 4 * side * side * count,
      f = new RushFile();
    f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [1, side] }], outputs: ['y'] }, (m, x) =>
      Array.from({ length: count }, (_, i) => f.tensor(numbers(side * side, i), [side, side])).reduce(
        (h, w) => m.op('aten::linear', [h, w, f.none()]),
        x,
      ),
    );
    const file = f.bytes(),
      cpu = await load(file),
      gpu = await load(file, { device: 'webgpu', gpu: ownGpu() }),
      heap = async (/** @type {Model} */ model) => (await model.memory()).heap;
    if ((await heap(gpu)) > (await heap(cpu)) - bytes / 2) throw new Error(`${await heap(gpu)}, ${await heap(cpu)}`);
    cpu.dispose();
    gpu.dispose();
  },

  'weights of a lost GPU whose source has changed are refused by name': async () => {
    const file = layers().bytes(),
      { gpu, made } = separateGpu(),
      model = await load(file, { device: 'webgpu', gpu });
    const kept = file.slice();
    made.device.destroy();
    file.fill(0, file.length - 320);
    const changed = 'the weights of the model could not be read again: the file is not the one that was loaded$';
    await refused(answerOf(model), 'device-lost', new RegExp(`${LOST}, and ${changed}`));
    file.set(kept);
    close(await answerOf(model), linearOf(sigmoid));
    model.dispose();
  },

  'an aborted run does not wait for the weights of a lost GPU': async () => {
    const blob = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (layers().bytes())]),
      { gpu, made } = separateGpu(),
      model = await load(blob, { device: 'webgpu', gpu });
    close(await answerOf(model), linearOf(sigmoid));
    made.device.destroy();
    await made.device.lost;
    const controller = new AbortController(),
      run = model.run({ x: X }, { signal: controller.signal });
    controller.abort();
    await refused(run, 'aborted');
    close(await answerOf(model), linearOf(sigmoid));
    model.dispose();
  },

  'an adapter that gives no device is refused by name': async () => {
    const gpu = {
      requestAdapter: async () => ({
        limits: {},
        requestDevice: async () => {
          throw new TypeError('the limits are too high');
        },
      }),
    };
    await refused(
      load(vectors(), { device: 'webgpu', gpu }),
      'unsupported',
      /^device: the adapter gives no device: .*the limits are too high/,
    );
    const model = await load(vectors(), { device: 'auto', gpu });
    matches(model.backend.reason, /runs on the CPU: device: the adapter gives no device: /);
  },
};
