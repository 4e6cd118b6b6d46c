// JSON schemas as expressions of a grammar. Each keyword is either exact or refused.

import { badArgument, describeValue } from '../base/errors.js';
import { call, choice, sequence, text } from './expressions.js';
import { FORMATS } from './formats.js';
import * as json from './json.js';
import { MAX_STATES, tooManyStates } from './nfa.js';
import { integersBetween, numbersBetween } from './numbers.js';
import { parseRegex } from './regex.js';
import { Rule } from './rule.js';

/**
 * @typedef {import('./expressions.js').Expression} Expression
 * @typedef {Record<string, unknown>} Schema
 */

const KEYWORDS = {
  /** Keywords that describe, and allow all values. */
  notes: [
    ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly', '$schema', '$id'],
    ...['$comment', '$defs', 'definitions'],
  ],
  any: ['type', 'enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'additionalProperties'],
};
const KNOWN = Object.values(KEYWORDS).flat();
/** The most schemas inside of each other, the most items of prefixItems, and the most schemas of oneOf. */
const DEEPEST = 400,
  MAX_FIRST = 400,
  MAX_ONE_OF = 256;
/** The longest name of a property beside others. */
const LONGEST_NAME = 256;
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];

/** @param {string} where @param {string} message @returns {never} */
const refuse = (where, message) => {
  throw badArgument(`generate: schema${where}: ${message}`);
};

/** @param {unknown} v @returns {v is Schema} */
const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);

/** @param {Schema} schema @param {string} name @param {string} where @param {number} missing */
function count(schema, name, where, missing) {
  const n = schema[name] ?? missing;
  if (n !== missing && !(Number.isSafeInteger(n) && /** @type {number} */ (n) >= 0))
    refuse(where, `${name} must be an integer of at least 0, got ${describeValue(n)}`);
  return /** @type {number} */ (n);
}

/** Creates an automaton for an expression. @param {Expression} expression */
const ruleOf = (expression) => call(new Rule(() => expression));

/** Compiles the parts of one schema. */
class Reader {
  #root;
  #depth = 0;
  /** Rules by the reference that calls them. @type {Map<string, Rule>} */ #rules = new Map();

  /** @param {unknown} root */
  constructor(root) {
    this.#root = root;
  }

  /**
   * @param {unknown} schema @param {string} where its path @param {readonly string[]} [open] references that lead here
   *   without a character of the answer
   * @returns {Expression}
   */
  expression(schema, where, open = []) {
    if (this.#depth === DEEPEST) refuse('', `schemas must be nested at most ${DEEPEST} deep`);
    this.#depth++;
    const found = this.#expression(schema, where, open);
    this.#depth--;
    return found;
  }

  /** @param {unknown} schema @param {string} where @param {readonly string[]} open @returns {Expression} */
  #expression(schema, where, open) {
    if (schema === true) return call(json.valueRule);
    if (!isObject(schema)) return refuse(where, `a schema must be an object or true, got ${describeValue(schema)}`);
    for (const name of Object.keys(schema))
      if (!KNOWN.includes(name)) refuse(where, `the keyword ${JSON.stringify(name)} is not supported`);
    const alone = ['$ref', 'const', 'enum', 'anyOf', 'oneOf', 'allOf'].filter((name) => name in schema);
    if (alone.length === 0) return this.#typed(schema, where);
    this.#checkAlone(schema, where, alone);
    const [name = ''] = alone,
      value = schema[name];
    if (name === '$ref') return this.#reference(value, where, open);
    if (name === 'const') return text(JSON.stringify(value));
    if (!Array.isArray(value) || value.length === 0)
      return refuse(where, `${name} must be an array of at least one value, got ${describeValue(value)}`);
    if (value.length > MAX_STATES) throw tooManyStates(MAX_STATES);
    if (name === 'enum') return choice(...value.map((v) => text(JSON.stringify(v))));
    if (name === 'allOf' && value.length > 1) refuse(where, 'allOf must have one schema: join them into one');
    if (name === 'oneOf') this.#checkDisjoint(value, where);
    return choice(...value.map((part, i) => this.expression(part, `${where}/${name}/${i}`, open)));
  }

