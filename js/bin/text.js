// Text of a file, as it may be shown.

/**
 * What a terminal or an editor obeys: controls but for tab and newline, marks of lines and of directions of writing.
 */
const OBEYED = /[^\P{Cc}\t\n]|[\p{Bidi_Control}\u2028\u2029]/gu;

/** With what a terminal obeys written as "\u001b". JSON stays the same JSON. @param {string} text */
export const shown = (text) => text.replace(OBEYED, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A message, of which only the first line begins at the margin: names of a file are in it. @param {string} text */
export const indented = (text) => shown(text).replaceAll('\n', '\n  ');
