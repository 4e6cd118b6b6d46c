// Operators that JavaScript computes: the option `ops` of load().

import assert from 'node:assert/strict';
import test from 'node:test';

import { RushlightError, load as loadModel } from '../../js/src/index.js';
import { RushFile } from './build-rush.mjs';

const F = (/** @type {number[]} */ ...v) => ({
  dtype: /** @type {const} */ ('float32'),
  shape: [v.length],
  data: Float32Array.from(v),
});
const TWICE = 'my_ops::twice(Tensor x, float by=2.0) -> Tensor';

/**
 * A method that calls one operator, at net.py:7. `types`: of the inputs; `results`: of the operator.
 * @param {string} schema @param {string[]} types @param {string[]} results
 */
function caller(schema, types = ['Tensor'], results = ['Tensor'], name = schema.slice(0, schema.indexOf('('))) {
  const f = new RushFile();
  f.method(
    'forward',
    {
      inputs: types.map((type, i) => ({ name: `x${i}`, type })),
      outputs: results.map((type, i) => ({ name: `y${i}`, type })),
      result: results.length === 1 ? results[0] : results.length ? `(${results.join(', ')})` : 'NoneType',
    },
    (m, ...x) => {
      m.at = f.source('net.py', 7);
      const out = m.ops(name, x, results, schema);
      return out.length === 1
        ? out[0]
        : out.length
          ? m.op('prim::TupleConstruct', out, `(${results.join(', ')})`)
          : f.none();
    },
  );
  return f;
}

/** @param {Promise<unknown>} promise @param {string} code @param {RegExp} message */
const fails = async (promise, code, message) => {
  const e = await promise.then(
    () => assert.fail('nothing was thrown'),
    (/** @type {RushlightError} */ error) => error,
  );
  assert(e instanceof RushlightError, String(e));
  assert.match(e.message, message);
  assert.equal(e.code, code, e.message);
  return e;
};

