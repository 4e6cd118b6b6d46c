// Which binary runs, where it comes from, and the heap behind it.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { Memory } from '../../js/src/engine/memory.js';
import { once, packageFile } from '../../js/src/base/platform.js';
import { createRuntime, hasRelaxed } from '../../js/src/engine/runtime.js';
import { CODE, inSection, readSections } from '../../js/src/engine/wasm-sections.js';
import { RushFile, flipFile } from './build-rush.mjs';

const file = flipFile().bytes();
const urlOf = (/** @type {string} */ name) => new URL(`../../js/wasm/rushlight-${name}.wasm`, import.meta.url);
const simd = readFileSync(urlOf('simd'));
const major = Number(process.versions.node.split('.')[0]);

/** @param {import('../../js/src/index.js').LoadOptions} options */
async function backend(options) {
  const model = await load(file, options);
  assert.deepEqual([...(await model.run({ x: [1, 2] })).y.data], [2, 1]);
  model.dispose();
  return model.backend;
}

test('Node 20 takes the plain binary by itself, a current Node the relaxed one', async () => {
  if (major === 20) assert(!hasRelaxed());
  if (major >= 24) assert(hasRelaxed());
  assert.deepEqual(
    await backend({}),
    hasRelaxed()
      ? { name: 'relaxed', reason: 'this engine has relaxed SIMD', threads: 1 }
      : { name: 'simd', reason: 'this engine has no relaxed SIMD', threads: 1 },
  );
});

test('only a copy that Vite has made in its cache is looked for elsewhere', () => {
  for (const [at, lies] of [
    ['http://localhost:5173/node_modules/wasm/a.wasm', 'http://localhost:5173/node_modules/rushlight/wasm/a.wasm'],
    ['https://app.vitec.com/a.wasm', 'https://app.vitec.com/a.wasm'],
    [
      'file:///home/demo.vite-app/node_modules/rushlight/wasm/a.wasm',
      'file:///home/demo.vite-app/node_modules/rushlight/wasm/a.wasm',
    ],
  ])
    assert.equal(packageFile(new URL(String(at))), lies);
});

test('the plain binary can be asked for', async () => {
  assert.deepEqual(await backend({ backend: 'simd' }), {
    name: 'simd',
    reason: 'requested by the option `backend`',
    threads: 1,
  });
});

test(
  'no function is so large that an engine, which compiles anew all of it ' +
    'where one loop is hot, is kept from the others',
  () => {
    for (const name of ['simd', 'relaxed']) {
      const wasm = readFileSync(urlOf(name)),
        cursor = inSection(wasm, readSections(wasm), CODE);
      for (let n = cursor.number(); n--;) {
        const size = cursor.number();
        assert(size < 16_000, `${name}: ${size} bytes`);
        cursor.at += size;
      }
    }
  },
);

test('numbers of the elementary functions are not vector constants, which engines make anew at each use', () => {
  // V128.const
  const log2e = [0x3b, 0xaa, 0xb8, 0x3f],
    constant = Buffer.from([0xfd, 0x0c, ...log2e, ...log2e, ...log2e, ...log2e]);
  for (const name of ['simd', 'relaxed']) {
    const wasm = readFileSync(urlOf(name));
    assert(wasm.includes(Buffer.from(log2e)), name);
    assert(!wasm.includes(constant), name);
  }
});

test('a backend that the engine lacks or nobody knows is refused', async () => {
  await assert.rejects(load(file, /** @type {any} */ ({ backend: 'webgpu' })), {
    code: 'bad-argument',
    message: /no backend "webgpu"; known: auto, simd, relaxed/,
  });
  if (!hasRelaxed())
    await assert.rejects(load(file, { backend: 'relaxed' }), { code: 'unsupported', message: /no relaxed SIMD/ });
});

const wasms = {
  'a URL': () => urlOf('simd'),
  'a file: URL as text': () => urlOf('simd').href,
  'a path': () => urlOf('simd').pathname,
  bytes: () => simd,
  'an ArrayBuffer': () => new Uint8Array(simd).buffer,
  'a Module': () => WebAssembly.compile(simd),
  'a Response that says what it is': () => new Response(simd, { headers: { 'content-type': 'application/wasm' } }),
  'a Response that does not': () => new Response(simd, { headers: { 'content-type': 'application/octet-stream' } }),
  'one for each backend': () => ({ simd, relaxed: urlOf('relaxed') }),
  'only the plain one': () => ({ simd }),
};
for (const [name, wasm] of Object.entries(wasms)) {
  test(`the binary can be given as ${name}`, async () => {
    assert.equal(
      (await backend({ wasm: await wasm(), ...(name.startsWith('one') && { backend: 'simd' }) })).name,
      'simd',
    );
  });
}

test('a wrong binary is refused in words', async () => {
  const rows = /** @type {[any, string, RegExp][]} */ ([
    [
      new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }),
      'bad-file',
      / must be the wasm, got HTML/,
    ],
    [new TextEncoder().encode('<html>'), 'bad-file', /got HTML/],
    [new Response('', { status: 404 }), 'network', /HTTP 404/],
    [Uint8Array.of(1, 2, 3, 4), 'unsupported', /cannot compile the bytes given as `wasm`/],
    [Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0), 'unsupported', /another version/],
    [new URL('file:///nowhere/x.wasm'), 'unreadable', /cannot read \/nowhere\/x\.wasm: no such file or directory$/],
    [5, 'bad-argument', /^`wasm` must be a URL, path, Response, WebAssembly\.Module or bytes, got 5$/],
    [Promise.resolve(simd), 'bad-argument', /got a Promise: did you forget await\?$/],
    [{ relaxed: simd }, 'bad-argument', /no binary for the backend "simd"/],
  ]);
  for (const [wasm, code, message] of rows)
    await assert.rejects(load(file, { wasm, backend: 'simd' }), { code, message });
  if (hasRelaxed())
    await assert.rejects(load(file, { wasm: simd, backend: 'relaxed' }), {
      code: 'bad-argument',
      message: /must be "relaxed", got "simd"/,
    });
});

