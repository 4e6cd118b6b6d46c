// What tests of the option `device` have in common, in a page and in Node.

import { load } from '../../js/src/index.js';
import { RushFile } from '../js/build-rush.mjs';

const { GPUBuffer, GPUComputePassEncoder, GPUDevice, GPUQueue, gpuOfTests } = /** @type {any} */ (globalThis);
export const ownGpu = () => gpuOfTests ?? /** @type {any} */ (navigator).gpu;

/** @param {unknown} actual @param {unknown} expected */
export function equal(actual, expected) {
  const text = (/** @type {unknown} */ v) =>
    JSON.stringify(v, (_, x) => (ArrayBuffer.isView(x) ? [.../** @type {any} */ (x)] : x));
  if (text(actual) !== text(expected)) throw new Error(`${text(actual)} is not ${text(expected)}`);
}

/** @param {string} text @param {RegExp} pattern */
export function matches(text, pattern) {
  if (!pattern.test(text)) throw new Error(`"${text}" does not match ${pattern}`);
}

/** @param {Promise<unknown>} promise @param {string} code @param {RegExp} [message] */
export async function refused(promise, code, message = /./) {
  const error = await promise.then(
    () => new Error('nothing was thrown'),
    (e) => e,
  );
  if (error.code !== code || !message.test(error.message)) throw error;
}

/**
 * Replaces a method, and returns a function that puts it back.
 * @param {any} prototype @param {string} name @param {(own: Function) => Function} make
 */
export function replace(prototype, name, make) {
  const own = prototype[name];
  prototype[name] = make(own);
  return () => (prototype[name] = own);
}

/** A GPU object of its own, so that the device is not shared with other tests. @param {object} [info] of the adapter */
export function separateGpu(info) {
  const made = { device: /** @type {any} */ (undefined) };
  const gpu = {
    async requestAdapter() {
      const adapter = await ownGpu().requestAdapter();
      return {
        limits: adapter.limits,
        features: adapter.features,
        info: info ?? adapter.info,
        requestDevice: async (/** @type {object} */ how) => (made.device = await adapter.requestDevice(how)),
      };
    },
  };
  return { gpu, made };
}

/** Calls that reach the device. @type {[any, string][]} */
export const CALLS = [
  [GPUDevice.prototype, 'createBuffer'],
  [GPUDevice.prototype, 'createComputePipeline'],
  [GPUDevice.prototype, 'createBindGroup'],
  [GPUDevice.prototype, 'createCommandEncoder'],
  [GPUQueue.prototype, 'writeBuffer'],
  [GPUQueue.prototype, 'submit'],
  [GPUBuffer.prototype, 'mapAsync'],
];

export const DISPATCHES = /** @type {[any, string][]} */ ([
  [GPUComputePassEncoder.prototype, 'dispatchWorkgroups'],
  [GPUQueue.prototype, 'submit'],
  [GPUBuffer.prototype, 'mapAsync'],
]);

/**
 * Counts calls while `body` runs, which may set the counters back.
 * @param {[any, string][]} calls @param {(count: Record<string, number>) => Promise<void>} body
 */
export async function counting(calls, body) {
  /** @type {Record<string, number>} */ const count = Object.fromEntries(calls.map(([, name]) => [name, 0]));
  const undo = calls.map(([prototype, name]) =>
    replace(
      prototype,
      name,
      (own) =>
        function (/** @type {any} */ ...args) {
          count[name] = (count[name] ?? 0) + 1;
          return own.apply(/** @type {any} */ (this), args);
        },
    ),
  );
  try {
    await body(count);
  } finally {
    for (const back of undo) back();
  }
}

/**
 * Runs `body` with a GPU whose device is lost at the first call that reaches it, then at the second one, and so on
 * until a body ends before its device is lost.
 * @param {number} least calls of a body
 * @param {(gpu: object, lost: () => boolean) => Promise<void>} body
 */
export async function losing(least, body) {
  let left = Infinity;
  let lose = () => {};
  const undo = CALLS.map(([prototype, name]) =>
    replace(
      prototype,
      name,
      (own) =>
        function (/** @type {any} */ ...args) {
          if (--left === 0) lose();
          return own.apply(/** @type {any} */ (this), args);
        },
    ),
  );
  const most = 400,
    lost = () => left <= 0;
  try {
    let at = 1;
    for (let ended = false; !ended && at < most; at++) {
      const { gpu, made } = separateGpu();
      left = at;
      lose = () => made.device?.destroy();
      await body(gpu, lost);
      ended = !lost();
    }
    if (at < least || at === most) throw new Error(`${at} calls`);
  } finally {
    for (const back of undo) back();
  }
}

