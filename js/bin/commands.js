// The commands of `npx rushlight`. Each returns the exit code.

import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RushlightError, badArgument } from '../src/base/errors.js';
import { readHead } from '../src/engine/load-local.js';
import { load } from '../src/api/load.js';
import { asPath } from '../src/base/platform.js';
import { writeNpy } from '../src/media/npy.js';
import { hasRelaxed } from '../src/engine/runtime.js';
import { writeSafetensors } from '../src/media/safetensors.js';
import { defaultInput, readInputs, missingInputError } from './inputs.js';
import { layersOf } from './layers.js';
import { deviceOptions } from './optional-packages.js';
import { benchText, devicesText, layersText, runText } from './tables.js';
import { readTestInputs } from './test-inputs.js';
import { escapeControls, indented, styled } from './printable.js';
import { counted, number, size } from './units.js';

/**
 * @typedef {import('../src/base/types.js').Tensor} Tensor
 * @typedef {import('../src/base/types.js').InputValue} InputValue
 * @typedef {import('../src/api/model.js').Model} Model
 * @typedef {import('../src/api/graph.js').Graph} Graph
 * @typedef {import('../src/engine/runtime.js').BackendName} BackendName
 * @typedef {{ input?: string[], output?: string, method?: string, backend?: string, threads?: string, ops?: string,
 *   device?: string, 'max-bytes'?: string, 'max-steps'?: string, runs?: string, json?: boolean, cache?: boolean,
 *   layers?: boolean, run?: boolean, port?: string, graph?: boolean, code?: boolean, system?: string,
 *   temperature?: string, 'max-tokens'?: string, seed?: string }} Flags
 */

/** Writes a text that has nothing to escape. @param {string} text */
const write = (text) => void process.stdout.write(text + (text.endsWith('\n') ? '' : '\n'));

/** @param {string} text @param {'red' | 'green'} [style] */
const print = (text, style) => write(style ? styled(style, escapeControls(text)) : escapeControls(text));

/**
 * Writes a result as JSON, with arrays for typed arrays, objects for Maps, and strings for other values.
 * @param {unknown} value
 */
const toJson = (value) =>
  JSON.stringify(value, (_, v) => {
    if (ArrayBuffer.isView(v)) return [.../** @type {Tensor['data']} */ (v)];
    if (v instanceof Map) return Object.fromEntries(v);
    if (typeof v === 'bigint') return Number.isSafeInteger(Number(v)) ? Number(v) : String(v);
    return typeof v === 'number' && !Number.isFinite(v) ? String(v) : v;
  });

/** @param {unknown} v @returns {v is Tensor} */
const isTensor = (v) => typeof v === 'object' && v !== null && 'dtype' in v && 'data' in v;

/** @param {unknown} value */
function summary(value) {
  if (!isTensor(value)) return toJson(value);
  const first = [...value.data.subarray(0, 6)].map((n) => (typeof n === 'number' ? Number(n.toPrecision(6)) : n));
  return `${value.dtype} [${value.shape.join(', ')}]  ${first.join(' ')}${value.data.length > 6 ? ' ...' : ''}`;
}

/**
 * Names tensors inside lists and dicts with a dot.
 * @param {string} name
 * @param {unknown} value
 * @returns {[string, unknown][]}
 */
function leaves(name, value) {
  if (isTensor(value)) return [[name, value]];
  if (Array.isArray(value) && value.some((v) => typeof v === 'object' && v !== null))
    return value.flatMap((v, i) => leaves(`${name}.${i}`, v));
  if (value instanceof Map) return [...value].flatMap(([k, v]) => leaves(`${name}.${k}`, v));
  return [[name, value]];
}

/** Names that Windows reserves for devices. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * Returns different names of files for the names in a model, which may have any characters.
 * @param {string[]} names
 */
function fileNames(names) {
  const taken = new Set();
  return names.map((name) => {
    const plain = name
      .slice(0, 100)
      .replace(/[^\p{L}\p{M}\p{N}_.@+ -]/gu, '_')
      .replace(/^(?=[. ]|$)/, '_')
      .replace(DEVICE, '_$&');
    let one = plain;
    for (let n = 2; taken.has(one.toLowerCase()); n++) one = `${plain}-${n}`;
    taken.add(one.toLowerCase());
    return one;
  });
}

