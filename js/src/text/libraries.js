// The two packages of Hugging Face that rushlight/text uses. They are optional peers of this package.

import { RushlightError, messageOf } from '../base/errors.js';

/**
 * @typedef {{ ids: number[], tokens: string[], token_type_ids?: number[] }} Encoding tokens as in the vocabulary
 * @typedef {{ Tokenizer: new (tokenizer: object, config: object) => {
 *   encode: (text: string, options: object) => Encoding,
 *   decode: (tokens: number[], options: object) => string } }} TokenizersModule what is used of the tokenizers
 * @typedef {{ Template: new (text: string) => { render: (variables: object) => string } }} JinjaModule what is used
 *   of the templates
 */

/** Returns a handler for a package that cannot be imported. @param {string} name */
const lacks = (name) => (/** @type {unknown} */ cause) => {
  throw new RushlightError(
    'unsupported',
    `rushlight/text needs the package ${name}, which cannot be imported (${messageOf(cause)}): npm install ${name}`,
    { cause },
  );
};

// Bundlers leave an import of a missing package alone if a catch() follows it.
// @ts-ignore: an optional package
export const importTokenizers = () => import('@huggingface/tokenizers').catch(lacks('@huggingface/tokenizers'));
// @ts-ignore: an optional package
export const importJinja = () => import('@huggingface/jinja').catch(lacks('@huggingface/jinja'));
