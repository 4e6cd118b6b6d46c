// Limits of tokenizer.json, so that @huggingface/tokenizers ends, and needs memory and time in proportion to the file.

import { RushlightError, messageOf } from '../base/errors.js';
import {
  fields,
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  placeText,
  record,
  refuse,
  string,
  placeWithin,
} from './asset-checks.js';
import { MOST_TOKENS } from './check-facts.js';
import { regexCost } from './regex-cost.js';

/** @typedef {import('./asset-checks.js').Where} Where */

const FILE = 'tokenizer.json';
/** Parts in parts, such as the steps of a Sequence. */
const MOST_DEPTH = 8;
/** The most parts together. */
const MOST_PARTS = 64;
/** How many times longer all replacements together may make a text. */
const MOST_GROWTH = 64;

const short = nullable(string(1 << 10)),
  truth = nullable(flag);

/** Adds up what the parts of a tokenizer may do to a text. */
class Parts {
  #parts = 0;
  #growth = 1;

  /** @param {Where} where @param {number} by */
  #grow(where, by) {
    this.#growth *= Math.max(1, by);
    if (this.#growth > MOST_GROWTH)
      throw new RushlightError(
        'bad-file',
        `${placeText(where)}: all replacements together must make a text at most ${MOST_GROWTH} times as long, got ` +
          `${this.#growth} times`,
        { expected: MOST_GROWTH, actual: this.#growth },
      );
  }

  /** Returns the fewest characters of a match. @param {unknown} pattern @param {Where} where */
  #pattern(pattern, where) {
    object(pattern, where);
    fields({ String: string(1 << 14), Regex: string(1 << 14) })(pattern, where);
    const { String: plain, Regex: regex } = pattern;
    if (typeof plain !== 'string' && typeof regex !== 'string') refuse(where, 'a String or a Regex', pattern);
    if (typeof regex !== 'string') return /** @type {string} */ (plain).length;
    try {
      return regexCost(regex).least;
    } catch (e) {
      throw new RushlightError('unsupported', `${placeText(where)}: the expression cannot be used: ${messageOf(e)}`, {
        actual: regex,
        cause: e,
      });
    }
  }

  /** Checks a part, with the parts in it. @param {unknown} part @param {Where} where @param {number} [depth] */
  check(part, where, depth = 0) {
    if (part === null || part === undefined) return;
    object(part, where);
    if (depth > MOST_DEPTH || ++this.#parts > MOST_PARTS)
      refuse(where, `one of at most ${MOST_PARTS} parts, in at most ${MOST_DEPTH} others`, part);
    PART(part, where);
    const { type, pattern } = part;
    const least = type === 'Replace' || type === 'Split' ? this.#pattern(pattern, placeWithin(where, 'pattern')) : 1;
    const content = /** @type {string} */ (part['content'] ?? '').length;
    if (type === 'Replace') this.#grow(where, least > 0 ? content / least : content + 1);
    if (type === 'FixedLength') integer(1, 1 << 20)(part['length'], placeWithin(where, 'length'));
    if (type === 'TemplateProcessing') this.#templates(part, where);
    for (const name of ['normalizers', 'pretokenizers', 'processors', 'decoders']) {
      const steps = part[name] ?? [];
      list(() => {}, MOST_PARTS)(steps, placeWithin(where, name));
      /** @type {unknown[]} */ (steps).forEach((step, i) =>
        this.check(step, placeWithin(where, `${name}[${i}]`), depth + 1),
      );
    }
  }

  /** @param {Record<string, unknown>} part @param {Where} where */
  #templates(part, where) {
    for (const name of ['single', 'pair']) {
      TEMPLATE(part[name], placeWithin(where, name));
      const sequences = /** @type {object[]} */ (part[name]).filter((item) => 'Sequence' in item);
      this.#grow(placeWithin(where, name), sequences.length / 2);
    }
  }
}

const PART = fields(
  {
    type: string(64, 1),
    content: short,
    prepend: short,
    replacement: nullable(string(16, 1)),
    str_rep: short,
    prepend_scheme: nullable(string(16)),
    suffix: nullable(string(16)),
    prefix: nullable(string(16)),
    pad_token: short,
    word_delimiter_token: short,
    start: integer(0, 1 << 10),
    stop: integer(0, 1 << 10),
    sep: list(() => {}, 2, 1),
    cls: list(() => {}, 2, 1),
    behavior: nullable(string(64)),
    use_regex: truth,
    add_prefix_space: truth,
    individual_digits: truth,
    invert: truth,
  },
  ['type'],
);

