// The declarations that `npx rushlight types` writes for ports other than one tensor; tests/package compiles them.

import assert from 'node:assert/strict';
import test from 'node:test';

import ts from 'typescript';

import { declaration } from '../../js/bin/types.js';

/** @param {string} name @param {string} type @param {object} [more] */
const port = (name, type, more) => ({ name, type, dtype: null, shape: null, optional: false, ...more });

test('each type has its TypeScript, as it is taken and as it is given', () => {
  const rows = [
    ['Tensor', 'TensorLike', 'Tensor'],
    ['Tensor?', 'TensorLike | null | undefined', 'Tensor | null'],
    ['Tensor[]', 'readonly TensorLike[]', 'Tensor[]'],
    ['int[]', 'readonly (number | bigint)[]', '(number | bigint)[]'],
    ['(Tensor, int, str)', 'readonly [TensorLike, number | bigint, string]', '[Tensor, number | bigint, string]'],
    ['Dict(str, Tensor)', 'Map<string, TensorLike> | { [key: string]: TensorLike }', 'Map<string, Tensor>'],
    ['Dict(int, bool)', 'Map<number | bigint, boolean>', 'Map<number | bigint, boolean>'],
    ['Union(Tensor, float)', 'TensorLike | number', 'Tensor | number'],
    ['complex', 'Complex | number', 'Complex'],
    ['Any', 'InputValue', 'Value'],
    ['__torch__.State', 'InputValue', 'Value'],
  ];
  for (const [type = '', taken, given] of rows) {
    const text = declaration(
      [{ name: 'forward', inputs: [port('x', type)], outputs: [port('y', type)], result: type }],
      'M',
      'm.rush',
    );
    const lines = text.split('\n').map((line) => line.trim());
    assert.deepEqual(
      [
        lines.find((line) => /^x\??:/.test(line)),
        lines.find((line) => line.startsWith('y:')),
        lines.find((line) => line.startsWith('result:')),
      ],
      [`x${type.endsWith('?') ? '?' : ''}: ${taken};`, `y: ${given};`, `result: ${given};`],
    );
  }
});

test('what may be left out, odd names, constraints on sizes', () => {
  const x = port('x', 'Tensor', {
    dtype: 'float32',
    shape: [null, null, 3, null],
    constraints: [{ name: 'batch', min: 2, max: 8 }, null, null, { name: 'a */ b', min: 0, max: null }],
  });
  const text = declaration(
    [
      {
        name: 'en-code',
        inputs: [x, port('in', 'int', { optional: true }), port('2', 'Tensor', { dtype: 'int64', optional: true })],
        outputs: [port('a', 'Tensor', { dtype: 'bool' }), port('b', 'str')],
        result: '(Tensor, str)',
      },
      { name: 'none', inputs: [], outputs: [], result: 'NoneType' },
    ],
    'M',
    'm\n.rush',
  );
  assert.equal(
    text,
    `// Made from m?.rush by npx rushlight types. Sizes are those of the export's examples.
import type { Tensor, TensorLike } from 'rushlight';

export type M = {
  "en-code": {
    inputs: {
      /** float32 [batch >= 2 <= 8, ?, 3, a * / b] */
      x: TensorLike<'float32'>;
      in?: number | bigint;
      /** int64 */
      "2"?: TensorLike<'int64'>;
    };
    outputs: {
      /** bool */
      a: Tensor<'bool'>;
      b: string;
    };
    args: [x: TensorLike<'float32'>, arg1?: number | bigint, arg2?: TensorLike<'int64'>];
    result: [Tensor<'bool'>, string];
  };
  none: {
    inputs: {
    };
    outputs: {
    };
    args: [];
    result: null;
  };
};
`,
  );
});

/** Names that mean something to TypeScript or JavaScript, and such as a file may have. */
const NAMES =
  `abstract accessor any as asserts assert async await bigint boolean break case catch class const constructor
  continue debugger declare default defer delete do else enum export extends false finally for from function get
  global if implements import in infer instanceof interface intrinsic is keyof let module namespace never new null
  number object of out override package private protected public readonly require return satisfies set static string
  super switch symbol this throw true try type typeof undefined unique unknown using var void while with yield eval
  arguments __proto__ prototype hasOwnProperty toString NaN Infinity`
    .split(/\s+/)
    .concat([
      '',
      ' ',
      '..',
      '*/',
      "'",
      '"',
      '`',
      '\\',
      '\n',
      '\u2028',
      '\u202e',
      '${x}',
      '//',
      '@param',
      '1',
      '0x',
      'é',
      '漢',
      '<T>',
      'a-b',
      '#a',
      '\0',
      'x'.repeat(10_000),
    ]);

test('what is written parses, whatever the names are', () => {
  /** @type {string[]} */ const wrong = [];
  const parses = (/** @type {string} */ text, /** @type {string} */ what) => {
    const { parseDiagnostics } = /** @type {any} */ (ts.createSourceFile('m.d.ts', text, ts.ScriptTarget.Latest, true));
    if (parseDiagnostics.length) wrong.push(`${JSON.stringify(what.slice(0, 20))}: ${parseDiagnostics[0].messageText}`);
  };
  for (const name of NAMES) {
    for (const optional of [false, true]) {
      const ports = [
        port(name, 'Tensor', { optional, shape: [null], constraints: [{ name, min: 0, max: null }] }),
        port('x', 'int', { optional }),
      ];
      parses(
        declaration([{ name, inputs: ports, outputs: ports, result: '(Tensor, int)' }], 'M', `${name}.rush`),
        name,
      );
    }
  }
  assert.deepEqual(wrong, []);
  const { parseDiagnostics } = /** @type {any} */ (
    ts.createSourceFile('m.d.ts', 'export type M = { args: [var: number] };', ts.ScriptTarget.Latest, true)
  );
  assert(parseDiagnostics.length, 'a label that is a keyword would be seen');
});
