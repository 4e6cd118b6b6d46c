// Operators that the user computes in JavaScript: what their schemas say.

import { badArgument } from './errors.js';
import { parseType } from './types.js';

/**
 * @typedef {import('./types.js').Type} Type
 * @typedef {import('./types.js').Value} Value
 *
 * @typedef {(...args: any[]) => unknown} OpFunction takes the arguments in the schema's order, defaults filled in, as
 *   results have them; gives the result, an array where there are several, or a promise of it
 * @typedef {object} Op an operator with a schema of its own
 * @property {string} [schema] "my_ops::warp(Tensor x, int n=1) -> Tensor"; by default what the file carries
 * @property {OpFunction} run computes it
 *
 * @typedef {Record<string, OpFunction | Op>} Ops by full name, "my_ops::warp.overload"
 *
 * @typedef {object} Signature
 * @property {{ written: boolean, result: number }[]} args whether the operator writes it, and which result it then is (-1: none)
 * @property {Type[]} results
 */

/** Parts between commas that stand in no bracket. @param {string} text */
function split(text) {
  const parts = [];
  let depth = 0, from = 0;
  for (let i = 0; i < text.length; i++) {
    if ('([{'.includes(text[i] ?? '')) depth++;
    else if (')]}'.includes(text[i] ?? '')) depth--;
    else if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return [...parts, text.slice(from)].map((part) => part.trim()).filter((part) => part && part !== '*');
}

/** "a" of "Tensor(a!) x"; "" without one. @param {string} part */
const alias = (part) => /\(([a-z])!?[^)]*\)/.exec(part.replace(/Dict\(/g, ''))?.[1] ?? '';

/** @param {string} schema "my_ops::f(Tensor(a!) x, int n=1) -> Tensor(a!)" @returns {Signature} */
export function parseSchema(schema) {
  const text = schema.replace(/"[^"]*"|'[^']*'/g, '""');
  const arrow = text.lastIndexOf(') -> ');
  const result = text.slice(arrow + 5).trim();
  const results = result.startsWith('(') ? split(result.slice(1, -1)) : [result];
  const aliases = results.map(alias);
  return {
    args: split(text.slice(text.indexOf('(') + 1, arrow)).map((part) => {
      const written = /\([a-z]!/.test(part);
      return { written, result: written ? aliases.indexOf(alias(part)) : -1 };
    }),
    results: results.map((part) => parseType(part.replace(/\([a-z*](\|[a-z])*!?( -> [a-z*|]+)?\)/g, '').replace(/\bSymInt\b/g, 'int').replace(/\[\d+\]/g, '[]'))),
  };
}

/** Functions and schemas by name. @extends {Map<string, { schema: string, run: import('./ops.js').OpFunction }>} */
export class OpTable extends Map {
  signature = parseSchema;
}

/** The option `ops` of load(). @param {unknown} ops @returns {OpTable} */
export function readOps(ops) {
  if (ops === null || typeof ops !== 'object') throw badArgument("load: `ops` is an object { 'namespace::name': function }");
  return new OpTable(Object.entries(ops).map(([name, given]) => {
    const run = typeof given === 'function' ? given : given?.run;
    const schema = given?.schema ?? name;
    if (typeof run !== 'function') throw badArgument(`load: the operator "${name}" is a function, or { schema, run }`, { op: name });
    if (schema !== name && !String(schema).startsWith(`${name}(`)) {
      throw badArgument(`load: the schema of operator "${name}" begins with "${name}(", not with ${JSON.stringify(String(schema).slice(0, 60))}`, { op: name });
    }
    return [name, { schema, run }];
  }));
}
