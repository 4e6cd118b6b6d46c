// The option `threads`: the same answers from several workers on one memory, and what happens where there can be none.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import { Worker } from 'node:worker_threads';

import { loadLocal } from '../../js/src/engine/load-local.js';
import { load } from '../../js/src/index.js';
import { share } from '../../js/src/worker/threads.js';
import { RushFile } from './build-rush.mjs';
import { ranBefore } from './nodes.mjs';

const N = 160;
const f = new RushFile();
f.method(
  'forward',
  {
    inputs: [
      { name: 'x', dtype: 'float32', shape: [null, N] },
      { name: 'w', dtype: 'float32', shape: [N, null] },
    ],
    outputs: ['y'],
  },
  (m, x, w) => m.op('aten::tanh', [m.op('aten::matmul', [x, w])]),
);
const bytes = f.bytes();
const wasm = new URL('../../js/wasm/rushlight-simd.wasm', import.meta.url);

/** @param {number[]} shape @param {number} step */
const wave = (shape, step) => ({
  dtype: /** @type {const} */ ('float32'),
  shape,
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * step)),
});
const x = wave([250, N], 0.37),
  w = wave([N, 203], 0.11);

test('answers do not depend on the number of threads, in a worker either', async () => {
  const one = await load(bytes);
  assert.deepEqual([one.backend.threads, /thread/.test(one.backend.reason)], [1, false]);
  const expected = await one.run({ x, w });
  for (const worker of [false, true]) {
    for (const threads of [2, 3, 8]) {
      const model = await load(bytes, { threads, worker });
      assert.equal(model.backend.threads, threads);
      assert.match(model.backend.reason, new RegExp(`; ${threads} threads: as requested$`));
      for (let i = 0; i < 5; i++) assert.deepEqual(await model.run({ x, w }), expected);
      // The memory of the model is shared, and the result is not.
      assert.equal((await model.run({ x, w })).y?.data.buffer[Symbol.toStringTag], 'ArrayBuffer');
      model.dispose();
    }
  }
  one.dispose();
});

test('workers come, and compute until they are ended', async () => {
  const { module, memory, threads } = await share(readFileSync(wasm), 3);
  const none = () => 0;
  const { exports } = /** @type {any} */ (
    await WebAssembly.instantiate(module, {
      env: { memory, emscripten_notify_memory_growth: none },
      rush: { now: none, poll: none, pause: none, entropy: none, log: none },
    })
  );
  exports._initialize();
  const out = exports.malloc(4);
  assert.equal(exports.rush_bridge_ctx_create(out), 0);
  const [ctx] = new Uint32Array(memory.buffer, out, 1);
  assert.equal(threads.joined, 0);
  threads.begin(/** @type {any} */ ({ c: exports }), /** @type {number} */ (ctx));
  while (threads.joined < 2) await setImmediate();
  threads.end();
});

// In V8 a memory may grow while a worker receives it, and the worker keeps the old size. The race is rare, so the order
// of the calls is tested.
test('a thread reads the size of the memory again before it computes', async (t) => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true }),
    /** @type {unknown[]} */ calls = [],
    page = /** @type {any} */ (globalThis);
  t.mock.method(memory, 'grow', (/** @type {number} */ pages) => calls.push(['grow', pages]));
  t.mock.method(WebAssembly, 'instantiate', async () => ({
    exports: {
      _emscripten_stack_restore: (/** @type {number} */ end) => calls.push(['stack', end]),
      rush_pool_help: (/** @type {number} */ pool) => calls.push(['help', pool]),
    },
  }));
  page.postMessage = (/** @type {unknown} */ message) => calls.push(message);
  try {
    await import('../../js/src/worker/thread.js');
    await page.onmessage({ data: { memory, pool: 64, stack: 4096, lost: 128 } });
  } finally {
    delete page.postMessage;
    delete page.onmessage;
  }
  assert.deepEqual(calls, [['grow', 0], ['stack', 4096], 'ready', ['help', 64]]);
});

test('"auto" takes what the machine has, and 1 is one', async () => {
  const cores = availableParallelism(),
    auto = await load(bytes, { threads: 'auto' });
  assert.equal(auto.backend.threads, cores <= 4 ? cores : Math.min(8, Math.ceil(cores / 2)));
  assert.match(
    auto.backend.reason,
    cores === 1
      ? /; one thread: this machine has no more$/
      : new RegExp(`; ${auto.backend.threads} threads: this machine has ${cores}$`),
  );
  auto.dispose();
  const one = await load(bytes, { threads: 1 });
  assert.match(one.backend.reason, /; one thread: as requested$/);
  one.dispose();
});

test('threads whose script is not there are not counted, and the reason says so', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'rush-threads-')),
    script = join(dir, 'src/worker/thread.js');
  cpSync(fileURLToPath(new URL('../../js/', import.meta.url)), dir, {
    recursive: true,
    filter: (path) => !/[/]types$/.test(path),
  });
  const { load } = await import(join(dir, 'src/index.js'));
  for (const [write, why] of /** @type {[() => void, RegExp][]} */ ([
    [
      () => rmSync(script),
      /; one thread: 2 more did not start: Cannot find module .*thread\.js'.*\. Their script is src\/worker\/thread\.js of this package/,
    ],
    [
      () => writeFileSync(script, 'this is not a script'),
      /; one thread: 2 more did not start: Unexpected identifier 'is'\. Their script/,
    ],
  ])) {
    write();
    for (const worker of [false, true]) {
      const model = await load(bytes, { threads: 3, worker });
      assert.equal(model.backend.threads, 1);
      assert.match(model.backend.reason, why);
      assert.equal((await model.run({ x, w })).y?.shape[0], 250);
      model.dispose();
    }
  }
  rmSync(dir, { recursive: true });
});

