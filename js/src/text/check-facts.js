// The allowed contents of text.json and generation_config.json. docs/design/text.md describes them.

import { fields, flag, integer, list, nullable, number, object, oneOf, record, string } from './asset-checks.js';

/** @typedef {import('./text-model.js').TextFacts & import('./transcriber.js').SpeechFacts} Facts */

/** The greatest number of a token. The largest vocabularies have about a million. */
export const MOST_TOKENS = 1 << 22;
/** The most tokens of a text. */
const MOST_LENGTH = 1 << 24;
/** Samples of a frame of the spectrogram. A window has at least one. */
const FRAME = 160;

const token = integer(0, MOST_TOKENS),
  tokens = list(token, MOST_TOKENS),
  count = integer(0, 2 ** 31),
  name = string(1 << 12);

const FACTS = {
  task: oneOf(['generate', 'seq2seq', 'transcribe', 'embed', 'classify', 'tokens']),
  length: integer(1, MOST_LENGTH),
  inputLength: integer(1, MOST_LENGTH),
  start: list(token, 1 << 10, 1),
  stop: list(token, 1 << 12),
  languages: record(token, 1 << 12),
  labels: list(name, 1 << 20, 1),
  several: flag,
  types: flag,
  tokens: record(string(1 << 16), 1 << 10),
  sampleRate: integer(1000, 1 << 20),
  samples: integer(FRAME, 1 << 28),
  tasks: record(token, 1 << 10),
  noTimestamps: nullable(token),
  timestamps: nullable(token),
  align: flag,
};

/** The properties that a task cannot do without, beside `task` and `length`. */
const NEEDED = /** @type {Record<string, readonly string[]>} */ ({
  seq2seq: ['start'],
  transcribe: ['start', 'sampleRate', 'samples', 'noTimestamps', 'timestamps'],
  tokens: ['labels'],
});

/** @param {unknown} value the value of text.json @returns {asserts value is Facts} */
export function checkFacts(value) {
  object(value, 'text.json');
  fields({ task: FACTS.task }, ['task'])(value, 'text.json');
  const needed = NEEDED[/** @type {string} */ (value['task'])] ?? [];
  fields(FACTS, ['length', ...needed])(value, 'text.json');
}

const GENERATION = {
  do_sample: flag,
  temperature: number(0, Infinity),
  top_k: count,
  top_p: number(0, 1),
  min_p: number(0, 1),
  repetition_penalty: number(Number.MIN_VALUE, Infinity),
  max_length: count,
  max_new_tokens: count,
  bad_words_ids: list(list(token, 1 << 12), 1 << 20),
  suppress_tokens: tokens,
  begin_suppress_tokens: tokens,
  no_repeat_ngram_size: count,
  min_length: count,
  min_new_tokens: count,
  forced_bos_token_id: token,
  forced_eos_token_id: (/** @type {unknown} */ value, /** @type {import('./asset-checks.js').Where} */ where) =>
    (Array.isArray(value) ? tokens : token)(value, where),
  max_initial_timestamp_index: count,
};

/**
 * Returns the settings of generation_config.json that are used, without those that are null.
 * @param {unknown} value
 * @returns {import('./writer.js').GenerationConfig & import('./logits-rules.js').GenerationRules}
 */
export function checkedGeneration(value) {
  object(value, 'generation_config.json');
  const known = Object.entries(value).filter(([key, v]) => Object.hasOwn(GENERATION, key) && v !== null),
    settings = Object.fromEntries(known);
  fields(GENERATION)(settings, 'generation_config.json');
  return settings;
}
