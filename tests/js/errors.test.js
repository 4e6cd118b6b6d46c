// The error class, and the lists that C and JavaScript must share.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import * as rushlight from '../../js/src/index.js';
import { RushlightError, load } from '../../js/src/index.js';
import { JS_CODES, STATUS } from '../../js/src/errors.js';
import { createRuntime } from '../../js/src/runtime.js';
import { flipFile } from './build-rush.mjs';

const top = new URL('../../', import.meta.url);
const text = (/** @type {string} */ path) => readFileSync(new URL(path, top), 'utf8');

test('the statuses have the names that C gives them', async () => {
  const { c, memory } = await createRuntime({});
  const names = [];
  for (let status = 0; ; status++) {
    const name = memory.cString(c.rush_status_name(status));
    if (name === 'unknown') break;
    names.push(name);
  }
  assert.deepEqual(names, [...STATUS]);
  assert(!JS_CODES.some((code) => names.includes(code)));
});

test('C functions that JavaScript calls are exported, and no others', () => {
  const exported = text('wasm/bridge/exports.txt').trim().split('\n').map((name) => name.slice(1));
  const sources = ['engine.js', 'runtime.js', 'thread.js', 'threads.js', 'trials.js', 'values.js'].map((f) => text(`js/src/${f}`).replace(/@typedef \{\([^)]*\)\} CName/, '')).join();
  const called = new Set(sources.match(/(?<=\bc\.)\w+/g));
  assert.deepEqual(exported.filter((name) => !called.has(name)), []);
  assert.deepEqual([...called].filter((name) => !exported.includes(name)), []);
  const declared = ['include/rushlight/rushlight.h', 'include/rushlight/op.h', 'include/rushlight/trace.h', 'bridge/bridge.c'].map((f) => text(`wasm/${f}`)).join();
  assert.deepEqual(exported.filter((name) => !/^(malloc|free|_emscripten_stack_restore)$/.test(name) && !declared.includes(`${name}(`)), []);
});

test('an error is an Error with its facts', async () => {
  const error = await load('/nowhere/m.rush').catch((e) => e);
  assert(error instanceof RushlightError && error instanceof Error);
  assert.equal(error.name, 'RushlightError');
  assert.equal(error.source, '/nowhere/m.rush');
  assert.equal(/** @type {any} */ (error.cause).code, 'ENOENT');
  assert.match(String(error), /^RushlightError: cannot read/);
});

test('a trap in the runtime is an internal error, and the model is gone', async () => {
  const { Engine } = await import('../../js/src/engine.js');
  const engine = new Engine(await createRuntime({}));
  engine.feed(flipFile().bytes(), false);
  engine.finish();
  assert.throws(() => engine.c.rush_value_release(0xfffffff0, 0xfffffff0), { code: 'internal', message: /^the runtime failed in rush_value_release: / });
  assert.throws(() => engine.usage(), { code: 'disposed' });
  engine.destroy();
});

test('the package exports these names and no more', () => {
  assert.deepEqual(Object.keys(rushlight).sort(), ['Model', 'RushlightError', 'Steps', 'load', 'plan']);
});
