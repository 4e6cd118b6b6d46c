// Random numbers: PyTorch's by seed, fresh without one, here and in a worker.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from '../../js/src/index.js';
import { shown } from './shown.js';

const dir = mkdtempSync(join(tmpdir(), 'rush-random-'));
const file = join(dir, 'random.rush');
after(() => rmSync(dir, { recursive: true }));

let missing = '';
/** @type {Record<string, number[][][]>} */ let answers = {};
before(() => {
  const { status, stdout, stderr, error } = spawnSync(
    'python3',
    [fileURLToPath(new URL('exported_random.py', import.meta.url)), file],
    { encoding: 'utf8' },
  );
  if (error || /No module named '(torch|rushlight)'/.test(stderr))
    missing = 'there is no python3 with torch and rushlight: use ./dev test';
  else {
    assert.equal(status, 0, stderr);
    answers = JSON.parse(/** @type {string} */ (stdout.split('\n').findLast((line) => line.startsWith('{'))));
  }
});

/** @param {import('../../js/src/index.js').Model} model @param {number} n */
const draw = async (model, n) =>
  Object.values(await model.run({ n })).map((/** @type {any} */ t) => Array.from(t.data, Number));

for (const worker of [false, true]) {
  test(
    `a seed gives PyTorch's numbers${worker ? ', in a worker' : ''}`,
    shown('TorchScript', 'in JavaScript: random numbers by model.manualSeed()', async (t) => {
      if (missing) return t.skip(missing);
      const model = await load(readFileSync(file), { worker });
      let maxAbs = 0;
      for (const [seed, runs] of Object.entries(answers)) {
        await model.manualSeed(BigInt(seed));
        for (const [i, n] of [3, 20].entries()) {
          const got = await draw(model, n);
          for (const [k, want] of /** @type {number[][]} */ (runs[i]).entries()) {
            const apart = want.map((v, j) => Math.abs(v - /** @type {any} */ (got)[k][j]));
            assert.ok(
              apart.every((d) => d < 1e-6),
              `seed ${seed}: ${got[k]} is not ${want}`,
            );
            maxAbs = Math.max(maxAbs, ...apart);
          }
        }
      }
      model.dispose();
      return { maxAbs };
    }),
  );
}

test(
  'without a seed each run and each model draws others; reset and ' + 'verify leave the generator as it is',
  async (t) => {
    if (missing) return t.skip(missing);
    const [a, b] = await Promise.all([load(readFileSync(file)), load(readFileSync(file))]);
    const drawn = [await draw(a, 5), await draw(a, 5), await draw(b, 5)].map((x) => String(x));
    assert.equal(new Set(drawn).size, 3);
    await a.manualSeed(7);
    const [first, second] = [await draw(a, 5), await draw(a, 5)];
    await a.manualSeed(7);
    assert.deepEqual(await draw(a, 5), first);
    await a.reset();
    assert.ok((await a.verify()).passed);
    assert.deepEqual(await draw(a, 5), second);
    for (const model of [a, b]) model.dispose();
  },
);

test('a seed that is not an integer is refused', async (t) => {
  if (missing) return t.skip(missing);
  const model = await load(readFileSync(file));
  for (const seed of [1.5, NaN, 2 ** 53, '5', undefined]) {
    await assert.rejects(model.manualSeed(/** @type {any} */ (seed)), {
      code: 'bad-argument',
      message: /a seed must be an integer/,
    });
  }
  model.dispose();
});
