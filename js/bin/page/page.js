// The page of `npx rushlight serve`: runs the model on given or random inputs, and shows its outputs and its time.

import { imageToTensor } from '../../src/media/image.js';
import { load } from '../../src/index.js';
import { DTYPES } from '../../src/base/types.js';
import { readNpy } from '../../src/media/npy.js';
import { layersOf } from '../layers.js';
import { madeText, random, rangeOf } from '../random.js';
import { counted, size } from '../units.js';
import { weightsOf } from '../weights.js';
import { make } from './dom.js';
import { drawFlame } from './flame.js';
import { showOutput } from './outputs.js';

/** @typedef {import('../../src/base/types.js').Port} Port */
/** @typedef {import('../../src/base/types.js').InputValue} InputValue */
/** @template {HTMLElement} T @param {string} id @returns {T} */
const get = (id) => /** @type {T} */ (document.getElementById(id));
/** @type {HTMLButtonElement} */ const run = get('run');
/** @type {HTMLButtonElement} */ const again = get('again');
/** @type {HTMLSelectElement} */ const method = get('method');

let seed = 1;
/** Functions that give the value of each input, by name. @type {Map<string, () => InputValue | undefined>} */
let fields = new Map();

/** @param {unknown} e */
function fail(e) {
  const at = get('error');
  at.textContent = e instanceof Error ? e.message : String(e);
  at.hidden = false;
}

/** Runs after the first one; the page shows their median. */
const RUNS = 3;
const FILE = '.npy or picture';
/** Scales of a picture's numbers, which are 0 to 1. */
const SCALES = /** @type {Record<string, { mean?: number[], std?: number[] }>} */ ({
  '0 to 1': {},
  '-1 to 1': { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  "ImageNet's": { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
});

/**
 * Makes a tensor of a picture, in the size of the example input if that is known.
 * @param {Blob} file
 * @param {Port} port
 * @param {string} scale
 */
async function picture(file, { dtype, shape }, scale) {
  const bitmap = await createImageBitmap(file),
    sizes = shape && shape.length > 2 ? shape.slice(-3) : [3, null, null];
  const last = sizes[0] !== 1 && sizes[0] !== 3 && (sizes[2] === 1 || sizes[2] === 3);
  const [channels, height, width] = last ? [sizes[2], sizes[0], sizes[1]] : sizes;
  const { mean, std } =
    dtype === 'uint8' ? /** @type {{ mean?: number[], std?: number[] }} */ ({}) : (SCALES[scale] ?? {});
  const n = channels === 1 ? 1 : 3;
  return imageToTensor(bitmap, {
    size: [height ?? bitmap.height, width ?? bitmap.width],
    channels: n,
    dtype: dtype === 'uint8' ? 'uint8' : 'float32',
    layout: /** @type {'nchw'} */ ((shape?.length === 3 ? '' : 'n') + (last ? 'hwc' : 'chw')),
    ...(mean && std && { mean: mean.slice(0, n), std: std.slice(0, n) }),
  });
}

/**
 * Reads a shape; returns a message if the text is wrong.
 * @param {string} text
 * @param {Port} port
 * @returns {number[] | string}
 */
function shapeOf(text, { constraints }) {
  const inner = text
    .trim()
    .replace(/^([[(])(.*)[\])]$/, '$2')
    .replace(/,\s*$/, '')
    .trim();
  const parts = inner === '' ? [] : inner.split(/\s*[x×*,]\s*|\s+/i);
  const odd = parts.find((part) => !/^\d+$/.test(part));
  if (odd !== undefined)
    return odd === ''
      ? 'a size is missing; write sizes as 1 x 3 x 224 x 224'
      : `a size must be a whole number, got "${odd}"; write sizes as 1 x 3 x 224 x 224`;
  const shape = parts.map(Number),
    n = shape.reduce((a, b) => a * b, 1);
  if (shape.length > 8) return `a tensor must have at most 8 dimensions, got ${shape.length}`;
  if (n > MOST)
    return `a random input must have at most ${MOST.toLocaleString('en')} numbers, got ${n.toLocaleString('en')}`;
  for (const [dim, constraint] of constraints?.entries() ?? []) {
    const size = shape[dim];
    if (!constraint) continue;
    if (size === undefined) return `the input must have at least ${counted(dim + 1, 'dimension')}, got ${shape.length}`;
    const { min, max } = constraint;
    const wanted = max === null ? `at least ${min}` : min === max ? min : `between ${min} and ${max}`;
    if (size < min || (max !== null && size > max)) return `size ${dim} must be ${wanted}, got ${size}`;
  }
  return shape;
}

/** The largest random input, in numbers. */
const MOST = 2 ** 27;

/**
 * Reads a value that is not a tensor (undefined if it is omitted); returns a message if the text is wrong.
 * @param {string} text
 * @param {Port} port
 * @returns {{ value: InputValue | undefined } | string}
 */
function valueOf(text, { type, optional }) {
  if (type === 'str') return { value: text };
  if (text.trim() === '')
    return optional || /\?$/.test(type) ? { value: undefined } : `a value is missing; it must be of type ${type}`;
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return `the value must be of type ${type}, written as JSON`;
  }
  const fits = /** @type {Record<string, (v: unknown) => boolean>} */ ({
    int: Number.isSafeInteger,
    float: (v) => typeof v === 'number',
    bool: (v) => typeof v === 'boolean',
  });
  const plain = type.replace(/\?$/, ''); // "int?" takes null, too
  return (plain !== type && value === null) || (fits[plain]?.(value) ?? true)
    ? { value }
    : `the value must be of type ${plain}, got ${text}`;
}

/** @typedef {{ dtype: import('../../src/base/types.js').DType, shape: number[], data: string }} Encoded */

/** Decodes a value of /test-inputs, whose tensors have base64. @param {unknown} value @returns {InputValue} */
function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (typeof value !== 'object' || value === null) return /** @type {InputValue} */ (value);
  const { dtype, shape, data } = /** @type {Encoded} */ (value);
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  return { dtype, shape, data: new DTYPES[dtype].Array(bytes.buffer) };
}

