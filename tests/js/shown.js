// Records the features that a test shows, for the table of FEATURES.md: `test(title, shown(topic, name, body))`. See
// ../features.py.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { RUSH_FEATURES } = process.env;
const runs = RUSH_FEATURES ? pathToFileURL(`${RUSH_FEATURES}/`) : new URL('../../build/features/', import.meta.url);

/** The features of which a test has failed. They stay failed if other tests of that name pass. @type {Set<string>} */
const failed = new Set();

/** @param {string} test @param {'passed' | 'failed'} outcome @param {number} [maxAbs] */
function record(test, outcome, maxAbs) {
  if (outcome === 'failed') failed.add(test);
  mkdirSync(runs, { recursive: true });
  const file = `${createHash('sha256').update(test).digest('hex').slice(0, 16)}.json`;
  writeFileSync(
    new URL(file, runs),
    JSON.stringify({
      test,
      outcome: failed.has(test) ? 'failed' : outcome,
      max_abs: maxAbs ?? null,
      kept: false,
      pytorch: '',
      rushlight: '',
    }),
  );
}

/**
 * Returns the body of a test that records the outcome when it has ended. A test that skips itself records nothing.
 * @param {string} topic @param {string} name
 * @param {(t: import('node:test').TestContext) => Promise<{ maxAbs?: number } | void>} body may return the
 *   largest difference from PyTorch
 * @returns {(t: import('node:test').TestContext) => Promise<void>}
 */
export function shown(topic, name, body) {
  if (typeof body !== 'function') throw new TypeError(`shown: the body of '${name}' must be a function, got ${body}`);
  return async (t) => {
    const test = `js: ${topic}: ${name}`,
      skip = t.skip.bind(t);
    let skipped = false;
    t.skip = (message) => {
      skipped = true;
      skip(message);
    };
    try {
      const seen = await body(t);
      if (!skipped) record(test, 'passed', seen?.maxAbs);
    } catch (e) {
      record(test, 'failed');
      throw e;
    }
  };
}
