// The tokens of a tokenizer as bytes, in a tree, and the tokens that may follow a position of a grammar.

import { RushlightError, badArgument } from '../base/errors.js';
import { end, step } from './stacks.js';

/**
 * @typedef {import('./stacks.js').Stack} Stack
 *
 * @typedef {object} Reach the tokens that may follow a state, whatever rule has called its rule
 * @property {Uint32Array} mask tokens that the rule allows up to their last byte, one bit each
 * @property {number[]} exits nodes of the tree at which the rule may have ended before the token does
 *
 * @typedef {{ type?: string, decoders?: DecoderJson[], replacement?: string, pattern?: { String?: string }, content?:
 *   string }} DecoderJson
 *
 * @typedef {object} TokenizerJson the parts of tokenizer.json that are used here
 * @property {{ type: string, vocab: Record<string, number> | [string, number][] }} model
 * @property {{ id: number, content: string, special: boolean }[]} added_tokens
 * @property {DecoderJson | null} decoder
 */

/** Returns the characters of byte-level BPE for the bytes 0 to 255. */
function byteLevel() {
  const visible = (/** @type {number} */ b) => (b > 32 && b < 127) || (b > 160 && b !== 173);
  let other = 256;
  return new Map(
    Array.from({ length: 256 }, (_, b) => [String.fromCharCode(visible(b) ? b : other++), String.fromCharCode(b)]),
  );
}

const BYTE = /^<0x([0-9A-F]{2})>$/;

/** Bytes as a string with a character for each of them. @param {string} text */
const utf8 = (text) =>
  /^[\x00-\x7f]*$/.test(text)
    ? text
    : Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');

/** Returns a function from the text of a token to its bytes. @param {DecoderJson | null} decoder */
function bytesOf(decoder) {
  const decoders = decoder ? [decoder, ...(decoder.decoders ?? [])] : [],
    find = (/** @type {string} */ type) => decoders.find((d) => d.type === type);
  if (find('ByteLevel')) {
    const bytes = byteLevel();
    return (/** @type {string} */ token) => {
      let out = '';
      for (const c of token) {
        const byte = bytes.get(c);
        if (byte === undefined) return utf8(token);
        out += byte;
      }
      return out;
    };
  }
  const { replacement, pattern } = find('Metaspace') ?? find('Replace') ?? {},
    space = replacement ?? pattern?.String,
    fallback = find('ByteFallback');
  if (!fallback && !find('Metaspace'))
    throw new RushlightError(
      'unsupported',
      'generate: a structured answer needs a tokenizer whose decoder is ByteLevel, ByteFallback or Metaspace, got ' +
        (decoder?.type ?? 'none'),
    );
  return (/** @type {string} */ token) => {
    const byte = fallback && BYTE.exec(token)?.[1];
    return byte ? String.fromCharCode(parseInt(byte, 16)) : utf8(space ? token.replaceAll(space, ' ') : token);
  };
}

/** Longer tokens are not used. They are mostly runs of spaces and dashes. */
const LONGEST = 48;

/** The most positions that are tried for one token of an answer. */
const MAX_TRIED = 2e7;

/** The tokens of a tokenizer, without its special tokens. */
export class Vocabulary {
  /** The bytes of each token, as characters; "" for tokens that no structured answer has. @type {string[]} */ bytes =
    [];
  // The tree: a node for each different beginning of a token, in the order of their bytes.
  /** @type {number[]} */ #byte = [];
  /** @type {number[]} */ #depth = [];
  /** The node after all longer beginnings. @type {number[]} */ #end = [];
  /** Tokens in the order of their bytes. @type {number[]} */ #order;
  /** The number of tokens before each node's own ones, and behind them. @type {number[]} */ #from = [];
  /** @type {number[]} */ #to = [];
  #words = 0;
  #tried = 0;
  /** @type {WeakMap<import('./rule.js').State, Reach>} */ #reaches = new WeakMap();

  /** @param {TokenizerJson} tokenizer @param {readonly number[]} without further special tokens */
  constructor({ model, added_tokens, decoder }, without) {
    const bytes = bytesOf(decoder),
      add = (/** @type {number} */ id, /** @type {string} */ text) => {
        this.bytes[id] = text.length > LONGEST ? '' : text;
      };
    if (Array.isArray(model.vocab)) model.vocab.forEach(([token], id) => add(id, bytes(token)));
    else for (const [token, id] of Object.entries(model.vocab)) add(id, bytes(token));
    for (const { id, content, special } of added_tokens) add(id, special ? '' : utf8(content));
    for (const id of without) add(id, '');
    this.#words = (this.bytes.length + 31) >> 5;
    const text = (/** @type {number} */ id) => /** @type {string} */ (this.bytes[id]);
    this.#order = Object.keys(this.bytes).map(Number).filter(text);
    this.#order.sort((a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0));
    this.#build(this.#order.map(text));
  }

