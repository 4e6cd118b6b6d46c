// The conformance rows in Node: the plain binary in this one (Node 20 has no other), the relaxed one in a
// current Node.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from '../../js/src/index.js';
import { replay } from '../browser/replay.mjs';

const folder = new URL('../../build/conformance/', import.meta.url);

/** @param {'simd' | 'relaxed'} backend */
function replayHere(backend) {
  const { rows } = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8'));
  return replay({ load, rows, read: (file) => readFile(new URL(file, folder)), backend });
}

/** @param {import('node:test').TestContext} t @param {import('../browser/replay.mjs').Report} report */
function check(t, { backend, passed, failed }) {
  t.diagnostic(`${backend}: ${passed} of ${passed + failed.length} rows passed`);
  assert(passed + failed.length > 0, 'there are no rows: ./dev test conformance-make');
  assert.equal(failed.map(({ file, message }) => `${file}: ${message}`).join('\n'), '');
}

if (process.argv[2] === '--relaxed') {
  process.stdout.write(`\n${JSON.stringify(await replayHere('relaxed'))}`); // rows that print come before
} else {
  test(`every row, plain binary, Node ${process.versions.node}`, async (t) => check(t, await replayHere('simd')));

  const node = process.env.RUSH_NODE_CURRENT;
  test('every row, relaxed binary, current Node', { skip: node ? false : 'RUSH_NODE_CURRENT is not set: ./dev sets it' }, (t) => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync(/** @type {string} */ (node), [fileURLToPath(import.meta.url), '--relaxed'], { env, encoding: 'utf8', maxBuffer: 1 << 26 });
    assert.equal(status, 0, stderr);
    check(t, JSON.parse(/** @type {string} */ (stdout.split('\n').at(-1))));
  });
}
