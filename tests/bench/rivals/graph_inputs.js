// Converts inputs for graph.py's graphs: images to NHWC, and integers to 32 bits.

/**
 * @param {{ name: string, shape: number[], dtype: string, image: boolean }[]} wanted
 * @param {Record<string, any>} inputs
 */
export function graphInputs(wanted, inputs) {
  return wanted.map(({ name, shape, dtype, image }) => {
    const { data, shape: given } = inputs[name];
    if (dtype === 'int32') return { name, shape, dtype, data: Int32Array.from(data, Number) };
    return { name, shape, dtype, data: image ? nhwc(data, given) : data };
  });
}

/** @param {Float32Array} data @param {number[]} shape N, C, H, W */
function nhwc(data, [n, c, h, w]) {
  const out = new Float32Array(data.length);
  for (let i = 0, to = 0; i < n; i++) {
    for (let p = 0; p < h * w; p++) for (let k = 0; k < c; k++) out[to++] = data[(i * c + k) * h * w + p];
  }
  return out;
}
