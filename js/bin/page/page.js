// The page of `npx rushlight serve`: runs the model on given or random inputs, shows what comes out and where the time goes.

import { imageToTensor } from '../../src/image.js';
import { load } from '../../src/index.js';
import { readNpy } from '../../src/npy.js';
import { layersOf } from '../layers.js';
import { random } from '../random.js';
import { counted, size } from '../units.js';
import { make } from './dom.js';
import { drawFlame } from './flame.js';
import { showOutput } from './outputs.js';

/** @typedef {import('../../src/types.js').Port} Port */
/** @typedef {import('../../src/types.js').InputValue} InputValue */
/** @template {HTMLElement} T @param {string} id @returns {T} */
const get = (id) => /** @type {T} */ (document.getElementById(id));
/** @type {HTMLButtonElement} */ const run = get('run');
/** @type {HTMLButtonElement} */ const again = get('again');
/** @type {HTMLSelectElement} */ const method = get('method');

let seed = 1;
/** What gives an input its value, by name. @type {Map<string, () => InputValue | undefined>} */
let fields = new Map();

/** @param {unknown} e */
function fail(e) {
  const at = get('error');
  at.textContent = e instanceof Error ? e.message : String(e);
  at.hidden = false;
}

const FILE = '.npy or picture';
/** What becomes of a picture's numbers from 0 to 1. */
const SCALES = /** @type {Record<string, { mean?: number[], std?: number[] }>} */ ({
  '0 to 1': {}, '-1 to 1': { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] }, "ImageNet's": { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
});

/** A picture as the input wants it: as large as its example, where that says so. @param {Blob} file @param {Port} port @param {string} scale */
async function picture(file, { dtype, shape }, scale) {
  const bitmap = await createImageBitmap(file), sizes = shape && shape.length > 2 ? shape.slice(-3) : [3, null, null];
  const last = sizes[0] !== 1 && sizes[0] !== 3 && (sizes[2] === 1 || sizes[2] === 3);
  const [channels, height, width] = last ? [sizes[2], sizes[0], sizes[1]] : sizes;
  const { mean, std } = dtype === 'uint8' ? /** @type {{ mean?: number[], std?: number[] }} */ ({}) : SCALES[scale] ?? {};
  const n = channels === 1 ? 1 : 3;
  return imageToTensor(bitmap, {
    size: [height ?? bitmap.height, width ?? bitmap.width], channels: n, dtype: dtype === 'uint8' ? 'uint8' : 'float32',
    layout: /** @type {'nchw'} */ ((shape?.length === 3 ? '' : 'n') + (last ? 'hwc' : 'chw')), ...(mean && std && { mean: mean.slice(0, n), std: std.slice(0, n) }),
  });
}

/** The row of an input, and how its value is read. @param {Port} port */
function field(port) {
  const tensor = port.type === 'Tensor';
  const text = make('input', {
    value: tensor ? (port.shape ?? [1]).map((n) => n ?? 1).join(' x ') : port.optional ? '' : port.type === 'bool' ? 'true' : port.type === 'str' ? '' : '1',
    ariaLabel: tensor ? `sizes of ${port.name}` : `value of ${port.name}`, spellcheck: false,
  });
  const about = tensor ? `${port.dtype ?? 'float32'}${port.shape ? '' : ', any size'}` : port.type + (port.optional ? ', may be empty' : '');
  /** @type {InputValue | undefined} */ let given;
  const row = make('div', { className: 'port' }, make('label', {}, make('b', {}, port.name), make('span', { className: 'quiet' }, about)), text);
  if (tensor) {
    const file = make('input', { type: 'file', accept: '.npy,image/*' }), name = make('span', {}, FILE);
    const scale = make('select', { hidden: true, ariaLabel: `numbers of ${port.name}` }, ...Object.keys(SCALES).map((text) => make('option', { value: text }, text)));
    row.append(make('label', { className: 'file' }, name, file), scale);
    scale.onchange = file.onchange = async () => {
      try {
        const [chosen] = file.files ?? [];
        if (!chosen) return;
        const npy = chosen.name.endsWith('.npy');
        const read = npy ? readNpy(new Uint8Array(await chosen.arrayBuffer())) : await picture(chosen, port, scale.value);
        scale.hidden = npy || read.dtype === 'uint8';
        given = read;
        text.value = read.shape.join(' x ');
        name.textContent = chosen.name;
      } catch (e) {
        fail(e);
      }
    };
    text.oninput = () => { given = undefined; name.textContent = FILE; scale.hidden = true; };
  }
  fields.set(port.name, () => {
    if (given !== undefined) return given;
    if (tensor) return random(text.value.trim() === '' ? [] : text.value.split(/[^\d]+/).filter(Boolean).map(Number), /** @type {any} */ (port.dtype ?? 'float32'), undefined, undefined, seed);
    if (port.type === 'str') return text.value;
    return text.value.trim() === '' ? undefined : JSON.parse(text.value);
  });
  return row;
}

