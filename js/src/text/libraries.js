// The two packages of Hugging Face that rushlight/text uses. They are optional peers of this package.

import { RushlightError, messageOf } from '../base/errors.js';

/**
 * @typedef {{ ids: number[], tokens: string[], token_type_ids?: number[] }} Encoding tokens as in the vocabulary
 * @typedef {{ Tokenizer: new (tokenizer: object, config: object) => {
 *   encode: (text: string, options: object) => Encoding,
 *   decode: (tokens: number[], options: object) => string,
 *   id_to_token: (token: number) => string | undefined } }} TokenizersModule the used part of the tokenizers
 *
 * @typedef {{ type: string, value?: unknown }} JinjaValue a value of the interpreter of templates
 * @typedef {{ type: string, iterable?: JinjaNode, lhs?: JinjaNode }} JinjaNode a node of a template
 * @typedef {object} JinjaModule the used part of the templates
 * @property {new (text: string) => { parsed: JinjaNode, render: (variables: object) => string }} Template
 * @property {new () => { set: (name: string, value: unknown) => void }} Environment
 * @property {new (environment: object) => { run(program: JinjaNode): JinjaValue,
 *   evaluate(node: JinjaNode, environment: object): JinjaValue }} Interpreter
 */

/** Returns a handler for a package that cannot be imported. @param {string} name */
const importFailed = (name) => (/** @type {unknown} */ cause) => {
  throw new RushlightError(
    'unsupported',
    `rushlight/text needs the package ${name}, which cannot be imported (${messageOf(cause)}): npm install ${name}`,
    { cause },
  );
};

// Bundlers leave an import of a missing package alone if a catch() follows it.
// @ts-ignore: an optional package
export const importTokenizers = () => import('@huggingface/tokenizers').catch(importFailed('@huggingface/tokenizers'));
// @ts-ignore: an optional package
export const importJinja = () => import('@huggingface/jinja').catch(importFailed('@huggingface/jinja'));
