// The configuration of VitePress, which makes the guide for ./dev docs.
import { fileURLToPath } from 'node:url';

const pages = {
  'Get started': [
    ['Start', '/'],
    ['Export a model', '/export'],
    ['Run a model', '/run'],
    ['A complete page', '/page'],
    ['From a CDN', '/cdn'],
    ['TypeScript', '/typescript'],
  ],
  'In a page': [
    ['Pictures and sound', '/media'],
    ['Worker', '/worker'],
    ['Pool', '/pool'],
    ['Threads', '/threads'],
    ['Download once', '/cache'],
    ['Bundlers', '/bundlers'],
    ['Frameworks', '/frameworks'],
    ['Offline', '/offline'],
    ['Memory', '/memory'],
    ['A smaller wasm', '/slim'],
    ['Errors', '/errors'],
  ],
  'More of PyTorch': [
    ['Sizes', '/sizes'],
    ['Text, token by token', '/generate'],
    ['Labels and other files', '/assets'],
    ['Custom operators', '/operators'],
    ['Check the answers', '/right'],
    ['Values', '/values'],
    ['Look inside', '/inspect'],
    ['Test your application', '/testing'],
    ['Other runtimes', '/runtimes'],
  ],
  Migration: [
    ['onnxruntime-web', '/from-onnxruntime-web'],
    ['transformers.js', '/from-transformers-js'],
    ['Questions', '/questions'],
  ],
};

export default {
  title: 'Rushlight',
  description: "PyTorch models in the browser and in Node, with PyTorch's semantics.",
  base: '/build/docs/guide/', // the path in ./dev serve
  outDir: fileURLToPath(new URL('../../../build/docs/guide', import.meta.url)),
  cacheDir: fileURLToPath(new URL('../../../build/guide-cache', import.meta.url)),
  srcExclude: ['README.md'],
  ignoreDeadLinks: [/^https?:\/\/localhost/],
  markdown: { theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  themeConfig: {
    sidebar: Object.entries(pages).map(([text, items]) => ({
      text,
      items: items.map(([name, link]) => ({ text: name, link })),
    })),
    nav: [
      { text: 'Reference', link: '../', target: '_self', noIcon: true },
      { text: 'Demos', link: '../../../demo/', target: '_self', noIcon: true },
    ],
    search: { provider: 'local' },
    outline: false,
    aside: false,
  },
};
