// The configuration of VitePress, which makes the start, the guide and the status pages of ./dev docs.
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { BASE, relocatable, relocate } from './relocatable.mjs';
import { linksToSite } from './links.mjs';
import { sameTabs } from './tabs.mjs';

const TOP = new URL('../../', import.meta.url);
const settings = JSON.parse(readFileSync(new URL('js/package.json', TOP), 'utf8'));
/** Set by a maintainer before the first release: docs/release.md. @type {string | undefined} */
const repository = settings.repository?.url?.replace(/^git\+|\.git$/g, '');

const guide = {
  'Get started': [
    ['Start', 'index'],
    ['Export a model', 'export'],
    ['Methods and pipelines', 'methods'],
    ['How a file is verified', 'verification'],
    ['Quantization', 'quantize'],
    ['Calibration', 'calibration'],
    ['Quantization, measured', 'quantize-measurements'],
    ['Run a model', 'run'],
    ['A complete page', 'page'],
    ['From a CDN', 'cdn'],
    ['TypeScript', 'typescript'],
    ['Command line', 'command-line'],
  ],
  'In a page': [
    ['Images and audio', 'media'],
    ['Microphone and camera', 'live'],
    ['Worker', 'worker'],
    ['Pool', 'pool'],
    ['Threads', 'threads'],
    ['GPU', 'device'],
    ['Operators on the GPU', 'device-operators'],
    ['Tensors on the GPU', 'device-tensors'],
    ['Cache', 'cache'],
    ['Bundlers', 'bundlers'],
    ['Download sizes', 'download'],
    ['Frameworks', 'frameworks'],
    ['Offline', 'offline'],
    ['Memory', 'memory'],
    ['A smaller wasm', 'slim'],
    ['Errors', 'errors'],
  ],
  'Text and speech': [
    ['Text', 'generate'],
    ['Chat', 'chat'],
    ['Structured answers', 'structured'],
    ['Speech to text', 'speech'],
    ["OpenAI's interface", 'openai'],
    ['Tokenizers', 'tokenizers'],
    ['Your own decoder', 'decoder'],
  ],
  'More of PyTorch': [
    ['Recipes', 'recipes'],
    ['Sizes', 'sizes'],
    ['Labels and other files', 'assets'],
    ['Images and audio as inputs', 'declared-inputs'],
    ['Custom operators', 'operators'],
    ['Compare with PyTorch', 'compare'],
    ['Values', 'values'],
    ['Inspect a model', 'inspect'],
    ['Test your application', 'testing'],
    ['Other runtimes', 'runtimes'],
    ['Applications', 'applications'],
  ],
  Migration: [
    ['onnxruntime-web', 'from-onnxruntime-web'],
    ['Settings of onnxruntime-web', 'settings-of-onnxruntime-web'],
    ['transformers.js', 'from-transformers-js'],
    ['TensorFlow.js', 'from-tensorflow-js'],
    ['Questions', 'questions'],
  ],
};

const status = {
  Status: [
    ['Features', 'FEATURES'],
    ['Models', 'MODELS'],
    ['Operators', 'OPERATORS'],
    ['Speed', 'SPEED'],
  ],
};

/** @param {Record<string, string[][]>} groups @param {string} folder */
const sidebar = (groups, folder) =>
  Object.entries(groups).map(([text, items]) => ({
    text,
    items: items.map(([name, page]) => ({ text: name, link: `/${folder}/${page === 'index' ? '' : page}` })),
  }));

const other = (/** @type {string} */ text, /** @type {string} */ path) => ({
  text,
  link: `/${path}`,
  target: '_self', // another generator makes this page
  noIcon: true,
});

/** Highlights a line without the usual limit of time, which leaves colors out on a busy machine. @type {any} */
const withoutTimeLimit = {
  preprocess: (/** @type {string} */ _code, /** @type {any} */ options) => void (options.tokenizeTimeLimit = 0),
};

/** Pages outside web/ find the packages of the site, too. @returns {any} a plugin of Vite */
const packagesOfSite = () => ({
  name: 'packages-of-site',
  enforce: 'pre',
  resolveId(/** @type {string} */ name, /** @type {string} */ importer) {
    if (!/^vue(\/|$)/.test(name) || importer?.includes('/web/')) return null;
    return /** @type {any} */ (this).resolve(name, fileURLToPath(import.meta.url), { skipSelf: true });
  },
});

export default {
  title: 'Rushlight',
  description: "PyTorch models in the browser and in Node, with PyTorch's semantics.",
  lang: 'en',
  srcDir: fileURLToPath(TOP),
  srcExclude: [
    ...readdirSync(TOP, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !['web', 'docs'].includes(entry.name))
      .map((entry) => `${entry.name}/**`),
    ...['web/*/node_modules/**', 'web/README.md', 'web/c_index.md', 'docs/design/**', 'docs/release.md'],
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ],
  rewrites: {
    'web/index.md': 'index.md',
    'web/guide/:page': 'guide/:page',
    'docs/status/:page': 'status/:page',
    'docs/versions.md': 'versions.md',
    'CHANGELOG.md': 'changelog.md',
  },
  base: BASE, // relocatable.mjs replaces it
  outDir: fileURLToPath(new URL('build/docs', TOP)),
  cacheDir: fileURLToPath(new URL('build/site-cache', TOP)),
  ignoreDeadLinks: [/^https?:\/\/localhost/],
  transformHtml: relocate,
  vite: { plugins: [packagesOfSite(), relocatable()], publicDir: false },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    codeTransformers: [withoutTimeLimit],
    config: (/** @type {any} */ md) => {
      md.core.ruler.push('links', linksToSite(fileURLToPath(TOP), repository));
      sameTabs(md);
    },
  },
  themeConfig: {
    sidebar: { '/guide/': sidebar(guide, 'guide'), '/status/': sidebar(status, 'status') },
    nav: [
      { text: 'Guide', link: '/guide/', activeMatch: '/guide/' },
      {
        text: 'Reference',
        items: [
          other('JavaScript', 'js/'),
          other('Python', 'python/rushlight.html'),
          other('C', 'c/'),
          other('Operators', 'operators.html'),
        ],
      },
      other('Demos', 'live/demo/'),
      other('Run it here', 'live/demo/run-it-here/'),
      { text: 'Status', link: '/status/FEATURES', activeMatch: '/status/' },
      {
        text: settings.version,
        items: [
          { text: 'Changelog', link: '/changelog' },
          { text: 'What may change', link: '/versions' },
        ],
      },
    ],
    search: { provider: 'local' },
    outline: [2, 3],
    editLink: repository && { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
  },
};
