// A model of text: a model with its tokenizer and its chat template.

import {
  RushlightError,
  badArgument,
  checkInteger,
  checkOptions,
  describeValue,
  withCallerStack,
} from '../base/errors.js';
import { Writer, checkGenerating } from './writer.js';

/**
 * @typedef {import('../api/model.js').Model} Model
 * @typedef {import('./answer.js').Answer} Answer
 * @typedef {import('./answer.js').Message} Message
 * @typedef {import('./answer.js').GenerateOptions} GenerateOptions
 * @typedef {import('./writer.js').Conversation} Conversation
 *
 * @typedef {object} TextFacts the asset text.json
 * @property {'generate' | 'seq2seq' | 'transcribe' | 'embed' | 'classify' | 'tokens'} task
 * @property {number} length the most tokens
 * @property {number} [inputLength] the most tokens of the encoder
 * @property {number[]} [start] the tokens before those that are generated
 * @property {Record<string, number>} [languages] tokens by the codes of languages
 * @property {number[]} [stop] tokens that end an answer
 * @property {string[]} [labels]
 * @property {boolean} [several] whether a text can have several labels
 * @property {boolean} [types] whether the model takes token types
 * @property {Record<string, string>} tokens special tokens by name, such as eos_token
 *
 * @typedef {object} Tokenizing the functions of the two libraries that a TextModel needs
 * @property {(text: string, special: boolean, pair?: string) => import('./libraries.js').Encoding} encode
 * @property {import('./offsets.js').TokenizerJson} json the asset tokenizer.json
 * @property {(tokens: readonly number[]) => string} decode
 * @property {(messages: readonly Message[], more: object) => string} render
 * @property {string} [template] the text of the chat template
 * @property {() => Promise<import('../grammar/constraint.js').Compiler>} compiler compiles structures for the tokenizer
 *
 * @typedef {object} Label a label of a text, or of a part of it
 * @property {string} label its name
 * @property {number} score its probability
 * @property {number} [start] where the part begins, in UTF-16 units as `slice()` takes them
 * @property {number} [end] where it ends
 * @property {string} [text] the part
 */

/** Returns the place of some tokens among others. @param {number[]} some @param {number[]} all */
function placeOf(some, all) {
  for (let at = 0; at + some.length <= all.length; at++) if (some.every((id, i) => all[at + i] === id)) return at;
  return 0;
}

/** A model of text. `loadText()` makes it. @hideconstructor */
export class TextModel {
  #facts;
  #tokenizing;
  #generation;
  #writer;
  /** @type {Promise<import('./transcriber.js').Transcriber> | undefined} */ #transcriber;

  /**
   * @param {Model} model @param {TextFacts} facts @param {Tokenizing} tokenizing
   * @param {import('./writer.js').GenerationConfig & import('./logits-rules.js').GenerationRules} generation
   */
  constructor(model, facts, tokenizing, generation) {
    /** The model, for `memory()`, `profile()` and similar calls. */
    this.model = model;
    this.#facts = facts;
    this.#tokenizing = tokenizing;
    this.#generation = generation;
    const { decode, compiler } = tokenizing,
      { length, stop = [] } = facts;
    this.#writer = new Writer(model, { length, stop, generation, decode, compiler });
  }

