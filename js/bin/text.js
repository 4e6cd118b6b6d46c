// Makes texts of a file safe to print.

import { CONTROL } from '../src/base/platform.js';

/** Writes control characters as "\u001b". JSON stays the same JSON. @param {string} text */
export const shown = (text) => text.replace(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * Indents all lines of a message except the first, because names of a file in it may have newlines.
 * @param {string} text
 */
export const indented = (text) => shown(text).replaceAll('\n', '\n  ');