const PIECE = fields({ id: string(1 << 10), type_id: integer(0, 1 << 10) }, ['id', 'type_id']);
const TEMPLATE = list(fields({ SpecialToken: PIECE, Sequence: PIECE }), 64, 1);

const MODEL = fields(
  {
    type: nullable(oneOf(['BPE', 'WordPiece', 'Unigram', 'WordLevel'])),
    unk_token: short,
    unk_id: nullable(integer(0, MOST_TOKENS)),
    continuing_subword_prefix: nullable(string(64)),
    continuing_subword_suffix: nullable(string(64)),
    end_of_word_suffix: nullable(string(64)),
    max_input_chars_per_word: nullable(integer(0, 1 << 10)),
    fuse_unk: truth,
    byte_fallback: truth,
    ignore_merges: truth,
  },
  ['vocab'],
);

/** Numbers of tokens have gaps, but not many. */
const mostNumber = (/** @type {number} */ count) => Math.min(MOST_TOKENS, 2 * count + (1 << 16));

/** @param {Record<string, unknown>} model @param {number} added */
function checkVocabulary(model, added) {
  const { vocab, merges = [] } = model,
    where = `${FILE}: model: vocab`,
    word = string(1 << 16);
  if (Array.isArray(vocab)) {
    const score = (/** @type {unknown} */ s, /** @type {Where} */ at) =>
      void (Number.isFinite(s) || refuse(at, 'a number', s));
    list(
      (pair, at) => {
        list(() => {}, 2, 2)(pair, at);
        const [token, value] = /** @type {unknown[]} */ (pair);
        word(token, at);
        score(value, at);
      },
      MOST_TOKENS,
      1,
    )(vocab, where);
  } else {
    object(vocab, where);
    const count = Object.keys(vocab).length + added;
    record(integer(0, mostNumber(count)), MOST_TOKENS)(vocab, where);
  }
  if (model['type'] === 'BPE')
    list((pair, at) => {
      if (Array.isArray(pair)) list(word, 2, 2)(pair, at);
      else word(pair, at);
    }, 4 * MOST_TOKENS)(merges, `${FILE}: model: merges`);
}

/**
 * Checks the value of tokenizer.json. It may have no added tokens.
 * @param {unknown} value @returns {asserts value is import('./tokenizing.js').TokenizerJson}
 */
export function checkTokenizer(value) {
  object(value, FILE);
  value['added_tokens'] ??= [];
  const { model, added_tokens: added, post_processor: after } = value;
  MODEL(model, `${FILE}: model`);
  list(() => {}, MOST_TOKENS)(added, `${FILE}: added_tokens`);
  const { vocab } = /** @type {{ vocab: object }} */ (model),
    count = Object.keys(vocab ?? {}).length + /** @type {unknown[]} */ (added).length;
  list(
    fields({ id: integer(0, mostNumber(count)), content: string(1 << 16, 1), special: flag }, ['id', 'content']),
    MOST_TOKENS,
  )(added, `${FILE}: added_tokens`);
  checkVocabulary(/** @type {Record<string, unknown>} */ (model), /** @type {unknown[]} */ (added).length);
  const before = new Parts();
  before.check(value['normalizer'], `${FILE}: normalizer`);
  before.check(value['pre_tokenizer'], `${FILE}: pre_tokenizer`);
  before.check(after, `${FILE}: post_processor`);
  new Parts().check(value['decoder'], `${FILE}: decoder`);
}

const CONFIG = fields({
  additional_special_tokens: nullable(list(() => {}, MOST_TOKENS)),
  target_lang: short,
  remove_space: truth,
  clean_up_tokenization_spaces: truth,
  do_lowercase_and_remove_accent: truth,
});

/** Checks the value of tokenizer_config.json. @param {unknown} value @returns {asserts value is object} */
export const checkTokenizerConfig = (value) => CONFIG(value, 'tokenizer_config.json');
