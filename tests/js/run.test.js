// Values in and out, and inputs that do not fit.

import assert from 'node:assert/strict';
import test from 'node:test';
import { runInNewContext } from 'node:vm';

import { load } from '../../js/src/index.js';
import { RushFile, flipFile } from './build-rush.mjs';

/** A method that gives its argument back. @param {Record<string, string>} types by method name */
async function identity(types) {
  const f = new RushFile();
  for (const [name, type] of Object.entries(types)) {
    const items = type === 'NoneType' ? 0 : /^\(/.test(type) ? type.split(',').length : 1;
    f.method(
      name,
      {
        inputs: [{ name: 'v', type }],
        outputs: Array.from({ length: items }, (_, i) => ({ name: `o${i}`, type: items === 1 ? type : 'Any' })),
        result: type,
      },
      (m, v) => v,
    );
  }
  return load(f.bytes());
}

/** @param {Promise<unknown>} promise @param {RegExp} message @param {object} [details] */
const refused = (promise, message, /** @type {any} */ details = {}) =>
  assert.rejects(promise, (/** @type {any} */ e) => {
    assert.equal(e.code, details.code ?? 'bad-argument', e.message);
    assert.match(e.message, message);
    for (const [key, value] of Object.entries(details)) assert.deepEqual(e[key], value, key);
    return true;
  });

test('every kind of value goes in and comes back', async () => {
  const types = {
    t: 'Tensor',
    i: 'int',
    f: 'float',
    b: 'bool',
    s: 'str',
    l: 'int[]',
    ll: 'float[][]',
    o: 'int?',
    tu: '(Tensor, int, str)',
    d: 'Dict(str, Tensor)',
    di: 'Dict(int, float[])',
    u: 'Union(int, str)',
    n: 'Scalar',
    c: 'complex',
    a: 'Any',
    tl: 'Tensor[]',
    ol: 'Tensor?[]',
  };
  const model = await identity(types);
  const T = (/** @type {number[]} */ ...v) => ({
    dtype: /** @type {const} */ ('float32'),
    shape: [v.length],
    data: Float32Array.from(v),
  });
  const rows = /** @type {[keyof typeof types, any, any?][]} */ ([
    ['t', T(1, 2)],
    ['t', { dtype: 'int64', shape: [0, 3], data: new BigInt64Array(0) }],
    ['t', { dtype: 'bool', shape: [2], data: Uint8Array.of(1, 0) }],
    ['t', { dtype: 'float64', shape: [], data: Float64Array.of(Math.PI) }],
    ['t', { dtype: 'uint8', shape: [1, 1, 1, 1, 1, 1, 1, 2], data: Uint8Array.of(3, 255) }],
    ['t', { dtype: 'int32', shape: [1], data: Int32Array.of(-5) }],
    ['t', { dtype: 'int8', shape: [2], data: Int8Array.of(-128, 127) }],
    ['t', Int16Array.of(-5), { dtype: 'int16', shape: [1], data: Int16Array.of(-5) }],
    [
      't',
      { dtype: 'float16', shape: [2], data: new /** @type {any} */ (globalThis.Float16Array ?? Uint16Array)([1, 2]) },
    ],
    ['t', { dtype: 'bfloat16', shape: [2, 1], data: Uint16Array.of(0x3f80, 0xc000) }],
    ['t', { dtype: 'complex64', shape: [2], data: Float32Array.of(1, 2, 3, 4) }],
    ['t', { dtype: 'complex128', shape: [], data: Float64Array.of(1, 2) }],
    [
      't',
      { data: [1, -2, 3, 4], shape: [2], dtype: 'complex64' },
      { dtype: 'complex64', shape: [2], data: Float32Array.of(1, -2, 3, 4) },
    ],
    ['t', { data: [1, -128], dtype: 'int8' }, { dtype: 'int8', shape: [2], data: Int8Array.of(1, -128) }],
    ['t', new Float32Array(0), { dtype: 'float32', shape: [0], data: new Float32Array(0) }],
    ['t', runInNewContext('Int32Array.of(1, 2)'), { dtype: 'int32', shape: [2], data: Int32Array.of(1, 2) }],
    ['i', 5],
    ['i', -1],
    ['i', Number.MAX_SAFE_INTEGER],
    ['i', 2n ** 62n],
    ['i', 7n, 7],
    ['i', -(2n ** 63n)],
    ['f', 5],
    ['f', 0.1],
    ['f', -0],
    ['f', NaN],
    ['f', -Infinity],
    ['b', true],
    ['b', false],
    ['s', ''],
    ['s', 'grüße 🕯\0x'],
    ['l', []],
    ['l', [1, 2n ** 60n]],
    ['l', Int32Array.of(1, 2), [1, 2]],
    ['ll', [[1], [], [2.5, NaN]]],
    ['o', null],
    ['o', undefined, null],
    ['o', 3],
    ['tu', [T(1), 2, 'x']],
    [
      'd',
      new Map([
        ['a', T(1)],
        ['b', T(2, 3)],
      ]),
    ],
    ['d', { a: T(1) }, new Map([['a', T(1)]])],
    ['d', new Map()],
    [
      'di',
      new Map([
        [1, [0.5]],
        [2, []],
      ]),
    ],
    ['u', 5],
    ['u', 'five'],
    ['n', 5],
    ['n', 2.5],
    ['c', { re: 1, im: -2 }],
    ['c', 3, { re: 3, im: 0 }],
    ['a', [1, 2.5, 'x', null, true, new Map([['k', T(4)]])]],
    ['tl', [T(1), T(2, 3)]],
    ['ol', [T(1), null]],
  ]);
  for (const [method, value, back = value] of rows) {
    assert.deepEqual(await model.call(method, value), back, `${types[method]}: ${String(value)}`);
  }
  model.dispose();
});

/** An array that holds itself. */
const ownItem = () => {
  const a = /** @type {any[]} */ ([]);
  a.push(a);
  return a;
};

test('values that do not fit a type are refused in words, and the model stays usable', async () => {
  const model = await identity({
    i: 'int',
    f: 'float',
    b: 'bool',
    s: 'str',
    l: 'int[]',
    tu: '(int, int)',
    d: 'Dict(str, int)',
    t: 'Tensor',
    u: 'Union(int, str)',
    n: 'NoneType',
    tl: 'Tensor[]',
  });
  const rows = /** @type {[string, any, RegExp, object?][]} */ ([
    ['i', 1.5, /input "v" must be an int .*got 1\.5/],
    ['i', 2 ** 53, /BigInt/],
    ['i', 2n ** 63n, /an int/],
    ['i', '5', /got the string "5"/],
    ['i', null, /got null/],
    ['i', true, /got true/],
    ['f', '1', /must be a number/],
    ['f', 1n, /must be a number/],
    ['b', 1, /must be a boolean/],
    ['s', 1, /must be a string/],
    ['l', [1, 'x'], /input "v"\[1\] must be an int/],
    ['l', 5, /must be an array/],
    ['tu', [1], /must be an array of 2, got \[1\]/],
    ['d', new Map([['a', 'x']]), /input "v"\[a\] must be an int/],
    ['d', 5, /must be a Map/],
    ['d', new Map([[1, 1]]), /a key of input "v" must be a string/],
    ['t', 'x', /must be a tensor/],
    ['t', null, /must be a tensor/],
    ['t', {}, /must be a tensor/],
    ['t', [1, 2], /numbers must have a dtype/],
    ['t', new Uint32Array(2), /must be an array of one of uint8/],
    ['t', new Uint16Array(2), /must be an array of one of/],
    ['t', new BigUint64Array(2), /must be an array of one of/],
    ['t', new DataView(new ArrayBuffer(2)), /must be a tensor/],
    ['t', { data: new Float32Array(2), shape: [3] }, /the data must have 3 elements for shape \[3\], got 2/],
    ['t', { data: new Float32Array(2), shape: [-1] }, /a shape must be an array of sizes, got \[-1\]/],
    ['t', { data: new Float32Array(1), shape: '1' }, /a shape must be an array/],
    [
      't',
      { data: new Float32Array(1), shape: [1, 1, 1, 1, 1, 1, 1, 1, 1] },
      /a tensor must have at most 8 dimensions, got 9/,
      { code: 'unsupported' },
    ],
    ['t', { data: new Float32Array(1), shape: [1], dtype: 'float8' }, /no dtype "float8"; known: uint8/],
    ['t', { data: [1, 2], shape: [2], dtype: 'bfloat16' }, /must be a tensor \(a typed array/],
    ['t', { data: [200], dtype: 'int8' }, /element 0 must be a value of int8, got 200/],
    [
      't',
      { data: new Float32Array(3), shape: [3], dtype: 'complex64' },
      /must have 3 elements for shape \[3\], got 1\.5/,
    ],
    [
      't',
      { data: new Float32Array(1), shape: [1], dtype: 'int64' },
      /int64 elements, as its dtype says, got Float32Array/,
    ],
    ['t', { data: Uint8Array.of(2), dtype: 'bool' }, /element 0 must be a value of bool, got 2/],
    ['t', { data: [300], dtype: 'uint8' }, /element 0 must be a value of uint8, got 300/],
    ['t', { data: [0.5], dtype: 'int32' }, /element 0 must be a value of int32, got 0\.5/],
    ['t', { data: [1, 2 ** 53], dtype: 'int64' }, /element 1 must be a value of int64, got 9007199254740992/],
    ['t', { data: [2n ** 63n], dtype: 'int64' }, /must be a value of int64/],
    ['t', { data: ['1'], dtype: 'float32' }, /element 0 must be a value of float32, got the string "1"/],
    ['t', { data: [[1n]], dtype: 'float32' }, /element 0 must be a value of float32, got the BigInt 1n/],
    ['t', { data: ownItem(), dtype: 'float32' }, /element 0 must be a value of float32, got an array of 1/],
    ['u', 1.5, /must be one of int, str/],
    ['n', 5, /must be null/],
    ['tl', [new Float32Array(1), 5n], /input "v"\[1\]: an array of numbers must have a dtype/],
  ]);
  for (const [method, value, message, fields] of rows)
    await refused(model.call(method, value), message, { input: 'v', ...fields });
  assert.equal(await model.call('i', 5), 5);
  const { live } = await model.memory();
  for (const [method, value] of rows) await model.call(method, value).catch(() => {});
  assert.equal((await model.memory()).live, live, 'a refused value leaves nothing behind');
  model.dispose();
});

test('numbers become elements of the dtype that is asked for', async () => {
  const model = await identity({ t: 'Tensor' });
  const rows = /** @type {[any, any][]} */ ([
    [{ data: [1, 2n ** 62n, -5], dtype: 'int64' }, BigInt64Array.of(1n, 2n ** 62n, -5n)],
    [{ data: [true, false, 1], dtype: 'bool' }, Uint8Array.of(1, 0, 1)],
    [{ data: [0.5, NaN], dtype: 'float64' }, Float64Array.of(0.5, NaN)],
    [{ data: [1, 2], dtype: 'float32' }, Float32Array.of(1, 2)],
    [{ data: new Uint8ClampedArray([1, 2]) }, Uint8Array.of(1, 2)],
  ]);
  for (const [value, data] of rows) assert.deepEqual((await model.call('t', value)).data, data);
  model.dispose();
});

/** The shape that a bare array gets. @type {[string, (number | null)[] | undefined, number, number[] | RegExp][]} */
const shapes = [
  ['no hint: one dimension', undefined, 6, [6]],
  ['all sizes known', [1, 2, 3], 6, [1, 2, 3]],
  ['one unknown', [null, 3], 6, [2, 3]],
  ['one unknown, no elements', [null, 3], 0, [0, 3]],
  ['rank 1', [null], 6, [6]],
  ['a scalar', [], 1, []],
  ['rank 1, of another size than the example', [4], 6, [6]],
  [
    'all known, another count',
    [1, 2, 3],
    5,
    /must have a shape: 5 elements do not fill \[1, 2, 3\]; pass { data, shape }$/,
  ],
  ['one unknown that does not divide', [null, 4], 6, /must have a shape: 6 elements do not fill \[\?, 4\]/],
  ['two unknown', [null, null], 6, /must have a shape: 6 elements do not fill \[\?, \?\]/],
];
for (const [name, shape, n, want] of shapes) {
  test(`the shape of a bare array: ${name}`, async () => {
    const f = new RushFile();
    f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', ...(shape && { shape }) }] }, (m, x) => x);
    const model = await load(f.bytes());
    const run = model.run({ x: new Float32Array(n) });
    if (want instanceof RegExp) await refused(run, want);
    else assert.deepEqual((await run).y.shape, want);
    model.dispose();
  });
}

test('rows in rows say the shape', async () => {
  const model = await identity({ t: 'Tensor' });
  const t = (/** @type {any} */ data) => model.call('t', { data, dtype: 'float32' });
  assert.deepEqual(
    await t([
      [1, 2, 3],
      [4, 5, 6],
    ]),
    { dtype: 'float32', shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) },
  );
  assert.deepEqual((await t([[[1], [2]]])).shape, [1, 2, 1]);
  assert.deepEqual((await t([[], []])).shape, [2, 0]);
  await refused(t([[1, 2], [3]]), /must be rows of one length, 2, got \[3\]/);
  await refused(t([[1, 2], 3]), /must be rows of one length, 2, got 3/);
  model.dispose();
  const flip = await load(flipFile().bytes());
  assert.deepEqual(
    (
      await flip.run({
        x: [
          [1, 2],
          [3, 4],
        ],
      })
    ).y?.data,
    Float32Array.of(2, 1, 4, 3),
  );
  flip.dispose();
});

test('an argument that was None in the example inputs may be null or left out', async () => {
  const f = flipFile({ shape: [null, 2] });
  f.meta('none inputs', JSON.stringify({ forward: [[1, 'mask']] }));
  const model = await load(f.bytes()),
    x = [1, 2],
    data = Float32Array.of(2, 1);
  assert.deepEqual((await model.run({ x, mask: null })).y?.data, data);
  assert.deepEqual((await model.run({ x, mask: undefined })).y?.data, data);
  assert.deepEqual((await model.call('forward', x, null)).data, data);
  await refused(model.run({ x, mask: [1] }), /forward: there is no input "mask"; known: x/, { input: 'mask' });
  await refused(model.run({ x, bias: null }), /forward: there is no input "bias"; known: x/, { input: 'bias' });
  await refused(model.call('forward', x, [1]), /takes 1 input, got 2/);
  model.dispose();

  for (const text of ['{', '{}', '7', 'null', '{"forward":7}', '{"forward":[7]}']) {
    const other = flipFile({ shape: [null, 2] });
    other.meta('none inputs', text);
    const hostile = await load(other.bytes());
    await refused(hostile.run({ x, mask: null }), /forward: there is no input "mask"; known: x/);
    hostile.dispose();
  }
});

test('what does not fit the model is refused with what it wants, and the model stays usable', async () => {
  const model = await load(flipFile({ shape: [null, 2] }).bytes());
  const rows = /** @type {[any, RegExp, object][]} */ ([
    [
      { image: new Float32Array(2) },
      /forward: there is no input "image"; known: x/,
      { input: 'image', expected: ['x'] },
    ],
    [
      { data: new Float32Array(2), dims: [2] },
      /forward: inputs must be an object { x }, got a tensor$/,
      { expected: ['x'] },
    ],
    [{}, /forward: input "x" is missing; the inputs are x/, { input: 'x' }],
    [{ x: undefined }, /input "x" is missing/, {}],
    [null, /forward: inputs must be an object { x }, got null$/, { expected: ['x'] }],
    [new Float32Array(2), /forward: inputs must be an object { x }, got Float32Array$/, { expected: ['x'] }],
    [[1, 2], /inputs must be an object { x }, got \[1, 2\]$/, {}],
    [{ x: new Float32Array(3) }, /must have a shape: 3 elements/, { input: 'x', expected: [null, 2], actual: 3 }],
    [
      { x: { data: new Float32Array(2), dims: [1, 2], type: 'float32' } },
      /input "x": a tensor has no "dims"; known: data, shape, dtype/,
      { input: 'x', expected: ['data', 'shape', 'dtype'], actual: 'dims' },
    ],
    [{ x: { data: new Float32Array(2), dtpye: 'float32' } }, /a tensor has no "dtpye"/, {}],
    [
      { x: { data: new Uint8ClampedArray(4), width: 1, height: 1 } },
      /a tensor has no "width"; known: data, shape, dtype/,
      {},
    ],
    [{ x: Object.create({ data: new Float32Array(2), dims: [1, 2] }) }, /a tensor has no "dims"/, {}],
  ]);
  for (const [inputs, message, details] of rows) await refused(model.run(inputs), message, details);
  await refused(
    model.run({ x: new Float32Array(2) }, /** @type {any} */ ({ sginal: 1 })),
    /no option "sginal"; known: method, outputs, outputDevice, signal, transfer, yield/,
  );
  await refused(model.run({ x: new Float32Array(2) }, { method: 'back' }), /no method "back"; known: forward/);
  await refused(model.call('forward'), /input "x" is missing/);
  await refused(
    model.call(/** @type {any} */ (new Float32Array(2))),
    /^a method must be given by its name, got Float32Array; known: forward$/,
    { expected: ['forward'] },
  );
  await refused(model.call('forward', 1, 2), /forward takes 1 input, got 2/);
  assert.deepEqual([...(await model.run({ x: [1, 2, 3, 4] })).y.data], [2, 1, 4, 3]);
  model.dispose();
});

test('sizes and dtypes of the example are a hint: what the program takes, runs', async () => {
  const f = new RushFile();
  // As TorchScript: y = x + x where x is float64, else x.
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [1, 16] }], outputs: ['y'] }, (m, x) => {
    const wide = m.op('aten::eq.int', [m.op('prim::dtype', [x], 'int'), f.int(7)], 'bool');
    return m.branch(
      wide,
      'Tensor',
      () => m.op('aten::add.Tensor', [x, x, f.int(1)]),
      () => x,
    );
  });
  for (const worker of [false, true]) {
    const model = await load(f.bytes(), { worker });
    assert.deepEqual(model.inputs[0]?.shape, [1, 16]);
    assert.deepEqual(
      (await model.run({ x: new Float32Array(16) })).y.shape,
      [1, 16],
      'the hint is the shape of a bare array',
    );
    for (const shape of [[1, 12], [3, 16], [4], [], [0, 16], [1, 2, 3]]) {
      const x = new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(3);
      assert.deepEqual((await model.run({ x: { data: x, shape } })).y, { dtype: 'float32', shape, data: x });
    }
    const { y } = await model.run({ x: { data: Float64Array.of(1, 2), shape: [2] } });
    assert.deepEqual(y, { dtype: 'float64', shape: [2], data: Float64Array.of(2, 4) });
    assert.equal((await model.run({ x: { data: Int32Array.of(5), shape: [1] } })).y.dtype, 'int32');
    await refused(model.run({ x: new Float32Array(12) }), /must have a shape: 12 elements do not fill \[1, 16\]/);
    model.dispose();
  }
});

