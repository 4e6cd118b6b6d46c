// What both sides of the border to a worker know about messages.

/** The functions of Host that take and give plain data: what a page may ask of its worker, besides `load` and `run`. */
export const CALLS = /** @type {const} */ (['trial', 'memory', 'reset', 'manualSeed', 'state', 'setState', 'begin']);

/** The buffers of the arrays in a value, to be handed over. @param {any} v @param {Set<ArrayBuffer>} [found] */
export function buffers(v, found = new Set()) {
  if (ArrayBuffer.isView(v)) found.add(/** @type {ArrayBuffer} */ (v.buffer));
  else if (v instanceof Map) for (const item of v.values()) buffers(item, found);
  else if (v && typeof v === 'object') for (const item of Object.values(v)) buffers(item, found);
  return found;
}

