// Reads the values of --input.

import { badArgument } from '../src/base/errors.js';
import { readNpy } from '../src/media/npy.js';
import { readSafetensors } from '../src/media/safetensors.js';
import { DTYPES, DTYPE_NAMES } from '../src/base/types.js';
import { readMedia } from './media-inputs.js';
import { randomText, random, rangeOf } from './random.js';
import { readLocal } from './read-file.js';
import { indented } from './printable.js';

/**
 * @typedef {import('../src/base/types.js').Port} Port
 * @typedef {import('../src/base/types.js').DType} DType
 * @typedef {import('../src/base/types.js').InputValue} InputValue
 * @typedef {import('../src/api/graph.js').Graph} Graph
 */

const SHAPE = /^(\d+(?:x\d+)*)(?::([a-z]+\d*))?(?::(-?[\d.]+)\.\.(-?[\d.]+))?$/;

/**
 * @param {readonly Port[]} ports
 * @param {Graph} graph of the method, for the range of random numbers
 * @param {readonly string[]} [texts] "NAME=VALUE" each
 * @returns {Promise<Record<string, InputValue>>}
 */
export async function readInputs(ports, graph, texts = []) {
  /** @type {Record<string, InputValue>} */
  const inputs = Object.create(null); // an input may have the name __proto__
  for (const text of texts) {
    const equals = text.indexOf('=');
    if (equals < 0 && text.endsWith('.safetensors')) {
      Object.assign(inputs, readSafetensors(await readLocal(text)));
    } else if (equals < 1) {
      throw badArgument(
        `--input must be NAME=VALUE, got "${text}"; the inputs are ${ports.map((p) => p.name).join(', ')}`,
      );
    } else {
      const name = text.slice(0, equals);
      inputs[name] = await readInput(
        name,
        text.slice(equals + 1),
        ports.find((p) => p.name === name),
        graph,
      );
    }
  }
  return inputs;
}

/**
 * @param {string} name
 * @param {string} text
 * @param {Port | undefined} port
 * @param {Graph} graph
 * @returns {Promise<InputValue>}
 */
async function readInput(name, text, port, graph) {
  const path = text.replace(/^@/, '');
  if (path.endsWith('.npy')) return readNpy(await readLocal(path));
  if (path.endsWith('.safetensors')) {
    const tensors = readSafetensors(await readLocal(path));
    const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
    if (!tensor)
      throw badArgument(`${path} has no tensor "${name}"; it has ${Object.keys(tensors).join(', ')}`, { input: name });
    return tensor;
  }
  if (port?.type === 'str') return text;
  const media = await readMedia(port ?? { name, dtype: null, shape: null }, path);
  if (media) return media;
  // The input has one dimension, so that a number is its size.
  if (/^-?\d+$/.test(text) && port?.shape?.length !== 1)
    return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
  const shape = SHAPE.exec(text);
  if (shape) return fromShape(name, shape, port, graph);
  try {
    return JSON.parse(text, (_, v) => (v === 'NaN' ? NaN : v));
  } catch {
    const known = /** @type {Record<string, number>} */ ({ nan: NaN, inf: Infinity, '-inf': -Infinity })[
      text.toLowerCase()
    ];
    if (known !== undefined) return known;
    throw badArgument(
      `--input ${name} must be a .npy or .safetensors file, an image, audio, a shape or a JSON value, got ${text}`,
      { input: name, actual: text },
    );
  }
}

/** @param {string} name @param {RegExpExecArray} match @param {Port | undefined} port @param {Graph} graph */
function fromShape(name, [, sizes = '', given, low, high], port, graph) {
  const dtype = given ?? port?.dtype ?? 'float32';
  if (!Object.hasOwn(DTYPES, dtype))
    throw badArgument(`--input ${name}: there is no dtype "${dtype}"; known: ${DTYPE_NAMES.join(', ')}`, {
      input: name,
      actual: dtype,
    });
  const range =
    low === undefined
      ? port && rangeOf({ ...port, dtype: /** @type {DType} */ (dtype) }, graph)
      : { low: Number(low), high: Number(high) };
  return randomInput(name, sizes.split('x').map(Number), /** @type {DType} */ (dtype), range);
}

/**
 * Makes inputs for a run.
 * @param {Port} port
 * @param {Graph} graph of the method
 * @param {string} command the command that needs inputs
 */
export function defaultInput(port, graph, command) {
  if (port.type === 'int') return 1;
  if (port.type === 'float') return 1;
  if (port.type === 'bool') return true;
  if (port.type !== 'Tensor' || !port.shape || port.shape.includes(null)) throw missingInputError(port, command);
  return randomInput(port.name, /** @type {number[]} */ (port.shape), port.dtype ?? 'float32', rangeOf(port, graph));
}

/**
 * Makes a random tensor, and says so on stderr.
 * @param {string} name
 * @param {number[]} shape
 * @param {DType} dtype
 * @param {{ low?: number, high?: number }} [range]
 */
function randomInput(name, shape, dtype, { low, high } = {}) {
  process.stderr.write(`${indented(`${name}: ${dtype} [${shape.join(', ')}], ${randomText(dtype, low, high)}`)}\n`);
  return random(shape, dtype, low, high);
}

/**
 * Returns the error that shows how to pass an input.
 * @param {Port} port
 * @param {string} command the command that needs it
 */
export function missingInputError({ name, type, shape, dtype }, command) {
  const tensor = `${shape?.map((n) => n ?? 8).join('x') ?? '1x8'}:${dtype ?? 'float32'}`;
  const example = /** @type {Record<string, string>} */ ({
    Tensor: tensor,
    int: '1',
    float: '1.5',
    bool: 'true',
    str: 'text',
  })[type];
  return badArgument(
    `${command} needs --input ${name}=VALUE, ${
      example
        ? `for example --input ${name}=${example}`
        : `a ${type} in JSON${
            type.includes('Tensor') ? ', where a tensor is {"dtype": "float32", "shape": ' + '[2], "data": [0, 1]}' : ''
          }`
    }`,
    { input: name },
  );
}
