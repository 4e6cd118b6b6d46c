// Structured answers: the tokens of an answer that a regular expression, a JSON schema or a list of choices allows.

import { RushlightError, badArgument, describeValue, messageOf } from '../base/errors.js';
import { choice, text } from './expressions.js';
import { MAX_STATES, tooManyStates } from './nfa.js';
import { parseRegex } from './regex.js';
import { Rule, trim } from './rule.js';
import { schemaExpression } from './schema.js';
import { end, step } from './stacks.js';
import { Vocabulary } from './vocabulary.js';

/**
 * @typedef {import('./stacks.js').Stack} Stack
 *
 * @typedef {object} Structure the structure of an answer; one of these
 * @property {object | boolean} [schema] a JSON schema: the answer is JSON that fits
 * @property {string | RegExp} [regex] a regular expression that the whole answer matches
 * @property {readonly string[]} [choices] the possible answers
 */

/** The most grammars of a model that are kept. */
const MAX_GRAMMARS = 16;
/** The most characters of a structure. */
const MAX_TEXT = 1 << 18;

/** @param {unknown} choices */
function choicesExpression(choices) {
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every((c) => typeof c === 'string'))
    throw badArgument(`generate: choices must be an array of at least one string, got ${describeValue(choices)}`);
  if (choices.length > MAX_STATES) throw tooManyStates(MAX_STATES);
  return choice(...choices.map(text));
}

/** @param {unknown} regex */
function regexExpression(regex) {
  if (typeof regex === 'string') return parseRegex(regex, '');
  if (regex instanceof RegExp) return parseRegex(regex.source, regex.flags);
  throw badArgument(`generate: regex must be a string or a RegExp, got ${describeValue(regex)}`);
}

/** @param {Structure} structure @returns {Rule} */
function ruleOf({ schema, regex, choices }) {
  if (schema !== undefined) return new Rule(schemaExpression(schema));
  const expression = regex !== undefined ? regexExpression(regex) : choicesExpression(choices);
  return new Rule(() => expression);
}

/** @param {Structure} structure */
function keyOf({ schema, regex, choices }) {
  let key;
  try {
    key = JSON.stringify([schema ?? null, regex && String(regex), choices ?? null]);
  } catch (e) {
    const [why] = messageOf(e).split('\n');
    throw badArgument(`generate: a schema must be data that JSON.stringify() takes: ${why}`, { cause: e });
  }
  if (key.length > MAX_TEXT)
    throw badArgument(`generate: a structure must have at most ${MAX_TEXT} characters, got ${key.length}`, {
      expected: MAX_TEXT,
      actual: key.length,
    });
  return key;
}

/** Compiles structures for a tokenizer. */
export class Compiler {
  #vocabulary;
  #stops;
  /** @type {Map<string, { start: Stack, end: Stack }>} */ #known = new Map();

  /**
   * @param {import('./vocabulary.js').TokenizerJson} tokenizer
   * @param {readonly number[]} stops tokens that end an answer
   */
  constructor(tokenizer, stops) {
    this.#vocabulary = new Vocabulary(tokenizer, stops);
    this.#stops = stops;
  }

  /** Returns the constraint of an answer. Each structure is compiled once. @param {Structure} structure */
  constraint(structure) {
    const key = keyOf(structure);
    let found = this.#known.get(key);
    if (!found) {
      const rule = ruleOf(structure),
        bottom = end();
      if (!trim(rule)) throw badArgument('generate: the schema must have a finite answer, got one that never ends');
      found = { start: bottom.push(rule, rule.start), end: bottom };
      for (const old of this.#known.keys()) if (this.#known.size >= MAX_GRAMMARS) this.#known.delete(old);
      this.#known.set(key, found);
    }
    return new Constraint(this.#vocabulary, this.#stops, found.start, found.end);
  }
}

/** The state of an answer. */
export class Constraint {
  #vocabulary;
  #stops;
  #stacks;
  #end;
  #utf8 = new TextDecoder();

  /** @param {Vocabulary} vocabulary @param {readonly number[]} stops @param {Stack} start @param {Stack} end */
  constructor(vocabulary, stops, start, end) {
    this.#vocabulary = vocabulary;
    this.#stops = stops;
    this.#stacks = [start];
    this.#end = end;
  }

  /** Whether the answer may end here. */
  get #accepts() {
    return this.#stacks.some((stack) => stack.all.includes(this.#end));
  }

  /** Whether the answer must end here. */
  get complete() {
    return this.#accepts && this.#stacks.every((stack) => stack.all.every(({ state }) => !state?.moves));
  }

  /** @param {string} bytes */
  #after(bytes) {
    let stacks = this.#stacks;
    for (let i = 0; i < bytes.length && stacks.length; i++) stacks = step(stacks, bytes.charCodeAt(i));
    return stacks;
  }

  /** Tests whether a token may follow. @param {number} token */
  allows(token) {
    if (this.#stops.includes(token)) return this.#accepts;
    const bytes = this.#vocabulary.bytes[token];
    return Boolean(bytes) && this.#after(/** @type {string} */ (bytes)).length > 0;
  }

  /**
   * Returns logits in which tokens that may not follow have -Infinity.
   * @param {Float32Array} logits @returns {Float32Array}
   */
  masked(logits) {
    const masks = this.#vocabulary.masks(this.#stacks),
      out = new Float32Array(logits.length).fill(-Infinity),
      words = masks[0]?.length ?? 0;
    let any = this.#accepts && this.#stops.length > 0;
    for (let word = 0; word < words; word++) {
      let left = 0;
      for (const mask of masks) left |= /** @type {number} */ (mask[word]);
      any ||= left !== 0;
      const at = 32 * word;
      if (left === -1) out.set(logits.subarray(at, at + 32), at);
      else
        for (; left; left &= left - 1) {
          const token = at + 31 - Math.clz32(left & -left);
          out[token] = /** @type {number} */ (logits[token]);
        }
    }
    if (this.#accepts) for (const token of this.#stops) out[token] = /** @type {number} */ (logits[token]);
    if (!any)
      throw new RushlightError('unsupported', 'generate: the tokenizer has no token that can continue this answer');
    return out;
  }

  /** Returns the text that a token of the answer completes. @param {number} token */
  add(token) {
    const bytes = this.#vocabulary.bytes[token] ?? '';
    this.#stacks = this.#after(bytes);
    return this.#utf8.decode(
      Uint8Array.from(bytes, (c) => c.charCodeAt(0)),
      { stream: true },
    );
  }

  /** Returns the rest of the text, with U+FFFD for a character that is not complete. */
  end() {
    return this.#utf8.decode();
  }
}
