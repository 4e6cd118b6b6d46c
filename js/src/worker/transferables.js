// Buffers that a message between a page and its worker hands over in place of copying them.

/** Returns the buffers of the arrays in a value, at any depth. @param {unknown} v @param {Set<ArrayBuffer>} [found] */
export function buffersIn(v, found = new Set()) {
  if (ArrayBuffer.isView(v)) found.add(/** @type {ArrayBuffer} */ (v.buffer));
  else if (v instanceof Map) for (const item of v.values()) buffersIn(item, found);
  else if (v && typeof v === 'object') for (const item of Object.values(v)) buffersIn(item, found);
  return found;
}
