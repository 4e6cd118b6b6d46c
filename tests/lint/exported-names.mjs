// An ESLint rule: a module must export each name that another module imports from it. Unlike the rule "named" of
// eslint-plugin-import, it also reads `const { name } = await import('…')`, addresses on the test server, such as
// '/js/src/index.js', and the names of this package.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'espree';

const TOP = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGE = JSON.parse(readFileSync(join(TOP, 'js/package.json'), 'utf8'));

/** Files that a build or npm makes. The lint runs without them. */
const MADE = /\/node_modules\/|\.wasm$/;

/** The source file of an entry of this package, such as 'rushlight/image'. @param {string} name */
function entryOf(name) {
  const entry = PACKAGE.exports[name.replace(PACKAGE.name, '.')];
  const file = entry?.import ?? entry?.default ?? entry;
  return typeof file === 'string' ? join(TOP, 'js', file) : undefined;
}

/** The file that an import names; undefined for a package of others. @param {string} from @param {string} name */
function fileOf(from, name) {
  if (/^\.{1,2}\//.test(name)) return resolve(dirname(from), name);
  if (name.startsWith('/')) return join(TOP, name);
  return name === PACKAGE.name || name.startsWith(`${PACKAGE.name}/`) ? entryOf(name) : undefined;
}

/** @type {Map<string, Set<string> | undefined>} */
const known = new Map();

/** The exported names of a file; undefined if it is not an ES module that can be read here. @param {string} file */
function exportsOf(file) {
  if (!known.has(file)) {
    known.set(file, new Set()); // for files that export each other's names
    known.set(file, /\.m?js$/.test(file) ? readExports(file) : undefined);
  }
  return known.get(file);
}

/** The names that a pattern or a declaration defines. @param {any} node @returns {string[]} */
function defined(node) {
  if (!node) return [];
  if (node.type === 'Identifier') return [node.name];
  if (node.declarations) return node.declarations.flatMap((/** @type {any} */ d) => defined(d.id));
  if (node.properties) return node.properties.flatMap((/** @type {any} */ p) => defined(p.value ?? p.argument));
  if (node.elements) return node.elements.flatMap(defined);
  return defined(node.id ?? node.left ?? node.argument);
}

/** @param {any} node an identifier or a string */
const nameOf = (node) => node.name ?? node.value;

/** @param {string} file @returns {Set<string> | undefined} */
function readExports(file) {
  const names = new Set();
  const tree = parse(readFileSync(file, 'utf8'), {
    ecmaVersion: 'latest',
    sourceType: 'module',
    ecmaFeatures: { jsx: true },
  });
  const isModule = tree.body.some((/** @type {any} */ node) => /^(Ex|Im)port/.test(node.type));
  for (const node of /** @type {any[]} */ (tree.body)) {
    if (node.type === 'ExportDefaultDeclaration') names.add('default');
    if (node.type === 'ExportNamedDeclaration') {
      for (const name of defined(node.declaration)) names.add(name);
      for (const { exported } of node.specifiers) names.add(nameOf(exported));
    }
    if (node.type === 'ExportAllDeclaration' && node.exported) names.add(nameOf(node.exported));
    else if (node.type === 'ExportAllDeclaration') {
      const all = fileOf(file, node.source.value);
      const more = all && existsSync(all) ? exportsOf(all) : undefined;
      if (!more) return undefined;
      for (const name of more) if (name !== 'default') names.add(name);
    }
  }
  return isModule ? names : undefined;
}

/** What a rule does for one file. @param {any} context */
function create(context) {
  const from = context.filename;
  const check = (/** @type {any} */ node, /** @type {unknown} */ source, /** @type {any[]} */ names) => {
    const file = typeof source === 'string' ? fileOf(from, source) : undefined;
    if (!file) return;
    if (!existsSync(file) || !statSync(file).isFile()) {
      if (!source.startsWith('/') && !MADE.test(file)) context.report({ node, message: `there is no file ${source}` });
      return;
    }
    const exported = exportsOf(file);
    for (const name of names) {
      if (exported && !exported.has(nameOf(name)))
        context.report({ node: name, message: `${source} must export ${nameOf(name)}, which is imported here` });
    }
  };
  return {
    /** @param {any} node */
    ImportDeclaration(node) {
      const names = node.specifiers.map((/** @type {any} */ s) =>
        s.type === 'ImportDefaultSpecifier' ? { ...s, name: 'default' } : s.imported,
      );
      check(node, node.source.value, names.filter(Boolean));
    },
    /** @param {any} node */
    ExportNamedDeclaration(node) {
      if (node.source)
        check(
          node,
          node.source.value,
          node.specifiers.map((/** @type {any} */ s) => s.local),
        );
    },
    /** `const { a } = await import('…')`. @param {any} node */
    VariableDeclarator({ id, init }) {
      const call = init?.type === 'AwaitExpression' ? init.argument : undefined;
      if (call?.type !== 'ImportExpression' || id.type !== 'ObjectPattern') return;
      const keys = id.properties.map((/** @type {any} */ p) => p.key);
      check(call, call.source.value, keys.filter(Boolean));
    },
    /** `(await import('…')).a`. @param {any} node */
    MemberExpression({ object, property, computed }) {
      const call = object.type === 'AwaitExpression' && !computed ? object.argument : undefined;
      if (call?.type === 'ImportExpression') check(call, call.source.value, [property]);
    },
  };
}

export default { rules: { 'exported-names': { meta: { type: 'problem', schema: [] }, create } } };
