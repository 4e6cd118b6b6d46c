// Makes the pages of VitePress work at any path of any host. VitePress knows only one base. The pages are built for a
// base that stands for the real one, and a script in each page computes the real one from the page's own address.

import { dirname, relative } from 'node:path';

export const BASE = '/rushlight-base/';
const REAL = 'globalThis.rushlightBase';

/** Replaces the base in the scripts. @returns {any} a plugin of Vite */
export const relocatable = () => ({
  name: 'relocatable',
  apply: (/** @type {any} */ config) => !config.build.ssr, // the server makes the HTML, with the base
  enforce: 'post',
  generateBundle(/** @type {any} */ _options, /** @type {Record<string, any>} */ bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk') continue;
      chunk.code = /^const \w+='\{/.test(chunk.code) ? inIndex(chunk.code) : inCode(chunk.code);
      if (chunk.code.includes(BASE))
        throw new Error(`${chunk.fileName} must have ${BASE} only at the beginning of a string`);
    }
  },
});

/** In code, the base begins a string. @param {string} code */
const inCode = (code) => code.replaceAll(new RegExp(`"${BASE}([^"]*)"`, 'g'), `(${REAL}+"$1")`);

/** The index of the search is JSON in one string with single quotes. @param {string} code */
const inIndex = (code) => code.replaceAll(BASE, `'+${REAL}+'`);

/** Makes the links absolute before VitePress changes the address of the page, which relative links would follow. */
const ABSOLUTE = `for(const a of document.querySelectorAll('[href^="."]'))a.setAttribute('href',a.href)`;

/**
 * Makes the links of a page relative, and adds the script that computes the base.
 * @param {string} html
 * @param {string} file
 * @param {any} context
 */
export function relocate(html, file, { siteConfig }) {
  const root = `${relative(dirname(file), siteConfig.outDir) || '.'}/`;
  const made = html
    .replace('<head>', `<head><script>${REAL}=new URL("${root}",location.href).pathname</script>`)
    .replaceAll(`\\"base\\":\\"${BASE}\\"`, `\\"base\\":\\""+${REAL}+"\\"`)
    .replaceAll(`="${BASE}`, `="${root}`)
    .replace('</body>', `<script>${ABSOLUTE}</script></body>`);
  if (made.includes(BASE)) throw new Error(`${file} must have ${BASE} only as a link`);
  return made;
}
