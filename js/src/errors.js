// The one error class of this package, and what C's statuses are called.

/** The statuses of the C runtime, in the order of `rush_status`. A test compares the two lists. */
export const STATUS = /** @type {const} */ ([
  'ok', 'out-of-memory', 'bad-file', 'unsupported', 'bad-argument', 'bad-state', 'model-raised', 'mismatch',
  'pending',
]);

/** What only JavaScript can find wrong. */
export const JS_CODES = /** @type {const} */ ([
  'network', // a URL could not be fetched, or answered with an error
  'unreadable', // a local file could not be read
  'truncated', // the bytes ended before the file did
  'aborted', // by an AbortSignal; `cause` is its reason
  'operator', // a function of the option `ops` failed, or gave what does not fit; `cause` is its error
  'disposed', // the model was used after dispose()
  'internal', // a fault of Rushlight itself
]);

/**
 * @typedef {Exclude<(typeof STATUS)[number], 'ok' | 'pending'> | (typeof JS_CODES)[number]} ErrorCode
 *   what went wrong:
 *   - `out-of-memory`: wasm memory cannot grow
 *   - `bad-file`: the bytes are not a valid .rush file (or .npy, .safetensors)
 *   - `unsupported`: the file is valid, and this runtime lacks something it needs
 *   - `bad-argument`: what the caller or the program passed does not fit
 *   - `bad-state`: called at the wrong time
 *   - `model-raised`: the program ran `raise` or `assert`
 *   - `mismatch`: a test vector gave another answer
 *   - `network`: a URL could not be fetched, or answered with an error
 *   - `unreadable`: a local file could not be read
 *   - `truncated`: the bytes ended before the file did
 *   - `aborted`: by an AbortSignal; `cause` is its reason
 *   - `operator`: a function of the option `ops` failed, or gave what does not fit; `cause` is its error
 *   - `disposed`: the model was used after dispose()
 *   - `internal`: a fault of Rushlight itself
 *
 * @typedef {object} ErrorDetails
 * @property {string} [op] the operator that failed, e.g. "aten::add.Tensor"
 * @property {string} [input] the input that does not fit
 * @property {unknown} [expected]
 * @property {unknown} [actual]
 * @property {string} [source] the Python line, or the URL or path
 * @property {unknown} [cause] the error behind this one
 */

/** Everything that this package throws. Branch on `code`; the message is for people. @hideconstructor */
export class RushlightError extends Error {
  /** @param {ErrorCode} code @param {string} message @param {ErrorDetails} [details] */
  constructor(code, message, details = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    /** "RushlightError". */
    this.name = 'RushlightError';
    /** What went wrong, for programs. */
    this.code = code;
    /** The operator that failed, e.g. "aten::add.Tensor". */
    this.op = details.op;
    /** The input that does not fit. */
    this.input = details.input;
    /** What was wanted: known names, a shape, a size in bytes. */
    this.expected = details.expected;
    /** What was found in its place. */
    this.actual = details.actual;
    /** The Python line, or the URL or path. */
    this.source = details.source;
  }
}

/** @param {string} message @param {ErrorDetails} [details] */
export const badArgument = (message, details) => new RushlightError('bad-argument', message, details);

/** A file that Node could not read: what it says between its code and the call. @param {string} path @param {any} cause */
export const unreadable = (path, cause) =>
  new RushlightError('unreadable', `cannot read ${path}: ${cause.message.replace(/^E\w+: |, \w+( '.*)?$/g, '')}`, { source: path, cause });

/** Throws if the signal is aborted. @param {AbortSignal | undefined} signal @param {string} what */
export function throwIfAborted(signal, what) {
  if (signal?.aborted) throw new RushlightError('aborted', `${what} was aborted`, { cause: signal.reason });
}

/**
 * Refuses options that do not exist, so that a misspelt one is not ignored.
 * @param {string} where @param {object} options @param {readonly string[]} known
 */
export function checkOptions(where, options, known) {
  if (options === null || typeof options !== 'object') {
    throw badArgument(`${where}: options are an object, not ${options === null ? 'null' : typeof options}`);
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) {
      throw badArgument(`${where}: there is no option "${key}"; known are ${known.join(', ')}`, { actual: key, expected: known });
    }
  }
}
