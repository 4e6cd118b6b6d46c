// A server of models for the tests of the cache: it counts what it is asked, breaks off, and goes down.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

import { weightsFile } from '../js/build-rush.mjs';

export const bytes = Buffer.from(weightsFile(1).bytes());
export const integrity = `sha384-${createHash('sha384').update(bytes).digest('base64')}`;

/**
 * Gives the model at /*.rush, a page without a policy at /, and all else as the demo's server does.
 * @param {string} behind
 */
export async function startModels(behind) {
  /**
   * @type {{ up: boolean, cuts: number[], asked: { method: string, range: string | undefined, etag: string | undefined
   *    }[] }}
   */
  const state = { up: true, cuts: [], asked: [] };
  /** @type {import('node:http').ServerResponse | undefined} that is to break off when the page says so */ let open;
  const server = createServer(async (req, res) => {
    if (!state.up) return res.destroy();
    const path = req.url ?? '';
    if (path === '/cut') {
      open?.destroy();
      return res.setHeader('access-control-allow-origin', '*').end();
    }
    if (path === '/') return res.setHeader('content-type', 'text/html').end('<!doctype html>');
    if (!path.includes('.rush')) {
      const response = await fetch(behind + path);
      for (const name of ['content-type', 'cross-origin-embedder-policy', 'cross-origin-opener-policy'])
        if (response.headers.has(name)) res.setHeader(name, /** @type {string} */ (response.headers.get(name)));
      return res.writeHead(response.status).end(Buffer.from(await response.arrayBuffer()));
    }
    const { range, 'if-none-match': etag } = req.headers;
    state.asked.push({ method: req.method ?? '', range, etag });
    res
      .setHeader('etag', '"1"')
      .setHeader('access-control-allow-origin', '*')
      .setHeader('access-control-expose-headers', 'etag');
    if (etag === '"1"') return res.writeHead(304).end();
    const from = Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0),
      cut = state.cuts.shift();
    res.setHeader('content-length', bytes.length - from);
    if (from) res.writeHead(206, { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
    if (cut === undefined) res.end(bytes.subarray(from));
    else {
      res.write(bytes.subarray(from, cut));
      open = res;
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    state,
    url: `http://localhost:${port}`,
    close: () =>
      new Promise((done) => {
        server.close(done);
        server.closeAllConnections();
      }),
  };
}
