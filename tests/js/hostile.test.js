// The contents of a file are only data: names that mean something to JavaScript, values that hold themselves.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { load, plan } from '../../js/src/index.js';
import { Interpreter, ShapeProp, tabular } from '../../js/src/api/fx.js';
import { readNpy, writeNpy } from '../../js/src/media/npy.js';
import { readSafetensors, writeSafetensors } from '../../js/src/media/safetensors.js';
import { parseType } from '../../js/src/base/types.js';
import { RushFile, flipFile } from './build-rush.mjs';

const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'then',
  '',
  '\0',
  '"',
  '\u2028',
  '\x1b[31m',
  'a"b","methods":[{"x',
  'x'.repeat(1 << 20),
];

const own = () =>
  JSON.stringify(
    [Object.prototype, Object, Function.prototype, Array.prototype].map((o) => Reflect.ownKeys(o).map(String)),
  );
/** @type {string} */ let clean;
before(() => {
  clean = own();
});
after(() => assert.equal(own(), clean, 'nothing was left on what every object inherits'));

/** A file with a name in every place that takes one. @param {string} name */
function named(name) {
  const f = new RushFile();
  const weight = f.tensor(Float32Array.of(1, 2), [2], { name });
  f.attribute(name, 'Tensor', weight);
  f.method(name, { inputs: [{ name, dtype: 'float32', shape: [2] }], outputs: [name] }, (m, x) => {
    m.at = f.source(name, 3);
    return m.op('aten::mul.Tensor', [m.op('rush::get_attr', [f.int(0)]), x]);
  });
  f.meta(name, name).text(name, 'code', name).text(name, 'graph', name);
  f.test(0, [weight], ['Tensor'], weight);
  return f.bytes();
}

for (const name of NAMES) {
  const shown = name.length > 40 ? 'a name of 1 MB' : JSON.stringify(name);
  for (const worker of [false, true]) {
    test(`${worker ? 'in a worker: ' : ''}a file that calls everything ${shown} is data`, async () => {
      const bytes = named(name);
      assert.equal((await plan(bytes)).inputs[0]?.name, name.split('\0')[0]);
      const model = await load(bytes, { worker });
      const key = model.inputs[0]?.name ?? '?';
      const x = Float32Array.of(3, 4);
      const inputs = Object.fromEntries([[key, x]]);
      const result = await model.run(inputs);
      assert.deepEqual(Object.keys(result), [key]);
      assert.deepEqual(Object.getOwnPropertyDescriptor(result, key)?.value.data, Float32Array.of(3, 8));
      await assert.rejects(model.run({}), { code: 'bad-argument', message: /is missing/ });
      assert.deepEqual(Object.keys(await model.state()), [key]);
      await model.setState(await model.state());
      await model.setState({});
      assert.deepEqual(
        Object.entries(model.torch).map(([module, texts]) => [module, texts.code, texts.graph]),
        [[key, key, key]],
      );
      assert.deepEqual(Object.keys(model.graphs), [key]);
      assert.equal(typeof String(model.graph), 'string');
      assert.deepEqual(Object.keys(model.methods), [key]);
      assert.deepEqual(Object.keys(model.describe().meta), [key]);
      await new ShapeProp(model).run(inputs);
      tabular(model.graph, ['name', 'tensor']);
      assert.equal((await model.profile(inputs)).length, 2);
      await model.verify();
      model.dispose();
    });
  }
}

test('names that a file does not have are not found on what objects inherit', async () => {
  const model = await load(flipFile().bytes());
  for (const name of ['constructor', 'toString', '__proto__']) {
    await assert.rejects(model.run({ x: [1, 2] }, { method: name }), { code: 'bad-argument' });
    await assert.rejects(model.call(name), { code: 'bad-argument' });
    assert.throws(() => new Interpreter(model, { method: name }), { code: 'bad-argument' });
    await assert.rejects(model.run({ x: { data: [1, 2], dtype: /** @type {any} */ (name) } }), {
      code: 'bad-argument',
      message: /no dtype/,
    });
  }
  model.dispose();
});

/**
 * A method whose list is made of itself n times.
 * @param {number} n
 * @param {(m: any, v: number, type: string) => number} step
 */
