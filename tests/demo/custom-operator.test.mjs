// demo/04-custom-operator in Node: the operator that OpenCV computes for PyTorch, supplied in every way, within 1e-5.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { agreement } from '../../demo/shared/agreement.js';
import ops, { warpPerspective } from '../../demo/04-custom-operator/warp.js';
import { load } from '../../js/src/index.js';
import { shown } from '../js/shown.js';

const TOP = new URL('../../', import.meta.url);
const FOLDER = new URL('build/demo/04-custom-operator/', TOP);
const path = (/** @type {URL} */ url) => fileURLToPath(url);
const LIMIT = 1e-5;

execFileSync(path(new URL('demo/run', TOP)), ['--export'], { stdio: ['ignore', 'ignore', 'inherit'] });
const { variants } = JSON.parse(await readFile(new URL('manifest.json', FOLDER), 'utf8'));
const reader = (/** @type {string} */ variant) => (/** @type {string} */ file) =>
  readFile(new URL(`${variant}/${file}`, FOLDER));

const MISSING =
  /^the model needs 1 operator that this runtime lacks: my_ops::warp_perspective\n {2}my_ops::warp_perspective\(Tensor image, Tensor warp\) -> Tensor\n {4}in forward, instruction \d at demo\/04-custom-operator\/models\.py:\d+.*\n.*load\(url, \{ ops:.*rush_ctx_add_op.*rushlight_add_operators.*register_decomposition/s;

for (const name of ['trace', 'script']) {
  test(`${name}: a runtime that lacks the operator says which, where, and how to supply it`, async () => {
    await assert.rejects(load(new URL(`${name}.rush`, FOLDER)), { code: 'unsupported', message: MISSING });
  });
}

for (const variant of variants) {
  const compare = async () => {
    const { maxAbs, cases } = await agreement({ load, read: reader(variant), runs: 1 });
    assert.ok(cases.length >= 4 && maxAbs < LIMIT, `max abs ${maxAbs}`);
    return { maxAbs };
  };
  test(
    `${variant} agrees with OpenCV`,
    shown('Operators', `warp_perspective (OpenCV) in a ${variant.replace('-', ', supplied by: ')}`, compare),
  );
}

test('an async function agrees with OpenCV, and verify() replays the test vectors with it', async () => {
  for (const worker of [false, true]) {
    const later = {
      'my_ops::warp_perspective': async (/** @type {any} */ image, /** @type {any} */ warp) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        return warpPerspective(image, warp);
      },
    };
    for (const name of ['trace', 'script']) {
      const model = await load(new URL(`${name}.rush`, FOLDER), { ops: later, worker });
      const { passed, tests } = await model.verify();
      assert.ok(passed && tests.length > 0 && tests.every((t) => t.maxAbs < LIMIT), JSON.stringify(tests));
      model.dispose();
    }
  }
});

test('a wasm with the operator takes no function for it, and one with a function none twice', async () => {
  const wasm = await readFile(new URL('warp.wasm', FOLDER));
  await assert.rejects(load(new URL('trace.rush', FOLDER), { wasm, ops }), {
    code: 'bad-argument',
    message: /operator 'my_ops::warp_perspective' exists already/,
  });
});

test('npx rushlight verify takes the function from a module', () => {
  const bin = path(new URL('js/bin/rushlight.js', TOP)),
    module = path(new URL('demo/04-custom-operator/warp.js', TOP));
  const { status, stdout } = spawnSync(
    process.execPath,
    [bin, 'verify', path(new URL('script.rush', FOLDER)), '--ops', module, '--backend', 'simd'],
    { encoding: 'utf8' },
  );
  assert.match(stdout, /^simd: test 0: as expected/);
  assert.equal(status, 0);
});