/**
 * Reads the inputs of the first test vector of each method, by the method's index.
 * @returns {Promise<Record<number, unknown[]>>}
 */
const testInputs = async () => (await fetch('/test-inputs')).json();

/**
 * The text of a value for an input that is no tensor; undefined if it has tensors.
 * @param {unknown} value of the first test vector
 */
function textOf(value) {
  if (typeof value === 'string') return value;
  const text = JSON.stringify(value);
  return text.includes('{') ? undefined : text;
}

const VECTOR = 'first test vector';

/**
 * Makes the row of an input, and registers a function that reads its value.
 * @param {Port} port
 * @param {import('../../src/api/graph.js').Graph} graph
 * @param {unknown} first its value in the first test vector, if any
 */
function field(port, graph, first) {
  const tensor = port.type === 'Tensor',
    wrong = make('span', { className: 'wrong', hidden: true, id: `wrong-${port.name}` });
  wrong.role = 'alert';
  const text = make('input', {
    value: tensor
      ? (port.shape ?? [1]).map((n) => n ?? 1).join(' x ')
      : port.optional
        ? ''
        : port.type === 'bool'
          ? 'true'
          : port.type === 'str'
            ? ''
            : '1',
    ariaLabel: tensor ? `sizes of ${port.name}` : `value of ${port.name}`,
    spellcheck: false,
  });
  text.setAttribute('aria-describedby', wrong.id);
  const dtype = port.dtype ?? 'float32',
    { low, high } = tensor ? rangeOf(port, graph) : {};
  const about = tensor
    ? `${dtype}${port.shape ? '' : ', any size'}; ${madeText(dtype, low, high)}`
    : port.type + (port.optional ? ', may be empty' : '');
  const simple = first === undefined || first === null || tensor ? undefined : textOf(first);
  if (simple !== undefined) text.value = simple;
  const vector = typeof first === 'object' && first !== null && simple === undefined ? decoded(first) : undefined;
  if (tensor && vector) text.value = /** @type {Encoded} */ (first).shape.join(' x ');
  else if (vector) text.value = VECTOR;
  let given = vector;
  const row = make(
    'div',
    { className: 'port' },
    make('label', {}, make('b', {}, port.name), make('span', { className: 'quiet' }, about)),
    make('div', {}, text, wrong),
  );
  if (tensor) {
    const file = make('input', { type: 'file', accept: '.npy,image/*' }),
      name = make('span', {}, vector ? VECTOR : FILE);
    const scale = make(
      'select',
      { hidden: true, ariaLabel: `numbers of ${port.name}` },
      ...Object.keys(SCALES).map((text) => make('option', { value: text }, text)),
    );
    row.append(make('label', { className: 'file' }, name, file), scale);
    scale.onchange = file.onchange = async () => {
      try {
        const [chosen] = file.files ?? [];
        if (!chosen) return;
        const npy = chosen.name.endsWith('.npy');
        const read = npy
          ? readNpy(new Uint8Array(await chosen.arrayBuffer()))
          : await picture(chosen, port, scale.value);
        scale.hidden = npy || read.dtype === 'uint8';
        given = read;
        text.value = read.shape.join(' x ');
        name.textContent = name.title = chosen.name;
        check();
      } catch (e) {
        fail(e);
      }
    };
  }
  const read = () => (tensor ? shapeOf(text.value, port) : valueOf(text.value, port));
  const check = () => {
    const found = given === undefined ? read() : {};
    wrong.textContent = typeof found === 'string' ? found : '';
    wrong.hidden = typeof found !== 'string';
    text.ariaInvalid = String(!wrong.hidden);
    return wrong.hidden;
  };
  text.oninput = () => {
    given = undefined;
    for (const name of row.querySelectorAll('.file span')) name.textContent = FILE;
    for (const scale of row.querySelectorAll('select')) scale.hidden = true;
    check();
  };
  fields.set(port.name, () => {
    // Another run has random numbers in the place of the first test vector.
    if (tensor && given === vector && seed > 1) text.oninput?.(new InputEvent('input'));
    if (given !== undefined) return given;
    if (!check()) {
      text.focus();
      throw new Misread();
    }
    const found = read();
    return tensor
      ? random(/** @type {number[]} */ (found), dtype, low, high, seed)
      : /** @type {{ value: InputValue | undefined }} */ (found).value;
  });
  return row;
}

