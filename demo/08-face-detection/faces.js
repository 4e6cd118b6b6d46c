// The shared code of the page and the Node program: it finds the faces in pictures.

/**
 * @typedef {object} Face
 * @property {number} probability
 * @property {number[]} box left, top, right and bottom, in pixels
 * @property {number[][]} points x and y of the eyes, the nose and the corners of the mouth
 */

/**
 * Finds the faces in a picture.
 * @param {any} model of export.py
 * @param {{ width: number, height: number, data: Uint8Array | Uint8ClampedArray }} image RGBA, as an ImageData
 * @returns {Promise<Face[]>} the most probable one is first
 */
export async function findFaces(model, { width, height, data }) {
  const pixels = new Uint8Array(data.buffer, data.byteOffset, data.length);
  const { boxes, probability, points } = await model.run({
    picture: { dtype: 'uint8', shape: [height, width, 4], data: pixels },
  });
  return Array.from(probability.data, (/** @type {number} */ p, /** @type {number} */ i) => ({
    probability: p,
    box: Array.from(boxes.data.subarray(4 * i, 4 * i + 4)),
    points: [0, 1, 2, 3, 4].map((k) => Array.from(points.data.subarray(10 * i + 2 * k, 10 * i + 2 * k + 2))),
  }));
}

/** Describes faces in words. @param {Face[]} faces */
export const inWords = (faces) =>
  faces.length === 0 ? 'No face.' : faces.length === 1 ? 'One face.' : `${faces.length} faces.`;
