// FEATURES.md says that a test passes if it has passed to its end, in all its variants.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

test('what a test shows is recorded when it has ended', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'rush-shown-')),
    { RUSH_FEATURES } = process.env;
  process.env.RUSH_FEATURES = dir;
  const { shown: recorded } = await import(`./shown.js?${dir}`);
  if (RUSH_FEATURES === undefined) delete process.env.RUSH_FEATURES;
  else process.env.RUSH_FEATURES = RUSH_FEATURES;
  const t = { skip() {} },
    outcomes = () =>
      readdirSync(dir)
        .map((name) => JSON.parse(readFileSync(join(dir, name), 'utf8')))
        .map(({ test, outcome, max_abs }) => [test, outcome, max_abs]);
  const fails = () =>
    assert.rejects(
      recorded('FX', 'one', async () => {
        throw new Error('no');
      })(t),
      /no/,
    );
  const passes = () => recorded('FX', 'one', async () => ({ maxAbs: 0.5 }))(t);
  await recorded('FX', 'one', async (/** @type {any} */ t) => {
    assert.deepEqual(outcomes(), []);
    t.skip('not here');
  })(t);
  assert.deepEqual(outcomes(), []);
  await passes();
  assert.deepEqual(outcomes(), [['js: FX: one', 'passed', 0.5]]);
  await fails();
  assert.equal(outcomes()[0]?.[1], 'failed', 'what passed before does not stay');
  await passes();
  assert.equal(outcomes()[0]?.[1], 'failed', 'nor does another variant that passes hide it');
  assert.throws(() => recorded('FX', 'one', { maxAbs: 0.5 }), /the body of 'one' must be a function, got/);
  rmSync(dir, { recursive: true });
});
