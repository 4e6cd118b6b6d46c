// The program as data, PyTorch's texts, the state of a model, and interpreters built on them.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load as loadModel } from '../../js/src/index.js';
import { Interpreter, Item, Profiler, ShapeProp, printTabular, tabular } from '../../js/src/api/fx.js';
import { RushFile } from './build-rush.mjs';
import { shown } from './shown.js';

/** @typedef {import('../../js/src/api/fx.js').Node} Node */

const F = (/** @type {number[]} */ ...v) => ({
  dtype: /** @type {const} */ ('float32'),
  shape: [v.length],
  data: Float32Array.from(v),
});

/** relu(x + w), then n times: where positive `+ 1`, else unchanged; the maximum and where it is. */
function program() {
  const f = new RushFile();
  f.text('', 'code', 'def forward(self, x):\n  return x\n')
    .text('', 'graph', 'graph(%x):\n')
    .text('inner.0', 'tree', 'ReLU()');
  const w = f.tensor(Float32Array.of(1, -1), [2], { name: 'inner.weight' });
  f.method(
    'forward',
    {
      inputs: [
        { name: 'x', dtype: 'float32', shape: [2] },
        { name: 'n', type: 'int' },
      ],
      outputs: ['most', 'at'],
    },
    (m, x, n) => {
      m.at = f.source('net.py', 3);
      const y = m.op('aten::relu', [m.op('aten::add.Tensor', [x, w, f.int(1)])]);
      m.at = f.source('net.py', 5);
      const [z] = m.loop(n, [y], (round, v) => [
        m.branch(
          m.op('aten::gt.int', [round, f.int(0)], 'bool'),
          'Tensor',
          () => m.op('aten::add.Scalar', [v, f.float(1), f.int(1)]),
          () => v,
        ),
      ]);
      m.at = f.source('net.py', 9);
      return m.op(
        'prim::TupleConstruct',
        m.ops('aten::max.dim', [z, f.int(0), f.bool(false)], ['Tensor', 'Tensor']),
        '(Tensor, Tensor)',
      );
    },
  );
  f.method('plain', { inputs: [{ name: 'x' }] }, (m, x) => m.op('aten::relu', [x]));
  return f;
}

