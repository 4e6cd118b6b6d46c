// The messages between a page and its worker, drawn from a seed and damaged: whatever one side says, the other answers
// each call once, throws nothing that nobody catches, and goes on to give the correct answer. RUSH_SEED gives another
// seed, RUSH_ROUNDS more messages.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import test from 'node:test';
import { inspect } from 'node:util';
import threads, { Worker } from 'node:worker_threads';

import { RushlightError } from '../../js/src/base/errors.js';
import { loadInWorker } from '../../js/src/worker/worker-client.js';
import { RushFile } from './build-rush.mjs';

const seed = Number(process.env.RUSH_SEED ?? 1),
  rounds = Number(process.env.RUSH_ROUNDS ?? 3000);

/** Numbers from 0 to n - 1 of a seed (mulberry32). @param {number} state */
const drawing = (state) => (/** @type {number} */ n) => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
};
/** @typedef {ReturnType<typeof drawing>} Draw */

const nested = (/** @type {number} */ levels) =>
  Array.from({ length: levels }).reduce((/** @type {any} */ inner) => [inner], null);
/** What stands where something else should. */
const hostile = () => [
  undefined,
  null,
  true,
  false,
  -1,
  0,
  1,
  3,
  1.5,
  NaN,
  Infinity,
  1e308,
  2 ** 31,
  2 ** 53,
  -(2n ** 70n),
  '',
  'x',
  '__proto__',
  'constructor',
  'destroy',
  'diagnostics',
  'float32',
  [],
  {},
  [[]],
  { then: 1 },
  new Map([[1, 2]]),
  new Uint8Array(3),
  new Float32Array(2),
  new BigInt64Array(1),
  new ArrayBuffer(8),
  new Date(0),
  /x/,
  new Error('no'),
  nested(200),
  { dtype: 'float32', shape: [2 ** 30, 2 ** 30], data: new Float32Array(1) },
  { dtype: 'float32', shape: [-1], data: null },
  { length: 2 ** 31 },
];

/**
 * A copy in which something, at any depth, is missing, replaced or there twice.
 * @param {any} value
 * @param {Draw} draw
 */
function damaged(value, draw) {
  const wrong = hostile(),
    root = [structuredClone(value)];
  for (let n = 1 + draw(3); n > 0; n--) {
    /** @type {any} */ let at = root;
    /** @type {any} */ let key = 0;
    for (let inner = at[key]; inner && /^(Array|Object)$/.test(inner.constructor?.name) && draw(4); inner = at[key]) {
      const keys = Object.keys(inner);
      if (!keys.length) break;
      [at, key] = [inner, keys[draw(keys.length)]];
    }
    const how = draw(8);
    if (how === 0 && at !== root) delete at[key];
    else if (how === 1 && Array.isArray(at) && at !== root) at.splice(Number(key), 0, at[key]);
    else at[key] = wrong[draw(wrong.length)];
  }
  return root[0];
}

/** y = twice(flip(x)), four times; `twice` is the page's. */
const file = () =>
  new RushFile()
    .method(
      'forward',
      { inputs: [{ name: 'x', dtype: 'float32', shape: [2] }], outputs: ['y'] },
      (m, x) =>
        m.loop(m.file.int(4), [m.op('aten::flip', [x, m.file.ints([0])])], (_, v) => [
          m.op('my::twice', [v], 'Tensor', 'my::twice(Tensor x) -> Tensor'),
        ])[0],
    )
    .bytes();
const ops = [['my::twice', 'my::twice(Tensor x) -> Tensor']];
const x = () => ({ dtype: 'float32', shape: [2], data: Float32Array.of(1, 2) });
const twice = (/** @type {any} */ v) => ({ ...v, data: v.data.map((/** @type {number} */ n) => 2 * n) });