/** @param {string} where @param {[string, unknown][]} named */
async function writeOutputs(where, named) {
  if (where.endsWith('.safetensors')) {
    const tensors = /** @type {[string, Tensor][]} */ (named.filter(([, v]) => isTensor(v)));
    return void (await writeFile(where, writeSafetensors(Object.fromEntries(tensors))));
  }
  if (/\.npy$/i.test(where)) {
    const [only, ...others] = named;
    if (!only || !isTensor(only[1]) || others.length)
      throw badArgument(
        `--output ${where} holds one tensor, and the model gives ` +
          `${named.map(([name]) => name).join(', ') || 'none'}: give a folder, or FILE.safetensors`,
      );
    return void (await writeFile(where, writeNpy(only[1])));
  }
  await mkdir(where, { recursive: true });
  const names = fileNames(named.map(([name]) => name));
  for (const [i, [, value]] of named.entries()) {
    const path = join(where, /** @type {string} */ (names[i]));
    await (isTensor(value)
      ? writeFile(`${path}.npy`, writeNpy(value))
      : writeFile(`${path}.json`, `${toJson(value)}\n`));
  }
}

/** @param {string} file @param {Flags} flags */
export async function run(file, flags) {
  const model = await loadWithProgress(file, {
    ...backendOf(flags.backend),
    ...cacheOf(flags),
    ...(await optionsOf(flags)),
  });
  try {
    const inputs = await completeInputs('run', model, flags, file);
    const results = await model.run(inputs, methodOf(flags));
    const named = Object.entries(results).flatMap(([name, value]) => leaves(name, value));
    if (flags.output) await writeOutputs(flags.output, named);
    if (flags.json && !flags.output) print(toJson(results));
    else if (flags.json)
      print(
        toJson(Object.fromEntries(named.map(([n, v]) => [n, isTensor(v) ? { dtype: v.dtype, shape: v.shape } : v]))),
      );
    else for (const [name, value] of named) print(`${name}: ${summary(value)}`);
    return 0;
  } finally {
    model.dispose();
  }
}

/** @param {string} file @param {Flags} flags */
export async function inspect(file, flags) {
  if (flags.run || flags.input) return inspectRun(file, flags);
  for (const other of /** @type {const} */ (['layers', 'graph', 'code']))
    if (flags.device && flags[other]) throw badArgument(`inspect: --device and --${other} must not be given together`);
  if (flags.device) return inspectDevice(file, flags);
  const { plan, text } = await readHead(file, {}, flags.layers ? 2 : flags.graph ? 3 : flags.code ? 4 : 0);
  if (flags.layers && !flags.json) write(layersText(plan, JSON.parse(text)));
  else print(flags.json ? JSON.stringify(plan, null, 2) : text);
  return 0;
}

/** Prints which operators may run on the GPU. @param {string} file @param {Flags} flags */
async function inspectDevice(file, flags) {
  if (flags.device !== 'webgpu') throw badArgument(`inspect: --device must be webgpu, got "${flags.device}"`);
  const { plan } = await readHead(file, {}, 0),
    { withPlaces } = await import('./devices.js'),
    operators = await withPlaces(plan.operators);
  if (flags.json) print(JSON.stringify(operators, null, 2));
  else write(devicesText(operators));
  return 0;
}

/** Prints the operators of a run in order, with shapes and times. @param {string} file @param {Flags} flags */
async function inspectRun(file, flags) {
  const model = await loadWithProgress(file, {
    ...backendOf(flags.backend),
    ...cacheOf(flags),
    ...(await optionsOf(flags)),
  });
  try {
    const layers = await layersOf(model, await completeInputs('inspect', model, flags, file), {
      ...methodOf(flags),
      runs: RUNS,
    });
    const inputs = Object.fromEntries(portsOf(model, flags).map((port) => [port.name, port]));
    if (flags.json) print(toJson({ backend: model.backend.name, inputs, layers }));
    else write(runText(layers, RUNS));
    return 0;
  } finally {
    model.dispose();
  }
}

const RUNS = 5; // after a first run

