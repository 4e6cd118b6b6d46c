// Configures the pages of the JS package. A public name without a comment is an error.
import { fileURLToPath } from 'node:url';

/** @param {string} path */
const top = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** @type {any} */
export default {
  plugin: [top('web/typedoc-plugin.mjs')],
  customJs: top('web/typedoc-page.js'),
  groupOrder: ['Functions', 'Classes', 'Interfaces', '*'],
  kindSortOrder: ['Function', 'Class', 'Interface', 'TypeAlias', 'Method', 'Accessor', 'Property', 'Variable'],
  name: 'rushlight',
  entryPoints: [
    'index',
    'media/image',
    'media/audio',
    'api/cache',
    'api/pool',
    'text/load-text',
    'text/openai',
    'api/fx',
    'api/assets',
    'api/bundler',
    'media/npy',
    'media/safetensors',
  ].map((name) => top(`js/src/${name}.js`)),
  tsconfig: top('js/tsconfig.json'),
  compilerOptions: { typeRoots: [top('tests/node_modules/@types')] },
  out: top('build/docs/js'),
  readme: top('js/README.md'),
  customCss: top('web/typedoc.css'),
  navigationLinks: { Start: '../index.html', Guide: '../guide/index.html' },
  disableSources: true,
  disableGit: true,
  intentionallyNotExported: ['STATUS', 'JS_CODES', 'Structure', 'State'], // ErrorCode and the options list them
  excludePrivate: true,
  excludeInternal: true,
  hideGenerator: true,
  validation: { notExported: true, invalidLink: true, notDocumented: true },
  treatValidationWarningsAsErrors: true,
};