for (const worker of [false, true]) {
  /** @type {typeof loadModel} */
  const load = (source, options = {}) => loadModel(source, { ...options, worker });
  const it = (/** @type {string} */ name, /** @type {(t: import('node:test').TestContext) => Promise<void>} */ body) =>
    test(worker ? `in a worker: ${name}` : name, body);

  it(
    'graph.nodes are the inputs and instructions, with operands, users and source lines',
    shown('FX', 'in JavaScript: model.graph.nodes: op, name, target, args, users, source line', async () => {
      const model = await load(program().bytes());
      const { graph } = model;
      assert.equal(graph.name, 'forward');
      assert.deepEqual(
        graph.nodes.map((n) => n.op),
        [
          'placeholder',
          'placeholder',
          'call_function',
          'call_function',
          'loop',
          'call_function',
          'if',
          'call_function',
          'yield',
          'yield',
          'yield',
          'call_function',
          'call_function',
          'output',
        ],
      );
      const [x, n, add, relu, loop, gt, branch, plus, , , round, max, tuple, output] = /** @type {Node[]} */ (
        graph.nodes
      );
      assert.deepEqual([x?.name, n?.target, add?.target, add?.source], ['x', 'n', 'aten::add.Tensor', 'net.py:3']);
      assert.deepEqual(add?.args, [x, { tensor: 'inner.weight', dtype: 'float32', shape: [2] }, 1]);
      assert.deepEqual([...(add?.users ?? [])], [relu]);
      assert.deepEqual([...(x?.users ?? [])], [add]);
      assert.deepEqual(loop?.args, [n, true, relu]);
      assert.deepEqual(loop?.inputs, [n, relu]);
      assert.deepEqual(
        [gt?.parent, branch?.parent, plus?.parent, plus?.block, plus?.depth, round?.parent, max?.depth],
        [loop, loop, branch, 0, 2, loop, 0],
      );
      assert.deepEqual(
        gt?.args.map((a) => a instanceof Item && [a.node, a.index, a.type]),
        [[loop, 1, 'int'], false],
      );
      assert.deepEqual(
        tuple?.args.map((a) => a instanceof Item && a.node),
        [max, max],
      );
      assert.deepEqual(tuple?.inputs, [max]);
      assert.deepEqual(output?.args, [tuple]);
      assert.equal(model.graph, graph, 'made once');
      assert.deepEqual(Object.keys(model.graphs), ['forward', 'plain']);
      model.dispose();
    }),
  );

  it(
    'a graph prints as TorchScript prints it',
    shown('TorchScript', 'in JavaScript: model.graph in the notation of TorchScript', async () => {
      const model = await load(program().bytes());
      assert.equal(
        String(model.graph),
        `graph(%x : Tensor,
      %n : int):
  %2 : Tensor = aten::add.Tensor(%x, inner.weight[2], 1) # net.py:3
  %3 : Tensor = aten::relu(%2) # net.py:3
  %4 : Tensor = prim::Loop(%n, True, %3) # net.py:5
    block0(%5 : int, %6 : Tensor):
      %7 : bool = aten::gt.int(%5, 0) # net.py:5
      %8 : Tensor = prim::If(%7) # net.py:5
        block0():
          %9 : Tensor = aten::add.Scalar(%6, 1, 1) # net.py:5
          -> (%9)
        block1():
          -> (%6)
      -> (True, %8)
  %10 : Tensor, %11 : Tensor = aten::max.dim(%4, 0, False) # net.py:9
  %12 : (Tensor, Tensor) = prim::TupleConstruct(%10, %11) # net.py:9
  return (%12)`,
      );
      model.dispose();
    }),
  );

  test(
    "PyTorch's own texts are there for the model and its submodules",
    shown('TorchScript', 'in JavaScript: .graph, .code and the tree of the model and its submodules', async () => {
      const model = await load(program().bytes());
      assert.equal(model.code, 'def forward(self, x):\n  return x\n');
      assert.deepEqual(model.torch, { '': { code: model.code, graph: 'graph(%x):\n' }, 'inner.0': { tree: 'ReLU()' } });
      model.dispose();
      const without = await load(new RushFile().method('forward', { inputs: [{ name: 'x' }] }, (m, x) => x).bytes());
      assert.deepEqual([without.code, without.torch], ['', {}]);
      without.dispose();
    }),
  );

  it(
    "state() is a snapshot, setState() brings it back, reset() the file's",
    shown('TorchScript', 'in JavaScript: model.state(), setState() and reset()', async () => {
      const f = new RushFile();
      const count = f.attribute('layer.count', 'int', f.int(5)),
        cache = f.attribute('cache', 'Tensor', f.tensor(Float32Array.of(1, 2), [2]));
      f.method('forward', { inputs: [], outputs: [{ name: 'n', type: 'int' }], result: 'int' }, (m) => {
        const n = m.op('aten::add.int', [m.op('rush::get_attr', [f.int(count)], 'int'), f.int(1)], 'int');
        m.call('rush::set_attr', [f.int(count), n]);
        m.op('aten::add_.Scalar', [m.op('rush::get_attr', [f.int(cache)]), f.int(1), f.int(1)]);
        return n;
      });
      const model = await load(f.bytes());
      const start = await model.state();
      assert.deepEqual(start, { 'layer.count': 5, cache: F(1, 2) });
      assert.deepEqual([await model.call('forward'), await model.call('forward')], [6, 7]);
      assert.deepEqual(start, { 'layer.count': 5, cache: F(1, 2) }, 'a copy');
      const later = await model.state();
      assert.deepEqual(later, { 'layer.count': 7, cache: F(3, 4) });
      await model.reset();
      assert.deepEqual(await model.state(), start);
      await model.setState(later);
      assert.deepEqual(await model.state(), later);
      await model.setState({ 'layer.count': 1 });
      assert.deepEqual(await model.state(), { ...later, 'layer.count': 1 });
      await assert.rejects(model.setState({ counts: 1 }), {
        code: 'bad-argument',
        message: /no attribute "counts".*known: layer\.count, cache/,
      });
      await assert.rejects(model.setState({ cache: 'x' }), {
        code: 'bad-argument',
        message: /attribute "cache" must be a tensor/,
      });
      const other = await load(f.bytes());
      assert.deepEqual(await other.state(), start, 'models share no state');
      model.dispose();
      other.dispose();
    }),
  );

  it(
    'an Interpreter sees every value and gives the answer of run()',
    shown('FX', 'in JavaScript: an Interpreter sees every value', async () => {
      const model = await load(program().bytes());
      /** @type {[string, any][]} */ const seen = [];
      class See extends Interpreter {
        /** @override @param {Node} node */
        async runNode(node) {
          const value = await super.runNode(node);
          seen.push([
            node.target,
            value?.data ? [...value.data] : Array.isArray(value) ? value.map((v) => [...v.data].map(Number)) : value,
          ]);
          return value;
        }
      }
      const inputs = { x: [1, 2], n: 2 };
      assert.deepEqual(await new See(model).run(inputs), await model.run(inputs));
      assert.deepEqual(
        seen.slice(0, -1),
        [
          ['x', [1, 2]],
          ['n', 2],
          ['aten::add.Tensor', [2, 1]],
          ['aten::relu', [2, 1]],
          ['prim::Loop', null],
          ['aten::gt.int', false],
          ['prim::If', null],
          ['yield', null],
          ['yield', null],
          ['aten::gt.int', true],
          ['prim::If', null],
          ['aten::add.Scalar', [3, 2]],
          ['yield', null],
          ['yield', null],
          ['aten::max.dim', [[3], [0]]],
          ['prim::TupleConstruct', [[3], [0]]],
        ].map((row) => row),
      );
      model.dispose();
    }),
  );

  it(
    'an Interpreter puts values in place of others',
    shown('FX', 'in JavaScript: an Interpreter replaces values (runNode, callFunction, output)', async () => {
      const model = await load(program().bytes());
      class Instead extends Interpreter {
        /** @override @param {string} target @param {any[]} args */
        async callFunction(target, args) {
          // Not run
          if (target === 'aten::relu')
            return { ...args[0], data: args[0].data.map((/** @type {number} */ v) => 10 * v) };
          const value = await super.callFunction(target, args);
          return target === 'aten::max.dim' ? [F(42), value[1]] : value; // run, and replaced
        }
        /** @override @param {Record<string, any>} results */
        async output(results) {
          return { ...results, more: true };
        }
      }
      const got = await new Instead(model).run({ x: [1, 2], n: 0 });
      assert.deepEqual([got.most, Number(got.at.data[0]), got.more], [F(42), 0, true]);
      class Inputs extends Interpreter {
        /** @override @param {string} target @param {any} value */
        async placeholder(target, value) {
          return target === 'n' ? 1 : { ...value, data: value.data.map(() => 0) };
        }
      }
      assert.deepEqual((await new Inputs(model).run({ x: [1, 2], n: 9 })).most.data, Float32Array.of(1));
      class Others extends Interpreter {
        /** @override @param {string} target @param {any[]} args */
        async callFunction(target, args) {
          return super.callFunction(target, [args[0], F(1, 1), 1]);
        }
      }
      await assert.rejects(new Others(model).run({ x: [1, 2], n: 0 }), {
        code: 'unsupported',
        message: /must run with its own arguments/,
      });
      class Wrong extends Interpreter {
        /** @override */
        async callFunction() {
          return 'x';
        }
      }
      await assert.rejects(new Wrong(model).run({ x: [1, 2], n: 0 }), {
        code: 'bad-argument',
        message: /must be a tensor .*got the string "x"/,
      });
      assert.equal((await model.run({ x: [1, 2], n: 0 })).most.data[0], 2, 'the model is usable afterwards');
      model.dispose();
    }),
  );

  it('an Interpreter runs with weights that loading packed for the kernels', async () => {
    const f = new RushFile();
    const w = f.tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3], { name: 'fc.weight' }),
      bias = f.tensor(Float32Array.of(10, 20), [2], { name: 'fc.bias' });
    const kernel = f.tensor(Float32Array.of(1, 0, -1, 2), [1, 1, 2, 2], { name: 'conv.weight' });
    f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [1, 1, 3, 4] }] }, (m, x) => {
      const pair = (/** @type {number} */ n) => f.ints([n, n]);
      const y = m.op('aten::conv2d', [x, kernel, f.none(), pair(1), pair(0), pair(1), f.int(1)]);
      return m.op('aten::linear', [y, w, bias]);
    });
    const x = Float32Array.from({ length: 12 }, (_, i) => i);
    const model = await load(f.bytes());
    const expected = await model.run({ x });
    /** @type {[string, any[]][]} */ const seen = [];
    class Look extends Interpreter {
      /** @override @param {string} target @param {any[]} args */
      async callFunction(target, args) {
        seen.push([target, args]);
        return super.callFunction(target, args);
      }
    }
    assert.deepEqual(await new Look(model).run({ x }), expected);
    assert.deepEqual(
      seen.map(([target, args]) => [target, args[1].dtype, args[1].shape]),
      [
        ['aten::conv2d', 'float32', [1, 1, 2, 2]],
        ['aten::linear', 'float32', [2, 3]],
      ],
    );
    assert.deepEqual(seen[0]?.[1][0].data, x);
    assert.throws(() => seen[0]?.[1][1].data, {
      code: 'unsupported',
      op: 'aten::conv2d',
      message: /the elements of argument 1 of aten::conv2d, "conv\.weight", cannot be read, as loading packed them/,
    });
    assert.throws(() => ({ ...seen[1]?.[1][1] }), {
      code: 'unsupported',
      message: /argument 1 of aten::linear, "fc\.weight"/,
    });
    assert.throws(() => seen[1]?.[1][2].data, {
      code: 'unsupported',
      message: /argument 2 of aten::linear, "fc\.bias"/,
    });
    class Sevens extends Interpreter {
      /** @override @param {string} target @param {any[]} args */
      async callFunction(target, args) {
        return target === 'aten::linear'
          ? { ...args[0], shape: [1, 1, 2, 2], data: Float32Array.from({ length: args[1].shape[0] * 2 }, () => 7) }
          : super.callFunction(target, args);
      }
    }
    assert.deepEqual(
      Object.values(await new Sevens(model).run({ x })).map((v) => [...v.data]),
      [[7, 7, 7, 7]],
    );
    const steps = await model.steps({ x });
    const { args } = await steps.next();
    assert.deepEqual(args?.[1], { dtype: 'float32', shape: [1, 1, 2, 2], data: null });
    steps.end();
    model.dispose();
  });

  it('ShapeProp, Profiler and the table ship with the package', async (t) => {
    const model = await load(program().bytes());
    await new ShapeProp(model).run({ x: Float32Array.of(1, 2), n: 2 });
    const table = tabular(model.graph, ['op', 'name', 'args', 'tensor', 'users']);
    assert.match(table, /^op +name +args +tensor +users\n-+/);
    assert.match(table, /placeholder +x +\(\) +float32\[2\] +\(2\)\n/);
    assert.match(table, /call_function +2 +\(x, inner\.weight\[2\], 1\) +float32\[2\] +\(3\)\n/);
    assert.match(table, /call_function +10 .*\(float32\[\], int64\[\]\)/);
    const profiler = new Profiler(model);
    await profiler.run({ x: [1, 2], n: 3 });
    await profiler.run({ x: [1, 2], n: 3 });
    const plus = model.graph.nodes.find((n) => n.target === 'aten::add.Scalar');
    assert.equal(plus?.meta.calls, 4);
    assert(plus?.meta.ms > 0);
    assert.match(profiler.summary(), /^name +target +calls +ms +% +source\n[^]*aten::add\.Scalar +4 +\d+\.\d{3} /);
    const { mock } = t.mock.method(console, 'log', () => {});
    printTabular(model.graph);
    assert.match(String(mock.calls[0]?.arguments[0]), /^op +name +target +args +source\n/);
    mock.restore();
    assert.deepEqual((await new Interpreter(model, { method: 'plain' }).run({ x: F(-1) })).y, F(0));
    assert.throws(() => new Interpreter(model, { method: 'x' }), {
      code: 'bad-argument',
      message: /known: forward, plain/,
    });
    model.dispose();
  });

  it(
    'quantized tensors are seen as their integers and what these stand for, ' +
      'also turned and in lists; they cannot be given',
    async () => {
      const f = new RushFile(),
        q = (/** @type {number} */ dtype) => f.int(dtype);
      const scales = f.tensor(Float64Array.of(0.5, 0.25), [2]),
        zeros = f.tensor(BigInt64Array.of(0n, -1n), [2]);
      f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2, 3] }], outputs: ['y'] }, (m, x) => {
        const one = m.op('aten::quantize_per_tensor', [x, f.float(0.5), f.int(3), q(13)]);
        const turned = m.op('aten::transpose.int', [one, f.int(0), f.int(1)]);
        m.op('prim::ListConstruct', [turned, m.op('aten::select.int', [turned, f.int(0), f.int(2)])], 'Tensor[]');
        m.op('aten::quantize_per_channel', [x, scales, zeros, f.int(0), q(12)]);
        m.op('aten::quantize_per_tensor', [
          m.op('aten::slice.Tensor', [x, f.int(0), f.int(0), f.int(0)]),
          f.float(2),
          f.int(0),
          q(14),
        ]);
        return m.op('aten::dequantize.self', [turned]);
      });
      f.method('answer', { inputs: [{ name: 'x' }], outputs: ['y'] }, (m, x) =>
        m.op('aten::quantize_per_tensor', [x, f.float(0.5), f.int(3), q(13)]),
      );
      const model = await load(f.bytes()),
        x = { dtype: /** @type {const} */ ('float32'), shape: [2, 3], data: Float32Array.of(-1, 0, 0.5, 1, 1.5, 2) };
      const results = /** @type {any[]} */ ([]),
        args = /** @type {any[]} */ ([]);
      class Look extends Interpreter {
        /** @override @param {string} target @param {any[]} given */
        async callFunction(target, given) {
          args.push(given[0]);
          results.push(await super.callFunction(target, given));
          return results.at(-1);
        }
      }
      const expected = { y: { dtype: 'float32', shape: [3, 2], data: Float32Array.of(-1, 1, 0, 1.5, 0.5, 2) } };
      assert.deepEqual(await new Look(model).run({ x }), expected);
      const one = { dtype: 'quint8', shape: [2, 3], data: Uint8Array.of(1, 3, 4, 5, 6, 7), scale: 0.5, zeroPoint: 3 };
      const turned = { ...one, shape: [3, 2], data: Uint8Array.of(1, 5, 3, 6, 4, 7) };
      const last = { ...one, shape: [2], data: Uint8Array.of(4, 7) };
      assert.deepEqual(results.slice(0, 5), [
        one,
        turned,
        last,
        [turned, last],
        {
          dtype: 'qint8',
          shape: [2, 3],
          data: Int8Array.of(-2, 0, 1, 3, 5, 7),
          axis: 0,
          scales: [0.5, 0.25],
          zeroPoints: [0, -1],
        },
      ]);
      assert.deepEqual(results[6], { dtype: 'qint32', shape: [0, 3], data: new Int32Array(0), scale: 2, zeroPoint: 0 });
      assert.deepEqual([args[1], args[7]], [one, turned]);

      const shapes = new ShapeProp(model);
      await shapes.run({ x });
      assert.deepEqual(
        shapes.graph.nodes
          .filter((n) => n.op === 'call_function')
          .slice(0, 2)
          .map((n) => n.meta.tensor),
        [
          { dtype: 'quint8', shape: [2, 3], scale: 0.5, zeroPoint: 3 },
          { dtype: 'quint8', shape: [3, 2], scale: 0.5, zeroPoint: 3 },
        ],
      );
      assert.match(tabular(model.graph, ['target', 'tensor']), /aten::transpose\.int +quint8\[3, 2\]\n/);

      class Other extends Interpreter {
        /** @override @param {string} target @param {any[]} given */
        async callFunction(target, given) {
          const made = await super.callFunction(target, given);
          return made.scale ? { ...made } : made;
        }
      }
      await assert.rejects(new Other(model).run({ x }), {
        code: 'unsupported',
        message: /a result must not be a quint8 tensor/,
      });
      await assert.rejects(model.run({ x }, { method: 'answer' }), {
        code: 'unsupported',
        message: /not implemented for 'QUInt8'/,
      });
      assert.deepEqual(await model.run({ x }), expected);
      model.dispose();
    },
  );

  it('ShapeProp sees into dicts', async () => {
    const f = new RushFile();
    f.method(
      'forward',
      { inputs: [{ name: 'x' }], outputs: [{ name: 'out', type: 'Dict(str, Any)' }], result: 'Dict(str, Any)' },
      (m, x) => {
        const pair = m.op('prim::TupleConstruct', [x, m.op('aten::relu', [x])], '(Tensor, Tensor)');
        return m.op(
          'prim::DictConstruct',
          [f.str('y'), x, f.str('pair'), pair, f.str('n'), f.int(3)],
          'Dict(str, Any)',
        );
      },
    );
    const model = await load(f.bytes());
    await new ShapeProp(model).run({ x: F(1, 2) });
    assert.match(
      tabular(model.graph, ['target', 'tensor']),
      /prim::DictConstruct +\{y: float32\[2\], pair: \(float32\[2\], float32\[2\]\)\}\n/,
    );
    model.dispose();
  });

  it('calls of the model wait while a run is stepped, and it ends where the stepper ends it', async () => {
    const model = await load(program().bytes());
    const steps = await model.steps({ x: [1, 2], n: 0 });
    const other = model.run({ x: [3, 4], n: 0 });
    const { node, args } = await steps.next();
    assert.equal(node.target, 'aten::add.Tensor');
    assert.deepEqual(args?.[1], F(1, -1), 'weights are values, too');
    assert.deepEqual((await steps.step()).results, [F(2, 1)]);
    steps.end();
    assert.equal((await other).most.data[0], 4);
    await assert.rejects(model.steps({ x: [1, 2], n: 'x' }), { code: 'bad-argument' });
    assert.equal((await model.run({ x: [3, 4], n: 0 })).most.data[0], 4);
    model.dispose();
  });
}
