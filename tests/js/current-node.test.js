// A current Node runs the files whose outcome may depend on the Node. They run both binaries, or use parts of the
// platform that later Nodes have or changed. Node 20 takes the plain binary, and a current Node the relaxed one.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { current as node } from './nodes.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

// The other files test the command line, the guide's examples, the cache and wrong arguments, which are the same in
// each Node.
const FILES = [
  'audio', // Float16Array
  'backend',
  'classes',
  'constraints',
  'decoding',
  'diff',
  'errors', // frames of the caller
  'exported',
  'files', // Float16Array
  'graph',
  'image', // Float16Array
  'load', // fetch() and streams
  'model', // Symbol.dispose
  'random',
  'run', // Float16Array
  'slim', // both binaries
  'threads', // node:worker_threads and shared memory
  'worker', // node:worker_threads
];

test(
  'the tests that may depend on the Node pass on a current one, too',
  { skip: node ? false : 'RUSH_NODE_CURRENT is not set: ./dev sets it' },
  () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env; // else the inner runner speaks to the outer one
    env.RUSH_SECOND_NODE = '1';
    const files = FILES.map((name) => `${name}.test.js`);
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
