// The page of `npx rushlight serve`: runs the model on given or random inputs, and shows its outputs and its time.

import { load } from '../../src/index.js';
import { DTYPES } from '../../src/base/types.js';
import { readNpy } from '../../src/media/npy.js';
import { layersOf } from '../layers.js';
import { IMAGENET, imageToInput } from '../image-input.js';
import { randomText, random, rangeOf } from '../random.js';
import { counted, size } from '../units.js';
import { weightsOf } from '../weights.js';
import { make } from './dom.js';
import { drawFlame } from './flame.js';
import { GraphView } from './graph/view.js';
import { showOutput } from './outputs.js';

/** @typedef {import('../../src/base/types.js').Port} Port */
/** @typedef {import('../../src/base/types.js').InputValue} InputValue */
/** @typedef {import('../../src/api/graph.js').Graph} Graph */
/** @typedef {import('../../src/api/model.js').Model} Model */
/** @template {HTMLElement} T @param {string} id @returns {T} */
const get = (id) => /** @type {T} */ (document.getElementById(id));
/** @type {HTMLButtonElement} */ const run = get('run');
/** @type {HTMLButtonElement} */ const again = get('again');
/** @type {HTMLSelectElement} */ const method = get('method');

let seed = 1;
/** The field of each input, by name. @type {Map<string, Field>} */
let fields = new Map();

/** @param {unknown} e */
function fail(e) {
  const at = get('error');
  at.textContent = e instanceof Error ? e.message : String(e);
  at.hidden = false;
}

