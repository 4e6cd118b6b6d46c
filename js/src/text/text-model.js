// A model of text: a model with its tokenizer and its chat template.

import {
  RushlightError,
  badArgument,
  checkInteger,
  checkOptions,
  describeValue,
  throwIfAborted,
} from '../base/errors.js';
import { Decoder, Stops } from './pieces.js';
import { checkSampling, chooser, logProbability, randomNumbers } from './sampling.js';

/**
 * @typedef {import('../api/model.js').Model} Model
 *
 * @typedef {object} Message a message of a conversation
 * @property {string} role such as "user", "assistant" or "system"
 * @property {string} content its text
 *
 * @typedef {object} Generating when an answer ends, and what it holds
 * @property {number} [maxTokens] the most tokens of the answer; by default the room that is left
 * @property {string | readonly string[]} [stop] strings that end the answer, which has none of them
 * @property {number} [seed] the same seed chooses the same tokens
 * @property {boolean} [logProbabilities] computes the probability of each token
 * @property {'error' | 'truncate' | 'slide'} [full] what a full cache does: 'error', which is the default, throws;
 *   'truncate' ends the answer; 'slide' forgets the older half of the tokens
 * @property {AbortSignal} [signal] ends the answer
 *
 * @typedef {import('./sampling.js').Sampling & Generating} GenerateOptions options of generate(). The defaults are
 *   those of the model's generation_config.json
 *
 * @typedef {object} Token a token of an answer
 * @property {number} id its number
 * @property {number} [logProbability] the natural logarithm of its probability, if asked for
 *
 * @typedef {object} Usage numbers of tokens
 * @property {number} prompt tokens of the prompt
 * @property {number} cached those of them that were in the cache, and were not computed again
 * @property {number} answer tokens of the answer, with the one that ends it
 *
 * @typedef {object} TextFacts the asset text.json
 * @property {'generate' | 'embed' | 'classify' | 'tokens'} task
 * @property {number} length the most tokens
 * @property {number[]} [stop] tokens that end an answer
 * @property {string[]} [labels]
 * @property {boolean} [several] whether a text can have several labels
 * @property {boolean} [types] whether the model takes token types
 * @property {Record<string, string>} tokens special tokens by name, such as eos_token
 *
 * @typedef {object} GenerationConfig the asset generation_config.json, as transformers writes it
 * @property {boolean} [do_sample]
 * @property {number} [temperature]
 * @property {number} [top_k]
 * @property {number} [top_p]
 * @property {number} [min_p]
 * @property {number} [repetition_penalty]
 *
 * @typedef {object} Tokenizing what a TextModel needs of the two libraries
 * @property {(text: string, special: boolean, pair?: string) => { ids: number[], token_type_ids?: number[] }} encode
 * @property {(tokens: readonly number[], special?: boolean) => string} decode special: with special tokens
 * @property {(messages: readonly Message[], more: object) => string} render
 *
 * @typedef {object} Label a label of a text
 * @property {string} label its name
 * @property {number} score its probability
 */

const OPTIONS = [
  ...['maxTokens', 'stop', 'seed', 'logProbabilities', 'full', 'signal'],
  ...['temperature', 'topK', 'topP', 'minP', 'repetitionPenalty'],
];

/** An answer that is being written: an iterator of pieces of text, which never split a character. */
export class Answer {
  #pieces;
  /** The reason of the end: a stop token or stop string, or the number of tokens. @type {'stop' | 'length' | null} */
  finishReason = null;
  /** The tokens so far. @type {Token[]} */ tokens = [];
  /** Numbers of tokens. @type {Usage} */ usage = { prompt: 0, cached: 0, answer: 0 };

  /** @param {(answer: Answer) => AsyncGenerator<string, void, void>} write */
  constructor(write) {
    this.#pieces = write(this);
  }

  /** Returns the pieces, for `for await`. */
  [Symbol.asyncIterator]() {
    return this.#pieces;
  }

