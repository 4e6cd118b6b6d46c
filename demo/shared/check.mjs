// Compares a demo's model with PyTorch's answers, in this Node: node check.mjs FOLDER [BACKEND]
// FOLDER is one of build/demo/. Prints JSON.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';

import { load } from '../../js/src/index.js';
import { agreement } from './agreement.js';

const [folder, backend] = process.argv.slice(2);
const result = await agreement({
  load,
  read: (file) => readFile(resolve(folder, file)),
  loadOptions: backend ? { backend } : undefined,
});
console.log(JSON.stringify({ ...result, host: `Node ${process.versions.node}` }));
