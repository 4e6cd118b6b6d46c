// Runs a .rush file in Node. replay.mjs FILE prints {messages, ms, peak}: a message or null for each test vector, the
// shortest of three to twenty runs (fewer if they take more than a second), and the peak memory of the runtime in
// bytes.

import { performance } from 'node:perf_hooks';

import { load } from '../../js/src/index.js';

const model = await load(process.argv[2], { backend: 'simd' });
const first = performance.now();
let ms = Infinity,
  messages;
for (let i = 0; i < 3 || (i < 20 && performance.now() - first < 1000); i++) {
  const begin = performance.now();
  const { tests } = await model.verify();
  ms = Math.min(ms, performance.now() - begin);
  messages = tests.map((t) => (t.passed ? null : t.message));
}
const { peak } = await model.memory();
model.dispose();
console.log(JSON.stringify({ messages, ms, peak }));
