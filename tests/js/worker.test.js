// worker: true. What is the same as without is tested in ops.test.js and graph.test.js.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from '../../js/src/index.js';
import { RushFile, flipFile } from './build-rush.mjs';

const worker = true;
const loopFile = () =>
  new RushFile().method(
    'forward',
    { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] },
    (m, x, n) => m.loop(n, [x], (_, v) => [m.op('aten::flip', [v, m.file.ints([0])])])[0],
  );

/** One operator that works for a very long time: a product of two matrices of 2**13 rows and columns. */
const spinFile = () =>
  new RushFile().method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [1] }] }, (m, x) => {
    const { file } = m;
    const wide = m.op('aten::expand', [
      m.op('aten::view', [x, file.ints([1, 1])]),
      file.ints([8192, 8192]),
      file.bool(false),
    ]);
    return m.op('aten::mm', [wide, wide]);
  });

test('a long run in a worker does not stop the page, and an abort stops the run', async () => {
  const model = await load(loopFile().bytes(), { worker });
  const control = new AbortController(),
    reason = new Error('enough');
  let ticks = 0;
  const ticking = setInterval(() => ticks++ === 10 && control.abort(reason), 5);
  await assert.rejects(
    model.run({ x: new Float32Array(1 << 16), n: 1e9 }, { signal: control.signal }),
    (/** @type {any} */ e) => e.code === 'aborted' && e.cause === reason,
  );
  clearInterval(ticking);
  assert(ticks > 10);
  assert.deepEqual((await model.run({ x: new Float32Array([1, 2]), n: 1 })).y.data, Float32Array.of(2, 1));
  model.dispose();
});

test('dispose() ends a run in a worker at once', async () => {
  const model = await load(loopFile().bytes(), { worker });
  const run = model.run({ x: new Float32Array(1 << 16), n: 1e9 });
  setImmediate(() => model.dispose());
  await assert.rejects(run, { code: 'disposed' });
  await assert.rejects(model.memory(), { code: 'disposed' });
});

test('a run that does not hear its abort ends its worker, and the next load works', async (t) => {
  for (const shared of [false, true]) {
    // An operator that can be left in the middle
    const { SharedArrayBuffer } = globalThis,
      hears = shared || 'Suspending' in WebAssembly;
    if (!shared) /** @type {any} */ (globalThis).SharedArrayBuffer = undefined; // as in a page that is not isolated
    const model = await load((shared ? loopFile() : spinFile()).bytes(), { worker });
    globalThis.SharedArrayBuffer = SharedArrayBuffer;
    // A run that hears its abort may take longer to end than the page waits, if the machine is busy.
    if (hears) t.mock.timers.enable({ apis: ['setTimeout'] });
    const control = new AbortController(),
      reason = new Error('enough');
    const inputs = shared ? { x: Float32Array.of(1), n: 1e15 } : { x: [1] };
    const run = model.run(inputs, { signal: control.signal }),
      other = model.memory();
    setImmediate(() => control.abort(reason)); // the worker is told of the run first
    await assert.rejects(
      run,
      (/** @type {any} */ e) =>
        e.code === 'aborted' && e.cause === reason && /its worker was terminated/.test(e.message) === !hears,
    );
    t.mock.timers.reset();
    if (hears) {
      assert((await other).heap > 0, 'what hears it ends, and the model goes on');
    } else {
      await assert.rejects(other, { code: 'disposed', message: /its worker was terminated/ });
      await assert.rejects(model.run(inputs), { code: 'disposed', message: /Load it again/ });
    }
    model.dispose();
    const again = await load(flipFile().bytes(), { worker });
    assert.deepEqual((await again.run({ x: [1, 2] })).y.data, Float32Array.of(2, 1));
    again.dispose();
  }
});

test('the abort of a load in a worker does not wait for it', async () => {
  const control = new AbortController(),
    reason = new Error('enough');
  const never = new ReadableStream(
    { pull: () => new Promise(() => setImmediate(() => control.abort(reason))) },
    { highWaterMark: 0 },
  );
  await assert.rejects(
    load(never, { worker, signal: control.signal }),
    (/** @type {any} */ e) => e.code === 'aborted' && e.cause === reason,
  );
  const model = await load(flipFile().bytes(), { worker });
  model.dispose();
});