const grown = (n, step) =>
  new RushFile()
    .method('forward', { inputs: [{ name: 'x' }], outputs: [{ name: 'y', type: 'Any' }], result: 'Any' }, (m, x) => {
      let v = m.op('prim::ListConstruct', [x], 'Any[]');
      for (let i = 0; i < n; i++) v = step(m, v, 'Any[]');
      return v;
    })
    .bytes();

for (const worker of [false, true]) {
  const where = worker ? 'in a worker: ' : '';
  const refusedThenFine = async (/** @type {Uint8Array} */ bytes, /** @type {RegExp} */ message) => {
    const model = await load(bytes, { worker });
    await assert.rejects(model.run({ x: new Float32Array(1) }), { code: 'unsupported', message });
    await assert.rejects(model.call('forward', new Float32Array(1)), { code: 'unsupported', message });
    assert((await model.memory()).live > 0, 'the model stays usable');
    model.dispose();
  };
  test(`${where}a result that shares itself is not written out for ever`, () =>
    refusedThenFine(
      grown(40, (m, v, type) => m.op('prim::ListConstruct', [v, v], type)),
      /too large: more than 4 GiB/,
    ));
  test(`${where}a result that is nested without end gives a message`, () =>
    refusedThenFine(
      grown(3000, (m, v, type) => m.op('prim::ListConstruct', [v], type)),
      /nested too deeply: more than 1000/,
    ));
  test(`${where}a result that holds itself gives a message`, () =>
    refusedThenFine(
      grown(1, (m, v) => {
        m.ops('aten::append.t', [v, v], ['Any[]']);
        return v;
      }),
      /nested too deeply/,
    ));
  test(`${where}a result that is nested 900 deep comes out`, async () => {
    const model = await load(
      grown(900, (m, v, type) => m.op('prim::ListConstruct', [v], type)),
      { worker },
    );
    let { y } = await model.run({ x: Float32Array.of(7) }),
      depth = 0;
    for (; Array.isArray(y); depth++) y = y[0];
    assert.deepEqual([depth, [...y.data]], [901, [7]]);
    model.dispose();
  });
}

test('a file whose description no string can hold gives a message', async () => {
  const f = new RushFile(),
    long = 'x'.repeat(1 << 20);
  f.method('forward', { outputs: [] }, () => f.none());
  for (let i = 0; i < 300; i++) f.meta(long, long);
  await assert.rejects(load(f.bytes()), { code: 'out-of-memory' });
});

test('types that were read are not kept without end', () => {
  const long = `(${'Tensor, '.repeat(100)}int)`,
    first = parseType('Dict(str, int[])');
  assert.equal(parseType('Dict(str, int[])'), first);
  assert.notEqual(parseType(long), parseType(long));
  for (let i = 0; i < 2000; i++) parseType(`Name${i}`);
  assert.notEqual(parseType('Dict(str, int[])'), first);
});

/** @param {unknown} head @param {number} [bytes] */
function safetensors(head, bytes = 0) {
  const text = new TextEncoder().encode(typeof head === 'string' ? head : JSON.stringify(head));
  const out = new Uint8Array(8 + text.length + bytes);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(text, 8);
  return out;
}

