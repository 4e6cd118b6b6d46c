// Makes a binary that checks every memory access, as Emscripten's SAFE_HEAP does: node safe_heap.mjs IN.wasm
// OUT.wasm
//
// It runs Binaryen's pass of that name on the finished module, which must export emscripten_get_sbrk_ptr. An access
// traps at address 0, past the memory that the allocator has taken, and below its declared alignment. The two traps are
// functions of the binary, heap_overrun and misaligned, whose names appear in the error's stack.

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

/** Sets the memory's flags, because the pass needs shared memory. @param {string} file @param {number} flags */
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