test('constraints on sizes are enforced, and told apart from hints', async () => {
  const f = new RushFile();
  f.method(
    'forward',
    {
      inputs: [
        {
          name: 'a',
          dtype: 'float32',
          shape: [null, 3],
          constraints: [
            { dim: 0, name: 'n', min: 2, max: 4 },
            { dim: 1, min: 3, max: 3 },
          ],
        },
        { name: 'b', type: 'Tensor?', dtype: 'float32', shape: [null], constraints: [{ dim: 0, name: 'n' }] },
      ],
    },
    (m, a) => a,
  );
  for (const worker of [false, true]) {
    const model = await load(f.bytes(), { worker });
    assert.deepEqual(
      model.inputs.map((p) => p.constraints),
      [
        [
          { name: 'n', min: 2, max: 4 },
          { name: null, min: 3, max: 3 },
        ],
        [{ name: 'n', min: 0, max: null }],
      ],
    );
    assert.match(model.describeText(), /a : Tensor float32\[\?, 3\], size 0 = n, 2 to 4, size 1 = 3\n/);
    const t = (/** @type {number[]} */ ...shape) => ({
      data: new Float32Array(shape.reduce((x, y) => x * y, 1)),
      shape,
    });
    for (const [a, b] of [
      [t(2, 3), t(2)],
      [t(4, 3), null],
      [t(3, 3, 1), t(3, 5)],
    ])
      assert.deepEqual((await model.run({ a, b })).y.shape, a?.shape);
    for (const [a, b, message] of /** @type {[any, any, RegExp][]} */ ([
      [t(1, 3), t(1), /size 0 of input "a" must be at least 2, got 1/],
      [t(5, 3), t(5), /must be at most 4, got 5/],
      [t(2, 4), t(2), /size 1 of input "a" must be 3, as at export, got 4/],
      [t(2, 3), t(3), /size 0 of input "b" is 3 and size 0 of input "a" is 2: they must be equal/],
      [t(3), t(3), /input "a" must have 2 dimensions, as at export, got 1/],
    ]))
      await refused(model.run({ a, b }), message);
    model.dispose();
  }
});