/** @param {string} file @param {Flags} flags */
export async function verify(file, flags) {
  /** @type {Record<string, unknown>} */
  const reports = {};
  const given = await optionsOf(flags);
  let ok = true;
  for (const backend of backendsOf(flags.backend)) {
    const model = await loadWithProgress(file, { backend, ...cacheOf(flags), ...given });
    const report = await model.verify(model.backend.device && { device: model.backend.device });
    reports[model.backend.name] = report;
    ok &&= report.passed;
    if (!flags.json) {
      if (!report.tests.length) print(`${file} holds no test vectors: nothing was verified`);
      for (const t of report.tests) {
        const found =
          `max abs ${t.maxAbs.toExponential(2)}, max rel ${t.maxRel.toExponential(2)} ` +
          `over ${counted(t.compared, 'number')}${float64Text(t)}`;
        print(
          `${model.backend.name}: test ${t.index}: ${t.passed ? `as expected, ${found}` : `differs: ${t.message}`}`,
          t.passed ? 'green' : 'red',
        );
      }
    }
    model.dispose();
  }
  if (flags.json) print(toJson(reports));
  return ok ? 0 : 1;
}

/** Describes the distances from float64's answer. @param {import('../src/api/model.js').VerifyTest} test */
function float64Text({ float64 }) {
  if (!float64) return '';
  const { pytorch, rushlight, difference } = float64;
  const text = (/** @type {{ max: number, l2: number }} */ d) =>
    `${d.max.toExponential(2)} (L2 ${d.l2.toExponential(2)})`;
  return (
    `; from float64 PyTorch is off by ${text(pytorch)}, this by ` +
    `${text(rushlight)}, between them ${text(difference)}`
  );
}

/** @param {string} file @param {Flags} flags */
export async function diff(file, flags) {
  const model = await loadWithProgress(file, {
    backend: /** @type {BackendName} */ (flags.backend),
    ...cacheOf(flags),
    ...(await optionsOf(flags)),
  });
  const report = await model.diff();
  model.dispose();
  const { agrees, compared, unpaired, maxAbs, maxRel, first } = report;
  if (flags.json) {
    print(toJson({ ...report, first: first && { ...first, node: first.node.name } }));
  } else {
    print(
      `${counted(compared, 'value')} ${compared === 1 ? 'agrees' : 'agree'} with PyTorch's, max abs ` +
        `${maxAbs.toExponential(2)}, max rel ${maxRel.toExponential(2)}; ${unpaired} ` +
        `${unpaired === 1 ? 'has' : 'have'} no counterpart`,
      'green',
    );
    if (first) print(`then they part: ${first.message}`, 'red');
  }
  return agrees ? 0 : 1;
}

/** @param {string} file @param {Flags} flags */
export async function bench(file, flags) {
  const runs = Number(flags.runs ?? 30);
  if (!Number.isInteger(runs) || runs < 1)
    throw badArgument(`--runs must be an integer of at least 1, got "${flags.runs}"`);
  const reports = [],
    given = await optionsOf(flags);
  /** @type {Record<string, InputValue> | undefined} */ let inputs;
  for (const backend of backendsOf(flags.backend)) {
    const start = performance.now();
    const model = await loadWithProgress(file, { backend, ...cacheOf(flags), ...given });
    const loadMs = performance.now() - start;
    inputs ??= await completeInputs('bench', model, flags, file);
    const [firstMs = 0, ...times] = await timesOf(model, inputs, flags, runs);
    times.sort((a, b) => a - b);
    const { name, threads, device } = model.backend;
    const report = {
      ...{ backend: name, threads, device, runs, loadMs, firstMs },
      ...{ minMs: times[0] ?? 0, medianMs: times[runs >> 1] ?? 0 },
      memory: await model.memory(),
      ops: await timesByOperator(model, inputs, flags, Math.min(runs, 10)),
    };
    reports.push(report);
    model.dispose();
    if (!flags.json) write(benchText(report));
  }
  if (flags.json) print(toJson(reports));
  return 0;
}

/**
 * Returns the milliseconds of a first run and of `runs` more.
 * @param {Model} model @param {Record<string, InputValue>} inputs @param {Flags} flags @param {number} runs
 */
async function timesOf(model, inputs, flags, runs) {
  const times = [];
  try {
    for (let i = 0; i <= runs; i++) {
      const from = performance.now();
      await model.run(inputs, methodOf(flags));
      times.push(performance.now() - from);
      progress(
        `${model.backend.name} ${'\u2588'.repeat(Math.round((24 * i) / runs)).padEnd(24, '\u2591')} ` +
          `${i}/${runs}  ${(times[i] ?? 0).toFixed(1)} ms`,
      );
    }
  } finally {
    progress('');
  }
  return times;
}

