import { readNpy } from '../../js/src/media/npy.js';
import { fetchJson, loadModel, milliseconds, rankedLine, showError } from '../shared/page.js';
import { addSamples, decodePicture, markSample } from '../shared/pictures.js';
import { preprocess, top } from './preprocess.js';

const FOLDER = '../../build/demo/01-image-classifier';
const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const canvas = /** @type {HTMLCanvasElement} */ (byId('picture'));
const again = /** @type {HTMLButtonElement} */ (byId('again'));
const file = /** @type {HTMLInputElement} */ (byId('file'));

/** @type {{dtype: string, shape: number[], data: Float32Array} | undefined} */
let input;
let turn = 0; // number of the last request; older pictures that arrive late are dropped

const ready = loadModel(FOLDER, byId('status'));
const classes = fetchJson(`${FOLDER}/classes.json`);
Promise.all([ready, classes]).catch((error) => showError(byId('status'), error));

/**
 * Runs the model on `image` and shows the answer.
 * @param {NonNullable<typeof input>} image
 * @param {number} prepared ms
 */
async function classify(image, prepared) {
  const mine = turn;
  const { model } = await ready;
  const names = await classes;
  const start = performance.now();
  const { logits } = await model.run({ image });
  const took = performance.now() - start;
  if (mine !== turn) return;
  input = image;
  again.disabled = false;
  byId('answer').replaceChildren(
    ...top(logits.data, names).map(({ name, probability }) =>
      rankedLine(name, `${(probability * 100).toFixed(1)} %`, probability),
    ),
  );
  byId('time').textContent =
    `Run in ${milliseconds(took)}${prepared ? `, picture prepared in ${milliseconds(prepared)}` : ''}.`;
  byId('runs').textContent = '';
}

/**
 * Draws the picture. The part that the model sees is bright, and the rest is dimmed.
 * @param {CanvasImageSource} image
 * @param {number} width
 * @param {number} height
 */
function draw(image, width, height) {
  const scale = Math.min(1, 640 / Math.max(width, height));
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const side = (Math.min(canvas.width, canvas.height) * 224) / 256;
  const x = (canvas.width - side) / 2,
    y = (canvas.height - side) / 2;
  context.fillStyle = '#0006';
  context.beginPath();
  context.rect(0, 0, canvas.width, canvas.height);
  context.rect(x, y, side, side);
  context.fill('evenodd');
}

/** Clears the answer for the previous picture. */
function forget() {
  input = undefined;
  again.disabled = true;
  canvas.getContext('2d')?.clearRect(0, 0, canvas.width, canvas.height);
  canvas.setAttribute('aria-label', 'No picture');
  for (const id of ['time', 'runs']) byId(id).textContent = '';
}

/** @param {Blob | Promise<Blob>} given an image, or the model's input as .npy @param {string} name */
async function show(given, name) {
  const mine = ++turn;
  markSample(byId('samples'), name);
  try {
    const blob = await given;
    if (mine !== turn) return;
    if (name.endsWith('.npy')) {
      canvas.setAttribute('aria-label', `the tensor ${name}`);
      canvas.getContext('2d')?.clearRect(0, 0, canvas.width, canvas.height);
      return await classify(readNpy(await blob.arrayBuffer()), 0);
    }
    const bitmap = await decodePicture(blob, name);
    if (mine !== turn) return;
    draw(bitmap, bitmap.width, bitmap.height);
    canvas.setAttribute('aria-label', name);
    const start = performance.now();
    const image = preprocess(bitmap);
    await classify(image, performance.now() - start);
  } catch (error) {
    if (mine !== turn) return;
    forget();
    showError(byId('answer'), error);
  }
}

again.addEventListener('click', async () => {
  const image = input;
  if (!image) return;
  again.disabled = true;
  const { model } = await ready;
  const times = [];
  for (let i = 0; i < 10; i++) {
    const start = performance.now();
    await model.run({ image });
    times.push(performance.now() - start);
    if (image !== input) return; // there is a newer picture
    byId('runs').textContent = `${times.map((t) => t.toFixed(1)).join(' · ')} ms`;
    await new Promise((next) => setTimeout(next)); // lets the page draw
  }
  times.sort((a, b) => a - b);
  byId('runs').textContent += ` — median ${milliseconds((times[4] + times[5]) / 2)}`;
  again.disabled = false;
});

file.addEventListener('change', () => {
  if (file.files?.[0]) show(file.files[0], file.files[0].name);
  file.value = '';
});
const drop = byId('drop');
addEventListener('dragover', (event) => {
  event.preventDefault();
  drop.classList.add('over');
});
addEventListener('dragleave', () => drop.classList.remove('over'));
addEventListener('drop', (event) => {
  event.preventDefault();
  drop.classList.remove('over');
  const dropped = event.dataTransfer?.files[0];
  if (dropped) show(dropped, dropped.name);
});
addEventListener('paste', (event) => {
  const pasted = [...(event.clipboardData?.files ?? [])].find((each) => each.type.startsWith('image/'));
  if (pasted) show(pasted, pasted.name);
});

await addSamples(FOLDER, byId('samples'), show);
