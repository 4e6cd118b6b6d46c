// npx rushlight slim: makes a runtime with only the operators of some models, without a compiler.

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { RushlightError } from '../src/base/errors.js';
import { readHead } from '../src/engine/load-local.js';
import { BACKENDS } from '../src/engine/runtime.js';
import { namesHalves, reaches, weightsOf } from './slim-rules.js';
import { importOptional } from './optional-packages.js';
import { readLocal } from './read-file.js';
import {
  CODE,
  DATA,
  DATA_COUNT,
  ELEMENT,
  FUNCTION,
  IMPORT,
  TYPE,
  appendItem,
  inSection,
  leb,
  readMemory,
  readSections,
  readTable,
  writeMemory,
  writeSections,
  writeTable,
} from '../src/engine/wasm-sections.js';

/**
 * @typedef {import('../src/engine/runtime.js').BackendName} BackendName
 * @typedef {{ wasm: string, table: number, parts: { name: string, address: number, rows: number[] }[], groups:
 *   [number[], number[], number[]][] }} Reach of wasm/bridge/reach.mjs
 * @typedef {import('./slim-rules.js').Needs & { operators: string[] }} Needs of the files
 * @typedef {{ backend: BackendName, file: string, before: Size, after: Size }} Slimmed
 * @typedef {{ bytes: number, brotli: number }} Size
 */

const ROW = 20; // bytes of a rush_op: schema, run, prepare, flags, family (call/call.h)
const INPLACE = 1; // RUSH_OP_INPLACE
const EMPTY = [0x60, 0, 0]; // the type of a function without parameters and results
const REFUSES = [3, 0, 0, 0x0b]; // its body, 3 bytes: no locals, unreachable, end

/**
 * Writes rushlight-simd.wasm and rushlight-relaxed.wasm into `dir`.
 * @param {readonly string[]} files .rush files @param {string} dir
 * @param {Record<string, unknown>} ops operators that JavaScript computes @param {boolean} gpu keeps what a GPU needs
 * @returns {Promise<{ operators: string[], binaries: Slimmed[] }>}
 */
export async function slimFor(files, dir, ops, gpu) {
  const binaryen = await loadBinaryen();
  const needs = { ...(await needsOf(files, ops)), gpu };
  const tables = JSON.parse(brotliDecompressSync(await part('reach.json.br')).toString());
  const binaries = [];
  for (const backend of BACKENDS) {
    const full = await part(`rushlight-${backend}.wasm`),
      reach = /** @type {Reach | undefined} */ (tables[backend]);
    if (createHash('sha256').update(full).digest('hex') !== reach?.wasm) {
      throw new RushlightError(
        'unsupported',
        `rushlight-${backend}.wasm must be the file of this package; another build cannot be slimmed`,
      );
    }
    const slimmed = removeUnreferenced(binaryen, cut(full, reach, needs));
    const file = join(dir, `rushlight-${backend}.wasm`);
    await mkdir(dir, { recursive: true });
    await writeFile(file, slimmed);
    binaries.push({ backend, file, before: sizeOf(full), after: sizeOf(slimmed) });
  }
  return { operators: needs.operators, binaries };
}

/** @param {string} name */
const part = (name) => readLocal(fileURLToPath(new URL(`../wasm/${name}`, import.meta.url)));

/** @param {Uint8Array} bytes @returns {Size} */
const sizeOf = (bytes) => ({
  bytes: bytes.length,
  brotli: brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
  }).length,
});

/**
 * Reads the operators and weights that the heads of the files name.
 * @param {readonly string[]} files
 * @param {Record<string, unknown>} ops
 * @returns {Promise<Omit<Needs, 'gpu'>>}
 */
async function needsOf(files, ops) {
  /** @type {Set<string>} */ const names = new Set();
  const graphs = [];
  let halves = false;
  for (const file of files) {
    const { plan, text } = await readHead(file, {}, 2);
    graphs.push(JSON.parse(text));
    halves ||= namesHalves(text + JSON.stringify(plan));
    const missing = plan.missing.filter(({ name }) => !Object.hasOwn(ops, name));
    if (missing.length) {
      throw new RushlightError(
        'unsupported',
        `${file} needs operators that this package lacks: ${missing.map(({ name }) => name).join(', ')}. ` +
          'Pass --ops FILE.js if JavaScript computes them',
        { source: file },
      );
    }
    for (const { name } of plan.operators) if (!Object.hasOwn(ops, name)) names.add(name);
  }
  return { operators: [...names].sort(), weights: weightsOf(graphs), halves };
}

async function loadBinaryen() {
  const binaryen = await importOptional('binaryen');
  if (binaryen) return binaryen;
  throw new RushlightError(
    'unsupported',
    'slim needs binaryen, which is not installed: run npm install --save-dev binaryen@132',
  );
}

/**
 * Removes the references to code that only other operators reach. Their rows leave the table of operators, their
 * entries in the function table become one function that refuses, and their data and parts become 0. The functions
 * stay.
 * @param {Uint8Array} full @param {Reach} reach @param {Needs} needs
 */
