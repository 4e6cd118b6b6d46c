// Puts what is made elsewhere into the package: node js/build.mjs [--all] [--types]
//
//   wasm/    the binaries, and what slim needs to know of them, from build/<simd|relaxed>/dist
//   types/   .d.ts files from the JSDoc comments, and globals.d.ts (--types: where they are older than src/; --all), with tests/node_modules' TypeScript
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
const dist = (backend, ending = 'wasm') => `${top}build/${backend}/dist/rushlight-${backend}.${ending}`;
const built = ['simd', 'relaxed'].filter((backend) => existsSync(dist(backend)));
if (built.length < (all ? 2 : 1)) fail('there are no binaries: run ./dev build simd relaxed');
for (const backend of built) {
  for (const ending of ['wasm', 'reach.json']) {
    if (all || existsSync(dist(backend, ending))) cpSync(dist(backend, ending), `${js}wasm/rushlight-${backend}.${ending}`);
  }
}

const newest = (dir) => (existsSync(dir) ? Math.max(...readdirSync(dir).map((n) => statSync(`${dir}/${n}`).mtimeMs)) : 0);
if (all || (process.argv.includes('--types') && newest(`${js}types`) < newest(`${js}src`))) {
  const tsc = `${top}tests/node_modules/typescript/bin/tsc`;
  if (!existsSync(tsc)) fail('there is no tests/node_modules/typescript: run ./dev setup');
  rmSync(`${js}types`, { recursive: true, force: true });
  execFileSync(process.execPath, [tsc, '-p', `${js}tsconfig.json`, '--typeRoots', `${top}tests/node_modules/@types`], { stdio: 'inherit' });
  for (const name of readdirSync(`${js}types`)) writeFileSync(`${js}types/${name}`, `/// <reference path="./globals.d.ts" />\n${readFileSync(`${js}types/${name}`, 'utf8')}`);
  cpSync(`${js}globals.d.ts`, `${js}types/globals.d.ts`);
}

if (all) {
  for (const name of readdirSync(top).filter((n) => /^(LICENSE|THIRD_PARTY_NOTICES)/.test(n))) cpSync(top + name, js + name);
}
