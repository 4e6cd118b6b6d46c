// Chooses the next token from logits. The steps and their order are those of transformers' logits processors:
// repetition penalty, temperature, top-k, top-p, min-p.

import { badArgument, describeValue } from '../base/errors.js';

/**
 * @typedef {object} Sampling how a token is chosen
 * @property {number} [temperature] divides the logits; 0 always chooses the likeliest token
 * @property {number} [topK] the number of likeliest tokens to choose from; 0 for all
 * @property {number} [topP] chooses among the fewest tokens whose total probability reaches it; 1 for all
 * @property {number} [minP] leaves out tokens less likely than this share of the likeliest token's probability
 * @property {number} [repetitionPenalty] makes tokens that have occurred less likely, if it is above 1
 */

/** The range of each setting: the least value, whether it belongs to the range, and the greatest value. */
const RANGES = /** @type {const} */ ({
  temperature: [0, true, Infinity],
  topK: [0, true, Infinity],
  topP: [0, false, 1],
  minP: [0, true, 1],
  repetitionPenalty: [0, false, Infinity],
});

/** @param {Sampling} settings */
export function checkSampling(settings) {
  for (const [name, [least, belongs, most]] of Object.entries(RANGES)) {
    const n = settings[/** @type {keyof Sampling} */ (name)];
    if (n === undefined) continue;
    const whole = name !== 'topK' || Number.isInteger(n);
    if (!(typeof n === 'number' && (belongs ? n >= least : n > least) && n <= most && whole))
      throw badArgument(
        `generate: ${name} must be a${whole ? ' number' : 'n integer'} ${belongs ? 'of at least' : 'above'} ${least}` +
          `${most === 1 ? ' and at most 1' : ''}, got ${describeValue(n)}`,
        { actual: n },
      );
  }
}

/** Scores below the greatest one by more than this have no probability in float64. */
const MAX_SCORE_GAP = 745;

/**
 * Returns the tokens that may be chosen, the likeliest first, with their scores.
 * @param {Float32Array} logits @param {Iterable<number>} seen tokens that have occurred
 * @param {Required<Sampling>} settings whose temperature is above 0
 * @returns {{ tokens: number[], weights: number[] }} weights: probabilities relative to that of the first token
 */
export function candidates(logits, seen, { temperature, topK, topP, minP, repetitionPenalty }) {
  const scores = penalized(logits, seen, repetitionPenalty);
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = Math.max(
    most - MAX_SCORE_GAP * temperature,
    topK > 0 && topK < scores.length ? kth(scores, topK) : -Infinity,
  );
  /** @type {number[]} */ let tokens = [];
  for (let i = 0; i < scores.length; i++) if (/** @type {number} */ (scores[i]) >= least) tokens.push(i);
  const score = (/** @type {number} */ token) => /** @type {number} */ (scores[token]);
  tokens.sort((a, b) => score(b) - score(a) || a - b);
  let weights = tokens.map((token) => Math.exp((score(token) - most) / temperature));
  if (topP < 1) {
    const all = weights.reduce((sum, w) => sum + w, 0);
    let sum = 0,
      n = 0;
    while (n === 0 || (n < weights.length && sum < topP * all)) sum += /** @type {number} */ (weights[n++]);
    weights = weights.slice(0, n);
  }
  weights = weights.filter((w, i) => i === 0 || w >= minP);
  tokens = tokens.slice(0, weights.length);
  return { tokens, weights };
}

/** @param {Float32Array} logits @param {Iterable<number>} seen @param {number} penalty */
function penalized(logits, seen, penalty) {
  if (penalty === 1) return logits;
  const scores = logits.slice();
  for (const token of new Set(seen)) {
    const x = scores[token];
    if (x !== undefined) scores[token] = x < 0 ? x * penalty : x / penalty;
  }
  return scores;
}

/** Returns the k-th greatest number. @param {Float32Array} numbers @param {number} k */
function kth(numbers, k) {
  const best = new Float32Array(k).fill(-Infinity); // ascending
  for (const x of numbers) {
    if (!(x > /** @type {number} */ (best[0]))) continue;
    let at = 1;
    while (at < k && x > /** @type {number} */ (best[at])) at++;
    best.copyWithin(0, 1, at);
    best[at - 1] = x;
  }
  return /** @type {number} */ (best[0]);
}

/**
 * Returns a function that chooses a token.
 * @param {Required<Sampling>} settings @param {() => number} random a number of at least 0 and below 1
 * @returns {(logits: Float32Array, seen: Iterable<number>) => number}
 */
export function tokenSampler(settings, random) {
  if (settings.temperature === 0) {
    return (logits, seen) => {
      const scores = penalized(logits, seen, settings.repetitionPenalty);
      let best = 0;
      for (let i = 1; i < scores.length; i++)
        if (/** @type {number} */ (scores[i]) > /** @type {number} */ (scores[best])) best = i;
      return best;
    };
  }
  return (logits, seen) => {
    const { tokens, weights } = candidates(logits, seen, settings);
    let left = random() * weights.reduce((sum, w) => sum + w, 0),
      i = 0;
    while (i < tokens.length - 1 && (left -= /** @type {number} */ (weights[i])) >= 0) i++;
    return /** @type {number} */ (tokens[i]);
  };
}

/** Returns a generator of numbers from 0 to 1, by 32 bits of a Weyl sequence that are mixed. @param {number} seed */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Returns a function from a token to the natural logarithm of its probability. @param {Float32Array} logits */
export function logProbabilities(logits) {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0;
  for (const x of logits) sum += Math.exp(x - most);
  const log = Math.log(sum);
  return (/** @type {number} */ token) => /** @type {number} */ (logits[token]) - most - log;
}

/** Returns the likeliest tokens, the likeliest first. @param {Float32Array} logits @param {number} count */
export function likeliest(logits, count) {
  if (count < 1) return [];
  const least = count < logits.length ? kth(logits, count) : -Infinity,
    found = [...logits.keys()].filter((id) => /** @type {number} */ (logits[id]) >= least);
  const score = (/** @type {number} */ id) => /** @type {number} */ (logits[id]);
  return found.sort((a, b) => score(b) - score(a) || a - b).slice(0, count);
}
