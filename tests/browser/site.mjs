// Serves the site of ./dev docs as a static host does: below some path, without headers. Looks at pages with axe-core.

import { createReadStream, readFileSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export const path = (/** @type {string} */ file) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const SITE = path('build/docs/');
const BASE = '/some/where/';
const TYPES = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/** Returns the paths of all pages, without those that only lead to another page. */
export const pages = () =>
  readdirSync(SITE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html') && !/http-equiv=.?refresh/.test(readFileSync(SITE + file, 'utf8')))
    .sort();

/**
 * Starts the server.
 * @param {(pathname: string) => string | undefined} [instead] the text of a file that the server has itself
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function serveSite(instead = () => undefined) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost'),
      own = instead(pathname);
    if (own !== undefined) return response.end(own);
    let file = pathname.startsWith(BASE) ? SITE + pathname.slice(BASE.length) : '';
    if (file.endsWith('/')) file += 'index.html';
    const found = statSync(file, { throwIfNoEntry: false })?.isFile();
    if (!found) file = `${SITE}404.html`;
    response.writeHead(found ? 200 : 404, {
      'Content-Type': TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? 'text/plain',
    });
    return createReadStream(file)
      .on('error', () => response.destroy())
      .pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://localhost:${port}${BASE}`, close };
}

/**
 * Returns what axe-core finds in a page: rule, place, and why.
 * @param {any} page
 * @param {string[]} [rules] by default all
 * @returns {Promise<string[]>}
 */
export async function audit(page, rules) {
  if (!(await page.evaluate(() => 'axe' in globalThis)))
    await page.addScriptTag({ path: path('web/node_modules/axe-core/axe.min.js') });
  return page.evaluate(async (/** @type {string[] | undefined} */ only) => {
    const { axe } = /** @type {any} */ (globalThis);
    const { violations } = await axe.run(only ? { runOnly: only } : {});
    return violations.flatMap((/** @type {any} */ { id, nodes }) =>
      nodes.map((/** @type {any} */ { target, failureSummary }) => `${id}: ${target}: ${failureSummary}`),
    );
  }, rules);
}
