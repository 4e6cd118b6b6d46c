// What a test shows a user of PyTorch, for the table of FEATURES.md: called at the test's end. See ../features.py.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { RUSH_FEATURES } = process.env;
const runs = RUSH_FEATURES ? pathToFileURL(`${RUSH_FEATURES}/`) : new URL('../../build/features/', import.meta.url);

/** @param {string} topic @param {string} name @param {{ maxAbs?: number }} [seen] the largest difference to PyTorch */
export function shown(topic, name, { maxAbs } = {}) {
  const test = `js: ${topic}: ${name}`;
  mkdirSync(runs, { recursive: true });
  const file = `${createHash('sha256').update(test).digest('hex').slice(0, 16)}.json`;
  writeFileSync(new URL(file, runs), JSON.stringify({ test, outcome: 'passed', max_abs: maxAbs ?? null, kept: false, pytorch: '', rushlight: '' }));
}
