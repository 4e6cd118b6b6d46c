// Joins the labels of tokens to entities, as transformers' pipeline does with aggregation_strategy="simple".

import { placesOf } from './offsets.js';

/** @typedef {Required<import('./text-model.js').Label>} Part */

/** @param {string} label */
function tagOf(label) {
  const begins = label.startsWith('B-');
  return { begins, tag: begins || label.startsWith('I-') ? label.slice(2) : label };
}

/** Returns the greatest probability and its index. @param {ArrayLike<number>} logits */
function likeliest(logits) {
  const all = Array.from(logits),
    most = all.reduce((a, b) => Math.max(a, b), -Infinity),
    sum = all.reduce((total, x) => total + Math.exp(x - most), 0);
  return { index: all.indexOf(most), score: 1 / sum };
}

/**
 * Returns the labeled parts of a text. The name of a label is without B- and I-. A score is the mean of the tokens'.
 * @param {string} text @param {readonly string[]} tokens without special tokens, in the vocabulary's form
 * @param {import('./offsets.js').TokenizerJson} tokenizer
 * @param {Float32Array} logits of these tokens @param {readonly string[]} labels
 * @returns {Part[]}
 */
export function entitiesOf(text, tokens, tokenizer, logits, labels) {
  const /** @type {(Part & { scores: number[] })[]} */ out = [];
  placesOf(text, tokens, tokenizer).forEach(({ start, end }, i) => {
    const { index, score } = likeliest(logits.subarray(i * labels.length, (i + 1) * labels.length));
    const { begins, tag } = tagOf(labels[index] ?? String(index)),
      last = out.at(-1);
    if (last && last.label === tag && !begins) {
      last.end = end;
      last.scores.push(score);
    } else out.push({ label: tag, score, start, end, text: '', scores: [score] });
  });
  return out
    .filter(({ label }) => label !== 'O')
    .map(({ scores, ...entity }) => ({
      ...entity,
      score: scores.reduce((a, b) => a + b, 0) / scores.length,
      text: text.slice(entity.start, entity.end),
    }));
}