test('other values are refused', async () => {
  for (const threads of [0, -1, 1.5, 65, NaN, Infinity, '2', 'all', null, true, {}]) {
    for (const worker of [false, true]) {
      await assert.rejects(load(bytes, { threads: /** @type {any} */ (threads), worker }), {
        name: 'RushlightError',
        code: 'bad-argument',
        message:
          /^load: threads must be 'auto' or an integer between 1 and 64, got (the string "(2|all)"|-?[\d.]+|NaN|Infinity|true|Object|null)$/,
      });
    }
  }
});

test('a binary that is compiled already runs on one thread, and says so', async () => {
  const model = await load(bytes, { threads: 2, backend: 'simd', wasm: new WebAssembly.Module(readFileSync(wasm)) });
  assert.equal(model.backend.threads, 1);
  assert.match(model.backend.reason, /; one thread: the binary given as `wasm` is compiled already$/);
  assert.equal((await model.run({ x, w })).y?.shape[0], 250);
  model.dispose();
  const other = await load(bytes, { threads: 2, backend: 'simd', wasm });
  assert.equal(other.backend.threads, 2);
  other.dispose();
});

test('a run that was aborted, and a model that is gone, leave the next one as it was', async () => {
  const model = await load(bytes, { threads: 3 }),
    expected = await model.run({ x, w });
  const large = [wave([20000, N], 0.1), wave([N, 400], 0.2)];
  for (let i = 0; i < 5; i++) {
    const stop = new AbortController(),
      run = model.run({ x: large[0], w: large[1] }, { signal: stop.signal });
    stop.abort();
    await assert.rejects(run, { code: 'aborted' });
    assert.deepEqual(await model.run({ x, w }), expected);
  }
  const run = model.run({ x: large[0], w: large[1] });
  model.dispose();
  await assert.rejects(run, { code: 'disposed' });
  const next = await load(bytes, { threads: 3 });
  assert.deepEqual(await next.run({ x, w }), expected);
  next.dispose();
});

/**
 * Calls the function with each message to a worker meanwhile.
 * @template T
 * @param {(worker: Worker, message: any) => void} see
 * @param {() => Promise<T>} meanwhile
 */
async function watching(see, meanwhile) {
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message, ...rest) {
    see(this, message);
    return postMessage.call(this, message, ...rest);
  };
  try {
    return await meanwhile();
  } finally {
    Worker.prototype.postMessage = postMessage;
  }
}

/** Operators of many elements, one after the other. @param {string} op */
const long = (op) => {
  const file = new RushFile();
  file.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [null, null] }], outputs: ['y'] }, (m, y) => {
    for (let i = 0; i < 30; i++) y = m.op(op, op === 'aten::matmul' ? [y, y] : [y]);
    return y;
  });
  return file.bytes();
};
const lazy = {
  diagnostics: () => import('../../js/src/engine/diagnostics.js'),
  threads: () => import('../../js/src/worker/threads.js'),
};
const lost = {
  name: 'RushlightError',
  code: 'internal',
  message: /: a thread that computes for this model has ended, or has stopped working\. Load the model again$/,
};

test('a thread that fails ends the run, and says why', async () => {
  // On so short a stack it takes some of the work, whose functions have no room.
  const model = await watching(
    (_, message) => {
      if (message.stack) message.stack = 4096;
    },
    () => load(long('aten::erf'), { threads: 2 }),
  );
  await assert.rejects(model.run({ x: wave([2000, 1000], 0.01) }), lost);
  await assert.rejects(model.run({ x: wave([1, 1], 0.01) }), { code: 'disposed' });
});

test('threads that are ended from outside end the run', { skip: ranBefore }, async () => {
  const { data, ...rest } = wave([700, 700], 0.01),
    bytes = long('aten::matmul');
  /** @type {any} */ let gone;
  // Where none of them was at work in that moment, the others do all of it.
  for (let tries = 0; tries < 10 && !gone; tries++) {
    /** @type {Set<Worker>} */ const workers = new Set();
    let looks = 0;
    const interrupted = () => {
      if (++looks === 20) for (const worker of workers) void worker.terminate();
      return false;
    };
    const host = await watching(
      (worker) => workers.add(worker),
      () => loadLocal(bytes, { threads: 4, interrupted }, lazy),
    );
    gone = await host.run(0, [{ ...rest, data }], 'named', false).then(
      () => undefined,
      (e) => e,
    );
    host.destroy();
  }
  assert.equal(gone?.code, 'internal');
  assert.match(gone.message, lost.message);
});

test('workers keep no process alive, disposed of or not', () => {
  const code = `
    import { load } from '${new URL('../../js/src/index.js', import.meta.url)}';
    const model = await load(Buffer.from(process.argv[1], 'base64'), { threads: 3 });
    console.log(model.backend.threads);`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', code, Buffer.from(bytes).toString('base64')],
    { encoding: 'utf8' },
  );
  assert.deepEqual([status, stdout], [0, '3\n'], stderr);
});

test(
  'a worker and its threads leave no port of Node behind',
  { skip: 'queryObjects' in v8 ? false : 'an old Node' },
  async () => {
    const ports = () => /** @type {any} */ (v8).queryObjects(MessagePort, { format: 'count' });
    let alive = 0;
    process.on('worker', (worker) => {
      alive++;
      worker.once('exit', () => alive--);
    });
    const some = async () => {
      for (let i = 0; i < 8; i++) {
        const model = await load(bytes, { worker: true, threads: 3 });
        model.dispose();
      }
      while (alive > 0) await setTimeout(5);
    };
    await some();
    const before = ports();
    await some();
    assert.equal(ports(), before);
  },
);
