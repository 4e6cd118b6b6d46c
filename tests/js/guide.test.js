// The examples of the guide's pages, in the order in which they stand there, Python and JavaScript. What an example on
// a page makes, later ones and later pages use; those of one page in JavaScript are one program.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { JS_CODES, STATUS } from '../../js/src/base/errors.js';
import config from '../../web/.vitepress/config.mjs';
import { Folder, parts } from './examples.mjs';

const guide = fileURLToPath(new URL('../../web/guide/', import.meta.url));
/** The pages as the sidebar has them. */
const pages = config.themeConfig.sidebar['/guide/'].flatMap(({ items }) =>
  items.map(({ link }) => `${link.slice('/guide/'.length) || 'index'}.md`),
);
const here = new Folder();

test('each page is in the sidebar once', () => {
  assert.deepEqual(
    [...pages].sort(),
    readdirSync(guide)
      .filter((file) => file.endsWith('.md'))
      .sort(),
  );
});

for (const page of pages) {
  const text = readFileSync(guide + page, 'utf8');
  const examples = (/** @type {string} */ language) =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}(?: \\[\\w+\\])?\\n([^]*?)^\`\`\``, 'gm'))]
      .map(([, code = '']) => code)
      .join('');
  const python = examples('python'),
    js = examples('js');
  if (python) test(`${page}: Python`, () => void here.runPython(python));
  if (js) test(`${page}: JavaScript`, () => here.runJs(js, `${page}.mjs`));
}

test('no text of the exporter sends to npx, which asks a registry where the npm package is not installed', () => {
  const exporter = fileURLToPath(new URL('../../exporter/', import.meta.url)),
    files = readdirSync(exporter, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(py|cpp|h|md)$/.test(name),
    );
  assert.deepEqual(
    files.filter((name) => /npx\s+rushlight/.test(readFileSync(exporter + name, 'utf8'))),
    [],
  );
  assert.ok(files.includes('src/cli/command_line.cpp'));
});

test('the table of codes in errors.md has all of them', () => {
  const told = parts('web/guide/errors.md', /(?<=^\| )`.*?(?= \|)/gm).flatMap((cell) => cell.match(/[\w-]+/g) ?? []);
  const codes = [...STATUS, ...JS_CODES].filter((code) => code !== 'ok' && code !== 'pending');
  assert.deepEqual(told.sort(), codes.sort());
});

test('the pages on onnxruntime-web say what becomes of each name of its API', () => {
  const types = [
    'inference-session',
    'env',
    'tensor',
    'tensor-factory',
    'tensor-conversion',
    'tensor-utils',
    'onnx-model',
  ]
    .map((file) =>
      readFileSync(new URL(`../node_modules/onnxruntime-common/dist/esm/${file}.d.ts`, import.meta.url), 'utf8'),
    )
    .join('')
    .replace(/\/\*[^]*?\*\/|\/\/.*/g, '');
  const told = ['from-onnxruntime-web', 'settings-of-onnxruntime-web']
    .map((page) => readFileSync(`${guide}${page}.md`, 'utf8'))
    .join('');
  const names = [
    'SessionOptions',
    'OnnxModelOptions',
    'RunOptions',
    'InferenceSession',
    'InferenceSessionFactory',
    'WebAssemblyFlags',
    'Env',
    'TypedTensorBase<',
    'DataTypeMap',
    'TensorFactory',
    'ConversionUtils',
    'Properties',
    'TypedShapeUtils<',
  ].flatMap((name) => {
    const [, indent, body = ''] =
      types.match(new RegExp(`^( *)(?:export )?interface ${name}[^{]*{\\n([^]*?)^\\1}`, 'm'))?.slice(0, 3) ?? [];
    const own = [...body.matchAll(new RegExp(`^${indent} {4}(?:readonly )?(\\w+)\\??[:(<]`, 'gm'))].map(
      ([, member]) => member ?? '',
    );
    assert.ok(own.length, name);
    return own;
  });
  assert.deepEqual(
    [...new Set(names)].filter((name) => !new RegExp(`\\b${name}\\b`).test(told)),
    [],
  );
});
