// Damaged .safetensors and .npy files give tensors or one short sentence, in bounded time.

import assert from 'node:assert/strict';
import test from 'node:test';

import { RushlightError } from '../../js/src/index.js';
import { readNpy, writeNpy } from '../../js/src/media/npy.js';
import { readSafetensors, writeSafetensors } from '../../js/src/media/safetensors.js';

/** The most milliseconds of a case; the longest one has about 20. */
const MOST_TIME = 3000;
/** The most characters of a message. */
const MOST_TEXT = 400;

/** @param {number} length what the file says of its head @param {string | Uint8Array} head @param {number} elements */
function safetensors(length, head, elements) {
  const bytes = typeof head === 'string' ? new TextEncoder().encode(head) : head;
  const out = new Uint8Array(8 + bytes.length + elements);
  new DataView(out.buffer).setBigUint64(0, BigInt.asUintN(64, BigInt(length)), true);
  out.set(bytes, 8);
  return out;
}
/** @param {string} head @param {number} [elements] */
const withHead = (head, elements = 8) => safetensors(new TextEncoder().encode(head).length, head, elements);

/** @param {string} latin1 */
const bytesOf = (latin1) => Uint8Array.from(latin1, (c) => c.charCodeAt(0));

/**
 * Returns whether the file was refused.
 * @param {(file: Uint8Array) => unknown} read @param {Uint8Array} file @param {string} name
 */
function refuses(read, file, name) {
  const before = performance.now();
  let refused = false;
  try {
    read(file);
  } catch (e) {
    const shown = `${name}: ${/** @type {Error} */ (e).stack?.slice(0, 500)}`;
    assert(e instanceof RushlightError && e.code === 'bad-file', shown);
    assert(e.message.length <= MOST_TEXT, `${name}: a message of ${e.message.length} characters`);
    refused = true;
  }
  const time = performance.now() - before;
  assert(time < MOST_TIME, `${name}: ${time} ms`);
  return refused;
}

/** Cuts the file everywhere and changes each byte. @param {Uint8Array} file @returns {[string, Uint8Array][]} */
function damaged(file) {
  const all = /** @type {[string, Uint8Array][]} */ ([]);
  file.forEach((byte, at) => {
    all.push([`${at} bytes`, file.slice(0, at)]);
    for (const other of [byte ^ 0xff, byte ^ 1, 0, 0x22, 0x39])
      all.push([`byte ${at} is ${other}`, Uint8Array.from(file, (old, i) => (i === at ? other : old))]);
  });
  return all;
}

const deep = '['.repeat(100_000) + ']'.repeat(100_000),
  long = 'x'.repeat(1_000_000);
/** Values of a field as JSON. Each of them is wrong for each field. */
const VALUES = [
  ...['null', 'true', '-1', '1.5', '1e999', '4294967294', '""', `"${long}"`, '[[]]', '[-1]', '["x"]', '[[1]]'],
  ...['[9007199254740991,9007199254740991]', `[${'2,'.repeat(100_000)}2]`, '{}', '{"__proto__":[1]}'],
  ...['{"toString":1}', '{"constructor":{"name":{"toString":1}}}', '[{"toString":1}]', deep],
];
const FIELDS = { dtype: '"F32"', shape: '[2]', data_offsets: '[0,8]' };
/** @param {Record<string, string>} fields @param {string} [name] */
const head = (fields, name = '"a"') =>
  `{${name}:{${Object.entries(fields).map(([key, value]) => `"${key}":${value}`)}}}`;

test('each field of a .safetensors file with wrong values is refused in one sentence', () => {
  assert(!refuses(readSafetensors, withHead(head(FIELDS)), 'the file itself'));
  for (const field of Object.keys(FIELDS))
    for (const value of VALUES)
      for (const name of ['"a"', `"${long}"`]) {
        const file = withHead(head({ ...FIELDS, [field]: value }, name));
        assert(refuses(readSafetensors, file, `${field} = ${value.slice(0, 60)}`), `${field} = ${value.slice(0, 60)}`);
      }
  for (const value of VALUES) {
    assert(refuses(readSafetensors, withHead(value), value.slice(0, 60)));
    assert(refuses(readSafetensors, withHead(`{"a":${value}}`), `"a" is ${value.slice(0, 60)}`));
  }
});

test('a .safetensors file whose head has another length or no text is refused', () => {
  const text = head(FIELDS);
  for (const length of [0, 1, text.length - 1, text.length + 1, text.length + 9, 2 ** 31, 2 ** 32, 2 ** 53, -1])
    assert(refuses(readSafetensors, safetensors(length, text, 8), `a length of ${length}`), `${length}`);
  const notText = bytesOf(head(FIELDS, '"\xff\xfe"'));
  assert(refuses(readSafetensors, safetensors(notText.length, notText, 8), 'a name that is not UTF-8'));
});

test('each byte of a .safetensors file may be wrong', () => {
  const file = writeSafetensors({
    a: { dtype: 'float32', shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) },
    'b.c': { dtype: 'int64', shape: [], data: BigInt64Array.of(1n) },
    none: { dtype: 'uint8', shape: [0, 7], data: new Uint8Array(0) },
  });
  const refused = damaged(file).filter(([name, bytes]) => refuses(readSafetensors, bytes, name));
  assert(refused.length > file.length * 2, `${refused.length} were refused`);
});

/** @param {string} text @param {string} [elements] */
const npy = (text, elements = '') =>
  bytesOf(
    `\x93NUMPY\x02\0${String.fromCharCode(...[0, 8, 16, 24].map((n) => (text.length >> n) & 255))}${text}${elements}`,
  );

test('each byte of a .npy file may be wrong', () => {
  const file = writeNpy({ dtype: 'float64', shape: [2, 1], data: Float64Array.of(1, 2) });
  const refused = damaged(file).filter(([name, bytes]) => refuses(readNpy, bytes, name));
  assert(refused.length > file.length, `${refused.length} were refused`);
});

test('a .npy file with a long header is refused at once', () => {
  const fields = (/** @type {string} */ shape, order = 'False') =>
    `{'descr': '|u1', 'fortran_order': ${order}, 'shape': (${shape}), }`;
  const many = '1,'.repeat(60_000);
  assert(refuses(readNpy, npy("'descr': '|u1', " + "'shape': (".repeat(300_000)), 'shapes without an end'));
  assert(refuses(readNpy, npy(fields(`${many}1000000`, 'True'), ' '.repeat(1_000_000)), 'many dimensions'));
  assert(refuses(readNpy, npy(fields('1,'.repeat(65)), ' '), '65 dimensions'));
  assert(refuses(readNpy, npy(fields(long)), 'a long shape'));
  assert(refuses(readNpy, npy(`{'descr': '${'x'.repeat(9000)}'}`), 'a long dtype'));
  assert.equal(readNpy(npy(fields('1,'.repeat(64)), ' ')).shape.length, 64);
});
