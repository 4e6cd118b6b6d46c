// axe-core looks at every page of the site: in light colors with all rules, in dark colors at the contrasts.
// Pages of the guide are measured.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { start } from '../../demo/shared/chromium.mjs';
import { audit, pages, serveSite } from '../browser/site.mjs';

/** @type {Awaited<ReturnType<typeof serveSite>>} */ let site;
/** @type {Awaited<ReturnType<typeof start>>} */ let host;
before(async () => {
  site = await serveSite();
  host = await start();
});
after(async () => {
  await host?.close();
  site?.close();
});

/**
 * Opens a page. Pages that run models load again, when their service worker has isolated them.
 * @param {any} page
 * @param {string} file
 */
async function open(page, file) {
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(site.url + file);
  if (/^live\/demo\/.*\//.test(file)) await page.waitForFunction(() => crossOriginIsolated);
}

test('axe-core finds nothing in any page', async (t) => {
  const page = await host.newPage({ reducedMotion: 'reduce' }),
    files = pages();
  assert(files.length > 100, `the site must have more than 100 pages, got ${files.length}`);
  /** @type {Map<string, string[]>} */ const found = new Map();
  const note = (/** @type {string[]} */ texts, /** @type {string} */ where) => {
    for (const text of texts) {
      if (!found.has(text)) t.diagnostic(`${where}: ${text}`);
      found.set(text, [...(found.get(text) ?? []), where]);
    }
  };
  for (const file of files) {
    await open(page, file);
    note(await audit(page), file);
    await page.emulateMedia({ colorScheme: 'dark' });
    note(await audit(page, ['color-contrast']), `${file} in dark colors`);
  }
  const told = [...found].map(([text, where]) => `${where.length} pages, first ${where[0]}\n${text}`);
  assert.equal(told.length, 0, told.slice(0, 40).join('\n\n'));
  await page.close();
});

test('no page of the guide is longer than two screens', async () => {
  const page = await host.newPage({ viewport: { width: 1280, height: 850 } });
  const heights = [];
  for (const file of pages().filter((name) => name.startsWith('guide/'))) {
    await page.goto(site.url + file);
    heights.push({ file, height: await page.evaluate(() => document.querySelector('.vp-doc')?.clientHeight ?? 0) });
  }
  assert(
    heights.every(({ height }) => height > 100),
    'each page must have content',
  );
  assert.deepEqual(
    heights.filter(({ height }) => height > 1700),
    [],
  );
  await page.close();
});
