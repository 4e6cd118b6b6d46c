import { videoFrames } from '../../js/src/media/image.js';
import { addDeviceChoice } from '../shared/device.js';
import { loadModel, milliseconds, rankedLine, showError } from '../shared/page.js';
import { addSamples, decodePicture, markSample } from '../shared/pictures.js';
import { findFaces, inWords } from './faces.js';

const FOLDER = '../../build/demo/08-face-detection';
const WIDEST = 640; // pixels of a picture's longer side
const LIVE = 320; // of a frame's
const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const canvas = /** @type {HTMLCanvasElement} */ (byId('picture'));
const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
/** Scales pictures. The page shows one when its faces are known. */
const scaler = document.createElement('canvas'),
  scaled = /** @type {CanvasRenderingContext2D} */ (scaler.getContext('2d', { willReadFrequently: true }));
const camera = /** @type {HTMLButtonElement} */ (byId('camera'));
const video = /** @type {HTMLVideoElement} */ (byId('video'));

let turn = 0; // number of the last request; the faces of older ones are dropped
/** @type {AbortController | undefined} */ let live;

/**
 * Loads the model. In a worker, the page stays responsive while it runs.
 * @param {import('../shared/device.js').Device} device
 */
function open(device) {
  const loading = loadModel(FOLDER, byId('status'), { worker: true, device });
  loading.then(
    () => (camera.disabled = !navigator.mediaDevices),
    (error) => showError(byId('status'), error),
  );
  return loading;
}
let ready = open('cpu');
/** The last run of the model. @type {Promise<unknown>} */ let run = Promise.resolve();

addDeviceChoice(byId('status'), async (device) => {
  const old = ready;
  ready = open(device);
  await Promise.allSettled([run]);
  old.then(
    ({ model }) => model.dispose(),
    () => {}, // it was shown
  );
});

/**
 * Draws a picture, finds its faces and shows them.
 * @param {CanvasImageSource} image @param {number} width @param {number} height @param {number} most of its longer side
 * @param {number} [mine] the number of the request
 */
async function look(image, width, height, most, mine = ++turn) {
  const { model } = await ready;
  if (mine !== turn) return;
  const scale = Math.min(1, most / Math.max(width, height)),
    w = Math.max(1, Math.round(width * scale)),
    h = Math.max(1, Math.round(height * scale));
  [scaler.width, scaler.height] = [w, h];
  scaled.drawImage(image, 0, 0, w, h);
  const pixels = scaled.getImageData(0, 0, w, h),
    start = performance.now(),
    finding = findFaces(model, pixels);
  run = finding;
  const faces = await finding;
  if (mine !== turn) return;
  [canvas.width, canvas.height] = [w, h];
  context.putImageData(pixels, 0, 0);
  drawFaces(faces);
  showSummary(faces, performance.now() - start);
}

/** @param {import('./faces.js').Face[]} faces */
function drawFaces(faces) {
  context.strokeStyle = context.fillStyle = getComputedStyle(document.body).getPropertyValue('--bar').trim();
  context.lineWidth = Math.max(2, canvas.width / 160);
  for (const { box, points } of faces) {
    const [left, top, right, bottom] = box;
    context.strokeRect(left, top, right - left, bottom - top);
    for (const [x, y] of points) {
      context.beginPath();
      context.arc(x, y, context.lineWidth, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

/** @param {import('./faces.js').Face[]} faces @param {number} took ms */
function showSummary(faces, took) {
  const words = inWords(faces);
  if (byId('words').textContent !== words) byId('words').textContent = words;
  canvas.setAttribute('aria-label', words);
  byId('time').textContent = `Found in ${milliseconds(took)}, in ${canvas.width} × ${canvas.height} pixels.`;
  byId('answer').replaceChildren(
    ...faces.map(({ box, probability }) => {
      const [left, top, right, bottom] = box.map(Math.round);
      return rankedLine(
        `${right - left} × ${bottom - top} at ${left}, ${top}`,
        `${(probability * 100).toFixed(1)} %`,
        probability,
      );
    }),
  );
}

/** Empties the answer, and shows an error in its place. @param {unknown} error */
function fail(error) {
  for (const id of ['answer', 'time']) byId(id).textContent = '';
  showError(byId('words'), error);
}

/** @param {Blob | Promise<Blob>} given @param {string} name */
async function show(given, name) {
  const mine = ++turn;
  live?.abort();
  markSample(byId('samples'), name);
  try {
    const bitmap = await decodePicture(await given, name);
    if (mine === turn) await look(bitmap, bitmap.width, bitmap.height, WIDEST, mine);
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

camera.addEventListener('click', async () => {
  if (live) return live.abort();
  const stop = (live = new AbortController());
  camera.textContent = 'Stop the camera';
  /** @type {MediaStream | undefined} */ let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 } } });
    video.srcObject = stream;
    await video.play();
    for await (const _ of videoFrames(video, { signal: stop.signal }))
      await look(video, video.videoWidth, video.videoHeight, LIVE);
  } catch (error) {
    if (!stop.signal.aborted) fail(error); // the visitor may end it before the camera has started
  }
  for (const track of stream?.getTracks() ?? []) track.stop();
  live = undefined;
  camera.textContent = 'Start the camera';
});

byId('file').addEventListener('change', (/** @type {any} */ { target }) => {
  if (target.files?.[0]) show(target.files[0], target.files[0].name);
  target.value = '';
});

await addSamples(FOLDER, byId('samples'), show);