  /** Waits for the end, and returns the whole text. */
  async text() {
    let text = '';
    for await (const piece of this.#pieces) text += piece;
    return text;
  }
}

/** A model of text. `loadText()` makes it. @hideconstructor */
export class TextModel {
  #facts;
  #tokenizing;
  #defaults;
  /** The tokens whose keys and values are in the cache. @type {number[]} */ #cached = [];
  #busy = false;

  /**
   * @param {Model} model @param {TextFacts} facts @param {Tokenizing} tokenizing
   * @param {GenerationConfig} generation
   */
  constructor(model, facts, tokenizing, generation) {
    /** The model, for `memory()`, `profile()` and the like. */
    this.model = model;
    this.#facts = facts;
    this.#tokenizing = tokenizing;
    this.#defaults = {
      temperature: generation.do_sample ? (generation.temperature ?? 1) : 0,
      topK: generation.top_k ?? 50,
      topP: generation.top_p ?? 1,
      minP: generation.min_p ?? 0,
      repetitionPenalty: generation.repetition_penalty ?? 1,
    };
  }

  /** What the model does: 'generate', 'embed', 'classify', or 'tokens' for labels of tokens. */
  get task() {
    return this.#facts.task;
  }
  /** The most tokens of a conversation, or of a text. */
  get length() {
    return this.#facts.length;
  }
  /** The labels of a classifier. */
  get labels() {
    return [...(this.#facts.labels ?? [])];
  }

  /** Returns the tokens of a text, with the special tokens that the model expects. @param {string} text */
  encode(text) {
    return this.#tokenizing.encode(text, true).ids;
  }
  /** Returns the text of tokens, without special tokens. @param {readonly number[]} tokens */
  decode(tokens) {
    return this.#tokenizing.decode(tokens);
  }
  /**
   * Returns the prompt that the model's chat template makes.
   * @param {readonly Message[]} messages @param {object} [variables] of the template
   */
  applyTemplate(messages, variables = {}) {
    return this.#tokenizing.render(messages, { add_generation_prompt: true, ...this.#facts.tokens, ...variables });
  }

  /** @param {TextFacts['task'][]} tasks @param {string} name */
  #need(tasks, name) {
    if (!tasks.includes(this.task))
      throw new RushlightError('unsupported', `${name}() needs a model for '${tasks[0]}', got one for '${this.task}'`);
  }

  /** @param {unknown} input @returns {number[]} */
  #prompt(input) {
    if (typeof input === 'string') return this.encode(input);
    const fits = (/** @type {unknown} */ m) => typeof (/** @type {Message} */ (m)?.role) === 'string';
    if (!Array.isArray(input) || !input.every(fits))
      throw badArgument(`generate: the input must be a string or an array of messages, got ${describeValue(input)}`);
    return this.#tokenizing.encode(this.applyTemplate(input), false).ids;
  }

