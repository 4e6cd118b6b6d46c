// Devices of WebGPU, which all models share.

import { RushlightError, badArgument, describeValue, messageOf } from '../base/errors.js';

/** @typedef {import('./driver.js').Gpu} Gpu @typedef {import('./driver.js').Shared} Shared */

const HOW =
  'A browser needs WebGPU and a secure context (https, or localhost). In Node, install the package `webgpu` and pass ' +
  'the option `gpu`: create([]) of it';

/** The feature of WebGPU that measures times on the device. */
export const TIMESTAMPS = 'timestamp-query';

/** The devices in use, by their GPU object. @type {WeakMap<object, Promise<Shared>>} */
const devices = new WeakMap();

const ownGpu = () => /** @type {{ gpu?: Gpu } | undefined} */ (/** @type {unknown} */ (globalThis.navigator))?.gpu;

/** Returns the device, which all models share. @param {object} [given] the option `gpu` */
export async function sharedDevice(given) {
  const gpu = /** @type {Gpu | undefined} */ (given ?? ownGpu());
  if (!gpu) throw new RushlightError('unsupported', `device: WebGPU is not available here. ${HOW}`);
  if (typeof gpu.requestAdapter !== 'function')
    throw badArgument(`load: gpu must be a GPU object, got ${describeValue(gpu)}`);
  const shared = devices.get(gpu);
  if (shared) return shared;
  const own = requestDevice(gpu);
  devices.set(gpu, own);
  const forget = () => void (devices.get(gpu) === own && devices.delete(gpu)); // not the next one
  own.then((created) => watch(created, forget), forget);
  return own;
}

/**
 * Keeps the first fault of a device. Models on it then run on the CPU. Listeners hold no model.
 * @param {Shared} shared @param {() => void} forget lets the next load request another device
 */
function watch(shared, forget) {
  const fail = (/** @type {string} */ fault) => {
    shared.fault ??= fault;
    forget();
  };
  shared.device.lost.then(({ message }) => fail(`the GPU was lost: ${message || 'it was destroyed'}`));
  shared.device.onuncapturederror = ({ error }) => fail(`the GPU failed: ${error.message}`);
}

/** @param {Gpu} gpu @returns {Promise<Shared>} */
async function requestDevice(gpu) {
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new RushlightError('unsupported', `device: WebGPU has no adapter here. ${HOW}`);
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const requiredFeatures = adapter.features?.has(TIMESTAMPS) ? [TIMESTAMPS] : []; // for profile()
  const device = await adapter
    .requestDevice({ requiredFeatures, requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } })
    .catch((/** @type {unknown} */ cause) => {
      throw new RushlightError('unsupported', `device: the adapter gives no device: ${messageOf(cause)}`, { cause });
    });
  return { device, info: adapter.info, fault: undefined, layouts: [], pipelines: new Map() };
}

/** Returns what is known of the adapter, such as "apple metal-3". @param {Shared} shared */
export function nameOf({ info }) {
  const name = info?.description || info?.device || info?.architecture || 'unknown';
  return [info?.vendor, name].filter(Boolean).join(' ');
}

/** Tests whether a call failed because values on the device were lost. @param {unknown} e */
export const isLost = (e) => e instanceof RushlightError && e.code === 'device-lost';
