// Makes dist/, the folder that chrome://extensions loads.
import { cpSync, rmSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
for (const file of ['manifest.json', 'popup.html', 'popup.js']) cpSync(file, `dist/${file}`);
for (const name of ['src', 'wasm', 'gate.rush'])
  cpSync(`node_modules/rushlight/${name}`, `dist/rushlight/${name}`, { recursive: true });
