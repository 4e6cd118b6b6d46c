// The script of replay.html, and (with where=worker) the worker that it starts.

import { load } from '../../js/src/index.js';
import { replay } from './replay.mjs';

const params = new URL(import.meta.url).searchParams.size
  ? new URL(import.meta.url).searchParams
  : new URLSearchParams(location.search);
const inWorker = typeof document === 'undefined';

async function run() {
  const manifest = new URL(params.get('manifest') ?? '', location.href);
  const { rows } = await (await fetch(manifest)).json();
  const read = async (/** @type {string} */ file) =>
    new Uint8Array(await (await fetch(new URL(file, manifest))).arrayBuffer());
  const only = new RegExp(params.get('rows') ?? ''),
    every = Number(params.get('every') ?? 1);
  return replay({
    load,
    rows: rows
      .filter((/** @type {any} */ { name, file }) => only.test(name ?? file))
      .filter((/** @type {any} */ _, /** @type {number} */ i) => i % every === 0),
    read,
    backend: /** @type {any} */ (params.get('backend') ?? 'auto'),
    device: /** @type {any} */ (params.get('device') ?? 'cpu'),
  });
}

function runInWorker() {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(`./replay-page.js${location.search}`, import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => {
      worker.terminate();
      data.error ? reject(new Error(data.error)) : resolve(data);
    };
    worker.onerror = (e) => reject(new Error(e.message));
  });
}

if (inWorker) {
  run().then(
    (report) => postMessage(report),
    (e) => postMessage({ error: String(e) }),
  );
} else {
  const report = params.get('where') === 'worker' ? runInWorker() : run();
  Object.assign(globalThis, { report });
  const text = /** @type {HTMLElement} */ (document.getElementById('text'));
  report.then(
    ({ backend, passed, failed }) => {
      text.textContent =
        `${backend}: ${passed} passed, ${failed.length} ` +
        `failed\n${failed.map((/** @type {any} */ f) => `${f.file}: ${f.message}`).join('\n')}`;
    },
    (e) => {
      text.textContent = String(e);
    },
  );
}
