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
  inspect   show inputs, outputs, operators, sizes and the program, reading only the head of the file;
            with --run or --input, also layers, shapes, parameters, bytes and times of the operators
  verify    replay the file's test vectors and compare with its answers: PyTorch's, or the file's own
            answers at export if it is quantized
  diff      compare each operator with the trace in the file (rushlight export --trace), and name the
            first value that differs
  bench     measure latency, load time, memory and the time of each operator
  types     write the TypeScript types of the model to NAME.d.ts, or to --output FILE (- is stdout)
  serve     serve a page that runs the model and shows its outputs and times, on this machine only
  slim      write a smaller wasm with only the operators of these files: FILE.rush... -o DIR

  --input NAME=VALUE   x.npy, x.safetensors (its tensor NAME), a number, true, a JSON array or string,
                       or a shape of random numbers: 1x3x224x224[:float32|:int64|..][:LOW..HIGH];
                       3:float32 has one dimension. Without LOW..HIGH, integers that an embedding reads
                       are its rows, and other integers are 1; stderr shows the choice
  --input x.safetensors  take every tensor in the file by its name
  --output DIR         write DIR/NAME.npy for each output; FILE.npy for the only output;
                       FILE.safetensors for all outputs
  --method NAME        use another method than forward
  --backend NAME       auto, simd or relaxed; bench and verify also take several: simd,relaxed
  --threads N          the number of threads, or auto (default: 1)
  --ops FILE.js        compute custom operators with its default export, as load()'s option ops
  --max-bytes N        limit the memory of the model and its runs
  --max-steps N        limit the instructions of a run, which also ends endless loops
  --runs N             bench: the number of timed runs (default: 30)
  --port N             serve: the port (default: any free port)
  --json               print JSON
  --run                inspect: run the model, with random numbers for inputs of fixed size
  --layers             inspect: print the layers that have weights: parameters as PyTorch counts them,
                       bytes and shapes in the file
  --graph, --code      inspect: print PyTorch's own graph or code of the model and each submodule
  --cache              store the model of a URL on this machine, and use the stored copy
  --version            print the version of the package

FILE may be a URL. The exit code is 0 for success, 1 for a failure or a different answer, and 2 for wrong
usage. The exporter makes .rush files: see rushlight export --help, without npx.

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
/**
 * @typedef {{ act: (file: string, flags: import('./commands.js').Flags, rest: string[]) => Promise<number>, options:
 *    string[], many?: boolean }} Command many: it accepts several files
 */
const COMMANDS = {
  run: { act: run, options: ['input', 'output', 'method', 'backend', 'threads', 'ops', ...LIMITS, 'cache', 'json'] },
  inspect: {
    act: inspect,
    options: [
      'json',
      'layers',
      'graph',
      'code',
      'run',
      'input',
      'method',
      'backend',
      'threads',
      'ops',
      ...LIMITS,
      'cache',
    ],
  },
  verify: { act: verify, options: ['backend', 'threads', 'ops', ...LIMITS, 'cache', 'json'] },
  diff: { act: diff, options: ['backend', 'threads', 'ops', ...LIMITS, 'cache', 'json'] },
  bench: { act: bench, options: ['input', 'method', 'backend', 'threads', 'ops', ...LIMITS, 'runs', 'cache', 'json'] },
  types: { act: types, options: ['output'] },
  serve: { act: serve, options: ['port', 'ops'] },
  slim: { act: slim, options: ['output', 'ops', 'json'], many: true },
};

const NAMES = Object.keys(COMMANDS)
  .join(', ')
  .replace(/, (?=\w+$)/, ' and ');

/** Tests whether the command line is wrong, as opposed to an error during a run. @param {RushlightError} e */
const isUsage = ({ code, op, message }) =>
  code === 'bad-argument' && (op === undefined || message.startsWith('load: '));

/** @param {string} message @returns {never} */
function usage(message) {
  process.stderr.write(`rushlight: ${message}; see npx rushlight --help\n`);
  process.exit(2);
}

function read() {
  try {
    return parseArgs({ options: OPTIONS, allowPositionals: true });
  } catch (e) {
    // Only the first sentence of Node's message is about the option.
    return usage(String(e instanceof Error ? e.message : e).split('. ')[0] ?? '');
  }
}

// A reader that closes the pipe early, such as `head`, is no error.
process.stdout.on('error', (e) => {
  if (/** @type {NodeJS.ErrnoException} */ (e).code !== 'EPIPE') throw e;
  process.exit();
});

const { values, positionals } = read();
const [name = '', file, ...rest] = positionals;
if (values.help || name === 'help' || process.argv.length === 2) {
  process.stdout.write(HELP);
} else if (values.version) {
  process.stdout.write(
    `rushlight ${JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version}\n`,
  );
} else {
  if (name === 'export') usage("export is a command of the exporter's program, rushlight without npx");
  if (!Object.hasOwn(COMMANDS, name))
    usage(
      name ? `there is no command "${name}"; npx rushlight has ${NAMES}` : `a command is missing: there are ${NAMES}`,
    );
  /** @type {Command} */
  const command = COMMANDS[/** @type {keyof typeof COMMANDS} */ (name)];
  if (!file) usage(`${name} needs a file`);
  if (rest.length && !command.many) usage(`${name} takes one file, and "${rest[0]}" is a second`);
  for (const option of Object.keys(values)) {
    if (!command.options.includes(option)) usage(`${name} has no option --${option}`);
  }
  console.log = (text) => void process.stdout.write(`${shown(String(text))}\n`); // the output of a program's print()
  try {
    process.exitCode = await command.act(/** @type {string} */ (file), values, rest);
  } catch (e) {
    const own = e instanceof RushlightError;
    // What a system call says is no fault of ours.
    if (!own && !(/** @type {NodeJS.ErrnoException | null} */ (e)?.syscall)) throw e;
    process.stderr.write(`rushlight: ${indented(/** @type {Error} */ (e).message)}\n`);
    process.exitCode = own && isUsage(e) ? 2 : 1;
  }
}
