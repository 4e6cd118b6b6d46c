// The package without a bundler: in Node, in pages, in a service worker; with esbuild, Vite 7, webpack and Jest. With
// others: bundlers/.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import webpack from 'webpack';

import {
  ISOLATION,
  answers,
  begin,
  browser,
  checkFolder,
  checkPage,
  openPage,
  run,
  serve,
  workshop,
} from './harness.mjs';

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url));

/** @type {ReturnType<typeof workshop>} */ let shop;
/** @type {import('playwright-core').Browser} */ let chrome;
/** @type {Awaited<ReturnType<typeof serve>>} */ let here;
/** @type {Awaited<ReturnType<typeof serve>>} */ let elsewhere;
before(async () => {
  shop = workshop();
  chrome = await browser();
  here = await serve(shop.root);
  elsewhere = await serve(shop.root);
});
after(async () => {
  await chrome?.close();
  here?.close();
  elsewhere?.close();
  shop?.remove();
});

test('Node: import, and a worker', () => {
  const dir = shop.project('node');
  for (const node of [process.execPath, process.env.RUSH_NODE_CURRENT ?? process.execPath]) {
    const { reports, workers, threads } = JSON.parse(run(dir, [node, 'main.mjs', shop.model]));
    answers(reports);
    assert.equal(workers, 1);
    answers(threads, true);
  }
});

test('Node: require, and where that takes no ES module, as before 20.19', () => {
  const dir = shop.project('require', 'node');
  assert.match(run(dir, [process.execPath, 'main.cjs', shop.model]), /^true, the same errors$/m);
  assert.match(
    run(dir, [process.execPath, '--no-experimental-require-module', 'main.cjs', shop.model]),
    /^true, other errors$/m,
  );
});

for (const environment of ['node', 'jsdom']) {
  test(`jest, as it comes, ${environment}`, () => {
    const dir = shop.project(`jest-${environment}`, 'jest');
    for (const node of [process.execPath, process.env.RUSH_NODE_CURRENT ?? process.execPath]) {
      run(
        dir,
        [
          node,
          join(modules, 'jest/bin/jest.js'),
          '--testTimeout',
          '300000',
          '--env',
          join(modules, `jest-environment-${environment}`),
        ],
        { MODEL: shop.model, CI: 'true' },
      );
    }
  });
}

test('jest with ES modules', () => {
  const dir = shop.project('jest-modules', 'jest-modules');
  for (const node of [process.execPath, process.env.RUSH_NODE_CURRENT ?? process.execPath]) {
    run(dir, [node, '--experimental-vm-modules', join(modules, 'jest/bin/jest.js'), '--testTimeout', '300000'], {
      MODEL: shop.model,
      CI: 'true',
    });
  }
});

const vite = [process.execPath, join(modules, 'vite7/bin/vite.js')];

test('vite7: the page that it builds', async () => {
  const dir = shop.project('vite7-build');
  run(dir, [...vite, 'build']);
  await checkFolder(chrome, join(dir, 'dist'), `${here.url}/digits.rush`);
});

test('vite7: the page that it serves with the headers for threads', async () => {
  const { url, close } = await begin(shop.project('vite7-threads', 'vite'), [...vite, '--port', '0']);
  await checkPage(chrome, url, `${here.url}/digits.rush`, 2).finally(close);
});

test('vite7: a page of a workspace whose root has the package, left as it is as the guide says', async () => {
  const dir = shop.project('vite7-workspace', 'vite-workspace'),
    app = join(dir, 'app');
  mkdirSync(app);
  writeFileSync(join(dir, 'package.json'), '{"private": true, "workspaces": ["app"]}');
  for (const file of ['index.html', 'page.js', 'check.js', 'vite.config.js'])
    renameSync(join(dir, file), join(app, file));
  writeFileSync(join(app, 'package.json'), '{"private": true, "type": "module"}');
  const { url, close } = await begin(app, [...vite, '--port', '0']);
  await checkPage(chrome, url, `${here.url}/digits.rush`).finally(close);
});