/** Calls that mean something. */
const calls = () =>
  [
    ['run', 0, [x()], 'named', true],
    ['run', 0, [x()], 'value', false],
    ['run', 0, [x()], ['y'], true],
    ['memory'],
    ['reset'],
    ['manualSeed', 5n],
    ['state'],
    ['setState', {}],
    ['begin', 0, [x()]],
    ['next'],
    ['step'],
    ['result'],
    ['put', 'provide', [x()], ['Tensor']],
    ['verify'],
    ['diff', 0],
    ['end'],
  ].map(([call, ...args]) => ({ call, args }));

const turn = () => new Promise((done) => setImmediate(done));
const settled = async (/** @type {() => boolean} */ done, /** @type {string} */ what) => {
  for (let n = 0; !done(); n++) {
    assert(n < 1e6, `${what} never came`);
    await turn();
  }
};

/** The page's side of a real worker. */
class Page {
  /** @type {Map<number, any>} replies by id */ replies = new Map();
  /** @type {Map<number, number>} how often each id was asked and has no reply yet */ open = new Map();
  /** @type {any} what ended it */ ended;
  last = 0;

  /** @param {Draw} draw */
  constructor(draw) {
    this.draw = draw;
    this.worker = new Worker(new URL('../../js/src/worker/worker.js', import.meta.url), { execArgv: [] });
    this.worker.on('error', (e) => {
      this.ended ??= e;
    });
    this.worker.on('exit', (code) => {
      this.ended ??= new Error(`exit ${code}`);
    });
    this.worker.on('message', (m) => this.take(m));
  }

  /** @param {any} m */
  take(m) {
    if (m.op !== undefined) return this.answer(m);
    if (m.lost || m.progress) return undefined;
    const open = this.open.get(m.id) ?? 0;
    assert(open > 0, `a reply to call ${m.id}, which waits for none`);
    this.open.set(m.id, open - 1);
    if (m.error)
      assert(
        typeof m.error.message === 'string' && m.error.message && typeof m.error.code === 'string',
        `an error says nothing: ${inspect(m.error)}`,
      );
    this.replies.set(m.id, m);
  }

  /** @param {any} m */
  say(m) {
    if (typeof m?.id === 'number' && !m.lost && !m.abort && !m.reply)
      this.open.set(m.id, 1 + (this.open.get(m.id) ?? 0));
    this.worker.postMessage(m);
  }

  /** Computes an operator, now and then after or before nonsense. @param {any} m */
  answer({ call, args }) {
    const reply = { reply: call, value: twice(args[0]), args };
    if (this.wild && this.draw(4) === 0) this.say(damaged(reply, this.draw));
    if (this.wild && this.draw(8) === 0) this.worker.postMessage({ reply: call, thrown: 'it threw' });
    this.worker.postMessage(reply);
    if (this.wild && this.draw(4) === 0) this.worker.postMessage(reply);
  }

  /** @param {string} call @param {...any} args */
  async ask(call, ...args) {
    const id = ++this.last;
    this.say({ id, call, args });
    await settled(() => this.replies.has(id) || this.ended !== undefined, `an answer to ${call}`);
    assert.equal(this.ended, undefined, `the worker ended: ${this.ended?.stack}`);
    return this.replies.get(id);
  }
}