test('inputs are taken when run() and call() are called', async () => {
  for (const worker of [false, true]) {
    const model = await load(flipFile().bytes(), { worker });
    const a = Float32Array.of(1, 2),
      b = Float32Array.of(3, 4),
      rows = [[5, 6]],
      x = { data: Float32Array.of(7, 8), shape: [1, 2] };
    const runs = [
      model.run({ x: a }),
      model.run({ x: b }),
      model.run({ x: rows }),
      model.call('forward', x),
      model.run({ x }),
    ];
    for (const data of [a, b, x.data]) data.fill(0);
    rows[0] = [0, 0];
    x.shape = [2, 1];
    const results = await Promise.all(runs);
    assert.deepEqual(
      results.map((r) => [...(r.y ?? r).data]),
      [
        [2, 1],
        [4, 3],
        [6, 5],
        [8, 7],
        [8, 7],
      ],
    );
    model.dispose();
  }
});

test('transfer hands buffers over', async () => {
  for (const worker of [false, true]) {
    const model = await load(flipFile().bytes(), { worker });
    const a = Float32Array.of(1, 2),
      b = Float32Array.of(3, 4),
      kept = Float32Array.of(5, 6);
    const runs = [
      model.run({ x: a }, { transfer: [a.buffer] }),
      model.run({ x: b }, { transfer: [b.buffer] }),
      model.run({ x: kept }),
    ];
    assert.deepEqual([a.byteLength, b.byteLength, kept.byteLength], [0, 0, 8]);
    assert.deepEqual(
      (await Promise.all(runs)).map((r) => [...r.y.data]),
      [
        [2, 1],
        [4, 3],
        [6, 5],
      ],
    );
    await refused(
      model.run({ x: kept }, { transfer: /** @type {any} */ ([kept]) }),
      /the inputs cannot be transferred: /,
    );
    const gone = { input: 'x' },
      before = /^input "x": its buffer was transferred before$/;
    await refused(model.run({ x: a }, { transfer: [a.buffer] }), before, gone);
    await refused(model.run({ x: a }), before, gone);
    await refused(model.run({ x: { data: a, shape: [0, 2] } }), before, gone);
    await refused(model.call('forward', a), before, gone);
    await refused(model.profile({ x: a }), before, gone);
    await refused(
      model.run({ x: /** @type {any} */ ({ data: b, dtype: () => 'float32' }) }, { transfer: [kept.buffer] }),
      /^input "x".* transferred before$/,
      gone,
    );
    assert.equal(kept.byteLength, 8);
    model.dispose();
  }
});

