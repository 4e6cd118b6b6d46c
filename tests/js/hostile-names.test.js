// Files whose every name is hostile (tests/hostile_names.py), through the API and the command line.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';

import { load } from '../../js/src/index.js';
import { writeNpy } from '../../js/src/media/npy.js';
import { plan } from '../../js/src/api/load.js';
import { ending } from './nodes.mjs';

const top = fileURLToPath(new URL('../../', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'rush-names-')),
  files = join(dir, 'files'),
  empty = join(dir, 'empty');
after(() => rmSync(dir, { recursive: true }));
mkdirSync(empty);
execFileSync('python3', [join(top, 'tests/hostile_names.py'), files]);
const npy = join(dir, 'x.npy');
/** @type {{ file: string, name: string, op: string | null }[]} */
const ROWS = JSON.parse(readFileSync(join(files, 'names.json'), 'utf8'));
const bytesOf = (/** @type {string} */ file) => new Uint8Array(readFileSync(join(files, file)));
const x = { dtype: /** @type {const} */ ('float32'), shape: [2], data: Float32Array.of(-1, 2) };
writeFileSync(npy, writeNpy(x));

/** Characters that a terminal or an editor obeys. */
const OBEYED = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\u2028\u2029]/u;
const before = JSON.stringify([
  Object.getOwnPropertyNames(Object.prototype),
  Object.getOwnPropertyNames(Array.prototype),
  Object.keys(globalThis),
]);
/** Nothing of a file has run, or come to be. */
function untouched() {
  assert.equal(
    JSON.stringify([
      Object.getOwnPropertyNames(Object.prototype),
      Object.getOwnPropertyNames(Array.prototype),
      Object.keys(globalThis),
    ]),
    before,
  );
  assert(!('OWNED' in globalThis));
  assert.deepEqual(readdirSync(empty), []);
}

for (const { file, name: whole, op } of ROWS) {
  const name = whole.split('\0')[0] ?? ''; // a name ends there
  test(`the API with ${JSON.stringify((op ?? name).slice(0, 40))}`, async () => {
    /** @type {import('../../js/src/api/model.js').Model} */ let model;
    try {
      model = await load(bytesOf(file));
    } catch (e) {
      const { code, message } = /** @type {any} */ (e);
      assert(message && op && code === 'unsupported', message);
      return untouched();
    }
    assert.deepEqual(Object.keys(model.methods), ['forward', name, 'fails_0']);
    assert.deepEqual(
      [...model.inputs, ...model.outputs].map((port) => port.name),
      [name, name],
    );
    const results = await model.run({ [name]: x });
    assert.deepEqual(Object.keys(results), [name]);
    assert.deepEqual([...results[name].data], [0, 2]);
    const [first, other] = /** @type {any} */ (await model.call(name, x, x));
    assert.deepEqual(
      [[...first.data], [...other.data]],
      [
        [-1, 2],
        [-1, 2],
      ],
    );
    const both = await model.run({ [name]: x, y: x }, { method: name });
    assert.deepEqual(Object.keys(both).sort(), [name, 'other'].sort());
    const state = await model.state();
    assert.deepEqual(Object.keys(state), [name]);
    assert((await model.verify()).passed);
    await assert.rejects(model.run({ [name]: x }, { method: 'fails_0' }), { name: 'RushlightError' });
    await assert.rejects(model.run({ 'no such input': x }), { name: 'RushlightError' });
    await assert.rejects(model.run({ [name]: x }, { method: 'no such method' }), { name: 'RushlightError' });
    model.dispose();
    const { methods } = await plan(bytesOf(file));
    assert.deepEqual(
      methods.map((m) => m.name),
      ['forward', name, 'fails_0'],
    );
    untouched();
  });
}

/** @param {string[]} args */
function cli(...args) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...ending, join(top, 'js/bin/rushlight.js'), ...args],
    { cwd: empty, encoding: 'utf8', maxBuffer: 1e8 },
  );
  assert.doesNotMatch(stdout, OBEYED);
  assert.doesNotMatch(stderr, OBEYED);
  return { status, out: stdout, err: stderr };
}
const all = join(files, 'all.rush');

