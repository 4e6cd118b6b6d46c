// The page of demo/04-custom-operator in headless Chromium.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';

execFileSync(fileURLToPath(new URL('../../demo/run', import.meta.url)), ['--export'], {
  stdio: ['ignore', 'ignore', 'inherit'],
});

/** @type {Awaited<ReturnType<typeof start>>} */
let host;
before(async () => {
  host = await start();
});
after(() => host?.close());

/** @param {object} options @param {(page: any) => Promise<void>} use */
async function withPage(options, use) {
  const page = await host.newPage(options);
  /** @type {string[]} */
  const errors = [];
  page.on('pageerror', (/** @type {Error} */ e) => errors.push(e.message));
  await page.goto(`${host.url}/demo/04-custom-operator/`);
  await page.waitForFunction(() => document.querySelectorAll('#table tbody tr').length === 8);
  await use(page);
  await page.close();
  assert.deepEqual(errors, []);
}

const result = (/** @type {any} */ page) =>
  page.$$eval('#result > *', (/** @type {HTMLElement[]} */ pixels) =>
    pixels.map((p) => Number(p.style.getPropertyValue('--value'))),
  );

test('the page computes the same in every way, and agrees with OpenCV', () =>
  withPage({ viewport: { width: 1100, height: 900 } }, async (page) => {
    const rows = await page.$$eval('#table tbody tr', (/** @type {HTMLTableRowElement[]} */ trs) =>
      trs.map((tr) => [tr.cells[0]?.textContent, Number(tr.cells[1]?.textContent)]),
    );
    for (const [name, maxAbs] of rows) assert.ok(maxAbs < 1e-5, `${name}: ${maxAbs}`);
    assert.match(
      await page.textContent('#missing'),
      /lacks: my_ops::warp_perspective\n.*\n +in forward, instruction 1 at demo\/04-custom-operator\/models\.py:\d+\n/,
    );
    const first = await result(page);
    assert.ok(first.some((/** @type {number} */ v) => v > 0.3));
    for (const way of ['worker', 'c', 'composite', 'javascript']) {
      await page.check(`input[value="${way}"]`);
      await page.waitForSelector(`#result[data-way="${way}"]`);
      (await result(page)).forEach((/** @type {number} */ v, /** @type {number} */ i) =>
        assert.ok(Math.abs(v - first[i]) < 1e-5, `${way}: pixel ${i} is ${v}, not ${first[i]}`),
      );
    }
    await page.click('[aria-label="row 1, column 1"]');
    await page.check('#mirror');
    await page.locator('#turn').fill('0');
    await page.locator('#tilt').fill('0');
    await page.waitForFunction(
      () =>
        /** @type {HTMLElement | null} */ (document.querySelector('#result > :nth-child(8)'))?.style.getPropertyValue(
          '--value',
        ) === '1',
    );
  }));

test('the page fits a phone', () =>
  withPage(
    { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, colorScheme: 'dark' },
    async (page) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    },
  ));
