// Writes what each operator reaches in a binary, for `npx rushlight slim`, and prints how large that is by family:
//     node reach.mjs LINKED.wasm BINARY.wasm OUT.json src/ops
//
// LINKED is the linker's output with relocations (--emit-relocs), which show the functions and data that a function or
// datum refers to. BINARY is made from the same objects and then optimized. Its table and its memory must be the same,
// which is checked, and its code refers to nothing that LINKED's does not. OUT has
//
//   wasm    the SHA-256 of BINARY
//   table   the address of rush_all_ops (call/call.h)
//   parts   name and address of each rush_optional_* (kernels/optional.h), a pointer; and the rows that may call it
//           (all rows, if other code may call it)
//   groups  [rows, functions, bytes] each: the entries of the function table, and the addresses, that are reached only
//           from these rows of the operator table (perhaps none). Each is a list of [distance to the last, count], and
//           the numbers of the parts follow that of the last row
//
// Functions and data that the exports reach without any row are in no group.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync } from 'node:zlib';

import {
  CODE,
  Cursor,
  DATA,
  EXPORT,
  IMPORT,
  inSection,
  readMemory,
  readSections,
  readTable,
} from '../../js/src/engine/wasm-sections.js';

const [linkedPath, binaryPath, out, ops] = process.argv.slice(2);
const ROW = 20; // bytes of a rush_op, whose first word is its schema
const FUNCTION = 0,
  SYMBOL_TABLE = 8; // in the section "linking": tool-conventions/Linking.md
const UNDEFINED = 0x10,
  EXPLICIT_NAME = 0x40;

// The types of relocations by what they refer to, and those with an addend.
const TO_FUNCTION = [0, 1, 2, 12],
  TO_DATA = [3, 4, 5, 11],
  TO_GLOBAL = 7,
  TO_NOTHING = [6, 20];
const WITH_ADDEND = TO_DATA;

const bytes = readFileSync(linkedPath);
const sections = readSections(bytes);
const table = readTable(bytes, sections);
const memory = readMemory(bytes, sections);

{
  const binary = readFileSync(binaryPath),
    its = readSections(binary);
  const { first, image } = readMemory(binary, its);
  const same = new Uint8Array(memory.first + memory.image.length);
  same.set(image, first);
  if (
    readTable(binary, its).functions.length !== table.functions.length ||
    Buffer.compare(memory.image, same.subarray(memory.first))
  ) {
    throw new Error(
      `${linkedPath} and ${binaryPath} differ in their table or memory: they were linked in different ways`,
    );
  }
}

function custom(name) {
  for (const { id, start, end } of sections) {
    const cursor = new Cursor(bytes, start);
    if (id === 0 && cursor.text() === name) return { cursor, end };
  }
  throw new Error(`${linkedPath} has no section "${name}"`);
}

/** Counts the imported functions, which have the first numbers. */
function countImports() {
  const cursor = inSection(bytes, sections, IMPORT),
    n = cursor.number();
  for (let i = 0; i < n; i++) {
    (cursor.text(), cursor.text());
    if (cursor.byte() !== FUNCTION) throw new Error('something else than functions is imported');
    cursor.number();
  }
  return n;
}

function readSymbols() {
  const { cursor, end } = custom('linking'),
    symbols = [];
  cursor.number(); // version
  while (cursor.at < end) {
    const type = cursor.byte(),
      size = cursor.number(),
      next = cursor.at + size;
    if (type === SYMBOL_TABLE) for (let n = cursor.number(); n--;) symbols.push(readSymbol(cursor));
    cursor.at = next;
  }
  return symbols;
}

function readSymbol(cursor) {
  const kind = cursor.byte(),
    flags = cursor.number();
  if (kind === 1) {
    const symbol = { name: cursor.text() };
    if (flags & UNDEFINED) return symbol;
    const address = memory.segments[cursor.number()].address + cursor.number(),
      size = cursor.number();
    return { ...symbol, data: { address, size } };
  }
  if (kind === 3) return { section: cursor.number() };
  const index = cursor.number(),
    name = !(flags & UNDEFINED) || flags & EXPLICIT_NAME ? cursor.text() : '';
  return kind === FUNCTION ? { name, index } : { name };
}

