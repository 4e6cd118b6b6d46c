// The sizes of what a page downloads for each import of the package: minified by esbuild and compressed by Brotli.
// `./dev shell node tests/lint/download-sizes.mjs --write` puts the table into web/guide/download.md. Without --write,
// it fails if a row is too large, or if the guide has another size.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

import { build } from 'esbuild';

const js = fileURLToPath(new URL('../../js/', import.meta.url));
const page = fileURLToPath(new URL('../../web/guide/download.md', import.meta.url));

/** Modules that are imported when they are first needed are no part of the module that imports them. */
const lateImports = {
  name: 'late imports',
  setup: (/** @type {import('esbuild').PluginBuild} */ { onResolve }) =>
    onResolve({ filter: /./ }, ({ path, kind }) => (kind === 'dynamic-import' ? { path, external: true } : undefined)),
};

/**
 * Each row of the table: the import or option, its modules, and the most bytes that it may have. A row after the first
 * has the bytes in addition to the core and to modules that it needs `beside`, except that a script of a worker has all
 * of its bytes.
 * @type {[string, { add?: string[], beside?: string[], scripts?: string[], most: number }][]}
 */
const ROWS = [
  ['`rushlight`', { add: ['index'], most: 13_000 }],
  ['`rushlight/image`', { add: ['media/image'], most: 3_800 }],
  ['`rushlight/audio`', { add: ['media/audio'], most: 2_600 }],
  ['`rushlight/cache`', { add: ['api/cache'], most: 9_000 }],
  ['`rushlight/pool`', { add: ['api/pool'], most: 9_000 }],
  ['`rushlight/text`', { add: ['text/load-text'], most: 10_000 }],
  ['its `classify()` of parts of texts', { add: ['text/entities'], most: 1_500 }],
  ['its `transcribe()`', { add: ['text/transcriber', 'text/logits-rules'], most: 4_500 }],
  ['`rushlight/openai`', { add: ['text/openai'], most: 13_000 }],
  ['options `schema`, `regex` and `choices`', { add: ['grammar/constraint'], most: 10_000 }],
  ['`rushlight/fx`', { add: ['api/fx', 'api/steps'], most: 4_500 }],
  ['`rushlight/npy`', { add: ['media/npy'], most: 1_500 }],
  ['`rushlight/safetensors`', { add: ['media/safetensors'], most: 2_000 }],
  ['options `cache` and `integrity`', { add: ['api/load-options'], most: 16_000 }],
  ['option `worker`', { add: ['api/load-options'], scripts: ['worker/worker'], most: 38_000 }],
  ['option `device`', { add: ['gpu/load-gpu', 'gpu/choose'], beside: ['api/load-options'], most: 8_000 }],
  ['options `device` and `worker`', { add: ['api/load-options'], scripts: ['worker/gpu-worker'], most: 48_000 }],
  ['option `threads`', { add: ['worker/threads'], scripts: ['worker/thread'], most: 4_000 }],
];

/**
 * @param {string[]} names of modules in src/
 * @param {string[]} external
 * @param {boolean} [script] whether they run by themselves
 */
async function bundled(names, external, script = false) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: names.map((name) => `export * from './src/${name}.js';`).join('\n'), resolveDir: js },
    absWorkingDir: js,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    external,
    plugins: [lateImports],
    ignoreAnnotations: script, // package.json says that modules have no side effects
  });
  return { bytes: outputFiles[0]?.contents ?? new Uint8Array(), files: Object.keys(metafile.inputs) };
}

/** The core, as a bundler makes it. */
export const bundledCore = async () => (await bundled(['index'], [])).bytes;

/** The sizes in the order of the table: names, bytes, and the most that they may be. */
async function sizes() {
  const filesOf = async (/** @type {string[]} */ names) =>
    (await bundled(names, [])).files.filter((file) => file.startsWith('src/')).map((file) => js + file);
  const core = await filesOf(['index']);
  const size = async (/** @type {Parameters<typeof bundled>} */ ...args) =>
    brotliCompressSync((await bundled(...args)).bytes).length;
  return Promise.all(
    ROWS.map(async ([name, { add = [], beside = [], scripts = [], most }], i) => {
      const there = i ? [...core, ...(await filesOf(beside))] : [];
      const parts = await Promise.all([size(add, there), ...scripts.map((script) => size([script], [], true))]);
      return { name, bytes: parts.reduce((a, b) => a + b), most };
    }),
  );
}

const TABLE = /(?<=^\| Import or option \| kB, brotli \|\n\|---\|---\|\n)(?:\|.*\n)+/m;

/** The rows of the table in web/guide/download.md: names and kB. */
const told = () =>
  (TABLE.exec(readFileSync(page, 'utf8'))?.[0] ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name = '', kB]) => ({ name, kB: Number(kB) }));

/** Returns what is wrong with the rows, or with the guide. @param {Awaited<ReturnType<typeof sizes>>} rows */
function faults(rows) {
  const table = told();
  if (table.map(({ name }) => name).join() !== rows.map(({ name }) => name).join())
    return ['web/guide/download.md has other rows than ROWS of tests/lint/download-sizes.mjs'];
  return rows.flatMap(({ name, bytes, most }, i) => {
    const kB = table[i]?.kB ?? 0;
    if (!(bytes > 500 && bytes < most)) return [`${name} has ${bytes} bytes, and must have fewer than ${most}`];
    return Math.abs(1000 * kB - bytes) <= 0.05 * bytes + 50
      ? []
      : [`web/guide/download.md: ${name} must have ${bytes} bytes, got ${kB} kB: use --write`];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await sizes();
  if (process.argv.includes('--write')) {
    const table = rows.map(({ name, bytes }) => `| ${name} | ${(bytes / 1000).toFixed(1)} |\n`).join('');
    writeFileSync(
      page,
      readFileSync(page, 'utf8').replace(TABLE, () => table),
    );
  }
  for (const { name, bytes, most } of rows) console.log(`${name}: ${bytes} of ${most} bytes`);
  const wrong = faults(rows);
  for (const text of wrong) console.error(text);
  process.exitCode = wrong.length ? 1 : 0;
}
