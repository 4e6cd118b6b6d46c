// The entry for Cloudflare's workerd, which imports wasm as a module and cannot compile it at run time. package.json
// has the condition `workerd`.

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
