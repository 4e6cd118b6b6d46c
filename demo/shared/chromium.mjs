// Runs headless Chromium on the demo's server, for comparisons and for the tests of the pages.
// node chromium.mjs FOLDER... compares the models of these folders of build/demo/. Prints JSON.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { serve } from '../serve.mjs';

const LONG = 600_000; // ms: ends a wait that would never end, not one on a slow machine
const require = createRequire(new URL('../../tests/package.json', import.meta.url));

/**
 * Makes `goto` fail if the server has no such page: what the caller waits for next would never come. A test of a
 * missing page passes `missing`.
 * @param {any} page
 */
function refuseMissing(page) {
  const go = page.goto.bind(page);
  page.goto = async (/** @type {string} */ address, { missing = false, ...how } = {}) => {
    const response = await go(address, how);
    if (!missing && response?.status() >= 400) throw new Error(`${address}: HTTP ${response.status()}`);
    return response;
  };
}

/**
 * Starts both. `newPage` opens a page in a new context. `close` ends both, and fails if a page had an unhandled
 * exception or rejection.
 * @param {string[]} [flags] of Chromium
 */
export async function start(flags = []) {
  const executablePath = process.env.RUSH_CHROMIUM;
  if (!executablePath) throw new Error('RUSH_CHROMIUM is not set: ./dev shell sets it, where a Chromium is installed');
  const server = await serve(0);
  try {
    const browser = await require('playwright-core').chromium.launch({
      executablePath,
      timeout: LONG,
      args: [...flags, ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])], // its sandbox does not work for root
    });
    /** @type {string[]} */ const unhandled = [];
    const watch = (/** @type {any} */ page) => {
      refuseMissing(page);
      return page.on('pageerror', (/** @type {Error} */ e) => unhandled.push(e.stack ?? String(e)));
    };
    const newPage = async (/** @type {object} */ options = {}) => {
      const page = watch(await browser.newPage(options));
      page.setDefaultTimeout(LONG);
      return page;
    };
    const close = async () => {
      await Promise.all([browser.close(), server.close()]);
      if (unhandled.length) throw new Error(`nobody handled in a page: ${unhandled.join('\n')}`);
    };
    return { browser, newPage, watch, url: server.url, close };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/**
 * Runs agreement.js in a page.
 * @param {any} page of this server @param {string} folder of build/demo/ @param {any} [loadOptions]
 */
export function agreementInPage(page, folder, loadOptions) {
  return page.evaluate(
    async (/** @type {any} */ { folder, loadOptions }) => {
      const { agreement } = await import('/demo/shared/agreement.js');
      const { load } = await import('/js/src/index.js');
      const read = async (/** @type {string} */ file) => {
        const response = await fetch(`/build/demo/${folder}/${file}`);
        if (!response.ok) throw new Error(`${file}: ${response.status}`);
        return new Uint8Array(await response.arrayBuffer());
      };
      return agreement({ load, read, loadOptions });
    },
    { folder, loadOptions },
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { browser, newPage, url, close } = await start();
  try {
    const page = await newPage();
    await page.goto(`${url}/demo/`);
    const results = [];
    for (const folder of process.argv.slice(2)) {
      results.push({ ...(await agreementInPage(page, folder)), host: `Chromium ${browser.version().split('.')[0]}` });
    }
    console.log(JSON.stringify(results));
  } finally {
    await close();
  }
}
