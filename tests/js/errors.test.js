// The error class, and the lists that C and JavaScript must share.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';

import * as rushlight from '../../js/src/index.js';
import { RushlightError, load, plan } from '../../js/src/index.js';
import { JS_CODES, STATUS } from '../../js/src/base/errors.js';
import { createRuntime } from '../../js/src/engine/runtime.js';
import { RushFile, flipFile } from './build-rush.mjs';

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
  const exported = text('wasm/bridge/exports.txt')
    .trim()
    .split('\n')
    .map((name) => name.slice(1));
  // The folders whose files may call the wasm (tests/lint/floors.txt): elsewhere, `c` is something else.
  const sources = ['engine', 'gpu', 'worker']
    .flatMap((folder) => readdirSync(new URL(`js/src/${folder}`, top)).map((name) => `js/src/${folder}/${name}`))
    .map((path) => text(path).replace(/@typedef \{\([^)]*\)\} CName/, ''))
    .join();
  const called = new Set(sources.match(/(?<=\bc\.)\w+/g));
  assert.deepEqual(
    exported.filter((name) => !called.has(name)),
    [],
  );
  assert.deepEqual(
    [...called].filter((name) => !exported.includes(name)),
    [],
  );
  const declared = [
    'include/rushlight/rushlight.h',
    'include/rushlight/op.h',
    'include/rushlight/trace.h',
    'bridge/bridge.c',
  ]
    .map((f) => text(`wasm/${f}`))
    .join();
  assert.deepEqual(
    exported.filter(
      (name) => !/^(malloc|free|_emscripten_stack_restore)$/.test(name) && !declared.includes(`${name}(`),
    ),
    [],
  );
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
  const { Engine } = await import('../../js/src/engine/engine.js');
  const engine = new Engine(await createRuntime({}));
  engine.feed(flipFile().bytes(), false);
  engine.finish();
  assert.throws(() => engine.c.rush_value_release(0xfffffff0, 0xfffffff0), {
    code: 'internal',
    message: /^the runtime failed in rush_value_release: /,
  });
  assert.throws(() => engine.usage(), { code: 'disposed' });
  engine.destroy();
});

test('the package exports these names and no more', () => {
  assert.deepEqual(Object.keys(rushlight).sort(), ['Model', 'RushlightError', 'load', 'plan', 'tensor']);
});

/** The frames of an error's stack that are files, the nearest first. @param {any} e */
const frames = (e) =>
  String(e.stack)
    .split('\n')
    .filter((line) => /^ +at /.test(line))
    .map((line) => /(\w+(?:\.\w+)*\.m?js):\d+:\d+\)?$/.exec(line)?.[1] ?? line);

/** A program that raises, and one that an operator of the user's ends. */
function failingFile() {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2] }] }, (m, x) => {
    m.at = f.source('model.py', 7);
    return m.op('aten::flip', [x, f.ints([5])]);
  });
  return f.bytes();
}

test('every error has the frame of its caller, in a worker, too, and few of its own', async () => {
  for (const worker of [false, true]) {
    const model = await load(failingFile(), { worker });
    const deep = /** @type {(n: number, call: () => Promise<unknown>) => Promise<unknown>} */ (
      async (n, call) => (n ? await deep(n - 1, call) : await call())
    );
    for (const call of [
      () => model.run({ x: [1, 2] }), // the program
      () => model.run({ x: { data: [1, 2], shape: [3] } }), // an input
      () => model.run({ x: [1, 2] }, { signal: AbortSignal.abort() }),
      () => model.call('forward', Float32Array.of(1, 2)),
      () => model.steps({ y: 1 }),
      () => model.profile({ x: [1, 2] }),
      () => model.setState({ a: 1 }),
      () => model.diff(),
      () => load('/nowhere/m.rush', { worker }),
      () => load(failingFile().subarray(0, 100), { worker }),
      () => plan('/nowhere/m.rush'),
    ]) {
      const e = await deep(12, call).catch((e) => e);
      assert(e instanceof RushlightError, String(call));
      assert.equal(e.stack?.split('\n')[0], String(e));
      const [first, second] = frames(e);
      assert(/^(model|load)\.js$/.test(String(first)) && second === 'errors.test.js', `${call}: ${e.stack}`);
      assert(frames(e).filter((file) => file === 'errors.test.js').length >= 8, `${call}: ${e.stack}`);
    }
    // Without an await upstream, and when it waited for another call.
    const [, late] = await Promise.allSettled([model.run({ x: [1, 2] }), model.run({ x: [1, 2] })]);
    assert.equal(frames(/** @type {any} */ (late).reason)[1], 'errors.test.js');
    const steps = await model.steps({ x: [1, 2] });
    const e = await steps.step().catch((e) => e);
    assert.deepEqual(frames(e).slice(0, 2), ['steps.js', 'errors.test.js'], e.stack);
    steps.end();
    model.dispose();
  }
});

test('an error names the input whose shape is not that of the export', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2] }] }, (m, x) =>
    m.op('aten::reshape', [x, f.ints([2, 1])]),
  );
  for (const worker of [false, true]) {
    const model = await load(f.bytes(), { worker });
    const odd = await model.run({ x: [1, 2, 3] }).catch((e) => e);
    assert.match(odd.message, /^input "x" is float32 \[3\] but was exported as float32 \[2\]: /);
    assert.equal(odd.input, 'x');
    model.dispose();
  }
  const model = await load(failingFile());
  assert.equal((await model.run({ x: [1, 2] }).catch((e) => e)).input, undefined);
  model.dispose();
});

test('two that wait for what fails get an error each', async () => {
  const model = await load(failingFile(), { worker: true });
  const runs = [model.run({ x: [1, 2] }), model.memory()];
  model.dispose();
  const [a, b] = /** @type {any} */ (await Promise.allSettled(runs));
  assert.equal(a.reason.code, 'disposed');
  assert.equal(b.reason.code, 'disposed');
  assert.notEqual(a.reason, b.reason);
  assert.match(frames(a.reason)[0] + a.reason.stack, /^model\.js[^]*Model\.run/);
  assert.match(b.reason.stack, /Model\.memory/);
});

test('slips of everyday are told in words', async () => {
  await assert.rejects(load(''), {
    code: 'bad-argument',
    message: 'a model must be a URL, path, Response, Blob, ReadableStream or bytes, got the string ""',
  });
  for (const worker of [false, true]) {
    await assert.rejects(load(failingFile(), { worker, signal: /** @type {any} */ (new AbortController()) }), {
      code: 'bad-argument',
      message: 'load: signal must be an AbortSignal, got AbortController: pass controller.signal',
    });
    const model = await load(failingFile(), { worker });
    await assert.rejects(model.run({ x: [1, 2] }, { signal: /** @type {any} */ (new AbortController()) }), {
      code: 'bad-argument',
      message: 'run: signal must be an AbortSignal, got AbortController: pass controller.signal',
    });
    await assert.rejects(model.setState(/** @type {any} */ (undefined)), {
      code: 'bad-argument',
      message: 'setState: values must be an object of values by name, got undefined',
    });
    await assert.rejects(model.profile({ x: [1, 2] }, { runs: -1 }), {
      code: 'bad-argument',
      message: 'profile: runs must be an integer of at least 1, got -1',
    });
    model.dispose();
  }
});
