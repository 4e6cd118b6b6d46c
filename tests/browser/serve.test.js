// npx rushlight serve: its page in Chromium, wide and narrow, light and dark; and whom its server answers.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import pngjs from 'pngjs';

import { start } from '../../demo/shared/chromium.mjs';
import { blocksOf } from '../../js/bin/page/flame.js';
import { serveModel } from '../../js/bin/serve.js';
import { writeNpy } from '../../js/src/media/npy.js';
import { RushFile } from '../js/build-rush.mjs';
import { unreadable } from './unreadable.js';

const shots = fileURLToPath(new URL('../../build/screenshots/', import.meta.url)); // to be looked at
mkdirSync(shots, { recursive: true });
const dir = mkdtempSync(join(tmpdir(), 'rush-serve-'));
/** @type {Awaited<ReturnType<typeof start>>} */ let host;
/** @type {Awaited<ReturnType<typeof serveModel>>} */ let served;
before(async () => {
  const f = new RushFile();
  f.method(
    'forward',
    {
      inputs: [
        { name: 'x', dtype: 'float32', shape: [1, 3, 8, 12] },
        { name: 'n', type: 'int' },
      ],
      outputs: [{ name: 'tanh' }, { name: 'flat' }, { name: 'count', type: 'int' }],
      result: '(Tensor, Tensor, int)',
    },
    (m, x, n) =>
      m.op(
        'prim::TupleConstruct',
        [m.op('aten::tanh', [x]), m.op('aten::flatten.using_ints', [m.op('aten::neg', [x]), f.int(0), f.int(-1)]), n],
        '(Tensor, Tensor, int)',
      ),
  );
  f.method('bytes', { inputs: [{ name: 'x', dtype: 'float32', shape: [2, 3] }], outputs: ['y'] }, (m, x) => {
    const q = m.op('aten::quantize_per_tensor', [
      m.op('aten::add.Tensor', [x, f.tensor(new Float32Array(3), [3]), f.int(1)]),
      f.float(0.5),
      f.int(3),
      f.int(13),
    ]);
    return m.op('aten::dequantize.self', [m.op('aten::t', [q])]);
  });
  const some = f.tensor(new Float32Array(6), [2, 3]); // of the test vector alone: no parameters
  f.test(1, [some], ['Tensor'], f.tensor(new Float32Array(6), [3, 2]));
  writeFileSync(join(dir, 'pictures.rush'), f.bytes());
  [host, served] = await Promise.all([start(), serveModel(join(dir, 'pictures.rush'), 0)]);
});
after(async () => {
  await host?.close();
  served?.server.close();
  served?.server.closeAllConnections();
  rmSync(dir, { recursive: true });
});

/**
 * A request with headers of one's own.
 * @param {string} path
 * @param {Record<string, string>} headers
 * @param {string} [method]
 */
const ask = (path, headers = {}, method = 'GET') =>
  new Promise((resolve, reject) => {
    const { port } = new URL(served.url);
    request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = '';
      response
        .setEncoding('latin1')
        .on('data', (part) => {
          text += part;
        })
        .on('end', () => resolve({ status: response.statusCode, text, headers: response.headers }));
    })
      .on('error', reject)
      .end();
  });

test(
  'the server answers requests for its own name, and gives the page, ' + 'the package and the model, nothing else',
  async () => {
    const { port } = new URL(served.url);
    for (const name of [
      'evil.example',
      `evil.example:${port}`,
      'localhost',
      'localhost:1',
      `localhost.evil.example:${port}`,
    ]) {
      for (const path of ['/', '/model.rush', '/src/index.js'])
        assert.equal((await ask(path, { host: name })).status, 403, name);
    }
    for (const path of [
      '/',
      '/model.rush',
      '/src/index.js',
      '/bin/page/page.js',
      '/bin/layers.js',
      '/wasm/rushlight-simd.wasm',
    ]) {
      for (const name of [`localhost:${port}`, `127.0.0.1:${port}`]) {
        const { status, headers } = await ask(path, { host: name });
        assert.equal(status, 200, path);
        assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
        assert.match(headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/);
      }
    }
    for (const path of [
      '/package.json',
      '/bin/serve.js',
      '/src/../package.json',
      '/src/..%2fpackage.json',
      '//etc/passwd',
      '/bin/page/../serve.js',
      '/other.rush',
      '/src/',
    ])
      assert.equal((await ask(path)).status, 404, path);
    assert.equal((await ask('/', {}, 'POST')).status, 405);
    await assert.rejects(serveModel(join(dir, 'none.rush'), 0), { code: 'unreadable' });
    await assert.rejects(serveModel(join(dir, 'pictures.rush'), Number(port)), {
      code: 'unsupported',
      message: /cannot serve on port/,
    });
  },
);

