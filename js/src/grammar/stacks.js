// Positions in a grammar: states of rules, each above the state of the rule that has called it. A structured answer may
// be at several positions at once.

/** @typedef {import('./rule.js').Rule} Rule @typedef {import('./rule.js').State} State */

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
        for (const [called, after] of state.calls) all.add(below.push(rule, after).push(called, called.start));
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

/** The position behind the end of an answer. */
export const end = () => new Stack(null, null, null);

/** Returns the positions after a byte. @param {Stack[]} stacks @param {number} byte @returns {Stack[]} */
export function step(stacks, byte) {
  if (stacks.length === 1) return /** @type {Stack} */ (stacks[0]).after(byte);
  return [...new Set(stacks.flatMap((stack) => stack.after(byte)))];
}
