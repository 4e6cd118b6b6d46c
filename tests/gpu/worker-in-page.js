// Tests of the option `device` together with `worker`. They run in a page only: a worker of Node has no GPU object.

import { load } from '../../js/src/index.js';
import { equal, handled, matches, refused, separateGpu } from './in-page-helpers.js';
import { X, answerOf, close, counter, layers, linearOf, sigmoid, tested } from './small-models.js';

const worker = true;

/**
 * Lets each new worker of `body` run code before its script. The code replaces functions of WebGPU.
 * @param {string} code @param {() => Promise<void>} body
 */
async function inChangedWorkers(code, body) {
  const own = globalThis.Worker;
  globalThis.Worker = class extends own {
    /** @param {string | URL} url @param {WorkerOptions} [options] */
    constructor(url, options) {
      const scriptOf = (/** @type {string} */ text) =>
        URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
      super(scriptOf(`import '${scriptOf(code)}'; import '${url}';`), options);
    }
  };
  try {
    await body();
  } finally {
    globalThis.Worker = own;
  }
}

const LOSE = `
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (how) {
    const device = await requestDevice.call(this, how);
    new BroadcastChannel('lose').onmessage = () => device.destroy();
    return device;
  };`;

/** The page cannot see whether the device of a worker is already lost. */
async function lose() {
  const channel = new BroadcastChannel('lose');
  channel.postMessage('now');
  channel.close();
  await new Promise((done) => setTimeout(done, 200));
}

/** @type {Record<string, () => Promise<unknown>>} */
export const tests = {
  'a model in a worker runs on the GPU': async () => {
    const model = await load(tested(), { device: 'webgpu', worker });
    equal([model.backend.device, model.backend.gpuDevice, model.backend.threads], ['webgpu', undefined, 1]);
    matches(model.backend.reason, /the GPU is .*swiftshader/i);
    for (let k = 0; k < 2; k++) close(await answerOf(model), linearOf(sigmoid));
    equal((await model.verify({ device: 'webgpu' })).passed, true);
    equal((await model.verify({ device: 'cpu' })).passed, true);
    equal((await model.diff({ device: 'webgpu' })).agrees, true);
    if (!((await model.memory()).gpu ?? 0)) throw new Error('the GPU has no bytes');
    equal((await model.profile({ x: X })).length > 0, true);
    await refused(model.run({ x: X }, { outputDevice: 'webgpu' }), 'unsupported');
    model.dispose();
  },

  'a model in a worker that loses the GPU runs on the CPU, and says so': async () => {
    await handled(() =>
      inChangedWorkers(LOSE, async () => {
        const model = await load(tested(), { device: 'webgpu', worker });
        close(await answerOf(model), linearOf(sigmoid));
        equal(model.backend.device, 'webgpu');
        await lose();
        close(await answerOf(model), linearOf(sigmoid));
        equal(model.backend.device, undefined);
        matches(model.backend.reason, /; the GPU was lost: .*, and operators now run on the CPU$/);
        await refused(model.verify({ device: 'webgpu' }), 'device-lost');
        model.dispose();

        const stateful = await load(counter(), { device: 'webgpu', worker });
        await stateful.run({ x: X });
        await lose();
        await refused(stateful.run({ x: X }), 'device-lost', /They have the file's values again/);
        equal(/** @type {any} */ (await stateful.run({ x: X })).y.data, X);
        stateful.dispose();
      }),
    );
  },

  "'auto' in a worker decides there, and the page remembers it": async () => {
    localStorage.clear();
    const info = `Object.defineProperty(GPUAdapter.prototype, 'info', { value: { vendor: 'in a worker' } })`;
    await inChangedWorkers(info, async () => {
      const model = await load(tested(), { device: 'auto', worker });
      close(await answerOf(model), linearOf(sigmoid));
      matches(model.backend.reason, /; device 'auto' runs on the [CG]PU: the test vectors take .* ms on the GPU and/);
      model.dispose();
      const [key = ''] = Object.keys(localStorage);
      matches(key, /^rushlight-device in a worker /);
      localStorage.setItem(key, JSON.stringify({ device: 'webgpu', why: 'a test says so' }));
    });
    localStorage.clear();
  },

  'a worker takes the decision that the page remembers': async () => {
    const gpu = `Object.defineProperty(GPUAdapter.prototype, 'info', { value: { vendor: 'known' } })`;
    localStorage.clear();
    const page = await load(tested(), { device: 'auto', gpu: separateGpu({ vendor: 'known' }).gpu });
    const [key = ''] = Object.keys(localStorage),
      was = page.backend.device ?? 'cpu',
      other = was === 'cpu' ? 'webgpu' : 'cpu';
    page.dispose();
    // A decision of this page is kept in memory, too, so that only another adapter's can be planted.
    localStorage.setItem(key.replace('known', 'planted'), JSON.stringify({ device: other, why: 'a test says so' }));
    await inChangedWorkers(gpu.replace('known', 'planted'), async () => {
      const model = await load(tested(), { device: 'auto', worker });
      equal(model.backend.device ?? 'cpu', other);
      matches(model.backend.reason, /: a test says so$/);
      close(await answerOf(model), linearOf(sigmoid));
      model.dispose();
    });
    localStorage.clear();
  },

  'a worker that has no GPU says so, and auto runs on the CPU': async () => {
    await inChangedWorkers(`Object.defineProperty(navigator, 'gpu', { value: undefined })`, async () => {
      await refused(load(layers().bytes(), { device: 'webgpu', worker }), 'unsupported', /^device: WebGPU is not avai/);
      const model = await load(tested(), { device: 'auto', worker });
      equal(model.backend.device, undefined);
      matches(model.backend.reason, /; device 'auto' runs on the CPU: device: WebGPU is not available here/);
      await refused(model.verify({ device: 'webgpu' }), 'unsupported');
      model.dispose();
    });
  },
};