/** @param {import('playwright-core').BrowserContextOptions} options */
async function open(options) {
  const page = await host.browser.newPage(options),
    errors = /** @type {string[]} */ ([]);
  page.on('pageerror', (/** @type {Error} */ e) => errors.push(e.message));
  page.on('console', (/** @type {any} */ m) => {
    if (m.type() === 'error') errors.push(m.text());
  });
  await page.goto(served.url);
  await ran(page, '1');
  return { page, errors };
}
/** Waits for a run with the numbers of that seed, or an error. @param {any} page @param {string} seed */
async function ran(page, seed) {
  await page.waitForFunction(
    (/** @type {string} */ s) =>
      document.documentElement.dataset.done === s || document.getElementById('error')?.textContent,
    seed,
  );
}

for (const [width, height] of /** @type {const} */ ([
  [1280, 900],
  [390, 844],
])) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    test(`the page shows what comes out and where the time goes: ${width} px, ${colorScheme}`, async () => {
      const { page, errors } = await open({ viewport: { width, height }, colorScheme });
      assert.equal(await page.textContent('h1'), 'pictures.rush');
      assert.match((await page.textContent('#about')) ?? '', /operators · wasm: (simd|relaxed) · loaded in/);
      assert.deepEqual(
        await page.$$eval('#outputs h2', (/** @type {Element[]} */ all) => all.map((e) => e.textContent)),
        ['tanh', 'flat', 'count'],
      );
      assert.deepEqual(
        await page.$$eval('#outputs [aria-pressed=true]', (/** @type {Element[]} */ all) =>
          all.map((e) => e.textContent),
        ),
        ['image', 'plot'],
      );
      assert.equal(await page.textContent('#outputs pre'), '1');
      // A picture has colors, a plot a line.
      for (const canvas of await page.$$('#outputs canvas')) {
        assert(
          (await canvas.evaluate(
            (/** @type {any} */ c) =>
              new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size,
          )) > 2,
        );
      }
      assert.equal(await page.textContent('#flame button'), 'all');
      await page.click('summary');
      assert.deepEqual(
        await page.$$eval('#layers td:nth-child(2)', (/** @type {Element[]} */ all) => all.map((e) => e.textContent)),
        ['aten::tanh', 'aten::neg', 'aten::flatten.using_ints', 'prim::TupleConstruct'],
      );
      await page.screenshot({ path: join(shots, `serve-${width}-${colorScheme}.png`), fullPage: true });
      assert(
        (await page.evaluate(() => document.documentElement.scrollWidth)) <= width,
        'the page is wider than the window',
      );
      assert.deepEqual(await page.evaluate(unreadable), []);
      assert.deepEqual(errors, []);
      await page.close();
    });
  }
}

test('parameters are those of the program, and quantized tensors are shown with what they stand for', async () => {
  const { page, errors } = await open({});
  assert.match((await page.textContent('#about')) ?? '', / · 3 parameters · /);
  await page.selectOption('#method', 'bytes');
  await page.click('#run');
  await page.waitForFunction(
    () =>
      document.querySelector('#outputs h2')?.textContent === 'y' &&
      !(/** @type {any} */ (document.getElementById('run')).disabled),
  );
  assert.equal(await page.isVisible('#error'), false);
  assert.deepEqual(
    await page.$$eval('#layers td:nth-child(3)', (/** @type {Element[]} */ all) => all.map((e) => e.textContent)),
    [
      'float32 [2, 3]',
      'quint8 [2, 3] (scale 0.5, zero point 3)',
      'quint8 [3, 2] (scale 0.5, zero point 3)',
      'float32 [3, 2]',
    ],
  );
  assert.deepEqual(errors, []);
  await page.close();
});