/** Thrown for a wrong input, whose message is beside the input. */
class Misread extends Error {}

/** @param {import('../../src/api/model.js').Model} model */
async function start(model) {
  const names = Object.keys(model.methods);
  method.append(...names.map((name) => make('option', { value: name }, name)));
  get('methods').hidden = names.length < 2;
  const vectors = await testInputs();
  const fill = () => {
    const vector = vectors[names.indexOf(method.value)] ?? [];
    fields = new Map();
    get('inputs').replaceChildren(
      ...(model.methods[method.value]?.inputs ?? []).map((port, i) =>
        field(port, /** @type {import('../../src/api/graph.js').Graph} */ (model.graphs[method.value]), vector[i]),
      ),
    );
    return vector.length > 0;
  };
  const quiet = () => {
    get('error').hidden = true;
  };
  method.onchange = fill;
  const complete = fill();

  const once = async () => {
    run.disabled = again.disabled = true;
    quiet();
    try {
      /** @type {Record<string, InputValue>} */ const inputs = {};
      for (const [name, value] of fields) {
        const given = value();
        if (given !== undefined) inputs[name] = given;
      }
      const from = performance.now(),
        results = await model.run(inputs, { method: method.value });
      get('took').textContent = `${(performance.now() - from).toFixed(1)} ms`;
      get('outputs').replaceChildren(...Object.entries(results).map(([name, value]) => showOutput(name, value)));
      const layers = await layersOf(model, inputs, { method: method.value, runs: RUNS });
      get('time').hidden = false;
      get('total').textContent =
        `${total(layers, 'ms')} ms in ${counted(layers.length, 'operator')} (median of ${RUNS} ` +
        `runs); the first run took ${total(layers, 'firstMs')} ms`;
      drawFlame(get('flame'), get('detail'), layers);
      get('layers').replaceChildren(...table(layers));
      document.documentElement.dataset.done = String(seed);
    } catch (e) {
      if (!(e instanceof Misread)) fail(e);
    } finally {
      run.disabled = again.disabled = false;
    }
  };
  const form = /** @type {HTMLFormElement} */ (get('form'));
  form.onsubmit = (event) => {
    event.preventDefault();
    void once();
  };
  form.addEventListener('input', quiet); // the error belongs to the earlier input
  form.addEventListener('change', quiet);
  again.onclick = () => {
    seed++;
    void once();
  };
  const ready =
    complete ||
    Object.values(model.inputs).every(
      (port) => port.optional || port.type !== 'Tensor' || (port.shape && !port.shape.includes(null)),
    );
  run.disabled = again.disabled = false;
  if (ready) await once();
}

