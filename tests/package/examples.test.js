// The examples of the repository that need no tools. The others are in bundlers/examples.test.js.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { chromium } from 'playwright-core';

import { begin, browser, checkAnswers, run, serve, workshop } from './harness.mjs';
import { answerAt, invoke } from './lambda.mjs';

const currentNode = process.env.RUSH_NODE_CURRENT ?? process.execPath;

/** @type {ReturnType<typeof workshop>} */ let shop;
before(() => {
  shop = workshop();
});
after(() => shop?.remove());

test('offline: the page works without its server', async () => {
  const dir = shop.example('offline'),
    chrome = await browser();
  run(dir, [process.execPath, 'build.mjs']);
  const { url, close } = await serve(join(dir, 'dist'));
  const context = await chrome.newContext(),
    page = await context.newPage();
  await page.goto(`${url}/`);
  await page.evaluate(() => navigator.serviceWorker.ready);
  close();
  for (let i = 0; i < 2; i++) {
    await page.reload();
    await checkAnswers(page);
  }
  await chrome.close();
});

test('node-server', async () => {
  for (const node of [process.execPath, currentNode]) {
    const { url, close } = await begin(
      shop.example('node-server', `server-${node === currentNode}`),
      [node, 'server.js'],
      {
        PORT: '0',
      },
    );
    const ask = (/** @type {string} */ body) => fetch(url, { method: 'POST', body });
    try {
      const answers = Array.from({ length: 20 }, async () => (await ask('[[1, 2, 3, 4], [4, 3, 2, 1]]')).json());
      for (const answer of await Promise.all(answers))
        assert.deepEqual(answer, [
          [1, 0, 0],
          [2.5, 0.5, 8],
        ]);
      for (const body of ['[[1]]', '{', '5']) assert.equal((await ask(body)).status, 400, body);
    } finally {
      await close();
    }
  }
});

test('lambda: cold and warm calls, an error, and a restart that finds the model in /tmp', async (t) => {
  const folder = shop.example('lambda'),
    tmp = join(shop.root, 'lambda-tmp');
  mkdirSync(tmp);
  const bytes = readFileSync(join(folder, 'node_modules/rushlight/gate.rush'));
  let sent = 0;
  const { host, end } = await answerAt((request, response) => {
    const known = request.headers['if-none-match'] === '"1"';
    if (!known) sent++;
    response.writeHead(known ? 304 : 200, { etag: '"1"' }).end(known ? undefined : bytes);
  });
  t.after(end);
  const env = { MODEL_URL: `http://${host}/gate.rush`, TMPDIR: tmp, HOME: '/nowhere' };
  const x = [[1, 2, 3, 4]],
    y = { shape: [1, 3], data: [-1, 0, 1] };
  const [cold, warm, wrong, again] = await invoke(folder, env, [{ x }, { x }, { x: 'text' }, { x }]);
  assert.deepEqual(
    [cold, warm, again],
    [0, 1, 2].map(() => ['response', y]),
  );
  const [kind, error] = /** @type {[string, { errorType: string, errorMessage: string }]} */ (wrong);
  assert.deepEqual([kind, error.errorType], ['error', 'RushlightError']);
  assert.match(error.errorMessage, /^input "x" must be a tensor .*, got the string "text"$/);
  assert.deepEqual(await invoke(folder, env, [{ x }]), [['response', y]]);
  assert.equal(sent, 1);
});

test('extension', async () => {
  const dir = shop.example('extension'),
    folder = join(dir, 'dist');
  run(dir, [process.execPath, 'build.mjs']);
  const context = await chromium.launchPersistentContext(join(dir, 'profile'), {
    executablePath: /** @type {string} */ (process.env.RUSH_CHROMIUM),
    args: [
      '--no-sandbox',
      '--headless=new',
      `--disable-extensions-except=${folder}`,
      `--load-extension=${folder}`,
      '--disable-features=DisableLoadExtensionCommandLineSwitch',
    ],
    ignoreDefaultArgs: ['--disable-extensions', '--headless'],
  });
  try {
    const page = await context.newPage();
    await page.goto('chrome://extensions');
    const id = await page.evaluate(
      () =>
        new Promise((resolve) =>
          /** @type {any} */ (globalThis).chrome.developerPrivate.getExtensionsInfo({}, (/** @type {any} */ all) =>
            resolve(all.find((/** @type {any} */ one) => one.name === 'Rushlight example')?.id),
          ),
        ),
    );
    await page.goto(`chrome-extension://${id}/popup.html`);
    await checkAnswers(page);
  } finally {
    await context.close();
  }
});