test('a queued run that is aborted rejects at once', async () => {
  const model = await load(longFile().bytes());
  const first = new AbortController(),
    second = new AbortController(),
    x = new Float32Array(1 << 12);
  let ended = false;
  const long = model.run({ x, n: 1e9 }, { signal: first.signal }).finally(() => {
    ended = true;
  });
  const queued = model.run({ x, n: 1 }, { signal: second.signal }),
    last = model.run({ x, n: 2 });
  setImmediate(() => second.abort(new Error('enough')));
  await assert.rejects(queued, (/** @type {any} */ e) => e.code === 'aborted' && e.cause.message === 'enough');
  assert(!ended);
  first.abort();
  await assert.rejects(long, { code: 'aborted' });
  assert.equal((await last).y.data.length, x.length);
  model.dispose();
});

test('limits end a program that does not', async () => {
  for (const worker of [false, true]) {
    const model = await load(longFile().bytes(), { worker, limits: { steps: 10000 } });
    await assert.rejects(model.run({ x: Float32Array.of(1), n: 1e15 }), {
      code: 'interrupted',
      message: /10000 instructions/,
    });
    assert.deepEqual([...(await model.run({ x: Float32Array.of(1, 2), n: 1 })).y.data], [2, 1]);
    model.dispose();
    const small = await load(longFile().bytes(), { worker, limits: { bytes: 1e6 } });
    await assert.rejects(small.run({ x: new Float32Array(1 << 20), n: 1 }), { code: 'out-of-memory' });
    assert.deepEqual([...(await small.run({ x: Float32Array.of(1, 2), n: 1 })).y.data], [2, 1]);
    small.dispose();
  }
  await assert.rejects(load(longFile().bytes(), { limits: { bytes: 100 } }), { code: 'out-of-memory' });
  await refused(
    load(longFile().bytes(), { limits: /** @type {any} */ ({ step: 1 }) }),
    /load: limits: there is no option "step"; known: bytes, steps/,
  );
  await refused(load(longFile().bytes(), { limits: { steps: 0 } }), /limits.steps must be a number above 0, got 0/);
});

