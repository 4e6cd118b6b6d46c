// Cached models, broken downloads and digests, tested against a server that makes the errors of real servers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, promises, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, beforeEach } from 'node:test';

import { cached, clear, list, remove, size } from '../../js/src/api/cache.js';
import { load, plan } from '../../js/src/index.js';
import { PIECE } from '../../js/src/source/cached-source.js';
import { Sha2 } from '../../js/src/source/sha2.js';
import { weightsFile } from './build-rush.mjs';

const bigFile = (/** @type {number} */ first, step = 1) => Buffer.from(weightsFile(first, step).bytes());
const one = bigFile(1),
  two = bigFile(2),
  other = bigFile(3, 2);
assert.equal(Math.ceil(one.length / PIECE), 3);

/** @param {Uint8Array} bytes */
const sri = (bytes, kind = 'sha256') => `${kind}-${createHash(kind).update(bytes).digest('base64')}`;

/**
 * How the server behaves, and what it was asked.
 * @type {{ bytes: Buffer, etag?: string | undefined, modified?: string | undefined, cuts: number[], ranges: boolean,
 *   headers: Record<string, string>, answer?: ((req: any, res: any) => boolean | void) | undefined, asked:
 *   import('node:http').IncomingHttpHeaders[] }}
 */
let server;
const web = createServer((req, res) => {
  server.asked.push(req.headers);
  if (server.answer?.(req, res)) return;
  const { bytes, etag, modified, headers } = server,
    conditions = req.headers;
  if (etag) res.setHeader('etag', etag);
  if (modified) res.setHeader('last-modified', modified);
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (etag ? conditions['if-none-match'] === etag : modified && conditions['if-modified-since'] === modified)
    return res.writeHead(304).end();
  const condition = conditions['if-range'];
  const from = Number(
    /^bytes=(\d+)-$/.exec(
      server.ranges && (!condition || condition === etag || condition === modified) ? (conditions.range ?? '') : '',
    )?.[1] ?? 0,
  );
  if (from >= bytes.length) return res.writeHead(416).end();
  res.setHeader('content-length', bytes.length - from);
  if (from > 0) res.writeHead(206, { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
  const cut = server.cuts.shift();
  if (cut === undefined) res.end(bytes.subarray(from));
  else {
    res.write(bytes.subarray(from, cut));
    open = { res, cut };
  }
});
/**
 * An answer that breaks off when the model has received all bytes. If it broke off earlier, some could be lost.
 * @type {{ res: any, cut: number } | undefined}
 */
let open;
const arrived = (/** @type {number} */ loaded) => {
  if (!open || loaded < open.cut) return;
  open.res.destroy();
  open = undefined;
};
const dir = mkdtempSync(join(tmpdir(), 'rush-cache-')),
  cache = `${dir}/models`;
/** @type {string} */ let url;
/** @type {number[]} */ let waits;
const wait = async (/** @type {number} */ ms) => void waits.push(ms);

const listen = () =>
  new Promise((done) => web.listen(url ? Number(new URL(url).port) : 0, '127.0.0.1', () => done(undefined)));
const close = () =>
  new Promise((done) => {
    web.closeAllConnections();
    web.close(done);
  });
before(async () => {
  await listen();
  url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (web.address()).port}/m.rush`;
});
beforeEach(() => {
  rmSync(cache, { recursive: true, force: true });
  server = { bytes: one, etag: '"1"', cuts: [], ranges: true, headers: {}, asked: [] };
  waits = [];
});
after(async () => {
  await close();
  rmSync(dir, { recursive: true });
});

/** What the model gives first. @param {any} source @param {import('../../js/src/index.js').LoadOptions} [options] */
async function first(source, options) {
  const onProgress = (/** @type {any} */ p) => {
    arrived(p.loaded);
    options?.onProgress?.(p);
  };
  const model = await load(source, { ...options, onProgress });
  const { y } = await model.run({});
  model.dispose();
  return y.data[0];
}
/** @param {import('../../js/src/api/cache.js').CachedOptions} [options] */
const kept = async (options) => first(await cached(url, { cache, wait, ...options }));
/** The same in its own process: gives its exit code. @param {string} name @param {NodeJS.ProcessEnv} [env] */
const inProcess = (name, env) =>
  new Promise((done) => {
    const src = new URL('../../js/src/', import.meta.url),
      program = `
    import { cached } from '${src}api/cache.js';
    import { load } from '${src}index.js';
    const [url, cache] = process.argv.slice(1), model = await load(await cached(url, { cache }));
    if ((await model.run({})).y.data[0] !== 1) process.exitCode = 5;`;
    spawn(process.execPath, ['--input-type=module', '-e', program, url, name], { env, stdio: 'inherit' }).on(
      'exit',
      done,
    );
  });
const ranges = () => server.asked.map((h) => h.range);

// ---- Kept

test('what was loaded once is asked for by its ETag, and comes from the folder', async () => {
  assert.equal(await kept(), 1);
  assert.equal(await kept(), 1);
  assert.deepEqual(
    server.asked.map((h) => h['if-none-match']),
    [undefined, '"1"'],
  );
  assert.deepEqual(await list({ cache }), [{ url, bytes: one.length, kept: one.length, etag: '"1"', integrity: [] }]);
  assert.equal(await size({ cache }), one.length);
});

test('by Last-Modified where there is no ETag, and by comparing where the server knows no conditions', async () => {
  server = { ...server, etag: undefined, modified: 'Sat, 21 Nov 2026 10:00:00 GMT' };
  await kept();
  assert.equal(await kept(), 1);
  assert.equal(server.asked[1]?.['if-modified-since'], server.modified);
  server.answer = (req) => {
    delete req.headers['if-modified-since'];
    return false;
  };
  server.cuts = [100]; // of the answer nothing but its head is read
  assert.equal(await kept(), 1);
  assert.deepEqual(waits, []);
});

test('without validators each load is a download', async () => {
  server.etag = undefined;
  await kept();
  server.bytes = two;
  assert.equal(await kept(), 2);
});

test('it works offline, and while the server is down', async () => {
  await kept();
  for (const status of [500, 503, 429]) {
    server.answer = (_, res) => res.writeHead(status).end('busy');
    assert.equal(await kept(), 1);
  }
  await close();
  assert.equal(await kept(), 1);
  await assert.rejects(cached(`${url}?other`, { cache }), { code: 'network' });
  await listen();
});

test('what the server no longer gives is an error', async () => {
  await kept();
  server.answer = (_, res) => res.writeHead(404).end('gone');
  await assert.rejects(kept(), { code: 'network', actual: 404 });
});

test('a new version takes the place of the old one, piece by piece', async () => {
  await kept();
  const before = readdirSync(cache);
  server = { ...server, bytes: two, etag: '"2"' };
  assert.equal(await kept(), 2);
  assert.equal(await size({ cache }), two.length);
  const now = readdirSync(cache);
  assert.equal(now.length, before.length);
  assert.equal(now.filter((name) => !before.includes(name)).length, 1, 'two pieces of three are the same');
});

test('while a new version has not come whole, the old one is kept', async () => {
  await kept();
  server = { ...server, bytes: two, etag: '"2"', cuts: [PIECE + 5] };
  await assert.rejects(kept({ retries: 0 }), { code: 'network' });
  assert.deepEqual(
    (await list({ cache })).map((m) => [m.etag, m.kept]),
    [
      ['"1"', one.length],
      ['"2"', PIECE],
    ],
  );
  await close();
  assert.equal(await kept(), 1);
  await listen();
  server.asked = [];
  assert.equal(await kept(), 2);
  assert.deepEqual(ranges(), [undefined, `bytes=${PIECE}-`]);
  assert.deepEqual(
    (await list({ cache })).map((m) => m.etag),
    ['"2"'],
  );
});

test('load() keeps and checks what its options say, here and in a worker', async () => {
  for (const worker of [false, true]) {
    server.asked = [];
    server.cuts = [PIECE + 1];
    /** @type {any[]} */ const seen = [];
    const options = { cache, worker, integrity: sri(one) };
    assert.equal(await first(url, { ...options, onProgress: (p) => seen.push(p) }), 1);
    assert.deepEqual(seen.at(-1), { loaded: one.length, total: one.length });
    assert.deepEqual(ranges(), [undefined, `bytes=${PIECE + 1}-`]);
    assert.equal(await first(url, options), 1);
    assert.equal(server.asked.length, 2);
    assert.equal(await first(url, { worker }), 1);
    assert.equal(server.asked.length, 3);
    for (const given of [url, one, new Blob([one]), new Response(one)]) {
      await assert.rejects(load(given, { worker, integrity: sri(two) }), {
        code: 'bad-file',
        message: /must have the digest .* as integrity says, got/,
      });
    }
    await assert.rejects(load(url, { worker, integrity: '' }), { code: 'bad-argument', message: /^integrity/ });
    await assert.rejects(load(url, /** @type {any} */ ({ worker, cache: true })), {
      code: 'bad-argument',
      message: /^cache/,
    });
    const control = new AbortController(),
      reason = new Error('enough');
    server.answer = (_, res) => {
      res.write(one.subarray(0, 1000));
      setImmediate(() => control.abort(reason));
      return true;
    };
    await assert.rejects(
      load(`${url}?slow`, { worker, cache, signal: control.signal }),
      (/** @type {any} */ e) => e.code === 'aborted' && e.cause === reason,
    );
    server.answer = undefined;
    await clear({ cache });
  }
  await assert.rejects(load(one, /** @type {any} */ ({ worker: 5 })), {
    code: 'bad-argument',
    message: /worker must be a boolean/,
  });
});

test('a damaged piece, and one that is missing, come from the server again', async () => {
  for (const harm of [
    (/** @type {string} */ path) => writeFileSync(path, 'x'),
    (/** @type {string} */ path) => rmSync(path),
  ]) {
    await kept();
    for (const name of readdirSync(cache).filter((n) => n.startsWith('piece')))
      if (readFileSync(join(cache, name)).equals(one.subarray(PIECE, 2 * PIECE))) harm(join(cache, name));
    server.asked = [];
    assert.equal(await kept(), 1);
    assert.deepEqual(ranges(), [undefined, `bytes=${PIECE}-`]);
    server.asked = [];
    assert.equal(await kept(), 1);
    assert.deepEqual(ranges(), [undefined]);
  }
});

test('damaged notes are none', async () => {
  const fields = { url, etag: '', modified: '', bytes: one.length, pieces: [], integrity: [] };
  const damaged = Object.keys(fields).flatMap((key) =>
    [undefined, null, {}, [5], true].map((value) => JSON.stringify({ ...fields, [key]: value })),
  );
  for (const text of ['{"url', '', 'null', '5', '"x"', '[]', '{}', ...damaged]) {
    await kept();
    for (const name of readdirSync(cache).filter((n) => n.startsWith('url'))) writeFileSync(join(cache, name), text);
    assert.deepEqual([await list({ cache }), await size({ cache })], [[], 0], text);
    assert.equal(await kept(), 1, text);
    assert.equal((await list({ cache })).length, 1, text);
  }
});

test('remove() and clear() leave other models, caches and files', async () => {
  const other = `${url}?2`,
    file = join(cache, 'mine.txt');
  await kept();
  writeFileSync(file, 'mine');
  await first(await cached(other, { cache }));
  assert.equal((await list({ cache })).length, 2);
  assert.equal(await size({ cache }), one.length, 'the same bytes are there once');
  await remove(url, { cache });
  assert.deepEqual(
    (await list({ cache })).map((m) => m.url),
    [other],
  );
  await close();
  assert.equal(await first(await cached(other, { cache })), 1);
  await listen();
  await clear({ cache });
  assert.deepEqual(readdirSync(cache), ['mine.txt']);
  assert.deepEqual([await list({ cache }), await size({ cache })], [[], 0]);
  await remove(url, { cache });
});

test('an answer with no-store is not kept, nor what is no whole .rush file', async () => {
  server.headers = { 'cache-control': 'private, no-store' };
  assert.equal(await kept(), 1);
  server = { ...server, headers: {}, bytes: one.subarray(0, 5 << 20) };
  await assert.rejects(kept(), { code: 'truncated' });
  server.bytes = Buffer.alloc(5 << 20);
  await assert.rejects(kept(), { code: 'bad-file' });
  assert.equal(
    (await new Response(/** @type {any} */ (await cached(url, { cache })).body).arrayBuffer()).byteLength,
    5 << 20,
  );
  assert.deepEqual(await list({ cache }), []);
});

test('what cannot be written is not kept, and the model runs', async () => {
  writeFileSync(join(dir, 'file'), '');
  const folder = `${dir}/file/below`;
  assert.equal(await kept({ cache: folder }), 1);
  assert.equal(await kept({ cache: folder }), 1);
  assert.deepEqual(await list({ cache: folder }), []);
});

test(
  'on a full disk the old version makes room; where that is too ' + 'little, nothing is kept and the model runs',
  async (t) => {
    const { writeFile } = promises;
    let room = 10 << 20;
    t.mock.method(promises, 'writeFile', async (/** @type {string} */ path, /** @type {Uint8Array} */ bytes) => {
      if (bytes.length > room - readdirSync(cache).reduce((sum, name) => sum + statSync(join(cache, name)).size, 0))
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      return writeFile(path, bytes);
    });
    await kept();
    server = { ...server, bytes: other, etag: '"2"' };
    assert.equal(await kept(), 3);
    assert.deepEqual(
      (await list({ cache })).map((m) => [m.etag, m.kept]),
      [['"2"', other.length]],
    );
    room = 5 << 20;
    server = { ...server, bytes: one, etag: '"1"' };
    assert.equal(await kept(), 1);
    assert.deepEqual([await list({ cache }), readdirSync(cache)], [[], []]);
  },
);

test('the default folder is that of RUSHLIGHT_CACHE, else of the system', async () => {
  const run = async (/** @type {string} */ name, /** @type {Record<string, string>} */ env) =>
    assert.equal(await inProcess(name, { PATH: process.env.PATH, ...env }), 0);
  await run('auto', { RUSHLIGHT_CACHE: `${dir}/own`, XDG_CACHE_HOME: `${dir}/xdg` });
  await run('mine', { XDG_CACHE_HOME: `${dir}/xdg`, HOME: `${dir}/home` });
  if (process.platform === 'linux') await run('auto', { HOME: `${dir}/home` });
  assert.equal(readdirSync(`${dir}/own/models`).length, 4);
  assert.equal(readdirSync(`${dir}/xdg/rushlight/mine`).length, 4);
  if (process.platform === 'linux') assert.equal(readdirSync(`${dir}/home/.cache/rushlight/models`).length, 4);
});

test('several processes at once leave one whole model', async () => {
  server.answer = (_, res) => {
    const cut = [PIECE * 2 + 5, PIECE + 5, 5][server.asked.length - 1];
    if (cut)
      res
        .writeHead(200, { etag: '"1"', 'content-length': one.length })
        .write(one.subarray(0, cut), () => res.destroy());
    return cut !== undefined;
  };
  assert.deepEqual(await Promise.all([1, 2, 3, 4].map(() => inProcess(cache))), [0, 0, 0, 0]);
  assert.deepEqual(
    (await list({ cache })).map((m) => m.kept),
    [one.length],
  );
  assert.equal(readdirSync(cache).length, 4);
  server.answer = undefined;
  await close();
  assert.equal(await kept(), 1);
  await listen();
});

test('several loads at once, of several files, keep all of them', async () => {
  const urls = [0, 1, 2, 3, 0, 1].map((n) => `${url}?${n}`);
  assert.deepEqual(await Promise.all(urls.map(async (u) => first(await cached(u, { cache })))), [1, 1, 1, 1, 1, 1]);
  await close();
  for (const u of urls) assert.equal(await first(await cached(u, { cache })), 1);
  await listen();
});

// ---- Several loads at once

/** The requests that may have had a whole file as their answer. */
const downloads = () => server.asked.filter((h) => !h['if-none-match'] && !h['if-modified-since']);
/** @param {number} n @param {import('../../js/src/index.js').LoadOptions} [options] */
const together = (n, options) => Promise.allSettled(Array.from({ length: n }, () => load(url, { cache, ...options })));
/** @param {PromiseSettledResult<import('../../js/src/index.js').Model>[]} results */
const outcomes = (results) =>
  Promise.all(
    results.map(async (r) => {
      if (r.status === 'rejected') return r.reason.code;
      const { y } = await r.value.run({});
      r.value.dispose();
      return y?.data[0];
    }),
  );

test('five loads of one URL download it once', async () => {
  assert.deepEqual(await outcomes(await together(5)), [1, 1, 1, 1, 1]);
  assert.equal(downloads().length, 1);
  assert.equal(server.asked.length, 5); // the others ask whether it is the newest
  server.bytes = two;
  server.etag = '"2"';
  assert.deepEqual(await outcomes(await together(5)), [2, 2, 2, 2, 2]);
  const bodies = server.asked.slice(5).filter((h) => h['if-none-match'] !== '"2"');
  assert(bodies.length <= 6, `${bodies.length} requests for the new version`);
});

test('with a digest, five loads ask once', async () => {
  assert.deepEqual(await outcomes(await together(5, { integrity: sri(one) })), [1, 1, 1, 1, 1]);
  assert.equal(server.asked.length, 1);
});

test('a load that waits can be aborted, and the others go on', async () => {
  const stop = new AbortController();
  server.answer = (_, res) => {
    stop.abort('mine'); // the first load has begun
    res.writeHead(200, { etag: '"1"', 'content-length': one.length }).end(one);
    return true;
  };
  const [leader, waiting, other] = await Promise.allSettled([
    load(url, { cache }),
    load(url, { cache, signal: stop.signal }),
    load(url, { cache }),
  ]);
  assert.deepEqual(await outcomes([leader, waiting, other]), [1, 'aborted', 1]);
  assert.equal(/** @type {any} */ (waiting).reason.cause, 'mine');
});

test('if the load that downloads is aborted, the next one goes on', async () => {
  const stop = new AbortController();
  server.cuts = [PIECE + 5]; // the rest cannot arrive before the abort
  const begun = new Promise((resolve) => (server.answer = () => void resolve(undefined)));
  const leader = load(url, {
    cache,
    signal: stop.signal,
    onProgress: ({ loaded }) => loaded > PIECE && stop.abort('mine'),
  });
  await begun; // the other loads may not take the lock before it
  const results = await Promise.allSettled([leader, load(url, { cache }), load(url, { cache })]);
  open = undefined;
  assert.deepEqual(await outcomes(results), ['aborted', 1, 1]);
  assert.deepEqual(
    server.asked.map((h) => h.range ?? h['if-none-match'] ?? 'all'),
    ['all', `bytes=${PIECE}-`, '"1"'],
  );
});

test('each load fails by itself, and none waits for one that has failed', async () => {
  server.answer = (_, res) => Boolean(res.writeHead(404).end());
  assert.deepEqual(await outcomes(await together(3)), ['network', 'network', 'network']);
  server.answer = undefined;
  assert.deepEqual(
    await outcomes([
      ...(await together(1, { limits: /** @type {any} */ ({ bytes: -1 }) })),
      ...(await together(1, { wasm: new Uint8Array(8) })),
      ...(await together(1)),
    ]),
    ['bad-argument', 'unsupported', 1],
  );
});

test('loads whose download is of no use to others do not wait for it', async () => {
  for (const headers of [{ 'cache-control': 'no-store' }, {}]) {
    Object.assign(server, { headers, etag: undefined });
    /** @type {(() => void)[]} */ const answers = [];
    server.asked = [];
    // The server answers only when all have asked.
    server.answer = (_, res) => {
      res.writeHead(200, { ...headers, 'content-length': one.length }).write(one.subarray(0, 5));
      answers.push(() => res.end(one.subarray(5)));
      if (answers.length === 3) for (const go of answers) go();
      return true;
    };
    assert.deepEqual(await outcomes(await together(3)), [1, 1, 1]);
  }
});

test('a callback may wait for another load of the file, and a source that nobody reads stops no load', async () => {
  /** @type {Promise<any> | undefined} */ let inner;
  const model = await load(url, {
    cache,
    onProgress: async () => (inner ??= load(url, { cache })).then((m) => m.dispose()),
  });
  model.dispose();
  rmSync(cache, { recursive: true });
  const unread = /** @type {Response} */ (await cached(url, { cache }));
  assert.deepEqual(await outcomes(await together(2)), [1, 1]);
  await unread.body?.cancel();
});

test('other sources pass through', async () => {
  const path = join(dir, 'm.rush');
  writeFileSync(path, one);
  for (const source of [path, one, new Blob([one]), new Response(one)]) {
    assert.equal(await first(await cached(source, { cache })), 1);
  }
  assert(!existsSync(cache));
});

// ---- Broken downloads

test('a download that breaks goes on by Range, of the same version', async () => {
  server.cuts = [1000, PIECE, PIECE * 2 + 7];
  assert.equal(await kept({ cache: false }), 1);
  assert.deepEqual(ranges(), [undefined, 'bytes=1000-', `bytes=${PIECE}-`, `bytes=${PIECE * 2 + 7}-`]);
  assert.deepEqual(
    server.asked.map((h) => h['if-range']),
    [undefined, '"1"', '"1"', '"1"'],
  );
  assert.deepEqual(waits, [500, 500, 500], 'what goes on has not failed');
});

test('one that does not go on is tried again, later each time, and then says why', async () => {
  let times = 0;
  server.cuts = [1000];
  server.answer = (_, res) => (times++ ? (times % 2 ? res.destroy() : res.writeHead(503).end(), true) : false);
  await assert.rejects(kept(), { code: 'network', message: /m\.rush/ });
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000]);
  waits = [];
  times = 0;
  server.cuts = [1000];
  server.answer = (_, res) => (times++ > 0 && times < 5 ? (res.destroy(), true) : false);
  assert.equal(await kept(), 1);
  assert.deepEqual(waits, [500, 1000, 2000, 4000]);
});

test('one that breaks off goes on when the program is started again', async () => {
  server.cuts = [PIECE * 2 + 7];
  await assert.rejects(kept({ retries: 0 }), { code: 'network' });
  assert.deepEqual(
    (await list({ cache })).map((m) => [m.bytes, m.kept]),
    [[one.length, 2 * PIECE]],
  );
  assert.equal(await size({ cache }), 2 * PIECE);
  server.asked = [];
  assert.equal(await kept(), 1);
  assert.deepEqual(ranges(), [`bytes=${2 * PIECE}-`]);
  assert.equal((await list({ cache }))[0]?.kept, one.length);
});

test('then a new version starts again', async () => {
  server.cuts = [PIECE * 2 + 7];
  await assert.rejects(kept({ retries: 0 }), { code: 'network' });
  server = { ...server, bytes: two, etag: '"2"' };
  assert.equal(await kept(), 2);
  assert.deepEqual(
    (await list({ cache })).map((m) => [m.etag, m.kept]),
    [['"2"', two.length]],
  );
});

test('a server without Range starts again, and what has come is left out', async () => {
  server = { ...server, ranges: false, cuts: [PIECE + 1, PIECE + 2] };
  assert.equal(await kept(), 1);
  assert.deepEqual(await first(await cached(url, { cache, integrity: sri(one) })), 1);
});

const wrong = /** @type {[string, (req: any, res: any) => void][]} */ ([
  ['416', (_, res) => res.writeHead(416).end()],
  ['304', (_, res) => res.writeHead(304).end()],
  [
    '206 from another place',
    (_, res) =>
      res
        .writeHead(206, { etag: '"1"', 'content-range': `bytes 5-${one.length - 1}/${one.length}` })
        .end(one.subarray(5)),
  ],
  [
    '206 of another size',
    (req, res) =>
      res
        .writeHead(206, {
          etag: '"1"',
          'content-range': `${req.headers.range.replace('=', ' ')}${one.length}/${one.length + 1}`,
        })
        .end(one),
  ],
  ['206 without a place', (_, res) => res.writeHead(206, { etag: '"1"' }).end(one)],
  [
    '206 of another version',
    (req, res) =>
      res
        .writeHead(206, {
          etag: '"2"',
          'content-range': `${req.headers.range.replace('=', ' ')}${one.length - 1}/${one.length}`,
        })
        .end(two.subarray(1000)),
  ],
  [
    '206 that is compressed',
    (req, res) =>
      res
        .writeHead(206, {
          etag: '"1"',
          'content-encoding': 'gzip',
          'content-range': `${req.headers.range.replace('=', ' ')}${one.length - 1}/${one.length}`,
        })
        .end('x'),
  ],
]);
for (const [name, answer] of wrong) {
  test(`where a Range is answered with ${name}, the download starts again`, async () => {
    server.cuts = [1000];
    server.answer = (req, res) => req.headers.range && (answer(req, res), true);
    assert.equal(await kept(), 1);
    assert.deepEqual(ranges(), [undefined, 'bytes=1000-', undefined]);
    assert.deepEqual(
      (await list({ cache })).map((m) => m.kept),
      [one.length],
    );
  });
}

test('a file that changes while it comes is not put together of two', async () => {
  for (const ranges of [true, false]) {
    server = { ...server, bytes: one, etag: '"1"', ranges, cuts: [PIECE + 5] };
    server.answer = () => {
      if (server.asked.length > 1) Object.assign(server, { bytes: two, etag: '"2"' });
      return false;
    };
    server.asked = [];
    await assert.rejects(kept(), {
      code: 'network',
      message: /do not show that the server still has the same file.*load it again/,
    });
    server.answer = undefined;
    assert.equal(await kept(), 2);
    await clear({ cache });
  }
});

test('without validators nothing goes on, but with a digest it does', async () => {
  server = { ...server, etag: undefined, cuts: [1000] };
  await assert.rejects(kept(), { code: 'network', message: /do not show that the server still has the same file/ });
  server.cuts = [1000];
  assert.equal(await kept({ integrity: sri(one) }), 1);
  server = { ...server, etag: 'W/"1"', cuts: [1000] };
  await clear({ cache });
  await assert.rejects(
    kept(),
    { code: 'network', message: /do not show that the server still has the same file/ },
    'a weak ETag promises too little',
  );
});

test('a whole file that is answered with a part, or with 304, is refused', async () => {
  server.answer = (_, res) =>
    res.writeHead(206, { 'content-range': `bytes 0-9/${one.length}` }).end(one.subarray(0, 10));
  await assert.rejects(kept(), { code: 'network', actual: 206 });
  server.answer = (_, res) => res.writeHead(304).end();
  await assert.rejects(kept(), { code: 'network', actual: 304 });
  server.answer = (_, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
  await assert.rejects(kept(), { code: 'bad-file', message: /got HTML/ });
});

test('an abort ends waiting, asking and reading', async () => {
  for (const when of ['waiting', 'asking', 'reading']) {
    await clear({ cache });
    const control = new AbortController(),
      reason = new Error('enough');
    server.cuts = [1000];
    server.asked = [];
    server.answer =
      when === 'waiting'
        ? undefined
        : (_, res) => {
            if (when === 'asking' || server.asked.length > 1) setImmediate(() => control.abort(reason));
            if (when === 'asking') return true;
            return server.asked.length > 1 && (res.write(one.subarray(0, 10)), true);
          };
    const waiting = () =>
      new Promise((done) => {
        if (when !== 'waiting') return done(undefined);
        control.abort(reason);
        done(undefined);
      });
    await assert.rejects(
      async () => first(await cached(url, { cache, signal: control.signal, wait: waiting })),
      (/** @type {any} */ e) => e.code === 'aborted' && e.cause === reason,
      when,
    );
  }
  server.answer = (_, res) => {
    res.writeHead(200).write(one.subarray(0, 1000));
    return true;
  };
  const control = new AbortController();
  await assert.rejects(
    load(await cached(url, { cache }), { signal: control.signal, onProgress: () => control.abort() }),
    { code: 'aborted' },
  );
});

test('plan() takes the head and ends the download', async () => {
  let ended = new Promise(() => {});
  server.answer = (_, res) => {
    ended = new Promise((done) => res.on('close', done));
    res.writeHead(200, { etag: '"1"' }).write(one.subarray(0, 1 << 20));
    return true;
  };
  assert.equal((await plan(await cached(url, { cache }))).bytes, one.length);
  await ended;
});

// ---- Digests

test('SHA-2 of bytes in any pieces is that of Node', () => {
  for (const bits of /** @type {const} */ ([256, 384, 512])) {
    for (let n = 0; n < 260; n++) {
      const bytes = one.subarray(n, 2 * n),
        hash = new Sha2(bits);
      for (let at = 0; at < n; at += 37) hash.update(bytes.subarray(at, at + 37));
      assert.deepEqual(
        Buffer.from(hash.digest()),
        createHash(`sha${bits}`).update(bytes).digest(),
        `SHA-${bits} of ${n} bytes`,
      );
    }
    assert.deepEqual(Buffer.from(new Sha2(bits).update(one).digest()), createHash(`sha${bits}`).update(one).digest());
  }
});

test('bytes with a digest that is not accepted are no model, whatever they come from', async () => {
  const wanted = sri(two, 'sha384'),
    error = {
      code: 'bad-file',
      expected: wanted.replace(/=*$/, ''),
      actual: sri(one, 'sha384').replace(/=*$/, ''),
      message: /must have the digest .* as integrity says, got/,
    };
  for (const source of [url, one, new Blob([one]), new Response(one)]) {
    await assert.rejects(async () => load(await cached(source, { cache, integrity: wanted })), error);
  }
  assert.deepEqual(await list({ cache }), [], 'and they are not kept');
  assert.equal(await size({ cache }), 0);
});

test('of several digests one of the strongest kind is to fit', async () => {
  for (const kind of ['sha256', 'sha384', 'sha512']) {
    assert.equal(await kept({ cache: false, integrity: sri(one, kind) }), 1);
    assert.equal(await kept({ cache: false, integrity: ` ${sri(two, kind)}  ${sri(one, kind)}?x ` }), 1);
  }
  assert.equal(await kept({ cache: false, integrity: `${sri(two)} ${sri(one, 'sha512')}` }), 1);
  await assert.rejects(kept({ cache: false, integrity: `${sri(one)} ${sri(two, 'sha512')}` }), { code: 'bad-file' });
});

test('an integrity that says nothing is refused', async () => {
  for (const integrity of ['', ' ', 'md5-abc', 'sha256-abc', `${sri(one)}, ${sri(two)}`, sri(one).slice(3), null, 5]) {
    await assert.rejects(cached(one, /** @type {any} */ ({ integrity })), { code: 'bad-argument' }, String(integrity));
  }
});

test('bytes whose digest is known are not asked for, under any address', async () => {
  await kept({ integrity: sri(one) });
  server.asked = [];
  assert.equal(await kept({ integrity: sri(one) }), 1);
  assert.equal(await first(await cached(`${url}?copy`, { cache, integrity: `${sri(one)} ${sri(two)}` })), 1);
  assert.equal(server.asked.length, 0);
  assert.deepEqual(
    (await list({ cache })).map((m) => m.integrity),
    [[sri(one).replace(/=*$/, '')]],
  );
});

test('a kept model without a known digest is checked, and remembered', async () => {
  await kept();
  await kept({ integrity: sri(one) });
  server.asked = [];
  await kept({ integrity: sri(one) });
  assert.equal(server.asked.length, 0);
  await clear({ cache });
  await kept();
  await assert.rejects(kept({ integrity: sri(two) }), { code: 'bad-file' });
  server = { ...server, bytes: two, etag: '"2"' };
  assert.equal(await kept({ integrity: sri(two) }), 2);
});

test('a page that wants another digest gets the new version, and the old one stays until it has come', async () => {
  await kept({ integrity: sri(one) });
  await assert.rejects(kept({ integrity: sri(two) }), { code: 'bad-file' }, 'the server has the old one');
  assert.equal((await list({ cache }))[0]?.etag, '"1"');
  server = { ...server, bytes: two, etag: '"2"' };
  assert.equal(await kept({ integrity: sri(two) }), 2);
});

test('options that are none are refused', async () => {
  for (const name of ['', '-x', true, 5, null, 'a b']) {
    const refused = { code: 'bad-argument', message: /^cache must be 'auto', false or a name/ };
    if (name) await assert.rejects(cached(url, /** @type {any} */ ({ cache: name })), refused);
    await assert.rejects(list(/** @type {any} */ ({ cache: name ?? 5 })), refused);
  }
  await assert.rejects(cached(url, /** @type {any} */ ({ retry: 5 })), {
    code: 'bad-argument',
    message: /known: cache, integrity, request/,
  });
  await assert.rejects(list(/** @type {any} */ ({ name: 'x' })), { code: 'bad-argument' });
});
