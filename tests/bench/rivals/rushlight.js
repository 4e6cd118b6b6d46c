// Runs model.rush in Rushlight.

import { load } from '../../../js/src/index.js';

export const file = 'rush';

/** @param {{ threads: number, gpu: boolean }} options */
export async function open({ threads, gpu }) {
  return {
    /** @param {Uint8Array} bytes @param {any} about @param {Record<string, any>} inputs */
    async load(bytes, about, inputs) {
      const model = await load(bytes, gpu ? { device: 'webgpu' } : threads > 1 ? { threads } : {});
      return {
        run: async () => (await model.run(inputs, { outputs: [about.output] }))[about.output].data,
        /** Returns a row for each instruction: the least of three means of five runs, as a page's clock is coarse. */
        async profile() {
          const least = new Map();
          for (let i = 0; i < 3; i++) {
            for (const row of await model.profile(inputs, { runs: 5 })) {
              const key = `${row.method} ${row.instr}`,
                ms = row.ms / 5;
              if (!(least.get(key)?.ms <= ms)) least.set(key, { ...row, calls: row.calls / 5, ms });
            }
          }
          return [...least.values()];
        },
      };
    },
  };
}
