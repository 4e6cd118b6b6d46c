// An answer of a model that writes text, and the options that it is written with.

/**
 * @typedef {object} Message a message of a conversation. The chat template may read further properties, such as
 *   `tool_calls`
 * @property {string} role such as "user", "assistant" or "system"
 * @property {string | null} [content] its text
 *
 * @typedef {object} Generating when an answer ends, and what it holds
 * @property {number} [maxTokens] the most tokens of the answer; by default the room that is left
 * @property {string | readonly string[]} [stop] strings that end the answer, which has none of them
 * @property {number} [seed] the same seed chooses the same tokens
 * @property {boolean | number} [logProbabilities] computes the probability of each token; a number also adds that many
 *   of the likeliest tokens
 * @property {'error' | 'truncate' | 'slide'} [overflow] if the cache is full: 'error', which is the default, throws;
 *   'truncate' ends the answer; 'slide' drops the older half of the tokens
 * @property {string} [language] the language of the answer, for models that translate into several
 * @property {object} [variables] further variables of the chat template, such as `tools` or `enable_thinking`
 * @property {AbortSignal} [signal] ends the answer
 *
 * @typedef {import('../grammar/constraint.js').Structure} Structure
 * @typedef {import('./sampling.js').Sampling & Generating & Structure} GenerateOptions options of generate(). The
 *   defaults are those of the model's generation_config.json
 *
 * @typedef {object} TokenProbability a likely token
 * @property {number} id the number of a token
 * @property {number} logProbability the natural logarithm of its probability
 *
 * @typedef {object} Token a token of an answer
 * @property {number} id its number
 * @property {number} [logProbability] the natural logarithm of its probability, if asked for
 * @property {TokenProbability[]} [alternatives] the likeliest tokens, if asked for
 *
 * @typedef {object} Usage numbers of tokens
 * @property {number} prompt tokens of the prompt
 * @property {number} cached tokens of the prompt that were in the cache, and were not computed again
 * @property {number} answer tokens of the answer, with the one that ends it
 */

/** An answer that is being written: an iterator of pieces of text, which never split a character. */
export class Answer {
  #pieces;
  /**
   * The reason of the end: a stop token, a stop string or a complete structure; or the number of tokens.
   * @type {'stop' | 'length' | null}
   */
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
