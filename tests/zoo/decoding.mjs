// Runs a .rush file step by step in Node: decoding.mjs FILE < what decoding.py tells. Prints {maxAbs}; throws where a step differs.

import { readFileSync } from 'node:fs';

import { load } from '../../js/src/index.js';

/** @param {any} v @returns {any} */
const typed = (v) => (Array.isArray(v) ? v.map(typed)
  : { ...v, data: v.dtype === 'int64' ? BigInt64Array.from(v.data, BigInt) : Float32Array.from(v.data) });

const { start, goesRound, steps, want } = JSON.parse(readFileSync(0, 'utf8'));
const model = await load(process.argv[2], { backend: 'simd' });
const given = Object.fromEntries(Object.entries(start).map(([name, value]) => [name, typed(value)]));
let maxAbs = 0;
for (const [i, step] of steps.entries()) {
  const news = Object.fromEntries(Object.entries(step).map(([name, value]) => [name, typed(value)]));
  const outputs = await model.run({ ...given, ...news });
  // transformers' results are dicts; one tensor has no name of its own.
  const came = outputs.output instanceof Map ? Object.fromEntries(outputs.output) : { logits: outputs.output, ...outputs };
  const logits = /** @type {import('../../js/src/index.js').Tensor<'float32'>} */ (came.logits).data;
  want[i].data.forEach((/** @type {number} */ w, /** @type {number} */ j) => {
    const off = Math.abs(logits[j] - w);
    if (!(off <= 1e-5 + 1e-4 * Math.abs(w))) throw new Error(`step ${i}: ${logits[j]} instead of ${w}`);
    maxAbs = Math.max(maxAbs, off);
  });
  if (goesRound) given[goesRound] = came[goesRound];
}
model.dispose();
console.log(JSON.stringify({ maxAbs }));