function readRelocations(name) {
  const { cursor } = custom(name),
    found = [];
  cursor.number(); // section
  for (let n = cursor.number(); n--;) {
    const type = cursor.byte(),
      offset = cursor.number(),
      symbol = cursor.number();
    if (WITH_ADDEND.includes(type)) cursor.number();
    found.push({ type, offset, symbol });
  }
  return found;
}

/** Reads where each function body begins, its size, and where it ends from the start of the section. */
function readBodies() {
  const cursor = inSection(bytes, sections, CODE),
    { at: start } = cursor;
  return Array.from({ length: cursor.number() }, () => {
    const size = cursor.number(),
      { at } = cursor;
    return { at, size, end: (cursor.at += size) - start };
  });
}

const symbols = readSymbols();
/** Returns a key of address and size, so that two symbols for one place are one datum. */
const dataKey = ({ address, size }) => `data ${address} ${size}`;
const data = [...new Map(symbols.filter((s) => s.data).map((s) => [dataKey(s.data), s.data])).values()];
const ALL_OPS = symbols.find((s) => s.data && s.name === 'rush_all_ops').data.address;
const word = (address) => new DataView(memory.image.buffer).getUint32(address - memory.first, true);
const rows = { address: word(ALL_OPS), n: word(ALL_OPS + 4) };
const parts = symbols.filter((s) => s.data && s.name.startsWith('rush_optional_'));

/** Returns the function or datum that a relocation refers to, or null. */
function targetOf({ type, symbol: i }) {
  if (TO_NOTHING.includes(type)) return null;
  const symbol = symbols[i];
  if (symbol.data && (TO_DATA.includes(type) || type === TO_GLOBAL)) return dataKey(symbol.data);
  if (symbol.index !== undefined && (TO_FUNCTION.includes(type) || type === TO_GLOBAL))
    return `function ${symbol.index}`;
  // The stack pointer, or an undefined weak symbol
  if (type === TO_GLOBAL || (TO_DATA.includes(type) && !symbol.data)) return null;
  throw new Error(`${linkedPath}: a relocation of type ${type} is not known here`);
}

const edges = new Map();
function refer(from, to) {
  if (!edges.has(from)) edges.set(from, new Set());
  edges.get(from).add(to);
}

const bodies = readBodies(),
  imports = countImports();
{
  let body = 0;
  for (const relocation of readRelocations('reloc.CODE')) {
    while (bodies[body].end <= relocation.offset) body++;
    const from = `function ${body + imports}`,
      target = targetOf(relocation);
    if (target) refer(from, target);
  }
}
{
  const { start } = sections.find((s) => s.id === DATA);
  for (const relocation of readRelocations('reloc.DATA')) {
    const at = start + relocation.offset;
    const segment = memory.segments.find((s) => at >= s.at && at < s.at + s.size);
    const address = segment.address + at - segment.at;
    const row = Math.floor((address - rows.address) / ROW);
    const part = parts.findIndex((s) => s.data.address === address);
    const from =
      row >= 0 && row < rows.n
        ? [`row ${row}`]
        : part >= 0
          ? [`row ${rows.n + part}`]
          : data.filter((d) => address >= d.address && address < d.address + d.size).map(dataKey);
    const target = targetOf(relocation);
    if (target) for (const key of from.length ? from : ['exports']) refer(key, target);
  }
}
{
  const cursor = inSection(bytes, sections, EXPORT);
  for (let n = cursor.number(); n--;) {
    cursor.text();
    const kind = cursor.byte(),
      index = cursor.number();
    if (kind === FUNCTION) refer('exports', `function ${index}`);
  }
}

function reach(start) {
  const seen = new Set([start]);
  for (const node of seen) for (const next of edges.get(node) ?? []) seen.add(next);
  return seen;
}

// The rows that reach each function and each datum, without those that the exports reach.
const always = reach('exports'),
  rowsOf = new Map();
for (let row = 0; row < rows.n + parts.length; row++) {
  for (const key of reach(`row ${row}`)) {
    if (always.has(key)) continue;
    if (!rowsOf.has(key)) rowsOf.set(key, []);
    rowsOf.get(key).push(row);
  }
}