  /**
   * Writes an answer. Tokens at the begin of the prompt that are still in the cache are not computed again. One answer
   * is written at a time.
   * @param {string | readonly Message[]} input a text to continue, or a conversation
   * @param {GenerateOptions} [options]
   * @returns {Answer} an async iterator of pieces of text
   * @throws {RushlightError} `bad-argument`, `bad-state` while another answer is written, and the errors of Model.run()
   */
  generate(input, options = {}) {
    this.#need(['generate'], 'generate');
    checkOptions('generate', options, OPTIONS);
    checkSampling(options);
    const { maxTokens, full = 'error', seed } = options;
    if (maxTokens !== undefined) checkInteger('generate: maxTokens', maxTokens, 1);
    if (seed !== undefined) checkInteger('generate: seed', seed, 0);
    if (!['error', 'truncate', 'slide'].includes(full))
      throw badArgument(`generate: full must be 'error', 'truncate' or 'slide', got ${describeValue(full)}`);
    const prompt = this.#prompt(input);
    if (prompt.length === 0) throw badArgument('generate: the prompt must have at least one token, got none');
    return new Answer((answer) => this.#write(answer, prompt, options));
  }

  /** @param {Answer} answer @param {number[]} prompt @param {GenerateOptions} options */
  async *#write(answer, prompt, options) {
    if (this.#busy) throw new RushlightError('bad-state', 'generate: another answer is being written by this model');
    this.#busy = true;
    const decoder = new Decoder((tokens) => this.#tokenizing.decode(tokens)),
      stops = new Stops(typeof options.stop === 'string' ? [options.stop] : (options.stop ?? []));
    try {
      for await (const token of this.#tokens(answer, prompt, options)) {
        if (this.#facts.stop?.includes(token)) {
          answer.finishReason = 'stop';
          break;
        }
        const piece = stops.add(decoder.add(token));
        if (stops.found) answer.finishReason = 'stop';
        if (piece) yield piece;
        if (stops.found) return;
      }
      answer.finishReason ??= 'length';
      const rest = stops.add(decoder.end()) + stops.end();
      if (rest) yield rest;
    } finally {
      this.#busy = false;
    }
  }

  /**
   * Yields the tokens of an answer.
   * @param {Answer} answer @param {number[]} prompt @param {GenerateOptions} options
   */
  async *#tokens(answer, prompt, { maxTokens = Infinity, signal, full = 'error', seed, logProbabilities, ...given }) {
    const settings = {
      ...this.#defaults,
      ...Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined)),
    };
    const choose = chooser(
      settings,
      randomNumbers(seed ?? /** @type {number} */ (crypto.getRandomValues(new Uint32Array(1))[0])),
    );
    let context = this.#fitting(prompt, full);
    answer.usage = { prompt: prompt.length, cached: this.#known(context), answer: 0 };
    while (answer.usage.answer < maxTokens) {
      throwIfAborted(signal, 'the answer');
      if (context.length > this.length) {
        if (full === 'truncate') return;
        context = this.#fitting(context, full);
      }
      const logits = await this.#step(context, signal),
        token = choose(logits, context);
      answer.tokens.push({ id: token, ...(logProbabilities && { logProbability: logProbability(logits, token) }) });
      answer.usage.answer++;
      context = [...context, token];
      yield token;
    }
  }

