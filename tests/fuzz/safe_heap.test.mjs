// Every memory access must be inside the allocator's memory and aligned for its type. The test runs the conformance
// rows, the programs of the Python tests (tests/recorded_programs.py) and the files of corpus/ in the binary of
// safe_heap.mjs.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

import { RushlightError, load } from '../../js/src/index.js';
import { createRuntime } from '../../js/src/engine/runtime.js';
import { replay } from '../browser/replay.mjs';

const top = new URL('../../', import.meta.url);
const wasm = readFileSync(new URL('build/simd/bin/safe-heap.wasm', top));

/** Returns whether a trap caused the error. @param {any} e */
const trapped = (e) => e.cause instanceof WebAssembly.RuntimeError;

test('an access beyond the memory in use traps', async () => {
  const { c, memory } = await createRuntime({ wasm });
  assert.throws(
    () => c.rush_ctx_set_threads(memory.size - 4096, 1),
    (/** @type {any} */ e) => e instanceof WebAssembly.RuntimeError && /heap_overrun/.test(e.stack ?? ''),
  );
});

for (const what of /** @type {const} */ (['conformance', 'programs'])) {
  test(what, async (t) => {
    const folder = new URL(`build/${what}/`, top);
    const { rows } = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8'));
    const { passed, failed } = await replay({
      load: (source, { backend: _, ...options } = {}) => load(source, { ...options, wasm }),
      rows,
      read: (file) => readFile(new URL(file, folder)),
      backend: 'simd',
    });
    t.diagnostic(`${passed} of ${rows.length} passed`);
    assert(passed > 0);
    assert.deepEqual(failed, []);
  });
}

test('files that broke a rule once', async () => {
  const folder = new URL('corpus/files/', import.meta.url);
  let loaded = 0;
  for (const name of readdirSync(folder)) {
    /** @param {() => any} job */
    const only = (job) =>
      Promise.resolve()
        .then(job)
        .catch((e) => void assert(e instanceof RushlightError && !trapped(e), `${name}: ${e.stack}`));
    const model = await only(() =>
      load(readFileSync(new URL(name, folder)), { wasm, limits: { bytes: 1 << 28, steps: 2000 } }),
    );
    if (!model) continue;
    for (const job of [() => model.describe(), () => model.describeText(), () => model.verify(), () => model.state()])
      await only(job);
    model.dispose();
    loaded++;
  }
  assert(loaded > 0);
});
