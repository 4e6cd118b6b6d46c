// Runs one engine's part of the benchmark: node main.mjs OPTIONS-AS-JSON. Prints JSON. See run.

import { readFile } from 'node:fs/promises';

import { start } from '../../demo/shared/chromium.mjs';
import { load } from '../../js/src/index.js';
import { bench, compileTime } from './bench.js';

const { models, backends, rounds, threads, chromium } = JSON.parse(process.argv[2]);
const wasmFile = (/** @type {string} */ name) => `js/wasm/rushlight-${name}.wasm`;
const top = new URL('../../', import.meta.url);

async function inNode() {
  const compile = Object.fromEntries(
    await Promise.all(
      backends.map(async (/** @type {string} */ name) => [
        name,
        await compileTime(await readFile(new URL(wasmFile(name), top))),
      ]),
    ),
  );
  const results = [];
  for (const name of models) {
    console.error(`» ${name} in Node ${process.versions.node}`);
    results.push(
      ...(await bench({
        load,
        name,
        backends,
        rounds,
        threads,
        read: (file) => readFile(new URL(`build/bench/${file}`, top)),
      })),
    );
  }
  return { host: `Node ${process.versions.node}`, compile, results };
}

async function inChromium() {
  const { browser, newPage, url, close } = await start();
  try {
    const results = [];
    let compile = {};
    for (const name of models) {
      console.error(`» ${name} in Chromium`);
      const page = await newPage(); // a fresh heap for each
      await page.goto(`${url}/demo/`);
      const part = await page.evaluate(
        async (/** @type {any} */ o) => {
          const { bench, compileTime } = await import('/tests/bench/bench.js');
          const { load } = await import('/js/src/index.js');
          const read = async (/** @type {string} */ file) => new Uint8Array(await (await fetch(file)).arrayBuffer());
          const compile = Object.fromEntries(
            await Promise.all(
              o.backends.map(async (/** @type {string} */ b) => [
                b,
                await compileTime(await read(`/js/wasm/rushlight-${b}.wasm`)),
              ]),
            ),
          );
          return {
            compile,
            results: await bench({
              load,
              name: o.name,
              backends: o.backends,
              rounds: o.rounds,
              threads: o.threads,
              read: (/** @type {string} */ file) => read(`/build/bench/${file}`),
            }),
          };
        },
        { name, backends, rounds, threads },
      );
      compile = part.compile;
      results.push(...part.results);
      await page.close();
    }
    return { host: `Chromium ${browser.version().split('.')[0]}`, compile, results };
  } finally {
    await close();
  }
}

const text = JSON.stringify(chromium ? await inChromium() : await inNode());
process.stdout.write(text, () => process.exit(0)); // the threads would keep the process alive
