// Copies and generates the files of the package that are not in the repository: node js/build.mjs [--all] [--types]
//
//   wasm/    the binaries from build/<simd|relaxed>/dist, the part for GPUs, and reach.json.br, the table of
//            `npx rushlight slim` for both
//   types/   .d.ts files from the JSDoc comments, and globals.d.ts, by the TypeScript of tests/node_modules. --types
//            makes them if they are older than src/, and --all always does
//   cjs/     src/ and types/ as CommonJS, for tools such as Jest. Each file stays a file (--all)
//   bin/page/graph/dagre.js  the library that lays out the graph in the page of `serve`, from tests/node_modules
//   LICENSE, THIRD_PARTY_NOTICES (--all)
//
// ./dev build native exports gate.rush, the model of the README's examples, by gate.py.
//
// Other processes may read the package at the same time. A file with the same bytes stays, and a new one replaces the
// old one in one step.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

const js = fileURLToPath(new URL('.', import.meta.url));
const top = fileURLToPath(new URL('..', import.meta.url));
const all = process.argv.includes('--all');

function fail(message) {
  console.error(`js/build.mjs: ${message}`);
  process.exit(1);
}

const part = `${js}.part.${process.pid}/`;

/** Lists the files below a folder. */
const filesIn = (dir) =>
  existsSync(dir) ? readdirSync(dir, { recursive: true }).filter((name) => statSync(`${dir}/${name}`).isFile()) : [];

/** Removes files of an earlier build. */
function removeOthers(dir, created) {
  for (const name of filesIn(dir)) if (!created.has(name)) rmSync(`${dir}/${name}`, { force: true });
  for (const { name } of readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    if (filesIn(`${dir}/${name}`).length === 0) rmSync(`${dir}/${name}`, { recursive: true });
  }
}

function put(bytes, file) {
  // The new time tells that the file is up to date with its source.
  if (existsSync(file) && readFileSync(file).equals(bytes)) return utimesSync(file, new Date(), new Date());
  mkdirSync(part, { recursive: true });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${part}one`, bytes);
  renameSync(`${part}one`, file);
}

// Values for names that Jest's environment jsdom lacks, and for the address of the file.
const FROM_NODE = {
  TextDecoder: "require('node:util').TextDecoder",
  TextEncoder: "require('node:util').TextEncoder",
  MessageChannel: "require('node:worker_threads').MessageChannel",
  fileUrl: "require('node:url').pathToFileURL(__filename).href",
};

// Scripts of workers and worklets are always ES modules, and workerd has no CommonJS.
const ONLY_MODULES = /^(worker\/(worker|gpu-worker|serve|thread)|workerd|media\/capture-worklet)\./;

async function putCommonJs() {
  const { default: esbuild } = await import(`${top}tests/node_modules/esbuild/lib/main.js`);
  const files = new Map([
    ['package.json', '{"type": "commonjs"}\n'],
    ['wasm.d.ts', readFileSync(`${js}wasm.d.ts`, 'utf8').replace('./types/', './')],
    ['gate.d.ts', readFileSync(`${js}gate.d.ts`)],
  ]);
  for (const name of filesIn(`${js}types`))
    if (!ONLY_MODULES.test(name)) files.set(name, readFileSync(`${js}types/${name}`));
  for (const name of filesIn(`${js}src`)) {
    if (ONLY_MODULES.test(name)) continue;
    const { code } = esbuild.transformSync(readFileSync(`${js}src/${name}`, 'utf8'), {
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      supported: { 'dynamic-import': false },
      define: { 'import.meta.url': 'fileUrl' },
      minifyWhitespace: true, // Only tools without ES modules read these files, and the package has a size limit.
    });
    const needed = Object.entries(FROM_NODE).filter(([word]) => new RegExp(`\\b${word}\\b`).test(code));
    files.set(name, needed.map(([word, value]) => `const ${word} = ${value};\n`).join('') + code);
  }
  for (const [name, content] of files) put(Buffer.from(content), `${js}cjs/${name}`);
  removeOthers(`${js}cjs`, files);
}

mkdirSync(`${js}wasm`, { recursive: true });
const dist = (backend, ending = 'wasm') => `${top}build/${backend}/dist/rushlight-${backend}.${ending}`;
const built = ['simd', 'relaxed'].filter((backend) => existsSync(dist(backend)));
if (built.length < (all ? 2 : 1)) fail('there are no binaries: run ./dev build simd relaxed');
for (const backend of built) put(readFileSync(dist(backend)), `${js}wasm/rushlight-${backend}.wasm`);
const gpu = `${top}build/simd/dist/rushlight-gpu.wasm`;
if (existsSync(gpu)) put(readFileSync(gpu), `${js}wasm/rushlight-gpu.wasm`);
// Both tables are nearly the same, so that Brotli stores the second one in 2 kB.
const tables = built.filter((backend) => all || existsSync(dist(backend, 'reach.json')));
const texts = tables.map((backend) => `"${backend}":${readFileSync(dist(backend, 'reach.json'), 'utf8')}`);
put(brotliCompressSync(`{${texts.join()}}`), `${js}wasm/reach.json.br`);
removeOthers(
  `${js}wasm`,
  new Set(['reach.json.br', 'rushlight-gpu.wasm', ...built.map((backend) => `rushlight-${backend}.wasm`)]),
);

/** The page of `serve` imports Dagre as a file, so that the package needs no other one. */
function putDagre() {
  const dagre = `${top}tests/node_modules/@dagrejs/dagre/`;
  if (!existsSync(dagre)) fail('there is no tests/node_modules/@dagrejs/dagre: run ./dev setup');
  const { name, version } = JSON.parse(readFileSync(`${dagre}package.json`, 'utf8'));
  const [code] = readFileSync(`${dagre}dist/dagre.esm.js`, 'utf8').split('/*! For license');
  put(
    Buffer.from(`// ${name} ${version}; THIRD_PARTY_NOTICES has its licence.\n${code}`),
    `${js}bin/page/graph/dagre.js`,
  );
}
putDagre();

const newest = (dir) => Math.max(0, ...filesIn(dir).map((name) => statSync(`${dir}/${name}`).mtimeMs));
if (all || (process.argv.includes('--types') && newest(`${js}types`) < newest(`${js}src`))) {
  const tsc = `${top}tests/node_modules/typescript/bin/tsc`;
  if (!existsSync(tsc)) fail('there is no tests/node_modules/typescript: run ./dev setup');
  const types = `${part}types/`;
  execFileSync(
    process.execPath,
    [tsc, '-p', `${js}tsconfig.json`, '--outDir', types, '--typeRoots', `${top}tests/node_modules/@types`],
    { stdio: 'inherit' },
  );
  const names = new Set(filesIn(types));
  for (const name of names) {
    const globals = name.includes('/') ? '../globals.d.ts' : './globals.d.ts';
    const text = readFileSync(types + name, 'utf8');
    put(Buffer.from(`/// <reference path="${globals}" />\n${text}`), `${js}types/${name}`);
  }
  put(readFileSync(`${js}globals.d.ts`), `${js}types/globals.d.ts`);
  removeOthers(`${js}types`, names.add('globals.d.ts'));
}

if (all) {
  if (!existsSync(`${js}gate.rush`)) fail('there is no gate.rush: run ./dev build native');
  await putCommonJs();
  for (const name of readdirSync(top).filter((n) => /^(LICENSE|THIRD_PARTY_NOTICES)/.test(n)))
    put(readFileSync(top + name), js + name);
}
rmSync(part, { recursive: true, force: true });
