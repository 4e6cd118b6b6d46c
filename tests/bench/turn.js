// Runs one contender's turn with one model, in the same way in Node and in a page: from the bytes to the first answer,
// and then further runs.

import { readNpy } from '../../js/src/media/npy.js';
import { difference } from '../../demo/shared/agreement.js';
import { peak } from './peak.js';

const now = () => performance.now();
const MULTIPLE = 8; // RUSH_VERDICT_MULTIPLE

/** Tracks every wasm memory that is made from now on. @returns {() => number} their total bytes */
function watchMemories() {
  /** @type {Set<WebAssembly.Memory>} */
  const memories = new Set();
  const found = (/** @type {WebAssembly.Instance} */ { exports }) => {
    for (const one of Object.values(exports)) if (one instanceof Memory) memories.add(one);
  };
  const { Memory, Instance, instantiate, instantiateStreaming } = WebAssembly;
  const made = (/** @type {any} */ result) => (found(result.instance ?? result), result);
  WebAssembly.Memory = new Proxy(Memory, {
    construct: (Type, args) => {
      const memory = new Type(.../** @type {[any]} */ (args));
      memories.add(memory);
      return memory;
    },
  });
  WebAssembly.Instance = new Proxy(Instance, {
    construct: (Type, args) => made(new Type(.../** @type {[any]} */ (args))),
  });
  WebAssembly.instantiate = /** @type {any} */ (
    async (/** @type {[any]} */ ...args) => made(await instantiate(...args))
  );
  WebAssembly.instantiateStreaming = async (...args) => made(await instantiateStreaming(...args));
  return () => [...memories].reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}

/** Returns the cosine similarity of two answers. @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
function cosine(a, b) {
  let ab = 0,
    aa = 0,
    bb = 0;
  for (let i = 0; i < b.length; i++) ((ab += a[i] * b[i]), (aa += a[i] * a[i]), (bb += b[i] * b[i]));
  return ab / Math.sqrt(aa * bb);
}

/**
 * Returns whether an answer is correct by the rules in verdict.h: close to PyTorch's or not much further from float64's
 * than PyTorch's is, in the greatest difference and in the root of the sum of squares.
 * @param {ArrayLike<number>} answer @param {ArrayLike<number>} expected @param {ArrayLike<number>} exact
 */
function right(answer, expected, exact) {
  if (difference(answer, expected).close) return true;
  const far = (/** @type {ArrayLike<number>} */ from) => {
    let most = 0,
      squares = 0;
    for (let i = 0; i < exact.length; i++) {
      const off = Math.abs(from[i] - exact[i]);
      most = Math.max(most, off);
      squares += off * off;
    }
    return [most, Math.sqrt(squares)];
  };
  const own = far(expected);
  return far(answer).every((off, i) => off <= MULTIPLE * own[i]);
}

/**
 * Runs a job of turns.mjs: a contender's turn, or a measurement of the machine's peak.
 * @param {any} job
 * @param {(file: string) => Promise<Uint8Array>} read a file below build/bench/
 */
export const task = async (job, read) => (job.rival === 'peak' ? peak(await read('peak.wasm')) : turn(job, read));

/**
 * @param {object} options
 * @param {string} options.name of the model
 * @param {string} options.rival a file of rivals/
 * @param {number} options.threads
 * @param {boolean} [options.gpu] by WebGPU
 * @param {number} options.seconds of runs that are timed, at least three runs
 * @param {boolean} [options.profile] also the time of each operator, if the rival reports it
 * @param {(file: string) => Promise<Uint8Array>} read
 */
async function turn({ name, rival, threads, gpu, seconds, profile }, read) {
  const text = async (/** @type {string} */ file) =>
    JSON.parse(new TextDecoder().decode(await read(`${name}/${file}`)));
  const about = await text('bench.json');
  const memory = watchMemories();
  const { file, open } = await import(`./rivals/${rival}.js`);
  if (file !== 'rush' && file !== 'onnx') about.graph = await text('model.json');
  const expected = readNpy(await read(`${name}/expected.npy`)).data;
  const exact = readNpy(await read(`${name}/exact.npy`)).data;
  /** @type {Record<string, any>} */
  const inputs = {};
  for (const key of about.inputs) inputs[key] = readNpy(await read(`${name}/${key}.npy`));
  const engine = await open({ threads, gpu });
  const bytes = await read(`${name}/${about.files[file]}`);

  const start = now();
  const { run, profile: profiled } = await engine.load(bytes, about, inputs);
  const load = now() - start;
  const answer = await run();
  const first = now() - start;
  const off = difference(answer, expected);
  const alike = cosine(answer, expected);

  const warm = now();
  let runs = 0;
  do (await run(), runs++);
  while (now() - warm < 600 * seconds || runs < 2); // the engine optimizes hot code
  const repeat = Math.ceil(runs / (now() - warm)); // a round takes at least a millisecond: clocks are coarse in pages
  const times = [],
    begun = now();
  do {
    const at = now();
    for (let i = 0; i < repeat; i++) await run();
    times.push((now() - at) / repeat);
  } while (now() - begun < 1000 * seconds || times.length < 3);
  return {
    load,
    first,
    times,
    bytes: bytes.length,
    memory: memory(),
    maxAbs: off.maxAbs,
    cosine: alike,
    right: about.alike ? alike > about.alike : right(answer, expected, exact),
    profile: profile && profiled ? await profiled() : undefined,
  };
}
