// The glue that Emscripten makes (js/wasm/, copied there by build.mjs).
declare module '*/rushlight-simd.mjs' {
  const make: (settings: {
    instantiateWasm(imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void): object;
  }) => Promise<any>;
  export default make;
}
declare module '*/rushlight-relaxed.mjs' {
  export { default } from '*/rushlight-simd.mjs';
}
