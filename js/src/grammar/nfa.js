// A nondeterministic automaton of bytes, which is compiled from an expression. Each state is compiled before the
// states that lead to it, so that the end of an expression is shared.

import { badArgument } from '../base/errors.js';
import { common } from './expressions.js';

/**
 * @typedef {import('./expressions.js').Expression} Expression
 * @typedef {import('./expressions.js').Range} Range
 *
 * @typedef {object} Node a state
 * @property {[number, number, number][]} edges first byte, last byte, next state
 * @property {number[]} empty states that it leads to without a byte
 * @property {[import('./rule.js').Rule, number][]} calls rules, and the states that follow them
 */

/** The most states of an automaton. */
export const MAX_STATES = 20_000;

/** Returns the error of a grammar that is too large. @param {number} most states */
export const tooManyStates = (most) =>
  badArgument(
    `generate: a regular expression or schema must need at most ${most} states, got more: use smaller repetitions`,
    { expected: most },
  );

/** The code points of UTF-8 by their number of bytes: the last one, and the bits of the first byte. */
const LENGTHS = [
  [0x7f, 0],
  [0x7ff, 0xc0],
  [0xffff, 0xe0],
  [0x10ffff, 0xf0],
];
/** @type {Range[]} */ const CHARACTERS = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
];

/** An automaton under construction. State 0 accepts. */
export class Nfa {
  /** @type {Node[]} */ nodes = [{ edges: [], empty: [], calls: [] }];
  /** Copies of a repeated expression: the first state of the last copy, and the size and number of copies. */
  #copies = /** @type {[number, number, number][]} */ ([]);

  /** @param {Partial<Node>} node */
  add(node) {
    if (this.nodes.length >= MAX_STATES) throw tooManyStates(MAX_STATES);
    return this.nodes.push({ edges: [], empty: [], calls: [], ...node }) - 1;
  }

  /** Compiles an expression. Returns its first state. @param {Expression} e @param {number} next @returns {number} */
  compile(e, next) {
    switch (e.kind) {
      case 'text':
        return new TextEncoder().encode(e.text).reduceRight((to, b) => this.add({ edges: [[b, b, to]] }), next);
      case 'points':
        return this.#points(e.ranges, next);
      case 'sequence':
        return e.items.reduceRight((to, item) => this.compile(item, to), next);
      case 'choice':
        return this.add({ empty: e.items.map((item) => this.compile(item, next)) });
      case 'repeat':
        return this.#repeat(e.item, e.least, e.most, next);
      case 'members':
        return this.#members(e.items, e.separator, next);
      case 'call':
        return this.add({ calls: [[e.rule, next]] });
    }
  }

  /** @param {Expression} item @param {number} least @param {number} most @param {number} next */
  #repeat(item, least, most, next) {
    let at = next;
    if (most === Infinity) {
      at = this.add({ empty: [next] });
      this.nodes[at]?.empty.push(this.compile(item, at));
    } else at = this.#times(most - least, at, (to) => this.add({ empty: [next, this.compile(item, to)] }));
    return this.#times(least, at, (to) => this.compile(item, to));
  }

  /** @param {number} count @param {number} next @param {(next: number) => number} copy */
  #times(count, next, copy) {
    const from = this.nodes.length;
    let at = next;
    for (let n = 0; n < count; n++) {
      const states = this.nodes.length;
      at = copy(at);
      if (this.nodes.length === states) return at; // further copies of nothing change nothing
    }
    if (count > 1) this.#copies.push([from, (this.nodes.length - from) / count, count]);
    return at;
  }

  /**
   * Returns the state that allows the same texts of at most `most` bytes: in copies of a repeated expression, the one
   * that has only `most` copies behind it.
   * @param {number} node @param {number} most
   */
  similar(node, most) {
    for (const [from, size, count] of this.#copies) {
      const copy = Math.floor((node - from) / size);
      if (copy > most && copy < count) node -= (copy - most) * size;
    }
    return node;
  }

  /**
   * Two states for each member: one for the first member of the object, and one after another member.
   * @param {import('./expressions.js').Member[]} items @param {Expression} separator @param {number} next
   */
  #members(items, separator, next) {
    let first = next,
      later = next;
    for (const { expression, required, repeats } of [...items].reverse()) {
      const after = repeats ? this.add({ empty: [later] }) : later,
        begin = this.compile(expression, after),
        separated = this.compile(separator, begin);
      if (repeats) this.nodes[after]?.empty.push(separated);
      first = required ? begin : this.add({ empty: [begin, first] });
      later = required ? separated : this.add({ empty: [separated, later] });
    }
    return first;
  }

  /** @param {Range[]} ranges @param {number} next */
  #points(ranges, next) {
    /** @type {Node['edges']} */ const edges = [];
    /** @type {Map<string, number>} */ const tails = new Map();
    const known = common(ranges, CHARACTERS);
    if (known.length === 0) throw badArgument('generate: a character class must have at least one character');
    for (const [from, to] of known)
      LENGTHS.forEach(([last = 0, lead = 0], i) => {
        const low = Math.max(from, i ? /** @type {number} */ (LENGTHS[i - 1]?.[0]) + 1 : 0),
          high = Math.min(to, last);
        if (low <= high) this.#bytes(edges, tails, low, high, i, lead, next);
      });
    return this.add({ edges });
  }

  /**
   * Adds edges for the code points from `low` to `high`, which have `more` bytes after the first one. Ranges are split
   * until each byte has its own range.
   * @param {Node['edges']} edges @param {Map<string, number>} tails states by their ranges of bytes
   * @param {number} low @param {number} high @param {number} more @param {number} lead bits of the first byte
   * @param {number} next
   */
  #bytes(edges, tails, low, high, more, lead, next) {
    const shift = 6 * more,
      size = 2 ** shift;
    for (let at = low; at <= high;) {
      const whole = at % size === 0 && high - at >= size - 1,
        end = whole ? at + Math.floor((high - at + 1) / size) * size - 1 : Math.min(high, at - (at % size) + size - 1);
      const to = more ? this.#tail(tails, at % size, end % size, more - 1, next) : next;
      edges.push([lead | (at >> shift), lead | (end >> shift), to]);
      at = end + 1;
    }
  }

  /**
   * @param {Map<string, number>} tails @param {number} low @param {number} high @param {number} more
   * @param {number} next
   */
  #tail(tails, low, high, more, next) {
    const key = `${low} ${high} ${more}`;
    let state = tails.get(key);
    if (state === undefined) {
      /** @type {Node['edges']} */ const edges = [];
      this.#bytes(edges, tails, low, high, more, 0x80, next);
      state = this.add({ edges });
      tails.set(key, state);
    }
    return state;
  }
}
