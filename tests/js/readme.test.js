// Runs the examples of js/README.md, README.md, exporter/README.md and CONTRIBUTING.md in their order.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { Folder, parts } from './examples.mjs';

const here = new Folder();

parts('js/README.md', /(?<=```js\n)[^]*?(?=```)/g).forEach((code, i) => {
  test(`example ${i + 1} of the README prints what it says`, () => here.runJs(code, `${i}.mjs`));
});

test('README.md: the Python example writes the file that the JavaScript example runs', () => {
  const [python = ''] = parts('README.md', /(?<=```python\n)[^]*?(?=```)/g);
  const [code = ''] = parts('README.md', /(?<=```js\n)[^]*?(?=```)/g);
  assert.match(here.runPython(python), /model\.rush/);
  here.runJs(code, 'model.mjs');
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
  here.runPython(picture);
  for (const line of parts('README.md', /(?<=^ {4})(npx )?rushlight .*$/gm)) here.run(line, [], true);
  assert(readFileSync(join(here.path, 'y.npy')).length > 2 * 222 * 222 * 4);
});

test('exporter/README.md: from a shell and from Python', () => {
  const [shell = ''] = parts('exporter/README.md', /(?<=`)rushlight export [^`]*/g);
  const [python = ''] = parts('exporter/README.md', /(?<=`)import rushlight[^`]*/g);
  here.runPython(picture);
  here.run(shell, [], true);
  assert.match(here.runPython(picture + python), /model\.rush/);
});

test('CONTRIBUTING.md: the schema of an operator', () => {
  const [command = ''] = parts('CONTRIBUTING.md', /(?<=`\.\/dev shell )python3 -c [^`]*/g);
  assert.match(here.run(command, [], true), /aten::tanh\(Tensor self\) -> Tensor/);
});
