/// <reference path="./types/globals.d.ts" />
/** A binary of the runtime where an engine or a tool makes a module of it, as workerd does: what `load(url, { wasm })` takes. */
declare const wasm: WebAssembly.Module;
export default wasm;