  /** @param {Schema} schema @param {string} where @param {string[]} alone */
  #checkAlone(schema, where, alone) {
    const values = alone[0] === 'const' || alone[0] === 'enum',
      others = Object.keys(schema).filter(
        (name) => name !== alone[0] && !KEYWORDS.notes.includes(name) && !(values && name === 'type'),
      );
    if (others.length) refuse(where, `${alone[0]} must not have ${others[0]} beside it: merge them`);
  }

  /**
   * Refuses schemas of oneOf that one value could fit twice.
   * @param {unknown[]} schemas @param {string} where
   */
  #checkDisjoint(schemas, where) {
    if (schemas.length > MAX_ONE_OF)
      refuse(where, `oneOf must have at most ${MAX_ONE_OF} schemas, got ${schemas.length}: use anyOf`);
    const all = schemas.map((schema) => this.#resolved(schema));
    all.forEach((a, i) =>
      all.slice(0, i).forEach((b) => {
        if (!disjoint(a, b))
          refuse(
            where,
            'oneOf must have schemas of different types, or objects that a required const distinguishes: use anyOf',
          );
      }),
    );
  }

  /** Follows references. @param {unknown} schema @returns {Schema} */
  #resolved(schema) {
    for (let n = 0; n < 100 && isObject(schema) && typeof schema['$ref'] === 'string'; n++)
      schema = this.#find(schema['$ref'], '');
    return isObject(schema) ? schema : {};
  }

  /** @param {string} reference @param {string} where @returns {unknown} */
  #find(reference, where) {
    if (!/^#(\/|$)/.test(reference))
      refuse(where, `$ref must point into the schema, as "#/$defs/name" does, got ${JSON.stringify(reference)}`);
    /** @type {unknown} */ let at = this.#root;
    for (const part of reference.split('/').slice(1)) {
      const name = decoded(part)?.replaceAll('~1', '/').replaceAll('~0', '~');
      if (name === undefined || typeof at !== 'object' || at === null || !Object.hasOwn(at, name))
        return refuse(where, `there is no ${JSON.stringify(reference)} in the schema`);
      at = /** @type {Record<string, unknown>} */ (at)[name];
    }
    return at;
  }

  /** @param {unknown} reference @param {string} where @param {readonly string[]} open @returns {Expression} */
  #reference(reference, where, open) {
    if (typeof reference !== 'string') return refuse(where, `$ref must be a string, got ${describeValue(reference)}`);
    if (open.includes(reference)) refuse(where, `$ref ${JSON.stringify(reference)} must not refer directly to itself`);
    let rule = this.#rules.get(reference);
    if (!rule) {
      const parts = /** @type {Expression[]} */ ([]); // the rule may call itself
      rule = new Rule(() => sequence(...parts));
      this.#rules.set(reference, rule);
      parts.push(this.expression(this.#find(reference, where), reference.slice(1), [...open, reference]));
    }
    return call(rule);
  }

  /** @param {Schema} schema @param {string} where @returns {Expression} */
  #typed(schema, where) {
    const types = schema['type'] === undefined ? this.#implied(schema) : [...new Set([schema['type']].flat())];
    if (types.length === 0) return call(json.valueRule);
    return choice(...types.map((type) => this.#ofType(type, schema, where)));
  }

  /** Types that the keywords of a schema without type are about. @param {Schema} schema */
  #implied(schema) {
    return /** @type {const} */ (['object', 'array', 'string', 'number']).filter((type) =>
      KEYWORDS[type].some((name) => name in schema),
    );
  }

  /** @param {unknown} type @param {Schema} schema @param {string} where @returns {Expression} */
  #ofType(type, schema, where) {
    switch (type) {
      case 'string':
        return this.#string(schema, where);
      case 'integer':
      case 'number':
        return this.#number(type, schema, where);
      case 'boolean':
        return json.boolean;
      case 'null':
        return json.nothing;
      case 'array':
        return this.#array(schema, where);
      case 'object':
        return this.#object(schema, where);
      default:
        return refuse(where, `type must be one of ${TYPES.join(', ')}, got ${describeValue(type)}`);
    }
  }

  /** @param {Schema} schema @param {string} where */
  #string(schema, where) {
    const given = KEYWORDS.string.filter((name) => name in schema),
      { pattern, format } = schema;
    if (given.length === 0) return call(json.stringRule);
    if (pattern === undefined && format === undefined) {
      const least = count(schema, 'minLength', where, 0),
        most = count(schema, 'maxLength', where, Infinity);
      if (least > most) refuse(where, `minLength must be at most maxLength ${most}, got ${least}`);
      return ruleOf(json.stringOfLength(least, most));
    }
    if (given.length > 1) refuse(where, `${given[0]} must not have ${given[1]} beside it`);
    if (pattern !== undefined) {
      if (typeof pattern !== 'string') return refuse(where, `pattern must be a string, got ${describeValue(pattern)}`);
      return ruleOf(json.stringOf(parseRegex(pattern, '', true)));
    }
    const known = Object.hasOwn(FORMATS, String(format)) && FORMATS[String(format)];
    if (!known)
      return refuse(where, `format must be one of ${Object.keys(FORMATS).join(', ')}, got ${describeValue(format)}`);
    return ruleOf(json.stringOf(parseRegex(known, '')));
  }

  /** @param {'integer' | 'number'} type @param {Schema} schema @param {string} where */
  #number(type, schema, where) {
    const given = KEYWORDS.number.filter((name) => name in schema);
    if (given.length === 0) return json[type];
    for (const name of given)
      if (typeof schema[name] !== 'number' || !Number.isFinite(schema[name]))
        refuse(where, `${name} must be a number, got ${describeValue(schema[name])}`);
    const bounds = /** @type {import('./numbers.js').Bounds} */ (schema),
      found = type === 'integer' ? integersBetween(bounds) : numbersBetween(bounds);
    return found ? ruleOf(found) : refuse(where, `${given.join(' and ')} must allow a number of at most 15 digits`);
  }

  /** @param {Schema} schema @param {string} where */
  #array(schema, where) {
    const least = count(schema, 'minItems', where, 0),
      most = count(schema, 'maxItems', where, Infinity),
      { prefixItems = [] } = schema,
      items = schema['items'] ?? !('prefixItems' in schema);
    if (!Array.isArray(prefixItems)) return refuse(where, 'prefixItems must be an array');
    if (prefixItems.length > MAX_FIRST)
      return refuse(where, `prefixItems must have at most ${MAX_FIRST} items, got ${prefixItems.length}`);
    if (Array.isArray(items)) return refuse(where, 'items must be a schema, got an array: use prefixItems');
    const first = prefixItems.map((item, i) => this.expression(item, `${where}/prefixItems/${i}`)),
      item = items === false ? null : this.expression(items, `${where}/items`),
      others = item && ruleOf(item),
      possible = others ? most : Math.min(most, first.length);
    if (least > possible) refuse(where, `minItems must be at most ${possible}, got ${least}`);
    return json.array(first, others, least, most);
  }

  /** @param {Schema} schema @param {string} where */
  #object(schema, where) {
    const { properties = {}, required = [] } = schema;
    if (!isObject(properties)) return refuse(where, `properties must be an object, got ${describeValue(properties)}`);
    if (!Array.isArray(required)) return refuse(where, `required must be an array, got ${describeValue(required)}`);
    const names = Object.keys(properties),
      known = new Set(names),
      needed = new Set(required),
      more = schema['additionalProperties'] ?? names.length === 0,
      extra = [...needed].filter((name) => !known.has(name)),
      rest = more === false ? undefined : this.expression(more, `${where}/additionalProperties`);
    if (extra.length && !rest)
      refuse(where, `required must name properties of the schema, got ${JSON.stringify(extra[0])}`);
    const value = (/** @type {string} */ name) =>
      known.has(name) ? this.expression(properties[name], `${where}/properties/${name}`) : rest;
    const all = [...names, ...extra];
    if (all.length > MAX_STATES) throw tooManyStates(MAX_STATES);
    /** @type {import('./expressions.js').Member[]} */ const items = all.map((name) => ({
      expression: json.member(text(JSON.stringify(name)), /** @type {Expression} */ (value(name))),
      required: needed.has(name),
    }));
    if (rest)
      items.push({ expression: json.member(this.#otherNames(all, where), rest), required: false, repeats: true });
    return json.object(items);
  }

  /** Returns the names of further properties. @param {string[]} names of the others @param {string} where */
  #otherNames(names, where) {
    if (names.length === 0) return call(json.stringRule);
    if (names.some((name) => name.length > LONGEST_NAME))
      refuse(where, `names must have at most ${LONGEST_NAME} characters beside additionalProperties`);
    return json.stringExcept(names);
  }
}

