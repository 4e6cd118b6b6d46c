// The option `integrity`, as for scripts in browsers: digests such as "sha384-BASE64", separated by spaces.

import { RushlightError, badArgument, describeValue } from '../base/errors.js';
import { builtin } from '../base/platform.js';
import { Sha2 } from './sha2.js';

/** @typedef {import('./sha2.js').Bits} Bits */

/** The number of characters of a digest, without padding. */
const LENGTHS = { 256: 43, 384: 64, 512: 86 };

/** Compares the digest of bytes with the accepted digests of the strongest given kind. */
export class Check {
  /** @type {string[]} */ accepted = [];
  /** @type {Bits} */ #bits = 256;
  #hash;

  /** @param {unknown} integrity */
  constructor(integrity) {
    if (typeof integrity !== 'string')
      throw badArgument(
        'integrity must be a string: sha256-, sha384- or sha512- and a digest ' +
          `in base64, got ${describeValue(integrity)}`,
        { actual: integrity },
      );
    for (const text of integrity.split(/\s+/).filter(Boolean)) {
      const [, kind, digest = ''] = /^sha(256|384|512)-([\w+/-]+)=*(?:\?.*)?$/.exec(text) ?? [];
      const bits = /** @type {Bits} */ (Number(kind));
      if (digest.length !== LENGTHS[bits])
        throw badArgument(`integrity must be sha256-, sha384- or sha512- and a digest in base64, got "${text}"`, {
          actual: integrity,
        });
      if (bits > this.#bits) this.accepted = [];
      if (bits >= this.#bits) {
        this.#bits = bits;
        this.accepted.push(`sha${bits}-${digest.replaceAll('-', '+').replaceAll('_', '/')}`);
      }
    }
    if (!this.accepted.length)
      throw badArgument('integrity must be sha256-, sha384- or sha512- and a digest in base64, got ""', {
        actual: integrity,
      });
    /** @type {{ update(bytes: Uint8Array): unknown, digest(): Uint8Array }} */
    this.#hash = builtin('node:crypto')?.createHash(`sha${this.#bits}`) ?? new Sha2(this.#bits);
  }

  /** Tests whether bytes with these known digests are accepted. @param {readonly string[]} known */
  accepts(known) {
    return known.some((digest) => this.accepted.includes(digest));
  }

  /** Tests whether bytes with these known digests cannot be accepted. @param {readonly string[]} known */
  refuses(known) {
    return !this.accepts(known) && known.some((digest) => digest.startsWith(`sha${this.#bits}-`));
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    this.#hash.update(bytes);
  }

  /** Returns the digest of all bytes, and throws if it is not accepted. @param {string} name of the source */
  end(name) {
    const actual = `sha${this.#bits}-${btoa(String.fromCharCode(...this.#hash.digest())).replace(/=+$/, '')}`;
    if (this.accepts([actual])) return actual;
    const expected = this.accepted.join(' ');
    throw new RushlightError('bad-file', `${name} must have the digest ${expected}, as integrity says, got ${actual}`, {
      source: name,
      expected,
      actual,
    });
  }
}