test('vite7: the page that it serves, and what that says without the script of the worker', async () => {
  const dir = shop.project('vite7-dev');
  const opened = async (/** @type {(url: string) => Promise<void>} */ use) => {
    const { url, close } = await begin(dir, [...vite, '--port', '0']);
    await use(url).finally(close);
  };
  await opened((url) => checkPage(chrome, url, `${here.url}/digits.rush`));
  rmSync(join(dir, 'node_modules/rushlight/src/worker/worker.js'));
  await opened(async (url) => {
    const { page, close } = await openPage(chrome, url, 'check');
    const said = await page.evaluate(
      (model) =>
        /** @type {any} */ (globalThis).check(model, true).catch((/** @type {any} */ e) => `${e.code}: ${e.message}`),
      `${here.url}/digits.rush`,
    );
    assert.match(
      said,
      /^bad-file: the worker did not start: \S+\/node_modules\/rushlight\/src\/worker\/worker\.js must be a script, got HTML/,
    );
    await close();
  });
});

test('webpack, of import and of require', async () => {
  const dir = shop.project('webpack');
  writeFileSync(join(dir, 'page.cjs'), "globalThis.same = require('rushlight');\n");
  const stats = await new Promise((resolve, reject) => {
    webpack(
      { mode: 'production', context: dir, entry: ['./page.js', './page.cjs'], output: { path: join(dir, 'dist') } },
      (e, stats) => (e ? reject(e) : resolve(stats)),
    );
  });
  assert(!stats.hasErrors(), String(stats));
  const files = stats
    .toJson({ all: false, modules: true, nestedModules: true })
    .modules.flatMap((/** @type {any} */ { name, modules = [] }) => [
      name,
      ...modules.map((/** @type {any} */ m) => m.name),
    ])
    .join('\n');
  // `import` and `require` must give one instance.
  assert(files.includes('/rushlight/src/base/errors.js') && !files.includes('/cjs/'), files);
  await checkFolder(chrome, dir, `${here.url}/digits.rush`);
});

test('a page with an import map', async () => {
  await checkFolder(chrome, shop.project('importmap'), `${here.url}/digits.rush`);
});

test("the guide's page to copy", async () => {
  const dir = shop.project('guide');
  const [, html = ''] =
    /^```html\n([^]*?)^```/m.exec(readFileSync(new URL('../../web/guide/page.md', import.meta.url), 'utf8')) ?? [];
  writeFileSync(join(dir, 'index.html'), html);
  cpSync(join(shop.root, 'gate.rush'), join(dir, 'gate.rush'));
  const page = await chrome.newPage();
  /** @type {string[]} */ const errors = [];
  page.on('pageerror', (e) => errors.push(e.message));
  await page.goto(`${here.url}/guide/`);
  const says = async (/** @type {RegExp} */ wanted) => {
    await page.waitForFunction(
      (wanted) => new RegExp(wanted).test(document.querySelector('output')?.textContent ?? ''),
      wanted.source,
    );
    return page.textContent('output');
  };
  const first = await says(/^(-?\d+\.\d{3} ?){3}$/);
  await page.fill('input', '0 0 0');
  await says(/linear/);
  await page.fill('input', ' 1  2 3 4');
  assert.equal(await says(/^(-?\d+\.\d{3} ?){3}$/), first);
  assert.deepEqual(errors, []);
  await page.close();
});

test('esbuild with the plugin takes the wasm and the worker along', async () => {
  const dir = shop.project('esbuild'),
    { esbuild } = await import(join(dir, 'node_modules/rushlight/src/api/bundler.js'));
  const options = /** @type {import('esbuild').BuildOptions} */ ({
    entryPoints: [join(dir, 'page.js')],
    bundle: true,
    format: 'esm',
    minify: true,
    plugins: [esbuild()],
  });
  await build({ ...options, outdir: join(dir, 'dist') });
  await build({
    ...options,
    outdir: join(dir, 'split'),
    splitting: true,
    assetNames: 'assets/[name]-[hash]',
    entryNames: 'js/[name]',
    chunkNames: 'js/[name]-[hash]',
  });
  rmSync(join(dir, 'node_modules'), { recursive: true });
  const page = readFileSync(join(dir, 'index.html'), 'utf8');
  for (const script of ['./dist/page.js', './split/js/page.js']) {
    writeFileSync(join(dir, 'index.html'), page.replace('./page.js', script));
    await checkFolder(chrome, dir, `${here.url}/digits.rush`);
  }
  for (const name of readdirSync(join(dir, 'split/assets')))
    if (name.startsWith('worker')) rmSync(join(dir, 'split/assets', name));
  const { page: tab, close } = await openPage(chrome, `${here.url}/esbuild/`, 'check');
  assert.match(
    await tab.evaluate(
      (model) =>
        /** @type {any} */ (globalThis).check(model, true).catch((/** @type {any} */ e) => `${e.code}: ${e.message}`),
      `${here.url}/digits.rush`,
    ),
    /^network: the worker did not start: the script did not load.* loads without `worker`$/,
  );
  await close();
  assert.deepEqual(
    readdirSync(join(dir, 'dist'))
      .map((name) => name.replace(/-[A-Z0-9]{8}/, ''))
      .sort(),
    [
      'gpu-worker.js',
      'page.js',
      'rushlight-gpu.wasm',
      'rushlight-relaxed.wasm',
      'rushlight-simd.wasm',
      'thread.js',
      'worker.js',
    ],
  );
});

