// Reads the sections of a wasm binary, and writes them again.

/** @typedef {{ id: number, start: number, end: number }} Section the range of its content */

export const TYPE = 1,
  IMPORT = 2,
  FUNCTION = 3,
  MEMORY = 5,
  EXPORT = 7,
  START = 8,
  ELEMENT = 9,
  CODE = 10,
  DATA = 11,
  DATA_COUNT = 12;

/** Flags of the limits of a memory. */
export const HAS_MAXIMUM = 1,
  SHARED = 3;

const I32_CONST = 0x41,
  END = 0x0b;

/** A position in bytes, which each read advances. */
export class Cursor {
  /** @type {Uint8Array} */ bytes;

  /** @param {Uint8Array} bytes @param {number} at */
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  byte() {
    const value = this.bytes[this.at++];
    if (value === undefined) throw new RangeError('the wasm is truncated');
    return value;
  }

  /** Reads a LEB128 number. Signed numbers are read as unsigned addresses. */
  number() {
    let value = 0,
      byte,
      by = 1;
    do {
      byte = this.byte();
      value += (byte & 127) * by;
      by *= 128;
    } while (byte & 128);
    return value;
  }

  text() {
    const n = this.number();
    return new TextDecoder().decode(this.bytes.subarray(this.at, (this.at += n)));
  }

  /** Reads the address or index at which an active segment begins. */
  offset() {
    if (this.byte() !== I32_CONST) throw new TypeError('a segment must begin at a constant');
    const value = this.number();
    if (this.byte() !== END) throw new TypeError('a segment must begin at a constant');
    return value;
  }
}

/** @param {Uint8Array} bytes @returns {Section[]} */
export function readSections(bytes) {
  const cursor = new Cursor(bytes, 8),
    sections = [];
  while (cursor.at < bytes.length) {
    const id = cursor.byte(),
      size = cursor.number();
    sections.push({ id, start: cursor.at, end: (cursor.at += size) });
  }
  return sections;
}

/**
 * Returns a position at the start of a section.
 * @param {Uint8Array} bytes
 * @param {Section[]} sections
 * @param {number} id
 */
export function inSection(bytes, sections, id) {
  const section = sections.find((s) => s.id === id);
  if (!section) throw new TypeError(`the wasm has no section ${id}`);
  return new Cursor(bytes, section.start);
}

/** Reads the functions of the table, from its first entry. @param {Uint8Array} bytes @param {Section[]} sections */
export function readTable(bytes, sections) {
  const cursor = inSection(bytes, sections, ELEMENT);
  if (cursor.number() !== 1 || cursor.number() !== 0) throw new TypeError('the table has elements of an unknown form');
  const first = cursor.offset();
  return { first, functions: Array.from({ length: cursor.number() }, () => cursor.number()) };
}

/**
 * Reads the initial memory, from the first address that a segment sets.
 * @param {Uint8Array} bytes @param {Section[]} sections
 * @returns {{ first: number, image: Uint8Array, segments: { address: number, size: number, at: number }[] }} at: the
 *   position in the binary
 */
export function readMemory(bytes, sections) {
  const cursor = inSection(bytes, sections, DATA);
  const segments = Array.from({ length: cursor.number() }, () => {
    if (cursor.number() !== 0) throw new TypeError('a data segment has an unknown form');
    const address = cursor.offset(),
      size = cursor.number();
    return { address, size, at: (cursor.at += size) - size };
  });
  const first = Math.min(...segments.map((s) => s.address));
  const image = new Uint8Array(Math.max(...segments.map((s) => s.address + s.size)) - first);
  for (const { address, size, at } of segments) image.set(bytes.subarray(at, at + size), address - first);
  return { first, image, segments };
}

/** @param {number} n @param {boolean} [signed] @returns {number[]} */
export function leb(n, signed = false) {
  const out = [];
  for (; n >= (signed ? 64 : 128); n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return [...out, n];
}

/** Encodes a table of functions. @param {{ first: number, functions: number[] }} table */
export const writeTable = ({ first, functions }) => [
  1,
  0,
  I32_CONST,
  ...leb(first, true),
  END,
  ...leb(functions.length),
  ...functions.flatMap((f) => leb(f)),
];

/** Encodes a memory as one segment. @param {{ first: number, image: Uint8Array }} memory */
export const writeMemory = ({ first, image }) => [
  1,
  0,
  I32_CONST,
  ...leb(first, true),
  END,
  ...leb(image.length),
  ...image,
];

/**
 * Returns the content of a section that is a list, with one more item.
 * @param {Uint8Array} bytes @param {Section[]} sections @param {number} id @param {number[]} item
 */
export function appendItem(bytes, sections, id, item) {
  const cursor = inSection(bytes, sections, id),
    n = cursor.number();
  const { end } = /** @type {Section} */ (sections.find((s) => s.id === id));
  return [...leb(n + 1), ...bytes.subarray(cursor.at, end), ...item];
}

/**
 * Returns the binary with new contents of some sections.
 * @param {Uint8Array} bytes @param {Section[]} sections @param {Map<number, ArrayLike<number>>} contents by id
 * @returns {Uint8Array}
 */
export function writeSections(bytes, sections, contents) {
  const parts = [bytes.subarray(0, 8)];
  for (const { id, start, end } of sections) {
    const content = Uint8Array.from(contents.get(id) ?? bytes.subarray(start, end));
    parts.push(Uint8Array.of(id, ...leb(content.length)), content);
  }
  const all = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}
