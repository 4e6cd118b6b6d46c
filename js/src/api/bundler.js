/**
 * Plugins for esbuild and Rollup, which do not follow `new URL('…', import.meta.url)`. The plugins copy the wasm and
 * the worker. Other bundlers need none. The module runs in Node.
 * @module rushlight/bundler
 */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const sourceFolder = fileURLToPath(new URL('../../src/', import.meta.url));
/** The entry points of the package. @type {{ exports: Record<string, string | { default: string }> }} */
const { exports: names } = JSON.parse(readFileSync(join(sourceFolder, '../package.json'), 'utf8'));
/** The expression with which a file of the package refers to a file that it does not import. */
const LITERAL = /new URL\('(\.\.?\/[^']+)', import\.meta\.url\)/g;

/**
 * @typedef {object} EsbuildParts the part of esbuild's PluginBuild that the plugin uses
 * @property {{ build: (options: object) => Promise<{ outputFiles: { path: string, contents: Uint8Array }[],
 *   metafile: { outputs: Record<string, { entryPoint?: string }> } }> }} esbuild
 * @property {{ assetNames?: string, minify?: boolean, target?: string | string[], publicPath?: string,
 *   absWorkingDir?: string }} initialOptions
 * @property {(options: { filter: RegExp, namespace: string }, load: (file: { path: string }) => Promise<object |
 *   undefined>) => void} onLoad
 * @property {(options: { filter: RegExp }, resolve: (file: { path: string }) => object) => void} onResolve
 */

/** Returns a module with an import for each file that it names by a URL. @param {string} path */
async function withImports(path) {
  /** @type {string[]} */ const files = [];
  const code = (await readFile(path, 'utf8')).replace(
    LITERAL,
    (_, file) => `new URL(file${files.push(file)}, import.meta.url)`,
  );
  const imports = files.map(
    (file, i) => `import file${i + 1} from ${JSON.stringify(`rushlight-file:${join(dirname(path), file)}`)};`,
  );
  return { contents: imports.join('') + code, resolveDir: dirname(path) };
}

/**
 * Bundles the script of a worker. Its output is in the same folder as the wasm.
 * @param {string} path @param {EsbuildParts['esbuild']} esbuild @param {EsbuildParts['initialOptions']} options
 */
async function bundledScript(path, { build }, { assetNames = '[name]-[hash]', ...options }) {
  const { minify, target, publicPath, absWorkingDir = process.cwd() } = options;
  const { outputFiles, metafile } = await build({
    entryPoints: [path],
    bundle: true,
    format: 'esm',
    write: false,
    metafile: true,
    absWorkingDir,
    outdir: sourceFolder,
    entryNames: assetNames,
    assetNames,
    minify,
    target,
    publicPath,
    plugins: [esbuild()],
  });
  // The scripts of a worker's own workers are beside its script.
  const own = Object.keys(metafile.outputs)
    .filter((name) => /** @type {{ entryPoint?: string }} */ (metafile.outputs[name]).entryPoint)
    .map((name) => resolve(absWorkingDir, name));
  return /** @type {typeof outputFiles[0]} */ (outputFiles.find((file) => own.includes(file.path))).contents;
}

// eslint-disable-next-line types/any -- the types of esbuild are not a dependency of this package
/**
 * Makes the plugin for esbuild's API: `plugins: [esbuild()]`, with `format: 'esm'`.
 * @returns {any} the plugin
 */
export const esbuild = () => ({
  name: 'rushlight',
  /** @param {EsbuildParts} build */
  setup({ esbuild, initialOptions, onLoad, onResolve }) {
    onLoad({ filter: /\.js$/, namespace: 'file' }, async ({ path }) =>
      path.startsWith(sourceFolder) ? withImports(path) : undefined,
    );
    onResolve({ filter: /^rushlight-file:/ }, ({ path }) => ({ path: path.slice(15), namespace: 'rushlight-file' }));
    onLoad({ filter: /./, namespace: 'rushlight-file' }, async ({ path }) => ({
      contents: path.endsWith('.js') ? await bundledScript(path, esbuild, initialOptions) : await readFile(path),
      loader: 'file',
    }));
  },
});

// eslint-disable-next-line types/any -- the types of Rollup are not a dependency of this package
/**
 * Makes the plugin for Rollup: `plugins: [rollup()]`, with `output: { dir, format: 'es' }`.
 * @returns {any} the plugin
 */
export const rollup = () => ({
  name: 'rushlight',
  /** @param {string} id */
  resolveId(id) {
    const name = id.startsWith('rushlight') && names[`.${id.slice(9)}`];
    return name ? join(sourceFolder, '..', typeof name === 'string' ? name : name.default) : null;
  },
  /**
   * @this {{ emitFile: (file: { type: 'chunk', id: string } | { type: 'asset', name: string, source: Uint8Array }) =>
   *   string }}
   * @param {string} code @param {string} id
   */
  async transform(code, id) {
    if (!id.startsWith(sourceFolder)) return null;
    /** @type {Map<string, string>} */ const emitted = new Map();
    for (const [, file = ''] of code.matchAll(LITERAL)) {
      const path = join(dirname(id), file);
      emitted.set(
        file,
        this.emitFile(
          path.endsWith('.js')
            ? { type: 'chunk', id: path }
            : { type: 'asset', name: basename(path), source: await readFile(path) },
        ),
      );
    }
    return {
      code: code.replace(LITERAL, (_, file) => `new URL(import.meta.ROLLUP_FILE_URL_${emitted.get(file)})`),
      map: null,
    };
  },
});
