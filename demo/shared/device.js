// The choice between CPU and GPU, for pages whose model may be loaded again on another device.

import { element } from './page.js';

/** @typedef {'cpu' | 'webgpu' | 'auto'} Device */

const DEVICES = { cpu: 'the CPU', webgpu: 'the GPU', auto: 'the faster of both' };

/**
 * Shows a choice of devices behind an element, if the browser has WebGPU.
 * @param {HTMLElement} where
 * @param {(device: Device) => unknown} change is called with each new choice. The first one is the CPU
 */
export function addDeviceChoice(where, change) {
  if (!(/** @type {{ gpu?: object }} */ (navigator).gpu)) return;
  const options = Object.entries(DEVICES).map(([value, text]) => element('option', { value }, text)),
    select = element('select', { id: 'device', autocomplete: 'off' }, ...options);
  select.addEventListener('change', () => change(/** @type {Device} */ (select.value)));
  where.after(element('p', { className: 'device' }, element('label', {}, 'Run on ', select)));
}
