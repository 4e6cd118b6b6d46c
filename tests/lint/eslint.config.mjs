// The rules of `./dev test lint` for JavaScript. TypeScript finds undefined names and wrong types (tests/types).
import js from '@eslint/js';
import types from './any-types.mjs';
import imports from './exported-names.mjs';

export default [
  { ignores: ['build', 'js/bin/page/graph/dagre.js', 'js/cjs', 'js/types', '**/node_modules'] },
  { languageOptions: { parserOptions: { ecmaFeatures: { jsx: true } } } },
  {
    ...js.configs.recommended,
    plugins: { imports, types },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      ...js.configs.recommended.rules,
      'no-undef': 'off',
      'imports/exported-names': 'error',
      'types/reason': 'error',
      'no-control-regex': 'off', // terminals and file formats have control characters
      'no-empty': ['error', { allowEmptyCatch: true }],
      'no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none', ignoreRestSiblings: true },
      ],
      // A regular expression has no second line.
      'max-len': ['error', { code: 120, ignoreRegExpLiterals: true }],
      'no-var': 'error',
      'prefer-const': ['error', { destructuring: 'all' }],
    },
  },
  {
    files: ['js/src/**/*.js', 'js/bin/**/*.js', 'js/isolate.js'],
    rules: {
      'types/any': 'error',
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // Each function more costs bytes in the core, which may have 13,000. A block of SHA-512 is one loop.
    files: ['js/src/engine/load-local.js', 'js/src/engine/values.js', 'js/src/api/graph.js', 'js/src/source/sha2.js'],
    rules: { 'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }] },
  },
  {
    files: ['tests/package/projects/**'], // each is copied to a folder with the package and check.js
    rules: { 'imports/exported-names': 'off' },
  },
];
