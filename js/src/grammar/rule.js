// A rule: an expression as a deterministic automaton of bytes, which is built as far as it is used.

import { badArgument } from '../base/errors.js';
import { MAX_STATES, Nfa, tooManyStates } from './nfa.js';

/** The most states of the automata of all rules of a grammar. */
export const MAX_ALL_STATES = 5 * MAX_STATES;
/** The most work of a rule: edges that are compared with a byte, and states, which also need memory. */
const MAX_WORK = 5e8,
  WORK_OF_STATE = 50;

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
  #work = 0;

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
    for (const node of state.nodes) {
      const edges = this.nfa.nodes[node]?.edges ?? [];
      this.#count(edges.length);
      for (const [from, to, target] of edges) if (byte >= from && byte <= to) targets.push(target);
    }
    return (state.next[byte] = targets.length ? this.#state(targets) : null);
  }

  /** Returns a state that allows the same texts of at most `most` bytes. @param {State} state @param {number} most */
  similar(state, most) {
    return this.#state(Array.from(state.nodes, (node) => this.nfa.similar(node, most)));
  }

  /** @param {number} work */
  #count(work) {
    this.#work += work;
    if (this.#work > MAX_WORK)
      throw badArgument(
        'generate: a regular expression or schema must need less work: use smaller repetitions, and make its ' +
          'alternatives differ earlier',
      );
  }

  /** Returns the state of some states of the automaton. @param {number[]} nodes @returns {State} */
  #state(nodes) {
    const all = new Set(nodes);
    for (const node of all) for (const target of this.nfa.nodes[node]?.empty ?? []) all.add(target);
    this.#count(WORK_OF_STATE * all.size);
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

/** Returns a rule and all rules that it calls. @param {Rule} root */
function rulesFrom(root) {
  const rules = new Set([root]);
  let states = 0;
  for (const { nfa } of rules) {
    states += nfa.nodes.length;
    if (states > MAX_ALL_STATES) throw tooManyStates(MAX_ALL_STATES);
    for (const { calls } of nfa.nodes) for (const [rule] of calls) rules.add(rule);
  }
  return rules;
}

/** @typedef {[Rule, number]} Place a state of the automaton of a rule */

/**
 * Returns the states that may become live if another one does: those before each state, and the calls of each rule.
 * @param {Set<Rule>} rules
 */
function dependents(rules) {
  /** @type {Map<Rule, Place[][]>} */ const before = new Map();
  for (const rule of rules) before.set(rule, []);
  const add = (/** @type {Rule} */ rule, /** @type {number} */ to, /** @type {Place} */ place) => {
    const places = /** @type {Place[][]} */ (before.get(rule));
    (places[to] ??= []).push(place);
  };
  for (const rule of rules)
    rule.nfa.nodes.forEach(({ edges, empty, calls }, node) => {
      for (const [, , to] of edges) add(rule, to, [rule, node]);
      for (const to of empty) add(rule, to, [rule, node]);
      for (const [called, to] of calls) {
        add(rule, to, [rule, node]);
        add(called, called.first, [rule, node]);
      }
    });
  return before;
}

/**
 * Returns the states that lead to an end.
 * @param {Set<Rule>} rules @returns {Map<Rule, Set<number>>}
 */
function liveStates(rules) {
  /** @type {Map<Rule, Set<number>>} */ const live = new Map([...rules].map((rule) => [rule, new Set()]));
  const ends = (/** @type {Rule} */ rule, /** @type {number} */ node) => live.get(rule)?.has(node) ?? false,
    before = dependents(rules),
    /** @type {Place[]} */ open = [...rules].map((rule) => [rule, 0]);
  for (let place = open.pop(); place; place = open.pop()) {
    const [rule, node] = place;
    if (ends(rule, node)) continue;
    const { edges, empty, calls } = /** @type {import('./nfa.js').Node} */ (rule.nfa.nodes[node]);
    const leads =
      node === 0 ||
      edges.some(([, , to]) => ends(rule, to)) ||
      empty.some((to) => ends(rule, to)) ||
      calls.some(([called, to]) => ends(rule, to) && ends(called, called.first));
    if (!leads) continue;
    live.get(rule)?.add(node);
    for (const other of before.get(rule)?.[node] ?? []) open.push(other);
  }
  return live;
}

/**
 * Removes all edges to states that cannot lead to an end, from a rule and the rules that it calls. Without them, a
 * recursive schema could lead into an endless answer.
 * @param {Rule} root @returns {boolean} whether the rule has an end
 */
export function trim(root) {
  const rules = rulesFrom(root),
    live = liveStates(rules);
  const ends = (/** @type {Rule} */ rule, /** @type {number} */ node) => live.get(rule)?.has(node) ?? false;
  for (const rule of rules)
    for (const node of rule.nfa.nodes) {
      node.edges = node.edges.filter(([, , to]) => ends(rule, to));
      node.empty = node.empty.filter((to) => ends(rule, to));
      node.calls = node.calls.filter(([called, to]) => ends(rule, to) && ends(called, called.first));
    }
  return ends(root, root.first);
}
