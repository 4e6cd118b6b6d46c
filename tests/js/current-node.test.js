// The same tests on a current Node, where the relaxed binary runs. Node 20 runs them with the plain one. What is long
// and would show nothing new runs on one of them: nodes.mjs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { current as node } from './nodes.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

test(
  'all of these tests pass on a current Node too',
  { skip: node ? false : 'RUSH_NODE_CURRENT is not set: ./dev sets it' },
  () => {
    const files = readdirSync(here).filter((name) => /\.test\.js$/.test(name) && name !== 'current-node.test.js');
    const { NODE_TEST_CONTEXT: _, ...env } = process.env; // else the inner runner speaks to the outer one
    env.RUSH_SECOND_NODE = '1';
    const { status, stdout, stderr } = spawnSync(
      /** @type {string} */ (node),
      ['--import', './rejections.mjs', '--test', '--test-reporter=spec', ...files],
      { cwd: here, env, encoding: 'utf8', maxBuffer: 1 << 26 },
    );
    assert.equal(status, 0, stdout.slice(stdout.indexOf('failing tests')) + stderr);
    const count = (/** @type {string} */ what) => Number(new RegExp(`^ℹ ${what} (\\d+)`, 'm').exec(stdout)?.[1]);
    assert(count('pass') > 50 && count('fail') === 0, stdout.slice(-500));
  },
);
