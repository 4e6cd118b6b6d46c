// Shared by the pages that look at a picture: sample photographs, and files of the visitor.

import { element, fetchBlob, fetchJson } from './page.js';

/**
 * Adds a button for each sample photograph of a manifest, and presses the first one.
 * @param {string} folder with manifest.json and photos/
 * @param {HTMLElement} where
 * @param {(photo: Promise<Blob>, name: string) => unknown} show
 */
export async function addSamples(folder, where, show) {
  const { samples = [] } = await fetchJson(`${folder}/manifest.json`).catch(() => ({}));
  for (const { file: name, caption, credit } of samples) {
    const src = `${folder}/photos/${name}`;
    const button = element(
      'button',
      { type: 'button', title: `${caption} (${credit})` },
      element('img', { src, alt: caption, width: 96, height: 96 }),
    );
    button.dataset.file = name;
    button.addEventListener('click', () => show(fetchBlob(src), name));
    where.append(button);
  }
  where.querySelector('button')?.click();
}

/** Marks the button of the sample that is shown, if one is. @param {HTMLElement} where @param {string} name */
export function markSample(where, name) {
  for (const button of where.querySelectorAll('button'))
    button.setAttribute('aria-pressed', String(button.dataset.file === name));
}

/** Without color conversion the pixels are the same as in Python. @param {Blob} blob @param {string} name */
export function decodePicture(blob, name) {
  return createImageBitmap(blob, { colorSpaceConversion: 'none' }).catch(() => {
    throw new Error(`${name} is not a picture that this browser can read`);
  });
}