/** @param {import('../layers.js').Layer[]} layers @param {'ms' | 'firstMs'} of */
const total = (layers, of) => layers.reduce((sum, l) => sum + l[of], 0).toFixed(2);

const COLUMNS = ['layer', 'operator', 'output', 'parameters', 'bytes', 'ms', '%'];
const FIRST_NUMBER = 3;

/** @param {import('../layers.js').Layer[]} layers */
function table(layers) {
  const row = (/** @type {'th' | 'td'} */ tag, /** @type {string[]} */ texts) =>
    make(
      'tr',
      {},
      ...texts.map((text, i) => {
        const cell = make(tag, { className: i === 0 ? 'name' : i < FIRST_NUMBER ? '' : 'number' }, text);
        cell.dataset.name = COLUMNS[i] ?? ''; // shown beside each number in a narrow window
        return cell;
      }),
    );
  const some = (/** @type {number} */ n) => (n ? n.toLocaleString('en') : '');
  return [
    row('th', COLUMNS),
    ...layers.map((l) =>
      row('td', [
        l.layer || '–',
        l.op + (l.calls > 1 ? ` ×${Math.round(l.calls)}` : ''),
        l.outputs.join(', '),
        some(l.parameters),
        some(l.bytes),
        l.ms.toFixed(3),
        (100 * l.share).toFixed(1),
      ]),
    ),
  ];
}

try {
  const name = await (await fetch('/name')).text();
  document.title = `${name} – Rushlight`;
  get('name').textContent = name;
  const from = performance.now();
  const { default: ops } = await import(/** @type {string} */ ('/ops.js'));
  const model = await load('/model.rush', {
    worker: true,
    ops,
    onProgress: ({ loaded, total }) => {
      get('about').textContent = `loading ${size(loaded)} of ${size(total ?? 0)}`;
    },
  });
  const { bytes, weights, operators } = model.describe();
  const parameters = weightsOf(Object.values(model.graphs), weights).reduce((sum, w) => sum + w.parameters, 0);
  get('about').textContent = [
    size(bytes),
    counted(parameters, 'parameter'),
    `${counted(operators.length, 'kind')} of operators`,
    `wasm: ${model.backend.name}`,
    `loaded in ${(performance.now() - from).toFixed(0)} ms`,
  ].join(' · ');
  await start(model);
} catch (e) {
  get('about').textContent = '';
  fail(e);
}
