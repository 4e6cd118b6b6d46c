// Models whose file describes how images or audio become its inputs.

import { badArgument, describeValue, unknownNameError } from '../base/errors.js';

/** @import { Tensor } from '../base/types.js' */

/**
 * @typedef {Pick<import('../api/model.js').Model, 'methods' | 'asset'> & Runnable} MediaModel a model of load()
 *
 * @typedef {object} Runnable a model that runs
 * @property {(inputs: never, options?: never) => Promise<unknown>} run runs a method
 */

/**
 * @template {Runnable} M
 * @typedef {object} MediaRun a model whose run() takes images or audio
 * @property {(inputs: Record<string, unknown>, options?: Parameters<M['run']>[1]) => ReturnType<M['run']>} run runs a
 *   method, as Model.run(), and converts its inputs first
 */

/**
 * Makes run() of a model convert the inputs that an asset of its file declares.
 * @template {MediaModel} M
 * @template O
 * @param {M} model
 * @param {string} name the asset: an object with the options of each input
 * @param {(value: unknown) => boolean} isSource
 * @param {(source: never, options: O) => Tensor} convert
 * @returns {Promise<M & MediaRun<M>>} the same model
 */
export async function withDeclared(model, name, isSource, convert) {
  const declared = /** @type {Record<string, O>} */ (await (await model.asset(name)).json());
  if (!declared || typeof declared !== 'object' || Array.isArray(declared))
    throw badArgument(`${name} must be an object with the options of each input, got ${describeValue(declared)}`);
  const inputs = Object.values(model.methods).flatMap((method) => method.inputs.map((input) => input.name));
  for (const input of Object.keys(declared))
    if (!inputs.includes(input)) throw unknownNameError(`${name}: there is no input`, input, inputs);
  const run = /** @type {(inputs: unknown, options: unknown) => Promise<unknown>} */ (model.run).bind(model);
  const converted = (/** @type {[string, unknown]} */ [input, value]) => [
    input,
    Object.hasOwn(declared, input) && isSource(value)
      ? convert(/** @type {never} */ (value), /** @type {O} */ (declared[input]))
      : value,
  ];
  const media = {
    run: async (/** @type {unknown} */ given, /** @type {unknown} */ options) =>
      run(given && Object.fromEntries(Object.entries(/** @type {object} */ (given)).map(converted)), options),
  };
  return Object.assign(model, /** @type {MediaRun<M>} */ (/** @type {unknown} */ (media)));
}
