#!/usr/bin/env node
// A small static server for the demo pages and the tests: node demo/serve.mjs [PORT]
//
// It serves js/, demo/, build/ and tests/ of this checkout, to this machine only. The headers make a
// page cross-origin isolated. Code that works there works in any page, and clocks are finer.

import { createReadStream, existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = await realpath(fileURLToPath(new URL('..', import.meta.url)));
const FOLDERS = ['js', 'demo', 'build', 'tests'];
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.rush': 'application/octet-stream',
  '.npy': 'application/octet-stream',
  '.wav': 'audio/wav',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.svg': 'image/svg+xml',
};

/** Returns the file for a URL's path, or null if it is outside, hidden or missing. @param {string} path */
async function find(path) {
  const parts = decodeURIComponent(path).split('/').filter(Boolean);
  if (!FOLDERS.includes(parts[0]) || parts.some((p) => p.startsWith('.') || /[\\\0]/.test(p))) return null;
  // A link may lead out of the checkout only into the cache, as tests/node_modules does.
  const file = await realpath(join(ROOT, ...parts));
  if (!file.startsWith(ROOT + sep) && !file.includes(`${sep}node_modules${sep}`)) return null;
  return { file, info: await stat(file) };
}

/** @type {import('node:http').RequestListener} */
async function answer(request, response) {
  const headers = {
    'Cache-Control': 'no-cache',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  };
  const refuse = (/** @type {number} */ code, /** @type {string} */ text, more = {}) =>
    response.writeHead(code, { ...headers, 'Content-Type': 'text/plain; charset=utf-8', ...more }).end(`${text}\n`);
  // Otherwise a page of another site whose name resolves to this machine could read the files.
  if (!/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(request.headers.host ?? ''))
    return refuse(403, 'this server answers to localhost');
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(405, 'only GET and HEAD');
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/') return refuse(302, 'see /demo/', { Location: '/demo/' });
  if (pathname === '/favicon.ico') return response.writeHead(204, headers).end();

  let found = await find(pathname).catch(() => null);
  if (found?.info.isDirectory()) {
    if (!pathname.endsWith('/')) return refuse(301, 'a folder', { Location: `${pathname}/${search}` });
    found = await find(`${pathname}index.html`).catch(() => null);
  }
  if (!found?.info.isFile()) return refuse(404, `${pathname}: not found`);

  const { size, mtimeMs } = found.info;
  const tag = `"${size.toString(36)}-${Math.round(mtimeMs).toString(36)}"`;
  const type = TYPES[/** @type {keyof typeof TYPES} */ (extname(found.file))] ?? 'application/octet-stream';
  Object.assign(headers, { 'Content-Type': type, ETag: tag, 'Accept-Ranges': 'bytes' });
  if (request.headers['if-none-match'] === tag) return response.writeHead(304, headers).end();

  let begin = 0,
    end = size - 1,
    code = 200;
  const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
  if (range && (range[1] || range[2])) {
    if (range[1]) {
      begin = Number(range[1]);
      if (range[2]) end = Math.min(end, Number(range[2]));
    } else {
      begin = Math.max(0, size - Number(range[2]));
    }
    if (begin > end) return refuse(416, 'no such range', { 'Content-Range': `bytes */${size}` });
    code = 206;
    Object.assign(headers, { 'Content-Range': `bytes ${begin}-${end}/${size}` });
  }
  response.writeHead(code, { ...headers, 'Content-Length': end - begin + 1 });
  if (request.method === 'HEAD' || end < begin) return response.end();
  createReadStream(found.file, { start: begin, end })
    .on('error', () => response.destroy())
    .pipe(response);
}

/**
 * Starts the server. Port 0 selects a free one.
 * @param {number} port
 * @returns {Promise<{url: string, close: () => Promise<void>}>}
 */
export function serve(port) {
  const server = createServer((request, response) => {
    Promise.resolve(answer(request, response)).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(`${error.message}\n`);
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const at = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({
        url: `http://localhost:${at.port}`,
        close: () =>
          new Promise((done) => {
            server.close(() => done());
            server.closeAllConnections();
          }),
      });
    });
  });
}

if (process.argv[1] && (await realpath(process.argv[1])) === fileURLToPath(import.meta.url)) {
  const port = Number(process.argv[2] ?? 8080);
  if (!(Number.isInteger(port) && port >= 0 && port < 65536)) {
    console.error(`a port is a number from 0 to 65535, not "${process.argv[2]}": ./dev serve 8080`);
    process.exit(2);
  }
  try {
    const { url } = await serve(port);
    const site = existsSync(join(ROOT, 'build/docs/index.html'))
      ? `the site is ${url}/build/docs/`
      : './dev docs makes the site';
    console.log(`serving ${url}/demo/; ${site} (Ctrl-C stops)`);
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    console.error(code === 'EADDRINUSE' ? `port ${port} is taken: ./dev serve ANOTHER_PORT` : String(error));
    process.exit(1);
  }
}
