// Generates tokens with Rushlight. The file has the keys and values as state.

import { load } from '../../../js/src/index.js';

export const files = { rushlight: 'model.rush', 'rushlight-weights': 'weights.rush' };

/** @param {Uint8Array} bytes @param {any} about @param {{ threads: number }} options */
export async function open(bytes, about, { threads }) {
  const model = await load(bytes, threads > 1 ? { threads } : {});
  return {
    name: `${model.backend.name}`,
    /** Returns the logits after the last token. @param {number[]} tokens @param {number} position of the first one */
    async step(tokens, position) {
      const inputs = {
        tokens: { dtype: 'int64', shape: [1, tokens.length], data: BigInt64Array.from(tokens, BigInt) },
        position: { dtype: 'int64', shape: [], data: BigInt64Array.of(BigInt(position)) },
      };
      return (await model.run(/** @type {any} */ (inputs))).logits.data;
    },
  };
}