test('inputs are not written to, and results are not touched by later runs', async () => {
  const model = await load(flipFile().bytes());
  const x = Float32Array.of(1, 2);
  const first = await model.run({ x });
  const second = await model.run({ x: Float32Array.of(3, 4) });
  assert.deepEqual(
    [[...x], [...first.y.data], [...second.y.data]],
    [
      [1, 2],
      [2, 1],
      [4, 3],
    ],
  );
  assert.equal(first.y.data.byteOffset, 0);
  assert.equal(first.y.data.buffer.byteLength, 8, 'a result owns its buffer');
  model.dispose();
});

test('a view comes back in row-major order, and twice the same tensor as two', async () => {
  const f = new RushFile();
  f.method(
    'forward',
    { inputs: [{ name: 'x', shape: [2, 3] }], outputs: ['a', 'b'], result: '(Tensor, Tensor)' },
    (m, x) => {
      const t = m.op('aten::t', [x]);
      return m.op('prim::TupleConstruct', [t, t], '(Tensor, Tensor)');
    },
  );
  const model = await load(f.bytes());
  const { a, b } = await model.run({ x: Float32Array.of(1, 2, 3, 4, 5, 6) });
  assert.deepEqual(a, { dtype: 'float32', shape: [3, 2], data: Float32Array.of(1, 4, 2, 5, 3, 6) });
  assert.deepEqual(b, a);
  assert.notEqual(a.data.buffer, b.data.buffer);
  model.dispose();
});

