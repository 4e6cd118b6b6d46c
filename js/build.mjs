// Puts what is made elsewhere into the package: node js/build.mjs [--all] [--types]
//
//   wasm/    the glue and the binaries, from build/<simd|relaxed>/dist
//   types/   .d.ts files from the JSDoc comments (--types, --all), with tests/node_modules' TypeScript
//   LICENSE, THIRD-PARTY-NOTICES.txt (--all)
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const js = fileURLToPath(new URL('.', import.meta.url));
const top = fileURLToPath(new URL('..', import.meta.url));
const all = process.argv.includes('--all');

function fail(message) {
  console.error(`js/build.mjs: ${message}`);
  process.exit(1);
}

mkdirSync(`${js}wasm`, { recursive: true });
for (const backend of ['simd', 'relaxed']) {
  for (const end of ['mjs', 'wasm']) {
    const from = `${top}build/${backend}/dist/rushlight-${backend}.${end}`;
    if (!existsSync(from)) fail(`there is no ${from}: run ./dev build ${backend}`);
    cpSync(from, `${js}wasm/rushlight-${backend}.${end}`);
  }
}

if (all || process.argv.includes('--types')) {
  const tsc = `${top}tests/node_modules/typescript/bin/tsc`;
  if (!existsSync(tsc)) fail('there is no tests/node_modules/typescript: run ./dev setup');
  rmSync(`${js}types`, { recursive: true, force: true });
  execFileSync(process.execPath, [tsc, '-p', `${js}tsconfig.json`, '--typeRoots', `${top}tests/node_modules/@types`], { stdio: 'inherit' });
}

if (all) {
  for (const name of ['LICENSE', 'THIRD-PARTY-NOTICES.txt']) {
    if (!existsSync(top + name)) fail(`there is no ${name} in ${top}`);
    cpSync(top + name, js + name);
  }
}