for (const args of [
  ['inspect'],
  ['inspect', '--json'],
  ['inspect', '--layers'],
  ['inspect', '--graph'],
  ['inspect', '--code'],
  ['inspect', '--run', '--input', 'class=2:float32'],
  ['verify'],
  ['verify', '--json'],
  ['run', '--input', 'class=2:float32'],
  ['run', '--json', '--input', 'class=2:float32'],
  ['bench', '--runs', '1', '--backend', 'simd', '--input', 'class=2:float32'],
]) {
  test(`npx rushlight ${args.join(' ')}`, () => {
    const [command = '', ...options] = args;
    const { status, out, err } = cli(command, all, ...options);
    assert.equal(status, 0, err);
    if (options.includes('--json')) JSON.parse(out);
    if (args.length === 1 && command === 'inspect')
      assert.equal(out.match(/^method /gm)?.length, out.match(/^method .*$/gm)?.length);
    untouched();
  });
}

test(
  'npx rushlight run: what fails names the line of the source, of which ' + 'only the first line begins at the margin',
  async () => {
    const { methods } = await plan(bytesOf('all.rush'));
    const failing = methods.filter(
      (m) =>
        m.name.startsWith('fails_') &&
        /^[^=]*[\n\u202e\x1b][^=]*$/.test(m.inputs[0]?.name ?? '') &&
        (m.inputs[0]?.name.length ?? 0) < 100,
    );
    assert(failing.length > 2);
    for (const {
      name,
      inputs: [input],
    } of failing) {
      const { status, err } = cli('run', all, '--method', name, '--input', `${input?.name}=${npy}`);
      assert.equal(status, 1, err);
      assert.match(err, /^rushlight: .*\n( {2}.*\n)*$/);
      assert.match(err, /\b7\b/);
    }
    untouched();
  },
);

test('npx rushlight names an operator that is missing', () => {
  for (const { file, op } of ROWS) {
    if (!op) continue;
    const { status, err } = cli('run', join(files, file));
    assert.equal(status, 1);
    assert.match(err, /^rushlight: .*\n( {2}.*\n)*$/);
  }
});

test('npx rushlight types writes TypeScript that parses, and says nothing but types', () => {
  const out = join(dir, 'all.d.ts');
  assert.equal(cli('types', all, '--output', out).status, 0);
  const text = readFileSync(out, 'utf8');
  assert.doesNotMatch(text, OBEYED);
  const source = ts.createSourceFile('all.d.ts', text, ts.ScriptTarget.Latest, true);
  assert.deepEqual(
    /** @type {any} */ (source).parseDiagnostics.map((/** @type {any} */ d) =>
      ts.flattenDiagnosticMessageText(d.messageText, ' '),
    ),
    [],
  );
  assert.deepEqual(
    source.statements.map((s) => ts.SyntaxKind[s.kind]),
    ['ImportDeclaration', 'TypeAliasDeclaration'],
  );
  untouched();
});

test('npx rushlight serve gives a page that does not depend on the file', async () => {
  const child = spawn(process.execPath, [...ending, join(top, 'js/bin/rushlight.js'), 'serve', all], { cwd: empty });
  try {
    let said = '';
    child.stdout.setEncoding('utf8');
    for await (const part of child.stdout) if (/http:\S+/.test((said += part))) break;
    const url = /http:\S+/.exec(said)?.[0] ?? '';
    const page = await fetch(url),
      text = await page.text();
    assert.equal(text, readFileSync(join(top, 'js/bin/page/index.html'), 'utf8'));
    assert.match(page.headers.get('content-security-policy') ?? '', /script-src 'self' 'wasm-unsafe-eval';/);
    assert.deepEqual(
      new Uint8Array(await (await fetch(new URL('/model.rush', url))).arrayBuffer()),
      bytesOf('all.rush'),
    );
  } finally {
    child.kill();
  }
  untouched();
});
