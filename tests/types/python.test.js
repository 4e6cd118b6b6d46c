// mypy and pyright as checkers of the Python package's annotations, with a program that uses the whole public API.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('../../', import.meta.url));
const program = 'tests/types/public_api.py';

/** @param {string} command @param {string[]} args @param {Record<string, string>} [env] */
function run(command, args, env) {
  const options = { cwd: top, encoding: /** @type {const} */ ('utf8'), env: { ...process.env, ...env } };
  const { status, stdout, stderr } = spawnSync(command, args, options);
  assert.equal(status, 0, stdout + stderr);
}

test('a program that uses the public API is clean under mypy --strict', () => {
  const python = { PYTHONPATH: process.env.RUSH_MYPY ?? '' };
  run('python3', ['-m', 'mypy', '--config-file', 'tests/types/mypy.ini', '--cache-dir', 'build/mypy', program], python);
});

test('the same program is clean under pyright in strict mode', () => {
  run(process.execPath, ['tests/lint/node_modules/pyright/index.js', '-p', 'tests/types']);
});

test('the program uses every public name', () => {
  const [, names] =
    /__all__ = \[([^\]]*)\]/.exec(readFileSync(`${top}exporter/python/rushlight/__init__.py`, 'utf8')) ?? [];
  const text = readFileSync(top + program, 'utf8');
  const unused = [...(names ?? '').matchAll(/"(\w+)"/g)].filter(([, name]) => !text.includes(`rushlight.${name}`));
  assert.ok(names);
  assert.deepEqual(unused, []);
});
