// Runs model.onnx in onnxruntime-web with its wasm backend, or by WebGPU.

export const file = 'onnx';

/** @param {{ threads: number, gpu: boolean }} options */
export async function open({ threads, gpu }) {
  const { env, InferenceSession, Tensor } = await (gpu ? import('onnxruntime-web/webgpu') : import('onnxruntime-web'));
  env.wasm.numThreads = threads;
  return {
    /** @param {Uint8Array} bytes @param {any} about @param {Record<string, any>} inputs */
    async load(bytes, about, inputs) {
      const session = await InferenceSession.create(bytes, { executionProviders: [gpu ? 'webgpu' : 'wasm'] });
      return {
        run: async () => {
          const feeds = Object.fromEntries(
            Object.entries(inputs).map(([name, { dtype, data, shape }]) => [name, new Tensor(dtype, data, shape)]),
          );
          return (await session.run(feeds, [about.output]))[about.output].data;
        },
      };
    },
  };
}
