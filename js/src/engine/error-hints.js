// Hints in messages: the kind of a wrong file, the value that cannot be cloned, and the remedy. The core imports this
// module only after a failure. It is the only one that decides by the words of a message, which is an engine's.

import { RushlightError, badArgument, messageOf } from '../base/errors.js';
import { unexpectedFile } from '../source/source.js';
import { isDetached } from './values.js';

/** @typedef {import('../source/source.js').FirstBytes} FirstBytes */

/** The first bytes of other files, their kinds, and the remedies. @type {[RegExp, string, string][]} */
const FILE_KINDS = [
  [/^\s*</, 'HTML', 'check the address'],
  [/^PK/, 'a PyTorch file', 'convert it with rushlight export'],
  [/^.{8}\{/s, 'a .safetensors file', 'it has weights and no program'],
  [/^\x08/, 'an ONNX model', 'export the PyTorch model'],
  [/^version http/, 'a Git LFS pointer', 'run git lfs pull'],
  [/^\x1f\x8b/, 'gzip', 'unpack it'],
];

const FORBIDDEN =
  "the Content-Security-Policy of the page, or of the worker's script, forbids " +
  "WebAssembly. Allow script-src 'wasm-unsafe-eval'";
const WASM_HINT = 'Pass its address as the option `wasm`: see "With a bundler" in README.md of this package';

/** Errors that have a hint. @type {WeakSet<object>} */
export const hinted = new WeakSet();

/**
 * Adds a hint to an error of loading that has none. It returns a new error, because several callers may have received
 * the same one.
 * @param {unknown} e @param {unknown} [wasm] the option @param {number} [alive] the number of loaded models
 * @returns {unknown}
 */
export function addHint(e, wasm, alive) {
  if (!(e instanceof RushlightError) || hinted.has(e)) return e;
  e = /** @type {RushlightError & FirstBytes} */ (e).other
    ? otherFile(/** @type {RushlightError & FirstBytes} */ (e))
    : e;
  const { code, source = '', cause, message } = /** @type {RushlightError} */ (e),
    { origin } = /** @type {Partial<typeof globalThis>} */ (globalThis),
    ofWasm = /\.wasm\b|`wasm`|^the wasm/.test(source);
  const withText = (/** @type {string} */ text) => {
    const error = new RushlightError(code, text, /** @type {RushlightError} */ (e));
    hinted.add(error);
    return error;
  };
  if (code === 'out-of-memory' && alive)
    return withText(
      `${message}. ${alive} ${alive === 1 ? 'model is' : 'models are'} ` + 'loaded: dispose() frees the memory of one',
    );
  if (ofWasm && /Content.Security.Policy|\bCSP\b|unsafe-eval/i.test(messageOf(cause)))
    return withText(`cannot compile ${source}: ${FORBIDDEN}`);
  if (ofWasm && wasm === undefined) return withText(`${message}. ${WASM_HINT}`);
  const foreign = code === 'network' && cause && origin && /^http/.test(source) && !source.startsWith(origin);
  return foreign ? withText(message + CORS) : e;
}

const CORS = '; its server must allow CORS';

/**
 * Names the kind of a wrong file; returns the error itself if the kind is unknown.
 * @param {RushlightError & FirstBytes} e of withFirstBytes()
 */
function otherFile(e) {
  const { name, wanted, start } = /** @type {Required<FirstBytes>} */ (e).other;
  delete e.other;
  const text = String.fromCharCode(...start).replace('\xef\xbb\xbf', '');
  const [, actual, help] = FILE_KINDS.find(([begins]) => begins.test(text)) ?? [];
  return actual && help ? unexpectedFile(name, wanted, actual, help) : e;
}

/** @param {unknown} v */
function hasDetached(v) {
  try {
    return isDetached(/** @type {{ data?: unknown } | null} */ (v)?.data ?? v);
  } catch {
    return false; // reading it throws
  }
}

/**
 * Returns the error for values that cannot be cloned. It names the first of them.
 * @param {unknown} cause @param {readonly string[]} names @param {readonly unknown[]} values
 */
export function cloneError(cause, names, values) {
  for (const [i, v] of values.entries()) {
    try {
      structuredClone(v);
    } catch (e) {
      const input = names[i],
        what = input === undefined ? `value ${i}` : `input "${input}"`;
      return badArgument(
        hasDetached(v)
          ? `${what}: its buffer was transferred before`
          : `${what} must be plain data, to be cloned: ${messageOf(e)}` +
              (typeof v === 'object' ? " For a proxy, as Vue's reactive() makes it, pass toRaw(value)" : ''),
        { input, cause },
      );
    }
  }
  return badArgument(`the inputs cannot be transferred: ${messageOf(cause)}`, { cause });
}