test('a failed download of the wasm is tried again by the next load', async () => {
  let tries = 0;
  const server = createServer((_, res) => {
    res.statusCode = ++tries === 1 ? 500 : 200;
    res.end(simd);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const wasm = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}/x.wasm`;
  await assert.rejects(load(file, { wasm, backend: 'simd' }), { code: 'network' });
  await backend({ wasm, backend: 'simd' });
  server.close();
});

test('no function of the binary takes more than the six arguments that engine.js hands on', async () => {
  const { c } = await createRuntime({ wasm: simd });
  const most = Object.entries(c)
    .map(([name, f]) => [typeof f === 'function' ? f.length : 0, name])
    .sort((a, b) => Number(b[0]) - Number(a[0]))[0];
  assert.equal(most?.[0], 6, `${most}`);
});

test('once() makes one at a time and forgets failures', async () => {
  let n = 0;
  const get = once(async () => {
    if (++n === 1) throw new Error('no');
    return n;
  });
  await assert.rejects(get());
  assert.deepEqual(await Promise.all([get(), get()]), [2, 2]);
  assert.equal(await get(), 2);
});

test('an import has no effect and no wasm is loaded before load()', () => {
  const text = readFileSync(new URL('../../js/src/index.js', import.meta.url), 'utf8');
  assert(!/^(?!\s*\*|\/\/|\/\*\*|export|\s*$| \*\/)/m.test(text), 'index.js only exports');
});

test('no file of the package evaluates text as code, or imports while it runs but for what is not in the core', () => {
  const folder = new URL('../../js/src/', import.meta.url);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  )) {
    const code = readFileSync(new URL(name, folder), 'utf8')
      .replace(/\/\*\*.*?\*\//gs, '')
      .replace(
        /import\('[./a-z]+\/(load-options|threads|steps|assets|ops|diagnostics|error-hints|head-source|constraint|logits-rules|transcriber|entities|load-gpu|choose|choices|compare-devices|profile-gpu|file-weights)\.js'\)\s*\.(catch|then)\(/g,
        '',
      )
      .replace(/import\('@huggingface\/(tokenizers|jinja)'\)\.catch\(/g, ''); // optional peers of rushlight/text
    assert(!/\beval\s*\(|new Function|\bFunction\s*\(|\bimport\s*\(/.test(code), name);
  }
});

for (const name of ['simd', 'relaxed']) {
  test(
    `the ${name} binary imports what runtime.js gives, and no more`,
    { skip: name === 'relaxed' && !hasRelaxed() },
    () => {
      const module = new WebAssembly.Module(readFileSync(urlOf(name)));
      assert.deepEqual(
        WebAssembly.Module.imports(module)
          .map((i) => `${i.module}.${i.name}`)
          .sort(),
        ['env.emscripten_notify_memory_growth', 'rush.entropy', 'rush.log', 'rush.now', 'rush.pause', 'rush.poll'],
      );
    },
  );
}

test('a held view dies on growth, copies and later reads do not', () => {
  const wasm = new WebAssembly.Memory({ initial: 1, maximum: 4 });
  const memory = new Memory(wasm);
  memory.copyIn(8, Uint8Array.of(9, 9, 9, 9));
  const stale = new Uint8Array(wasm.buffer, 8, 4);
  const owned = memory.copyOut(Uint8Array, 8, 4);
  wasm.grow(1);
  assert.equal(stale[0], undefined); // no exception: that is the danger
  assert.deepEqual([...owned], [9, 9, 9, 9]);
  assert.equal(memory.u32(8), 0x09090909);
  memory.setU32(70000, 5);
  assert.equal(memory.u32(70000), 5);
  memory.copyIn(12, new Float32Array([1.5]));
  assert.deepEqual([...memory.copyOut(Float32Array, 12, 4)], [1.5]);
  assert.equal(memory.size, 131072);
});

test('the heap grows with a large input, and results are right afterwards', async () => {
  const model = await load(file);
  const before = (await model.memory()).heap;
  const x = new Float32Array(4 << 20).map((_, i) => i);
  const { y } = await model.run({ x });
  assert.deepEqual([y.data[0], y.data[1], y.data.at(-2), y.data.at(-1)], [1, 0, x.length - 1, x.length - 2]);
  assert((await model.memory()).heap > before + 16e6);
  model.dispose();
});

test('what does not fit into wasm memory is out-of-memory, and the model stays usable', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x' }, { name: 'n', type: 'int[]' }] }, (m, x, n) =>
    m.op('aten::repeat', [x, n]),
  );
  const model = await load(f.bytes());
  for (const n of [2 ** 30, 2 ** 40, 2 ** 62]) {
    await assert.rejects(
      model.call('forward', new Float32Array(2), [BigInt(n)]),
      (/** @type {any} */ e) => ['out-of-memory', 'bad-argument'].includes(e.code) && e.message.length > 10,
    );
  }
  assert.deepEqual([...(await model.call('forward', Float32Array.of(1, 2), [2])).data], [1, 2, 1, 2]);
  model.dispose();
});
