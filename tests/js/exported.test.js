// Files that the exporter wrote of models with operators which only their user knows: JavaScript computes them, and the
// answers are PyTorch's. The models are in exported_ops.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { Interpreter } from '../../js/src/api/fx.js';
import { load } from '../../js/src/index.js';
import { exportedBy } from './exported-by.mjs';
import { shown } from './shown.js';

const made = exportedBy('exported_ops.py'),
  { dir } = made;

/** @typedef {{ dtype: 'float32', shape: number[], data: Float32Array }} T */
/** @param {T} x @param {(v: number, i: number) => number} f */
const map = (x, f) => ({ ...x, data: x.data.map(f) });
/** @param {number} v @returns {T} */
const scalar = (v) => ({ dtype: 'float32', shape: [], data: Float32Array.of(v) });

const ops = {
  'my_ops::blend': (
    /** @type {T} */ a,
    /** @type {T} */ b,
    /** @type {number} */ weight,
    /** @type {number[]} */ shift,
  ) => map(a, (v, i) => v * (1 - weight) + (b.data[i] ?? NaN) * weight + shift.reduce((s, n) => s + n, 0)),
  'my_ops::blend.scalar': async (/** @type {T} */ a, /** @type {number} */ b) => map(a, (v) => 0.5 * v + 0.5 * b),
  'my_ops::extremes': (/** @type {T} */ x, /** @type {T | null} */ mask) => [
    scalar(Math.min(...x.data)),
    scalar(Math.max(...x.data.map((v, i) => v * (mask ? (mask.data[i] ?? NaN) : 1)))),
    x.data.length,
  ],
  'my_ops::clip_': (/** @type {T} */ x, /** @type {number} */ top) => map(x, (v) => Math.min(v, top)),
  'my_ops::join': (/** @type {T[]} */ parts) => {
    const data = parts.flatMap((p) => [...p.data]);
    return { dtype: 'float32', shape: [data.length], data: Float32Array.from(data) };
  },
};

/** @param {string} name */
function read(name) {
  const { inputs, shapes, outputs } = JSON.parse(readFileSync(join(dir, `${name}.json`), 'utf8'));
  for (const [input, shape] of Object.entries(shapes))
    inputs[input] = { dtype: 'float32', shape, data: Float32Array.from(inputs[input]) };
  return { bytes: readFileSync(join(dir, `${name}.rush`)), inputs, outputs };
}

/** Gives the largest difference. @param {Record<string, any>} got @param {Record<string, any>} wanted */
function agree(got, wanted) {
  let maxAbs = 0;
  assert.deepEqual(Object.keys(got), Object.keys(wanted));
  for (const [name, value] of Object.entries(wanted)) {
    if (!Array.isArray(value)) assert.equal(got[name], value, name);
    else {
      const apart = value.map((v, i) => Math.abs(got[name].data[i] - v));
      assert(
        got[name].data.length === value.length && apart.every((d) => d < 1e-5),
        `${name}: ${got[name].data} is not ${value}`,
      );
      maxAbs = Math.max(maxAbs, ...apart);
    }
  }
  return { maxAbs };
}

for (const worker of [false, true]) {
  const where = worker ? 'in a worker: ' : '';

  test(
    `${where}an operator in a trace, between relu and matmul`,
    shown('Operators', 'in JavaScript: a function in load(url, { ops }), also in a worker', async (t) => {
      if (made.missing) return t.skip(made.missing);
      const { bytes, inputs, outputs } = read('between');
      await assert.rejects(load(bytes, { worker }), {
        code: 'unsupported',
        message:
          /my_ops::blend\(Tensor a, Tensor b, float weight=0\.25, int\[\] shift=(\[0, 0\]|0)\) -> Tensor\n {4}in forward, instruction \d+ at .*exported_ops\.py:\d+/,
      });
      const model = await load(bytes, { worker, ops: { 'my_ops::blend': ops['my_ops::blend'] } });
      const seen = agree(await model.run(inputs), outputs);
      assert.deepEqual(
        model.graph.nodes
          .filter((n) => n.op === 'call_function')
          .map((n) => n.target)
          .filter((n) => /relu|my_ops|matmul|mm|linear/.test(n))
          .map((n) => n.replace(/.*::|\..*/g, ''))
          .slice(0, 2),
        ['relu', 'blend'],
      );
      model.dispose();
      return seen;
    }),
  );

  test(
    `${where}overloads, lists, optional arguments, several results and writes in place, in a script's control flow`,
    shown('Operators', 'in JavaScript: overloads, lists, results, in-place writes, an async function', async (t) => {
      if (made.missing) return t.skip(made.missing);
      const { bytes, inputs, outputs } = read('script');
      const model = await load(bytes, { worker, ops });
      const seen = agree(await model.run(inputs), outputs);
      assert.equal((await model.run(inputs)).count, outputs.count + 1);
      const state = await model.state();
      assert.equal(Object.entries(state).find(([name]) => /steps/.test(name))?.[1], 2);
      await model.reset();
      agree(await new Interpreter(model).run(inputs), outputs);
      assert.match(model.code, /ops\.my_ops\.blend/);
      assert.match(model.torch['']?.graph ?? '', /my_ops::extremes/);
      model.dispose();
      const failing = await load(bytes, {
        worker,
        ops: {
          ...ops,
          'my_ops::join': () => {
            throw new RangeError('too long');
          },
        },
      });
      await assert.rejects(
        failing.run(inputs),
        (/** @type {any} */ e) =>
          e.code === 'operator' &&
          e.op === 'my_ops::join' &&
          /exported_ops\.py:\d+$/.test(e.source) &&
          e.cause instanceof RangeError,
      );
      failing.dispose();
      return seen;
    }),
  );
}
