// Places of tokens in their text, which @huggingface/tokenizers does not give.

/**
 * @typedef {{ start: number, end: number }} Place a part of a text, in UTF-16 units
 * @typedef {Place & { unit: string | number }} Unit a part of a text that tokens consist of
 *
 * @typedef {object} TokenizerJson the used part of tokenizer.json
 * @property {{ type?: string, continuing_subword_prefix?: string }} model
 * @property {object | null} [pre_tokenizer]
 * @property {object | null} [decoder]
 */

const encoder = new TextEncoder();

/** Returns the bytes by the characters that stand for them in a byte-level vocabulary. */
function bytesOfCharacters() {
  const out = new Map(),
    shown = (/** @type {number} */ b) => (b > 32 && b < 127) || (b > 160 && b < 173) || b > 173;
  for (let b = 0, next = 256; b < 256; b++) out.set(String.fromCharCode(shown(b) ? b : next++), b);
  return out;
}

/** Returns a character as normalizers leave it, which change case, accents and forms. @param {string} text */
const folded = (text) =>
  text
    .normalize('NFKD')
    .replace(/[\p{Mn}\p{C}]/gu, '')
    .toLowerCase()
    .replace(/\s/gu, '');

/** Splits texts and tokens into units, without white space. */
class Splitter {
  #bytes;
  #prefix;

  /** @param {TokenizerJson} tokenizer */
  constructor(tokenizer) {
    const byteLevel = JSON.stringify([tokenizer.pre_tokenizer, tokenizer.decoder]).includes('"ByteLevel"');
    this.#bytes = byteLevel ? bytesOfCharacters() : undefined;
    this.#prefix = tokenizer.model.type === 'WordPiece' ? (tokenizer.model.continuing_subword_prefix ?? '##') : '';
  }

  /** @param {string} text @returns {Unit[]} */
  text(text) {
    const /** @type {Unit[]} */ out = [];
    let start = 0;
    for (const character of text) {
      const end = start + character.length;
      for (const unit of this.#units(character)) out.push({ unit, start, end });
      start = end;
    }
    return out;
  }

  /** @param {string} token @returns {(string | number)[]} */
  token(token) {
    const bytes = this.#bytes;
    if (bytes) {
      const all = [...token].map((c) => bytes.get(c));
      return all.includes(undefined) ? this.#units(token) : all.filter((b) => !isSpace(b));
    }
    const plain = this.#prefix && token.startsWith(this.#prefix) ? token.slice(this.#prefix.length) : token;
    return this.#units(plain.replaceAll('\u2581', ' '));
  }

  /** @param {string} text @returns {(string | number)[]} */
  #units(text) {
    return this.#bytes ? [...encoder.encode(text)].filter((b) => !isSpace(b)) : [...folded(text)];
  }
}

/** @param {number} byte */
const isSpace = (byte) => byte === 32 || (byte > 8 && byte < 14);

/**
 * Returns the place of each token. A token that the text does not show, such as [UNK], has the word between its
 * neighbors.
 * @param {string} text @param {readonly string[]} tokens without special tokens, in the vocabulary's form
 * @param {TokenizerJson} tokenizer @returns {Place[]}
 */
export function placesOf(text, tokens, tokenizer) {
  const splitter = new Splitter(tokenizer),
    units = splitter.text(text),
    /** @type {Place[]} */ out = [];
  let at = 0,
    /** @type {number[]} */ unknown = [];
  const begin = (/** @type {number} */ i) => units[i]?.start ?? text.length;
  const resolve = (/** @type {number} */ to) => {
    const words =
      unknown.length && to > at ? wordsBetween(text, begin(at), /** @type {Unit} */ (units[to - 1]).end) : [];
    unknown.forEach((i, k) => {
      const empty = { start: begin(at), end: begin(at) };
      out[i] =
        words.length === unknown.length
          ? /** @type {Place} */ (words[k])
          : { ...empty, end: words.at(-1)?.end ?? empty.end };
    });
    unknown = [];
  };
  tokens.forEach((token, i) => {
    const wanted = splitter.token(token),
      found = find(units, wanted, at);
    if (found < 0) {
      unknown.push(i);
      return;
    }
    resolve(found);
    at = found + wanted.length;
    const start = begin(found);
    const end = wanted.length ? /** @type {Unit} */ (units[at - 1]).end : start;
    out[i] = { start, end: end + marksAt(text.slice(end, Math.max(end, begin(at)))) };
  });
  resolve(units.length);
  return out;
}

/**
 * Returns the first place from `at` on where the wanted units are, or -1.
 * @param {Unit[]} units @param {(string | number)[]} wanted @param {number} at
 */
function find(units, wanted, at) {
  for (let i = at; i + wanted.length <= units.length; i++)
    if (wanted.every((unit, k) => units[i + k]?.unit === unit)) return i;
  return -1;
}

/** Returns the length of the marks at the beginning, which belong to the character before them. @param {string} text */
const marksAt = (text) => /^\p{Mn}*/u.exec(text)?.[0].length ?? 0;

/** @param {string} text @param {number} start @param {number} end @returns {Place[]} */
function wordsBetween(text, start, end) {
  return [...text.slice(start, end).matchAll(/\S*[^\s\p{C}]\S*/gu)].map(({ 0: word, index }) => ({
    start: start + index,
    end: start + index + word.length,
  }));
}