  /**
   * The task: 'generate', 'seq2seq' for translations and summaries, 'transcribe', 'embed', 'classify', or
   * 'tokens' for labels of tokens.
   */
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
    if (typeof text !== 'string') throw badArgument(`encode: text must be a string, got ${describeValue(text)}`);
    return this.#tokenizing.encode(text, true).ids;
  }
  /** Returns the text of tokens, without special tokens. @param {readonly number[]} tokens */
  decode(tokens) {
    if (!Array.isArray(tokens) || !tokens.every((token) => Number.isSafeInteger(token)))
      throw badArgument(`decode: tokens must be an array of integers, got ${describeValue(tokens)}`);
    return this.#tokenizing.decode(tokens);
  }
  /** The text of the chat template; "" if there is none. */
  get template() {
    return this.#tokenizing.template ?? '';
  }
  /**
   * Returns the prompt that the model's chat template makes.
   * @param {readonly Message[]} messages @param {object} [variables] of the template
   */
  applyTemplate(messages, variables = {}) {
    return this.#tokenizing.render(messages, { add_generation_prompt: true, ...this.#facts.tokens, ...variables });
  }

  /** @param {TextFacts['task'][]} tasks @param {string} name */
  #requireTask(tasks, name) {
    if (!tasks.includes(this.task))
      throw new RushlightError('unsupported', `${name}() needs a model for '${tasks[0]}', got one for '${this.task}'`);
  }

  /** @param {unknown} input @param {object} [variables] @returns {number[]} */
  #prompt(input, variables) {
    if (typeof input === 'string') return this.encode(input);
    const fits = (/** @type {unknown} */ m) => typeof (/** @type {Message} */ (m)?.role) === 'string';
    if (!Array.isArray(input) || !input.every(fits))
      throw badArgument(`generate: the input must be a string or an array of messages, got ${describeValue(input)}`);
    return this.#tokenizing.encode(this.applyTemplate(input, variables), false).ids;
  }

  /**
   * Writes an answer. Tokens at the beginning of the prompt that are still in the cache are not computed again. One
   * answer is written at a time.
   * @param {string | readonly Message[]} input a text to continue, or a conversation; for a model with an encoder, the
   *   text to translate or to summarize
   * @param {GenerateOptions} [options]
   * @returns {Answer} an async iterator of pieces of text
   * @throws {RushlightError} `bad-argument`, `bad-state` while another answer is written, and the errors of Model.run()
   */
  generate(input, options = {}) {
    this.#requireTask(['generate', 'seq2seq'], 'generate');
    checkGenerating(options);
    if (this.task === 'seq2seq') return this.#generateFromEncoder(input, options);
    if (options.language !== undefined)
      throw badArgument('generate: language must be left out, because the model does not choose between languages');
    const prompt = this.#prompt(input, options.variables);
    if (prompt.length === 0) throw badArgument('generate: the prompt must have at least one token, got none');
    return this.#writer.answer(prompt, options);
  }

  /** Writes the answer of a model with an encoder. @param {unknown} input @param {GenerateOptions} options */
  #generateFromEncoder(input, options) {
    if (typeof input !== 'string')
      throw badArgument(`generate: the input must be a string, got ${describeValue(input)}`);
    const tokens = this.encode(input),
      { inputLength = Infinity, start = [], stop = [], length } = this.#facts;
    if (tokens.length === 0 || tokens.length > inputLength)
      throw badArgument(`generate: the input must have 1 to ${inputLength} tokens, got ${tokens.length}`, {
        expected: inputLength,
        actual: tokens.length,
      });
    const first = this.#firstToken(options.language),
      prompt = first === undefined ? start : [...start, first],
      { max_length = Infinity, max_new_tokens = max_length - start.length } = this.#generation,
      end = Math.min(length, start.length + (options.maxTokens ?? max_new_tokens)),
      data = BigInt64Array.from(tokens, BigInt),
      signal = options.signal && { signal: options.signal };
    return this.#writer.answer(prompt, options, {
      encode: async () => {
        const inputs = { tokens: { dtype: /** @type {const} */ ('int64'), shape: [1, data.length], data } };
        await this.model.run(inputs, { method: 'encode', ...signal });
        const given = { begin: prompt.length, start: start.length, end, stop };
        return import('./logits-rules.js').then(({ rulesOf }) => rulesOf(this.#generation, given));
      },
      tokens: tokens.length,
      most: Math.max(0, end - prompt.length),
    });
  }

  /** Returns the token that an answer must begin with. @param {string} [language] */
  #firstToken(language) {
    const { languages = {} } = this.#facts,
      codes = Object.keys(languages);
    if (language === undefined) return this.#generation.forced_bos_token_id;
    if (!codes.includes(language))
      throw badArgument(
        codes.length
          ? `generate: language must be one of ${codes.join(', ')}, got ${describeValue(language)}`
          : 'generate: language must be left out, because the model does not choose between languages',
      );
    return languages[language];
  }

  /**
   * Transcribes speech. Recordings of more than 30 seconds are transcribed in windows.
   * @param {import('./transcriber.js').AudioBufferLike | Float32Array | readonly Float32Array[]} audio an AudioBuffer,
   *   or samples of the model's sample rate, 16,000 a second
   * @param {import('./transcriber.js').TranscribeOptions} [options]
   * @returns {Promise<import('./transcriber.js').Transcript>}
   * @throws {RushlightError} `bad-argument`, `bad-state` while it transcribes another recording, `unsupported` for time
   *   stamps that the model does not have, and the errors of Model.run()
   */
  transcribe(audio, options = {}) {
    return withCallerStack(async () => {
      this.#requireTask(['transcribe'], 'transcribe');
      this.#transcriber ??= import('./transcriber.js').then(
        ({ Transcriber }) =>
          new Transcriber(this.model, this.#facts, this.#generation, (tokens) => this.#tokenizing.decode(tokens)),
      );
      return (await this.#transcriber).transcribe(audio, options);
    });
  }

  /**
   * Copies the conversation in the cache: its tokens and what the model has computed of them. While the model has
   * another conversation, the copy keeps this one.
   * @returns {Promise<Conversation>} plain data, which structuredClone() and IndexedDB can copy
   */
  save() {
    this.#requireTask(['generate'], 'save');
    return withCallerStack(() => this.#writer.save());
  }

  /**
   * Puts a conversation of save() back. The next prompt that begins with its tokens does not compute them again.
   * @param {Conversation} conversation @returns {Promise<void>}
   */
  restore(conversation) {
    this.#requireTask(['generate'], 'restore');
    return withCallerStack(() => this.#writer.restore(conversation));
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
      this.#checkLabels(sizes.at(-1));
      const each = sizes.slice(1).reduce((a, b) => a * b, 1);
      for (let r = 0; r < rows.length; r++)
        yield {
          text: /** @type {string | readonly [string, string]} */ (texts[at + r]),
          ids: rows[r]?.ids ?? [],
          values: data.slice(r * each, (r + 1) * each),
        };
    }
  }

  /** Compares the labels of text.json with what the model gives. @param {number | undefined} given */
  #checkLabels(given) {
    const { labels } = this.#facts;
    if (labels && this.task !== 'embed' && labels.length !== given)
      throw new RushlightError('bad-file', `text.json: labels must be ${given} strings, got ${labels.length}`, {
        expected: given,
        actual: labels.length,
      });
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
    this.#requireTask(['embed'], 'embed');
    const out = [];
    for await (const { values } of this.#batches(texts, options, 'embed')) out.push(values);
    return out;
  }

  /**
   * Classifies texts, or pairs of texts, as cross-encoders take them. A model that labels tokens finds the parts of a
   * text that have labels, such as names.
   * @param {readonly (string | readonly [string, string])[]} texts
   * @param {{ batch?: number, signal?: AbortSignal }} [options]
   * @returns {Promise<Label[][]>} the labels of each text, the likeliest first; or its labeled parts, in their order
   */
  async classify(texts, options = {}) {
    this.#requireTask(['classify', 'tokens'], 'classify');
    const out = [];
    for await (const row of this.#batches(texts, options, 'classify'))
      out.push(this.task === 'tokens' ? await this.#parts(row) : this.#scored(row.values));
    return out;
  }

  /**
   * @param {{ text: string | readonly [string, string], ids: number[], values: Float32Array }} row
   * @returns {Promise<Label[]>}
   */
  async #parts({ text, ids, values }) {
    if (typeof text !== 'string')
      throw badArgument(`classify: a text must be a string for a model that labels tokens, got ${describeValue(text)}`);
    const { ids: own, tokens } = this.#tokenizing.encode(text, false),
      first = placeOf(own, ids) * this.labels.length;
    return import('./entities.js').then(({ entitiesOf }) =>
      entitiesOf(text, tokens, this.#tokenizing.json, values.subarray(first), this.labels),
    );
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
