/**
 * Models of text, as `rushlight.export_text` exports them: generation, embeddings, classification and
 * speech to text. It needs two
 * packages, `@huggingface/tokenizers` and, for conversations, `@huggingface/jinja`.
 * @module rushlight/text
 */

import { RushlightError, badArgument, messageOf, withCallerStack } from '../base/errors.js';
import { load } from '../api/load.js';
import { importJinja, importTokenizers } from './libraries.js';
import { checkFacts, checkedGeneration } from './check-facts.js';
import { checkTokenizer, checkTokenizerConfig } from './check-tokenizer.js';
import { ChatTemplate } from './template.js';
import { FileTokenizer } from './tokenizing.js';
import { TextModel } from './text-model.js';

export { Answer } from './answer.js';
export { TextModel } from './text-model.js';

/**
 * @typedef {import('../source/source.js').Source} Source
 * @typedef {import('./answer.js').GenerateOptions} GenerateOptions
 * @typedef {import('./answer.js').Generating} Generating
 * @typedef {import('./answer.js').Message} Message
 * @typedef {import('./answer.js').Token} Token
 * @typedef {import('./answer.js').TokenProbability} TokenProbability
 * @typedef {import('./answer.js').Usage} Usage
 * @typedef {import('./sampling.js').Sampling} Sampling
 * @typedef {import('../grammar/constraint.js').Structure} Structure
 * @typedef {import('./writer.js').Conversation} Conversation
 * @typedef {import('./text-model.js').Label} Label
 * @typedef {import('./transcriber.js').TimedText} TimedText
 * @typedef {import('./transcriber.js').TranscribeOptions} TranscribeOptions
 * @typedef {import('./transcriber.js').Transcript} Transcript
 *
 * @typedef {object} TextLibraries packages, for pages that cannot import them by their names
 * @property {object} [tokenizers] the module `@huggingface/tokenizers`
 * @property {object} [jinja] the module `@huggingface/jinja`
 *
 * @typedef {import('../api/load.js').LoadOptions & TextLibraries} TextOptions options of loadText(): those of load(),
 *   and the packages
 */

/**
 * Loads a model of text.
 * @param {Source} source as for load()
 * @param {TextOptions} [options]
 * @returns {Promise<TextModel>}
 * @throws {RushlightError} as load(); `unsupported` if a package is missing, or `bad-argument` if the file has no
 *   text.json
 */
export function loadText(source, options = {}) {
  return withCallerStack(async () => {
    const { tokenizers, jinja, ...rest } = options;
    const model = await load(source, rest);
    try {
      return await textModel(model, tokenizers, jinja);
    } catch (e) {
      model.dispose();
      throw e;
    }
  });
}

/**
 * Reads the assets of a model of text, and checks each of them.
 * @param {import('../api/model.js').Model} model
 */
async function readAssets(model) {
  const names = model.describe().assets.map(({ name }) => name);
  if (!names.includes('text.json') || !names.includes('tokenizer.json'))
    throw badArgument(
      'loadText: the file must have the assets text.json and tokenizer.json: export it by export_text()',
    );
  const json = async (/** @type {string} */ name) => {
    const text = names.includes(name) ? await (await model.asset(name)).text() : '{}';
    try {
      return JSON.parse(text);
    } catch (e) {
      throw new RushlightError('bad-file', `${name} must be JSON: ${messageOf(e)}`, { cause: e });
    }
  };
  const facts = await json('text.json'),
    tokenizer = await json('tokenizer.json'),
    config = await json('tokenizer_config.json');
  checkFacts(facts);
  checkTokenizer(tokenizer);
  checkTokenizerConfig(config);
  const generation = checkedGeneration(await json('generation_config.json')),
    template = names.includes('chat_template.jinja') && (await (await model.asset('chat_template.jinja')).text());
  return { facts, tokenizer, config, generation, template };
}

/** @param {import('../api/model.js').Model} model @param {object} [tokenizers] @param {object} [jinja] */
async function textModel(model, tokenizers, jinja) {
  const { facts, tokenizer, config, generation, template: text } = await readAssets(model);
  const library = /** @type {import('./libraries.js').TokenizersModule} */ (tokenizers ?? (await importTokenizers())),
    created = new FileTokenizer(library, tokenizer, config);
  const template = text
    ? new ChatTemplate(/** @type {import('./libraries.js').JinjaModule} */ (jinja ?? (await importJinja())), text)
    : undefined;
  /** @type {Promise<import('../grammar/constraint.js').Compiler> | undefined} */ let compiler;
  return new TextModel(
    model,
    facts,
    {
      encode: (text, special, pair) => created.encode(text, special, pair),
      json: tokenizer,
      decode: (tokens) => created.decode(tokens),
      render(messages, more) {
        if (!template) throw badArgument('generate: the model has no chat template: give a string');
        return template.render({ messages, ...more });
      },
      ...(text && { template: text }),
      compiler: () =>
        (compiler ??= import('../grammar/constraint.js').then(
          ({ Compiler }) => new Compiler(tokenizer, facts.stop ?? []),
        )),
    },
    generation,
  );
}
