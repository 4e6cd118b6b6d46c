// .npy and .safetensors.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';

import { readNpy, writeNpy } from '../../js/src/media/npy.js';
import { readSafetensors, writeSafetensors } from '../../js/src/media/safetensors.js';

/** @type {Record<string, any>} */
const tensors = {
  f32: { dtype: 'float32', shape: [2, 3], data: Float32Array.of(1, -0, NaN, Infinity, 1e-40, 0.1) },
  f64: { dtype: 'float64', shape: [1], data: Float64Array.of(Math.PI) },
  i32: { dtype: 'int32', shape: [3], data: Int32Array.of(1, -2, 2 ** 31 - 1) },
  i64: { dtype: 'int64', shape: [2, 1], data: BigInt64Array.of(-(2n ** 63n), 5n) },
  u8: { dtype: 'uint8', shape: [5], data: Uint8Array.of(0, 1, 2, 254, 255) },
  bool: { dtype: 'bool', shape: [2], data: Uint8Array.of(1, 0) },
  i8: { dtype: 'int8', shape: [2], data: Int8Array.of(-128, 127) },
  i16: { dtype: 'int16', shape: [1, 2], data: Int16Array.of(-32768, 5) },
  f16: {
    dtype: 'float16',
    shape: [2],
    data: new /** @type {any} */ (globalThis.Float16Array ?? Uint16Array)([1, 2]),
  },
  c64: { dtype: 'complex64', shape: [1, 2], data: Float32Array.of(1, 2, 3, 4) },
  scalar: { dtype: 'float32', shape: [], data: Float32Array.of(7) },
  empty: { dtype: 'int64', shape: [0, 4], data: new BigInt64Array(0) },
  'a/name "with" ü': { dtype: 'float32', shape: [1], data: Float32Array.of(1) },
};
/** @type {any} */ const bf16 = { dtype: 'bfloat16', shape: [2], data: Uint16Array.of(0x3f80, 0xc000) };
/** @type {any} */ const c128 = { dtype: 'complex128', shape: [], data: Float64Array.of(1, -2) };

test('every dtype survives a .npy file', () => {
  for (const [name, tensor] of Object.entries({ ...tensors, c128 }))
    assert.deepEqual(readNpy(writeNpy(tensor)), tensor, name);
  assert.throws(() => writeNpy(bf16), {
    code: 'unsupported',
    message: /have no dtype bfloat16: use writeSafetensors\(\)/,
  });
});

test('every dtype survives a .safetensors file', () => {
  assert.deepEqual(readSafetensors(writeSafetensors({ ...tensors, bf16 })), { ...tensors, bf16 });
  assert.throws(() => writeSafetensors({ c128 }), {
    code: 'unsupported',
    message: /have no dtype complex128: use writeNpy\(\)/,
  });
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
  const python = (/** @type {string} */ code, /** @type {Uint8Array} */ input) =>
    execFileSync('python3', ['-c', `import sys, io, numpy as np\n${code}`], {
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  try {
    python('', new Uint8Array(0));
  } catch {
    return t.skip('there is no NumPy');
  }
  const described = python(
    'a = np.load(io.BytesIO(sys.stdin.buffer.read()))\nprint(a.dtype, a.shape, a.tolist())',
    writeNpy(tensors.i64),
  );
  assert.equal(String(described).trim(), 'int64 (2, 1) [[-9223372036854775808], [5]]');
  const complex = python(
    'np.save(sys.stdout.buffer, np.asfortranarray((np.arange(4) + 1j).astype(np.complex64).reshape(2, 2)))',
    new Uint8Array(0),
  );
  assert.deepEqual(readNpy(complex), {
    dtype: 'complex64',
    shape: [2, 2],
    data: Float32Array.of(0, 1, 1, 1, 2, 1, 3, 1),
  });
  const fortran = python(
    'np.save(sys.stdout.buffer, np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)))',
    new Uint8Array(0),
  );
  assert.deepEqual(readNpy(fortran), {
    dtype: 'int32',
    shape: [2, 3, 4],
    data: Int32Array.from({ length: 24 }, (_, i) => i),
  });
});

test('other bytes are refused', () => {
  const npy = writeNpy(tensors.f32);
  const st = writeSafetensors(tensors);
  const rows = /** @type {[() => unknown, RegExp][]} */ ([
    [() => readNpy(new Uint8Array(5)), /must begin as a \.npy file does/],
    [() => readNpy(new TextEncoder().encode('{"json": "and more"}')), /must begin as a \.npy file does/],
    [() => readNpy(npy.subarray(0, npy.length - 1)), /truncated: got 151 of 152 bytes/],
    [
      () => readNpy(Buffer.from(Buffer.from(npy).toString('latin1').replace('<f4', '<u4'), 'latin1')),
      /dtype of a \.npy file must be one of <f4, .*, got "<u4"$/,
    ],
    [() => readSafetensors(new Uint8Array(7)), /must have at least 8 bytes/],
    [() => readSafetensors(st.subarray(0, 100)), /head is truncated/],
    [() => readSafetensors(Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 120, 120)), /head must be JSON/],
    [() => readSafetensors(st.subarray(0, st.length - 4)), /range of .* ends behind the file/],
    [
      () => readSafetensors(Buffer.from(Buffer.from(st).toString('latin1').replace('"F64"', '"F8_"'), 'latin1')),
      /dtype of ".*" must be one of F32, .*, got the string "F8_"/,
    ],
  ]);
  for (const [read, message] of rows) assert.throws(read, { name: 'RushlightError', code: 'bad-file', message });
});
