// Where models come from, and what happens when they do not.

import assert from 'node:assert/strict';
import { cpSync, createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { load, plan } from '../../js/src/index.js';
import { RushFile, flipFile } from './build-rush.mjs';

/** A file with `mb` megabytes of weights, of which the model gives the first row back. @param {number} mb */
function bigFile(mb) {
  const f = new RushFile();
  const data = new Float32Array(mb << 18).fill(7);
  data[0] = 1;
  const w = f.tensor(data, [data.length], { name: 'big' });
  f.method('forward', { outputs: ['y'] }, (m) => m.op('aten::slice.Tensor', [w, f.int(0), f.int(0), f.int(2)]));
  return f.bytes();
}

const small = flipFile().bytes();
const medium = bigFile(4);
const dir = mkdtempSync(join(tmpdir(), 'rush-load-'));
const path = join(dir, 'flip.rush');
writeFileSync(path, small);

/** @type {import('node:http').Server} */ let server;
/** @type {string} */ let base;
/**
 * What each address answers.
 * @type {Record<string, (res: import('node:http').ServerResponse, req: import('node:http').IncomingMessage) => void>}
 */
const routes = {
  '/flip.rush': (res) => res.end(small),
  '/page': (res) => res.setHeader('content-type', 'text/html').end('<!doctype html><p>404'),
  '/page.rush': (res) => res.end('\n <html>a page that is served as if it were a file</html>'),
  '/missing.rush': (res) => {
    res.statusCode = 404;
    res.end('no');
  },
  '/cut.rush': (res) => res.end(medium.subarray(0, 1000)),
  '/broken.rush': (res) => {
    res.setHeader('content-length', medium.length);
    res.write(medium.subarray(0, 100000), () => res.destroy());
  },
  '/slow.rush': (res) => {
    res.write(medium.subarray(0, 100000));
  }, // and nothing more
  '/echo.rush': (res, req) => {
    res.statusCode = req.headers['x-key'] === 'k' ? 200 : 401;
    res.end(small);
  },
  '/medium.rush': (res) => res.end(medium),
};
before(async () => {
  server = createServer((req, res) => (routes[req.url ?? ''] ?? routes['/missing.rush'])?.(res, req));
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(dir, { recursive: true });
});

const stream = (/** @type {Uint8Array[]} */ ...chunks) =>
  new ReadableStream({
    start(c) {
      for (const chunk of chunks) c.enqueue(chunk);
      c.close();
    },
  });

/** @param {any} source @param {import('../../js/src/index.js').LoadOptions} [options] */
async function flips(source, options) {
  const model = await load(source, options);
  const { y } = await model.run({ x: new Float32Array([1, 2]) });
  model.dispose();
  assert.deepEqual([...y.data], [2, 1]);
}

/** As jsdom has it. @param {string} code */
const ofAnotherRealm = (code) => runInNewContext(code, { list: [...small] });

const sources = {
  'a path': () => path,
  'a relative path': () => path.replace(process.cwd(), '.'),
  'a file: URL': () => pathToFileURL(path),
  'a file: URL as text': () => pathToFileURL(path).href,
  'a URL as text': () => `${base}/flip.rush`,
  'a URL': () => new URL(`${base}/flip.rush`),
  'a Response': () => fetch(`${base}/flip.rush`),
  'a Response made by hand': () => new Response(small),
  'a Blob': () => new Blob([small]),
  'a ReadableStream': () => stream(small),
  'a stream of single bytes': () => stream(...Array.from(small, (b) => Uint8Array.of(b))),
  'a stream with empty chunks': () =>
    stream(new Uint8Array(0), small.subarray(0, 64), new Uint8Array(0), small.subarray(64)),
  'an ArrayBuffer': () => small.buffer,
  'an ArrayBuffer of another realm': () => ofAnotherRealm('Uint8Array.from(list).buffer'),
  'a Uint8Array of another realm': () => ofAnotherRealm('Uint8Array.from(list)'),
  'a stream of chunks of another realm': () => stream(ofAnotherRealm('Uint8Array.from(list)')),
  'a Uint8Array inside a larger buffer': () => {
    const larger = new Uint8Array(small.length + 13);
    larger.set(small, 5);
    return larger.subarray(5, 5 + small.length);
  },
  'a Buffer': () => Buffer.from(small),
  'a DataView': () => new DataView(small.buffer),
};
for (const [name, source] of Object.entries(sources)) {
  test(`a model comes from ${name}`, async () => flips(await source()));
}

const failures = /** @type {[string, () => any, string, RegExp][]} */ ([
  ['a page instead of a model', () => `${base}/page`, 'bad-file', /^http.*\/page must be a \.rush file, got HTML/],
  ['a page that claims to be a file', () => `${base}/page.rush`, 'bad-file', /must be a \.rush file, got HTML/],
  [
    'HTML bytes',
    () => new TextEncoder().encode('<!doctype html>'),
    'bad-file',
    /^the bytes must be a \.rush file, got HTML/,
  ],
  ['an address with nothing behind it', () => `${base}/missing.rush`, 'network', /^HTTP 404 Not Found for http/],
  ['a server that is not there', () => 'http://127.0.0.1:9/m.rush', 'network', /^cannot read http.*\(/],
  [
    'a path with nothing behind it',
    () => join(dir, 'no.rush'),
    'unreadable',
    /^cannot read .*no\.rush: no such file or directory$/,
  ],
  [
    'a truncated download',
    () => `${base}/cut.rush`,
    'truncated',
    new RegExp(`is truncated: got 1000 of ${medium.length} bytes`),
  ],
  ['a connection that breaks', () => `${base}/broken.rush`, 'network', /^cannot read http.*\/broken\.rush/],
  ['an empty source', () => new Uint8Array(0), 'truncated', /got 0 of at least 64 bytes/],
  [
    'a truncated path',
    () => {
      writeFileSync(join(dir, 'cut.rush'), small.subarray(0, 100));
      return join(dir, 'cut.rush');
    },
    'truncated',
    new RegExp(`got 100 of ${small.length} bytes`),
  ],
  [
    'bytes behind the end',
    () => Buffer.concat([small, Buffer.from('x')]),
    'bad-file',
    new RegExp(`has more than the ${small.length} bytes that its header declares`),
  ],
  ['another format', () => new TextEncoder().encode('GIF89a'.padEnd(100)), 'bad-file', /^the bytes: not a \.rush file/],
  [
    'a .pt file',
    () => new TextEncoder().encode('PK\x03\x04'.padEnd(100)),
    'bad-file',
    /^the bytes must be a \.rush file, got a PyTorch file: convert it with rushlight export$/,
  ],
  [
    'an .onnx file',
    () => new Blob(['\x08\x07\x12\x07pytorch']),
    'bad-file',
    /^the blob must be a \.rush file, got an ONNX model: export the PyTorch model$/,
  ],
  [
    'a .safetensors file',
    () => new TextEncoder().encode('\x08\0\0\0\0\0\0\0{"a":{}}'),
    'bad-file',
    /got a \.safetensors file: it has weights and no program$/,
  ],
  [
    'a Git LFS pointer',
    () => new Blob(['version https://git-lfs.github.com/spec/v1\noid sha256:00']),
    'bad-file',
    /got a Git LFS pointer: run git lfs pull$/,
  ],
  ['gzip', () => new Blob([new Uint8Array([0x1f, 0x8b, 8, 0])]), 'bad-file', /got gzip: unpack it$/],
  [
    'HTML behind a byte order mark',
    () => new Blob(['\ufeff\n<!doctype html>']),
    'bad-file',
    /got HTML: check the address$/,
  ],
  [
    'a newer version',
    () => {
      const b = small.slice();
      b[8] = 9;
      return b;
    },
    'unsupported',
    /format version 9/,
  ],
  ['a number', () => 5, 'bad-argument', /a model must be a URL, .*, got 5$/],
  ['null', () => null, 'bad-argument', /got null$/],
  ['a Promise', () => ({ source: Promise.resolve(small) }), 'bad-argument', /got a Promise: did you forget await\?$/],
  [
    'a buffer that was given away',
    () => {
      const b = small.slice();
      structuredClone(b, { transfer: [b.buffer] });
      return b;
    },
    'bad-argument',
    /^a model: the buffer was transferred before$/,
  ],
  ['a Request', () => new Request('http://127.0.0.1/flip.rush'), 'bad-argument', /got Request$/],
  ['a stream of Node', () => createReadStream(path), 'bad-argument', /got ReadStream$/],
  [
    'a stream of text',
    () =>
      new ReadableStream({
        start(c) {
          c.enqueue('text');
          c.close();
        },
      }),
    'bad-argument',
    /Uint8Array/,
  ],
  [
    'a stream that is being read',
    () => {
      const s = stream(small);
      s.getReader();
      return s;
    },
    'bad-argument',
    /the stream must not be locked/,
  ],
  [
    'a stream that fails',
    () =>
      new ReadableStream({
        start(c) {
          c.error(new Error('out of paper'));
        },
      }),
    'network',
    /cannot read the stream: out of paper/,
  ],
  ['a Response whose status is an error', () => new Response('no', { status: 500 }), 'network', /^HTTP 500/],
]);
for (const [name, source, code, message] of failures) {
  test(`${name} is refused as ${code}`, async () => {
    const given = await source();
    await assert.rejects(
      async () => load(given?.source ?? given),
      (/** @type {any} */ e) => {
        assert.equal(e.name, 'RushlightError');
        assert.equal(e.code, code, e.message);
        assert.match(e.message, message);
        return true;
      },
    );
  });
}

test('each header field, damaged, gives a message and no crash', async () => {
  for (let at = 0; at < 64; at++) {
    for (const flip of [0xff, 0x01]) {
      const bytes = small.slice();
      bytes[at] = /** @type {number} */ (bytes[at]) ^ flip;
      await assert.rejects(
        load(bytes),
        (/** @type {any} */ e) =>
          ['bad-file', 'unsupported', 'truncated', 'out-of-memory'].includes(e.code) && e.message.length > 10,
        `byte ${at} ^ ${flip}`,
      );
    }
  }
});

test('a file cut at every byte gives a message', async () => {
  for (let size = 0; size < small.length; size++) {
    await assert.rejects(load(small.subarray(0, size)), { code: 'truncated' }, `${size} bytes`);
  }
});

test('a package without its wasm says what to pass', async () => {
  const copy = join(dir, 'copy');
  cpSync(fileURLToPath(new URL('../../js/src', import.meta.url)), join(copy, 'src'), { recursive: true });
  writeFileSync(join(copy, 'package.json'), '{"type": "module"}');
  const { load } = await import(pathToFileURL(join(copy, 'src/index.js')).href);
  for (const worker of [false, true]) {
    await assert.rejects(load(small, { worker }), {
      name: 'RushlightError',
      code: 'unreadable',
      message:
        /^cannot read .*copy\/wasm\/rushlight-\w+\.wasm: no such file or directory\. Pass its address as the option `wasm`: see "With a bundler" in README.md of this package$/,
    });
  }
});

test('where no memory is left, the models that are alive are counted', async (t) => {
  const models = await Promise.all([load(small), load(small)]);
  t.mock.method(WebAssembly, 'instantiate', () => {
    throw new RangeError('WebAssembly.Memory(): could not allocate memory');
  });
  await assert.rejects(load(small), {
    code: 'out-of-memory',
    message: /could not allocate memory\. \d+ models? (is|are) loaded: dispose\(\) frees the memory of one$/,
  });
  t.mock.restoreAll();
  for (const model of models) model.dispose();
});

test('an unknown option is named beside the known ones', async () => {
  await assert.rejects(load(small, /** @type {any} */ ({ onprogress() {} })), {
    code: 'bad-argument',
    message: /no option "onprogress"; known: signal, onProgress, wasm, backend, request/,
  });
  await assert.rejects(plan(small, /** @type {any} */ (5)), { code: 'bad-argument' });
});

test('fetch gets the headers of `request`', async () => {
  await assert.rejects(load(`${base}/echo.rush`), { code: 'network', actual: 401 });
  await flips(`${base}/echo.rush`, { request: { headers: { 'x-key': 'k' } } });
});

test('an answer is read to its end, whenever memory is collected', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc'),
    wasm = readFileSync(new URL('../../js/wasm/rushlight-simd.wasm', import.meta.url));
  let collected = false;
  // The answer has come while the wasm is still on its way.
  const late = new Response(
    new ReadableStream(
      {
        async pull(c) {
          for (let i = 0; i < 20; i++) {
            collect();
            await new Promise((resolve) => setImmediate(resolve));
          }
          collected = true;
          c.enqueue(wasm);
          c.close();
        },
      },
      { highWaterMark: 0 },
    ),
  );
  (await load(`${base}/flip.rush`, { wasm: late, backend: 'simd' })).dispose();
  assert(collected);
});

test('progress rises to the total', async () => {
  /** @type {any[]} */
  const seen = [];
  const model = await load(`${base}/medium.rush`, { onProgress: (p) => seen.push(p) });
  model.dispose();
  assert.deepEqual(seen.at(-1), { loaded: medium.length, total: medium.length });
  assert(seen.length > 3);
  for (let i = 1; i < seen.length; i++) assert(seen[i].loaded > seen[i - 1].loaded);
});

test('an exception in onProgress reaches the caller', async () => {
  await assert.rejects(
    load(small, {
      onProgress() {
        throw new TypeError('mine');
      },
    }),
    (/** @type {any} */ e) =>
      e.code === 'callback' && e.cause instanceof TypeError && e.message === 'onProgress failed: mine',
  );
});

test('an abort stops loading at any moment', async () => {
  const aborted = { code: 'aborted', name: 'AbortError' };
  await assert.rejects(
    load(small, { signal: AbortSignal.abort(new Error('why')) }),
    (/** @type {any} */ e) => e.code === 'aborted' && e.cause.message === 'why',
  );
  for (const source of [() => `${base}/medium.rush`, () => medium, () => new Blob([medium])]) {
    const control = new AbortController();
    await assert.rejects(load(source(), { signal: control.signal, onProgress: () => control.abort() }), aborted);
  }
  const control = new AbortController();
  // After what has come nothing more does.
  await assert.rejects(
    load(`${base}/slow.rush`, {
      signal: control.signal,
      onProgress: ({ loaded }) => {
        if (loaded === 100000) setImmediate(() => control.abort());
      },
    }),
    aborted,
  );
  const silent = new AbortController();
  await assert.rejects(
    load(
      new ReadableStream({ pull: () => new Promise(() => setImmediate(() => silent.abort())) }, { highWaterMark: 0 }),
      { signal: silent.signal },
    ),
    aborted,
  );
});

test('a stream is cancelled when its model is refused', async () => {
  let cancelled = false;
  const bad = new ReadableStream({
    pull(c) {
      c.enqueue(new Uint8Array(1000));
    },
    cancel() {
      cancelled = true;
    },
  });
  await assert.rejects(load(bad), { code: 'bad-file' });
  assert(cancelled);
});

test('a stream is cancelled when there is no runtime for it', async () => {
  const cancelled = new Promise((resolve) => {
    const stream = new ReadableStream({
      pull(c) {
        c.enqueue(small);
      },
      cancel: resolve,
    });
    void assert.rejects(load(stream, { wasm: /** @type {any} */ (5) }), {
      code: 'bad-argument',
      message: /^`wasm` must be a URL/,
    });
  });
  await cancelled;
});

test('each byte is copied once, from its chunk to the heap', async () => {
  const bytes = bigFile(32);
  (await load(small)).dispose(); // reads and compiles the wasm
  const set = Uint8Array.prototype.set;
  let copied = 0;
  Uint8Array.prototype.set = function (/** @type {any} */ from, at) {
    if (from.buffer === bytes.buffer) copied += from.length; // not the seed of the random numbers
    return set.call(this, from, at);
  };
  try {
    const model = await load(
      stream(
        ...Array.from({ length: Math.ceil(bytes.length / 65000) }, (_, i) =>
          bytes.subarray(i * 65000, (i + 1) * 65000),
        ),
      ),
    );
    assert.equal(copied, bytes.length);
    const { y } = await model.run({});
    assert.deepEqual([...y.data], [1, 7]);
    model.dispose();
  } finally {
    Uint8Array.prototype.set = set;
  }
});

test('a 64 MB model takes little more than its size, in JS and in wasm', async () => {
  const bytes = bigFile(64);
  let at = 0;
  let peak = 0;
  const before = process.memoryUsage().arrayBuffers;
  const model = await load(
    new ReadableStream({
      pull(c) {
        if (at === bytes.length) return c.close();
        c.enqueue(bytes.slice(at, (at += Math.min(65536, bytes.length - at))));
        peak = Math.max(peak, process.memoryUsage().arrayBuffers);
      },
    }),
  );
  const { heap, peak: used } = await model.memory();
  assert(used < 1.02 * bytes.length, `the runtime held ${used} bytes`);
  assert(heap < 1.08 * bytes.length, `the wasm memory has ${heap} bytes`);
  assert(peak - before < 1.08 * bytes.length + 40e6, `JS held ${peak - before} bytes, wasm memory included`);
  model.dispose();
});

test('plan() reads the head and stops the download', async () => {
  let given = 0;
  let cancelled = false;
  const info = await plan(
    new ReadableStream(
      {
        pull(c) {
          c.enqueue(medium.subarray(given, (given += 4096)));
        },
        cancel() {
          cancelled = true;
        },
      },
      { highWaterMark: 0 },
    ),
  );
  assert.equal(info.bytes, medium.length);
  assert.equal(info.weightsBytes, 4 << 20);
  assert.deepEqual(
    info.outputs.map((p) => p.name),
    ['y'],
  );
  assert.deepEqual(info.missing, []);
  assert(cancelled && given < 20000, `${given} bytes were read`);
  assert.equal((await plan(`${base}/medium.rush`)).bytes, medium.length);
});

test('plan() says what a model takes at least, and whether that is within the limits', async () => {
  const f = new RushFile(),
    x = { dtype: 'float32', shape: [3, 1 << 18] };
  const w = f.tensor(new Float32Array(1 << 18), [1 << 18]);
  f.method(
    'forward',
    {
      inputs: [
        { name: 'x', ...x },
        { name: 'any', dtype: 'float32', shape: [null, 5] },
        { name: 'n', type: 'int' },
      ],
      outputs: ['y'],
    },
    (m, x) => m.op('aten::add.Tensor', [x, w, f.int(1)]),
  );
  const bytes = f.bytes(),
    least = bytes.length + (12 << 18);
  assert.deepEqual((await plan(bytes)).memory, { least, limit: 2 ** 32 - 1, fits: true });
  assert.deepEqual((await plan(bytes, { limits: { bytes: least } })).memory, { least, limit: least, fits: true });
  assert.deepEqual((await plan(bytes, { limits: { bytes: least - 1 } })).memory, {
    least,
    limit: least - 1,
    fits: false,
  });
  const model = await load(bytes);
  await model.run({ x: new Float32Array(3 << 18), any: new Float32Array(5), n: 1 });
  const { peak } = await model.memory();
  assert(peak >= least, `it is no more than what a run takes: ${peak}, ${least}`);
  model.dispose();
});

test('headers that are none are told, by load() and by plan()', async () => {
  for (const read of [load, plan])
    await assert.rejects(read(`${base}/flip.rush`, { request: { headers: /** @type {any} */ (5) } }), {
      name: 'RushlightError',
      code: 'network',
    });
});

test('plan() takes an answer to a Range', async () => {
  routes['/range.rush'] = (res, req) =>
    res
      .writeHead(req.headers.range === 'bytes=0-65535' ? 206 : 500, {
        'content-range': `bytes 0-65535/${medium.length}`,
      })
      .end(medium.subarray(0, 65536));
  assert.equal(
    (await plan(`${base}/range.rush`, { request: { headers: { range: 'bytes=0-65535' } } })).bytes,
    medium.length,
  );
});

test('plan() asks for parts, one or two, and takes the whole where a server gives none', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x' }], outputs: ['y'] }, (m, x) => {
    // Which a run would refuse
    for (let i = 0; i < 400; i++) x = m.op('aten::add.Tensor', [x, x, f.str('long '.repeat(1000) + i)]);
    return x;
  });
  const long = f.bytes();
  assert(long.length > 1.5 * 2 ** 20);
  /** @type {(string | undefined)[]} */ let asked = [];
  const given =
    (/** @type {Uint8Array} */ bytes, /** @type {(n: number) => boolean} */ gives) =>
    (/** @type {import('node:http').ServerResponse} */ res, /** @type {import('node:http').IncomingMessage} */ req) => {
      const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(String(asked[asked.push(req.headers.range) - 1])) ?? [];
      if (from === undefined || !gives(asked.length)) return res.end(bytes);
      res.writeHead(206).end(bytes.subarray(Number(from), to ? Number(to) + 1 : undefined));
    };
  const ask = async (/** @type {any} */ route) => {
    asked = [];
    routes['/parts.rush'] = route;
    return (await plan(`${base}/parts.rush`)).bytes;
  };
  assert.deepEqual([await ask(given(medium, () => true)), asked], [medium.length, ['bytes=0-1048575']]);
  assert.deepEqual([await ask(given(long, () => true)), asked], [long.length, ['bytes=0-1048575', 'bytes=1048576-']]);
  assert.deepEqual(
    [await ask(given(long, (n) => n === 1)), asked],
    [long.length, ['bytes=0-1048575', 'bytes=1048576-']],
    'the second time it gives the whole',
  );
  assert.deepEqual([await ask(given(long, () => false)), asked], [long.length, ['bytes=0-1048575']]);
  const cut = long.subarray(0, 5000);
  await assert.rejects(ask(given(cut, () => true)), { code: 'truncated' });
  assert.deepEqual(asked, ['bytes=0-1048575']);
  const refusing = given(medium, () => false);
  assert.deepEqual(
    [
      await ask((/** @type {any} */ res, /** @type {any} */ req) =>
        req.headers.range ? (asked.push('refused'), res.writeHead(416).end()) : refusing(res, req),
      ),
      asked,
    ],
    [medium.length, ['refused', undefined]],
  );
  delete routes['/parts.rush'];
});

test('missing operators are all named: by plan() as data, by load() in words', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x' }] }, (m, x) => {
    m.at = f.source('model.py', 7);
    return m.op('my_ops::warp', [m.op('my_ops::bend.twice', [x], 'Tensor', 'my_ops::bend.twice(Tensor x) -> Tensor')]);
  });
  const info = await plan(f.bytes());
  assert.deepEqual(
    info.missing.map((m) => [m.name, m.count, m.file, m.line]),
    [
      ['my_ops::bend.twice', 1, 'model.py', 7],
      ['my_ops::warp', 1, 'model.py', 7],
    ],
  );
  await assert.rejects(load(f.bytes()), { code: 'unsupported', message: /my_ops::bend\.twice.*my_ops::warp/s });
});
