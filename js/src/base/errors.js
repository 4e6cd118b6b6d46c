// The error class of this package, and the names of the statuses of C.

import { tagOf } from './platform.js';

/** The statuses of the C runtime, in the order of `rush_status`. A test compares the two lists. */
export const STATUS = /** @type {const} */ ([
  'ok',
  'out-of-memory',
  'bad-file',
  'unsupported',
  'bad-argument',
  'bad-state',
  'model-raised',
  'mismatch',
  'pending',
  'interrupted',
  'device-lost',
]);

/** Codes of errors that only JavaScript finds. */
export const JS_CODES = /** @type {const} */ ([
  'network', // a URL could not be fetched, or answered with an error
  'unreadable', // a local file could not be read
  'truncated', // the bytes ended before the file did
  'aborted', // by an AbortSignal; `cause` is its reason
  'operator', // a function of the option `ops` failed or returned an invalid result; `cause` is its error
  'callback', // another function of the caller failed, such as `onProgress`; `cause` is its error
  'disposed', // the model was used after dispose()
  'internal', // a fault of Rushlight itself
]);

/**
 * @typedef {Exclude<(typeof STATUS)[number], 'ok' | 'pending'> | (typeof JS_CODES)[number]} ErrorCode
 *   the kind of failure:
 *   - `out-of-memory`: wasm memory cannot grow
 *   - `bad-file`: the bytes are not a valid .rush file (or .npy, .safetensors)
 *   - `unsupported`: the file is valid, but this runtime lacks a part that it needs
 *   - `bad-argument`: an argument of the caller or of the program is invalid
 *   - `bad-state`: the function was called at the wrong time
 *   - `model-raised`: the program ran `raise` or `assert`
 *   - `mismatch`: the answer to a test vector differs
 *   - `interrupted`: the run exceeded the steps of the option `limits`
 *   - `device-lost`: the GPU was lost, and with it values that the run needs
 *   - `network`: a URL could not be fetched, or answered with an error
 *   - `unreadable`: a local file could not be read
 *   - `truncated`: the bytes ended before the file did
 *   - `aborted`: an AbortSignal stopped the call; `cause` is its reason
 *   - `operator`: a function of the option `ops` failed or returned an invalid result; `cause` is its error
 *   - `callback`: another function of the caller failed, such as `onProgress`; `cause` is its error
 *   - `disposed`: the model was used after dispose()
 *   - `internal`: Rushlight itself has a fault
 *
 * @typedef {object} ErrorDetails
 * @property {string} [op] the operator that failed, e.g. "aten::add.Tensor"
 * @property {string} [input] the name of the refused input, or of one whose shape differs from the export's
 * @property {unknown} [expected]
 * @property {unknown} [actual]
 * @property {string} [source] the Python line, or the URL or path
 * @property {unknown} [cause] the error behind this one
 */

/**
 * The only error that this package throws. Programs should test its `code`; the message is for people. The stack begins
 * at the call that failed.
 * @hideconstructor
 */
export class RushlightError extends Error {
  /** @param {ErrorCode} code @param {string} message @param {ErrorDetails} [details] */
  constructor(code, message, details = {}) {
    super(message, details); // Error reads `cause`
    /** "RushlightError", or "AbortError" if the code is `aborted`. */
    this.name = code === 'aborted' ? 'AbortError' : 'RushlightError';
    /** The kind of failure. */
    this.code = code;
    /** The operator that failed, e.g. "aten::add.Tensor". */
    this.op = details.op;
    /** The name of the refused input, or of an input of a failed run whose shape differs from the export's. */
    this.input = details.input;
    /** The expected value: known names, a shape, a size in bytes. */
    this.expected = details.expected;
    /** The actual value. */
    this.actual = details.actual;
    /** The Python line, or the URL or path. */
    this.source = details.source;
  }
}

/** @param {string} message @param {ErrorDetails} [details] */
export const badArgument = (message, details) => new RushlightError('bad-argument', message, details);

/** Describes a value for messages. @param {unknown} v @returns {string} */
export function describeValue(v) {
  const kind = typeof v;
  if (kind === 'string') return `the string ${JSON.stringify(/** @type {string} */ (v).slice(0, 40))}`;
  if (kind === 'bigint') return `the BigInt ${v}n`;
  if (kind === 'function') return 'a function';
  if (!v || kind !== 'object') return String(v);
  try {
    if (Array.isArray(v))
      return v.length > 8 || v.some((item) => typeof item === 'object')
        ? `an array of ${v.length}`
        : `[${v.map(describeValue).join(', ')}]`;
    return /** @type {{ then?: unknown }} */ (v).then
      ? 'a Promise: did you forget await?'
      : !ArrayBuffer.isView(v) && 'data' in /** @type {object} */ (v)
        ? 'a tensor'
        : `${v.constructor.name}`;
  } catch {
    return 'an object';
  }
}

