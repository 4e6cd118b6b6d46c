// A conversation with SmolLM2: converts text to tokens, adds the model's chat template, and converts tokens to text.

import { generate } from './generate.js';

/** The letters that represent bytes in tokens: {letter: byte}. */
const BYTES = new Map();
for (let byte = 0, other = 256; byte < 256; byte++) {
  const shown = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  BYTES.set(String.fromCodePoint(shown ? byte : other++), byte);
}

/**
 * @param {any} Tokenizer the class of that name from @huggingface/tokenizers
 * @param {any} json tokenizer.json
 */
export function makeTokenizer(Tokenizer, json) {
  const tokenizer = new Tokenizer(json, {});
  /** @type {string[]} */
  const tokens = [];
  for (const [token, id] of Object.entries(json.model.vocab)) tokens[/** @type {number} */ (id)] = token;
  const special = new Set(json.added_tokens.map((/** @type {{ id: number }} */ { id }) => id));
  return {
    /** @type {(text: string) => number[]} */
    encode: (text) => tokenizer.encode(text).ids,
    /**
     * Returns a function that gives the text completed by the next token. A letter may consist of several tokens.
     * @returns {(token: number) => string}
     */
    decoder: () => {
      const decoder = new TextDecoder();
      return (token) =>
        special.has(token)
          ? ''
          : decoder.decode(
              Uint8Array.from(tokens[token], (letter) => BYTES.get(letter)),
              { stream: true },
            );
    },
  };
}

/** A conversation whose questions and answers are in the model's cache. */
export class Conversation {
  #model;
  #tokenizer;
  #chat;
  #length;
  /** @type {number[]} */ #left = []; // tokens that are not in the cache yet
  /** Tokens in the cache. */
  position = 0;

  /**
   * @param {import('../../js/src/index.js').Model} model must not be shared with another conversation
   * @param {ReturnType<typeof makeTokenizer>} tokenizer
   * @param {{ length: number, chat: { system: string, user: string, end: string, after: string } }} manifest
   */
  constructor(model, tokenizer, { length, chat }) {
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#length = length;
    this.#chat = chat;
  }

  /**
   * Yields the answer token by token, with the text that each completes. If it is stopped, the next question follows
   * the partial answer.
   * @param {string} question @param {import('./generate.js').Generating & import('./generate.js').Sampling} [options]
   */
  async *ask(question, options = {}) {
    const { system, user, end, after } = this.#chat,
      { encode, decoder } = this.#tokenizer;
    const [stop] = encode(end),
      text = decoder();
    const before = this.position === 0 ? system : `${this.#left.at(-1) === stop ? '' : end}${after}`;
    const tokens = [...(this.position === 0 ? [] : this.#left), ...encode(before + user.replace('{}', () => question))];
    const room = this.#length - this.position - tokens.length;
    if (room < 1) throw new Error(`The conversation has come to its end, ${this.#length} tokens: begin a new one.`);
    const maxTokens = Math.min(options.maxTokens ?? Infinity, room);
    let run = tokens.length;
    for await (const token of generate(this.#model, tokens, {
      ...options,
      position: this.position,
      stop: [stop],
      maxTokens,
    })) {
      this.position += run;
      run = 1;
      this.#left = [token];
      yield { token, text: text(token) };
    }
  }
}
