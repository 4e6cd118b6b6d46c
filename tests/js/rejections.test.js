// A rejection that nobody handles ends a user's Node: none may come of these tests, and this shows that one would be
// seen.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const watch = fileURLToPath(new URL('./rejections.mjs', import.meta.url));

test('these tests are watched', () => {
  assert(
    /** @type {any} */ (globalThis)[Symbol.for('rushlight.rejections')],
    'run them by node --import ./tests/js/rejections.mjs --test, as ./dev does',
  );
});

test('a rejection that nobody handles fails its file, also when its test has ended', () => {
  const dir = mkdtempSync(join(tmpdir(), 'rush-rejections-')),
    file = join(dir, 'late.test.mjs');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = (/** @type {string} */ body) => {
    writeFileSync(file, `import test from 'node:test';\n${body}`);
    return spawnSync(process.execPath, ['--import', watch, '--test', '--test-reporter=spec', file], {
      env,
      encoding: 'utf8',
    });
  };
  assert.equal(run("test('a', () => {});").status, 0);
  const { status, stdout, stderr } = run(
    "test('a', () => {}); process.on('beforeExit', () => { if (!globalThis.once) " +
      "Promise.reject(new Error((globalThis.once = 'late'))); });",
  );
  assert.notEqual(status, 0);
  assert.match(stdout + stderr, /a rejection that nobody handles: Error: late/);
  rmSync(dir, { recursive: true });
});