/**
 * Returns the time of each operator in a run, the longest first. A share is of all times on both devices.
 * @param {Model} model @param {Record<string, InputValue>} inputs @param {Flags} flags @param {number} runs
 */
async function timesByOperator(model, inputs, flags, runs) {
  const rows = await model.profile(inputs, { ...methodOf(flags), runs });
  const timeOf = (/** @type {{ ms: number, gpuMs?: number }} */ { ms, gpuMs = 0 }) => ms + gpuMs;
  const total = rows.reduce((sum, row) => sum + timeOf(row), 0) || 1;
  /** @type {Map<string, { op: string, calls: number, ms: number, gpuMs?: number, share: number }>} */
  const ops = new Map();
  for (const row of rows) {
    const op = ops.get(row.op) ?? { op: row.op, calls: 0, ms: 0, share: 0 };
    op.calls += row.calls / runs;
    op.ms += row.ms / runs;
    if (row.gpuMs !== undefined) op.gpuMs = (op.gpuMs ?? 0) + row.gpuMs / runs;
    op.share += timeOf(row) / total;
    ops.set(row.op, op);
  }
  return [...ops.values()].sort((a, b) => timeOf(b) - timeOf(a));
}

/** Prints a line that the next one replaces on a terminal. The last line is ''. @param {string} text */
const progress = (text) => void (process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`));

/** Serves until it is interrupted. @param {string} file @param {Flags} flags */
export async function serve(file, flags) {
  const port = Number(flags.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw badArgument(`--port must be a number up to 65535, got "${flags.port}"`);
  const { serveModel } = await import('./serve.js');
  const { url, server, completions } = await serveModel(file, port, flags.ops),
    closed = once(server, 'close');
  print(`${url} shows ${file}; Ctrl-C ends it`);
  const chat = await completions;
  if (chat) print(`${chat} answers OpenAI's requests`);
  await closed;
  return 0;
}

/** @param {string} file @param {Flags} flags */
export async function chat(file, flags) {
  const { runChat } = await import('./chat.js');
  const given = { temperature: flags.temperature, maxTokens: flags['max-tokens'], seed: flags.seed },
    generating = Object.fromEntries(
      Object.entries(given).flatMap(([name, text]) => (text === undefined ? [] : [[name, Number(text)]])),
    );
  const loading = { ...backendOf(flags.backend), ...cacheOf(flags), ...(await optionsOf(flags)) };
  await runChat(file, loading, { ...(flags.system !== undefined && { system: flags.system }), generating });
  return 0;
}

/** @param {string} file @param {Flags} flags @param {string[]} rest more files */
export async function slim(file, flags, rest) {
  if (flags.output === undefined) throw badArgument('slim needs a folder for the two binaries: --output DIR');
  const { ops = {} } = await opsOf(flags);
  const { device = 'cpu' } = flags;
  if (device !== 'cpu' && device !== 'webgpu') throw badArgument(`--device must be cpu or webgpu, got ${device}`);
  const { slimFor } = await import('./slim.js');
  const { operators, binaries } = await slimFor([file, ...rest], flags.output, ops, device === 'webgpu');
  if (flags.json) {
    print(toJson({ operators, binaries }));
    return 0;
  }
  print(`${counted(operators.length, 'operator')}: ${operators.join(', ')}`);
  for (const { file: path, before, after } of binaries)
    print(
      `${path}: ${number(before.bytes)} -> ${number(after.bytes)} bytes, brotli ` +
        `${number(before.brotli)} -> ${number(after.brotli)}`,
    );
  return 0;
}

/**
 * Returns the options of load() except the backend.
 * @param {Flags} flags
 * @returns {Promise<import('../src/api/load.js').LoadOptions>}
 */
async function optionsOf(flags) {
  /** @type {import('../src/api/load.js').Limits} */
  const limits = {};
  if (flags['max-bytes'] !== undefined) limits.bytes = limitOf('max-bytes', flags['max-bytes']);
  if (flags['max-steps'] !== undefined) limits.steps = limitOf('max-steps', flags['max-steps']);
  const { threads } = flags;
  return {
    limits,
    ...(threads === undefined ? {} : { threads: threads === 'auto' ? threads : threadsOf(threads) }),
    ...(await opsOf(flags)),
    ...(flags.device && (await deviceOptions(flags.device))),
  };
}

