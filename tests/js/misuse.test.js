// Every function gets values of every kind, and callbacks that throw. It must give an answer or a RushlightError with a
// code and the caller's frame, and never a bare error or an unhandled rejection (rejections.mjs).

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { audioToTensor, tensorToAudio } from '../../js/src/media/audio.js';
import { cached, clear, list, remove, size } from '../../js/src/api/cache.js';
import { JS_CODES, STATUS } from '../../js/src/base/errors.js';
import { Interpreter, Profiler, ShapeProp, printTabular, tabular } from '../../js/src/api/fx.js';
import { imageToTensor, tensorToImage } from '../../js/src/media/image.js';
import { RushlightError, load, plan, tensor } from '../../js/src/index.js';
import { loadPool } from '../../js/src/api/pool.js';
import { readNpy, writeNpy } from '../../js/src/media/npy.js';
import { readSafetensors, writeSafetensors } from '../../js/src/media/safetensors.js';
import { flipFile, tracedFile } from './build-rush.mjs';

/**
 * A program with all that can be called: an operator of the user's, a test vector with a trace, an attribute that it
 * changes.
 */
function fullFile() {
  const f = tracedFile();
  f.attribute('count', 'int', f.int(0));
  return f.bytes();
}
const twice = (/** @type {any} */ x) => ({ ...x, data: x.data.map((/** @type {number} */ v) => 2 * v) });
const flip = flipFile().bytes(),
  full = fullFile();

/** Values of every kind, each of which may be valid for some option. @type {[string, () => any][]} */
const VALUES = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['0', () => 0],
  ['-1', () => -1],
  ['1.5', () => 1.5],
  ['NaN', () => NaN],
  ["''", () => ''],
  ["'x'", () => 'x'],
  ['7n', () => 7n],
  ['true', () => true],
  ['a symbol', () => Symbol('s')],
  ['a function', () => () => 1],
  ['[]', () => []],
  ['[[-1, 4], "8"]', () => [[-1, 4], '8']],
  ['{}', () => ({})],
  ['a Map', () => new Map([['x', 1]])],
  ['a controller', () => new AbortController()],
  ['a promise', () => Promise.resolve(1)],
  ['no prototype', () => Object.create(null)],
  ['a proxy', () => new Proxy({ data: [1] }, {})],
  [
    'what holds itself',
    () => {
      const a = /** @type {any[]} */ ([]);
      a.push(a);
      return a;
    },
  ],
];

/** Values for inputs, whose fields are read. @type {typeof VALUES} */
const INPUTS = [
  ...VALUES,
  [
    'a getter that throws',
    () => ({
      get data() {
        throw new Error('mine');
      },
    }),
  ],
  [
    'one within',
    () => [
      {
        get data() {
          throw new Error('mine');
        },
      },
    ],
  ],
];