test('inputs are those given: sizes, numbers, a file', async () => {
  const { page, errors } = await open({});
  const first = await page.textContent('#outputs .sums');
  await page.click('#again');
  await ran(page, '2');
  assert.notEqual(await page.textContent('#outputs .sums'), first);

  const data = Float32Array.from({ length: 12 }, (_, i) => i / 4);
  writeFileSync(join(dir, 'x.npy'), writeNpy({ dtype: 'float32', shape: [3, 4], data }));
  await page.setInputFiles('input[type=file]', join(dir, 'x.npy'));
  await page.waitForFunction(() => document.querySelector('.file span')?.textContent === 'x.npy');
  assert.equal(await page.inputValue('[aria-label="sizes of x"]'), '3 x 4');
  await page.fill('[aria-label="value of n"]', '7');
  await page.click('#run');
  await page.waitForFunction(() => document.querySelector('#outputs pre')?.textContent === '7');
  await page.click('#outputs section:nth-child(2) .tabs button:has-text("numbers")');
  assert.deepEqual(
    await page.$$eval('#outputs section:nth-child(2) td', (/** @type {Element[]} */ all) =>
      all.map((e) => Number(e.textContent)),
    ),
    [...data.map((v) => -v || 0)],
  );

  // A picture of two colors, as large as the example.
  const { PNG } = pngjs,
    png = new PNG({ width: 24, height: 16 });
  for (let i = 0; i < 24 * 16; i++) png.data.set(i % 24 < 12 ? [255, 0, 0, 255] : [0, 0, 255, 255], 4 * i);
  writeFileSync(join(dir, 'two.png'), PNG.sync.write(png));
  const numbers = async () => {
    await page.click('#run');
    await page.waitForFunction(() => !(/** @type {any} */ (document.getElementById('run')).disabled));
    await page.click('#outputs section:nth-child(2) .tabs button:has-text("numbers")');
    const all = await page.$$eval('#outputs section:nth-child(2) td', (/** @type {Element[]} */ cells) =>
      cells.map((e) => Number(e.textContent)),
    );
    return [all[0], all[11]];
  };
  await page.setInputFiles('input[type=file]', join(dir, 'two.png'));
  await page.waitForFunction(() => document.querySelector('.file span')?.textContent === 'two.png');
  assert.equal(await page.inputValue('[aria-label="sizes of x"]'), '1 x 3 x 8 x 12');
  assert.deepEqual(await numbers(), [-1, 0]); // of red; the model turns the sign
  await page.selectOption('[aria-label="numbers of x"]', '-1 to 1');
  assert.deepEqual(await numbers(), [-1, 1]);

  assert.deepEqual(errors, []);
  await page.close();
});

test('a wrong input has a message beside it, and the error of a run goes when the input changes', async () => {
  const { page, errors } = await open({});
  const wrong = (/** @type {string} */ of) => page.textContent(`#wrong-${of}`);
  for (const [of, text, says] of /** @type {const} */ ([
    ['n', '"a"', /^the value must be of type int, got "a"$/],
    ['n', '1.5', /^the value must be of type int, got 1\.5$/],
    ['n', '', /^a value is missing; it must be of type int$/],
    ['n', 'two', /^the value must be of type int, written as JSON$/],
    ['n', '2', /^$/],
    ['x', '3 x four', /^a size must be a whole number, got "four"/],
    ['x', '-3', /got "-3"/],
    ['x', '3 x', /^a size is missing/],
    ['x', '1e9', /got "1e9"/],
    ['x', '100000 x 100000', /^a random input must have at most 134,217,728 numbers, got 10,000,000,000$/],
    ['x', '1x1x1x1x1x1x1x1x1', /at most 8 dimensions, got 9$/],
    ['x', '[2, 3, 4]', /^$/],
    ['x', '2,3', /^$/],
    ['x', '2×3', /^$/],
    ['x', '', /^$/],
  ])) {
    const box = `[aria-describedby="wrong-${of}"]`;
    await page.fill(box, text);
    assert.match((await wrong(of)) ?? '', says, text);
    assert.equal(await page.getAttribute(box, 'aria-invalid'), String(says.source !== '^$'), text);
  }
  await page.fill('[aria-describedby="wrong-n"]', 'two');
  await page.click('#run'); // nothing runs, and the cursor is where it has to be
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-describedby')), 'wrong-n');
  assert.equal(await page.isVisible('#error'), false);
  await page.selectOption('#method', 'bytes');
  await page.fill('[aria-describedby="wrong-x"]', '2 x 4');
  await page.click('#run');
  await page.waitForFunction(() => !document.getElementById('error')?.hidden);
  assert.match((await page.textContent('#error')) ?? '', /aten::add/);
  await page.fill('[aria-describedby="wrong-x"]', '2 x 3');
  assert.equal(await page.isVisible('#error'), false);
  assert.deepEqual(errors, []);
  await page.close();
});

