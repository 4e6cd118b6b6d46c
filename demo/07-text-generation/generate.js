// Tokens one by one, from a model that keeps its cache: a run is given what is new, and where that begins.

/**
 * @typedef {object} Sampling how a token is chosen
 * @property {number} [temperature] 0, which is the default: always the likeliest; towards 1 and above: more and more
 *   what is less likely
 * @property {number} [topK] among so many of the likeliest; 0: all. 40 by default
 * @property {number} [topP] among the fewest of them that have this probability together; 1 by default
 * @property {number} [seed] the same seed chooses the same tokens; 0 by default
 *
 * @typedef {object} Generating
 * @property {number} [maxTokens] 256 by default
 * @property {number[]} [stop] tokens after which it ends
 * @property {number} [position] of the first of `tokens`: the model's cache has what comes before
 * @property {AbortSignal} [signal] ends it between two tokens, or within a run
 */

/**
 * Yields tokens that follow `tokens`, a stop token too. All but the last one that was yielded have been run, and are in
 * the cache.
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
 * A function that chooses a token by its logits.
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
 * The places of the k greatest numbers, the greatest first; of equal ones the first place.
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

/** Numbers from 0 up to 1, by Marsaglia's xorshift of 32 bits. @param {number} seed */
function randomNumbers(seed) {
  let x = Math.imul(seed + 1, 0x9e3779b1) || 1; // (a seed of near numbers gives far ones; 0 stays 0 for ever)
  const next = () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 8; i++) next();
  return next;
}
