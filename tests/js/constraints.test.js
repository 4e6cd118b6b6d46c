// Constraints on sizes: from dynamic_shapes of a trace, and from an ExportedProgram.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { exportedBy } from './exported-by.mjs';

const made = exportedBy('exported_constraints.py'),
  { dir } = made;

const t = (/** @type {number[]} */ ...shape) => ({
  data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(2),
  shape,
});

for (const [file, what] of [
  ['traced', 'a trace'],
  ['program', 'an ExportedProgram'],
]) {
  test(`${what}: a constraint is enforced or the run refused`, async (c) => {
    if (made.missing) return c.skip(made.missing);
    const model = await load(readFileSync(join(dir, `${file}.rush`)));
    assert.deepEqual(
      model.inputs.map((p) => p.constraints),
      [
        [
          { name: 'n', min: 3, max: 8 },
          { name: null, min: 6, max: 6 },
        ],
        [{ name: 'n', min: 3, max: 8 }],
      ],
    );
    for (const rows of [3, 8]) {
      const [y] = Object.values(await model.run({ x: t(rows, 6), y: t(rows) }));
      assert.deepEqual([.../** @type {any} */ (y).data], new Array(6 * rows).fill(4));
    }
    for (const [x, y, message] of /** @type {[any, any, RegExp][]} */ ([
      [t(9, 6), t(9), /size 0 of input "x" must be at most 8, got 9/],
      [t(2, 6), t(2), /size 0 of input "x" must be at least 3, got 2/],
      [t(4, 5), t(4), /size 1 of input "x" must be 6, as at export, got 5/],
      [t(4, 6), t(5), /size 0 of input "y" is 5 and size 0 of input "x" is 4: they must be equal/],
    ]))
      await assert.rejects(model.run({ x, y }), { code: 'bad-argument', message });
    model.dispose();
  });
}
