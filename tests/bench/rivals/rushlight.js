// Ourselves: model.rush.

import { load } from '../../../js/src/index.js';

export const file = 'rush';

/** @param {{ threads: number, backend?: string }} options */
export async function open({ threads, backend }) {
  return {
    /** @param {Uint8Array} bytes @param {any} about @param {Record<string, any>} inputs */
    async load(bytes, about, inputs) {
      const model = await load(bytes, { ...(threads > 1 && { threads }), ...(backend && { backend }) });
      return {
        run: async () => (await model.run(inputs))[about.output].data,
        profile: () => model.profile(inputs, { runs: 5 }),
      };
    },
  };
}
