// Turns links between files of the repository into links between pages of the site.

import { posix, relative } from 'node:path';

/** Where a file of the repository is on the site. @type {[RegExp, string][]} */
const PLACES = [
  [/^web\//, ''],
  [/^docs\/status\//, 'status/'],
  [/^docs\/versions\.md/, 'versions.md'],
  [/^CHANGELOG\.md/, 'changelog.md'],
  [/^demo\//, 'live/demo/'],
];

/** Returns the path on the site, or undefined if the site has no such page. @param {string} path */
export function placeOf(path) {
  for (const [pattern, place] of PLACES) if (pattern.test(path)) return path.replace(pattern, place);
}

/**
 * Returns a rule for markdown-it. A link to a file that is not on the site leads to the repository, if its address is
 * set, and is plain text otherwise.
 * @param {string} top folder of the checkout
 * @param {string | undefined} repository
 */
export function linksToSite(top, repository) {
  return (/** @type {any} */ state) => {
    const path = state.env.realPath ?? state.env.path;
    if (!path) return; // the text of a heading, without its page
    const file = relative(top, path);
    for (const { children } of state.tokens) {
      /** @type {any} */ let removed;
      for (const token of children ?? []) {
        if (token.type === 'link_open') removed = !follow(token, file, repository) && token;
        if (removed && /^link_/.test(token.type))
          Object.assign(token, { type: 'text', tag: '', content: '', attrs: null });
      }
    }
  };
}

/** Sets the address of a link in `file`. Returns whether there is one. */
function follow(/** @type {any} */ token, /** @type {string} */ file, /** @type {string | undefined} */ repository) {
  const href = token.attrGet('href');
  if (/^([a-z]+:|#|\/)/.test(href)) return true;
  const [path = '', hash = ''] = href.split(/(?=#)/);
  const target = posix.join(posix.dirname(file), path);
  const place = placeOf(target);
  if (!place && !repository) return false;
  const relativePath = place && posix.relative(posix.dirname(placeOf(file) ?? file), place);
  const address = relativePath ? relativePath + (path.endsWith('/') ? '/' : '') : `${repository}/blob/main/${target}`;
  token.attrSet('href', address + hash);
  if (place && !/\.md$/.test(place)) token.attrSet('target', '_self'); // another generator makes that page
  return true;
}
