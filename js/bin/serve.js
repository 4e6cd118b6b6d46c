// npx rushlight serve: serves a page that runs the model, only to this machine.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, extname } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { RushlightError, unreadableFile } from '../src/base/errors.js';
import { readHead } from '../src/engine/load-local.js';
import { readTestInputs } from './test-inputs.js';

const PACKAGE = new URL('../', import.meta.url);
const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.wasm': 'application/wasm',
});
/** The files of the package that the page may read. */
const OPEN =
  /^\/(?:src\/(?:[a-z]+\/)?[\w-]+\.js|bin\/(?:layers|image-input|random|ranges|records|units|weights)\.js|bin\/page\/(?:graph\/)?[\w-]+\.(?:html|css|js)|wasm\/[\w-]+\.wasm)$/;
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

/** The most bytes of text.json, whose labels may be many. */
const MAX_FACTS = 8 << 20;

/** @param {string} file */
const isRemote = (file) => /^https?:/.test(file);

/**
 * Serves the page on this machine's own address until the server is closed. It refuses requests for another host name.
 * Otherwise a page of another site could read the model by DNS rebinding.
 * @param {string} file a path or URL
 * @param {number} port 0: any
 * @param {string} [ops] a module whose default export computes operators in the page
 * @returns {Promise<{ url: string, server: import('node:http').Server, completions: Promise<string | undefined> }>}
 *   completions: the address of the chat completions, for a model that has them
 */
export async function serveModel(file, port, ops) {
  const remote = isRemote(file);
  for (const path of [...(remote ? [] : [file]), ...(ops === undefined ? [] : [ops])])
    await stat(path).catch((e) => {
      throw unreadableFile(path, e);
    });
  /** @type {Promise<import('./completions.js').Completions> | undefined} */ let completions;
  const name = basename(remote ? new URL(file).pathname : file),
    chat = () =>
      (completions ??= import('./completions.js').then(({ Completions }) => new Completions(file, name, HEADERS)));
  const server = createServer((request, response) => {
    answer(file, remote, ops, chat, request, response).catch((e) => {
      if (!response.headersSent) response.writeHead(500, { 'Content-Type': 'text/plain' });
      response.end(String(e.message ?? e));
    });
  });
  server.once('close', () => completions?.then((c) => c.dispose()));
  await new Promise((resolve, reject) => {
    server.once('error', (e) =>
      reject(new RushlightError('unsupported', `cannot serve on port ${port}: ${e.message}`, { cause: e })),
    );
    server.listen(port, '127.0.0.1', () => resolve(undefined));
  });
  const url = `http://localhost:${portOf(server)}/`;
  return { url, server, completions: hasChat(file).then((has) => (has ? `${url}v1/chat/completions` : undefined)) };
}

/**
 * Tests whether a file has chat completions. text.json must say that it generates, and there must be a tokenizer and a
 * template. The page shows the error of a wrong file.
 * @param {string} file a path or URL
 */
async function hasChat(file) {
  try {
    const { assets } = (await readHead(file, {}, 0)).plan,
      [facts, ...others] = ['text.json', 'tokenizer.json', 'chat_template.jinja'].map((wanted) =>
        assets.find(({ name }) => name === wanted),
      );
    if (!facts || others.includes(undefined) || facts.bytes > MAX_FACTS) return false;
    const start = facts.offset,
      end = start + facts.bytes - 1;
    if (!isRemote(file)) return JSON.parse(await text(createReadStream(file, { start, end }))).task === 'generate';
    const part = await fetch(file, { headers: { range: `bytes=${start}-${end}` } });
    if (part.status === 206) return (await part.json()).task === 'generate';
    await part.body?.cancel();
    return false;
  } catch {
    return false;
  }
}

/** @param {import('node:http').Server} server */
const portOf = (server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port;

/**
 * @param {string} file
 * @param {boolean} remote
 * @param {string | undefined} ops
 * @param {() => Promise<import('./completions.js').Completions>} chat
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function answer(file, remote, ops, chat, request, response) {
  const refuse = (/** @type {number} */ status, /** @type {string} */ text) =>
    void response.writeHead(status, { ...HEADERS, 'Content-Type': 'text/plain; charset=utf-8' }).end(text);
  const { localPort } = request.socket;
  if (![`localhost:${localPort}`, `127.0.0.1:${localPort}`].includes(request.headers.host ?? ''))
    return refuse(403, `the host must be localhost:${localPort}, got ${request.headers.host ?? 'none'}`);
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  if (path.startsWith('/v1/')) return (await chat()).answer(request, response, path);
  if (request.method !== 'GET') return refuse(405, `the method must be GET, got ${request.method}`);
  if (path === '/') return send(response, new URL('bin/page/index.html', PACKAGE), '.html');
  if (path === '/model.rush')
    return remote ? proxy(file, request, response) : send(response, file, '.rush', request.headers.range);
  if (path === '/ops.js')
    return ops
      ? send(response, ops, '.js')
      : void response.writeHead(200, { ...HEADERS, 'Content-Type': TYPES['.js'] }).end('export default {};\n');
  if (path === '/test-inputs') {
    const inputs = remote ? {} : Object.fromEntries(await readTestInputs(file));
    return void response.writeHead(200, { ...HEADERS, 'Content-Type': 'application/json' }).end(asJson(inputs));
  }
  if (path === '/name')
    return void response
      .writeHead(200, { ...HEADERS, 'Content-Type': 'text/plain; charset=utf-8' })
      .end(basename(remote ? new URL(file).pathname : file));
  if (!OPEN.test(path)) return refuse(404, 'there is no such page');
  return send(response, new URL(path.slice(1), PACKAGE), extname(path));
}

/**
 * Writes inputs as JSON. The elements of a tensor are base64. A value that JSON does not have becomes null.
 * @param {object} inputs
 */
const asJson = (inputs) =>
  JSON.stringify(inputs, (_, v) => {
    if (ArrayBuffer.isView(v)) return Buffer.from(v.buffer, v.byteOffset, v.byteLength).toString('base64');
    return typeof v === 'bigint' || v instanceof Map ? null : v;
  });

/**
 * Sends a file, or the part of it that a request asks for.
 * @param {import('node:http').ServerResponse} response
 * @param {string | URL} file
 * @param {string} ending
 * @param {string} [range] "bytes=0-63"
 */
async function send(response, file, ending, range) {
  const { size } = await stat(file);
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
  const [start, end] = first === undefined ? [0, size - 1] : [Number(first), Math.min(Number(last), size - 1)];
  response.writeHead(first === undefined ? 200 : 206, {
    ...HEADERS,
    'Content-Type': TYPES[ending] ?? 'application/octet-stream',
    'Content-Length': Math.max(0, end - start + 1),
    ...(first !== undefined && { 'Content-Range': `bytes ${start}-${end}/${size}` }),
  });
  if (end < start) return void response.end();
  await pipeline(createReadStream(file instanceof URL ? fileURLToPath(file) : file, { start, end }), response).catch(
    () => response.destroy(),
  );
}

/**
 * @param {string} url
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function proxy(url, { headers: { range } }, response) {
  const got = await fetch(url, range === undefined ? {} : { headers: { range } });
  response.writeHead(got.status, { ...HEADERS, 'Content-Type': 'application/octet-stream' });
  if (!got.body) return void response.end();
  const body = Readable.fromWeb(/** @type {import('node:stream/web').ReadableStream} */ (got.body));
  await pipeline(body, response).catch(() => response.destroy());
}