test('every source is loaded in a worker, with its progress', async () => {
  const bytes = flipFile().bytes(),
    path = `${tmpdir()}/rushlight-worker-${process.pid}.rush`;
  writeFileSync(path, bytes);
  for (const source of [
    bytes,
    bytes.buffer,
    new Blob([bytes]),
    new Response(bytes),
    new Blob([bytes]).stream(),
    path,
    new URL(`file://${path}`),
  ]) {
    /** @type {any[]} */ const seen = [];
    const model = await load(/** @type {any} */ (source), { worker, onProgress: (p) => void seen.push(p) });
    assert.deepEqual((await model.run({ x: [1, 2] })).y.data, Float32Array.of(2, 1));
    assert.deepEqual(seen.at(-1), { loaded: bytes.length, total: bytes.length });
    assert.match(model.describeText(), /aten::flip/);
    assert.deepEqual(
      model.inputs.map((p) => p.name),
      ['x'],
    );
    assert((await model.memory()).heap > 0);
    assert.equal((await model.profile({ x: [1, 2] }))[0]?.op, 'aten::flip');
    assert.deepEqual(await model.verify(), { passed: false, tests: [] });
    model.dispose();
  }
  rmSync(path);
});

test('errors come out of a worker as they are', async () => {
  await assert.rejects(load('/none.rush', { worker }), { code: 'unreadable', source: '/none.rush' });
  await assert.rejects(load(flipFile().bytes().subarray(0, 100), { worker }), { code: 'truncated', actual: 100 });
  await assert.rejects(load(new Response('', { status: 404 }), { worker }), { code: 'network' });
  await assert.rejects(load(flipFile().bytes(), { worker, signal: AbortSignal.abort() }), { code: 'aborted' });
  await assert.rejects(load(flipFile().bytes(), { worker: /** @type {any} */ (4) }), { code: 'bad-argument' });
  const model = await load(flipFile().bytes(), { worker });
  await assert.rejects(model.run({ x: new Int32Array(3) }), {
    code: 'bad-argument',
    input: 'x',
    expected: [null, 2],
    actual: 3,
  });
  await assert.rejects(model.run({ x: /** @type {any} */ (() => 1) }), {
    code: 'bad-argument',
    input: 'x',
    message: 'input "x" must be plain data, to be cloned: () => 1 could not be cloned.',
  });
  const reactive = new Proxy({ data: Float32Array.of(1, 2), shape: [1, 2] }, {}); // as Vue makes it
  await assert.rejects(model.run({ x: reactive }), {
    code: 'bad-argument',
    input: 'x',
    message:
      /^input "x" must be plain data, to be cloned: .*could not be cloned\. For a proxy, as Vue's reactive\(\) makes it, pass toRaw\(value\)$/,
  });
  await assert.rejects(model.call('forward', /** @type {any} */ (reactive)), {
    code: 'bad-argument',
    input: 'x',
    message: /^input "x" must be plain data/,
  });
  await assert.rejects(model.profile({ x: reactive }), {
    code: 'bad-argument',
    input: 'x',
    message: /^input "x" must be plain data/,
  });
  const x = new Float32Array([1, 2]);
  await model.run({ x });
  assert.equal(x.length, 2, 'inputs stay with the caller');
  model.dispose();
});

/** Loads with workers of another class. @param {(Worker: any) => any} derive @param {() => Promise<void>} use */
async function withWorker(derive, use) {
  const threads = /** @type {any} */ (process.getBuiltinModule('node:worker_threads')),
    { Worker } = threads;
  threads.Worker = derive(Worker);
  try {
    await use();
  } finally {
    threads.Worker = Worker;
  }
}

/** What gives its argument back. */
const anyFile = () =>
  new RushFile().method(
    'forward',
    { inputs: [{ name: 'x', type: 'Any' }], outputs: [{ name: 'y', type: 'Any' }], result: 'Any' },
    (_, x) => x,
  );
const nested = (/** @type {number} */ depth) => Array.from({ length: depth }).reduce((/** @type {any} */ v) => [v], 7);

test('a message that cannot be read on its way fails its call, and the model goes on', async () => {
  await withWorker(
    (Worker) =>
      class extends Worker {
        // where little stack is left to read it
        /** @param {any} url @param {any} options */
        constructor(url, options) {
          super(url, { ...options, resourceLimits: { stackSizeMb: 0.5 } });
        }
      },
    async () => {
      const model = await load(anyFile().bytes(), { worker });
      await assert.rejects(model.run({ x: nested(3000) }), {
        code: 'bad-argument',
        message: /was lost between the page and its worker: it is nested too deeply/,
      });
      assert.deepEqual(await model.run({ x: [1, [2]] }), { y: [1, [2]] });
      model.dispose();
    },
  );
});

