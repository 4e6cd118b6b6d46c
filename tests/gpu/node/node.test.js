// The option `device` in Node with npm's webgpu, on lavapipe: Debian's Vulkan driver in software.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { create, globals } from 'webgpu';

import { load } from '../../../js/src/index.js';
import { replay } from '../../browser/replay.mjs';

const gpu = create([]);
Object.assign(globalThis, globals, { gpuOfTests: gpu });
for (const file of [
  '../in-page.js',
  '../lost-in-page.js',
  '../weights-in-page.js',
  '../rows-in-page.js',
  '../small-rows-in-page.js',
  '../pointwise-in-page.js',
  '../profile-in-page.js',
  '../outputs-in-page.js',
  '../refused-in-page.js',
]) {
  for (const [name, run] of Object.entries((await import(file)).tests)) {
    // Node stores no decision.
    if (!/remembers|wrong/.test(name)) test(name, run);
  }
}

test('a process ends by itself, with and without dispose()', () => {
  const model = fileURLToPath(new URL('../../../js/gate.rush', import.meta.url)),
    index = new URL('../../../js/src/index.js', import.meta.url).href;
  for (const end of ['', 'model.dispose();']) {
    const program =
      `import { create } from 'webgpu'; import { load } from '${index}';` +
      `const model = await load(${JSON.stringify(model)}, { device: 'webgpu', gpu: create([]) });` +
      `console.log((await model.verify()).passed, model.backend.device); ${end}`;
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      encoding: 'utf8',
      timeout: 120_000,
    });
    assert.equal(signal, null, `it does not end: ${stdout}${stderr}`);
    assert.equal(status, 0, stderr);
    assert.equal(stdout, 'true webgpu\n');
  }
});

test('npx rushlight bench and verify take --device webgpu', () => {
  const rushlight = fileURLToPath(new URL('../../../js/bin/rushlight.js', import.meta.url)),
    model = fileURLToPath(new URL('../../../js/gate.rush', import.meta.url));
  const cli = (/** @type {string[]} */ ...args) =>
    spawnSync(process.execPath, [rushlight, ...args, model, '--backend', 'simd', '--device', 'webgpu'], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      encoding: 'utf8',
      timeout: 120_000,
    });
  const bench = cli('bench', '--runs', '2');
  assert.equal(bench.status, 0, bench.stderr);
  assert.match(bench.stdout, /^simd, webgpu: median \d/);
  assert.match(bench.stdout, /\n +\w+::\w+ .* calls? +[\d.]+ ms \+ +[\d.]+ ms on the GPU +[\d.]+ %\n/);
  const verify = cli('verify');
  assert.equal(verify.status, 0, verify.stdout + verify.stderr);
});

for (const what of ['conformance', 'programs']) {
  test(`all of ${what}`, async (t) => {
    const folder = new URL(`../../../build/${what}/`, import.meta.url),
      every = Number(process.env.RUSH_EVERY ?? 1);
    const rows = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8')).rows.filter(
      (/** @type {unknown} */ _, /** @type {number} */ i) => i % every === 0,
    );
    const read = (/** @type {string} */ file) => readFile(new URL(file, folder));
    const { passed, failed } = await replay({ load, rows, read, backend: 'simd', device: 'webgpu', gpu });
    t.diagnostic(`${passed} of ${passed + failed.length} passed`);
    assert.equal(failed.map(({ file, message }) => `${file}: ${message}`).join('\n'), '');
  });
}