/** @param {string} text */
function threadsOf(text) {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1 || n > 64)
    throw badArgument(`--threads must be auto or an integer between 1 and 64, got "${text}"`);
  return n;
}

/** @param {string} name @param {string} text */
function limitOf(name, text) {
  const n = Number(text);
  if (!Number.isSafeInteger(n) || n < 1) throw badArgument(`--${name} must be an integer of at least 1, got "${text}"`);
  return n;
}

/**
 * Returns the given inputs. The others come from the first test vector of the file. Without one, they are random
 * numbers, but `run` refuses them.
 * @param {string} command
 * @param {Model} model
 * @param {Flags} flags
 * @param {string} file
 */
async function completeInputs(command, model, flags, file) {
  const ports = portsOf(model, flags),
    graph = graphOf(model, flags),
    inputs = await readInputs(ports, graph, flags.input);
  const missing = ports.filter((port) => !(port.name in inputs) && !port.optional);
  const known = Object.keys(inputs).every((name) => ports.some((port) => port.name === name));
  if (!known || !missing.length) return inputs; // the run refuses unknown names
  const vector = await testInputs(model, flags, file);
  for (const port of missing) {
    const value = vector?.[ports.indexOf(port)];
    if (value === undefined && command === 'run') throw missingInputError(port, command);
    inputs[port.name] = value === undefined ? defaultInput(port, graph, command) : value;
  }
  if (vector)
    process.stderr.write(
      `${indented(`${missing.map(({ name }) => name).join(', ')}: from the first test vector of the file`)}\n`,
    );
  return inputs;
}

/**
 * Reads the inputs of the first test vector of a local file.
 * @param {Model} model @param {Flags} flags @param {string} file
 */
async function testInputs(model, { method }, file) {
  const path = asPath(file),
    names = Object.keys(model.methods);
  if (path === undefined) return undefined;
  const index = names.indexOf(method ?? (names.includes('forward') ? 'forward' : (names[0] ?? '')));
  return (await readTestInputs(path)).get(index);
}

/**
 * Loads a model, and shows the progress of a download on a terminal.
 * @param {string} file @param {import('../src/api/load.js').LoadOptions} options
 */
async function loadWithProgress(file, options) {
  if (asPath(file) !== undefined || !process.stderr.isTTY) return load(file, options);
  try {
    return await load(file, {
      ...options,
      onProgress: ({ loaded, total }) =>
        progress(`${styled('dim', file, process.stderr)} ${size(loaded)}${total ? ` of ${size(total)}` : ''}`),
    });
  } finally {
    progress('');
  }
}

/**
 * Imports the operators of the module in --ops.
 * @param {Flags} flags
 * @returns {Promise<{ ops?: import('../src/engine/ops.js').Ops }>}
 */
async function opsOf({ ops: file }) {
  if (file === undefined) return {};
  const module = await import(pathToFileURL(resolve(file)).href).catch((e) => {
    throw new RushlightError('unreadable', `cannot import ${file}: ${e.message}`, { source: file, cause: e });
  });
  if (!module.default)
    throw badArgument(`${file} exports no operators: export default { 'namespace::name': function }`);
  return { ops: module.default };
}

/** @param {Flags} flags */
const cacheOf = ({ cache }) => (cache ? { cache: 'auto' } : {});
/** @param {string | undefined} name */
const backendOf = (name) => (name === undefined ? {} : { backend: /** @type {BackendName} */ (name) });
/** @param {string | undefined} names */
const backendsOf = (names) =>
  /** @type {('auto' | BackendName)[]} */ (names?.split(',') ?? (hasRelaxed() ? ['simd', 'relaxed'] : ['simd']));
/** @param {Flags} flags */
const methodOf = (flags) => (flags.method === undefined ? {} : { method: flags.method });
/** @param {Model} model @param {Flags} flags */
const graphOf = (model, { method }) =>
  /** @type {Graph} */ ((method === undefined ? undefined : model.graphs[method]) ?? model.graph);
/** @param {Model} model @param {Flags} flags */
function portsOf(model, flags) {
  if (flags.method === undefined) return model.inputs;
  const method = Object.hasOwn(model.methods, flags.method) ? model.methods[flags.method] : undefined;
  if (!method)
    throw badArgument(`there is no method "${flags.method}"; known: ${Object.keys(model.methods).join(', ')}`);
  return method.inputs;
}