test('damaged and hostile .safetensors and .npy files give a message', () => {
  const f32 = { dtype: 'F32', shape: [1], data_offsets: [0, 4] };
  const read = readSafetensors(
    safetensors(
      `{"__proto__":${JSON.stringify(f32)},"constructor":${JSON.stringify({ ...f32, data_offsets: [4, 8] })}}`,
      8,
    ),
  );
  assert.deepEqual(Object.keys(read), ['__proto__', 'constructor']);
  assert.equal(Object.getPrototypeOf(read), Object.prototype);
  assert.deepEqual(readSafetensors(writeSafetensors(read)), read);
  for (const head of [
    null,
    [],
    5,
    '"x"',
    { a: null },
    { a: [] },
    { a: 1 },
    { a: { ...f32, dtype: 'constructor' } },
    { a: { ...f32, dtype: '__proto__' } },
    { a: { ...f32, dtype: null } },
    { a: { ...f32, shape: 'x' } },
    { a: { ...f32, shape: [-1] } },
    { a: { ...f32, shape: [1.5] } },
    { a: { ...f32, shape: [[1]] } },
    { a: { ...f32, shape: [2 ** 60, 2 ** 60] } },
    { a: { ...f32, data_offsets: null } },
    { a: { ...f32, data_offsets: [-4, 0] } },
    { a: { ...f32, data_offsets: [1, 5] } },
    { a: { ...f32, data_offsets: ['0', '4'] } },
  ]) {
    assert.throws(() => readSafetensors(safetensors(head, 4)), { code: 'bad-file' }, JSON.stringify(head));
  }
  // Each byte belongs to one tensor: ranges over the same bytes made 4 GB of a file of 1 MB.
  const ranges = (/** @type {[number, number][]} */ ...all) =>
    Object.fromEntries(
      all.map(([from, to], i) => [`t${i}`, { dtype: 'U8', shape: [to - from], data_offsets: [from, to] }]),
    );
  for (const [head, message] of /** @type {[object, RegExp][]} */ ([
    [ranges([0, 4], [0, 4]), /the range of "t1" overlaps that of "t0"/],
    [ranges([0, 3], [2, 4]), /overlaps/],
    [ranges([0, 4], [1, 2]), /overlaps/],
    [ranges([2, 4], [0, 3]), /"t0" overlaps that of "t1"/],
    [ranges([0, 2], [3, 4]), /the range of "t1" leaves a gap after "t0"/],
    [ranges([1, 4]), /leaves a gap after the beginning/],
    [ranges([0, 2]), /2 bytes at its end belong to no tensor/],
    [{}, /4 bytes at its end/],
    [ranges([0, 5]), /ends behind the file/],
    [{ a: { ...f32, data_offsets: [0, 4, 8] } }, /must have 4 bytes/],
  ]))
    assert.throws(() => readSafetensors(safetensors(head, 4)), { code: 'bad-file', message }, JSON.stringify(head));
  assert.deepEqual(
    Object.keys(readSafetensors(safetensors(ranges([2, 4], [0, 0], [0, 2], [2, 2], [4, 4]), 4))),
    ['t0', 't1', 't2', 't3', 't4'],
    'empty ones lie anywhere between',
  );
  const npy = new TextDecoder('latin1').decode(writeNpy({ dtype: 'float64', shape: [2], data: Float64Array.of(1, 2) }));
  for (const shape of ['(-1,)', '(a,)', '(1e99,)', '(1.5,)', '(9007199254740993, 9007199254740993)']) {
    assert.throws(
      () => readNpy(Uint8Array.from(npy.replace('(2,)', shape), (c) => c.charCodeAt(0))),
      { code: 'bad-file' },
      shape,
    );
  }
  assert.throws(() => readNpy(Uint8Array.from(npy.replace('<f8', '__proto__'), (c) => c.charCodeAt(0))), {
    code: 'bad-file',
  });
});

test('a terminal does not obey what a file says', () => {
  const text = 'a\x1b]0;title\x07\x1b[31mred\x9b1m\tb\u202ec',
    shown = 'a\ufffd]0;title\ufffd\ufffd[31mred\ufffd1m\tb\ufffdc';
  const escaped = String.raw`a\u001b]0;title\u0007\u001b[31mred\u009b1m\u0009b\u202ec`;
  const f = new RushFile();
  f.meta(text, text).method(text, { outputs: [] }, (m) => {
    m.call('prim::Print', [f.str(text)]);
    return f.none();
  });
  const node = (/** @type {string} */ code, /** @type {string[]} */ ...args) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', code, ...args], { encoding: 'utf8' });
  const here = (/** @type {string} */ path) => JSON.stringify(new URL(path, import.meta.url));
  const printed = node(`
    import { load } from ${here('../../js/src/index.js')};
    const model = await load(Buffer.from('${Buffer.from(f.bytes()).toString('base64')}', 'base64'));
    await model.run({});`);
  assert.equal(printed.stdout, `${shown}\n`, printed.stderr);
  const path = join(tmpdir(), `rushlight-hostile-${process.pid}.rush`);
  writeFileSync(path, f.bytes());
  for (const tty of [true, false]) {
    // With "inspect" before all else Node starts its debugger
    const { stdout } = node(
      `process.stdout.isTTY = ${tty}; process.argv.splice(1, 1); await import(${here('../../js/bin/rushlight.js')});`,
      'rushlight',
      'inspect',
      path,
    );
    assert(stdout.includes(`${escaped}: ${escaped}\n`), stdout);
  }
  rmSync(path);
});
