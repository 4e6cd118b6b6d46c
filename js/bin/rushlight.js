#!/usr/bin/env node
// npx rushlight run|inspect|verify|diff|bench|types|serve|chat|slim|cache

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RushlightError } from '../src/base/errors.js';
import { cache } from './cache.js';
import { bench, chat, diff, inspect, run, serve, slim, verify } from './commands.js';
import { commandHelp, helpText } from './help.js';
import { escapeControls, indented, styled } from './printable.js';
import { types } from './types.js';

const OPTIONS = /** @type {const} */ ({
  input: { type: 'string', multiple: true, short: 'i' },
  output: { type: 'string', short: 'o' },
  method: { type: 'string' },
  backend: { type: 'string' },
  threads: { type: 'string' },
  ops: { type: 'string' },
  device: { type: 'string' },
  'max-bytes': { type: 'string' },
  'max-steps': { type: 'string' },
  runs: { type: 'string' },
  port: { type: 'string' },
  system: { type: 'string' },
  temperature: { type: 'string' },
  'max-tokens': { type: 'string' },
  seed: { type: 'string' },
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
/** Options of verbs that run a model. */
const RUNS = ['backend', 'threads', 'ops', 'device', ...LIMITS];
/**
 * @typedef {{ act: (file: string, flags: import('./commands.js').Flags, rest: string[]) => Promise<number>, options:
 *    string[], many?: boolean, none?: boolean }} Command many: it accepts several arguments; none: or no argument
 */
const COMMANDS = {
  run: {
    act: run,
    options: ['input', 'output', 'method', ...RUNS, 'cache', 'json'],
  },
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
      'device',
      ...LIMITS,
      'cache',
    ],
  },
  verify: { act: verify, options: [...RUNS, 'cache', 'json'] },
  diff: { act: diff, options: [...RUNS, 'cache', 'json'] },
  bench: {
    act: bench,
    options: ['input', 'method', ...RUNS, 'runs', 'cache', 'json'],
  },
  types: { act: types, options: ['output'] },
  serve: { act: serve, options: ['port', 'ops'] },
  chat: {
    act: chat,
    options: ['system', 'temperature', 'max-tokens', 'seed', 'backend', 'threads', 'ops', ...LIMITS, 'cache'],
  },
  slim: { act: slim, options: ['output', 'ops', 'device', 'json'], many: true },
  cache: { act: cache, options: ['json'], many: true, none: true },
};

const NAMES = Object.keys(COMMANDS)
  .join(', ')
  .replace(/, (?=\w+$)/, ' and ');

/**
 * Tests whether the command line is wrong. An error of a run has an operator and no cause. The error of a schema that
 * `--ops` gives has both.
 * @param {RushlightError} e
 */
const isUsage = ({ code, op, cause }) => code === 'bad-argument' && (op === undefined || cause !== undefined);

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

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on('error', (e) => {
  if (/** @type {NodeJS.ErrnoException} */ (e).code !== 'EPIPE') throw e;
  process.exit();
});

const { values, positionals } = read();
const [name = '', file, ...rest] = positionals;
const topic = name === 'help' ? file : name;
if (values.help || name === 'help' || process.argv.length === 2) {
  process.stdout.write(
    topic !== undefined && Object.hasOwn(COMMANDS, topic)
      ? commandHelp(topic, COMMANDS[/** @type {keyof typeof COMMANDS} */ (topic)].options)
      : helpText(),
  );
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
  if (!file && !command.none) usage(`${name} needs a file`);
  if (rest.length && !command.many) usage(`${name} takes one file, and "${rest[0]}" is a second`);
  for (const option of Object.keys(values)) {
    if (!command.options.includes(option)) usage(`${name} has no option --${option}`);
  }
  // the output of a program's print()
  console.log = (text) => void process.stdout.write(`${escapeControls(String(text))}\n`);
  try {
    process.exitCode = await command.act(file ?? '', values, rest);
  } catch (e) {
    const own = e instanceof RushlightError;
    // An error of a system call is not a fault of Rushlight.
    if (!own && !(/** @type {NodeJS.ErrnoException | null} */ (e)?.syscall)) throw e;
    process.stderr.write(
      `${styled('red', 'rushlight:', process.stderr)} ${indented(/** @type {Error} */ (e).message)}\n`,
    );
    process.exitCode = own && isUsage(e) ? 2 : 1;
  }
}
