/**
 * OpenAI's interface for models in this page or process: programs that are written for a server or for WebLLM need
 * another import, and a file as the model.
 * @module rushlight/openai
 */

import { badArgument, checkOptions, describeValue, withCallerStack } from '../base/errors.js';
import { checkRequest, create } from './completions.js';
import { loadText } from './load-text.js';

/**
 * @typedef {import('./completions.js').CompletionRequest} CompletionRequest
 * @typedef {import('./completions.js').StreamOptions} StreamOptions
 * @typedef {import('./completions.js').ResponseFormat} ResponseFormat
 * @typedef {import('./completions.js').ResponseSchema} ResponseSchema
 * @typedef {import('./completions.js').ToolChoice} ToolChoice
 * @typedef {import('./completions.js').ChosenFunction} ChosenFunction
 * @typedef {import('./completions.js').ChatCompletion} ChatCompletion
 * @typedef {import('./completions.js').Choice} Choice
 * @typedef {import('./completions.js').CompletionMessage} CompletionMessage
 * @typedef {import('./completions.js').FinishReason} FinishReason
 * @typedef {import('./completions.js').CompletionUsage} CompletionUsage
 * @typedef {import('./completions.js').PromptDetails} PromptDetails
 * @typedef {import('./completions.js').Logprobs} Logprobs
 * @typedef {import('./completions.js').Logprob} Logprob
 * @typedef {import('./completions.js').LikelyTokens} LikelyTokens
 * @typedef {import('./completions.js').ChatCompletionChunk} ChatCompletionChunk
 * @typedef {import('./completions.js').ChunkChoice} ChunkChoice
 * @typedef {import('./tools.js').Tool} Tool
 * @typedef {import('./tools.js').ToolFunction} ToolFunction
 * @typedef {import('./tools.js').ToolCall} ToolCall
 * @typedef {import('./tools.js').CalledFunction} CalledFunction
 * @typedef {import('./tools.js').MessageParam} MessageParam
 * @typedef {import('./tools.js').TextPart} TextPart
 * @typedef {import('./load-text.js').TextOptions} TextOptions
 *
 * @typedef {AsyncGenerator<ChatCompletionChunk, void, void>} CompletionStream an answer in chunks, for `for await`
 *
 * @typedef {object} StreamingRequest a request for chunks
 * @property {true} stream asks for chunks
 */

/**
 * @template R @typedef {R extends StreamingRequest ? CompletionStream : ChatCompletion} CompletionOf
 *   the answer to a request
 */

/**
 * @typedef {object} ClientOptions options of a client, and those of loadText()
 * @property {string | URL} [baseURL] the folder of the models
 * @property {string} [apiKey] is not used
 * @property {boolean} [dangerouslyAllowBrowser] is not used
 */

/** Checks options. Those that other clients have are ignored. @param {string} where @param {object} options */
const checkObject = (where, options) => checkOptions(where, options, Object.keys(options ?? {}));

/** A client whose models are .rush files. Each file is loaded when a request first names it. */
export class OpenAI {
  #base;
  #options;
  /** @type {Map<string, Promise<import('./text-model.js').TextModel>>} */ #models = new Map();

  /** @param {ClientOptions & TextOptions} [options] */
  constructor(options = {}) {
    checkObject('OpenAI', options);
    const { baseURL, apiKey: _key, dangerouslyAllowBrowser: _allow, ...rest } = options;
    this.#base = baseURL;
    this.#options = rest;
    /** The interface of chats. */
    this.chat = {
      /** The interface of answers. */
      completions: {
        /**
         * Answers a request. With `stream: true`, the promise gives an async iterator of chunks.
         * @template {CompletionRequest} R
         * @param {R} request whose `model` is the path or URL of a .rush file, from `baseURL` on
         * @param {{ signal?: AbortSignal }} [options] a signal that ends the answer
         * @returns {Promise<CompletionOf<R>>}
         * @throws {RushlightError} as loadText(); `bad-argument` if a property of the request is unknown or has a
         *   value that the answer cannot follow
         */
        create: (request, options = {}) =>
          withCallerStack(async () => {
            checkObject('create', options);
            checkRequest(request);
            const { signal } = options,
              model = await this.load(request.model);
            return /** @type {Promise<CompletionOf<R>>} */ (create(model, request, String(request.model), signal));
          }),
      },
    };
  }

  /**
   * Loads a model before a request names it.
   * @param {unknown} name the path or URL of a .rush file, from `baseURL` on
   * @returns {Promise<import('./text-model.js').TextModel>}
   * @throws {RushlightError} as loadText(); `bad-argument` if the name is not a string or is empty
   */
  load(name) {
    if (typeof name !== 'string' || name === '')
      throw badArgument(`create: model must be the path or URL of a .rush file, got ${describeValue(name)}`);
    let model = this.#models.get(name);
    if (!model) {
      model = loadText(this.#base === undefined ? name : new URL(name, this.#base), this.#options);
      this.#models.set(name, model);
      model.catch(() => this.#models.delete(name)); // the next request tries again
    }
    return model;
  }

  /** Frees all models. */
  async unload() {
    const models = [...this.#models.values()];
    this.#models.clear();
    for (const model of await Promise.allSettled(models)) if (model.status === 'fulfilled') model.value.dispose();
  }
}

/**
 * Loads a model and returns a client whose requests need no `model`, as WebLLM's function of this name does.
 * @param {string} model the path or URL of a .rush file
 * @param {ClientOptions & TextOptions} [options]
 * @throws {RushlightError} as loadText()
 */
export async function CreateMLCEngine(model, options = {}) {
  const client = new OpenAI(options),
    completions = client.chat.completions;
  await client.load(model);
  return {
    /** The interface of chats. */
    chat: {
      /** The interface of answers. */
      completions: {
        /**
         * Answers a request, as the client's function of this name does.
         * @template {CompletionRequest} R
         * @param {R} request whose `model` is not read
         * @param {{ signal?: AbortSignal }} [options] a signal that ends the answer
         * @returns {Promise<CompletionOf<R>>}
         */
        create: (request, options) =>
          /** @type {Promise<CompletionOf<R>>} */ (completions.create({ ...request, model }, options)),
      },
    },
    /** Frees the model. */
    unload: () => client.unload(),
  };
}
