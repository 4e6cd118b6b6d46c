// Text of a file, as it may be shown.

import { CONTROL } from '../src/base/platform.js';

/** Writes control characters as "\u001b". JSON stays the same JSON. @param {string} text */
export const shown = (text) => text.replace(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A message, of which only the first line begins at the margin: names of a file are in it. @param {string} text */
export const indented = (text) => shown(text).replaceAll('\n', '\n  ');
