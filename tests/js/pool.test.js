// rushlight/pool: copies of a model in workers.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { Worker } from 'node:worker_threads';

import { loadPool } from '../../js/src/api/pool.js';
import { RushFile, flipFile } from './build-rush.mjs';

const loopFile = () =>
  new RushFile().method(
    'forward',
    { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] },
    (m, x, n) => m.loop(n, [x], (_, v) => [m.op('aten::flip', [v, m.file.ints([0])])])[0],
  );
const x = Float32Array.of(1, 2);
/** A run that goes on until it is stopped. */
const endless = { x: new Float32Array(1 << 16), n: 1e9 };

/**
 * A pool that lives as long as its test.
 * @param {import('node:test').TestContext} t @param {Parameters<typeof loadPool>} args
 */
async function opened(t, ...args) {
  const pool = await loadPool(...args);
  t.after(() => pool.dispose());
  return pool;
}

/** The workers that were started since, to end one of them as a fault would. */
function watchWorkers() {
  /** @type {Set<Worker>} */ const seen = new Set();
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (...args) {
    seen.add(this);
    return postMessage.apply(this, args);
  };
  return { seen, stop: () => void (Worker.prototype.postMessage = postMessage) };
}

test('runs go to free workers, and wait where there are none', async (t) => {
  const pool = await opened(t, loopFile().bytes(), { size: 2 });
  assert.equal(pool.size, 2);
  assert.deepEqual(
    pool.inputs.map((p) => p.name),
    ['x', 'n'],
  );
  const stop = new AbortController();
  const long = [1, 2].map(() => pool.run(endless, { signal: stop.signal }));
  assert.equal(pool.busy, 2);
  const mine = Float32Array.of(1, 2);
  const waiting = [1, 2, 3].map((n) => pool.run({ x: mine, n }).then(({ y }) => y.data));
  mine.fill(9); // The inputs are those of the call.
  assert.equal(pool.waiting, 3);
  stop.abort();
  await Promise.all(long.map((run) => assert.rejects(run, { name: 'AbortError', code: 'aborted' })));
  const [first, second, third] = await Promise.all(waiting);
  assert.deepEqual([first, second, third], [Float32Array.of(2, 1), Float32Array.of(1, 2), Float32Array.of(2, 1)]);
  assert.deepEqual([pool.busy, pool.waiting, pool.restarts], [0, 0, 0]);
});

test('calls that wait begin in their order', async (t) => {
  const pool = await opened(t, flipFile().bytes(), { size: 1 });
  /** @type {number[]} */ const order = [];
  await Promise.all([1, 2, 3].map((n) => pool.use(() => order.push(n))));
  assert.deepEqual(order, [1, 2, 3]);
});

test('a signal ends the wait, and the worker goes to the next call', async (t) => {
  const pool = await opened(t, loopFile().bytes(), { size: 1 });
  const first = new AbortController(),
    second = new AbortController();
  const running = pool.run(endless, { signal: first.signal });
  const waits = pool.run({ x, n: 1 }, { signal: second.signal });
  const used = pool.use((model) => model.run({ x, n: 1 }));
  second.abort(new Error('no longer'));
  await assert.rejects(waits, { code: 'aborted' });
  assert.equal(pool.waiting, 1);
  first.abort();
  await assert.rejects(running, { code: 'aborted' });
  assert.deepEqual((await used).y.data, Float32Array.of(2, 1));
  await assert.rejects(pool.run({ x, n: 1 }, { signal: AbortSignal.abort() }), { code: 'aborted' });
  // The call is aborted at the moment at which it gets the worker.
  const third = new AbortController();
  const held = pool.use(() => new Promise((done) => setImmediate(done)).finally(() => void third.abort()));
  await assert.rejects(pool.run({ x, n: 1 }, { signal: third.signal }), { code: 'aborted' });
  await held;
  assert.deepEqual((await pool.call('forward', x, 1)).data, Float32Array.of(2, 1));
});

test('a worker that ends is started again', async (t) => {
  const { seen, stop } = watchWorkers();
  const pool = await opened(t, loopFile().bytes(), { size: 1 });
  stop();
  const [worker] = seen;
  const lost = pool.run(endless);
  await worker?.terminate();
  await assert.rejects(lost, (/** @type {any} */ e) => /internal|disposed/.test(e.code));
  assert.deepEqual((await pool.run({ x, n: 1 })).y.data, Float32Array.of(2, 1));
  assert.equal(pool.restarts, 1);
});