export function cut(full, reach, needs) {
  const sections = readSections(full),
    memory = readMemory(full, sections),
    table = readTable(full, sections);
  const { kept, n } = cutRows(memory, reach.table, needs.operators),
    live = new Set(kept.keys());
  reach.parts.forEach(({ name, address, rows }, i) => {
    if (decodeRuns(rows).some((row) => kept.get(row)?.some((op) => reaches(name, op, needs)))) live.add(n + i);
    else memory.image.fill(0, address - memory.first, address - memory.first + 4);
  });

  const refuses = inSection(full, sections, FUNCTION).number() + countImports(full, sections);
  const liveFunctions = new Set(),
    liveBytes = new Set(),
    deadFunctions = [],
    deadBytes = [];
  for (const [rows, functions, bytes] of reach.groups) {
    const stays = decodeRuns(rows).some((row) => live.has(row));
    for (const f of decodeRuns(functions)) stays ? liveFunctions.add(f) : deadFunctions.push(f);
    for (const b of decodeRuns(bytes)) stays ? liveBytes.add(b) : deadBytes.push(b);
  }
  for (const f of deadFunctions) if (!liveFunctions.has(f)) table.functions[f - table.first] = refuses;
  for (const b of deadBytes) if (!liveBytes.has(b)) memory.image[b - memory.first] = 0;

  const types = inSection(full, sections, TYPE).number();
  return writeSections(
    full,
    sections,
    new Map([
      [TYPE, appendItem(full, sections, TYPE, EMPTY)],
      [FUNCTION, appendItem(full, sections, FUNCTION, leb(types))],
      [ELEMENT, writeTable(table)],
      [DATA_COUNT, [1]],
      [CODE, appendItem(full, sections, CODE, REFUSES)],
      [DATA, writeMemory(memory)],
    ]),
  );
}

/**
 * Moves the remaining rows to the front. Returns the operators of each row by its old number, and the old number of
 * rows.
 * @param {{ first: number, image: Uint8Array }} memory
 * @param {number} at of rush_all_ops
 * @param {readonly string[]} operators
 */
function cutRows({ first, image }, at, operators) {
  const words = new DataView(image.buffer);
  const address = words.getUint32(at - first, true) - first,
    n = words.getUint32(at - first + 4, true);
  const rows = Array.from({ length: n }, (_, i) => {
    const row = address + i * ROW,
      schema = words.getUint32(row, true) - first;
    return {
      name: new TextDecoder().decode(image.subarray(schema, image.indexOf(0x28 /* ( */, schema))),
      inplace: (words.getUint32(row + 12, true) & INPLACE) !== 0,
    };
  });
  /** @type {Map<number, string[]>} */ const kept = new Map();
  for (const name of operators) {
    let row = rows.findIndex((r) => r.name === name);
    if (row < 0) row = rows.findIndex((r) => r.inplace && r.name === name.replace(/_(?=\.|$)/, ''));
    if (row < 0) throw new RushlightError('internal', `the table of operators has no ${name}`);
    kept.set(row, [...(kept.get(row) ?? []), name]);
  }
  const order = [...kept.keys()].sort((a, b) => a - b);
  order.forEach((row, i) => image.copyWithin(address + i * ROW, address + row * ROW, address + (row + 1) * ROW));
  image.fill(0, address + order.length * ROW, address + n * ROW);
  words.setUint32(at - first + 4, order.length, true);
  return { kept, n };
}

/** @param {Uint8Array} bytes @param {import('../src/engine/wasm-sections.js').Section[]} sections */
function countImports(bytes, sections) {
  return inSection(bytes, sections, IMPORT).number();
}

/** Decodes numbers from distances and lengths of runs. @param {readonly number[]} runs */
function decodeRuns(runs) {
  const numbers = [];
  for (let i = 0, n = 0; i < runs.length; i += 2) {
    n += /** @type {number} */ (runs[i]);
    for (let left = /** @type {number} */ (runs[i + 1]); left--;) numbers.push(n++);
  }
  return numbers;
}

// eslint-disable-next-line types/any -- a module of Emscripten, which is not a dependency of this package
/** Removes unreferenced code. The result is deterministic. @param {any} binaryen @param {Uint8Array} bytes */
function removeUnreferenced(binaryen, bytes) {
  const module = binaryen.readBinary(bytes),
    { Features: f } = binaryen;
  try {
    // binaryen may use only the features that the full binary needs.
    module.setFeatures(f.MutableGlobals | f.BulkMemory | f.BulkMemoryOpt | f.SignExt | f.SIMD128 | f.RelaxedSIMD);
    binaryen.setOptimizeLevel(2);
    binaryen.setShrinkLevel(2); // both: -Oz
    binaryen.setOneCallerInlineMaxSize(500); // as wasm/bridge/module.cmake
    module.runPasses(['remove-unused-module-elements']); // first, so that the rest is not optimized
    module.optimize();
    return /** @type {Uint8Array} */ (module.emitBinary());
  } finally {
    module.dispose();
  }
}
