// my_ops::warp_perspective in JavaScript. It computes OpenCV's warpPerspective as on the host, with bilinear
// interpolation, a black border and an output of 8 by 8. (modules/imgproc/src/imgwarp.cpp: WarpPerspectiveInvoker,
// remapBilinear)

/** @typedef {{ dtype: 'float32', shape: number[], data: Float32Array }} Image */

const SIZE = 8;
/** OpenCV rounds source coordinates to 1/32 of a pixel. */
const STEPS = 32;

/** @param {ArrayLike<number>} m 3 by 3 */
function inverse(m) {
  const [a, b, c, d, e, f, g, h, i] =
    /** @type {[number, number, number, number, number, number, number, number, number]} */ (Array.from(m, Number));
  const adjugate = [
    e * i - f * h,
    c * h - b * i,
    b * f - c * e,
    f * g - d * i,
    a * i - c * g,
    c * d - a * f,
    d * h - e * g,
    b * g - a * h,
    a * e - b * d,
  ];
  const det =
    a * /** @type {number} */ (adjugate[0]) +
    b * /** @type {number} */ (adjugate[3]) +
    c * /** @type {number} */ (adjugate[6]);
  return adjugate.map((v) => (det === 0 ? 0 : v / det));
}

/** Rounds to the nearest int of 32 bits, and ties to even. @param {number} v */
function round(v) {
  const clamped = Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, v)),
    low = Math.floor(clamped),
    rest = clamped - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

/**
 * @param {Image} image rows, columns @param {Image} warp 3 by 3, from the image to the output
 * @returns {Image}
 */
export function warpPerspective(image, warp) {
  const [rows, columns] = image.shape;
  if (rows === undefined || columns === undefined || image.shape.length !== 2)
    throw new RangeError(`image has two dimensions, not ${image.shape.length}`);
  if (warp.data.length !== 9) throw new RangeError(`warp is 3 by 3, not ${warp.shape.join(' by ')}`);
  const m = inverse(warp.data),
    at = (/** @type {number} */ k) => /** @type {number} */ (m[k]);
  const pixel = (/** @type {number} */ y, /** @type {number} */ x) =>
    y >= 0 && y < rows && x >= 0 && x < columns ? /** @type {number} */ (image.data[y * columns + x]) : 0;
  const data = new Float32Array(SIZE * SIZE);
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      const w = at(7) * y + at(8) + at(6) * x,
        scale = w === 0 ? 0 : STEPS / w;
      const sx = round((at(1) * y + at(2) + at(0) * x) * scale),
        sy = round((at(4) * y + at(5) + at(3) * x) * scale);
      const left = Math.floor(sx / STEPS),
        top = Math.floor(sy / STEPS);
      const fx = sx / STEPS - left,
        fy = sy / STEPS - top;
      data[y * SIZE + x] =
        pixel(top, left) * (1 - fy) * (1 - fx) +
        pixel(top, left + 1) * (1 - fy) * fx +
        pixel(top + 1, left) * fy * (1 - fx) +
        pixel(top + 1, left + 1) * fy * fx;
    }
  }
  return { dtype: 'float32', shape: [SIZE, SIZE], data };
}

/** For load(url, { ops }), and npx rushlight run --ops. */
export default { 'my_ops::warp_perspective': warpPerspective };