for (const worker of [false, true]) {
  test(`only the outputs that are wanted come, ${worker ? 'from a worker, too' : 'of one or of many'}`, async () => {
    const f = new RushFile();
    f.method(
      'forward',
      { inputs: [{ name: 'x', shape: [2] }], outputs: ['a', 'b'], result: '(Tensor, Tensor)' },
      (m, x) => {
        return m.op('prim::TupleConstruct', [x, m.op('aten::neg', [x])], '(Tensor, Tensor)');
      },
    );
    f.method('one', { inputs: [{ name: 'x', shape: [2] }], outputs: ['y'] }, (m, x) => m.op('aten::neg', [x]));
    const model = await load(f.bytes(), { worker }),
      x = Float32Array.of(1, -2),
      wanted = ['b'];
    const b = { dtype: 'float32', shape: [2], data: Float32Array.of(-1, 2) };
    const run = model.run({ x }, { outputs: wanted });
    wanted[0] = 'a'; // taken when the call was made
    assert.deepEqual(await run, { b });
    assert.deepEqual(Object.keys(await model.run({ x }, { outputs: ['b', 'a'] })), ['a', 'b']);
    assert.deepEqual(await model.run({ x }, { outputs: [] }), {});
    assert.deepEqual(await model.run({ x }, { method: 'one', outputs: ['y'] }), { y: b });
    assert.deepEqual(await model.run({ x }, { method: 'one', outputs: [] }), {});
    await assert.rejects(model.run({ x }, { outputs: ['logits'] }), {
      code: 'bad-argument',
      message: /forward: there is no output "logits"; known: a, b/,
    });
    for (const [given, named] of /** @type {[any, string][]} */ ([
      ['raw', 'the string "raw"'],
      ['a', 'the string "a"'],
      [new Set(['a']), 'Set'],
    ])) {
      await assert.rejects(model.run({ x }, { outputs: given }), {
        code: 'bad-argument',
        message: `outputs must be an array of names, [a, b], got ${named}`,
      });
    }
    model.dispose();
  });
}

