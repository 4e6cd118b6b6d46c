// NumPy's .npy files, as far as the demos need them.

const TYPES = { '<f4': Float32Array, '<i8': BigInt64Array, '|u1': Uint8Array };
const DTYPES = { '<f4': 'float32', '<i8': 'int64', '|u1': 'uint8' };

/**
 * @param {ArrayBuffer | Uint8Array} file
 * @returns {{dtype: string, shape: number[], data: any}}
 */
export function readNpy(file) {
  const bytes = file instanceof Uint8Array ? file : new Uint8Array(file);
  if (bytes.length < 12 || bytes[0] !== 0x93 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY') {
    throw new Error('this is not a .npy file');
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = bytes[6] === 1 ? 10 : 12;
  const end = start + (bytes[6] === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  const head = new TextDecoder('latin1').decode(bytes.subarray(start, end));
  const descr = /'descr': *'([^']*)'/.exec(head)?.[1] ?? '';
  const Type = TYPES[/** @type {keyof typeof TYPES} */ (descr)];
  if (!Type) throw new Error(`.npy with elements '${descr}': known are ${Object.keys(TYPES).join(', ')}`);
  if (/'fortran_order': *True/.test(head)) throw new Error('.npy in Fortran order');
  const shape = (/'shape': *\(([^)]*)\)/.exec(head)?.[1] ?? '').split(',').filter((n) => n.trim()).map(Number);
  const count = shape.reduce((a, b) => a * b, 1);
  if (end + count * Type.BYTES_PER_ELEMENT > bytes.length) throw new Error('this .npy file is cut off');
  const at = bytes.byteOffset + end;
  const data = new Type(bytes.buffer.slice(at, at + count * Type.BYTES_PER_ELEMENT));
  return { dtype: DTYPES[/** @type {keyof typeof DTYPES} */ (descr)], shape, data };
}
