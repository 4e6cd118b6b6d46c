// Shared by the demo pages: loads a model with a progress bar, and shows facts and errors.

import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'

/** @param {number} bytes */
export const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
/** @param {number} ms */
export const milliseconds = (ms) => `${ms.toFixed(ms < 1 ? 2 : ms < 100 ? 1 : 0)} ms`;

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [properties]
 * @param {(Node | string)[]} children
 */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** @param {string} url @param {string} [command] that makes the file */
export async function fetchJson(url, command = './dev demo') {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}. Run ${command} first.`);
  return response.json();
}

/** @param {string} url */
export async function fetchBlob(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response.blob();
}

/**
 * Makes a line of a ranked list.
 * @param {string} text @param {string} value @param {number} part the length of the bar behind it, 0 to 1
 */
export function rankedLine(text, value, part) {
  const line = element('li', {}, element('span', {}, text), element('span', { className: 'value' }, value));
  line.style.setProperty('--part', String(part));
  return line;
}

/** Shows an error's message in the page. @param {HTMLElement} where @param {unknown} error */
export function showError(where, error) {
  console.error(error);
  where.replaceChildren(element('p', { className: 'error', role: 'alert' }, /** @type {Error} */ (error).message));
}

/**
 * Loads the model of a manifest (see export.py), showing progress and then facts in `where`.
 * @param {string} folder with manifest.json
 * @param {HTMLElement} where
 * @param {import('../../js/src/index.js').LoadOptions} [options]
 */
export async function loadModel(folder, where, options) {
  const { loaded, manifest } = await loadBy(load, (model) => model, folder, where, options);
  return { model: loaded, manifest };
}

/**
 * Loads a model with another function instead of load().
 * @template T, {object} O
 * @param {(source: string, options: O) => Promise<T>} open
 * @param {(loaded: T) => import('../../js/src/index.js').Model} modelOf
 * @param {string} folder
 * @param {HTMLElement} where
 * @param {O} [options]
 */
export async function loadBy(open, modelOf, folder, where, options) {
  const bar = element('progress', { max: 1, value: 0, ariaLabel: 'Loading' });
  const text = element('p', { className: 'quiet' }, 'Loading the model');
  where.replaceChildren(bar, text);
  const manifest = await fetchJson(`${folder}/manifest.json`);
  const start = performance.now();
  const loaded = await open(`${folder}/${manifest.file}`, {
    .../** @type {O} */ (options),
    onProgress: (/** @type {{loaded: number, total?: number}} */ { loaded: bytes, total }) => {
      if (total) bar.value = bytes / total;
      text.textContent = `Loading the model: ${megabytes(bytes)}${total ? ` of ${megabytes(total)}` : ''}`;
    },
  });
  const { backend } = modelOf(loaded);
  const facts = [
    ['Model', `${manifest.title}, ${megabytes(manifest.bytes)}, loaded in ${milliseconds(performance.now() - start)}`],
    ['Backend', `${backend.name}: ${backend.reason}`],
  ];
  if (manifest.note) facts.push(['Note', manifest.note]);
  where.replaceChildren(
    element('dl', {}, ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)])),
  );
  return { loaded, manifest };
}