/** @param {string} part of a reference */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** @param {Schema} schema @returns {unknown[]} the types of its values; empty if it may have all */
const typesOf = (schema) =>
  'const' in schema
    ? [typeOf(schema['const'])]
    : Array.isArray(schema['enum'])
      ? schema['enum'].map(typeOf)
      : schema['type'] === undefined
        ? []
        : [schema['type']].flat().map((type) => (type === 'integer' ? 'number' : type));

/** @param {unknown} v */
const typeOf = (v) => (v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v);

/** @param {Schema} schema @returns {unknown[] | undefined} */
const valuesOf = (schema) =>
  'const' in schema ? [schema['const']] : Array.isArray(schema['enum']) ? schema['enum'] : undefined;

/** Tests whether no value can fit both schemas. @param {Schema} a @param {Schema} b @returns {boolean} */
function disjoint(a, b) {
  const [left, right] = [typesOf(a), typesOf(b)];
  if (left.length && right.length && !left.some((type) => right.includes(type))) return true;
  const [some, others] = [valuesOf(a), valuesOf(b)];
  if (some && others) {
    const texts = new Set(others.map((v) => JSON.stringify(v)));
    return !some.some((v) => texts.has(JSON.stringify(v)));
  }
  const required = (/** @type {Schema} */ s) => (Array.isArray(s['required']) ? s['required'] : []);
  const requiredByOther = new Set(required(b));
  return required(a).some((name) => {
    const part = (/** @type {Schema} */ s) => (isObject(s['properties']) ? s['properties'][name] : undefined);
    const [x, y] = [part(a), part(b)];
    return (
      requiredByOther.has(name) && isObject(x) && isObject(y) && Boolean(valuesOf(x) && valuesOf(y)) && disjoint(x, y)
    );
  });
}

/**
 * Returns a function that makes the expression of a schema: JSON, with all space that JSON writers use.
 * @param {unknown} schema @returns {() => Expression}
 */
export function schemaExpression(schema) {
  const expression = new Reader(schema).expression(schema, '');
  return () => expression;
}