  /** Returns the tokens that have room, or throws. @param {number[]} tokens @param {string} full */
  #fitting(tokens, full) {
    if (tokens.length <= this.length) return tokens;
    if (full === 'slide') return tokens.slice(-Math.max(1, this.length >> 1));
    throw badArgument(
      `generate: the conversation must have at most ${this.length} tokens, got ${tokens.length}: the option full ` +
        'says what happens then',
      { expected: this.length, actual: tokens.length },
    );
  }

  /** Returns the number of tokens that are in the cache. The last token is always computed. @param {number[]} tokens */
  #known(tokens) {
    let n = 0;
    while (n < tokens.length - 1 && tokens[n] === this.#cached[n]) n++;
    return n;
  }

  /** Computes the tokens that are not in the cache. @param {number[]} context @param {AbortSignal} [signal] */
  async #step(context, signal) {
    const position = this.#known(context),
      data = BigInt64Array.from(context.slice(position), BigInt);
    this.#cached = context.slice(0, position); // if the run fails, the rows behind it may be written in part
    const { logits } = await this.model.run(
      { tokens: { dtype: 'int64', shape: [1, data.length], data }, position },
      { ...(signal && { signal }) },
    );
    this.#cached = context;
    return /** @type {Float32Array} */ (/** @type {{ data: unknown }} */ (logits).data);
  }

  /**
   * Runs texts in batches, with padding behind shorter ones.
   * @param {readonly (string | readonly [string, string])[]} texts
   * @param {{ batch?: number, signal?: AbortSignal }} options @param {string} name
   */
  async *#batches(texts, options, name) {
    checkOptions(name, options, ['batch', 'signal']);
    const { batch = 16, signal } = options;
    checkInteger(`${name}: batch`, batch, 1);
    for (let at = 0; at < texts.length; at += batch) {
      const rows = texts.slice(at, at + batch).map((text) => this.#row(text, name));
      const n = Math.max(...rows.map(({ ids }) => ids.length));
      const shape = [rows.length, n],
        tensor = () => ({ dtype: /** @type {const} */ ('int64'), shape, data: new BigInt64Array(rows.length * n) });
      const tokens = tensor(),
        mask = tensor(),
        types = tensor();
      rows.forEach(({ ids, token_type_ids }, r) =>
        ids.forEach((id, i) => {
          tokens.data[r * n + i] = BigInt(id);
          mask.data[r * n + i] = 1n;
          types.data[r * n + i] = BigInt(token_type_ids?.[i] ?? 0);
        }),
      );
      const inputs = this.#facts.types ? { tokens, mask, types } : { tokens, mask };
      const [result] = Object.values(await this.model.run(inputs, { ...(signal && { signal }) }));
      const { data, shape: sizes } = /** @type {{ data: Float32Array, shape: number[] }} */ (result);
      const each = sizes.slice(1).reduce((a, b) => a * b, 1);
      for (let r = 0; r < rows.length; r++)
        yield { ids: rows[r]?.ids ?? [], values: data.slice(r * each, (r + 1) * each) };
    }
  }

  /** @param {string | readonly [string, string]} text @param {string} name */
  #row(text, name) {
    const [first, second] = Array.isArray(text) ? text : [text];
    if (typeof first !== 'string' || (second !== undefined && typeof second !== 'string'))
      throw badArgument(`${name}: a text must be a string, or a pair of strings, got ${describeValue(text)}`);
    const row = this.#tokenizing.encode(first, true, second);
    if (row.ids.length > this.length || row.ids.length === 0)
      throw badArgument(`${name}: a text must have 1 to ${this.length} tokens, got ${row.ids.length}`, {
        expected: this.length,
        actual: row.ids.length,
      });
    return row;
  }

  /**
   * Embeds texts.
   * @param {readonly string[]} texts
   * @param {{ batch?: number, signal?: AbortSignal }} [options] batch: the number of texts of one run
   * @returns {Promise<Float32Array[]>} a vector for each text
   */
  async embed(texts, options = {}) {
    this.#need(['embed'], 'embed');
    const out = [];
    for await (const { values } of this.#batches(texts, options, 'embed')) out.push(values);
    return out;
  }

  /**
   * Classifies texts, or pairs of texts, as cross-encoders take them.
   * @param {readonly (string | readonly [string, string])[]} texts
   * @param {{ batch?: number, signal?: AbortSignal }} [options]
   * @returns {Promise<Label[][]>} the labels of each text, the likeliest first
   */
  async classify(texts, options = {}) {
    this.#need(['classify'], 'classify');
    const out = [];
    for await (const { values } of this.#batches(texts, options, 'classify')) out.push(this.#scored(values));
    return out;
  }

  /** @param {Float32Array} logits @returns {Label[]} */
  #scored(logits) {
    const alone = this.#facts.several || logits.length === 1,
      most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    const weights = Array.from(logits, (x) => (alone ? 1 / (1 + Math.exp(-x)) : Math.exp(x - most)));
    const all = alone ? 1 : weights.reduce((a, b) => a + b, 0);
    return weights
      .map((w, i) => ({ label: this.#facts.labels?.[i] ?? String(i), score: w / all }))
      .sort((a, b) => b.score - a.score);
  }

  /** Frees the model. */
  dispose() {
    this.model.dispose();
  }
  /** For `using chat = await loadText(...)`. */
  [Symbol.dispose]() {
    this.dispose();
  }
}
