// What errors say beyond the fact: what else a file is, which value cannot be cloned, and what to do about it. Not in
// the core, which imports it when something has failed.

import { RushlightError, badArgument, messageOf } from '../base/errors.js';
import { unexpectedFile } from '../source/source.js';
import { isDetached } from './values.js';

/** How other files begin, what they are, and what to do. @type {[RegExp, string, string][]} */
const OTHERS = [
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
const WAY_OUT = 'Pass its address as the option `wasm`: see "With a bundler" in README.md of this package';

/**
 * What failed while loading, with what helps. Another one, where that is to be said: who waited for the same may be
 * given the same error.
 * @param {any} e @param {unknown} [wasm] the option @param {number} [alive] how many models are
 * @returns {any}
 */
export function addHint(e, wasm, alive) {
  if (!(e instanceof RushlightError)) return e;
  e = /** @type {any} */ (e).other ? otherFile(e) : e;
  const { code, source = '', cause, message } = e,
    { origin } = /** @type {any} */ (globalThis),
    ofWasm = /\.wasm\b|`wasm`|^the wasm/.test(source);
  const but = (/** @type {string} */ text) => new RushlightError(code, text, e);
  if (code === 'out-of-memory' && alive)
    return but(
      `${message}. ${alive} ${alive === 1 ? 'model is' : 'models are'} ` + 'loaded: dispose() frees the memory of one',
    );
  if (ofWasm && /Content.Security.Policy|\bCSP\b|unsafe-eval/i.test(messageOf(cause)))
    return but(`cannot compile ${source}: ${FORBIDDEN}`);
  if (ofWasm && wasm === undefined && !message.includes(WAY_OUT)) return but(`${message}. ${WAY_OUT}`);
  const foreign = code === 'network' && cause && origin && /^http/.test(source) && !source.startsWith(origin);
  return foreign && !message.includes(CORS) ? but(message + CORS) : e;
}

const CORS = '; its server must allow CORS';

/**
 * What bytes are that are not what was expected; the error itself where that is not known.
 * @param {any} e of withStart()
 */
function otherFile(e) {
  const { name, wanted, start } = e.other;
  delete e.other;
  const text = String.fromCharCode(...start).replace('\xef\xbb\xbf', '');
  const [, actual, help] = OTHERS.find(([begins]) => begins.test(text)) ?? [];
  return actual && help ? unexpectedFile(name, wanted, actual, help) : e;
}

/** @param {any} v */
function hasDetached(v) {
  try {
    return isDetached(v?.data ?? v);
  } catch {
    return false; // reading it throws
  }
}

/**
 * Why values cannot be handed over: the first that cannot be cloned, by its name.
 * @param {unknown} cause @param {readonly string[]} names @param {readonly any[]} values
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