/**
 * Lets fetch() give bytes for a URL, with validators, and counts the answers with all bytes.
 * @param {string} url @param {Uint8Array} bytes
 */
export async function serving(url, bytes) {
  const served = { whole: 0 },
    own = globalThis.fetch,
    hash = new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes)));
  globalThis.fetch = async (where, init) => {
    if (String(where) !== url) return own(where, init);
    const headers = new Headers(/** @type {any} */ (init)?.headers);
    if (headers.get('if-none-match') === '"1"') return new Response(null, { status: 304 });
    served.whole++;
    return new Response(/** @type {Uint8Array<ArrayBuffer>} */ (bytes), { headers: { etag: '"1"' } });
  };
  return {
    served,
    digest: `sha256-${btoa(String.fromCharCode(...hash))}`,
    undo: () => {
      globalThis.fetch = own;
    },
  };
}

/**
 * Runs `body`, and fails if a promise is rejected that nobody handles. node:test does the same.
 * @param {() => Promise<void>} body
 */
export async function handled(body) {
  /** @type {unknown[]} */ const found = [];
  const see = (/** @type {any} */ event) => void found.push(event.reason);
  globalThis.addEventListener?.('unhandledrejection', see);
  await body();
  await new Promise((done) => setTimeout(done, 50));
  globalThis.removeEventListener?.('unhandledrejection', see);
  equal(found.map(String), []);
}

export const adapterIsThere = async () => Boolean(await ownGpu()?.requestAdapter());

/** Numbers from -1 to 1 that look random. @param {number} n @param {number} seed */
export function numbers(n, seed) {
  let state = seed * 2654435761 + 1;
  return Float32Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** The largest difference that a test has found, in units of the greatest number if that is above 1. */
export const found = { maxAbs: 0 };

/** Notes the difference of two numbers. @param {number} a @param {number} b */
export function note(a, b) {
  const apart = Math.abs(a - b);
  if (apart < Infinity) found.maxAbs = Math.max(found.maxAbs, apart);
}

/**
 * Runs a file on both devices, and fails unless the answers agree and the GPU has computed them.
 * @param {Uint8Array} file @param {Float32Array} x @param {{ within: number, dispatches: number, what: string }} how
 */
export async function agrees(file, x, { within, dispatches, what }) {
  const answer = async (/** @type {any} */ options) => {
    const model = await load(file, options),
      { y } = /** @type {any} */ (await model.run({ x }));
    model.dispose();
    return y.data instanceof BigInt64Array ? Float64Array.from(y.data, Number) : y.data;
  };
  const want = await answer({});
  await counting(DISPATCHES, async (count) => {
    const got = await answer({ device: 'webgpu', gpu: ownGpu() });
    equal([what, count.dispatchWorkgroups], [what, dispatches]);
    let most = 0;
    for (const v of want) if (Number.isFinite(v)) most = Math.max(most, Math.abs(v));
    for (let i = 0; i < want.length; i++) {
      note(got[i] / Math.max(1, most), want[i] / Math.max(1, most));
      if (Object.is(got[i], want[i]) || Math.abs(got[i] - want[i]) <= within * most) continue;
      throw new Error(`${what}: element ${i} of ${want.length} is ${got[i]}, and ${want[i]} on the CPU`);
    }
  });
}

/** The bits of a float16, for numbers that are normal or 0 there. @param {number} v */
function half(v) {
  const [bits = 0] = new Uint32Array(Float32Array.of(v).buffer);
  return v === 0 ? 0 : ((bits >> 16) & 0x8000) | ((((bits >> 23) & 255) - 112) << 10) | ((bits >> 13) & 1023);
}

export const halves = (/** @type {Float32Array} */ from) => Uint16Array.from(from, half);

/**
 * Compares an operator on -x, which is on the device, with the CPU.
 * @param {string} what @param {number[]} shape @param {number} dispatches of the operator
 * @param {(f: RushFile, m: any, x: number) => number} body @param {{ within?: number, values?: number[] }} [how]
 */
export async function check(what, shape, dispatches, body, { within = 0, values = [] } = {}) {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape }], outputs: ['y'] }, (m, x) =>
    body(f, m, m.op('aten::neg', [x])),
  );
  const x = numbers(
    shape.reduce((a, b) => a * b),
    11,
  );
  x.set(values.slice(0, x.length));
  await agrees(f.bytes(), x, { within, dispatches: dispatches + 1, what });
}

/**
 * Exchanges two dimensions.
 * @param {RushFile} f @param {any} m @param {number} x @param {number} a @param {number} b
 */
export const turn = (f, m, x, a, b) => m.op('aten::transpose.int', [x, f.int(a), f.int(b)]);