test('a worker outlives what it is told, and answers each call once', async (t) => {
  const draw = drawing(seed),
    page = new Page(draw);
  t.after(() => page.worker.terminate());
  const load = [file(), { limits: { bytes: 1 << 26, steps: 2000 } }, ops, true];
  assert.equal((await page.ask('load', ...load)).error, undefined);
  const sane = async () => {
    page.wild = false;
    await page.ask('end'); // a run step by step may be open
    await page.ask('reset');
    const { value, error } = await page.ask('run', 0, [x()], 'named', true);
    assert.equal(error, undefined, error?.message);
    assert.deepEqual(value.y.data, Float32Array.of(32, 16));
    page.wild = true;
  };
  await sane();
  const templates = calls();
  for (let n = 1; n <= rounds; n++) {
    const id = ++page.last,
      message = { id, stoppable: draw(2) === 1, .../** @type {any} */ (templates[draw(templates.length)]) };
    if (draw(16) === 0) page.worker.postMessage({ abort: id - draw(3) });
    if (draw(16) === 0) page.say(damaged({ lost: true, abort: id, reply: id }, draw));
    const sent = draw(4) ? damaged(message, draw) : message;
    page.say(sent);
    if (sent?.id === id && typeof sent.call === 'string')
      await settled(() => page.replies.has(id) || page.ended, `an answer to ${inspect(sent)}`);
    assert.equal(page.ended, undefined, `the worker ended after message ${n}: ${page.ended?.stack}`);
    if (n % 50 === 0) await sane();
  }
});

/** A worker that says what the test wants. */
class Fake extends EventEmitter {
  /** @type {any[]} */ static made = [];
  /** @type {any[]} calls that came and have no reply yet */ open = [];

  constructor() {
    super();
    Fake.made.push(this);
  }

  /** @param {any} message @param {ArrayBuffer[]} [transfer] */
  postMessage(message, transfer) {
    const m = structuredClone(message, { transfer });
    if (m.call) this.open.push(m);
  }
  /** @param {any} message */
  say(message) {
    this.emit('message', structuredClone(message));
  }
  ref() {}
  unref() {}
  async terminate() {
    this.terminated = true;
  }
}

test('a page outlives what its worker says, and each of its calls ends', async () => {
  const { Worker: Real } = threads,
    draw = drawing(seed + 1);
  /** @type {unknown[]} */ const unhandled = [];
  const note = (/** @type {unknown} */ e) => unhandled.push(e);
  process.on('unhandledRejection', note);
  /** @type {any} */ (threads).Worker = Fake;
  try {
    for (let n = 0; n < rounds / 100; n++) await onePage(draw);
    await turn();
  } finally {
    threads.Worker = Real;
    process.off('unhandledRejection', note);
  }
  assert.deepEqual(unhandled, []);
});

/** One model whose worker talks nonsense between correct answers. @param {Draw} draw */
async function onePage(draw) {
  const loading = loadInWorker(file(), { ops: { 'my::twice': twice }, onProgress: () => {} });
  await settled(() => Fake.made.at(-1)?.open.length > 0, 'the call of load');
  const worker = Fake.made.at(-1),
    { id } = worker.open.shift();
  const loaded = { backend: { name: 'simd', threads: 1 }, description: {}, text: '', graph: '' };
  worker.say({ id, value: loaded });
  const host = /** @type {any} */ (await loading),
    diagnostics = await host.diagnostics();
  /** @type {Promise<unknown>[]} */ const asked = [];
  for (let k = 0; k < 100; k++) {
    const { call, args } = /** @type {any} */ (calls()[draw(calls().length)]);
    if (draw(2))
      asked.push(
        (call in host ? host[call](...args) : diagnostics[call](...args)).catch((/** @type {unknown} */ e) =>
          assert(e instanceof RushlightError, String(e)),
        ),
      );
    const some = worker.open[draw(worker.open.length || 1)]?.id ?? 0;
    const template = [
      { id: some, value: x() },
      { id: some, error: { code: 'bad-argument', message: 'no', thrown: 1 } },
      { progress: { loaded: 1, total: 2 } },
      { op: 'my::twice', call: k, args: [x()] },
      { lost: true },
    ][draw(5)];
    worker.say(draw(4) ? damaged(template, draw) : template);
    if (draw(4) === 0) await turn();
  }
  for (const { id: open } of worker.open) worker.say({ id: open, value: null });
  await turn();
  if (draw(2)) worker.emit('exit', 0);
  else host.destroy();
  await Promise.all(asked);
  assert(!host.alive && worker.terminated);
  await assert.rejects(host.memory(), { code: 'disposed' });
}
