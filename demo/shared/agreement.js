// Runs an exported model on PyTorch's inputs and compares the answers, in Node and in pages.

import { readNpy } from '../../js/src/media/npy.js';

const RTOL = 1e-4;
const ATOL = 1e-5;

/**
 * Returns how far `actual` is from `expected`. `maxRel` leaves out numbers below a thousandth of the
 * greatest, because their relative difference means little.
 * @param {ArrayLike<number>} actual @param {ArrayLike<number>} expected @param {number} [atol]
 */
export function difference(actual, expected, atol = ATOL) {
  if (actual.length !== expected.length) {
    throw new Error(`${actual.length} values where PyTorch gives ${expected.length}`);
  }
  let greatest = 0,
    maxAbs = 0,
    maxRel = 0,
    close = true;
  for (let i = 0; i < expected.length; i++) greatest = Math.max(greatest, Math.abs(expected[i]));
  for (let i = 0; i < expected.length; i++) {
    const size = Math.abs(expected[i]);
    const off = Math.abs(actual[i] - expected[i]);
    if (!(off <= atol + RTOL * size)) close = false; // NaN is never close
    if (!(off <= maxAbs)) maxAbs = off;
    if (size > greatest / 1000 && !(off / size <= maxRel)) maxRel = off / size;
  }
  return { maxAbs, maxRel, close };
}

/**
 * Returns the options of load() for a manifest that needs more than its file: operators that a module exports, a wasm
 * with other operators, or a worker.
 * @param {any} manifest @param {(file: string) => Promise<Uint8Array>} read
 */
export async function optionsOf({ ops, wasm, worker }, read) {
  return {
    ...(ops && { ops: (await import(ops)).default }),
    ...(wasm && { wasm: await read(wasm) }),
    ...(worker && { worker }),
  };
}

/**
 * Returns the outputs for a case's inputs. A case with `steps` runs once for each item of that input, from the file's
 * initial state on, and its outputs are joined.
 * @param {any} model @param {Record<string, any>} given @param {string} [steps]
 */
async function answers(model, given, steps) {
  if (!steps) return model.run(given);
  /** @type {Record<string, { data: number[] }>} */
  const all = {};
  await model.reset();
  for (const item of items(given[steps])) {
    for (const [name, { data }] of Object.entries(await model.run({ ...given, [steps]: item }))) {
      (all[name] ??= { data: [] }).data.push(...data);
    }
  }
  return all;
}

/**
 * Returns the outputs of a model that keeps its cache, for tokens [1, n] that are passed in pieces of these sizes.
 * @param {any} model @param {any} tokens @param {number[]} pieces
 */
async function inPieces(model, { dtype, data }, pieces) {
  /** @type {number[][]} */
  const all = [];
  let position = 0;
  for (const size of pieces) {
    const { logits } = await model.run({
      tokens: { dtype, shape: [1, size], data: data.slice(position, position + size) },
      position,
    });
    all.push(Array.from(logits.data));
    position += size;
  }
  return { logits: { data: all.flat() }, likeliest: all.map((row) => row.indexOf(Math.max(...row))) };
}

/** Reads the arrays of a case. @param {Record<string, string>} files @param {(file: string) => Promise<any>} read */
async function arrays(files, read) {
  /** @type {Record<string, any>} */
  const out = {};
  for (const [key, file] of Object.entries(files)) out[key] = readNpy(await read(file));
  return out;
}

/** Returns the last token alone. @param {any} tokens [1, n] */
const lastOf = ({ dtype, data }) => ({
  tokens: { dtype, shape: [1, 1], data: data.slice(-1) },
  position: data.length - 1,
});

/** Yields a tensor's items along dimension 0. @param {{ dtype: string, shape: number[], data: any }} tensor */
function* items({ dtype, shape, data }) {
  const size = data.length / shape[0];
  for (let i = 0; i < shape[0]; i++) yield { dtype, shape: shape.slice(1), data: data.slice(i * size, (i + 1) * size) };
}

/**
 * @param {object} options
 * @param {(source: any, options?: any) => Promise<any>} options.load Rushlight's
 * @param {(file: string) => Promise<Uint8Array>} options.read a file of the demo's build folder
 * @param {any} [options.loadOptions]
 * @param {number} [options.runs] timed runs of the first case, after two untimed ones
 */
export async function agreement({ load, read, loadOptions, runs = 10 }) {
  const manifest = JSON.parse(new TextDecoder().decode(await read('manifest.json')));
  if (manifest.variants)
    return together(manifest, (folder) =>
      agreement({ load, read: (file) => read(`${folder}/${file}`), loadOptions, runs }),
    );
  const bytes = await read(manifest.file),
    more = await optionsOf(manifest, read);
  const loading = performance.now();
  const model = await load(bytes, { ...loadOptions, ...more });
  const loadMs = performance.now() - loading;
  // atol is the greatest tolerance of a case
  const total = { maxAbs: 0, maxRel: 0, close: true, rtol: RTOL, atol: 0 };
  const cases = [];
  /** @type {any} */
  let first;
  for (const { name, encode, inputs, outputs, numbers, steps, pieces, atol = ATOL } of manifest.cases) {
    const given = { ...numbers, ...(await arrays(inputs, read)) };
    if (encode) await model.run(await arrays(encode, read), { method: 'encode' });
    first ??= steps ? { ...given, [steps]: items(given[steps]).next().value } : pieces ? lastOf(given.tokens) : given;
    const answer = await (pieces ? inPieces(model, given.tokens, pieces) : answers(model, given, steps));
    for (const [key, file] of Object.entries(outputs)) {
      const off = difference(answer[key].data, readNpy(await read(file)).data, atol);
      total.maxAbs = Math.max(total.maxAbs, off.maxAbs);
      total.maxRel = Math.max(total.maxRel, off.maxRel);
      total.close &&= off.close;
      total.atol = Math.max(total.atol, atol);
      cases.push({ name, output: key, ...off, answer: answer.likeliest ?? Array.from(answer[key].data) });
    }
  }
  await model.run(first);
  const times = [];
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await model.run(first);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const backend = model.backend;
  model.dispose();
  return {
    title: manifest.title,
    note: manifest.note,
    ...total,
    cases,
    backend,
    loadMs,
    minMs: times[0],
    medianMs: times[times.length >> 1],
  };
}

/**
 * Compares one model in several variants, with a folder for each beside the manifest. Returns the worst result, with
 * the times and backend of the first one.
 * @param {any} manifest
 * @param {(folder: string) => Promise<any>} compare
 * @returns {Promise<any>}
 */
async function together({ title, note, variants }, compare) {
  const results = [];
  for (const folder of variants) results.push(await compare(folder));
  const worst = (/** @type {string} */ key) => Math.max(...results.map((r) => r[key]));
  return {
    ...results[0],
    title,
    note,
    maxAbs: worst('maxAbs'),
    maxRel: worst('maxRel'),
    atol: worst('atol'),
    close: results.every((r) => r.close),
    cases: results.flatMap((r) => r.cases.map((/** @type {any} */ c) => ({ ...c, name: `${r.title}: ${c.name}` }))),
  };
}
