// npx rushlight slim: a runtime with the operators of some files, which gives the same answers to the bit.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { load, plan } from '../../js/src/index.js';
import { hasRelaxed } from '../../js/src/runtime.js';
import { RushFile } from './build-rush.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const bin = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url));
const tests = fileURLToPath(new URL('..', import.meta.url)); // where binaryen is installed
const dir = mkdtempSync(join(tmpdir(), 'rush-slim-'));
after(() => rmSync(dir, { recursive: true }));
const at = (/** @type {string[]} */ ...names) => join(dir, ...names);
const backends = /** @type {const} */ (hasRelaxed() ? ['simd', 'relaxed'] : ['simd']);

/** @param {string[]} args */
const slim = (...args) => promisify(execFile)(process.execPath, [bin, 'slim', ...args], { cwd: tests }).then(({ stdout }) => stdout, (e) => { throw new Error(e.stderr); });
/** @param {string} folder */
const wasmOf = (folder) => ({ simd: at(folder, 'rushlight-simd.wasm'), relaxed: at(folder, 'rushlight-relaxed.wasm') });

let missing = '', report = '';
before(async () => {
  const { status, stderr, error } = spawnSync('python3', [join(here, 'slim_models.py'), dir], { encoding: 'utf8' });
  if (error || /No module named '(torch|torchvision|rushlight)'/.test(stderr)) missing = 'there is no python3 with torch and rushlight: use ./dev test';
  else {
    assert.equal(status, 0, stderr);
    report = await slim(at('mobilenet.rush'), '-o', at('mobilenet'));
  }
});
const f = new RushFile();
f.method('forward', { inputs: [{ name: 'x' }], outputs: ['y'] }, (m, x) => m.op('aten::tanh', [x]));
writeFileSync(at('tanh.rush'), f.bytes());

/** A picture of some size: the same numbers each time. @param {number[]} shape */
function picture(shape) {
  const data = new Float32Array(shape.reduce((a, b) => a * b));
  for (let i = 0, s = 1; i < data.length; i++) data[i] = ((s = (Math.imul(s, 1664525) + 1013904223) >>> 0) / 2 ** 31) - 1;
  return { dtype: /** @type {const} */ ('float32'), shape, data };
}

test('a MobileNet needs at most 84 kB of wasm, and gives the same bits', async (t) => {
  if (missing) return t.skip(missing);
  const sizes = [...report.matchAll(/rushlight-(simd|relaxed)\.wasm: ([\d,]+) -> ([\d,]+) bytes, brotli ([\d,]+) -> ([\d,]+)\n/g)].map((m) => m.slice(2).map((n) => Number(n.replaceAll(',', ''))));
  assert.equal(sizes.length, 2, report);
  for (const [before = 0, after = 0, brotliBefore = 0, brotli = 0] of sizes) {
    assert(after < before / 2 && brotliBefore > 200_000, report);
    assert(brotli <= 84_000, report);
  }
  t.diagnostic(report);
  for (const backend of backends) {
    const full = await load(at('mobilenet.rush'), { backend }), slimmed = await load(at('mobilenet.rush'), { backend, wasm: wasmOf('mobilenet') });
    assert.equal(slimmed.backend.name, backend);
    assert((await slimmed.verify()).passed);
    for (const shape of [[1, 3, 96, 96], [2, 3, 33, 47], [1, 3, 32, 160]]) {
      const x = picture(shape);
      assert.deepEqual(await slimmed.run({ x }), await full.run({ x }));
    }
    assert.deepEqual(slimmed.describe(), full.describe());
    full.dispose();
    slimmed.dispose();
  }
});

test('other operators are missing, by name', async (t) => {
  if (missing) return t.skip(missing);
  const wasm = wasmOf('mobilenet');
  await assert.rejects(load(at('tanh.rush'), { wasm }), { code: 'unsupported', message: /this runtime was slimmed; missing aten::tanh\n[^]*npx rushlight slim/ });
  assert.deepEqual((await plan(at('tanh.rush'), { wasm })).missing.map(({ name }) => name), ['aten::tanh']);
  assert.deepEqual((await plan(at('mobilenet.rush'), { wasm })).missing, []);
  const model = await load(at('tanh.rush'), { wasm, ops: { 'aten::tanh': (/** @type {any} */ x) => ({ ...x, data: x.data.map(Math.tanh) }) } }).catch((e) => e.message);
  assert.match(String(model), /schema/); // it was added without one
});

test('one runtime serves several files; programs with control flow run on it, too', async (t) => {
  if (missing) return t.skip(missing);
  await slim(at('texts.rush'), at('tanh.rush'), '-o', at('both'));
  for (const backend of backends) {
    const models = await Promise.all([undefined, wasmOf('both')].map((wasm) => load(at('texts.rush'), { backend, ...(wasm && { wasm }) })));
    const answers = [];
    for (const model of models) {
      assert((await model.verify()).passed);
      model.manualSeed(3);
      answers.push(await model.run({ x: picture([4, 3]), words: ['a', 'b', 'c', 'a'] }));
      model.dispose();
    }
    assert.deepEqual(answers[1], answers[0]);
    const tanh = await load(at('tanh.rush'), { backend, wasm: wasmOf('both') });
    assert.deepEqual((await tanh.run({ x: picture([5]) })).y.data, (await (await load(at('tanh.rush'), { backend })).run({ x: picture([5]) })).y.data);
  }
});

test('the same files give the same bytes', async () => {
  const answers = [];
  for (const folder of ['once', 'again']) {
    assert.deepEqual(JSON.parse(await slim(at('tanh.rush'), '-o', at(folder), '--json')).operators, ['aten::tanh']);
    answers.push(readFileSync(at(folder, 'rushlight-simd.wasm')));
  }
  assert.deepEqual(answers[0], answers[1]);
});

test('what cannot be slimmed is refused, with a way out', async () => {
  const own = new RushFile();
  own.method('forward', { inputs: [{ name: 'x' }], outputs: ['y'] }, (m, x) => m.op('my_ops::scale', [x], 'Tensor', 'my_ops::scale(Tensor x) -> Tensor'));
  writeFileSync(at('own.rush'), own.bytes());
  await assert.rejects(slim(at('own.rush'), '-o', at('none')), /own\.rush needs operators that no runtime here has: my_ops::scale\. If JavaScript computes them: --ops FILE\.js/);
  writeFileSync(at('ops.mjs'), "export default { 'my_ops::scale': (x) => x };\n");
  assert.match(await slim(at('own.rush'), '--ops', at('ops.mjs'), '-o', at('own')), /^0 operators/);
  await assert.rejects(slim(at('tanh.rush')), /-o DIR/);

  // A copy of the package in a folder without binaryen, and one with another binary.
  mkdirSync(at('copy'));
  for (const name of ['bin', 'src', 'wasm', 'package.json']) cpSync(fileURLToPath(new URL(`../../js/${name}`, import.meta.url)), at('copy', name), { recursive: true });
  const copy = (/** @type {string} */ cwd) => spawnSync(process.execPath, [at('copy', 'bin', 'rushlight.js'), 'slim', at('tanh.rush'), '-o', at('none')], { cwd, encoding: 'utf8' });
  const without = copy(dir);
  assert.equal(without.status, 1);
  assert.match(without.stderr, /^rushlight: .*npm install .*binaryen/);
  cpSync(at('once', 'rushlight-simd.wasm'), at('copy', 'wasm', 'rushlight-simd.wasm'));
  assert.match(copy(tests).stderr, /rushlight-simd\.wasm is not the one that this package came with/);
});
