// Makes dist/: the page, the package and the model, and the list of files that the service worker stores.
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
for (const file of ['index.html', 'page.js', 'sw.js', 'app.webmanifest']) cpSync(file, `dist/${file}`);
const rushlight = 'node_modules/rushlight';
for (const name of ['src', 'wasm', 'gate.rush'])
  cpSync(`${rushlight}/${name}`, `dist/rushlight/${name}`, { recursive: true });

const files = readdirSync('dist', { recursive: true })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name !== 'sw.js' && statSync(`dist/${name}`).isFile())
  .sort();
const hash = createHash('sha256');
for (const name of files) hash.update(name).update(readFileSync(`dist/${name}`));
const version = hash.digest('hex').slice(0, 12);
const head = `const VERSION = '${version}';\nconst FILES = ${JSON.stringify(files)};\n`;
writeFileSync('dist/sw.js', head + readFileSync('sw.js', 'utf8'));