/** Encodes sorted numbers as distances and lengths of runs. */
function runs(numbers) {
  const out = [];
  let end = 0;
  for (const n of [...new Set(numbers)].sort((a, b) => a - b)) {
    if (out.length && n === end) out[out.length - 1]++;
    else out.push(n - end, 1);
    end = n + 1;
  }
  return out;
}

const groups = new Map();
/** @param {number[]} of rows @param {1 | 2} which @param {number} item */
function put(of, which, item) {
  const key = runs(of).join();
  if (!groups.has(key)) groups.set(key, [of, [], []]);
  groups.get(key)[which].push(item);
}
table.functions.forEach((f, i) => {
  if (!always.has(`function ${f}`)) put(rowsOf.get(`function ${f}`) ?? [], 1, table.first + i);
});
// A byte may belong to several data, because a string can be the end of another one.
const dataAt = new Map();
for (const datum of data) {
  for (let address = datum.address; address < datum.address + datum.size; address++)
    dataAt.set(address, [...(dataAt.get(address) ?? []), dataKey(datum)]);
}
for (const [address, keys] of dataAt) {
  if (!keys.some((key) => always.has(key)))
    put(
      keys.flatMap((key) => rowsOf.get(key) ?? []),
      2,
      address,
    );
}
/** Returns the rows that may call a part, perhaps through another part. */
function callers({ data }, seen = new Set()) {
  if (seen.has(data)) return [];
  seen.add(data);
  if (always.has(dataKey(data))) return Array.from({ length: rows.n }, (_, row) => row);
  return (rowsOf.get(dataKey(data)) ?? []).flatMap((row) => (row < rows.n ? row : callers(parts[row - rows.n], seen)));
}
writeFileSync(
  out,
  JSON.stringify({
    wasm: createHash('sha256').update(readFileSync(binaryPath)).digest('hex'),
    table: ALL_OPS,
    parts: parts.map((part) => ({
      name: part.name.slice('rush_optional_'.length),
      address: part.data.address,
      rows: runs(callers(part)),
    })),
    groups: [...groups.values()].map((group) => group.map(runs)),
  }),
);

/** Reads the family of each row, which is the folder of its .def file. */
function readFamilies() {
  const families = new Map();
  for (const { name } of readdirSync(ops, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    for (const [, operator] of readFileSync(`${ops}/${name}/${name}.def`, 'utf8').matchAll(/"([\w.:]+)\(/g))
      families.set(operator, name);
  }
  return Array.from({ length: rows.n }, (_, row) => {
    const at = word(rows.address + row * ROW) - memory.first;
    return families.get(Buffer.from(memory.image.subarray(at, memory.image.indexOf('('.charCodeAt(0), at))).toString());
  });
}

// The code that only one family reaches, that several reach, and that a program without operators has. Each is measured
// before wasm-opt and compressed separately.
const familyOf = readFamilies(),
  sizes = new Map();
const callersOf = (row) => (row < rows.n ? [row] : callers(parts[row - rows.n]));
function count(key, part) {
  const by = new Set((rowsOf.get(key) ?? []).flatMap(callersOf).map((row) => familyOf[row]));
  const name = always.has(key) || by.size === 0 ? 'no operator' : by.size > 1 ? 'several families' : [...by][0];
  sizes.set(name, [...(sizes.get(name) ?? []), part]);
}
bodies.forEach(({ at, size }, i) => count(`function ${i + imports}`, bytes.subarray(at, at + size)));
for (const d of data)
  count(dataKey(d), memory.image.subarray(d.address - memory.first, d.address - memory.first + d.size));
console.log('what is reached by          operators      kB  brotli, kB');
for (const [name, parts] of [...sizes]
  .map(([name, parts]) => [name, Buffer.concat(parts)])
  .sort(([, a], [, b]) => b.length - a.length)) {
  const kB = (n) => (n / 1000).toFixed(1).padStart(8);
  const operators = familyOf.filter((family) => family === name).length || '';
  console.log(name.padEnd(28) + `${operators}`.padStart(9) + kB(parts.length) + kB(brotliCompressSync(parts).length));
}
