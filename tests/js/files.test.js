// .npy and .safetensors.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';

import { readNpy, writeNpy } from '../../js/src/npy.js';
import { readSafetensors, writeSafetensors } from '../../js/src/safetensors.js';

/** @type {Record<string, any>} */
const tensors = {
  f32: { dtype: 'float32', shape: [2, 3], data: Float32Array.of(1, -0, NaN, Infinity, 1e-40, 0.1) },
  f64: { dtype: 'float64', shape: [1], data: Float64Array.of(Math.PI) },
  i32: { dtype: 'int32', shape: [3], data: Int32Array.of(1, -2, 2 ** 31 - 1) },
  i64: { dtype: 'int64', shape: [2, 1], data: BigInt64Array.of(-(2n ** 63n), 5n) },
  u8: { dtype: 'uint8', shape: [5], data: Uint8Array.of(0, 1, 2, 254, 255) },
  bool: { dtype: 'bool', shape: [2], data: Uint8Array.of(1, 0) },
  scalar: { dtype: 'float32', shape: [], data: Float32Array.of(7) },
  empty: { dtype: 'int64', shape: [0, 4], data: new BigInt64Array(0) },
  'a/name "with" ü': { dtype: 'float32', shape: [1], data: Float32Array.of(1) },
};

test('every dtype survives a .npy file', () => {
  for (const [name, tensor] of Object.entries(tensors)) assert.deepEqual(readNpy(writeNpy(tensor)), tensor, name);
});

test('every dtype survives a .safetensors file', () => {
  assert.deepEqual(readSafetensors(writeSafetensors(tensors)), tensors);
  assert.deepEqual(readSafetensors(writeSafetensors({})), {});
});

test('files are read from inside a larger buffer, and results own theirs', () => {
  const file = writeNpy(tensors.f64);
  const larger = new Uint8Array(file.length + 3);
  larger.set(file, 3);
  const back = readNpy(larger.subarray(3));
  larger.fill(0);
  assert.deepEqual(back, tensors.f64);
});

test('NumPy reads what is written, and what NumPy writes is read', (t) => {
  const python = (/** @type {string} */ code, /** @type {Uint8Array} */ input) => execFileSync('python3', ['-c', `import sys, io, numpy as np\n${code}`], { input, stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    python('', new Uint8Array(0));
  } catch {
    return t.skip('there is no NumPy');
  }
  const described = python('a = np.load(io.BytesIO(sys.stdin.buffer.read()))\nprint(a.dtype, a.shape, a.tolist())', writeNpy(tensors.i64));
  assert.equal(String(described).trim(), 'int64 (2, 1) [[-9223372036854775808], [5]]');
  const fortran = python('np.save(sys.stdout.buffer, np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)))', new Uint8Array(0));
  assert.deepEqual(readNpy(fortran), { dtype: 'int32', shape: [2, 3, 4], data: Int32Array.from({ length: 24 }, (_, i) => i) });
});

test('what is no such file is refused', () => {
  const npy = writeNpy(tensors.f32);
  const st = writeSafetensors(tensors);
  const rows = /** @type {[() => unknown, RegExp][]} */ ([
    [() => readNpy(new Uint8Array(5)), /not a \.npy file/],
    [() => readNpy(new TextEncoder().encode('{"json": "and more"}')), /not a \.npy file/],
    [() => readNpy(npy.subarray(0, npy.length - 1)), /cut off: got 151 of 152 bytes/],
    [() => readNpy(Buffer.from(Buffer.from(npy).toString('latin1').replace('<f4', '<c8'), 'latin1')), /elements of type '<c8'; known are <f4/],
    [() => readSafetensors(new Uint8Array(7)), /shorter than 8 bytes/],
    [() => readSafetensors(st.subarray(0, 100)), /cut off/],
    [() => readSafetensors(Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 120, 120)), /head is not JSON/],
    [() => readSafetensors(st.subarray(0, st.length - 4)), /range of .* does not fit/],
    [() => readSafetensors(Buffer.from(Buffer.from(st).toString('latin1').replace('"F64"', '"F16"'), 'latin1')), /dtype F16; known are F32/],
  ]);
  for (const [read, message] of rows) assert.throws(read, { name: 'RushlightError', code: 'bad-file', message });
});