test('the page begins with the first test vector of the file, and other numbers are random', async () => {
  const f = new RushFile(),
    types = ['Tensor', 'int', 'Tensor[]'];
  f.method(
    'forward',
    { inputs: types.map((type, i) => ({ name: 'xns'.charAt(i), type })), outputs: ['y'] },
    (m, x, n, s) =>
      m.op('aten::cat', [
        m.op('prim::ListConstruct', [m.op('aten::mul.Scalar', [x, n]), m.op('aten::cat', [s, f.int(0)])], 'Tensor[]'),
        f.int(0),
      ]),
  );
  const tensor = (/** @type {number[]} */ ...data) => f.tensor(Float32Array.from(data), [data.length]);
  const s = f.container('list', 'Tensor[]', [tensor(5), tensor(6, 7)]);
  f.test(0, [tensor(1, 2), f.int(16), s], types, tensor(16, 32, 5, 6, 7));
  writeFileSync(join(dir, 'vector.rush'), f.bytes());
  const { url, server } = await serveModel(join(dir, 'vector.rush'), 0);
  const page = await host.browser.newPage();
  await page.goto(url);
  const done = (/** @type {number} */ n) =>
    page.waitForFunction((n) => document.documentElement.dataset.done === String(n), n);
  await done(1);
  assert.match((await page.textContent('#outputs')) ?? '', /16.*32.*5.*6.*7/s);
  assert.equal(await page.inputValue('[aria-describedby="wrong-n"]'), '16');
  assert.equal(await page.isVisible('#error'), false);
  await page.screenshot({ path: join(shots, 'serve-vector.png'), fullPage: true });
  await page.click('#again');
  await done(2);
  assert.doesNotMatch((await page.textContent('#outputs')) ?? '', /16.*32/s);
  await page.close();
  server.close();
});

test('ids that an embedding reads are rows of it, and each row of a result has a line', async () => {
  const f = new RushFile();
  f.method(
    'forward',
    {
      inputs: [
        { name: 'ids', dtype: 'int64', shape: [2, 10] },
        { name: 'mask', dtype: 'int64', shape: [2, 10] },
      ],
      outputs: ['y'],
    },
    (m, ids, mask) => {
      const rows = m.op('aten::embedding', [
        f.tensor(
          Float32Array.from({ length: 50 }, (_, i) => i),
          [50, 1],
          { name: 'table' },
        ),
        m.op('aten::flatten.using_ints', [ids, f.int(0), f.int(-1)]),
        f.int(-1),
        f.bool(false),
        f.bool(false),
      ]);
      return m.op('aten::mul.Tensor', [m.op('aten::reshape', [rows, f.ints([2, 10])]), mask]);
    },
  );
  writeFileSync(join(dir, 'ids.rush'), f.bytes());
  const { url, server } = await serveModel(join(dir, 'ids.rush'), 0);
  for (const [width, height] of /** @type {const} */ ([
    [1280, 900],
    [390, 844],
  ])) {
    const page = await host.browser.newPage({ viewport: { width, height } });
    await page.goto(url);
    await ran(page, '1');
    assert.deepEqual(
      await page.$$eval('.port .quiet', (/** @type {Element[]} */ all) => all.map((e) => e.textContent)),
      ['int64; random whole numbers from 0 to 49', 'int64; all 1'],
    );
    assert.deepEqual(
      await page.$$eval('#outputs .key span', (/** @type {Element[]} */ all) => all.map((e) => e.textContent)),
      ['[0]', '[1]'],
    );
    assert.match((await page.getAttribute('#outputs canvas', 'aria-label')) ?? '', /^2 rows of 10 numbers from /);
    await page.screenshot({ path: join(shots, `serve-ids-${width}.png`), fullPage: true });
    await page.click('#outputs .tabs button:has-text("numbers")');
    const numbers = await page.$$eval('#outputs td', (/** @type {Element[]} */ all) =>
      all.map((e) => Number(e.textContent)),
    );
    assert(
      new Set(numbers).size > 5 && numbers.every((/** @type {number} */ n) => Number.isInteger(n) && n >= 0 && n < 50),
      String(numbers),
    );
    await page.click('summary');
    await page.screenshot({ path: join(shots, `serve-ids-table-${width}.png`), fullPage: true });
    assert(
      (await page.evaluate(() => document.documentElement.scrollWidth)) <= width,
      'the page is wider than the window',
    );
    for (const cut of await page.$$('.port .file span, #layers td'))
      assert(
        await cut.evaluate(
          (/** @type {HTMLElement} */ e) => e.scrollWidth <= (e.closest('.file, .scroll')?.clientWidth ?? 0),
        ),
        (await cut.textContent()) ?? '',
      );
    await page.close();
  }
  server.close();
  server.closeAllConnections();
});

