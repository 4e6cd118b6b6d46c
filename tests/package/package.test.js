// The package as npm packs it: what is in it, how large it is, and that it works where it is installed.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import { flipFile } from '../js/build-rush.mjs';
import { bundledCore } from '../lint/download-sizes.mjs';

const js = fileURLToPath(new URL('../../js/', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'rush-package-'));
after(() => rmSync(dir, { recursive: true }));

/** @type {{ filename: string, size: number, unpackedSize: number, files: { path: string }[] }} */ let packed;
before(() => {
  [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', dir], {
      cwd: js,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }).replace(/^[^[]*/, ''),
  );
  writeFileSync(join(dir, 'package.json'), '{"private": true, "type": "module"}');
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`], {
    cwd: dir,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  writeFileSync(join(dir, 'flip.rush'), flipFile().bytes());
});

/** @param {string} file @param {string} code @param {string} [node] */
function run(file, code, node = process.execPath) {
  writeFileSync(join(dir, file), code);
  const { status, stdout, stderr } = spawnSync(node, [file], { cwd: dir, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

test('it holds what contents.txt lists, with what is made of each module, and nothing else', () => {
  const listed = readFileSync(new URL('contents.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  const modules = listed.flatMap((path) => /^src\/(.*)\.js$/.exec(path)?.[1] ?? []);
  const made = modules.flatMap((name) => [
    `types/${name}.d.ts`,
    ...(/^(worker\/(worker|gpu-worker|serve|thread)|workerd|media\/capture-worklet)$/.test(name)
      ? []
      : [`cjs/${name}.js`, `cjs/${name}.d.ts`]),
  ]);
  const once = ['types/globals.d.ts', 'cjs/globals.d.ts', 'cjs/package.json', 'cjs/wasm.d.ts', 'cjs/gate.d.ts'];
  assert.deepEqual(packed.files.map((f) => f.path).sort(), [...listed, ...made, ...once].sort());
});

const ORT = fileURLToPath(new URL('../node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm', import.meta.url));
const gzipped = (/** @type {string} */ file) => gzipSync(readFileSync(file), { level: 9 }).length;

test('it keeps its budgets', (t) => {
  const wasm = ['simd', 'relaxed'].map(
    (name) => brotliCompressSync(readFileSync(`${js}wasm/rushlight-${name}.wasm`)).length,
  );
  t.diagnostic(
    `${(packed.size / 1e6).toFixed(2)} MB, unpacked ${(packed.unpackedSize / 1e6).toFixed(2)} ` +
      `MB; wasm, brotli: simd ${wasm[0]}, relaxed ${wasm[1]}; gzip: ${gzipped(`${js}wasm/rushlight-relaxed.wasm`)}, ` +
      `onnxruntime-web ${gzipped(ORT)}`,
  );
  assert(packed.size < 1.33e6 && packed.unpackedSize < 6e6);
  for (const size of wasm) assert(size <= 327e3, `the wasm must have at most 327,000 bytes of brotli, got ${size}`);
});

for (const [tool, ...args] of [
  ['publint/src/cli.js', 'run', '--strict'],
  ['@arethetypeswrong/cli/dist/index.js', '--profile', 'node16'],
]) {
  test(`${tool} finds nothing wrong with what package.json says`, () => {
    const path = fileURLToPath(new URL(`../node_modules/${tool}`, import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...args, join(dir, packed.filename)], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  });
}

test('the sizes that README and guide tell are those of today, within 5 %', async () => {
  const core = await bundledCore(),
    wasm = readFileSync(`${js}wasm/rushlight-relaxed.wasm`);
  const brotli = brotliCompressSync(wasm).length,
    gzip = gzipSync(wasm).length;
  for (const [file, line, sizes] of /** @type {[string, RegExp, number[]][]} */ ([
    ['README.md', /The runtime has (\d+) kB \(brotli\)/, [brotli]],
    ['js/README.md', /The runtime has (\d+) kB \(brotli\)/, [brotli]],
    [
      'web/guide/questions.md',
      /About (\d+) kB of wasm and (\d+) kB of JavaScript as brotli, (\d+) and (\d+) kB as gzip/,
      [brotli, brotliCompressSync(core).length, gzip, gzipSync(core).length],
    ],
  ])) {
    const told =
      line
        .exec(readFileSync(`${js}../${file}`, 'utf8'))
        ?.slice(1)
        .map((n) => 1e3 * Number(n)) ?? [];
    assert(
      told.length === sizes.length && told.every((n, i) => Math.abs(n - (sizes[i] ?? 0)) <= 0.05 * n),
      `${file} tells ${told}, it is ${sizes}`,
    );
  }
});

test('the start page and README tell the same size of the wasm, within 2 %', () => {
  const wasm = `${js}wasm/rushlight-relaxed.wasm`,
    text = (/** @type {string} */ file) => readFileSync(`${js}../${file}`, 'utf8');
  const start = /^\| Rushlight \| (.+) MB \| \*\*(.+) MB\*\* \|$/m.exec(text('web/index.md')) ?? [];
  for (const [i, bytes] of [statSync(wasm).size, gzipped(wasm)].entries())
    assert(
      Math.abs(1e6 * Number(start[i + 1]) - bytes) <= 0.02 * bytes,
      `web/index.md tells ${start[i + 1]}, got ${bytes}`,
    );
  assert.equal(/or ([\d.]+) MB \(gzip\)/.exec(text('README.md'))?.[1], start[2]);
});

test('each function for pictures and sound adds at most 3 kB', async (t) => {
  for (const [name, ...functions] of [
    ['image', 'imageToTensor', 'tensorToImage'],
    ['audio', 'audioToTensor', 'tensorToAudio'],
  ]) {
    const sizes = [];
    for (const names of [...functions, functions.join()]) {
      const {
        outputFiles: [file],
      } = await build({
        stdin: { contents: `export { ${names} } from './src/media/${name}.js'`, resolveDir: js },
        bundle: true,
        minify: true,
        write: false,
        format: 'esm',
        platform: 'neutral',
      });
      sizes.push(brotliCompressSync(file?.contents ?? '').length);
    }
    t.diagnostic(`${functions.join(', ')} and both, brotli: ${sizes.join(', ')}`);
    assert(
      sizes.every((size) => size > 1e3),
      `${name}: ${sizes}`,
    );
    // 0.4 kB of each is the error class of the core. A page with both functions has one copy of the shared code.
    assert(Math.max(...sizes.slice(0, -1)) <= 3e3 && Number(sizes.at(-1)) <= 3.6e3, `${name}: ${sizes}`);
  }
});

test('a bundler makes one of what is imported and what is required', async () => {
  writeFileSync(
    join(dir, 'both.js'),
    "import * as a from 'rushlight'; import * as b from 'rushlight/npy'; console.log(a, " +
      "b, require('rushlight'), require('rushlight/npy'));",
  );
  for (const platform of /** @type {const} */ (['browser', 'node'])) {
    const { metafile } = await build({
      entryPoints: [join(dir, 'both.js')],
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform,
      logLevel: 'error',
    });
    const files = Object.keys(metafile.inputs).filter((path) => path.includes('/rushlight/'));
    assert(files.length > 10 && files.every((path) => path.includes('/rushlight/src/')), files.join('\n'));
  }
});

test('one script of all knows no address of its own, and says so', async () => {
  writeFileSync(
    join(dir, 'one.js'),
    `
    import { readFileSync } from 'node:fs';
    import { load } from 'rushlight';
    const tell = (options) =>
      load('flip.rush', options).then(
        (model) => console.log(model.backend.name),
        (e) => console.log(e.name, e.code, e.message),
      );
    const wasm = () => readFileSync('node_modules/rushlight/wasm/rushlight-simd.wasm');
    tell({}).then(() => tell({ worker: true })).then(() => tell({ wasm: wasm() }));`,
  );
  const {
    outputFiles: [one],
  } = await build({
    entryPoints: [join(dir, 'one.js')],
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'node',
    logLevel: 'error',
  });
  const told = run('one.cjs', one?.text ?? '').split('\n');
  assert.match(
    told[0] ?? '',
    /^RushlightError unsupported cannot compile the wasm of this package: Invalid URL\. Pass its address as the option `wasm`: see "With a bundler" in README\.md of this package$/,
  );
  assert.match(
    told[1] ?? '',
    /^RushlightError unsupported the worker did not start: Invalid URL\. It is src\/worker\/worker\.js of this package, .* a model also loads without `worker`$/,
  );
  assert.equal(told[2], 'simd');
});

test('what a worker imports is a graph without circles, with nothing imported at run time', () => {
  /** @type {Map<string, string[]>} */ const imports = new Map();
  const visit = (/** @type {string} */ file, /** @type {string[]} */ path) => {
    assert(!path.includes(file), [...path, file].join(' -> '));
    if (!imports.has(file)) {
      const text = readFileSync(`${js}src/${file}`, 'utf8').replace(/\/\*[^]*?\*\//g, '');
      assert(
        ['api/load.js', 'api/load-options.js'].includes(file) || !/\bimport\(/.test(text),
        `${file} imports at run time`,
      );
      imports.set(
        file,
        [...text.matchAll(/^(?:import|export) (?:\w+|\{[^}]*\}|\*(?: as \w+)?) from '(\.[\w./-]+)'/gm)].map((m) =>
          join(dirname(file), String(m[1])),
        ),
      );
    }
    for (const next of imports.get(file) ?? []) visit(next, [...path, file]);
  };
  visit('worker/worker.js', []);
  visit('worker/gpu-worker.js', []);
  assert(
    imports.has('engine/engine.js') &&
      !imports.has('api/load.js') &&
      !imports.has('api/load-options.js') &&
      !imports.has('worker/worker-client.js'),
  );
  visit('index.js', []);
  visit('api/load-options.js', []);
});

const program = `
  const model = await load('flip.rush');
  console.log((await model.run({ x: [1, 2] })).y.data.join());
  model.dispose();`;

test('an ES module imports it, in Node 20 and in a current one', () => {
  for (const node of [process.execPath, ...(process.env.RUSH_NODE_CURRENT ? [process.env.RUSH_NODE_CURRENT] : [])]) {
    assert.equal(run('esm.mjs', `import { load } from 'rushlight';${program}`, node), '2,1\n');
  }
});

test('gate.rush passes its test vectors, and gate.d.ts has its types', () => {
  const gate = join(dir, 'node_modules/rushlight/gate.rush'),
    tool = (/** @type {string[]} */ ...args) =>
      execFileSync('npx', ['--no-install', 'rushlight', ...args], { cwd: dir, encoding: 'utf8' });
  assert.match(tool('verify', gate), /as expected/);
  assert(statSync(gate).size < 6000);
  assert.equal(
    readFileSync(join(dir, 'node_modules/rushlight/gate.d.ts'), 'utf8'),
    tool('types', gate, '--output', 'made.d.ts') && readFileSync(join(dir, 'made.d.ts'), 'utf8'),
  );
  assert.equal(
    run(
      'gate.mjs',
      `
      import { load } from 'rushlight';
      const model = await load(import.meta.resolve('rushlight/gate.rush'));
      console.log((await model.run({ x: [[1, 2, 3, 4]] })).y.data.join());`,
    ),
    '-1,0,1\n',
  );
});

test('CommonJS takes it by import()', () => {
  assert.equal(
    run('common.cjs', `(async () => { const { load } = await import('rushlight');${program} })();`),
    '2,1\n',
  );
});

test('the subpaths are there', () => {
  assert.equal(
    run(
      'sub.mjs',
      `
    import { cached } from 'rushlight/cache';
    import { loadPool } from 'rushlight/pool';
    import { loadText } from 'rushlight/text';
    import { readNpy, writeNpy } from 'rushlight/npy';
    import { readSafetensors } from 'rushlight/safetensors';
    import { Interpreter } from 'rushlight/fx';
    import { imageToTensor } from 'rushlight/image';
    import { audioToTensor } from 'rushlight/audio';
    import { esbuild, rollup } from 'rushlight/bundler';
    import { fileURLToPath } from 'node:url';
    for (const name of ['simd.wasm', 'relaxed.wasm', 'package.json'])
      fileURLToPath(import.meta.resolve('rushlight/' + name));
    const five = { dtype: 'float32', shape: [1], data: Float32Array.of(5) };
    const media = [imageToTensor, audioToTensor, readSafetensors];
    const functions = [...media, Interpreter, cached, loadPool, loadText, esbuild, rollup];
    console.log(readNpy(writeNpy(five)).data[0], ...functions.map((f) => typeof f));`,
    ),
    '5 function function function function function function function function function\n',
  );
});

test('the command line tool is installed with it', () => {
  const { stdout, status } = spawnSync('npx', ['--no-install', 'rushlight', 'run', 'flip.rush', '--input', 'x=[1,2]'], {
    cwd: dir,
    encoding: 'utf8',
  });
  assert.deepEqual([status, stdout], [0, 'y: float32 [1, 2]  2 1\n']);
  assert(statSync(join(dir, 'node_modules/.bin/rushlight')).mode & 0o100);
});