/** @type {import('node:http').Server} */ let server;
let url = '';
const folder = mkdtempSync(join(tmpdir(), 'rush-misuse-'));
before(async () => {
  server = createServer((request, response) => {
    // With open connections, a slow machine would use one that has ended.
    response.setHeader('etag', '"1"').setHeader('connection', 'close');
    response.end(request.url === '/flip.rush' ? flip : full);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  url = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

/**
 * The values that differ for a worker or for threads: values that cannot be cloned or that change when they are, and
 * one for each type. Each of them may start a worker, so that others of the same type add nothing but time.
 */
const SENT = VALUES.filter(([name]) =>
  ['undefined', '-1', 'NaN', "'x'", '7n', 'a symbol', 'a function', '[]', '{}', 'no prototype', 'a proxy'].includes(
    name,
  ),
);

/** Where a model may live. @type {[string, () => import('../../js/src/index.js').LoadOptions][]} */
const WAYS = [
  ["on the caller's thread", () => ({})],
  ['in a worker', () => ({ worker: true })],
  ['with threads', () => ({ threads: 2 })],
  ['in the cache', () => ({ cache: folder })],
  ['in a worker with threads and cache', () => ({ worker: true, threads: 2, cache: folder })],
];

const CODES = [...STATUS, ...JS_CODES];

/**
 * Checks that a call returns a value or fails with a RushlightError.
 * @param {string} what @param {() => unknown} call @returns {Promise<any>} the value, or the error
 */
async function tried(what, call) {
  try {
    return await call();
  } catch (/** @type {any} */ e) {
    assert(e instanceof RushlightError, `${what}: ${e?.stack ?? String(e)}`);
    assert(CODES.includes(e.code) && e.code !== 'internal', `${what}: ${e.code}: ${e.stack}`);
    assert(
      e.message.length > 10 &&
        !/\bis not a function|undefined \(reading|Cannot (read|convert)/.test(
          e.message.replace(/^cannot read http.*/s, ''),
        ) /* as fetch() says it */,
      `${what}: ${e.message}`,
    );
    assert(/misuse\.test\.js/.test(String(e.stack)), `${what}: ${e.stack}`);
    assert(e.stack?.includes(e.message), `${what}: ${e.stack}`);
    return e;
  }
}

/** @param {string} what @param {(value: any) => unknown} call */
async function triedWithAll(what, call, values = VALUES) {
  for (const [name, make] of values) {
    const given = await tried(`${what}: ${name}`, () => call(make()));
    if (given && !(given instanceof RushlightError)) given.dispose?.();
  }
}

const OPTIONS = [
  'signal',
  'onProgress',
  'wasm',
  'backend',
  'threads',
  'ops',
  'worker',
  'limits',
  'cache',
  'integrity',
  'request',
];

test('load() and plan() of what is not a source, with options that are none', async () => {
  await triedWithAll('load', (v) => load(v));
  await triedWithAll('plan', (v) => plan(v));
  await triedWithAll('load in a worker', (v) => load(v, { worker: true }));
  await triedWithAll('load with integrity', (v) => load(v, { integrity: 'sha256-' + 'A'.repeat(43) }));
  await triedWithAll('options', (v) => load(flip, v));
  await triedWithAll('options of plan', (v) => plan(flip, v));
  await triedWithAll('a stream of these', (v) =>
    load(
      /** @type {any} */ (
        new ReadableStream({
          start(c) {
            c.enqueue(v);
            c.close();
          },
        })
      ),
    ),
  );
});

for (const [way, base] of WAYS) {
  test(
    `every option of load() with values of every kind, ${way}`,
    { skip: way === WAYS.at(-1)?.[0] && 'one by one is enough' },
    async () => {
      const values = base().worker || base().threads ? SENT : VALUES;
      const tryAll = (/** @type {string} */ option, /** @type {(v: any) => object} */ options, file = 'flip') =>
        triedWithAll(option, (v) => load(`${url}/${file}.rush`, { ...base(), ...options(v) }), values);
      for (const option of OPTIONS) await tryAll(option, (v) => ({ [option]: v }));
      await tryAll('limits.bytes', (v) => ({ limits: { bytes: v } }));
      await tryAll('limits.steps', (v) => ({ limits: { steps: v } }));
      await tryAll('wasm.simd', (v) => ({ backend: 'simd', wasm: { simd: v } }));
      await tryAll('request.headers', (v) => ({ request: { headers: v } }));
      await tryAll('request.method', (v) => ({ request: { method: v } }));
      await tryAll('ops', (v) => ({ ops: { 'my_ops::twice': v } }), 'full');
      await tryAll('schema', (v) => ({ ops: { 'my_ops::twice': { schema: v, run: twice } } }), 'full');
    },
  );

  test(`every function of a model with values of every kind, ${way}`, async () => {
    const model = await load(`${url}/full.rush`, { ...base(), ops: { 'my_ops::twice': twice } });
    const x = Float32Array.of(1, 2);
    for (const name of /** @type {const} */ (['run', 'steps', 'profile'])) {
      await triedWithAll(`${name}: inputs`, (v) => ended(model[name](v)), INPUTS);
      await triedWithAll(`${name}: x`, (v) => ended(model[name]({ x: v })), INPUTS);
      await triedWithAll(`${name}: options`, (v) => ended(model[name]({ x }, v)));
      for (const option of ['method', 'signal', 'outputs', 'transfer', 'yield', 'runs'])
        await triedWithAll(`${name}: ${option}`, (v) =>
          ended(/** @type {any} */ (model)[name]({ x }, { [option]: v })),
        );
    }
    for (const key of ['data', 'shape', 'dtype', 'dims'])
      await triedWithAll(`x.${key}`, (v) => model.run({ x: { data: x, [key]: v } }));
    await triedWithAll('transfer: [v]', (v) => model.run({ x: Float32Array.of(1, 2) }, { transfer: [v] }));
    await triedWithAll('call', (v) => model.call(v, x));
    await triedWithAll('call: x', (v) => model.call('forward', v), INPUTS);
    await triedWithAll('call: too many', (v) => model.call('forward', x, v));
    await triedWithAll('setState', (v) => model.setState(v), INPUTS);
    await triedWithAll('setState: count', (v) => model.setState({ count: v }), INPUTS);
    await triedWithAll('manualSeed', (v) => model.manualSeed(v));
    await triedWithAll('diff', (v) => model.diff(v));
    for (const name of /** @type {const} */ (['verify', 'memory', 'state', 'reset']))
      await triedWithAll(name, (v) => /** @type {any} */ (model)[name](v));
    assert.deepEqual([...(await model.run({ x })).y.data], [16, 8], 'the model goes on');
    const steps = await model.steps({ x });
    await triedWithAll('next', (v) => steps.next(v));
    await triedWithAll('provide', (v) => steps.provide(steps.graph.nodes[1] ?? v, v), INPUTS);
    await triedWithAll('provide: node', (v) => steps.provide(v, [x]));
    await triedWithAll('replace', (v) => steps.replace(v, v));
    steps.end();
    model.dispose();
    for (const name of [
      'run',
      'call',
      'steps',
      'profile',
      'verify',
      'diff',
      'memory',
      'state',
      'setState',
      'reset',
      'manualSeed',
    ]) {
      const e = await tried(name, () =>
        /** @type {any} */ (model)[name](
          name === 'call' ? 'forward' : name === 'manualSeed' || name === 'diff' ? 0 : name === 'setState' ? {} : { x },
          x === undefined ? x : name === 'call' ? x : undefined,
        ),
      );
      assert.equal(e.code, 'disposed', name);
    }
  });

  test(`functions of the caller that throw or reject, ${way}`, async () => {
    /** What the operator of the model does now. @type {(...args: any[]) => any} */ let compute = twice;
    const model = await load(`${url}/full.rush`, {
      ...base(),
      ops: { 'my_ops::twice': (.../** @type {any[]} */ args) => compute(...args) },
    });
    for (const thrown of [
      new Error('mine'),
      'mine',
      undefined,
      Symbol('mine'),
      Object.create(null),
      new RushlightError('bad-file', 'mine, too'),
    ]) {
      for (const fail of [
        () => {
          throw thrown;
        },
        async () => {
          throw thrown;
        },
      ]) {
        const e = await tried('onProgress', () => load(`${url}/flip.rush`, { ...base(), onProgress: fail }));
        assert.deepEqual([e.code, e.cause], ['callback', thrown]);
        compute = fail;
        const failed = await tried('ops', () => model.run({ x: [1, 2] }));
        assert.equal(failed.code, 'operator');
        assert.equal(failed.cause, thrown);
        await tried('verify', () => model.verify());
        await tried('diff', () => model.diff());
        await tried('profile', () => model.profile({ x: [1, 2] }));
      }
    }
    for (const [name, give] of INPUTS) {
      compute = give;
      const e = await tried(`an operator that gives ${name}`, () => model.run({ x: [1, 2] }));
      if (e instanceof RushlightError) assert(['operator', 'bad-argument'].includes(e.code), `${name}: ${e.code}`);
    }
    compute = twice;
    assert.deepEqual([...(await model.run({ x: [1, 2] })).y.data], [16, 8], 'the model goes on');
    model.dispose();
  });

  test(`an abort is an AbortError, ${way}`, async () => {
    for (const reason of [new Error('enough'), 'enough', undefined]) {
      const aborted = AbortSignal.abort(reason),
        check = (/** @type {any} */ e) => {
          assert.deepEqual([e.name, e.code], ['AbortError', 'aborted']);
          assert(reason === undefined ? e.cause?.name === 'AbortError' : e.cause === reason);
          assert.match(String(e), /^AbortError: .* was aborted/);
        };
      check(await tried('load', () => load(`${url}/flip.rush`, { ...base(), signal: aborted })));
      const control = new AbortController();
      check(
        await tried('load', () =>
          load(`${url}/flip.rush`, { ...base(), signal: control.signal, onProgress: () => control.abort(reason) }),
        ),
      );
      const model = await load(`${url}/full.rush`, { ...base(), ops: { 'my_ops::twice': twice } });
      check(await tried('run', () => model.run({ x: [1, 2] }, { signal: aborted })));
      check(await tried('profile', () => model.profile({ x: [1, 2] }, { signal: aborted })));
      model.dispose();
    }
  });
}

/** Ends steps that began. @param {Promise<any>} given */
async function ended(given) {
  const steps = await given;
  steps?.end?.();
  return steps;
}

test('loadPool() and each function of a pool with values of every kind', async () => {
  const small = (/** @type {object} */ options) => loadPool(flip, { size: 1, ...options });
  await triedWithAll('loadPool', (v) => loadPool(v, { size: 1 }), SENT);
  await triedWithAll('options', (v) => loadPool(flip, v ?? { size: 1 }), SENT);
  for (const option of ['size', ...OPTIONS]) await triedWithAll(option, (v) => small({ [option]: v }), SENT);
  const pool = await small({}),
    x = Float32Array.of(1, 2);
  await triedWithAll('run', (v) => pool.run(v), INPUTS);
  await triedWithAll('run: x', (v) => pool.run({ x: v }), INPUTS);
  await triedWithAll('run: options', (v) => pool.run({ x }, v));
  for (const option of ['method', 'signal', 'outputs', 'transfer', 'yield'])
    await triedWithAll(`run: ${option}`, (v) => pool.run({ x }, { [option]: v }));
  await triedWithAll('call', (v) => pool.call(v, x));
  await triedWithAll('call: x', (v) => pool.call('forward', v), INPUTS);
  await triedWithAll('use', (v) => pool.use(v));
  await triedWithAll('use: options', (v) => pool.use(async () => 1, v));
  await triedWithAll('use: signal', (v) => pool.use(async () => 1, { signal: v }));
  assert.deepEqual([...(await pool.run({ x })).y.data], [2, 1], 'the pool goes on');
  pool.dispose();
  for (const call of [() => pool.run({ x }), () => pool.call('forward', x), () => pool.use(async () => 1)])
    assert.equal((await tried('disposed', call)).code, 'disposed');
});

test('tensor() with values of every kind', async () => {
  await triedWithAll('dtype', (v) => tensor(v, [1, 2]));
  await triedWithAll('data', (v) => tensor('float32', v), INPUTS);
  await triedWithAll('shape', (v) => tensor('float32', [1, 2], v));
});

test('cached() and its cache with values of every kind, and functions that throw', async () => {
  const source = `${url}/flip.rush`;
  await triedWithAll('cached', (v) => cached(v, { cache: folder }));
  await triedWithAll('options', (v) => cached(source, v ?? { cache: folder }));
  for (const option of ['cache', 'integrity', 'request', 'signal', 'retries', 'wait'])
    await triedWithAll(option, (v) => cached(source, { cache: folder, [option]: v }));
  for (const f of [list, size, clear]) {
    await triedWithAll(f.name, (v) => f({ cache: v ?? folder }));
    await triedWithAll(f.name, (v) => f(v ?? { cache: folder }));
  }
  await triedWithAll('remove', (v) => remove(v, { cache: folder }));
  const broken = createServer((_, response) => {
    response.writeHead(200, { 'content-length': '100000', etag: '"1"' });
    response.write(flip.subarray(0, 10));
    response.socket?.end();
  });
  await new Promise((resolve) => broken.listen(0, '127.0.0.1', () => resolve(undefined)));
  for (const wait of [
    () => {
      throw new Error('mine');
    },
    async () => {
      throw new Error('mine');
    },
  ]) {
    const at = `http://127.0.0.1:${/** @type {any} */ (broken.address()).port}/m.rush`;
    const e = await tried('wait', async () => load(await cached(at, { cache: folder, wait })));
    assert.deepEqual([e.code, e.cause.message], ['callback', 'mine']);
  }
  broken.closeAllConnections();
  broken.close();
});

test('the tools of fx with values of every kind, and functions that throw', async () => {
  const model = await load(full, { ops: { 'my_ops::twice': twice } });
  await triedWithAll('Interpreter', (v) => new Interpreter(v));
  await triedWithAll('Interpreter: options', (v) => new Interpreter(model, v));
  await triedWithAll('Interpreter: method', (v) => new Interpreter(model, { method: v }));
  for (const Kind of [Interpreter, ShapeProp, Profiler]) {
    await triedWithAll(`${Kind.name}: inputs`, (v) => new Kind(model).run(v), INPUTS);
    await triedWithAll(`${Kind.name}: x`, (v) => new Kind(model).run({ x: v }), INPUTS);
  }
  assert.equal((await tried('x', () => new Interpreter(model).run({ x: new Uint16Array(2) }))).input, 'x');
  for (const name of ['runNode', 'placeholder', 'callFunction', 'output']) {
    for (const fail of [
      () => {
        throw new Error('mine');
      },
      async () => {
        throw new Error('mine');
      },
    ]) {
      const own = /** @type {any} */ (new Interpreter(model));
      own[name] = fail;
      const e = await tried(name, () => own.run({ x: [1, 2] }));
      assert.deepEqual([e.code, e.cause.message], ['callback', 'mine'], name);
    }
    await triedWithAll(
      `${name} gives`,
      (v) => Object.assign(/** @type {any} */ (new Interpreter(model)), { [name]: () => v }).run({ x: [1, 2] }),
      INPUTS,
    );
  }
  await triedWithAll('tabular', (v) => tabular(v));
  await triedWithAll('tabular: columns', (v) => tabular(model.graph, v));
  const { log } = console;
  console.log = () => {};
  await triedWithAll('printTabular', (v) => printTabular(v)).finally(() => {
    console.log = log;
  });
  assert.deepEqual([...(await model.run({ x: [1, 2] })).y.data], [16, 8], 'the model goes on');
  model.dispose();
});

test('pictures, sound and files with values of every kind', async () => {
  const grey = { width: 2, height: 1, data: new Uint8Array(8) },
    tensor = { dtype: 'float32', shape: [1, 1, 2], data: Float32Array.of(0, 1) };
  await triedWithAll('imageToTensor', (v) => imageToTensor(v));
  await triedWithAll('imageToTensor: options', (v) => imageToTensor(grey, v));
  for (const option of [
    'size',
    'crop',
    'mean',
    'std',
    'layout',
    'dtype',
    'interpolation',
    'like',
    'channels',
    'background',
  ])
    await triedWithAll(option, (v) => imageToTensor(grey, { [option]: v }));
  for (const key of ['width', 'height', 'data', 'colorSpace'])
    await triedWithAll(key, (v) => imageToTensor({ ...grey, [key]: v }));
  await triedWithAll('tensorToImage', (v) => tensorToImage(v));
  for (const key of ['dtype', 'shape', 'data'])
    await triedWithAll(key, (v) => tensorToImage(/** @type {any} */ ({ ...tensor, [key]: v })));
  for (const option of ['layout', 'mean', 'std', 'range', 'colormap'])
    await triedWithAll(option, (v) => tensorToImage(/** @type {any} */ (tensor), { [option]: v }));
  await triedWithAll('audioToTensor', (v) => audioToTensor(v));
  for (const option of ['sampleRate', 'from', 'mono'])
    await triedWithAll(option, (v) =>
      audioToTensor(new Float32Array(8), { from: 8000, sampleRate: 16000, [option]: v }),
    );
  await triedWithAll('tensorToAudio', (v) => tensorToAudio(v, { sampleRate: 8000 }));
  await triedWithAll('tensorToAudio: options', (v) =>
    tensorToAudio(/** @type {any} */ ({ dtype: 'float32', shape: [2], data: new Float32Array(2) }), v),
  );
  for (const f of [readNpy, readSafetensors, writeNpy, writeSafetensors]) await triedWithAll(f.name, (v) => f(v));
  for (const key of ['dtype', 'shape', 'data']) {
    await triedWithAll(key, (v) => writeNpy(/** @type {any} */ ({ ...tensor, [key]: v })));
    await triedWithAll(key, (v) => writeSafetensors(/** @type {any} */ ({ x: { ...tensor, [key]: v } })));
  }
});
