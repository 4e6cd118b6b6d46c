/**
 * Assets: files for the application that lie in a .rush file. The program does not read them.
 * @module assets
 */

import { RushlightError, unknownNameError } from '../base/errors.js';
import { Sha2 } from '../source/sha2.js';

/** @typedef {import('../engine/engine.js').AssetInfo} AssetInfo */

/**
 * The contents of an asset. Each call reads them again, so that the bytes belong to the caller. `model.asset()` makes
 * it, after it has compared the digest.
 * @hideconstructor
 */
export class Asset {
  #blob;

  /** @param {string} name @param {Blob} blob */
  constructor(name, blob) {
    this.#blob = blob;
    /** Its name, such as "labels.txt". */
    this.name = name;
  }

  /** The number of bytes. */
  get size() {
    return this.#blob.size;
  }
  /** Returns a Blob, for `URL.createObjectURL()`, streams and slices. @returns {Blob} */
  blob() {
    return this.#blob;
  }
  /** Returns the bytes. @returns {Promise<Uint8Array>} */
  async bytes() {
    return new Uint8Array(await this.#blob.arrayBuffer());
  }
  /** Returns the bytes as UTF-8 text. @returns {Promise<string>} */
  text() {
    return this.#blob.text();
  }
  /** Parses the text as JSON. @returns {Promise<any>} */ // eslint-disable-line types/any -- as JSON.parse()
  async json() {
    return JSON.parse(await this.text());
  }
}

/** Returns the SHA-256 of the bytes in hexadecimal digits. @param {Uint8Array<ArrayBuffer>} bytes */
async function sha256(bytes) {
  // Pages that are not secure have no crypto.subtle.
  const digest = globalThis.crypto?.subtle
    ? new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
    : new Sha2(256).update(bytes).digest();
  return Array.from(digest, (b) => b.toString(16).padStart(2, '0')).join('');
}

/**
 * Opens an asset, and compares its digest.
 * @internal
 * @param {Pick<import('../engine/host.js').Host, 'description' | 'tail'>} host @param {string} name
 */
export async function openAsset(host, name) {
  const { assets, bytes: end } = host.description;
  const asset = assets.find((a) => a.name === name);
  if (!asset)
    throw unknownNameError(
      'there is no asset',
      name,
      assets.map((a) => a.name),
    );
  const tail = await host.tail(),
    at = asset.offset - (end - tail.size),
    blob = tail.slice(at, at + asset.bytes);
  const actual = await sha256(new Uint8Array(await blob.arrayBuffer()));
  if (actual !== asset.sha256)
    throw new RushlightError('bad-file', `the asset "${name}" must have the SHA-256 ${asset.sha256}, got ${actual}`, {
      expected: asset.sha256,
      actual,
    });
  return new Asset(asset.name, blob);
}
