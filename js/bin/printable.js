// Makes texts of a file safe to print.

import { CONTROL } from '../src/base/platform.js';

/** Writes control characters as "\u001b". JSON stays the same JSON. @param {string} text */
export const escapeControls = (text) =>
  text.replace(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * Indents all lines of a message except the first, because names of a file in it may have newlines.
 * @param {string} text
 */
export const indented = (text) => escapeControls(text).replaceAll('\n', '\n  ');

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], cyan: [36, 39] };
/** @typedef {keyof typeof STYLES} Style */

/**
 * Colors a text for a terminal. NO_COLOR forbids colors, and FORCE_COLOR allows them everywhere.
 * @param {Style} style
 * @param {string} text
 * @param {{ isTTY?: boolean }} [stream] where it is written
 */
export function styled(style, text, stream = process.stdout) {
  const { NO_COLOR = '', FORCE_COLOR = '' } = process.env;
  const [on, off] = STYLES[style];
  return !NO_COLOR && (FORCE_COLOR || stream.isTTY) ? `\x1b[${on}m${text}\x1b[${off}m` : text;
}
