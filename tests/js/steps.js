// A decoder step by step, in Node, a page or a worker: what one run gives is the next one's input.

import { load } from '../../js/src/index.js';

/**
 * @typedef {object} Told JSON; a tensor is {dtype, shape, data}, a list of tensors an array
 * @property {Record<string, any>} start inputs of the first step that stay, or go round
 * @property {string} goesRound the output that is the next step's input, or ''
 * @property {string} answer the output that is compared
 * @property {Record<string, any>[]} steps of each step the inputs that are new
 * @property {any[]} want of each step the answer
 * @property {any} [last] what goes round, after the last step
 */

/** @param {any} v @returns {any} */
const typed = (v) =>
  Array.isArray(v)
    ? v.map(typed)
    : { ...v, data: v.dtype === 'int64' ? BigInt64Array.from(v.data, BigInt) : Float32Array.from(v.data) };
/** @param {Record<string, any>} inputs */
const typedAll = (inputs) => Object.fromEntries(Object.entries(inputs).map(([name, v]) => [name, typed(v)]));

/**
 * The largest difference; an exception where it is no rounding.
 * @param {string} where
 * @param {any} got
 * @param {any} want
 * @returns {number}
 */
function apart(where, got, want) {
  if (Array.isArray(want)) {
    if (got.length !== want.length) throw new Error(`${where}: ${got.length} items instead of ${want.length}`);
    return Math.max(...want.map((w, i) => apart(`${where}[${i}]`, got[i], w)));
  }
  if (String(got.shape) !== String(want.shape)) throw new Error(`${where}: [${got.shape}] instead of [${want.shape}]`);
  let most = 0;
  want.data.forEach((/** @type {number} */ w, /** @type {number} */ i) => {
    const off = Math.abs(got.data[i] - w);
    if (!(off <= 1e-5 + 1e-4 * Math.abs(w))) throw new Error(`${where}: ${got.data[i]} instead of ${w}`);
    most = Math.max(most, off);
  });
  return most;
}

/**
 * Compares each step with what was told; gives the largest difference.
 * @param {import('../../js/src/index.js').Source} source @param {Told} told
 * @param {import('../../js/src/index.js').LoadOptions} [options]
 */
export async function stepByStep(source, { start, goesRound, answer, steps, want, last }, options) {
  const model = await load(source, options),
    given = typedAll(start);
  let maxAbs = 0;
  for (const [i, step] of steps.entries()) {
    const outputs = /** @type {Record<string, any>} */ (await model.run({ ...given, ...typedAll(step) }));
    const came = { [answer]: outputs.output, ...outputs }; // one tensor has no name of its own
    maxAbs = Math.max(maxAbs, apart(`step ${i}`, came[answer], want[i]));
    if (goesRound) given[goesRound] = came[goesRound];
  }
  if (last) maxAbs = Math.max(maxAbs, apart(goesRound, given[goesRound], last));
  model.dispose();
  return maxAbs;
}
