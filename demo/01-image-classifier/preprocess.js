// From pixels to EfficientNet-Lite0's input, as torchvision and Pillow do it: shorter side to 256
// by an antialiased bicubic filter, the middle 224 x 224, (x - 127) / 128, planes of R, G and B.
// The arithmetic is Pillow's own (fixed point, rounded to bytes after each direction), so that the
// same pixels give the same tensor as in Python, bit for bit.

const SIZE = 224;
const RESIZE = 256;
const PRECISION = 22; // Pillow's PRECISION_BITS: 32 - 8 bits of a pixel - 2 to spare

/** Keys' cubic with a = -0.5. @param {number} x */
function bicubic(x) {
  x = Math.abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

/**
 * For each of `count` output positions from `first`: where its input begins, and its weights.
 * @param {number} from size of the input @param {number} to size of the whole output
 * @param {number} first @param {number} count
 */
function taps(from, to, first, count) {
  const scale = from / to;
  const stretch = Math.max(scale, 1); // a wider filter where the picture shrinks: antialiasing
  const support = 2 * stretch;
  return Array.from({ length: count }, (_, i) => {
    const centre = (first + i + 0.5) * scale;
    const begin = Math.max(0, Math.trunc(centre - support + 0.5));
    const end = Math.min(from, Math.trunc(centre + support + 0.5));
    const exact = Array.from({ length: end - begin }, (_, k) =>
      bicubic((begin + k - centre + 0.5) * (1 / stretch)));
    let sum = 0;
    for (const w of exact) sum += w;
    const weights = Int32Array.from(exact, (w) => {
      const fixed = (w / sum) * (1 << PRECISION);
      return Math.trunc(fixed + (fixed < 0 ? -0.5 : 0.5));
    });
    return { begin, weights };
  });
}

/** To a byte, as Pillow's clip8. @param {number} sum */
const clip = (sum) => Math.min(255, Math.max(0, sum >> PRECISION));

/**
 * The middle SIZE x SIZE pixels of the picture, resized so that its shorter side is RESIZE.
 * @param {{data: Uint8Array | Uint8ClampedArray, width: number, height: number}} image RGBA
 * @returns {Uint8Array} RGB, row by row
 */
export function resizeAndCrop({ data, width, height }) {
  const portrait = width <= height;
  const newWidth = portrait ? RESIZE : Math.trunc((RESIZE * width) / height);
  const newHeight = portrait ? Math.trunc((RESIZE * height) / width) : RESIZE;
  // Python's round() goes to the even neighbour.
  const middle = (/** @type {number} */ n) => {
    const half = (n - SIZE) / 2, low = Math.floor(half);
    return half - low > 0.5 || (half - low === 0.5 && low % 2) ? low + 1 : low;
  };
  const columns = taps(width, newWidth, middle(newWidth), SIZE);
  const rows = taps(height, newHeight, middle(newHeight), SIZE);
  const top = rows[0].begin;
  const last = rows[SIZE - 1];
  const bottom = last.begin + last.weights.length;

  const narrow = new Uint8Array((bottom - top) * SIZE * 3);
  for (let y = top, at = 0; y < bottom; y++) {
    for (const { begin, weights } of columns) {
      let r = 1 << (PRECISION - 1), g = r, b = r;
      for (let k = 0, p = (y * width + begin) * 4; k < weights.length; k++, p += 4) {
        r += data[p] * weights[k];
        g += data[p + 1] * weights[k];
        b += data[p + 2] * weights[k];
      }
      narrow[at++] = clip(r);
      narrow[at++] = clip(g);
      narrow[at++] = clip(b);
    }
  }
  const out = new Uint8Array(SIZE * SIZE * 3);
  const stride = SIZE * 3;
  rows.forEach(({ begin, weights }, y) => {
    for (let x = 0; x < stride; x++) {
      let sum = 1 << (PRECISION - 1);
      for (let k = 0, p = (begin - top) * stride + x; k < weights.length; k++, p += stride) {
        sum += narrow[p] * weights[k];
      }
      out[y * stride + x] = clip(sum);
    }
  });
  return out;
}

/**
 * The model's input for a picture.
 * @param {{data: Uint8Array | Uint8ClampedArray, width: number, height: number}} image RGBA
 */
export function preprocess(image) {
  const rgb = resizeAndCrop(image);
  const plane = SIZE * SIZE;
  const data = new Float32Array(3 * plane);
  for (let i = 0; i < plane; i++) {
    for (let c = 0; c < 3; c++) data[c * plane + i] = (rgb[i * 3 + c] - 127) / 128;
  }
  return { dtype: 'float32', shape: [1, 3, SIZE, SIZE], data };
}

/**
 * The classes of the highest logits, with their softmax.
 * @param {Float32Array} logits @param {string[]} names @param {number} count
 */
export function top(logits, names, count = 5) {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const exp = Float64Array.from(logits, (x) => Math.exp(x - max));
  const sum = exp.reduce((a, b) => a + b, 0);
  return Array.from(exp, (e, i) => ({ name: names[i] ?? `class ${i}`, probability: e / sum }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, count);
}
