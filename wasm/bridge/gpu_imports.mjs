// Fails if the functions that the module for GPUs imports are not those of gpu_services.def, in the same order:
//
//     node gpu_imports.mjs rushlight-gpu.wasm gpu_services.def

import { readFileSync } from 'node:fs';

import { namesOf } from '../../js/src/gpu/link.js';

const [binary = '', services = ''] = process.argv.slice(2);
const imported = namesOf(new WebAssembly.Module(readFileSync(binary))),
  listed = [...readFileSync(services, 'utf8').matchAll(/^SERVICE\((\w+)\)$/gm)].map(([, name]) => name);
const missing = imported.filter((name) => !listed.includes(name)),
  unused = listed.filter((name) => !imported.includes(name));
if (missing.length || unused.length || imported.join() !== listed.join()) {
  console.error(
    `${services} must list the imports of ${binary} in alphabetical order.` +
      (missing.length ? ` It lacks ${missing.join(', ')}.` : '') +
      (unused.length ? ` It has ${unused.join(', ')}, which are not imported.` : ''),
  );
  process.exit(1);
}
