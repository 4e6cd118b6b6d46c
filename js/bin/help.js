// The texts of `npx rushlight --help` and of each command's own help.

/** The texts of the options. Each line after the first is indented. @type {Record<string, string[]>} */
const OPTIONS = {
  input: [
    '--input NAME=VALUE   x.npy, x.safetensors (its tensor NAME), a number, true, a JSON array or string,',
    'or a shape of random numbers: 1x3x224x224[:float32|:int64|..][:LOW..HIGH];',
    '3:float32 has one dimension. Without LOW..HIGH, integers that an embedding reads',
    'are its rows, and other integers are 1; stderr shows the choice',
    '--input NAME=FILE    an image, resized to the input: x.jpg[:LOW..HIGH|:imagenet] (default 0..1);',
    'audio: x.wav[:RATE], which is resampled to RATE samples per second. Images need',
    'the package sharp, and audio files other than .wav need audio-decode',
    '--input x.safetensors  take every tensor in the file by its name',
    'inputs that are not given are those of the first test vector of the file',
  ],
  output: [
    '--output DIR         write DIR/NAME.npy for each output; FILE.npy for the only output;',
    'FILE.safetensors for all outputs. slim: the folder of the two binaries',
  ],
  method: ['--method NAME        use another method than forward'],
  backend: ['--backend NAME       auto, simd or relaxed; bench and verify also take several: simd,relaxed'],
  threads: ['--threads N          the number of threads, or auto (default: 1)'],
  ops: ["--ops FILE.js        compute custom operators with its default export, as load()'s option ops"],
  device: [
    '--device NAME        cpu, webgpu or auto (default: cpu); the GPU needs the package webgpu.',
    'slim: webgpu also keeps what the GPU needs. inspect: webgpu says which operators may run there',
  ],
  'max-bytes': ['--max-bytes N        limit the memory of the model and its runs'],
  'max-steps': ['--max-steps N        limit the instructions of a run, which also ends endless loops'],
  runs: ['--runs N             bench: the number of timed runs (default: 30)'],
  port: ['--port N             serve: the port (default: any free port)'],
  system: ['--system TEXT        chat: the system message'],
  temperature: ['--temperature N      chat: 0 always takes the likeliest token (default: as in the file)'],
  'max-tokens': ['--max-tokens N       chat: the most tokens of an answer'],
  seed: ['--seed N             chat: the same seed gives the same answers'],
  json: ['--json               print JSON'],
  run: ['--run                inspect: run the model, with the inputs of its first test vector'],
  layers: [
    '--layers             inspect: print the layers that have weights: parameters as PyTorch counts them,',
    'bytes and shapes in the file',
  ],
  graph: ["--graph, --code      inspect: print PyTorch's own graph or code of the model and each submodule"],
  code: [],
  cache: ['--cache              store the model of a URL on this machine, and use the stored copy'],
};

/** Each command: its arguments, what it does, and examples. @type {Record<string, [string, string[], string[]]>} */
const COMMANDS = {
  run: [
    'FILE.rush',
    ['run the model, with --input NAME=VALUE or with the inputs of its first test vector'],
    [
      'm.rush',
      'm.rush --input image=1x3x224x224 --output out',
      'https://example.org/m.rush --cache --input x=x.npy --json',
    ],
  ],
  inspect: [
    'FILE.rush',
    [
      'show inputs, outputs, operators, sizes and the program, reading only the head of the file;',
      'with --run or --input, also layers, shapes, parameters, bytes and times of the operators',
    ],
    ['m.rush --layers', 'm.rush --run', 'm.rush --run --input x=8x3x224x224'],
  ],
  verify: [
    'FILE.rush',
    [
      "replay the file's test vectors and compare with its answers: PyTorch's, or the file's own",
      'answers at export if it is quantized',
    ],
    ['m.rush', 'm.rush --backend simd,relaxed --json'],
  ],
  diff: [
    'FILE.rush',
    [
      'compare each operator with the trace in the file (rushlight export --trace), and name the',
      'first value that differs',
    ],
    ['m.rush'],
  ],
  bench: [
    'FILE.rush',
    ['measure latency, load time, memory and the time of each operator'],
    ['m.rush --backend simd,relaxed', 'm.rush --threads auto --runs 100'],
  ],
  types: [
    'FILE.rush',
    ['write the TypeScript types of the model to NAME.d.ts, or to --output FILE (- is stdout)'],
    ['m.rush --output src/m.d.ts'],
  ],
  serve: [
    'FILE.rush',
    [
      'serve a page on this machine only: the graph by modules with weights and the values of a run,',
      "a comparison with PyTorch's answers, and the outputs and times of runs; for a model of text",
      "also OpenAI's /v1/chat/completions and /v1/models",
    ],
    ['m.rush --port 8000'],
  ],
  chat: ['FILE.rush', ['talk with a language model that export_text() has exported'], ['m.rush --temperature 0']],
  slim: [
    'FILE.rush...',
    ['write a smaller wasm with only the operators of these files into a folder: --output DIR'],
    ['a.rush b.rush --output wasm'],
  ],
  cache: [
    '[list | remove URL | clear]',
    ['list or remove the models that --cache and load() stored on this machine'],
    ['list', 'remove https://example.org/m.rush', 'clear'],
  ],
};

/** @param {string[]} options */
const optionsText = (options) =>
  options
    .flatMap((name) => OPTIONS[name] ?? [])
    .map((line) => (line.startsWith('--') ? `  ${line}` : `${' '.repeat(23)}${line}`))
    .join('\n');

/** Returns the overview of all commands. */
export function helpText() {
  const commands = Object.entries(COMMANDS).map(
    ([name, [, text]]) => `  ${name.padEnd(10)}${text.join(`\n${' '.repeat(12)}`)}`,
  );
  const examples = Object.entries(COMMANDS).map(([name, [, , [first]]]) => `  npx rushlight ${name} ${first}`);
  return `usage: npx rushlight COMMAND FILE.rush [OPTION...]

${commands.join('\n')}

${optionsText(Object.keys(OPTIONS))}
  --version            print the version of the package
  --help               after a command, print its options and examples

FILE may be a URL. The exit code is 0 for success, 1 for a failure or a different answer, and 2 for wrong
usage. The exporter makes .rush files: see rushlight export --help, without npx.

${examples.join('\n')}
`;
}

/**
 * Returns the help of one command.
 * @param {string} name
 * @param {string[]} options that it has
 */
export function commandHelp(name, options) {
  const [file = '', text = [], examples = []] = COMMANDS[name] ?? [];
  return `usage: npx rushlight ${name} ${file}${options.length ? ' [OPTION...]' : ''}

  ${text.join('\n  ')}
${options.length ? `\n${optionsText(options)}\n` : ''}
${examples.map((example) => `  npx rushlight ${name} ${example}`).join('\n')}
`;
}