test('a method that returns None has no outputs', async () => {
  const f = new RushFile();
  f.method('forward', { outputs: [] }, () => f.none());
  const model = await load(f.bytes());
  assert.deepEqual(await model.run({}), {});
  assert.equal(await model.call('forward'), null);
  model.dispose();
});

test('inputs with defaults may be left out', async () => {
  const f = new RushFile();
  f.method(
    'forward',
    {
      inputs: [
        { name: 'a', type: 'int' },
        { name: 'b', type: 'int', initial: f.int(7) },
      ],
      outputs: [{ name: 'y', type: 'int' }],
      result: 'int',
    },
    (m, a, b) => b,
  );
  const model = await load(f.bytes());
  assert.equal(await model.call('forward', 1), 7);
  assert.equal(await model.call('forward', 1, 2), 2);
  assert.deepEqual(await model.run({ a: 1 }), { y: 7 });
  assert.deepEqual(
    model.inputs.map((p) => p.optional),
    [false, true],
  );
  await refused(model.run({ b: 1 }), /input "a" is missing/);
  model.dispose();
});

test('calls on one model are done in order, and one that fails does not stop the others', async () => {
  const model = await load(flipFile().bytes());
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => model.run({ x: i % 7 === 3 ? new Float32Array(3) : Float32Array.of(i, -i) })),
  );
  results.forEach((r, i) => {
    if (i % 7 === 3) assert.equal(r.status, 'rejected');
    else assert.deepEqual([.../** @type {any} */ (r).value.y.data], [-i, i]);
  });
  model.dispose();
});

test('a failure inside the program names the operator and the Python line', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x' }] }, (m, x) => {
    m.at = f.source('nets/model.py', 42);
    return m.op('aten::view', [x, f.ints([3, 5])]);
  });
  const model = await load(f.bytes());
  await refused(model.run({ x: new Float32Array(4) }), /view/, { op: 'aten::view', source: 'nets/model.py:42' });
  assert.deepEqual((await model.run({ x: new Float32Array(15) })).y.shape, [3, 5]);
  model.dispose();
});

/** Runs for about `rounds` times a flip of a million elements. */
function longFile() {
  const f = new RushFile();
  f.method(
    'forward',
    { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] },
    (m, x, n) => m.loop(n, [x], (_, v) => [m.op('aten::flip', [v, f.ints([0])])])[0],
  );
  return f;
}

