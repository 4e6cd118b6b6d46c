// The examples of js/README.md, run as a user would: in a folder of its own with the package installed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { supports } from '../../js/src/runtime.js';
import { RushFile, flipFile } from './build-rush.mjs';

const js = fileURLToPath(new URL('../../js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'rush-readme-'));
after(() => rmSync(dir, { recursive: true }));
mkdirSync(join(dir, 'node_modules'));
symlinkSync(js, join(dir, 'node_modules/rushlight'));
writeFileSync(join(dir, 'flip.rush'), flipFile().bytes());
writeFileSync(join(dir, 'scale.rush'), new RushFile().method('forward', { inputs: [{ name: 'x' }] }, (m, x) =>
  m.op('my_ops::scale', [x], 'Tensor', 'my_ops::scale(Tensor x, float by=2.0) -> Tensor')).bytes());

const examples = readFileSync(join(js, 'README.md'), 'utf8').match(/(?<=```js\n)[^]*?(?=```)/g) ?? [];
examples.forEach((code, i) => {
  test(`example ${i + 1} of the README prints what it says`, () => {
    writeFileSync(join(dir, `${i}.mjs`), code);
    const { status, stdout, stderr } = spawnSync(process.execPath, [`${i}.mjs`], { cwd: dir, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    for (const [, call, says = ''] of code.matchAll(/(console\.log.*); \/\/ (.*)/g)) {
      const expected = supports('relaxed') ? says : says.replace("'relaxed'", "'simd'").replace('has relaxed', 'has no relaxed');
      assert(stdout.includes(expected), `${call} printed\n${stdout}`);
    }
  });
});

test('the README has examples', () => assert(examples.length >= 2));
