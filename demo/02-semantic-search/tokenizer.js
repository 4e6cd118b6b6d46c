// Converts text to MiniLM's token ids by BERT's WordPiece, with Hugging Face's tokenizers.js.

/**
 * @param {any} Tokenizer the class of that name from @huggingface/tokenizers
 * @param {object} json tokenizer.json @param {object} config tokenizer_config.json
 * @param {number} [maxLength] tokens, with the two special ones; what is beyond is cut off
 * @returns {(text: string) => number[]}
 */
export function makeTokenizer(Tokenizer, json, config, maxLength = 256) {
  const tokenizer = new Tokenizer(json, config);
  return (text) => {
    // Two things that tokenizers.js 0.2.0 does otherwise than the Rust original: JavaScript turns a
    // capital sigma at a word's end into a final one, and Chinese beyond U+FFFF is not split.
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