test('a reply that cannot be read fails its call, that of an operator the run, and the model goes on', async () => {
  /** @type {any} */ let last;
  await withWorker(
    (Worker) =>
      class extends Worker {
        /** @param {any} url @param {any} options */
        constructor(url, options) {
          super(url, options);
          last = this;
        }
      },
    async () => {
      const f = new RushFile().method('forward', { inputs: [{ name: 'x' }] }, (m, x) =>
        m.op('my_ops::wait', [x], 'Tensor', 'my_ops::wait(Tensor x) -> Tensor'),
      );
      let asked = 0;
      const model = await load(f.bytes(), {
        worker,
        ops: {
          'my_ops::wait': (x) => {
            if (asked++) return x;
            last.emit('messageerror', new Error('no'));
            return new Promise(() => {});
          },
        },
      });
      await assert.rejects(model.run({ x: Float32Array.of(1) }), { code: 'bad-argument', message: /was lost between/ });
      assert.deepEqual([...(await model.run({ x: Float32Array.of(2) })).y.data], [2]);
      model.dispose();
    },
  );
});

test('a Response and a stream keep their names, and say why they cannot be read', async () => {
  const named = Object.defineProperty(new Response('GIF89a'.padEnd(100)), 'url', {
    value: 'http://example.org/m.rush',
  });
  for (const [source, code, message] of /** @type {[any, string, RegExp][]} */ ([
    [named, 'bad-file', /^http:\/\/example\.org\/m\.rush: not a \.rush file/],
    [new Response('no', { status: 500 }), 'network', /^HTTP 500 for the stream$/],
    [new Response('GIF89a'.padEnd(100)).body, 'bad-file', /^the stream: not a \.rush file/],
    [
      new ReadableStream({
        start(c) {
          c.error(new Error('out of paper'));
        },
      }),
      'network',
      /^cannot read the stream: out of paper$/,
    ],
    [{ of: Promise.resolve() }, 'bad-argument', /got a Promise: did you forget await\?$/],
    [new Request('http://example.org/m.rush'), 'bad-argument', /got Request$/],
    ['http://[', 'network', /^cannot read http:\/\/\[: /],
  ]))
    await assert.rejects(load(source.of ?? source, { worker }), { name: 'RushlightError', code, message });
  await assert.rejects(load('http://127.0.0.1/', { worker, request: { headers: /** @type {any} */ (5) } }), {
    name: 'RushlightError',
    code: 'bad-argument',
    message: /^request\.headers must be headers/,
  });
  await assert.rejects(load(flipFile().bytes(), { worker, wasm: 'http://[' }), {
    code: 'network',
    message: /^cannot read http:/,
  });
});

test('a worker that does not start says why, and what to do', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'rush-worker-'));
  cpSync(fileURLToPath(new URL('../../js/', import.meta.url)), dir, {
    recursive: true,
    filter: (path) => !/[/]types$/.test(path),
  });
  for (const [file, code, message] of /** @type {[string, string, RegExp][]} */ ([
    [
      'engine/host.js',
      'unreadable',
      /^the worker did not start: Cannot find module .*host\.js.*\. It is src\/worker\/worker\.js of this package/,
    ],
    [
      'worker/worker.js',
      'unreadable',
      /^the worker did not start: Cannot find module .*worker\.js.* loads without `worker`$/,
    ],
  ])) {
    const { load } = await import(`${join(dir, 'src/index.js')}`);
    rmSync(join(dir, 'src', file));
    await assert.rejects(load(flipFile().bytes(), { worker }), { name: 'RushlightError', code, message });
  }
  writeFileSync(join(dir, 'src/worker/worker.js'), 'this is not a script');
  const { load } = await import(`${join(dir, 'src/index.js')}`);
  await assert.rejects(load(flipFile().bytes(), { worker }), {
    name: 'RushlightError',
    code: 'internal',
    message: /^the worker did not start: Unexpected identifier 'is'\. It is src\/worker\/worker\.js of this package/,
  });
  rmSync(dir, { recursive: true });
});

test('a worker that ends by itself fails its calls', async () => {
  /** @type {any} */ let last;
  await withWorker(
    (Worker) =>
      class extends Worker {
        /** @param {any} url @param {any} options */
        constructor(url, options) {
          super(url, options);
          last = this;
        }
      },
    async () => {
      const model = await load(loopFile().bytes(), { worker });
      const run = model.run({ x: Float32Array.of(1), n: 1e15 });
      void last.terminate();
      await assert.rejects(run, { code: 'internal', message: /^the worker failed: it has ended$/ });
      await assert.rejects(model.memory(), { code: 'disposed', message: /it has ended/ });
    },
  );
});

test('a program ends though a model in a worker was not disposed', () => {
  const script = `
    import { load } from ${JSON.stringify(new URL('../../js/src/index.js', import.meta.url))};
    import { flipFile } from ${JSON.stringify(new URL('./build-rush.mjs', import.meta.url))};
    const model = await load(flipFile().bytes(), { worker: true });
    console.log([...(await model.run({ x: [1, 2] })).y.data].join());`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 600_000,
  });
  assert.equal(stdout, '2,1\n', stderr);
});
