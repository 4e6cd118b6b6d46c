// Every page at two widths, light and dark: nothing sticks out and all text can be read. Pictures of them, to be looked
// at, are kept in build/screenshots.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { start } from '../../demo/shared/chromium.mjs';
import { unreadable } from './unreadable.js';

const TOP = new URL('../../', import.meta.url);
const path = (/** @type {string} */ file) => fileURLToPath(new URL(file, TOP));
const KEPT = path('build/screenshots');
const WIDTHS = [1280, 390];
const SCHEMES = /** @type {const} */ (['light', 'dark']);

/** A page's name, its address, and the text that is there when it is ready. @type {[string, string, string][]} */
const PAGES = [
  ['demos', '/demo/', 'h1'],
  ['demo-picture', '/demo/01-image-classifier/', '#time:not(:empty)'],
  // Words, where its tokenizer could not be had
  ['demo-search', '/demo/02-semantic-search/', '#results li, #status .error'],
  ['demo-operator', '/demo/04-custom-operator/', '#table tbody tr:nth-child(8)'],
  ['demo-voice', '/demo/05-voice-activity/', '#agreement:not(:empty)'],
  ['demo-faces', '/demo/08-face-detection/', '#time:not(:empty)'],
  ['demo-speech', '/demo/09-speech-to-text/', '#agreement:not(:empty)'],
  ['run-it-here', '/demo/run-it-here/', '#device dd'],
  ['landing', '/build/docs/', '.live-model .answer'],
  ['not-found', '/build/docs/404.html', '#ways:not([hidden])'],
  ['status-features', '/build/docs/status/FEATURES.html', '.vp-doc h1'],
  ['status-speed', '/build/docs/status/SPEED.html', '.vp-doc h1'],
  ['changelog', '/build/docs/changelog.html', '.vp-doc h1'],
  ['reference-c', '/build/docs/c/index.html', '.textblock a[href="rushlight_8h.html"]'],
  ['reference-python', '/build/docs/python/rushlight.html', 'main h1'],
  ['reference-js', '/build/docs/js/index.html', '.tsd-typography'],
  ['reference-load', '/build/docs/js/functions/rushlight.load.html', '.tsd-signature'],
  ['reference-operators', '/build/docs/operators.html', 'h1'],
];
for (const file of readdirSync(path('web/guide')).filter((name) => name.endsWith('.md')))
  PAGES.push([`guide-${file.slice(0, -3)}`, `/build/docs/guide/${file.slice(0, -3)}.html`, '.vp-doc h1']);

/** @type {Awaited<ReturnType<typeof start>>} */
let host;
before(async () => {
  execFileSync(path('demo/run'), ['--export'], { stdio: ['ignore', 'ignore', 'inherit'] });
  mkdirSync(KEPT, { recursive: true });
  host = await start();
});
after(() => host?.close());

for (const [name, address, ready] of PAGES) {
  test(`${name} can be read, wide and narrow, light and dark`, async () => {
    const page = await host.newPage({ reducedMotion: 'reduce' });
    /** @type {string[]} */
    const wrong = [];
    page.on('pageerror', (/** @type {Error} */ error) => wrong.push(error.message));
    await page.goto(host.url + address);
    await page.waitForSelector(ready);
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        await page.setViewportSize({ width, height: 844 });
        await page.emulateMedia({ colorScheme });
        await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished)));
        await page.screenshot({ path: `${KEPT}/${name}-${width}-${colorScheme}.png`, fullPage: true });
        if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth))
          wrong.push(`${width} ${colorScheme}: scrolls sideways`);
        for (const text of await page.evaluate(unreadable)) wrong.push(`${width} ${colorScheme}: contrast ${text}`);
      }
    }
    await page.close();
    assert.deepEqual(wrong, []);
  });
}
