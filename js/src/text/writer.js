// Writes answers token by token: keeps the tokens that are in the model's cache, and computes only the others.

import {
  RushlightError,
  badArgument,
  checkInteger,
  checkOptions,
  describeValue,
  throwIfAborted,
} from '../base/errors.js';
import { Answer } from './answer.js';
import { Detokenizer, StopSequences } from './detokenizer.js';
import { checkSampling, tokenSampler, likeliest, logProbabilities, randomNumbers } from './sampling.js';

/**
 * @typedef {import('../api/model.js').Model} Model
 * @typedef {import('./answer.js').GenerateOptions} GenerateOptions
 * @typedef {import('../grammar/constraint.js').Constraint} Constraint
 * @typedef {Record<string, import('../base/types.js').Value>} State
 *
 * @typedef {object} GenerationConfig the asset generation_config.json, as transformers writes it
 * @property {boolean} [do_sample]
 * @property {number} [temperature]
 * @property {number} [top_k]
 * @property {number} [top_p]
 * @property {number} [min_p]
 * @property {number} [repetition_penalty]
 * @property {number} [max_length] the most tokens
 * @property {number} [max_new_tokens] the most tokens that are generated
 * @typedef {object} EncoderPart what comes before the tokens of an answer, for a model with an encoder
 * @property {() => Promise<import('./logits-rules.js').Rules>} encode runs the encoder and returns the rules for tokens
 * @property {number} tokens the number of its tokens
 * @property {number} most the most tokens of the answer
 *
 * @typedef {object} Conversation the tokens of a conversation and their part of the cache. It is plain data, which
 *   structuredClone() and IndexedDB can copy
 * @property {number[]} tokens those whose keys and values are in the state
 * @property {State} state what `model.state()` returned
 *
 * @typedef {object} WriterParts
 * @property {number} length the most tokens
 * @property {readonly number[]} stop tokens that end an answer
 * @property {GenerationConfig} generation
 * @property {(tokens: readonly number[]) => string} decode
 * @property {() => Promise<import('../grammar/constraint.js').Compiler>} compiler compiles structures
 */

const STRUCTURES = /** @type {const} */ (['schema', 'regex', 'choices']);
const OPTIONS = [
  ...['maxTokens', 'stop', 'seed', 'logProbabilities', 'overflow', 'variables', 'signal', 'language'],
  ...['temperature', 'topK', 'topP', 'minP', 'repetitionPenalty'],
  ...STRUCTURES,
];

/** @param {GenerateOptions} options */
export function checkGenerating(options) {
  checkOptions('generate', options, OPTIONS);
  checkSampling(options);
  const { maxTokens, overflow = 'error', seed, logProbabilities } = options;
  if (maxTokens !== undefined) checkInteger('generate: maxTokens', maxTokens, 1);
  const { stop = [], variables = {} } = options;
  if (![stop].flat().every((text) => typeof text === 'string'))
    throw badArgument(`generate: stop must be a string or an array of strings, got ${describeValue(stop)}`);
  if (typeof variables !== 'object' || variables === null)
    throw badArgument(`generate: variables must be an object, got ${describeValue(variables)}`);
  if (seed !== undefined) checkInteger('generate: seed', seed, 0);
  if (typeof logProbabilities !== 'boolean' && logProbabilities !== undefined)
    checkInteger('generate: logProbabilities', logProbabilities, 0);
  if (!['error', 'truncate', 'slide'].includes(overflow))
    throw badArgument(`generate: overflow must be 'error', 'truncate' or 'slide', got ${describeValue(overflow)}`);
  const given = STRUCTURES.filter((name) => options[name] !== undefined);
  if (given.length > 1)
    throw badArgument(`generate: options must have only one of ${STRUCTURES.join(', ')}, got ${given.join(' and ')}`);
}

/**
 * Copies the first rows of a cache [1, heads, rows, features] into one with other rows.
 * @param {import('../base/types.js').Tensor} value @param {number} rows
 * @returns {import('../base/types.js').Tensor}
 */
