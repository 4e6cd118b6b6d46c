// Assets: files for the application that lie in a .rush file.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { load, plan } from '../../js/src/index.js';
import { loadPool } from '../../js/src/api/pool.js';
import { flipFile } from './build-rush.mjs';

const LABELS = 'cat\ndög\n',
  big = Uint8Array.from({ length: 5_000_000 }, (_, i) => (i * i) >> 7);

const withAssets = () =>
  flipFile().asset('empty', '').asset('labels.txt', LABELS).asset('table.bin', big).asset('x.json', '{"a": [1, 2]}');
const file = withAssets().bytes();
const dir = mkdtempSync(join(tmpdir(), 'rush-assets-'));
const path = join(dir, 'm.rush');
writeFileSync(path, file);

/** @type {import('node:http').Server} */ let server;
let url = '',
  requests = 0;
before(async () => {
  server = createServer((_, res) => {
    requests++;
    res.setHeader('content-length', file.length).setHeader('etag', '"1"').end(file);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/m.rush`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(dir, { recursive: true });
});

/** @param {import('../../js/src/index.js').Model} model */
async function checkAssets(model) {
  const labels = await model.asset('labels.txt');
  assert.equal(labels.name, 'labels.txt');
  assert.equal(labels.size, 9);
  assert.equal(await labels.text(), LABELS);
  assert.deepEqual(await labels.bytes(), new TextEncoder().encode(LABELS));
  assert.equal((await (await model.asset('empty')).bytes()).length, 0);
  assert.deepEqual(await (await model.asset('x.json')).json(), { a: [1, 2] });
  const table = await model.asset('table.bin');
  assert(Buffer.from(await table.bytes()).equals(big));
  assert.equal(table.blob().size, big.length);
}

/** @type {[string, () => any, object?][]} */
const sources = [
  ['bytes', () => file],
  ['a path', () => path],
  ['a URL', () => url],
  ['a Blob', () => new Blob([file])],
  ['a stream of small chunks', () => new Blob([file]).slice(0).stream()],
  ['a response', () => new Response(file)],
  ['a worker', () => url, { worker: true }],
  ['a worker and bytes', () => file, { worker: true }],
  ['two threads', () => file, { threads: 2 }],
  ['an empty cache', () => url, { cache: dir }],
  ['a cache', () => url, { cache: dir }],
];
for (const [name, source, options] of sources) {
  test(`assets of ${name}`, async () => {
    const model = await load(source(), options);
    const { y } = await model.run({ x: [[1, 2]] });
    assert.deepEqual([...y.data], [2, 1]);
    await checkAssets(model);
    model.dispose();
  });
}

test('assets are not in wasm memory, and come without another request', async () => {
  const before = requests,
    model = await load(url);
  await checkAssets(model);
  assert.equal(requests, before + 1);
  assert((await model.memory()).peak < big.length / 2);
  model.dispose();
  await assert.rejects(model.asset('labels.txt'), { code: 'disposed' });
});

test('the bytes of an asset belong to the caller', async () => {
  const mine = file.slice(),
    model = await load(mine);
  mine.fill(0);
  const labels = await model.asset('labels.txt');
  (await labels.bytes()).fill(0);
  assert.equal(await labels.text(), LABELS);
  model.dispose();
});

test('a pool lends a model with its assets', async () => {
  const pool = await loadPool(path, { size: 1 });
  assert.equal(await pool.use(async (model) => (await model.asset('labels.txt')).text()), LABELS);
  pool.dispose();
});

test('plan() and describe() list the assets', async () => {
  const { assets } = await plan(url);
  assert.deepEqual(
    assets.map(({ name, bytes }) => [name, bytes]),
    [
      ['empty', 0],
      ['labels.txt', 9],
      ['table.bin', big.length],
      ['x.json', 13],
    ],
  );
  for (const { offset, bytes } of assets) assert(offset % 64 === 0 && offset + bytes <= file.length);
  const [, { offset, sha256 }] = /** @type {[any, any]} */ (/** @type {unknown} */ (assets));
  assert.equal(Buffer.from(file.subarray(offset, offset + 9)).toString(), LABELS);
  assert.match(sha256, /^[0-9a-f]{64}$/);
  const model = await load(file);
  assert.deepEqual(model.describe().assets, assets);
  assert.match(model.describeText(), /assets\n {2}empty : 0 bytes\n {2}labels\.txt : 9 bytes\n/);
  model.dispose();
});

test('a name that the file does not have', async () => {
  const model = await load(file);
  await assert.rejects(model.asset('label.txt'), { code: 'bad-argument', message: /there is no asset "label.txt"/ });
  await assert.rejects(model.asset(/** @type {any} */ (undefined)), { code: 'bad-argument' });
  model.dispose();
  const none = await load(flipFile().bytes());
  assert.deepEqual(none.describe().assets, []);
  await assert.rejects(none.asset('a'), { code: 'bad-argument', message: /there is no asset "a"/ });
  none.dispose();
});

test('an asset only of zero bytes', async () => {
  const model = await load(flipFile().asset('empty', '').bytes());
  assert.equal(await (await model.asset('empty')).text(), '');
  model.dispose();
});

test('damaged bytes are refused when the asset is read, also without crypto.subtle', async () => {
  const damaged = file.slice(),
    at = Buffer.from(damaged).lastIndexOf(LABELS);
  damaged[at] ^= 1;
  const model = await load(damaged);
  const wrong = { code: 'bad-file', message: /^the asset "labels.txt" must have the SHA-256 [0-9a-f]{64}, got/ };
  await assert.rejects(model.asset('labels.txt'), wrong);
  assert.deepEqual(await (await model.asset('x.json')).json(), { a: [1, 2] });
  const { crypto } = globalThis;
  Object.defineProperty(globalThis, 'crypto', { value: {}, configurable: true });
  try {
    await assert.rejects(model.asset('labels.txt'), wrong);
    assert.deepEqual(await (await model.asset('x.json')).json(), { a: [1, 2] });
  } finally {
    Object.defineProperty(globalThis, 'crypto', { value: crypto, configurable: true });
  }
  model.dispose();
});

/** @type {[string, () => Uint8Array, RegExp][]} */
const hostile = [
  [
    'the same name twice',
    () => flipFile().asset('a', '1').asset('a', '2').bytes(),
    /names must be distinct and sorted/,
  ],
  ['names in the wrong order', () => flipFile().asset('b', '').asset('a', '').bytes(), /names must be distinct/],
  ['a name of 10,000 characters', () => flipFile().asset('a'.repeat(1e4), '').bytes(), /must have 1 to 255 bytes/],
  ['an empty name', () => flipFile().asset('', '').bytes(), /must have 1 to 255 bytes/],
  ['an asset that is too long', () => altered(16, 1n << 40n), /lies outside the weights/],
  ['an asset beyond the end', () => altered(8, 1n << 50n), /lies outside the weights/],
  ['reserved bytes', () => altered(0, 1n << 32n), /reserved bytes must be zero/],
  [
    'assets that overlap',
    () => {
      const f = flipFile().asset('a', 'x'.repeat(100)).asset('b', 'y');
      const record = f.section[264].parts;
      record[7] = record[2]; // the offset of the second is that of the first
      return f.bytes();
    },
    /overlaps the one before it/,
  ],
];

/** A file whose first asset has another number at a place of its record. @param {number} at @param {bigint} value */
function altered(at, value) {
  const bytes = flipFile().asset('a', 'b').bytes(),
    view = new DataView(bytes.buffer);
  for (let i = 0; i < view.getUint32(12, true); i++) {
    if (view.getUint32(64 + 24 * i, true) !== 0x108) continue;
    const record = Number(view.getBigUint64(64 + 24 * i + 8, true));
    view.setBigUint64(record + at, view.getBigUint64(record + at, true) | value, true);
  }
  return bytes;
}

for (const [name, make, message] of hostile) {
  test(`refused: ${name}`, () => assert.rejects(load(make()), { code: 'bad-file', message }));
}
