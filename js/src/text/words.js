// Joins tokens of speech to words, as transformers' WhisperTokenizer does.

const PUNCTUATION = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
  BEFORE = '"\'“¡¿([{-',
  AFTER = '"\'.。,，!！?？:：”)]}、';

/** Languages that write no spaces between words. */
const WITHOUT_SPACES = ['zh', 'ja', 'th', 'lo', 'my', 'yue'];

/**
 * @typedef {object} Part a word, or a part of one
 * @property {string} text
 * @property {number[]} at the places of its tokens
 */

/**
 * Splits tokens where they are whole characters.
 * @param {readonly number[]} tokens @param {(tokens: readonly number[]) => string} decode @returns {Part[]}
 */
function characters(tokens, decode) {
  const all = decode(tokens),
    /** @type {Part[]} */ parts = [];
  let /** @type {number[]} */ at = [],
    given = 0;
  tokens.forEach((_, i) => {
    at.push(i);
    const text = decode(at.map((k) => /** @type {number} */ (tokens[k]))),
      broken = text.indexOf('\uFFFD');
    if (broken >= 0 && all[given + broken] !== '\uFFFD') return;
    parts.push({ text, at });
    at = [];
    given += text.length;
  });
  return parts;
}

/** Joins parts that no space or punctuation separates. @param {Part[]} parts */
function joined(parts) {
  /** @type {Part[]} */ const words = [];
  for (const part of parts) {
    const last = words.at(-1);
    if (!last || part.text.startsWith(' ') || PUNCTUATION.includes(part.text.trim())) words.push(part);
    else words[words.length - 1] = { text: last.text + part.text, at: [...last.at, ...part.at] };
  }
  return words;
}

/** Joins punctuation with the word after it or before it. @param {Part[]} words */
function withPunctuation(words) {
  const out = words.map((word) => ({ ...word })),
    join = (/** @type {number} */ to, /** @type {number} */ i, /** @type {number} */ k) => {
      const first = /** @type {Part} */ (out[i]),
        second = /** @type {Part} */ (out[k]);
      const both = { text: first.text + second.text, at: [...first.at, ...second.at] };
      out[i] = out[k] = { text: '', at: [] };
      out[to] = both;
    };
  const text = (/** @type {number} */ i) => /** @type {Part} */ (out[i]).text;
  for (let i = out.length - 2, next = out.length - 1; i >= 0; i--)
    if (text(i).startsWith(' ') && BEFORE.includes(text(i).trim())) join(next, i, next);
    else next = i;
  for (let i = 1, last = 0; i < out.length; i++)
    if (!text(last).endsWith(' ') && AFTER.includes(text(i))) join(last, last, i);
    else last = i;
  return out.filter((word) => word.text !== '');
}

/**
 * Returns the words of tokens with the places of their tokens.
 * @param {readonly number[]} tokens @param {(tokens: readonly number[]) => string} decode
 * @param {string} [language] a code
 */
export function wordsOf(tokens, decode, language = 'en') {
  const parts = characters(tokens, decode);
  return withPunctuation(WITHOUT_SPACES.includes(language) ? parts : joined(parts));
}