test('operators of --ops run in the page; a small model is so many kB', async () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2] }], outputs: ['y'] }, (m, x) =>
    m.op('my_ops::scale', [x], 'Tensor', 'my_ops::scale(Tensor x) -> Tensor'),
  );
  writeFileSync(join(dir, 'scale.rush'), f.bytes());
  writeFileSync(
    join(dir, 'scale.mjs'),
    "export default { 'my_ops::scale': (x) => ({ ...x, data: x.data.map(() => 7) }) };\n",
  );
  await assert.rejects(serveModel(join(dir, 'scale.rush'), 0, join(dir, 'none.mjs')), { code: 'unreadable' });
  const { url, server } = await serveModel(join(dir, 'scale.rush'), 0, join(dir, 'scale.mjs'));
  const page = await host.browser.newPage();
  await page.goto(url);
  await ran(page, '1');
  assert.match((await page.textContent('#about')) ?? '', /^\d\.\d kB · /);
  await page.click('#outputs .tabs button:has-text("numbers")');
  assert.deepEqual(
    await page.$$eval('#outputs td', (/** @type {Element[]} */ all) => all.map((e) => Number(e.textContent))),
    [7, 7],
  );
  await page.close();
  server.close();
  server.closeAllConnections();
});

test('neighbours of one submodule are one block of the chart, as wide as all of them', () => {
  const row = (/** @type {string} */ layer, /** @type {string} */ op, /** @type {number} */ ms) => ({
    layer,
    op,
    name: '',
    outputs: [],
    parameters: 0,
    calls: 1,
    ms,
    share: 0,
    source: '',
  });
  const blocks = blocksOf([
    row('net.a', 'aten::mm', 2),
    row('net.a', 'aten::tanh', 1),
    row('net.b', 'aten::mm', 4),
    row('', 'aten::add', 1),
    row('net.a', 'aten::mm', 2),
  ]);
  assert.deepEqual(
    blocks.map((b) => [b.depth, b.label, b.from, b.ms]),
    [
      [0, 'all', 0, 10],
      [1, 'net', 0, 7],
      [2, 'a', 0, 3],
      [3, 'mm', 0, 2],
      [3, 'tanh', 2, 1],
      [2, 'b', 3, 4],
      [3, 'mm', 3, 4],
      [1, 'add', 7, 1],
      [1, 'net', 8, 2],
      [2, 'a', 8, 2],
      [3, 'mm', 8, 2],
    ],
  );
  assert(blocks.every((b) => b.width === b.ms));
  // A page's clock may be too coarse for a small model: its operators are seen all the same.
  assert.deepEqual(
    blocksOf([row('a', 'aten::mm', 0), row('a', 'aten::tanh', 0), row('', 'aten::add', 0)]).map((b) => [
      b.label,
      b.from,
      b.width,
      b.ms,
    ]),
    [
      ['all', 0, 3, 0],
      ['a', 0, 2, 0],
      ['mm', 0, 1, 0],
      ['tanh', 1, 1, 0],
      ['add', 2, 1, 0],
    ],
  );
});
