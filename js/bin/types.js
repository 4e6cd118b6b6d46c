// `npx rushlight types`: writes the inputs and outputs of a model as types of TypeScript.

import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { plan } from '../src/api/load.js';
import { parseType } from '../src/base/types.js';
import { escapeControls } from './printable.js';

/**
 * @typedef {import('../src/base/types.js').Port} Port
 * @typedef {import('../src/base/types.js').Type} Type
 * @typedef {import('../src/engine/engine.js').Method} Method
 */

/**
 * The types for TorchScript's simple types: of an input, and of a result.
 * @type {Record<string, [string, string]>}
 */
const SIMPLE = {
  NoneType: ['null | undefined', 'null'],
  bool: ['boolean', 'boolean'],
  int: ['number | bigint', 'number | bigint'],
  float: ['number', 'number'],
  Scalar: ['number | bigint', 'number | bigint'],
  complex: ['Complex | number', 'Complex'],
  str: ['string', 'string'],
  Device: ['string', 'string'],
  Any: ['InputValue', 'Value'],
};

/**
 * @param {Type} type
 * @param {string | null} dtype of a tensor
 * @param {boolean} given whether it is an input
 * @returns {string}
 */
function typeOf({ kind, of }, dtype, given) {
  const inner = of.map((type) => typeOf(type, of.length === 1 ? dtype : null, given)),
    [one = '', two = ''] = inner;
  const list = given ? 'readonly ' : '';
  switch (kind) {
    case 'Tensor':
      return `${given ? 'TensorLike' : 'Tensor'}${dtype ? `<'${dtype}'>` : ''}`;
    case 'Optional':
      return `${one} | null${given ? ' | undefined' : ''}`;
    case 'List':
      return `${list}${/\W/.test(one) ? `(${one})` : one}[]`;
    case 'Tuple':
      return `${list}[${inner.join(', ')}]`;
    case 'Dict':
      return `Map<${one}, ${two}>${given && of[0]?.kind === 'str' ? ` | { [key: string]: ${two} }` : ''}`;
    case 'Union':
      return inner.join(' | ');
    default:
      return SIMPLE[kind]?.[given ? 0 : 1] ?? (given ? 'InputValue' : 'Value'); // a class of the program
  }
}

const NAME = /^[A-Za-z_$][\w$]*$/;
/** Words that TypeScript does not accept as a label in a tuple. */
const RESERVED = new Set(
  `break case catch class const continue debugger default delete do else enum export extends false finally for
  function if import in instanceof new null return super switch this throw true try typeof var void while with
  implements interface let package private protected public static yield`.split(/\s+/),
);
/** @param {string} name @param {number} i which argument */
const label = (name, i) => (NAME.test(name) && !RESERVED.has(name) ? name : `arg${i}`);

const IMPORTED = ['Complex', 'InputValue', 'Tensor', 'TensorLike', 'Value'];

/** @param {string} name */
const key = (name) => (NAME.test(name) ? name : escapeControls(JSON.stringify(name)));
/** Returns a comment with text of a file, which must not end the comment. @param {string} text */
const comment = (text) => `/** ${text.replace(/\*\//g, '* /').replace(/[^ -~]/gu, '?')} */`;

/** "float32 [batch >= 2, 3, ?]", or "". @param {Port} port */
function shapeOf({ dtype, shape, constraints }) {
  if (!shape) return dtype ?? '';
  const sizes = shape.map((size, i) => {
    const { name, min = 0, max } = constraints?.[i] ?? { name: null };
    if (size !== null) return String(size);
    return `${name ?? '?'}${min > 0 ? ` >= ${min}` : ''}${max ? ` <= ${max}` : ''}`;
  });
  return `${dtype ?? '?'} [${sizes.join(', ')}]`;
}

/** @param {Port[]} ports @param {boolean} given @param {string} pad */
const members = (ports, given, pad) =>
  ports
    .map((port, i) => {
      const shape = shapeOf(port),
        type = parseType(port.type);
      const mark = given && (port.optional || type.kind === 'Optional' || type.kind === 'NoneType') ? '?' : '';
      return (
        `${shape && `${pad}${comment(shape)}\n`}${pad}${key(port.name || String(i))}${mark}: ` +
        `${typeOf(type, port.dtype, given)};\n`
      );
    })
    .join('');

/** @param {Method} method */
function methodText({ name, inputs, outputs, result }) {
  const optional = inputs.map(({ optional }, i) => optional && inputs.slice(i).every((port) => port.optional));
  const args = inputs.map(
    (port, i) => `${label(port.name, i)}${optional[i] ? '?' : ''}: ${typeOf(parseType(port.type), port.dtype, true)}`,
  );
  const returned = parseType(result),
    [only] = outputs;
  const given =
    returned.kind === 'Tuple' && outputs.length === returned.of.length
      ? `[${outputs.map((port) => typeOf(parseType(port.type), port.dtype, false)).join(', ')}]`
      : typeOf(returned, outputs.length === 1 ? (only?.dtype ?? null) : null, false);
  return `  ${key(name)}: {
    inputs: {
${members(inputs, true, '      ')}    };
    outputs: {
${members(outputs, false, '      ')}    };
    args: [${args.join(', ')}];
    result: ${given};
  };
`;
}

/**
 * Returns the text of a .d.ts file.
 * @param {readonly Method[]} methods
 * @param {string} name of the type
 * @param {string} file for a comment
 */
export function declaration(methods, name, file) {
  const body = methods.map(methodText).join('');
  const used = IMPORTED.filter((type) => new RegExp(`\\b${type}\\b`).test(body));
  const imports = used.length ? `import type { ${used.join(', ')} } from 'rushlight';\n\n` : '';
  return `// Made from ${file.replace(/[^ -~]/gu, '?')} by npx rushlight types. Sizes are those of the export's examples.
${imports}export type ${name} = {
${body}};
`;
}

/** @param {string} file @param {{ output?: string }} flags */
export async function types(file, { output }) {
  const { methods } = await plan(file);
  const base = basename(file.replace(/[?#].*/, '')).replace(/\.rush$/, '');
  const camel = base
    .replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]?)/g, (_, letter) => letter.toUpperCase())
    .replace(/^(?=\d|$)/, 'Model');
  const name = ['Map', ...IMPORTED].includes(camel) ? `${camel}Model` : camel;
  const path = output ?? `${base || 'model'}.d.ts`,
    text = declaration(methods, name, basename(file));
  if (path === '-') {
    process.stdout.write(text);
    return 0;
  }
  await writeFile(path, text);
  process.stdout.write(`${path}: load<${name}>(...)\n`);
  return 0;
}
