#!/usr/bin/env node
// npx rushlight run|inspect|verify|diff|bench|types|serve|slim

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RushlightError } from '../src/base/errors.js';
import { bench, diff, inspect, run, serve, slim, verify } from './commands.js';
import { indented, shown } from './text.js';
import { types } from './types.js';

const HELP = `usage: npx rushlight COMMAND FILE.rush [OPTION...]

  run       run the model: --input NAME=VALUE... [--output DIR | FILE.npy | FILE.safetensors]
  inspect   show inputs, outputs, operators, sizes and the program, of which it reads only the head;
            with --run (or --input) the run: operators with layers, shapes, parameters, bytes and times
  verify    replay the file's test vectors and compare with the answers in it: PyTorch's, or of a file
            that has fewer bits its own, at export
  diff      compare each operator with the trace in the file (rushlight export --trace), name the
            first value that differs
  bench     latency, load time, memory and the time of each operator
  types     write what the model takes and gives for TypeScript: NAME.d.ts, or --output FILE (- is stdout)
  serve     a page on this machine that runs the model: outputs as numbers, plots and pictures, and
            where the time goes
  slim      write a smaller wasm, with the operators of these files only: FILE.rush... -o DIR

  --input NAME=VALUE   x.npy, x.safetensors (the tensor NAME in it), a number, true, a JSON array or
                       string; or a shape to be filled: 1x3x224x224[:float32|:int64|..][:LOW..HIGH],
                       3:float32 for one dimension. Without LOW..HIGH whole numbers that an embedding
                       reads are rows of it, others 1, and what was made is said on stderr
  --input x.safetensors  every tensor in it, by name
  --output DIR         writes DIR/NAME.npy for each output (FILE.npy: the one output; FILE.safetensors: all in one)
  --method NAME        another method than forward
  --backend NAME       auto, simd or relaxed; for bench and verify also several: simd,relaxed
  --threads N          how many compute, or auto: as many as the machine has (1)
  --ops FILE.js        its default export computes operators of your own, as load()'s option ops
  --max-bytes N        most memory of the model and its runs; what needs more fails
  --max-steps N        most instructions of a run; a loop that does not end fails there
  --runs N             bench: how many runs are timed (30)
  --port N             serve: its port (by default any that is free)
  --json               print JSON
  --run                inspect: run it, with random numbers where no --input is given and no size is open
  --layers             inspect: a table of the layers that have weights: parameters as PyTorch counts
                       them, bytes and shapes as they are stored
  --version            print the package's version
  --graph, --code      inspect: PyTorch's own graph or code of the model and each submodule
  --cache              keep what a URL gives, and take it from there: see rushlight/cache in the README

FILE may be a URL. Exit code: 0 done, 1 it failed or an answer differs, 2 wrong usage.
Files are made by the exporter's program, rushlight without npx: rushlight export --help

  npx rushlight inspect m.rush --layers
  npx rushlight inspect m.rush --run --input x=8x3x224x224
  npx rushlight run m.rush --input image=1x3x224x224 --output out
  npx rushlight run https://example.org/m.rush --cache --input image=photo.npy --json
  npx rushlight bench m.rush --backend simd,relaxed
  npx rushlight serve m.rush
  npx rushlight slim a.rush b.rush -o wasm
`;
const OPTIONS = /** @type {const} */ ({
  input: { type: 'string', multiple: true, short: 'i' },
  output: { type: 'string', short: 'o' },
  method: { type: 'string' },
  backend: { type: 'string' },
  threads: { type: 'string' },
  ops: { type: 'string' },
  'max-bytes': { type: 'string' },
  'max-steps': { type: 'string' },
  runs: { type: 'string' },
  port: { type: 'string' },
  json: { type: 'boolean' },
  layers: { type: 'boolean' },
  run: { type: 'boolean' },
  cache: { type: 'boolean' },
  graph: { type: 'boolean' },
  code: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
});
const LIMITS = ['max-bytes', 'max-steps'];
/** @typedef {{ act: (file: string, flags: import('./commands.js').Flags, rest: string[]) => Promise<number>, options: string[], many?: boolean }} Command many: it takes several files */
const COMMANDS = {
  run: { act: run, options: ['input', 'output', 'method', 'backend', 'threads', 'ops', ...LIMITS, 'cache', 'json'] },
  inspect: { act: inspect, options: ['json', 'layers', 'graph', 'code', 'run', 'input', 'method', 'backend', 'threads', 'ops', ...LIMITS, 'cache'] },
  verify: { act: verify, options: ['backend', 'threads', 'ops', ...LIMITS, 'cache', 'json'] },
  diff: { act: diff, options: ['backend', 'threads', 'ops', ...LIMITS, 'cache', 'json'] },
  bench: { act: bench, options: ['input', 'method', 'backend', 'threads', 'ops', ...LIMITS, 'runs', 'cache', 'json'] },
  types: { act: types, options: ['output'] },
  serve: { act: serve, options: ['port', 'ops'] },
  slim: { act: slim, options: ['output', 'ops', 'json'], many: true },
};

const NAMES = Object.keys(COMMANDS).join(', ').replace(/, (?=\w+$)/, ' and ');

/** Whether it is the command line that is wrong: not what the program finds in a run. @param {RushlightError} e */
const isUsage = ({ code, op, message }) => code === 'bad-argument' && (op === undefined || message.startsWith('load: '));

/** @param {string} message @returns {never} */
function usage(message) {
  process.stderr.write(`rushlight: ${message}; see npx rushlight --help\n`);
  process.exit(2);
}

function read() {
  try {
    return parseArgs({ options: OPTIONS, allowPositionals: true });
  } catch (e) {
    // Node says more in the sentences after the first.
    return usage(String(e instanceof Error ? e.message : e).split('. ')[0] ?? '');
  }
}

// Who reads no further, like `head`, has what was wanted.
process.stdout.on('error', (e) => {
  if (/** @type {NodeJS.ErrnoException} */ (e).code !== 'EPIPE') throw e;
  process.exit();
});

const { values, positionals } = read();
const [name = '', file, ...rest] = positionals;
if (values.help || name === 'help' || process.argv.length === 2) {
  process.stdout.write(HELP);
} else if (values.version) {
  process.stdout.write(`rushlight ${JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version}\n`);
} else {
  if (name === 'export') usage("export is a command of the exporter's program, rushlight without npx");
  if (!Object.hasOwn(COMMANDS, name)) usage(name ? `there is no command "${name}"; npx rushlight has ${NAMES}` : `a command is missing: there are ${NAMES}`);
  /** @type {Command} */
  const command = COMMANDS[/** @type {keyof typeof COMMANDS} */ (name)];
  if (!file) usage(`${name} needs a file`);
  if (rest.length && !command.many) usage(`${name} takes one file, and "${rest[0]}" is a second`);
  for (const option of Object.keys(values)) {
    if (!command.options.includes(option)) usage(`${name} has no option --${option}`);
  }
  console.log = (text) => void process.stdout.write(`${shown(String(text))}\n`); // what a program of a file prints
  try {
    process.exitCode = await command.act(/** @type {string} */ (file), values, rest);
  } catch (e) {
    const own = e instanceof RushlightError;
    if (!own && !(/** @type {any} */ (e)?.syscall)) throw e; // what a system call says is no fault of ours
    process.stderr.write(`rushlight: ${indented(/** @type {Error} */ (e).message)}\n`);
    process.exitCode = own && isUsage(e) ? 2 : 1;
  }
}