test('a run takes no further slice after its abort, and the model stays usable', async (t) => {
  const model = await load(longFile().bytes());
  const x = new Float32Array(1 << 18);
  const control = new AbortController();
  let asked = 0,
    then = 0; // a clock by which every slice is at its end
  t.mock.method(performance, 'now', () => 1000 * asked++);
  const running = model.run({ x, n: 1e6 }, { signal: control.signal });
  setImmediate(() => {
    then = asked;
    control.abort();
  });
  await assert.rejects(running, { code: 'aborted' });
  assert(then > 0, 'events get through');
  assert(asked - then <= 1, `${asked - then} looks at the clock after the abort`);
  t.mock.restoreAll();
  assert.deepEqual((await model.run({ x: Float32Array.of(1, 2), n: 1 })).y.data, Float32Array.of(2, 1));
  await assert.rejects(model.run({ x, n: 1 }, { signal: AbortSignal.abort() }), { code: 'aborted' });
  model.dispose();
});

test('a run gives the event loop its turns, unless it is told not to', async (t) => {
  let now = 0; // a clock by which every slice is at its end
  t.mock.method(performance, 'now', () => (now += 1000));
  const model = await load(longFile().bytes());
  const inputs = { x: new Float32Array(1 << 18), n: 100 };
  /** @type {[string, () => Promise<unknown>, boolean][]} */
  const rows = [
    ['run', () => model.run(inputs), true],
    ['call', () => model.call('forward', inputs.x, 100), true],
    ['profile', () => model.profile(inputs), true],
    ['yield: true', () => model.run(inputs, { yield: true }), true],
    ['yield: false', () => model.run(inputs, { yield: false }), false],
  ];
  for (const [name, run, yields] of rows) {
    /** @type {string[]} */ const order = [];
    const turns = setInterval(() => order.push('turn')); // timers, clicks and messages
    await run().then(() => order.push('end'));
    clearInterval(turns);
    assert.equal(order.includes('turn'), yields, name);
    assert.equal(order.at(-1), 'end');
  }
  model.dispose();
});

test('dispose() during a run ends it, and those that wait', async () => {
  for (const signal of [undefined, new AbortController().signal]) {
    const model = await load(longFile().bytes());
    const runs = [0, 1].map(() => model.run({ x: new Float32Array(1 << 18), n: 1e9 }, { signal }));
    setImmediate(() => model.dispose()); // the first has begun
    for (const run of runs) await assert.rejects(run, { code: 'disposed' });
  }
});

test('a disposed model says so', async () => {
  const model = await load(flipFile().bytes());
  const waiting = model.run({ x: new Float32Array(2) });
  model.dispose();
  model.dispose();
  await assert.rejects(waiting, { code: 'disposed', message: /was disposed/ });
  for (const use of [
    () => model.run({ x: new Float32Array(2) }),
    () => model.call('forward', new Float32Array(2)),
    () => model.verify(),
    () => model.memory(),
    () => model.reset(),
    () => model.profile({ x: new Float32Array(2) }),
    () => model.run({}),
    () => model.steps({}),
    () => model.profile({ y: 1 }),
  ]) {
    await assert.rejects(async () => use(), { code: 'disposed' });
  }
  assert.throws(() => model.describeText(), { code: 'disposed' });
  assert.deepEqual(
    model.inputs.map((p) => p.name),
    ['x'],
    'what is known stays known',
  );
});

test('a model is disposed at the end of a `using` block', async () => {
  const model = await load(flipFile().bytes());
  model[Symbol.dispose]();
  await assert.rejects(model.memory(), { code: 'disposed' });
});

test('loading, running and disposing many times takes no more and more memory', async () => {
  const bytes = flipFile().bytes();
  const rss = [];
  for (let i = 0; i < 600; i++) {
    const model = await load(bytes);
    await model.run({ x: new Float32Array(2) });
    model.dispose();
    if (i % 200 === 199) {
      /** @type {any} */ (globalThis).gc?.();
      rss.push(process.memoryUsage().rss);
    }
  }
  const [a = 0, , c = 0] = rss;
  assert(c < a + 200e6, `resident: ${rss.map((n) => Math.round(n / 1e6)).join(', ')} MB`);
});

test('the memory of a model does not grow with its runs', async () => {
  const model = await load(flipFile().bytes());
  const x = new Float32Array(1000);
  await model.run({ x });
  const { live, heap } = await model.memory();
  for (let i = 0; i < 200; i++) await model.run({ x });
  const after = await model.memory();
  assert.equal(after.live, live);
  assert.equal(after.heap, heap);
  model.dispose();
});

test('several models do not share anything', async () => {
  const [a, b] = await Promise.all([load(flipFile().bytes()), load(flipFile().bytes())]);
  const [ya, yb] = await Promise.all([a.run({ x: [1, 2] }), b.run({ x: [3, 4] })]);
  a.dispose();
  assert.deepEqual([...ya.y.data, ...yb.y.data], [2, 1, 4, 3]);
  assert.deepEqual([...(await b.run({ x: [5, 6] })).y.data], [6, 5]);
  b.dispose();
});