/**
 * @param {string} what "there is no input"
 * @param {unknown} name
 * @param {readonly string[]} known
 * @param {ErrorDetails} [details]
 */
export const unknownNameError = (what, name, known, details) =>
  badArgument(
    `${what} ${typeof name === 'string' ? `"${name}"` : describeValue(name)}; known: ${known.join(', ') || 'none'}`,
    { expected: known, actual: name, ...details },
  );

/** Returns the message of a thrown value. @param {unknown} e @returns {string} */
export const messageOf = (e) =>
  typeof e === 'object' ? String(/** @type {Partial<Error> | null} */ (e)?.message ?? e?.constructor?.name) : String(e);

/**
 * Returns the error for a failed function of the caller.
 * @param {string} what its name
 * @param {unknown} cause its error
 */
export const callbackFailed = (what, cause) =>
  new RushlightError('callback', `${what} failed: ${messageOf(cause)}`, { cause });

/** The frames that are kept of each call: withCallerStack(), the method and its caller. Each frame costs time. */
const FRAMES = 3;

/**
 * Runs a job for a caller. A failure is a RushlightError whose stack begins at the method that was called. Behind its
 * caller it has the functions that await the call, which V8 finds when the job has failed.
 * @template T @param {() => Promise<T>} job looks at its arguments before it returns its promise
 * @returns {Promise<T>}
 */
export async function withCallerStack(job) {
  const limit = Error.stackTraceLimit,
    set = (/** @type {number} */ n) => limit > FRAMES && Reflect.set(Error, 'stackTraceLimit', n); // it may be frozen
  set(FRAMES);
  const site = new Error();
  set(limit);
  /** @type {Promise<T> | undefined} */ let promise;
  try {
    return await (promise = job());
  } catch (e) {
    const error =
      e instanceof RushlightError
        ? e
        : promise
          ? new RushlightError('internal', messageOf(e), { cause: e })
          : badArgument(`the arguments cannot be read: ${messageOf(e)}`, { cause: e });
    const now = `${new Error().stack}`;
    // The first frame is this function. Only V8 begins with the text of the error.
    error.stack = (promise ? site.stack + now.replace(/^Error\n.*|^[^]*/, '') : now).replace(
      /^(Error(?:\n|$))?.*\n?/,
      (_, head) => (head ? `${error}\n` : ''),
    );
    throw error;
  }
}

/** @param {string} what @param {unknown} n @param {number} least */
export function checkInteger(what, n, least) {
  if (!(Number.isSafeInteger(n) && /** @type {number} */ (n) >= least))
    throw badArgument(`${what} must be an integer of at least ${least}, got ${describeValue(n)}`, { actual: n });
}

/**
 * Returns the error for a file that Node cannot read. It keeps the part of Node's message after the code and before
 * the call.
 * @param {string} path
 * @param {unknown} cause its error
 */
export const unreadableFile = (path, cause) =>
  new RushlightError(
    'unreadable',
    `cannot read ${path}: ${/** @type {Error} */ (cause).message.replace(/^E\w+: |, \w+( '.*)?$/g, '')}`,
    { source: path, cause },
  );

/** Returns the error of a model that was disposed. */
export const disposedError = () => new RushlightError('disposed', 'the model was disposed, or its runtime failed');

/** @param {AbortSignal} signal @param {string} what */
export const abortError = (signal, what) =>
  new RushlightError('aborted', `${what} was aborted`, { cause: signal.reason });

/** Throws if the signal is aborted. @param {AbortSignal | undefined} signal @param {string} what */
export function throwIfAborted(signal, what) {
  if (signal?.aborted) throw abortError(signal, what);
}

/**
 * Returns a promise that also rejects as soon as the signal is aborted.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal | undefined} signal
 * @param {string} what
 * @param {() => boolean} [late] whether the promise itself rejects on the abort
 * @returns {Promise<T>}
 */
export function rejectOnAbort(promise, signal, what, late = () => false) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => late() || reject(abortError(signal, what));
    promise.then(resolve, reject); // first, so that its rejection is always handled
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.finally(() => signal.removeEventListener('abort', stop)).catch(() => {});
  });
}

/**
 * Refuses unknown options, so that no misspelt one is ignored, and a signal that is not an AbortSignal.
 * @param {string} where @param {unknown} options @param {readonly string[]} known
 */
export function checkOptions(where, options, known) {
  if (options === null || typeof options !== 'object')
    throw badArgument(`${where}: options must be an object, got ${describeValue(options)}`);
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw unknownNameError(`${where}: there is no option`, key, known);
  }
  const { signal } = /** @type {{ signal?: unknown }} */ (options);
  if (signal != null && tagOf(signal) !== 'AbortSignal') {
    const help = /** @type {{ signal?: unknown }} */ (signal).signal ? ': pass controller.signal' : '';
    throw badArgument(`${where}: signal must be an AbortSignal, got ${describeValue(signal)}${help}`);
  }
}