test('esbuild, which leaves the package whole', async () => {
  const dir = shop.project('esbuild-external', 'importmap'),
    page = join(dir, 'index.html');
  await build({
    entryPoints: [join(dir, 'page.js')],
    bundle: true,
    format: 'esm',
    external: ['rushlight'],
    outdir: join(dir, 'dist'),
  });
  writeFileSync(page, readFileSync(page, 'utf8').replace('./page.js', './dist/page.js'));
  await checkPage(chrome, `${here.url}/esbuild-external/`, `${here.url}/digits.rush`);
});

test('a page that imports from another origin, a worker too', async () => {
  const dir = shop.project('elsewhere', 'importmap'),
    page = join(dir, 'index.html');
  writeFileSync(page, readFileSync(page, 'utf8').replace('./node_modules', `${elsewhere.url}/elsewhere/node_modules`));
  await checkFolder(chrome, dir, `${here.url}/digits.rush`);
});

test("the guide's page from a CDN, under the policy that it names, with threads in a worker", async () => {
  shop.project('cdn');
  const [, html = ''] =
    /^```html\n([^]*?)^```/m.exec(readFileSync(new URL('../../web/guide/cdn.md', import.meta.url), 'utf8')) ?? [];
  const page = html.replaceAll('https://cdn.example/rushlight@0.1.0', `${elsewhere.url}/cdn/node_modules/rushlight`);
  const [, script = ''] = /<script type="module">([^]*)<\/script>/.exec(page) ?? [];
  const hash = createHash('sha256').update(script).digest('base64');
  mkdirSync(join(shop.root, 'cdn-page'));
  writeFileSync(join(shop.root, 'cdn-page/index.html'), page);
  const policy = (/** @type {string} */ workers) =>
    `default-src 'none'; script-src 'sha256-${hash}' 'wasm-unsafe-eval' ${elsewhere.url}; ` +
    `connect-src ${elsewhere.url}; img-src data:; worker-src ${workers}`;
  const open = async (/** @type {string} */ workers) => {
    const { url, close } = await serve(join(shop.root, 'cdn-page'), {
      ...ISOLATION,
      'Content-Security-Policy': policy(workers),
    });
    const tab = await chrome.newPage();
    /** @type {string[]} */ const started = [];
    tab.on('worker', (worker) => started.push(worker.url()));
    const said = Promise.race([
      tab.waitForEvent('pageerror').then((e) => e.message),
      tab
        .waitForFunction(() => document.querySelector('output')?.textContent !== '…')
        .then(() => tab.textContent('output')),
    ]);
    await tab.goto(`${url}/`);
    const result = await said;
    await tab.close();
    close();
    return { result, started };
  };
  const { result, started } = await open(`blob: ${elsewhere.url}`);
  assert.equal(result, '-1 0 1');
  assert(started.length > 0 && started.every((address) => address.startsWith('blob:')), started.join());
  const allow = new RegExp(`must allow worker-src blob: ${elsewhere.url}\\. `);
  assert.match(String((await open('blob:')).result), allow);
  assert.match(
    String((await open("'none'")).result),
    new RegExp(`Content-Security-Policy forbids it \\(worker-src\\)\\. Allow worker-src blob: ${elsewhere.url};`),
  );
});

test('a service worker with an operator of its own', async () => {
  shop.project('service-worker');
  const { page, close } = await openPage(chrome, `${here.url}/service-worker/`, 'ask');
  const ask = (/** @type {boolean} */ worker) =>
    page.evaluate((question) => /** @type {any} */ (globalThis).ask(question), {
      model: `${here.url}/scale.rush`,
      worker,
    });
  assert.deepEqual(await ask(false), [3, 6, 9]);
  assert.match(await ask(true), /^unsupported: .* A service worker cannot import modules at run time/);
  await close();
});