for (const worker of [false, true]) {
  /** @type {typeof loadModel} */
  const load = (source, options = {}) => loadModel(source, { ...options, worker });
  const it = (/** @type {string} */ name, /** @type {(t: import('node:test').TestContext) => Promise<void>} */ body) =>
    test(worker ? `in a worker: ${name}` : name, body);

  it('a missing operator is named with its schema, node and line, and the three ways to supply it', async () => {
    const f = caller(TWICE);
    f.method('again', { inputs: [{ name: 'x' }] }, (m, x) => m.op('my_ops::twice', [x]));
    const e = await fails(
      load(f.bytes()),
      'unsupported',
      /^the model needs 1 operator that this runtime lacks: my_ops::twice\n {2}my_ops::twice\(Tensor x, float by=2\.0\) -> Tensor\n {4}in forward, instruction 0 at net\.py:7, and 1 more\n/,
    );
    for (const way of [
      'load(url, { ops:',
      'rush_ctx_add_op',
      'rushlight_add_operators',
      'rushlight.register_decomposition',
    ])
      assert(e.message.includes(way), way);
  });

  it('a function computes the operator, defaults filled in, also later', async () => {
    const twice = (/** @type {any} */ x, /** @type {number} */ by) => ({
      ...x,
      data: x.data.map((/** @type {number} */ v) => v * by),
    });
    for (const run of [
      twice,
      async (/** @type {any} */ x, /** @type {number} */ by) => {
        await new Promise((r) => setImmediate(r));
        return twice(x, by);
      },
    ]) {
      for (const op of [run, { run }, { run, schema: TWICE }]) {
        const model = await load(caller(TWICE).bytes(), { ops: { 'my_ops::twice': op } });
        assert.deepEqual(await model.run({ x0: F(1, -2) }), { y0: F(2, -4) });
        const [a, b] = await Promise.all([
          model.run({ x0: F(1) }),
          model.run({ x0: F(2) }, { signal: new AbortController().signal }),
        ]);
        assert.deepEqual([a.y0, b.y0], [F(2), F(4)]);
        model.dispose();
      }
    }
  });

  it('every kind of argument and result goes through a function', async () => {
    const rows = /** @type {[string, string, any[]][]} */ ([
      [
        'Tensor',
        'Tensor',
        [
          F(1, 2),
          { dtype: 'int64', shape: [0, 2], data: new BigInt64Array(0) },
          { dtype: 'bool', shape: [1], data: Uint8Array.of(1) },
        ],
      ],
      ['Tensor?', 'Tensor?', [null, F(1)]],
      ['int', 'int', [3, 2n ** 60n]],
      ['float', 'float', [0.5, 3]],
      ['bool', 'bool', [true]],
      ['str', 'str', ['grün']],
      ['int[]', 'int[]', [[], [1, 2]]],
      ['float[2]', 'float[]', [[0.5, 1]]],
      ['Tensor[]', 'Tensor[]', [[F(1), F(2, 3)]]],
      ['Dict(str, Tensor)', 'Dict(str, Tensor)', [new Map([['a', F(1)]])]],
      ['Scalar', 'Scalar', [1, 2.5]],
      ['complex', 'complex', [{ re: 1, im: 2 }]],
      ['SymInt', 'int', [4]],
      ['str[]', 'str[]', [['a']]],
      ['int?', 'int?', [null, 5]],
    ]);
    for (const [wanted, type, values] of rows) {
      const model = await load(caller(`my_ops::same.kind(${wanted} v) -> ${type}`, [type], [type]).bytes(), {
        ops: { 'my_ops::same.kind': (v) => v },
      });
      for (const v of values) assert.deepEqual(await model.call('forward', v), v, wanted);
      model.dispose();
    }
  });

  it('several results come as an array; no result is none', async () => {
    const model = await load(
      caller('my_ops::minmax(Tensor x) -> (Tensor low, int at)', ['Tensor'], ['Tensor', 'int']).bytes(),
      { ops: { 'my_ops::minmax': (x) => [F(Math.min(...x.data)), 1] } },
    );
    assert.deepEqual(await model.run({ x0: F(3, 1) }), { y0: F(1), y1: 1 });
    model.dispose();
    /** @type {unknown[]} */ const seen = [];
    const none = await load(caller('my_ops::look(Tensor x, str what="a, (b)") -> ()', ['Tensor'], []).bytes(), {
      ops: { 'my_ops::look': (x, what) => void seen.push(x, what) },
    });
    assert.deepEqual(await none.run({ x0: F(3) }), {});
    assert.deepEqual(seen, [F(3), 'a, (b)']);
    none.dispose();
  });

  it('overloads are operators of their own', async () => {
    const f = new RushFile();
    f.method('forward', { inputs: [{ name: 'x' }] }, (m, x) =>
      m.op(
        'my_ops::f.int',
        [m.op('my_ops::f', [x], 'Tensor', 'my_ops::f(Tensor x) -> Tensor'), f.int(3)],
        'Tensor',
        'my_ops::f.int(Tensor x, int n) -> Tensor',
      ),
    );
    await fails(load(f.bytes(), { ops: { 'my_ops::f': (x) => x } }), 'unsupported', /lacks: my_ops::f\.int\n/);
    const model = await load(f.bytes(), {
      ops: {
        'my_ops::f': (x) => ({ ...x, data: x.data.map((/** @type {number} */ v) => v + 1) }),
        'my_ops::f.int': (x, n) => ({ ...x, data: x.data.map((/** @type {number} */ v) => v * n) }),
      },
    });
    assert.deepEqual((await model.run({ x: F(1) })).y, F(6));
    model.dispose();
  });

  it('what an operator writes into its argument is seen through every alias', async () => {
    for (const [schema, run] of /** @type {[string, (x: any) => unknown][]} */ ([
      [
        'my_ops::neg_(Tensor(a!) x) -> Tensor(a!)',
        (x) => ({ ...x, data: x.data.map((/** @type {number} */ v) => -v) }),
      ], // returned
      [
        'my_ops::neg_(Tensor(a!) x) -> Tensor(a!)',
        (x) => {
          x.data.forEach((/** @type {number} */ v, /** @type {number} */ i) => {
            x.data[i] = -v;
          });
        },
      ], // written
      [
        'my_ops::neg_(Tensor(a!) x) -> ()',
        (x) => {
          x.data.forEach((/** @type {number} */ v, /** @type {number} */ i) => {
            x.data[i] = -v;
          });
        },
      ],
      [
        'my_ops::neg_(Tensor(a!) x) -> Tensor',
        (x) => {
          const before = { ...x, data: x.data.slice() };
          x.data.forEach((/** @type {number} */ v, /** @type {number} */ i) => {
            x.data[i] = -v;
          });
          return before;
        },
      ], // its own result
      ['my_ops::neg_(Tensor(a!) x) -> ()', (x) => ({ ...x, data: x.data.map((/** @type {number} */ v) => -v) })],
    ])) {
      const f = new RushFile();
      f.method('forward', { inputs: [{ name: 'x' }] }, (m, x) => {
        const copy = m.op('aten::clone', [x]);
        const column = m.op('aten::select.int', [copy, f.int(1), f.int(1)]); // a strided view
        m.ops('my_ops::neg_', [column], schema.endsWith('()') ? [] : ['Tensor'], schema);
        return copy;
      });
      const model = await load(f.bytes(), { ops: { 'my_ops::neg_': run } });
      const x = { dtype: /** @type {const} */ ('float32'), shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) };
      assert.deepEqual([...(await model.run({ x })).y.data], [1, -2, 3, -4], `${schema} ${run}`);
      assert.deepEqual([...x.data], [1, 2, 3, 4]);
      model.dispose();
    }
  });

  it('an error of a function names operator and line, keeps its cause, and leaves the model usable', async () => {
    const boom = new TypeError('boom');
    let bad = true;
    for (const run of [
      () => {
        if (bad) throw boom;
        return F(1);
      },
      async () => {
        if (bad) throw boom;
        return F(1);
      },
    ]) {
      bad = true;
      const model = await load(caller(TWICE).bytes(), { ops: { 'my_ops::twice': run } });
      const e = await fails(
        model.run({ x0: F(1) }),
        'operator',
        /^forward, instruction 0 \(my_ops::twice\) at net\.py:7: its function failed: boom$/,
      );
      assert.equal(e.cause, boom);
      assert.equal(e.op, 'my_ops::twice');
      assert.equal(e.source, 'net.py:7');
      bad = false;
      assert.deepEqual((await model.run({ x0: F(1) })).y0, F(1));
      model.dispose();
    }
  });

  it('verify() replays test vectors with the functions, and tells a wrong answer from one that failed', async () => {
    const f = caller(TWICE);
    for (const [given, wanted] of [
      [
        [1, 2],
        [2, 4],
      ],
      [[3], [6]],
    ]) {
      f.test(
        0,
        [f.tensor(Float32Array.from(given ?? []), [given?.length])],
        ['Tensor'],
        f.tensor(Float32Array.from(wanted ?? []), [wanted?.length]),
      );
    }
    let by = 2;
    const model = await load(f.bytes(), {
      ops: {
        'my_ops::twice': async (x) => {
          if (by === 0) throw new RangeError('no');
          return { ...x, data: x.data.map((/** @type {number} */ v) => v * by) };
        },
      },
    });
    assert.deepEqual(await model.verify(), {
      passed: true,
      tests: [
        { index: 0, passed: true, maxAbs: 0, maxRel: 0, compared: 2 },
        { index: 1, passed: true, maxAbs: 0, maxRel: 0, compared: 1 },
      ],
    });
    by = 3;
    const wrong = await model.verify();
    assert.deepEqual(
      wrong.tests.map(({ passed, code, message }) => [passed, code, message]),
      [
        [
          false,
          'mismatch',
          'test vector 0: result: expected 2, got 3 (greatest difference ' + '2, rtol 0.0001, atol 1e-05)',
        ],
        [
          false,
          'mismatch',
          'test vector 1: result: expected 6, got 9 (greatest difference ' + '3, rtol 0.0001, atol 1e-05)',
        ],
      ],
    );
    by = 0;
    const failed = await model.verify();
    assert.deepEqual(
      failed.tests.map(({ passed, code, compared }) => [passed, code, compared]),
      [
        [false, 'operator', 0],
        [false, 'operator', 0],
      ],
    );
    assert.match(failed.tests[0]?.message ?? '', /\(my_ops::twice\) at net\.py:7: its function failed: no$/);
    model.dispose();
  });

  it('a result that does not fit is refused in words', async () => {
    const rows = /** @type {[string, string[], any, RegExp][]} */ ([
      ['my_ops::f(Tensor x) -> Tensor', ['Tensor'], undefined, /the result must be a tensor.*got undefined/],
      [
        'my_ops::f(Tensor x) -> Tensor',
        ['Tensor'],
        { data: [1], shape: [1], dtype: 'float8' },
        /the result: there is no dtype "float8"/,
      ],
      [
        'my_ops::f(Tensor x) -> Tensor',
        ['Tensor'],
        { data: new Float32Array(2), shape: [3] },
        /the data must have 3 elements for shape \[3\], got 2/,
      ],
      ['my_ops::f(Tensor x) -> int', ['int'], 'x', /the result must be an int/],
      [
        'my_ops::f(Tensor x) -> (Tensor, int)',
        ['Tensor', 'int'],
        [F(1)],
        /the result must be an array of 2, got an array of 1/,
      ],
      ['my_ops::f(Tensor x) -> (Tensor, int)', ['Tensor', 'int'], [F(1), 0.5], /result 1 must be an int/],
      ['my_ops::f(Tensor x) -> ()', [], F(1), /no result to return: write into the data/],
      [
        'my_ops::f(Tensor(a!) x) -> Tensor(a!)',
        ['Tensor'],
        F(1, 2),
        /the result must be float32\[1\], like the argument that it is written to, got float32\[2\]/,
      ],
      [
        'my_ops::f(Tensor(a!) x) -> Tensor(a!)',
        ['Tensor'],
        Int32Array.of(1),
        /the result must be float32\[1\], like the argument that it is written to, got int32\[1\]/,
      ],
    ]);
    for (const [schema, results, value, message] of rows) {
      let given = value;
      const model = await load(caller(schema, ['Tensor'], results).bytes(), { ops: { 'my_ops::f': () => given } });
      const e = await fails(model.run({ x0: F(1) }), 'operator', message);
      assert.equal(e.op, 'my_ops::f');
      assert.equal(e.source, 'net.py:7');
      given = results.length > 1 ? [F(1), 2] : results[0] === 'int' ? 1 : results.length ? F(1) : undefined;
      await model.run({ x0: F(1) });
      model.dispose();
    }
  });

  it('names that do not belong are refused, with those that do', async () => {
    const bytes = caller(TWICE).bytes(),
      run = () => F(1);
    await fails(
      load(bytes, { ops: { 'my_ops::twise': run } }),
      'bad-argument',
      /the model has no operator "my_ops::twise"; it needs my_ops::twice$/,
    );
    (await load(bytes, { ops: { 'my_ops::twice': run, 'my_ops::b': run } })).dispose(); // one table for several models
    await fails(load(bytes, { ops: { 'aten::relu': run } }), 'bad-argument', /operator 'aten::relu' exists already/);
    await fails(
      load(bytes, { ops: /** @type {any} */ ({ 'my_ops::twice': 5 }) }),
      'bad-argument',
      /must be a function, or \{ schema, run \}/,
    );
    await fails(load(bytes, { ops: /** @type {any} */ (null) }), 'bad-argument', /ops must be an object/);
    await fails(
      load(bytes, { ops: { 'my_ops::twice': { schema: 'my_ops::other(Tensor x) -> Tensor', run } } }),
      'bad-argument',
      /must begin with "my_ops::twice\("/,
    );
    await fails(
      load(bytes, { ops: { 'my_ops::twice': { schema: 'my_ops::twice(Tensor x -> Tensor', run } } }),
      'bad-argument',
      /schema/,
    );
    await fails(load(bytes, { ops: { '': run } }), 'bad-argument', /a schema must be NAME/);
    await fails(
      load(caller('', ['Tensor'], ['Tensor'], 'my_ops::bare').bytes(), { ops: { 'my_ops::bare': run } }),
      'bad-argument',
      /the file carries none/,
    );
  });

  it('a schema in a file is read as carefully as the rest of it', async () => {
    for (const schema of [
      'my_ops::f(',
      'my_ops::f(Tensor x="',
      'my_ops::f(Tensor(',
      'my_ops::f(int[',
      `my_ops::f(${'int a, '.repeat(40)}) -> int`,
      'my_ops::f(Tensor x) -> (',
      'my_ops::f(Tensor x) ->',
      'f',
      'my_ops::f(int x=1e, ) -> Tensor',
      "my_ops::f(str x='",
    ]) {
      await fails(
        load(caller(schema, ['Tensor'], ['Tensor'], 'my_ops::f').bytes(), { ops: { 'my_ops::f': () => F(1) } }),
        'bad-file',
        /./,
      );
    }
  });

  it('an abort does not wait for a function, nor does dispose()', async () => {
    const control = new AbortController();
    const never = () => new Promise(() => setImmediate(() => control.abort()));
    const model = await load(caller(TWICE).bytes(), { ops: { 'my_ops::twice': never } });
    await fails(model.run({ x0: F(1) }, { signal: control.signal }), 'aborted', /aborted/);
    model.dispose();
    let finish = (/** @type {unknown} */ _) => {},
      called = (/** @type {unknown} */ _) => {};
    const calls = new Promise((r) => {
      called = r;
    });
    const other = await load(caller(TWICE).bytes(), {
      ops: {
        'my_ops::twice': () =>
          new Promise((r) => {
            finish = r;
            called(0);
          }),
      },
    });
    const waiting = other.run({ x0: F(1) });
    await calls;
    other.dispose();
    finish(F(1));
    await fails(waiting, 'disposed', /disposed/);
  });

  it('a function that waits for its own model is told so, and nothing hangs', async () => {
    const twice = (/** @type {any} */ x) => ({ ...x, data: x.data.map((/** @type {number} */ v) => v * 2) });
    /** @type {((model: any, x: any) => any)[]} */
    const asks = [
      (model, x) => model.run({ x0: x }),
      (model) => model.memory(),
      (model, x) => model.steps({ x0: x }),
      async (model, x) => {
        await new Promise((r) => setImmediate(r));
        return model.run({ x0: x });
      },
    ];
    for (const ask of asks) {
      let depth = 0;
      const model = await load(caller(TWICE).bytes(), {
        ops: {
          'my_ops::twice': async (x) => {
            if (depth++ === 0) await ask(model, x);
            return twice(x);
          },
        },
      });
      const e = await fails(model.run({ x0: F(1) }), 'operator', /must not call its own model/);
      assert.equal(/** @type {any} */ (e.cause).code, 'bad-state');
      assert.deepEqual(await model.run({ x0: F(1) }), { y0: F(2) });
      model.dispose();
    }
    // Another model is no circle, and somebody else may call this one meanwhile.
    const inner = await load(caller(TWICE).bytes(), { ops: { 'my_ops::twice': twice } });
    const outer = await load(caller(TWICE).bytes(), {
      ops: {
        'my_ops::twice': async (x) => {
          await new Promise((r) => setImmediate(r));
          return (await inner.run({ x0: x })).y0;
        },
      },
    });
    const [a, b] = await Promise.all([outer.run({ x0: F(1) }), outer.run({ x0: F(2) })]);
    assert.deepEqual([a, b], [{ y0: F(2) }, { y0: F(4) }]);
    inner.dispose();
    outer.dispose();
  });
}
