// Generates tokens with onnxruntime-web's wasm backend. The keys and values are outputs of a step, and inputs of the
// next one.

export const files = { ort: 'model.onnx' };

/** @param {Uint8Array} bytes @param {any} about @param {{ threads: number }} options */
export async function open(bytes, about, { threads }) {
  const { env, InferenceSession, Tensor } = await import('onnxruntime-web');
  env.wasm.numThreads = threads;
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'] });
  /** @type {Record<string, any>} */
  let past = {};
  return {
    name: 'ort',
    /** Returns the logits after the last token. @param {number[]} tokens @param {number} position of the first one */
    async step(tokens, position) {
      if (position === 0) past = empty(about, Tensor);
      const total = position + tokens.length;
      const made = await session.run({
        tokens: new Tensor('int64', BigInt64Array.from(tokens, BigInt), [1, tokens.length]),
        last: new Tensor('int32', Int32Array.of(total - 1), [1]),
        total: new Tensor('int32', Int32Array.of(total), []),
        ...past,
      });
      past = Object.fromEntries(Object.keys(past).map((name) => [name, made[name.replace('past', 'present')]]));
      return made.logits.data;
    },
  };
}

/** @param {any} about @param {any} Tensor */
function empty({ layers, kvHeads, headDim }, Tensor) {
  const names = Array.from({ length: layers }, (_, i) => [`past_key_${i}`, `past_value_${i}`]).flat();
  return Object.fromEntries(
    names.map((name) => [name, new Tensor('float32', new Float32Array(0), [1, kvHeads, 0, headDim])]),
  );
}
