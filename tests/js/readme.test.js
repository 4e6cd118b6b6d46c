// The examples of js/README.md, run as a user would: in a folder of its own with the package installed. And those of
// README.md, exporter/README.md and CONTRIBUTING.md, in the order in which they stand there.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { hasRelaxed } from '../../js/src/runtime.js';
import { RushFile, flipFile } from './build-rush.mjs';

const js = fileURLToPath(new URL('../../js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'rush-readme-'));
after(() => rmSync(dir, { recursive: true }));
mkdirSync(join(dir, 'node_modules'));
symlinkSync(js, join(dir, 'node_modules/rushlight'));
writeFileSync(join(dir, 'flip.rush'), flipFile().bytes());
writeFileSync(join(dir, 'scale.rush'), new RushFile().method('forward', { inputs: [{ name: 'x' }] }, (m, x) =>
  m.op('my_ops::scale', [x], 'Tensor', 'my_ops::scale(Tensor x, float by=2.0) -> Tensor')).bytes());

/** @param {string} command @param {string[]} args */
function run(command, args, shell = false) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: dir, encoding: 'utf8', shell });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Runs the code, and looks for what its comments say that it prints. @param {string} code @param {string} file */
function runJs(code, file) {
  writeFileSync(join(dir, file), code);
  const stdout = run(process.execPath, [file]);
  for (const [, call, says = ''] of code.matchAll(/(console\.log.*); \/\/ (.*)/g)) {
    const expected = hasRelaxed() ? says : says.replace("'relaxed'", "'simd'").replace('has relaxed', 'has no relaxed');
    assert(stdout.includes(expected.split('...')[0] ?? ''), `${call} printed\n${stdout}`);
  }
}

/** @param {string} code */
function runPython(code) {
  writeFileSync(join(dir, 'example.py'), code);
  return run('python3', ['example.py']);
}

/** The parts of a text that a pattern finds; there must be some. @param {string} path from the top @param {RegExp} pattern */
function parts(path, pattern) {
  const found = readFileSync(join(js, '..', path), 'utf8').match(pattern) ?? [];
  assert(found.length > 0, `${path} has no such examples`);
  return found;
}

parts('js/README.md', /(?<=```js\n)[^]*?(?=```)/g).forEach((code, i) => {
  test(`example ${i + 1} of the README prints what it says`, () => runJs(code, `${i}.mjs`));
});

test('README.md: the Python example writes the file that the JavaScript example runs', () => {
  const [python = ''] = parts('README.md', /(?<=```python\n)[^]*?(?=```)/g);
  const [code = ''] = parts('README.md', /(?<=```js\n)[^]*?(?=```)/g);
  assert.match(runPython(python), /gate\.rush/);
  runJs(code, 'gate.mjs');
});

/** A model of a picture, saved, and a picture. */
const picture = `
import numpy, torch
class Net(torch.nn.Conv2d):
    def forward(self, x):
        return super().forward(x)

module, x = Net(3, 2, 3).eval(), torch.randn(1, 3, 224, 224)
torch.jit.trace(module, x).save("model.pt")
numpy.save("x.npy", x.numpy())
`;

test('README.md: the same from a shell', () => {
  runPython(picture);
  for (const line of parts('README.md', /(?<=^ {4})(npx )?rushlight .*$/gm)) run(line, [], true);
  assert(readFileSync(join(dir, 'out/output.npy')).length > 2 * 222 * 222 * 4);
});

test('exporter/README.md: from a shell and from Python', () => {
  const [shell = ''] = parts('exporter/README.md', /(?<=`)rushlight export [^`]*/g);
  const [python = ''] = parts('exporter/README.md', /(?<=`)import rushlight[^`]*/g);
  runPython(picture);
  run(shell, [], true);
  assert.match(runPython(picture + python), /model\.rush/);
});

test('CONTRIBUTING.md: the schema of an operator', () => {
  const [command = ''] = parts('CONTRIBUTING.md', /(?<=`\.\/dev shell )python3 -c [^`]*/g);
  assert.match(run(command, [], true), /aten::tanh\(Tensor self\) -> Tensor/);
});
