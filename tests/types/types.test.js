// TypeScript as a checker of the package's JSDoc, of the .d.ts files made from it, and of their use.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('../../', import.meta.url));
const tsc = `${top}tests/node_modules/typescript/bin/tsc`;

/** @param {string[]} args */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: top, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}

test('the source of the package is clean under tsc --strict', () => {
  run(tsc, '-p', 'js/tsconfig.check.json', '--typeRoots', `${top}tests/node_modules/@types`);
});

test('the generated types take right programs and refuse wrong ones', () => {
  run('js/build.mjs', '--types');
  const sources = readdirSync(`${top}js/src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => name.replace(/\.js$/, '.d.ts'));
  assert.deepEqual(
    sources.filter((name) => !existsSync(`${top}js/types/${name}`)),
    [],
  );
  // TypeScript before 5.7 knows no Uint8Array<ArrayBuffer>.
  assert.deepEqual(
    sources.filter((name) => /Array<ArrayBuffer/.test(readFileSync(`${top}js/types/${name}`, 'utf8'))),
    [],
  );
  run(tsc, '-p', 'tests/types');
  run(tsc, '-p', 'tests/types/plain.json');
});
