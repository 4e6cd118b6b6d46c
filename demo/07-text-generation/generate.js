// Generates tokens one by one with a model that keeps its cache. A run takes the new tokens and their position.

/**
 * @typedef {object} Sampling how a token is chosen
 * @property {number} [temperature] 0, which is the default, always chooses the likeliest token. Higher values choose
 *   less likely tokens more often
 * @property {number} [topK] number of likeliest tokens to choose from, or 0 for all; 40 by default
 * @property {number} [topP] chooses among the fewest tokens with this total probability; 1 by default
 * @property {number} [seed] the same seed chooses the same tokens; 0 by default
 *
 * @typedef {object} Generating
 * @property {number} [maxTokens] 256 by default
 * @property {number[]} [stop] tokens that end the generation
 * @property {number} [position] position of the first of `tokens`; earlier tokens are in the model's cache
 * @property {AbortSignal} [signal] ends the generation between two tokens, or during a run
 */

/**
 * Yields the tokens that follow `tokens`, including a stop token. All of them except the last one are in the cache.
 * @param {import('../../js/src/index.js').Model} model with inputs tokens [1, n] and position, and the output logits
 *   [1, words]
 * @param {number[]} tokens @param {Generating & Sampling} [options]
 * @returns {AsyncGenerator<number, void, void>}
 */
export async function* generate(model, tokens, { maxTokens = 256, stop = [], position = 0, signal, ...how } = {}) {
  const choose = sampler(how);
  for (let n = 0; n < maxTokens; n++) {
    const { logits } = await model.run(
      { tokens: { dtype: 'int64', shape: [1, tokens.length], data: BigInt64Array.from(tokens, BigInt) }, position },
      { signal },
    );
    position += tokens.length;
    const token = choose(/** @type {import('../../js/src/index.js').Tensor<'float32'>} */ (logits).data);
    yield token;
    if (stop.includes(token)) return;
    tokens = [token];
  }
}

/**
 * Returns a function that chooses a token by its logits.
 * @param {Sampling} [how] @returns {(logits: Float32Array) => number}
 */
export function sampler({ temperature = 0, topK = 40, topP = 1, seed = 0 } = {}) {
  if (!(temperature >= 0) || !(topK >= 0) || !(topP > 0 && topP <= 1))
    throw new RangeError('temperature and topK are at least 0, topP is above 0 and at most 1');
  if (temperature === 0) return (logits) => greatest(logits, 1)[0];
  const random = randomNumbers(seed);
  return (logits) => {
    const tokens = greatest(logits, topK || logits.length);
    const weights = tokens.map((token) => Math.exp((logits[token] - logits[tokens[0]]) / temperature));
    const all = weights.reduce((sum, w) => sum + w);
    let kept = 0,
      count = 0;
    while (count < tokens.length && (count === 0 || kept < topP * all)) kept += weights[count++];
    let left = random() * kept,
      i = 0;
    while (i < count - 1 && (left -= weights[i]) >= 0) i++;
    return tokens[i];
  };
}

/**
 * Returns the indices of the k greatest numbers, greatest first. Among equal numbers the first index wins.
 * @param {Float32Array} numbers
 * @param {number} k
 */
export function greatest(numbers, k) {
  /** @type {number[]} */
  const heap = []; // the least of them on top
  const worse = (/** @type {number} */ a, /** @type {number} */ b) =>
    numbers[a] < numbers[b] || (numbers[a] === numbers[b] && a > b);
  const sink = (/** @type {number} */ at) => {
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < heap.length && worse(heap[child], heap[least])) least = child;
      if (least === at) return;
      [heap[at], heap[least]] = [heap[least], heap[at]];
      at = least;
    }
  };
  for (let i = 0; i < Math.min(k, numbers.length); i++) heap.push(i);
  for (let at = heap.length >> 1; at-- > 0;) sink(at);
  for (let i = heap.length; i < numbers.length; i++) {
    if (!worse(heap[0], i)) continue;
    heap[0] = i;
    sink(0);
  }
  return heap.sort((a, b) => (worse(a, b) ? 1 : -1));
}

/** Returns a generator of numbers in [0, 1), by Marsaglia's xorshift of 32 bits. @param {number} seed */
function randomNumbers(seed) {
  let x = Math.imul(seed + 1, 0x9e3779b1) || 1; // (close seeds must give different numbers, and xorshift stays at 0)
  const next = () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 8; i++) next();
  return next;
}
