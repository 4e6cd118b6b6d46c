// The package for JSR, which js/jsr.mjs makes: Deno accepts it without a warning, and runs a program from it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { FIRST_ANSWER, run, workshop } from '../harness.mjs';

const deno = [process.execPath, join(String(process.env.RUSH_BUNDLERS), 'node_modules/deno/bin.cjs')];
const make = fileURLToPath(new URL('../../../js/jsr.mjs', import.meta.url));

test('deno publish --dry-run has no warnings, and a program runs from the package', () => {
  const shop = workshop(),
    folder = join(shop.root, 'jsr'),
    env = { NO_COLOR: '1', DENO_DIR: join(shop.root, 'deno') };
  try {
    cpSync(join(shop.example('deno'), 'node_modules/rushlight'), folder, { recursive: true });
    run(shop.root, [process.execPath, make, folder]);
    const [program = '', ...args] = [...deno, 'publish', '--dry-run', '--allow-dirty'];
    const { status, stderr } = spawnSync(program, args, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /Simulating publish of @rushlight\/rushlight@/);
    assert.doesNotMatch(stderr, /warning/);
    writeFileSync(
      join(shop.root, 'main.js'),
      `import { load } from './jsr/src/index.js';
       const model = await load('jsr/gate.rush');
       const { y } = await model.run({ x: [[1, 2, 3, 4]] });
       console.log([...y.data].map((v) => v.toFixed(1)).join(' '));`,
    );
    assert.equal(run(shop.root, [...deno, 'run', '--allow-read', 'main.js'], env).trim(), FIRST_ANSWER);
  } finally {
    shop.remove();
  }
});