function withRows(value, rows) {
  const [, heads = 0, old = 0, features = 0] = value.shape,
    data = new Float32Array(heads * rows * features),
    copied = Math.min(old, rows) * features;
  for (let h = 0; h < heads; h++)
    data.set(
      /** @type {Float32Array} */ (value.data).subarray(h * old * features, h * old * features + copied),
      h * rows * features,
    );
  return { dtype: 'float32', shape: [1, heads, rows, features], data };
}

/**
 * @param {number} id @param {Float32Array} logits @param {boolean | number | undefined} wanted the option
 *   logProbabilities
 * @returns {import('./answer.js').Token}
 */
function tokenOf(id, logits, wanted) {
  if (wanted === undefined || wanted === false) return { id };
  const logProbability = logProbabilities(logits),
    token = { id, logProbability: logProbability(id) };
  if (wanted === true) return token;
  const alternatives = likeliest(logits, wanted).map((other) => ({ id: other, logProbability: logProbability(other) }));
  return { ...token, alternatives };
}

/** Writes the answers of a model, one at a time. */
export class Writer {
  #model;
  #parts;
  #defaults;
  /** The tokens whose keys and values are in the cache. @type {number[]} */ #cached = [];
  #busy = false;

  /** @param {Model} model @param {WriterParts} parts */
  constructor(model, parts) {
    this.#model = model;
    this.#parts = parts;
    const { generation } = parts;
    this.#defaults = {
      temperature: generation.do_sample ? (generation.temperature ?? 1) : 0,
      topK: generation.top_k ?? 50,
      topP: generation.top_p ?? 1,
      minP: generation.min_p ?? 0,
      repetitionPenalty: generation.repetition_penalty ?? 1,
    };
  }

  /** @param {number[]} prompt @param {GenerateOptions} options @param {EncoderPart} [before] */
  answer(prompt, options, before) {
    return new Answer((answer) => this.#write(answer, prompt, options, before));
  }

  /** @param {string} what */
  #checkIdle(what) {
    if (this.#busy) throw new RushlightError('bad-state', `${what}: the model is still generating another answer`);
  }

  /** @param {Answer} answer @param {number[]} prompt @param {GenerateOptions} options @param {EncoderPart} [before] */
  async *#write(answer, prompt, options, before) {
    this.#checkIdle('generate');
    this.#busy = true;
    const { stop } = this.#parts,
      stops = new StopSequences(typeof options.stop === 'string' ? [options.stop] : (options.stop ?? []));
    try {
      const constraint = await this.#constraint(options),
        decoder = constraint ?? new Detokenizer((tokens) => this.#parts.decode(tokens));
      for await (const token of this.#tokens(answer, prompt, options, constraint, before)) {
        if (stop.includes(token)) {
          answer.finishReason = 'stop';
          break;
        }
        const piece = stops.add(decoder.add(token));
        if (stops.found || constraint?.complete) answer.finishReason = 'stop';
        if (piece) yield piece;
        if (stops.found) return;
        if (constraint?.complete) break;
      }
      answer.finishReason ??= 'length';
      const rest = stops.add(decoder.end()) + stops.end();
      if (rest) yield rest;
    } finally {
      this.#busy = false;
    }
  }

  /** @param {GenerateOptions} options */
  async #constraint(options) {
    if (STRUCTURES.every((name) => options[name] === undefined)) return undefined;
    return (await this.#parts.compiler()).constraint(options);
  }

  /**
   * Returns a function that chooses a token.
   * @param {GenerateOptions} options @param {Constraint | undefined} constraint
   * @returns {(logits: Float32Array, context: number[]) => number}
   */
  #sampler(options, constraint) {
    const given = Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)),
      settings = { ...this.#defaults, ...given },
      seed = options.seed ?? /** @type {number} */ (crypto.getRandomValues(new Uint32Array(1))[0]),
      choose = tokenSampler(settings, randomNumbers(seed));
    if (!constraint) return choose;
    return (logits, context) => {
      const best = settings.temperature === 0 ? choose(logits, context) : -1;
      return best >= 0 && constraint.allows(best) ? best : choose(constraint.masked(logits), context);
    };
  }

  /**
   * Yields the tokens of an answer.
   * @param {Answer} answer @param {number[]} prompt @param {GenerateOptions} options
   * @param {Constraint} [constraint] @param {EncoderPart} [before]
   */
  async *#tokens(answer, prompt, options, constraint, before) {
    const { signal, overflow = 'error', logProbabilities: wanted } = options,
      most = before?.most ?? options.maxTokens ?? Infinity,
      choose = this.#sampler(options, constraint);
    if (before) this.#cached = []; // which is of another input
    const rules = await before?.encode();
    let context = this.#tokensThatFit(prompt, overflow);
    answer.usage = { prompt: before?.tokens ?? prompt.length, cached: this.#cachedCount(context), answer: 0 };
    while (answer.usage.answer < most) {
      throwIfAborted(signal, 'the answer');
      if (context.length > this.#parts.length) {
        if (overflow === 'truncate') return;
        context = this.#tokensThatFit(context, overflow);
      }
      const scores = await this.#step(context, signal),
        logits = rules ? rules(scores, context) : scores,
        id = choose(logits, context);
      answer.tokens.push(tokenOf(id, logits, wanted));
      answer.usage.answer++;
      context = [...context, id];
      yield id;
    }
  }

  /** Returns the tokens that have room, or throws. @param {number[]} tokens @param {string} overflow */
  #tokensThatFit(tokens, overflow) {
    const { length } = this.#parts;
    if (tokens.length <= length) return tokens;
    if (overflow === 'slide') return tokens.slice(-Math.max(1, length >> 1));
    throw badArgument(
      `generate: the conversation must have at most ${length} tokens, got ${tokens.length}: pass ` +
        "overflow: 'slide' to drop the oldest",
      { expected: length, actual: tokens.length },
    );
  }

  /** Returns the number of tokens that are in the cache. The last token is always computed. @param {number[]} tokens */
  #cachedCount(tokens) {
    let n = 0;
    while (n < tokens.length - 1 && tokens[n] === this.#cached[n]) n++;
    return n;
  }

  /** Computes the tokens that are not in the cache. @param {number[]} context @param {AbortSignal} [signal] */
  async #step(context, signal) {
    const position = this.#cachedCount(context),
      data = BigInt64Array.from(context.slice(position), BigInt);
    this.#cached = context.slice(0, position); // if the run fails, the rows after it may be written in part
    const { logits } = await this.#model.run(
      { tokens: { dtype: 'int64', shape: [1, data.length], data }, position },
      { ...(signal && { signal }) },
    );
    this.#cached = context;
    return /** @type {Float32Array} */ (/** @type {{ data: unknown }} */ (logits).data);
  }

  /** Copies the conversation out of the model. @returns {Promise<Conversation>} */
  async save() {
    this.#checkIdle('save');
    const tokens = [...this.#cached],
      state = await this.#model.state();
    return { tokens, state: this.#resized(state, this.#parts.length, tokens.length) };
  }

  /** @param {Conversation} conversation */
  async restore(conversation) {
    this.#checkIdle('restore');
    const { tokens, state } = conversation ?? {};
    if (!Array.isArray(tokens) || typeof state !== 'object' || tokens.length > this.#parts.length)
      throw badArgument(`restore: the conversation must be a value of save(), got ${describeValue(conversation)}`);
    this.#cached = [];
    await this.#model.setState(this.#resized(state, tokens.length, this.#parts.length));
    this.#cached = [...tokens];
  }

  /**
   * Changes the number of rows of all caches.
   * @param {State} state @param {number} from @param {number} to @returns {State}
   */
  #resized(state, from, to) {
    return Object.fromEntries(
      Object.entries(state).map(([name, value]) => {
        const { dtype, shape } = /** @type {import('../base/types.js').Tensor} */ (value);
        const isCache = dtype === 'float32' && shape.length === 4 && shape[2] === from;
        return [name, isCache ? withRows(/** @type {import('../base/types.js').Tensor} */ (value), to) : value];
      }),
    );
  }
}
