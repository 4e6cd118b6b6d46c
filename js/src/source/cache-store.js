// Stores of cached models: files by name, which are complete or absent. A store is a folder in Node, and otherwise the
// Cache API, which pages, workers and service workers of all browsers have. Safari before 26 cannot write OPFS from a
// page, and no browser can from a service worker.

import { badArgument, describeValue } from '../base/errors.js';
import { builtin } from '../base/platform.js';

/**
 * @typedef {object} Store
 * @property {(name: string) => Promise<Uint8Array | undefined>} read
 * @property {(name: string, bytes: Uint8Array) => Promise<unknown>} write
 * @property {(name: string) => Promise<unknown>} remove
 * @property {() => Promise<string[]>} names the names of all files
 * @property {() => Promise<unknown>} clear
 */

/** Names of cached files. Other files in the folder are ignored. */
const OURS = /^(url|part|piece)-[0-9a-f]{64}/,
  WHOLE = /^\w+-[0-9a-f]{64}$/;

/**
 * @param {unknown} cache 'auto' or a name; in Node also the path of a folder
 * @returns {Promise<Store | undefined>} undefined if nothing can be stored: the page is not secure, or may not
 */
export async function openStore(cache) {
  const fs = builtin('node:fs');
  if (typeof cache !== 'string' || !(/^\w[\w.-]*$/.test(cache) || (fs && /[\\/]/.test(cache)))) {
    throw badArgument(
      `cache must be 'auto', false or a name of letters, digits, "." and ` +
        `"-"${fs ? ', or the path of a folder' : ''}, got ${describeValue(cache)}`,
      { actual: cache },
    );
  }
  const name = cache === 'auto' ? 'models' : cache;
  if (fs) return inFolder(fs.promises, /[\\/]/.test(name) ? name : `${defaultFolder()}/${name}`);
  try {
    return inCache(`rushlight-${name}`, await caches.open(`rushlight-${name}`));
  } catch {
    return undefined;
  }
}

/** Returns the folder of this system for caches. */
function defaultFolder() {
  const { env, platform } = globalThis.process;
  const home = env.HOME ?? env.USERPROFILE ?? '.';
  if (env.RUSHLIGHT_CACHE) return env.RUSHLIGHT_CACHE;
  if (env.XDG_CACHE_HOME) return `${env.XDG_CACHE_HOME}/rushlight`;
  if (platform === 'darwin') return `${home}/Library/Caches/rushlight`;
  return platform === 'win32' ? `${env.LOCALAPPDATA ?? home}/rushlight/cache` : `${home}/.cache/rushlight`;
}

/** @param {typeof import('node:fs').promises} fs @param {string} folder @returns {Store} */
function inFolder(fs, folder) {
  const path = (/** @type {string} */ name) => `${folder}/${name}`;
  const files = async () => (await fs.readdir(folder).catch(() => [])).filter((name) => OURS.test(name));
  return {
    read: (name) => fs.readFile(path(name)).catch(() => undefined),
    async write(name, bytes) {
      const part = path(`${name}.${crypto.randomUUID()}`);
      await fs.mkdir(folder, { recursive: true });
      try {
        await fs.writeFile(part, bytes);
        await fs.rename(part, path(name)); // atomic: with several processes, the last one wins
      } catch (e) {
        await fs.rm(part, { force: true });
        throw e;
      }
    },
    remove: (name) => fs.rm(path(name), { force: true }),
    names: async () => (await files()).filter((name) => WHOLE.test(name)),
    clear: async () => Promise.all((await files()).map((name) => fs.rm(path(name), { force: true }))),
  };
}

/** @param {string} name @param {Cache} cache @returns {Store} */
function inCache(name, cache) {
  // A service worker that looks for the address of the model must find none of these.
  const address = 'https://rushlight.invalid/';
  return {
    async read(name) {
      const response = await cache.match(address + name);
      return response && new Uint8Array(await response.arrayBuffer());
    },
    write: (name, bytes) => cache.put(address + name, new Response(/** @type {Uint8Array<ArrayBuffer>} */ (bytes))),
    remove: (name) => cache.delete(address + name),
    names: async () => (await cache.keys()).map(({ url }) => url.slice(address.length)),
    clear: () => caches.delete(name),
  };
}