test('a worker that ended while nobody had it does not fail the next call', async (t) => {
  const { seen, stop } = watchWorkers();
  const pool = await opened(t, loopFile().bytes(), { size: 2 });
  stop();
  await Promise.all([...seen].map((worker) => worker.terminate()));
  const answers = await Promise.all([1, 2, 3].map((n) => pool.run({ x, n })));
  assert.deepEqual(
    answers.map(({ y }) => y.data[0]),
    [2, 1, 2],
  );
  assert.equal(pool.restarts, 2);
});

test('a URL is downloaded once for all workers', async (t) => {
  let requests = 0;
  const bytes = flipFile().bytes();
  const server = createServer((_, answer) => {
    requests++;
    answer.end(bytes);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(undefined)));
  t.after(() => server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  /** @type {(number | null)[][]} */ const told = [];
  const pool = await opened(t, `http://127.0.0.1:${port}/m.rush`, {
    size: 3,
    onProgress: ({ loaded, total }) => told.push([loaded, total]),
  });
  assert.equal(requests, 1);
  assert.deepEqual(told.at(-1), [bytes.length, bytes.length]);
  const { file, heap, workers } = await pool.memory();
  assert.equal(file, 0);
  assert.equal(workers.length, 3);
  assert.equal(
    heap,
    workers.reduce((sum, one) => sum + one.heap, 0),
  );
});

test('a path is read again for a restart, and bytes are held', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'rush-pool-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const bytes = flipFile().bytes(),
    path = join(dir, 'm.rush');
  writeFileSync(path, bytes);
  const { seen, stop } = watchWorkers();
  const pool = await opened(t, path, { size: 1 });
  stop();
  assert.equal((await pool.memory()).file, 0);
  rmSync(path);
  for (const worker of seen) await worker.terminate();
  const input = { x: new Float32Array(4) };
  await assert.rejects(pool.run(input), { code: 'unreadable' });
  writeFileSync(path, bytes);
  assert.deepEqual((await pool.run(input)).y.shape, [2, 2]); // It was tried once more.
  const other = await opened(t, new Blob([bytes]), { size: 1 });
  assert.equal((await other.memory()).file, bytes.length);
});

test('dispose() fails what runs and what waits', async () => {
  const pool = await loadPool(loopFile().bytes(), { size: 1 });
  const runs = [pool.run(endless), pool.run({ x, n: 1 }), pool.use(() => 1)];
  pool.dispose();
  await Promise.all(runs.map((run) => assert.rejects(run, { code: 'disposed' })));
  await assert.rejects(pool.memory(), { code: 'disposed' });
  await assert.rejects(pool.run({ x, n: 1 }), { code: 'disposed' });
});

test('a load that fails ends the workers and gives the reason', async () => {
  await assert.rejects(loadPool(flipFile().bytes().subarray(0, 100), { size: 2 }), { code: 'truncated' });
  await assert.rejects(loadPool('/no/such/file.rush', { size: 2 }), { code: 'unreadable' });
  await assert.rejects(loadPool(flipFile().bytes(), { signal: AbortSignal.abort() }), { code: 'aborted' });
  const progress = () => {
    throw new Error('mine');
  };
  await assert.rejects(loadPool(flipFile().bytes(), { onProgress: progress }), { code: 'callback' });
});

test('what is wrong is refused by name', async (t) => {
  const bytes = flipFile().bytes();
  for (const [options, message] of /** @type {[any, RegExp][]} */ ([
    [{ size: 0 }, /size must be an integer of at least 1, got 0/],
    [{ size: '2' }, /size must be an integer of at least 1, got the string "2"/],
    [{ worker: true }, /there is no option worker/],
    [{ sise: 1 }, /there is no option "sise".*size/],
    [{ onProgress: 1 }, /onProgress must be a function/],
    [{ request: 1 }, /request must be an object/],
    [{ threads: 'x' }, /threads/],
    [{ threads: 0 }, /threads/],
    [null, /options must be an object/],
  ]))
    await assert.rejects(loadPool(bytes, options), { code: 'bad-argument', message });
  const pool = await opened(t, bytes, { size: 1 });
  await assert.rejects(pool.run({ x: new Float32Array(4) }, /** @type {any} */ ({ sgnal: 1 })), {
    code: 'bad-argument',
    message: /there is no option "sgnal"/,
  });
  await assert.rejects(pool.use(/** @type {any} */ (1)), { message: /job must be a function, got 1/ });
  // A call that must wait refuses what cannot be copied, and names it.
  const stop = new AbortController();
  const long = pool.use(() => new Promise((done) => stop.signal.addEventListener('abort', done)));
  await assert.rejects(pool.run({ x: /** @type {any} */ (() => 1) }), { code: 'bad-argument', message: /x/ });
  stop.abort();
  await long;
});
