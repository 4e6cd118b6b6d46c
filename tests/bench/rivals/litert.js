// Runs model.tflite in LiteRT.js on the CPU, in pages only.

import { graphInputs } from './graph_inputs.js';

export const file = 'tflite';

/** @param {{ threads: number }} options */
export async function open({ threads }) {
  const { Tensor, loadAndCompile, loadLiteRt } = await import('@litertjs/core');
  return {
    /** @param {Uint8Array} bytes @param {any} about @param {Record<string, any>} inputs */
    async load(bytes, about, inputs) {
      await loadLiteRt(new URL('./node_modules/@litertjs/core/wasm/', import.meta.url).pathname, {
        threads: threads > 1,
      });
      const model = await loadAndCompile(bytes, { accelerator: 'wasm', cpuOptions: { numThreads: threads } });
      const given = graphInputs(about.graph.inputs, inputs);
      const order = model
        .getInputDetails()
        .map((/** @type {any} */ one) => given.find(({ name }) => name === one.name));
      const answer = model
        .getOutputDetails()
        .findIndex((/** @type {any} */ one) => one.name === about.graph.outputs[0]);
      return {
        run: async () => {
          const tensors = order.map((one) => new Tensor(one.data, one.shape));
          const results = await model.run(tensors);
          const data = results[answer].toTypedArray();
          for (const one of [...tensors, ...results]) one.delete();
          return data;
        },
      };
    },
  };
}
