// Converts text to MiniLM's token ids by BERT's WordPiece, with Hugging Face's tokenizers.js.

/**
 * @param {any} Tokenizer the class of that name from @huggingface/tokenizers
 * @param {object} json tokenizer.json @param {object} config tokenizer_config.json
 * @param {number} [maxLength] tokens, including the two special ones; longer texts are truncated
 * @returns {(text: string) => number[]}
 */
export function makeTokenizer(Tokenizer, json, config, maxLength = 256) {
  const tokenizer = new Tokenizer(json, config);
  return (text) => {
    // tokenizers.js 0.2.0 differs from the Rust original in two ways: JavaScript converts a capital
    // sigma at the end of a word to a final one, and Chinese beyond U+FFFF is not split.
    const { ids } = tokenizer.encode(text.replaceAll('Σ', 'σ').replace(/[\u{20000}-\u{2fa1f}]/gu, ' $& '));
    return ids.length > maxLength ? [...ids.slice(0, maxLength - 1), ids.at(-1)] : ids;
  };
}

/**
 * Returns the model's inputs for several texts: [texts, longest], with zeros after the shorter ones.
 * @param {number[][]} texts token ids
 */
export function batch(texts) {
  const length = Math.max(...texts.map((t) => t.length));
  const shape = [texts.length, length];
  const ids = new BigInt64Array(texts.length * length);
  const mask = new BigInt64Array(texts.length * length);
  texts.forEach((text, row) =>
    text.forEach((id, column) => {
      ids[row * length + column] = BigInt(id);
      mask[row * length + column] = 1n;
    }),
  );
  return { ids: { dtype: 'int64', shape, data: ids }, mask: { dtype: 'int64', shape, data: mask } };
}