/** @param {import('../../src/model.js').Model} model */
async function start(model) {
  const names = Object.keys(model.methods);
  method.append(...names.map((name) => make('option', { value: name }, name)));
  get('methods').hidden = names.length < 2;
  const fill = () => {
    fields = new Map();
    get('inputs').replaceChildren(...(model.methods[method.value]?.inputs ?? []).map(field));
  };
  method.onchange = fill;
  fill();

  const once = async () => {
    run.disabled = again.disabled = true;
    get('error').hidden = true;
    try {
      /** @type {Record<string, InputValue>} */ const inputs = {};
      for (const [name, value] of fields) {
        const given = value();
        if (given !== undefined) inputs[name] = given;
      }
      const from = performance.now(), results = await model.run(inputs, { method: method.value });
      get('took').textContent = `${(performance.now() - from).toFixed(1)} ms`;
      get('outputs').replaceChildren(...Object.entries(results).map(([name, value]) => showOutput(name, value)));
      const layers = await layersOf(model, inputs, { method: method.value, runs: 3 });
      get('time').hidden = false;
      get('total').textContent = `${layers.reduce((sum, l) => sum + l.ms, 0).toFixed(2)} ms in ${counted(layers.length, 'operator')}`;
      drawFlame(get('flame'), get('detail'), layers);
      get('layers').replaceChildren(...table(layers));
      document.documentElement.dataset.done = String(seed);
    } catch (e) {
      fail(e);
    } finally {
      run.disabled = again.disabled = false;
    }
  };
  /** @type {HTMLFormElement} */ (get('form')).onsubmit = (event) => { event.preventDefault(); void once(); };
  again.onclick = () => { seed++; void once(); };
  const ready = Object.values(model.inputs).every((port) => port.optional || port.type !== 'Tensor' || (port.shape && !port.shape.includes(null)));
  run.disabled = again.disabled = false;
  if (ready) await once();
}

/** @param {import('../layers.js').Layer[]} layers */
function table(layers) {
  const head = make('tr', {}, ...['layer', 'operator', 'output', 'parameters', 'ms', '%'].map((text, i) => make('th', { className: i > 2 ? 'number' : '' }, text)));
  return [head, ...layers.map((l) => make('tr', {}, make('td', { className: 'name' }, l.layer || '–'), make('td', {}, l.op + (l.calls > 1 ? ` ×${Math.round(l.calls)}` : '')), make('td', {}, l.outputs.join(', ')),
    make('td', { className: 'number' }, l.parameters ? l.parameters.toLocaleString('en') : ''), make('td', { className: 'number' }, l.ms.toFixed(3)), make('td', { className: 'number' }, (100 * l.share).toFixed(1))))];
}

try {
  const name = await (await fetch('/name')).text();
  document.title = `${name} – Rushlight`;
  get('name').textContent = name;
  const from = performance.now();
  const { default: ops } = await import(/** @type {any} */ ('/ops.js'));
  const model = await load('/model.rush', { worker: true, ops, onProgress: ({ loaded, total }) => { get('about').textContent = `loading ${size(loaded)} of ${size(total ?? 0)}`; } });
  const { bytes, weights, operators } = model.describe();
  const parameters = weights.filter((w) => w.used).reduce((sum, w) => sum + w.shape.reduce((a, b) => a * b, 1), 0);
  get('about').textContent = [size(bytes), counted(parameters, 'parameter'), `${counted(operators.length, 'kind')} of operators`, `wasm: ${model.backend.name}`, `loaded in ${(performance.now() - from).toFixed(0)} ms`].join(' · ');
  await start(model);
} catch (e) {
  get('about').textContent = '';
  fail(e);
}