/** Runs after the first one; the page shows their median. */
const RUNS = 3;
const FILE = '.npy or image';
/** Scales of an image's numbers, which are 0 to 1. @type {Record<string, import('../image-input.js').Scale>} */
const SCALES = {
  '0 to 1': {},
  '-1 to 1': { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  "ImageNet's": IMAGENET,
};

/** Converts an image to a tensor. @param {Blob} file @param {Port} port @param {string} scale */
const readImage = async (file, port, scale) => imageToInput(await createImageBitmap(file), port, SCALES[scale] ?? {});

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
  if (n > MAX_NUMBERS)
    return (
      `a random input must have at most ${MAX_NUMBERS.toLocaleString('en')} numbers, ` + `got ${n.toLocaleString('en')}`
    );
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
const MAX_NUMBERS = 2 ** 27;

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
function decodeValue(value) {
  if (Array.isArray(value)) return value.map(decodeValue);
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
 * Returns the text of a value for an input that is not a tensor, or undefined if it has tensors.
 * @param {unknown} value of the first test vector
 */
function textOf(value) {
  if (typeof value === 'string') return value;
  const text = JSON.stringify(value);
  return text.includes('{') ? undefined : text;
}

const VECTOR = 'first test vector';

/** Returns the text that the field of an input begins with. @param {Port} port */
function firstText({ type, shape, optional }) {
  if (type === 'Tensor') return (shape ?? [1]).map((n) => n ?? 1).join(' x ');
  if (optional || type === 'str') return '';
  return type === 'bool' ? 'true' : '1';
}

/** The row of an input: a field for its text, and for a tensor also a button for a file. */
class Field {
  #port;
  /** The range of random numbers. @type {{ low?: number, high?: number }} */ #range;
  #dtype;
  #tensor;
  #wrong;
  #text;
  /** The value of a file or of the first test vector, until the text changes. @type {InputValue | undefined} */ #given;
  #vector;

  /**
   * @param {Port} port
   * @param {import('../../src/api/graph.js').Graph} graph
   * @param {unknown} first its value in the first test vector, if any
   */
  constructor(port, graph, first) {
    this.#port = port;
    this.#tensor = port.type === 'Tensor';
    this.#dtype = port.dtype ?? /** @type {const} */ ('float32');
    this.#range = this.#tensor ? rangeOf(port, graph) : {};
    this.#wrong = make('span', { className: 'wrong', hidden: true, id: `wrong-${port.name}` });
    this.#wrong.role = 'alert';
    this.#text = make('input', {
      value: firstText(port),
      ariaLabel: this.#tensor ? `sizes of ${port.name}` : `value of ${port.name}`,
      spellcheck: false,
      oninput: () => this.#changed(),
    });
    this.#text.setAttribute('aria-describedby', this.#wrong.id);
    this.#given = this.#vector = this.#begin(first);
    this.row = this.#makeRow();
    if (this.#tensor) this.row.append(...this.#fileParts());
  }

  /** Shows a value of the first test vector, and returns it unless its text says it. @param {unknown} first */
  #begin(first) {
    if (first === undefined || first === null) return undefined;
    const simple = this.#tensor ? undefined : textOf(first);
    const vector = typeof first === 'object' && simple === undefined ? decodeValue(first) : undefined;
    if (simple !== undefined) this.#text.value = simple;
    else if (vector) this.#text.value = this.#tensor ? /** @type {Encoded} */ (first).shape.join(' x ') : VECTOR;
    return vector;
  }

  #makeRow() {
    const { name, type, shape, optional } = this.#port,
      { low, high } = this.#range;
    const about = this.#tensor
      ? `${this.#dtype}${shape ? '' : ', any size'}; ${randomText(this.#dtype, low, high)}`
      : type + (optional ? ', may be empty' : '');
    return make(
      'div',
      { className: 'port' },
      make('label', {}, make('b', {}, name), make('span', { className: 'quiet' }, about)),
      make('div', {}, this.#text, this.#wrong),
    );
  }

  /** Makes the button for a file, and the choice of the range of an image. */
  #fileParts() {
    const file = make('input', { type: 'file', accept: '.npy,image/*' }),
      name = make('span', {}, this.#vector ? VECTOR : FILE);
    const scale = make(
      'select',
      { hidden: true, ariaLabel: `numbers of ${this.#port.name}` },
      ...Object.keys(SCALES).map((text) => make('option', { value: text }, text)),
    );
    scale.onchange = file.onchange = async () => {
      try {
        const [chosen] = file.files ?? [];
        if (!chosen) return;
        const npy = chosen.name.endsWith('.npy');
        const read = npy
          ? readNpy(new Uint8Array(await chosen.arrayBuffer()))
          : await readImage(chosen, this.#port, scale.value);
        scale.hidden = npy || read.dtype === 'uint8';
        this.#given = read;
        this.#text.value = read.shape.join(' x ');
        name.textContent = name.title = chosen.name;
        this.#check();
      } catch (e) {
        fail(e);
      }
    };
    return [make('label', { className: 'file' }, name, file), scale];
  }

  #read() {
    return this.#tensor ? shapeOf(this.#text.value, this.#port) : valueOf(this.#text.value, this.#port);
  }

  #check() {
    const found = this.#given === undefined ? this.#read() : {};
    this.#wrong.textContent = typeof found === 'string' ? found : '';
    this.#wrong.hidden = typeof found !== 'string';
    this.#text.ariaInvalid = String(!this.#wrong.hidden);
    return this.#wrong.hidden;
  }

  /** The text is the value now. */
  #changed() {
    this.#given = undefined;
    for (const name of this.row.querySelectorAll('.file span')) name.textContent = FILE;
    for (const scale of this.row.querySelectorAll('select')) scale.hidden = true;
    this.#check();
  }

  /** Returns the value, or throws InvalidInput. @returns {InputValue | undefined} */
  value() {
    // Another run has random numbers in the place of the first test vector.
    if (this.#tensor && this.#given === this.#vector && seed > 1) this.#changed();
    if (this.#given !== undefined) return this.#given;
    if (!this.#check()) {
      this.#text.focus();
      throw new InvalidInput();
    }
    const found = this.#read(),
      { low, high } = this.#range;
    return this.#tensor
      ? random(/** @type {number[]} */ (found), this.#dtype, low, high, seed)
      : /** @type {{ value: InputValue | undefined }} */ (found).value;
  }
}

/** Thrown for a wrong input, whose message is beside the input. */
class InvalidInput extends Error {}

/** Hides the error of an earlier input. */
const hideError = () => {
  get('error').hidden = true;
};

/** Shows the fields of the chosen method. @param {Model} model @param {readonly unknown[]} vector */
function showFields(model, vector) {
  fields = new Map();
  for (const [i, port] of (model.methods[method.value]?.inputs ?? []).entries())
    fields.set(port.name, new Field(port, /** @type {Graph} */ (model.graphs[method.value]), vector[i]));
  get('inputs').replaceChildren(...Array.from(fields.values(), ({ row }) => row));
}

/** Runs the chosen method on the values of the fields. @param {Model} model @param {GraphView} view */
async function runOnce(model, view) {
  run.disabled = again.disabled = true;
  hideError();
  try {
    /** @type {Record<string, InputValue>} */ const inputs = {};
    for (const [name, field] of fields) {
      const given = field.value();
      if (given !== undefined) inputs[name] = given;
    }
    const from = performance.now(),
      results = await model.run(inputs, { method: method.value });
    get('took').textContent = `${(performance.now() - from).toFixed(1)} ms`;
    get('outputs').replaceChildren(...Object.entries(results).map(([name, value]) => showOutput(name, value)));
    const layers = await layersOf(model, inputs, { method: method.value, runs: RUNS });
    showTimes(layers);
    view.ran({ method: method.value, inputs }, layers);
    document.documentElement.dataset.done = String(seed);
  } catch (e) {
    if (!(e instanceof InvalidInput)) fail(e);
  } finally {
    run.disabled = again.disabled = false;
  }
}

/** @param {import('../layers.js').Layer[]} layers */
function showTimes(layers) {
  get('time').hidden = false;
  get('total').textContent =
    `${totalTime(layers, 'ms')} ms in ${counted(layers.length, 'operator')} (median of ${RUNS} ` +
    `runs); the first run took ${totalTime(layers, 'firstMs')} ms`;
  drawFlame(get('flame'), get('detail'), layers);
  get('layers').replaceChildren(...table(layers));
}

/** Returns whether random numbers can be made for all inputs. @param {Model} model */
const canBegin = (model) =>
  Object.values(model.inputs).every(
    (port) => port.optional || port.type !== 'Tensor' || (port.shape && !port.shape.includes(null)),
  );

/** @param {Model} model */
async function start(model) {
  const names = Object.keys(model.methods);
  method.append(...names.map((name) => make('option', { value: name }, name)));
  get('methods').hidden = names.length < 2;
  const view = new GraphView(model);
  const vectors = await testInputs();
  const vectorOf = () => vectors[names.indexOf(method.value)] ?? [];
  const fill = () => {
    view.show(method.value);
    showFields(model, vectorOf());
  };
  method.onchange = fill;
  fill();
  const form = /** @type {HTMLFormElement} */ (get('form'));
  form.onsubmit = (event) => {
    event.preventDefault();
    void runOnce(model, view);
  };
  form.addEventListener('input', hideError); // the error belongs to the earlier input
  form.addEventListener('change', hideError);
  again.onclick = () => {
    seed++;
    void runOnce(model, view);
  };
  run.disabled = again.disabled = false;
  if (vectorOf().length > 0 || canBegin(model)) await runOnce(model, view);
}

/** @param {import('../layers.js').Layer[]} layers @param {'ms' | 'firstMs'} of */
const totalTime = (layers, of) => layers.reduce((sum, l) => sum + l[of], 0).toFixed(2);

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
  const numberOrEmpty = (/** @type {number} */ n) => (n ? n.toLocaleString('en') : '');
  return [
    row('th', COLUMNS),
    ...layers.map((l) =>
      row('td', [
        l.layer || '–',
        l.op + (l.calls > 1 ? ` ×${Math.round(l.calls)}` : ''),
        l.outputs.join(', '),
        numberOrEmpty(l.parameters),
        numberOrEmpty(l.bytes),
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
