// Loads of one file take turns, so that one of them downloads it and the others find it in the cache. Web Locks order
// them in all tabs and workers. Node before 24.5 lacks them, and there the loads of one thread take turns.

import { throwIfAborted } from '../base/errors.js';
import { yieldToEventLoop } from '../base/platform.js';

/**
 * @typedef {{ ifAvailable?: boolean, signal?: AbortSignal }} LockOptions
 * @typedef {import('../api/load.js').LoadOptions['onProgress']} OnProgress
 * @typedef {(name: string, options: LockOptions, callback: (lock: unknown) => unknown) => Promise<unknown>} Request
 */

/** The last holder of each lock. @type {Map<string, Promise<unknown>>} */
const heldLocks = new Map();

/** `navigator.locks.request()` for one thread. @type {Request} */
async function request(name, { ifAvailable, signal }, callback) {
  while (heldLocks.has(name) && !ifAvailable) {
    await Promise.race([
      heldLocks.get(name),
      signal && new Promise((resolve) => signal.addEventListener('abort', resolve)),
    ]);
    signal?.throwIfAborted();
  }
  if (heldLocks.has(name)) return callback(null);
  const done = Promise.resolve(callback({ name })).finally(() => heldLocks.delete(name));
  heldLocks.set(name, done);
  return done;
}

/** The lock of one load. */
export class DownloadLock {
  /** @type {(() => void) | undefined} */ #end;

  /**
   * Waits until no other load has this name, or with `ifAvailable` does not wait.
   * @param {string} name
   * @param {LockOptions} options either of the two: Web Locks accept no signal with `ifAvailable`
   * @returns {Promise<boolean>} whether other loads wait for this one now
   */
  async begin(name, options) {
    const { locks } = /** @type {{ navigator?: { locks?: { request: Request } } }} */ (globalThis).navigator ?? {};
    /** @type {Request} */ const ask = locks ? (...args) => locks.request(...args) : request;
    try {
      return await new Promise((resolve, reject) => {
        ask(`rushlight ${name}`, options, (lock) => {
          resolve(lock !== null);
          return lock && new Promise((end) => (this.#end = () => end(undefined)));
        }).catch(reject);
      });
    } catch {
      throwIfAborted(options.signal, 'waiting for another download of this file');
      return false; // this place refuses locks
    }
  }

  /** Lets the next load begin. */
  end() {
    this.#end?.();
  }

  /**
   * Returns a callback that gives the lock up if it is not done at once, because it may wait for another load.
   * @param {OnProgress} onProgress
   * @returns {OnProgress}
   */
  wrapProgress(onProgress) {
    if (!onProgress) return undefined;
    return async (progress) => {
      const reported = /** @type {PromiseLike<unknown> | undefined} */ (onProgress(progress));
      if (!reported?.then) return;
      const done = Promise.resolve(reported).then(() => true);
      if (!(await Promise.race([done, yieldToEventLoop()]))) this.end();
      await done;
    };
  }
}
