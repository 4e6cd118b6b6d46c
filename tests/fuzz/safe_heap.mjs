// Makes a binary whose every access to memory is checked, as Emscripten's SAFE_HEAP does: node safe_heap.mjs IN.wasm
// OUT.wasm
//
// It is Binaryen's pass of that name on the finished module, which has to export emscripten_get_sbrk_ptr: an access
// traps at address 0, beyond what the allocator has taken from the memory, and where it lies less aligned than it says.
// The two traps are functions of the binary, heap_overrun and misaligned, whose names stand in the stack of the error.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HAS_MAXIMUM, MEMORY, SHARED, readSections } from '../../js/src/engine/wasm-sections.js';

const TRAPS = `(module
  (func $heap_overrun (export "segfault") unreachable)
  (func $misaligned (export "alignfault") unreachable))`;

const [from, to] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'safe-heap-')),
  at = (/** @type {string} */ name) => join(folder, name);

/** The pass knows atomic accesses on shared memories alone. @param {string} file @param {number} flags */
function setLimits(file, flags) {
  const bytes = readFileSync(file),
    memory = readSections(bytes).find((s) => s.id === MEMORY);
  if (!memory || bytes[memory.start] !== 1) throw new TypeError(`${file} has not one memory`);
  bytes[memory.start + 1] = flags;
  writeFileSync(file, bytes);
}

/** @param {string} tool @param {readonly string[]} args */
const run = (tool, ...args) =>
  execFileSync(tool, ['-g', '--all-features', ...args], { stdio: ['ignore', 'inherit', 'inherit'] });

try {
  writeFileSync(at('in.wasm'), readFileSync(from));
  setLimits(at('in.wasm'), SHARED);
  run('wasm-opt', '--safe-heap', at('in.wasm'), '-o', at('checked.wasm'));
  setLimits(at('checked.wasm'), HAS_MAXIMUM);
  writeFileSync(at('traps.wat'), TRAPS);
  run('wasm-as', at('traps.wat'), '-o', at('traps.wasm'));
  run('wasm-merge', at('checked.wasm'), 'main', at('traps.wasm'), 'env', '-o', to);
} finally {
  rmSync(folder, { recursive: true });
}
