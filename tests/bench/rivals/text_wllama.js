// Generates tokens with wllama, which is llama.cpp in wasm. It has no step for one token: it generates them itself.

export const files = { wllama: 'model.gguf' };

const WASM = new URL('./node_modules/@wllama/wllama/esm/wasm/wllama.wasm', import.meta.url).href;
const LOGGER = { debug() {}, log() {}, warn() {}, error: console.error };

/** Returns a prompt in words of the tokenizer that text_gguf.py writes. @param {number[]} tokens */
const words = (tokens) => tokens.map((token) => `<${token}>`).join('');

/** @param {Uint8Array} bytes @param {any} about @param {{ threads: number }} options */
export async function open(bytes, about, { threads }) {
  const { Wllama } = await import('@wllama/wllama');
  const wllama = new Wllama({ default: WASM }, { suppressNativeLog: true, logger: LOGGER });
  const file = new Blob([/** @type {any} */ (bytes)]);
  await wllama.loadModel([file], { n_threads: threads, n_ctx: about.length, n_gpu_layers: 0, warmup: false });
  const complete = (/** @type {number[]} */ tokens, /** @type {object} */ more) =>
    wllama.createCompletion({ prompt: words(tokens), temperature: 0, ignore_eos: true, ...more });
  return {
    name: 'wllama',
    /** Generates tokens, and returns its own times of a token in ms. @param {number[]} tokens @param {number} most */
    async generate(tokens, most) {
      const { timings } = await complete(tokens, { max_tokens: most, cache_prompt: false });
      return { prompt: timings.prompt_per_token_ms, decode: timings.predicted_per_token_ms };
    },
    /**
     * Returns tokens, each with the most likely words and the logarithms of their probabilities. A prompt that is in
     * the cache is not computed again.
     * @param {number[]} tokens @param {number} most @param {number} likely
     */
    async tokens(tokens, most, likely) {
      const made = await complete(tokens, { max_tokens: most, logprobs: likely, cache_prompt: true });
      return made.choices[0].logprobs.content.map((/** @type {any} */ one) => ({
        token: one.id,
        top: one.top_logprobs,
      }));
    },
  };
}
