// Runs the examples of texts as a user would: in its own folder with the package installed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { hasRelaxed } from '../../js/src/engine/runtime.js';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** A folder in which `rushlight` and the packages of @huggingface can be imported. */
export class Folder {
  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'rush-examples-'));
    after(() => rmSync(this.path, { recursive: true }));
    mkdirSync(join(this.path, 'node_modules'));
    symlinkSync(join(top, 'js'), join(this.path, 'node_modules/rushlight'));
    symlinkSync(join(top, 'tests/node_modules/@huggingface'), join(this.path, 'node_modules/@huggingface'));
  }

  /** @param {string} file @param {string | Uint8Array} content */
  write(file, content) {
    writeFileSync(join(this.path, file), content);
  }

  /** What the command prints; it must succeed. @param {string} command @param {string[]} args */
  run(command, args, shell = false) {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: this.path, encoding: 'utf8', shell });
    assert.equal(status, 0, stderr);
    return stdout;
  }

  /** Runs the code, and compares its output with its comments. @param {string} code @param {string} file */
  runJs(code, file) {
    this.write(file, code);
    const stdout = this.run(process.execPath, [file]);
    for (const [, call, says = ''] of code.matchAll(/(console\.log.*); \/\/ (.*)/g)) {
      const expected = hasRelaxed()
        ? says
        : says.replace("'relaxed'", "'simd'").replace('has relaxed', 'has no relaxed');
      assert(stdout.includes(expected.split('...')[0] ?? ''), `${call} printed\n${stdout}`);
    }
  }

  /** @param {string} code */
  runPython(code) {
    this.write('example.py', code);
    return this.run('python3', ['example.py']);
  }
}

/**
 * The parts of a text that a pattern finds; there must be some.
 * @param {string} path from the top
 * @param {RegExp} pattern
 */
export function parts(path, pattern) {
  const found = readFileSync(join(top, path), 'utf8').match(pattern) ?? [];
  assert(found.length > 0, `${path} has no such examples`);
  return found;
}
