// Replays the conformance rows and the programs of the Python tests (tests/recorded_programs.py) in Node. This Node
// (20) runs the plain binary, because it supports no relaxed SIMD. A current Node runs the relaxed one.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from '../../js/src/index.js';
import { replay } from '../browser/replay.mjs';

/** @param {'conformance' | 'programs'} what @param {'simd' | 'relaxed'} backend */
function replayHere(what, backend) {
  const folder = new URL(`../../build/${what}/`, import.meta.url);
  const { rows } = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8'));
  return replay({ load, rows, read: (file) => readFile(new URL(file, folder)), backend });
}

/** @param {import('node:test').TestContext} t @param {import('../browser/replay.mjs').Report} report */
function check(t, { backend, passed, failed }) {
  t.diagnostic(`${backend}: ${passed} of ${passed + failed.length} passed`);
  assert(passed + failed.length > 0, 'there are none: ./dev test conformance-make, exporter, python make them');
  assert.equal(failed.map(({ file, message }) => `${file}: ${message}`).join('\n'), '');
}

if (process.argv[2] === '--relaxed') {
  const report = await replayHere(/** @type {any} */ (process.argv[3]), 'relaxed');
  process.stdout.write(`\n${JSON.stringify(report)}`); // rows that print write their lines before it
} else {
  const node = process.env.RUSH_NODE_CURRENT;
  const skip = node ? false : 'RUSH_NODE_CURRENT is not set: ./dev sets it';
  for (const what of /** @type {const} */ (['conformance', 'programs'])) {
    test(`${what}, plain binary, Node ${process.versions.node}`, async (t) => check(t, await replayHere(what, 'simd')));

    test(`${what}, relaxed binary, current Node`, { skip }, (t) => {
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const { status, stdout, stderr } = spawnSync(
        /** @type {string} */ (node),
        [fileURLToPath(import.meta.url), '--relaxed', what],
        { env, encoding: 'utf8', maxBuffer: 1 << 26 },
      );
      assert.equal(status, 0, stderr);
      check(t, JSON.parse(/** @type {string} */ (stdout.split('\n').at(-1))));
    });
  }
}
