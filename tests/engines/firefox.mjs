// Drives Firefox without a window, by WebDriver BiDi.

const LONG = 300_000; // ms; ends a wait for an answer that never comes

/** Starts Firefox with an empty page. */
export async function startFirefox() {
  const { default: puppeteer } = await import('puppeteer-core');
  const browser = await puppeteer.launch({
    browser: 'firefox',
    headless: true,
    timeout: LONG,
    protocolTimeout: LONG,
    executablePath: process.env.RUSH_FIREFOX ?? '/usr/bin/firefox-esr',
  });
  const page = await browser.newPage();
  return {
    version: await browser.version(),
    goto: (/** @type {string} */ url) => page.goto(url, { timeout: LONG }),
    /**
     * Runs `f` in the page and returns its result, which must be JSON.
     * @param {(arg: any) => unknown} f @param {unknown} arg
     */
    evaluate: (f, arg) => page.evaluate(f, arg),
    close: () => browser.close(),
  };
}
