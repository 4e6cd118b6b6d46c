// The spaces of a tokenizer's regular expressions. In JavaScript, \s has U+FEFF and lacks U+0085. The tokenizers of
// Python have Unicode's White_Space.

/**
 * @typedef {object} PreTokenizer the parts of a pre-tokenizer in tokenizer.json that are used here
 * @property {string} type
 * @property {PreTokenizer[]} [pretokenizers]
 * @property {{ Regex?: string }} [pattern]
 * @property {boolean} [use_regex]
 * @property {boolean} [add_prefix_space]
 */

const SPACES = '\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';

/** The regular expression of byte-level tokenizers that have none of their own. */
const BYTE_LEVEL = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** Writes the spaces out. In a class, \S stays. @param {string} regex */
function withSpaces(regex) {
  let inClass = false;
  return regex.replace(/\\.|\[|\]/gsu, (part) => {
    if (part === '[' || part === ']') inClass = part === '[';
    if (part === '\\s') return inClass ? SPACES : `[${SPACES}]`;
    return part === '\\S' && !inClass ? `[^${SPACES}]` : part;
  });
}

/** @param {PreTokenizer} pre @returns {PreTokenizer} */
function changed(pre) {
  if (pre.pretokenizers) return { ...pre, pretokenizers: pre.pretokenizers.map(changed) };
  if (pre.pattern?.Regex) return { ...pre, pattern: { ...pre.pattern, Regex: withSpaces(pre.pattern.Regex) } };
  if (pre.type !== 'ByteLevel' || pre.use_regex === false || pre.add_prefix_space) return pre;
  const split = { type: 'Split', pattern: { Regex: withSpaces(BYTE_LEVEL) }, behavior: 'Isolated', invert: false };
  return { type: 'Sequence', pretokenizers: [split, { ...pre, use_regex: false }] };
}

/**
 * Returns a tokenizer.json whose regular expressions have Unicode's spaces.
 * @template {{ pre_tokenizer?: PreTokenizer | null }} T @param {T} tokenizer @returns {T}
 */
export const withUnicodeSpaces = (tokenizer) =>
  tokenizer.pre_tokenizer ? { ...tokenizer, pre_tokenizer: changed(tokenizer.pre_tokenizer) } : tokenizer;
