// Models that a Python script of this folder exports for the tests of one file.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

/**
 * Runs a script before the tests of the file that calls this, with a temporary folder as its argument.
 * @param {string} script
 * @returns {{ dir: string, missing: string }} missing: why the tests must be skipped; "" if the script has run
 */
export function exportedBy(script) {
  const made = { dir: mkdtempSync(join(tmpdir(), 'rush-exported-')), missing: '' };
  after(() => rmSync(made.dir, { recursive: true }));
  before(() => {
    const { status, stderr, error } = spawnSync(
      'python3',
      [fileURLToPath(new URL(script, import.meta.url)), made.dir],
      { encoding: 'utf8' },
    );
    if (error || /No module named '(torch|rushlight)'/.test(stderr))
      made.missing = 'there is no python3 with torch and rushlight: use ./dev test';
    else assert.equal(status, 0, stderr);
  });
  return made;
}
