// The one error class of this package, and what C's statuses are called.

/** The statuses of the C runtime, in the order of `rush_status`. A test compares the two lists. */
export const STATUS = /** @type {const} */ ([
  'ok', 'out-of-memory', 'bad-file', 'unsupported', 'bad-argument', 'bad-state', 'model-raised', 'mismatch',
  'pending',
]);

/** What only JavaScript can find wrong. */
export const JS_CODES = /** @type {const} */ ([
  'network', // a URL could not be fetched, or answered with an error
  'truncated', // the bytes ended before the file did
  'aborted', // by an AbortSignal; `cause` is its reason
  'operator', // a function of the option `ops` failed, or gave what does not fit; `cause` is its error
  'disposed', // the model was used after dispose()
  'internal', // a fault of Rushlight itself
]);

/**
 * @typedef {Exclude<(typeof STATUS)[number], 'ok' | 'pending'> | (typeof JS_CODES)[number]} ErrorCode
 *
 * @typedef {object} ErrorDetails
 * @property {string} [op] the operator that failed, e.g. "aten::add.Tensor"
 * @property {string} [input] the input that does not fit
 * @property {unknown} [expected]
 * @property {unknown} [actual]
 * @property {string} [source] the Python line, or the URL or path
 * @property {unknown} [cause] the error behind this one
 */

/** Everything that this package throws. Branch on `code`; the message is for people. */
export class RushlightError extends Error {
  /** @param {ErrorCode} code @param {string} message @param {ErrorDetails} [details] */
  constructor(code, message, details = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.name = 'RushlightError';
    this.code = code;
    this.op = details.op;
    this.input = details.input;
    this.expected = details.expected;
    this.actual = details.actual;
    this.source = details.source;
  }
}

/** @param {string} message @param {ErrorDetails} [details] */
export const badArgument = (message, details) => new RushlightError('bad-argument', message, details);

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
