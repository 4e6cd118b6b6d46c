// The rules of generation_config.json for the next token of a model with an encoder and a decoder. They are those of
// transformers' logits processors.

/**
 * @typedef {object} GenerationRules rules in the asset generation_config.json, as transformers writes it
 * @property {number[][]} [bad_words_ids] sequences that never occur
 * @property {number[]} [suppress_tokens] tokens that never occur
 * @property {number[]} [begin_suppress_tokens] tokens that do not come first
 * @property {number} [no_repeat_ngram_size] the length of sequences that occur at most once
 * @property {number} [min_length] the fewest tokens, with those that the text begins with
 * @property {number} [min_new_tokens] the fewest tokens behind those that the text begins with
 * @property {number} [forced_bos_token_id] the first token
 * @property {number | number[]} [forced_eos_token_id] the last token of a text that reaches the most tokens
 * @property {number} [max_initial_timestamp_index] the latest timestamp that speech begins with
 *
 * @typedef {object} Place where a text begins and ends
 * @property {number} begin the number of tokens of the prompt
 * @property {number} start the number of tokens that come before those that are counted as new
 * @property {number} end the most tokens
 * @property {readonly number[]} stop tokens that end a text
 *
 * @typedef {(logits: Float32Array, context: readonly number[]) => Float32Array} Rules changes logits
 */

/** Tests whether `part` occurs in `tokens` at `at`. */
const occurs = (
  /** @type {readonly number[]} */ part,
  /** @type {readonly number[]} */ tokens,
  /** @type {number} */ at,
) => part.every((token, i) => tokens[at + i] === token);

/**
 * Returns the last tokens of the sequences that would be complete with the next token.
 * @param {readonly number[][]} sequences @param {readonly number[]} context
 */
function completing(sequences, context) {
  return sequences
    .filter((s) => s.length <= context.length + 1 && occurs(s.slice(0, -1), context, context.length - s.length + 1))
    .map((s) => /** @type {number} */ (s.at(-1)));
}

/**
 * Returns the tokens that would repeat a sequence of `size` tokens.
 * @param {readonly number[]} context @param {number} size
 */
function repeating(context, size) {
  const out = [],
    last = context.slice(context.length - size + 1);
  if (context.length < size) return [];
  for (let at = 0; at + size <= context.length; at++)
    if (occurs(last, context, at)) out.push(/** @type {number} */ (context[at + size - 1]));
  return out;
}

/**
 * Returns the tokens that must not come next.
 * @param {GenerationRules} rules @param {Place} place @param {readonly number[]} context
 */
function excluded(rules, { begin, start, stop }, context) {
  const { min_length = 0, min_new_tokens = 0, no_repeat_ngram_size: size = 0, bad_words_ids } = rules,
    words = (bad_words_ids ?? []).filter((s) => s.length !== 1 || !stop.includes(/** @type {number} */ (s[0])));
  return [
    ...completing(words, context),
    ...(size > 0 ? repeating(context, size) : []),
    ...(context.length < min_length || context.length - start < min_new_tokens ? stop : []),
    ...(rules.suppress_tokens ?? []),
    ...(context.length === begin ? (rules.begin_suppress_tokens ?? []) : []),
  ];
}

/**
 * Returns a function that makes the tokens impossible that the rules exclude.
 * @param {GenerationRules} rules @param {Place} place @returns {Rules}
 */
export function rulesOf(rules, place) {
  const forced = rules.forced_eos_token_id ?? [],
    last = Array.isArray(forced) ? forced : [forced];
  return (logits, context) => {
    if (last.length > 0 && context.length === place.end - 1) {
      const only = new Float32Array(logits.length).fill(-Infinity);
      for (const token of last) only[token] = 0;
      return only;
    }
    const out = logits.slice();
    for (const token of excluded(rules, place, context)) if (token < out.length) out[token] = -Infinity;
    return out;
  };
}

/**
 * Returns the rules of timestamps. transformers' WhisperTimeStampLogitsProcessor has them.
 * @param {{ begin: number, stop: number, noTimestamps: number, timestamps: number, latest: number }} place
 *   `latest`: the greatest timestamp of the first token
 * @returns {Rules}
 */
export function timeRules({ begin, stop, noTimestamps, timestamps, latest }) {
  return (logits, context) => {
    const out = logits.slice(),
      written = context.slice(begin),
      isTime = (/** @type {number | undefined} */ token) => token !== undefined && token >= timestamps,
      afterTime = isTime(written.at(-1)),
      afterText = written.length > 1 && !isTime(written.at(-2)),
      earlier = written.filter(isTime).at(-1);
    out[noTimestamps] = -Infinity;
    if (afterTime && !afterText) out.fill(-Infinity, timestamps);
    if (afterTime && afterText) out.fill(-Infinity, 0, stop);
    if (earlier !== undefined) out.fill(-Infinity, timestamps, afterTime && afterText ? earlier : earlier + 1);
    if (written.length === 0) {
      out.fill(-Infinity, 0, timestamps);
      out.fill(-Infinity, timestamps + latest + 1);
    }
    if (timestampsAreLikelier(out, timestamps)) out.fill(-Infinity, 0, timestamps);
    return out;
  };
}

/**
 * Tests whether all timestamps together are likelier than each other token.
 * @param {Float32Array} logits @param {number} timestamps
 */
function timestampsAreLikelier(logits, timestamps) {
  const most = (/** @type {Float32Array} */ part) => part.reduce((a, b) => Math.max(a, b), -Infinity),
    text = most(logits.subarray(0, timestamps)),
    times = logits.subarray(timestamps),
    greatest = most(times);
  if (greatest === -Infinity) return false;
  return greatest + Math.log(times.reduce((sum, x) => sum + Math.exp(x - greatest), 0)) > text;
}
