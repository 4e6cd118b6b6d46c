// Puts what is made elsewhere into the package: node js/build.mjs [--all] [--types]
//
//   wasm/    the binaries and their glue, from build/<simd|relaxed>/dist
//   types/   .d.ts files from the JSDoc comments (--types, --all), with tests/node_modules' TypeScript
//   LICENSE, THIRD_PARTY_NOTICES (--all)
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const js = fileURLToPath(new URL('.', import.meta.url));
const top = fileURLToPath(new URL('..', import.meta.url));
const all = process.argv.includes('--all');

function fail(message) {
  console.error(`js/build.mjs: ${message}`);
  process.exit(1);
}

mkdirSync(`${js}wasm`, { recursive: true });
const dist = (backend) => `${top}build/${backend}/dist/rushlight-${backend}`;
const built = ['simd', 'relaxed'].filter((backend) => existsSync(`${dist(backend)}.mjs`) && existsSync(`${dist(backend)}.wasm`));
if (all && built.length < 2) fail('a binary is missing: run ./dev build simd relaxed');
if (built.length === 0) fail(`there is no ${dist('simd')}.wasm: run ./dev build simd`);
for (const backend of built) cpSync(`${dist(backend)}.wasm`, `${js}wasm/rushlight-${backend}.wasm`);

// Both binaries have the same imports and exports, so one glue serves both.
const glues = built.map((backend) => readFileSync(`${dist(backend)}.mjs`, 'utf8').replaceAll(`rushlight-${backend}`, 'rushlight-simd'));
if (built.length === 2 && glues[0] !== glues[1]) {
  const message = 'the glue of the two binaries differs: build both from the same sources (./dev build simd relaxed)';
  if (all) fail(message);
  console.error(`js/build.mjs: ${message}; the newer one is taken`);
  if (statSync(`${dist('simd')}.mjs`).mtimeMs < statSync(`${dist('relaxed')}.mjs`).mtimeMs) glues.shift();
}
writeFileSync(`${js}wasm/rushlight.mjs`, glues[0]);
writeFileSync(`${js}wasm/rushlight.d.mts`, `export default function make(settings: {
  instantiateWasm(imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void): object;
}): Promise<any>;
`);

if (all || process.argv.includes('--types')) {
  const tsc = `${top}tests/node_modules/typescript/bin/tsc`;
  if (!existsSync(tsc)) fail('there is no tests/node_modules/typescript: run ./dev setup');
  rmSync(`${js}types`, { recursive: true, force: true });
  execFileSync(process.execPath, [tsc, '-p', `${js}tsconfig.json`, '--typeRoots', `${top}tests/node_modules/@types`], { stdio: 'inherit' });
}

if (all) {
  for (const name of readdirSync(top).filter((n) => /^(LICENSE|THIRD_PARTY_NOTICES)/.test(n))) cpSync(top + name, js + name);
}
