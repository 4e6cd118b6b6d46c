// The rules on `any` find it in each form of a JSDoc comment, and accept only a line with a reason.

import { Linter, RuleTester } from 'eslint';
import assert from 'node:assert/strict';
import plugin from './any-types.mjs';

const refused = (/** @type {string} */ code) => ({
  code,
  errors: [{ message: 'a type must not be any without a reason' }],
});
const unexplained = (/** @type {string} */ code) => ({
  code,
  errors: [{ message: 'a disabled rule must have a reason, after " -- "' }],
});

new RuleTester().run('any', plugin.rules.any, {
  valid: [
    '/** @param {unknown} v any value */ const f = (v) => v;',
    '/** @type {{ any: number, any?: string }} */ let a;',
    "/** @type {'any' | typeof x.any | Many | any_ } */ let a;",
    '/* @type {any} */ let a;',
    '// @type {any}\nlet a;',
  ],
  invalid: [
    refused('/** @type {any} */ let a;'),
    refused('const b = /** @type {any} */ (a).b;'),
    refused('/** Copies a value. @param {number} n @param {any} v @returns {number} */ const f = (n, v) => n;'),
    refused('/**\n * @typedef {object} A\n * @property {Map<string,\n *   any>} map\n */'),
    refused('/** @typedef {{ a: { b: number }, c: any[] }} A */'),
    refused('/** @template {any} T */'),
  ],
});

new RuleTester().run('reason', plugin.rules.reason, {
  valid: [
    '/** any -- no directive */ let a;',
    '// eslint-disable-next-line no-var -- a script for old browsers\nvar a;',
  ],
  invalid: [
    unexplained('// eslint-disable-next-line no-var\nlet a;'),
    unexplained('// eslint-disable-next-line no-var -- reason\nlet a;'),
    unexplained('/* eslint-disable */ let a;'),
  ],
});

const found = (/** @type {string} */ code) =>
  new Linter()
    .verify(code, [
      {
        plugins: { types: plugin },
        linterOptions: { reportUnusedDisableDirectives: 'error' },
        rules: { 'types/any': 'error', 'types/reason': 'error' },
      },
    ])
    .map(({ ruleId }) => ruleId);
const line = '// eslint-disable-next-line types/any';
assert.deepEqual(found(`${line} -- no types exist\n/**\n * @typedef {any} A\n */`), []);
assert.deepEqual(found(`${line} -- no types exist\nconst a = /** @type {any} */ (b);`), []);
assert.deepEqual(found(`${line}\n/** @typedef {any} A */`), ['types/reason']);
assert.deepEqual(found(`${line} -- no types exist\n/** @typedef {unknown} A */`), [null]);
