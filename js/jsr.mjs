// Makes the package for JSR from the npm package: node js/jsr.mjs FOLDER, where FOLDER has the unpacked npm package.
//
// JSR has scopes, no commands and no CommonJS. A comment at the beginning of a module names its types, beside it. Only
// the modules of the public API and those that their types import have types: `deno publish` removes the types that the
// public API does not use, and then misses them in the types of other modules.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const [, , folder = ''] = process.argv;
const { version, license, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const modules = Object.entries(exports)
  .filter(([, target]) => target['module-sync'])
  .map(([name, target]) => [name, target['module-sync'].default]);

/** The modules whose types the public API needs, as paths in the folder. @type {Set<string>} */
const typed = new Set(modules.map(([, file]) => join(file)));
for (const file of typed) {
  const types = file.replace(/\.js$/, '.d.ts'),
    module = join(folder, file);
  copyFileSync(join(folder, types.replace('src', 'types')), join(folder, types));
  writeFileSync(module, `/* @ts-self-types="./${basename(types)}" */\n${readFileSync(module, 'utf8')}`);
  for (const [, name = ''] of readFileSync(join(folder, types), 'utf8').matchAll(
    /(?:from|import\() ?["'](\.[^"']*\.js)["']/g,
  ))
    typed.add(join(dirname(file), name));
}
copyFileSync(join(folder, 'types/globals.d.ts'), join(folder, 'src/globals.d.ts'));
for (const name of ['bin', 'cjs', 'types', 'package.json', 'wasm.d.ts', 'gate.d.ts'])
  rmSync(join(folder, name), { recursive: true });

const settings = {
  name: '@rushlight/rushlight',
  version,
  license,
  exports: Object.fromEntries(modules),
  compilerOptions: { lib: ['deno.window', 'dom'] }, // MediaStream
};
writeFileSync(join(folder, 'jsr.json'), `${JSON.stringify(settings, null, 2)}\n`);
