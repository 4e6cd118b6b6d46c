// For Cloudflare's workerd, which compiles no wasm at run time and takes it as a module: the condition `workerd` in
// package.json.

// @ts-expect-error TypeScript knows no wasm
import relaxed from '../wasm/rushlight-relaxed.wasm';
// @ts-expect-error
import simd from '../wasm/rushlight-simd.wasm';
import * as rushlight from './index.js';

export * from './index.js';

const wasm = { simd, relaxed };

/** @type {typeof rushlight.load} */
export const load = (source, options) => rushlight.load(source, { wasm, ...options });

/** @type {typeof rushlight.plan} */
export const plan = (source, options) => rushlight.plan(source, { wasm, ...options });
