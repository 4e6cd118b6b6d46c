// The tokenizer of a file, by @huggingface/tokenizers. Errors of the package become RushlightErrors.

import { RushlightError, describeValue, messageOf } from '../base/errors.js';
import { withUnicodeSpaces } from './white-space.js';

/**
 * @typedef {import('./offsets.js').TokenizerJson & import('../grammar/vocabulary.js').TokenizerJson &
 *   { pre_tokenizer?: import('./white-space.js').PreTokenizer | null }} TokenizerJson the used part of tokenizer.json
 * @typedef {import('./libraries.js').Encoding} Encoding
 */

/**
 * Runs a function of the package.
 * @template T @param {string} what @param {() => T} job @returns {T}
 */
function guarded(what, job) {
  try {
    return job();
  } catch (e) {
    if (e instanceof RushlightError) throw e;
    throw new RushlightError('bad-file', `${what}: ${messageOf(e)}`, { cause: e });
  }
}

/** @param {unknown} numbers @param {string} what */
function checkNumbers(numbers, what) {
  const wrong = /** @type {unknown[]} */ (numbers ?? []).find((n) => !Number.isSafeInteger(n) || Number(n) < 0);
  if (numbers !== undefined && wrong !== undefined)
    throw new RushlightError('bad-file', `tokenizer.json: ${what} must be an integer, got ${describeValue(wrong)}`);
}

/** Tokens of texts, and texts of tokens. */
export class FileTokenizer {
  #tokenizer;

  /**
   * @param {import('./libraries.js').TokenizersModule} library @param {TokenizerJson} json checked
   * @param {object} config the value of tokenizer_config.json
   */
  constructor({ Tokenizer }, json, config) {
    this.json = json;
    this.#tokenizer = guarded('tokenizer.json cannot be used', () => new Tokenizer(withUnicodeSpaces(json), config));
  }

  /**
   * @param {string} text @param {boolean} special whether special tokens are added @param {string} [pair]
   * @returns {Encoding}
   */
  encode(text, special, pair) {
    const options = { add_special_tokens: special, return_token_type_ids: true };
    return guarded('tokenizer.json cannot encode the text', () => {
      const encoding = this.#tokenizer.encode(text, { ...options, ...(pair !== undefined && { text_pair: pair }) });
      const unknown = encoding.ids.findIndex((id) => id === undefined);
      if (unknown >= 0) throw new Error(`the vocabulary must have ${describeValue(encoding.tokens[unknown])}`);
      checkNumbers(encoding.ids, 'the number of a token');
      checkNumbers(encoding.token_type_ids, 'type_id');
      return encoding;
    });
  }

  /** Numbers that no token has, as in a padded vocabulary, have no text. @param {readonly number[]} tokens */
  decode(tokens) {
    return guarded('tokenizer.json cannot decode the tokens', () => {
      const known = tokens.filter((token) => this.#tokenizer.id_to_token(token) !== undefined);
      return known.length ? this.#tokenizer.decode(known, { skip_special_tokens: true }) : '';
    });
  }
}