  /** @param {string[]} texts */
  #build(texts) {
    /** @type {number[]} */ const path = [];
    const close = (/** @type {number} */ length) => {
      while (path.length > length) this.#end[/** @type {number} */ (path.pop())] = this.#byte.length;
    };
    texts.forEach((text, at) => {
      let same = 0;
      while (same < path.length && this.#byte[/** @type {number} */ (path[same])] === text.charCodeAt(same)) same++;
      close(same);
      for (let i = same; i < text.length; i++) {
        path.push(this.#byte.length);
        this.#byte.push(text.charCodeAt(i));
        this.#depth.push(i);
        this.#from.push(at);
        this.#to.push(at);
      }
      this.#to[/** @type {number} */ (path.at(-1))] = at + 1;
    });
    close(0);
  }

  /**
   * Marks the tokens between two nodes that may follow a position.
   * @param {Uint32Array} mask @param {number} from @param {number} to @param {Stack[]} stacks
   * @param {(node: number, stacks: Stack[]) => void} [visit] is called for each node that may follow
   */
  #walk(mask, from, to, stacks, visit) {
    const base = this.#depth[from] ?? 0,
      levels = [stacks];
    for (let i = from; i < to;) {
      const depth = /** @type {number} */ (this.#depth[i]) - base,
        next = step(/** @type {Stack[]} */ (levels[depth]), /** @type {number} */ (this.#byte[i]));
      if (next.length === 0) {
        i = /** @type {number} */ (this.#end[i]);
        continue;
      }
      this.#tried += next.length;
      if (this.#tried > MAX_TRIED)
        throw badArgument('generate: a schema must need less work: make the alternatives of anyOf differ earlier');
      levels[depth + 1] = next;
      const last = /** @type {number} */ (this.#to[i]);
      for (let k = /** @type {number} */ (this.#from[i]); k < last; k++) {
        const id = /** @type {number} */ (this.#order[k]);
        mask[id >> 5] = /** @type {number} */ (mask[id >> 5]) | (1 << (id & 31));
      }
      visit?.(i, next);
      i++;
    }
  }

  /** @param {import('./rule.js').Rule} rule @param {import('./rule.js').State} state @returns {Reach} */
  #reach(rule, state) {
    let reach = this.#reaches.get(state);
    if (!reach) {
      const similar = rule.similar(state, LONGEST);
      reach = similar === state ? this.#walkRule(rule, state) : this.#reach(rule, similar);
      this.#reaches.set(state, reach);
    }
    return reach;
  }

  /** @param {import('./rule.js').Rule} rule @param {import('./rule.js').State} state @returns {Reach} */
  #walkRule(rule, state) {
    const open = end(),
      mask = new Uint32Array(this.#words),
      exits = /** @type {number[]} */ ([]);
    this.#walk(mask, 0, this.#byte.length, [open.push(rule, state)], (node, stacks) => {
      const longer = /** @type {number} */ (this.#end[node]) > node + 1;
      if (longer && stacks.some((stack) => stack.all.includes(open))) exits.push(node);
    });
    return { mask, exits };
  }

  /** Returns the tokens that may follow positions, one bit each. @param {Stack[]} stacks @returns {Uint32Array[]} */
  masks(stacks) {
    this.#tried = 0;
    return stacks.map((stack) => this.#mask(stack));
  }

  /** @param {Stack} stack @returns {Uint32Array} */
  #mask(stack) {
    if (stack.mask) return stack.mask;
    const { rule, state, below } = stack;
    if (!rule || !state || !below) return (stack.mask = new Uint32Array(this.#words));
    const { mask, exits } = this.#reach(rule, state),
      out = mask.slice();
    if (state.accepts) this.#mask(below).forEach((bits, i) => (out[i] = /** @type {number} */ (out[i]) | bits));
    for (const node of exits) this.#walk(out, node + 1, /** @type {number} */ (this.#end[node]), [below]);
    return (stack.mask = out);
  }
}
