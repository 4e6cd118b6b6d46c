// Makes the package for JSR from the npm package: node js/jsr.mjs FOLDER, where FOLDER has the unpacked npm package.
//
// JSR has scopes, no commands and no CommonJS. A comment at the beginning of a module names its types, beside it.
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const [, , folder = ''] = process.argv;
const { version, license, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

cpSync(join(folder, 'types'), join(folder, 'src'), { recursive: true });
for (const name of readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })) {
  const file = join(folder, 'src', name),
    types = file.replace(/\.js$/, '.d.ts');
  if (types !== file && existsSync(types))
    writeFileSync(file, `/* @ts-self-types="./${basename(types)}" */\n${readFileSync(file, 'utf8')}`);
}
for (const name of ['bin', 'cjs', 'types', 'package.json', 'wasm.d.ts', 'gate.d.ts'])
  rmSync(join(folder, name), { recursive: true });

const modules = Object.entries(exports).filter(([, target]) => target['module-sync']);
const settings = {
  name: '@rushlight/rushlight',
  version,
  license,
  exports: Object.fromEntries(modules.map(([name, target]) => [name, target['module-sync'].default])),
};
writeFileSync(join(folder, 'jsr.json'), `${JSON.stringify(settings, null, 2)}\n`);
