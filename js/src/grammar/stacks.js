// Positions in a grammar: states of rules, each above the state of the rule that has called it. A structured answer may
// be at several positions at once.

import { badArgument } from '../base/errors.js';

/** @typedef {import('./rule.js').Rule} Rule @typedef {import('./rule.js').State} State */

/** The most positions of an answer at once. */
export const MAX_POSITIONS = 512;

/** @param {number} positions */
function checkPositions(positions) {
  if (positions > MAX_POSITIONS)
    throw badArgument(
      `generate: the beginning of an answer must fit a schema in at most ${MAX_POSITIONS} ways, got more: make the ` +
        'alternatives of anyOf differ earlier',
      { expected: MAX_POSITIONS },
    );
}

/** Tests whether nothing can follow in a rule. @param {State} state */
const isEnd = ({ accepts, moves, calls }) => accepts && !moves && calls.length === 0;

/** A position. Equal positions are the same object. */
export class Stack {
  /** @type {Map<State, Stack>} */ #above = new Map();
  /** @type {Stack[] | undefined} */ #all;
  /** @type {Stack[][]} */ #after = [];
  /** The tokens that may follow. @type {Uint32Array | undefined} */ mask;

  /**
   * @param {Rule | null} rule null for the end of the answer @param {State | null} state
   * @param {Stack | null} below
   */
  constructor(rule, state, below) {
    this.rule = rule;
    this.state = state;
    this.below = below;
  }

  /** @param {Rule} rule @param {State} state @returns {Stack} */
  push(rule, state) {
    let stack = this.#above.get(state);
    if (!stack) this.#above.set(state, (stack = new Stack(rule, state, this)));
    return stack;
  }

  /** This position, and all others that it leads to without a byte: called rules, and ends of rules. */
  get all() {
    if (!this.#all) {
      const all = new Set([/** @type {Stack} */ (this)]);
      for (const { rule, state, below } of all) {
        if (!rule || !state || !below) continue;
        if (state.accepts) all.add(below);
        // A rule that ends with a call is left before it, so that chains of rules do not multiply positions.
        for (const [called, after] of state.calls)
          all.add((isEnd(after) ? below : below.push(rule, after)).push(called, called.start));
        checkPositions(all.size);
      }
      this.#all = [...all];
    }
    return this.#all;
  }

  /** Returns the positions after a byte. @param {number} byte @returns {Stack[]} */
  after(byte) {
    return (this.#after[byte] ??= this.all.flatMap(({ rule, state, below }) => {
      const next = rule && state && rule.next(state, byte);
      return next ? [/** @type {Stack} */ (below).push(rule, next)] : [];
    }));
  }
}

/** Returns the position behind the end of an answer. */
export const end = () => new Stack(null, null, null);

/** Returns the positions after a byte. @param {Stack[]} stacks @param {number} byte @returns {Stack[]} */
export function step(stacks, byte) {
  if (stacks.length === 1) return /** @type {Stack} */ (stacks[0]).after(byte);
  const next = new Set(stacks.flatMap((stack) => stack.after(byte)));
  checkPositions(next.size);
  return [...next];
}
