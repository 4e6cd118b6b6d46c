// Runs a turn in a new page of Chromium.

/**
 * Imports a module of tests/bench in a new page, and calls its function with a job and a function that reads files.
 * @param {{ newPage: () => Promise<any>, url: string }} browser
 * @param {any} job
 * @param {object} where
 * @param {string} where.module the module, and the function that it exports
 * @param {string} where.name
 * @param {string} where.folder the files that the job reads
 * @param {number} where.limit ms; ends a wait that would never end
 * @param {() => object} [more] a measurement that is added to the result while the page is open
 */
export async function inPage({ newPage, url }, job, { module, name, folder, limit }, more = () => ({})) {
  const page = await newPage();
  try {
    await page.goto(`${url}/tests/bench/rivals/page.html`);
    const result = await Promise.race([
      page.evaluate(call, { job, module, name, folder }),
      new Promise((_, fail) => setTimeout(() => fail(new Error(`nothing in ${limit / 1000} s`)), limit).unref()),
    ]);
    return { ...result, ...more() };
  } catch (error) {
    return { error: String(error).slice(0, 2000) };
  } finally {
    await page.close();
  }
}

/** This function runs in the page. @param {Record<string, any>} what */
async function call({ job, module, name, folder }) {
  const made = await import(`/tests/bench/${module}`);
  return made[name](job, async (/** @type {string} */ file) => {
    const response = await fetch(`${folder}/${file}`);
    if (!response.ok) throw new Error(`${file}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  });
}
