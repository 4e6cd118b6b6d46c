// A rule: an expression as a deterministic automaton of bytes, which is built as far as it is used.

import { badArgument } from '../base/errors.js';
import { MAX_STATES, Nfa } from './nfa.js';

/**
 * @typedef {object} State a state of a rule
 * @property {Int32Array} nodes states of its NFA that the rule may be in
 * @property {boolean} accepts whether the rule may end here
 * @property {boolean} moves whether a byte may follow in this rule
 * @property {[Rule, State][]} calls rules that may begin here, and the states that follow them
 * @property {(State | null)[]} next the states after each byte; null if the byte is not allowed
 */

/** An expression that other rules can call. A rule may call itself. */
export class Rule {
  #expression;
  /** @type {Nfa | undefined} */ #nfa;
  #first = 0;
  /** @type {Map<string, State>} */ #states = new Map();
  /** @type {State | undefined} */ #start;

  /** @param {() => import('./expressions.js').Expression} expression it may call this rule */
  constructor(expression) {
    this.#expression = expression;
  }

  /** The automaton. Its states that cannot lead to an end have no edges to them. @returns {Nfa} */
  get nfa() {
    if (!this.#nfa) {
      this.#nfa = new Nfa();
      this.#first = this.#nfa.compile(this.#expression(), 0);
    }
    return this.#nfa;
  }

  /** The number of states of the automaton that the rule begins in. */
  get first() {
    void this.nfa;
    return this.#first;
  }

  get start() {
    return (this.#start ??= this.#state([this.first]));
  }

  /** Returns the state after a byte. @param {State} state @param {number} byte @returns {State | null} */
  next(state, byte) {
    const known = state.next[byte];
    if (known !== undefined) return known;
    /** @type {number[]} */ const targets = [];
    for (const node of state.nodes)
      for (const [from, to, target] of this.nfa.nodes[node]?.edges ?? [])
        if (byte >= from && byte <= to) targets.push(target);
    return (state.next[byte] = targets.length ? this.#state(targets) : null);
  }

  /** Returns a state that allows the same texts of at most `most` bytes. @param {State} state @param {number} most */
  similar(state, most) {
    return this.#state(Array.from(state.nodes, (node) => this.nfa.similar(node, most)));
  }

  /** Returns the state of some states of the automaton. @param {number[]} nodes @returns {State} */
  #state(nodes) {
    const all = new Set(nodes);
    for (const node of all) for (const target of this.nfa.nodes[node]?.empty ?? []) all.add(target);
    const sorted = Int32Array.from(all).sort(),
      key = sorted.join();
    let state = this.#states.get(key);
    if (!state) {
      if (this.#states.size >= MAX_STATES)
        throw badArgument(
          `generate: a regular expression or schema must need at most ${MAX_STATES} states, got more: make its ` +
            'alternatives differ earlier',
          { expected: MAX_STATES },
        );
      const found = Array.from(sorted, (node) => /** @type {import('./nfa.js').Node} */ (this.nfa.nodes[node]));
      state = { nodes: sorted, accepts: all.has(0), moves: found.some((n) => n.edges.length > 0), calls: [], next: [] };
      this.#states.set(key, state);
      state.calls = found.flatMap(({ calls }) => calls).map(([rule, after]) => [rule, this.#state([after])]);
    }
    return state;
  }
}

/**
 * Removes all edges to states that cannot lead to an end, from a rule and the rules that it calls. Without them, a
 * recursive schema could lead into an endless answer.
 * @param {Rule} root @returns {boolean} whether the rule has an end
 */
export function trim(root) {
  const rules = new Set([root]);
  for (const { nfa } of rules) for (const { calls } of nfa.nodes) for (const [rule] of calls) rules.add(rule);
  /** @type {Map<Rule, Set<number>>} */ const live = new Map([...rules].map((rule) => [rule, new Set([0])]));
  const ends = (/** @type {Rule} */ rule, /** @type {number} */ node) => live.get(rule)?.has(node) ?? false;
  for (let more = true; more;) {
    more = false;
    for (const rule of rules)
      rule.nfa.nodes.forEach(({ edges, empty, calls }, node) => {
        if (ends(rule, node)) return;
        const leads =
          edges.some(([, , to]) => ends(rule, to)) ||
          empty.some((to) => ends(rule, to)) ||
          calls.some(([called, to]) => ends(rule, to) && ends(called, called.first));
        if (leads) {
          live.get(rule)?.add(node);
          more = true;
        }
      });
  }
  for (const rule of rules)
    for (const node of rule.nfa.nodes) {
      node.edges = node.edges.filter(([, , to]) => ends(rule, to));
      node.empty = node.empty.filter((to) => ends(rule, to));
      node.calls = node.calls.filter(([called, to]) => ends(rule, to) && ends(called, called.first));
    }
  return ends(root, root.first);
}
