// Replays .rush files in Node: replay.mjs FILE.. prints a line of JSON for each, [file, [a message, or null, per
// vector]].

import { readFile } from 'node:fs/promises';

import { load } from '../../js/src/index.js';

for (const file of process.argv.slice(2)) {
  let messages;
  try {
    const model = await load(await readFile(file), { backend: 'simd' });
    const { tests } = await model.verify();
    messages = tests.map((t) => (t.passed ? null : t.message));
    model.dispose();
  } catch (e) {
    messages = e instanceof Error ? e.message : String(e);
  }
  process.stdout.write(`${JSON.stringify([file, messages])}\n`);
}
