import { load } from '../../js/src/index.js'; // in a project of yours: from 'rushlight'
import { agreement, optionsOf } from '../shared/agreement.js';
import { element, fetchJson, milliseconds, showError } from '../shared/page.js';

const FOLDER = '../../build/demo/04-custom-operator';
const SIZE = 8;
const WAYS = /** @type {const} */ ({
  javascript: 'a JavaScript function',
  worker: 'the function, with the model in a worker',
  c: 'C, linked into the wasm',
  composite: "PyTorch's operators, which replace it at export",
});
const PICTURE = ['........', '...##...', '..#..#..', '..#..#..', '...##...', '...#....', '...##...', '...#....'];

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const number = (/** @type {string} */ id) => Number(/** @type {HTMLInputElement} */ (byId(id)).value);
const mirror = /** @type {HTMLInputElement} */ (byId('mirror'));
const image = Float32Array.from(PICTURE.join(''), (c) => (c === '#' ? 1 : 0));
/** @type {Promise<any> | undefined} */
let model;
let turn = 0; // number of the last request; older ones that arrive late are dropped

/** Fetches a file of a variant's folder. @param {string} variant */
const reader = (variant) => async (/** @type {string} */ file) => {
  const response = await fetch(`${FOLDER}/${variant}/${file}`);
  if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}. Run ./dev demo first.`);
  return new Uint8Array(await response.arrayBuffer());
};

/** @param {number[][]} a @param {number[][]} b */
const product = (a, b) => a.map((row) => row.map((_, j) => row.reduce((sum, v, k) => sum + v * (b[k]?.[j] ?? 0), 0)));

/** Returns the perspective from the picture to the result, around the middle. */
function perspective() {
  const angle = (number('turn') * Math.PI) / 180,
    middle = (SIZE - 1) / 2;
  const c = Math.cos(angle) * number('zoom'),
    s = Math.sin(angle) * number('zoom');
  return product(
    product(
      [
        [1, 0, middle],
        [0, 1, middle],
        [0, 0, 1],
      ],
      [
        [c, -s, 0],
        [s, c, 0],
        [0, number('tilt'), 1],
      ],
    ),
    [
      [1, 0, -middle],
      [0, 1, -middle],
      [0, 0, 1],
    ],
  ).flat();
}

/** @param {ArrayLike<number>} values */
const float32 = (values, size = SIZE) => ({ dtype: 'float32', shape: [size, size], data: Float32Array.from(values) });

/** Runs the model with the current settings and shows the result. */
async function run() {
  const mine = turn;
  try {
    const { current, way } = await model;
    const mix = Array.from({ length: SIZE ** 2 }, (_, i) =>
      Number(i % SIZE === (mirror.checked ? SIZE - 1 - Math.floor(i / SIZE) : Math.floor(i / SIZE))),
    );
    const start = performance.now();
    const { result } = await current.run({ image: float32(image), warp: float32(perspective(), 3), mix: float32(mix) });
    const took = performance.now() - start;
    if (mine !== turn) return;
    [...byId('result').children].forEach((pixel, i) =>
      /** @type {HTMLElement} */ (pixel).style.setProperty('--value', result.data[i]),
    );
    byId('result').dataset.way = way;
    byId('time').textContent = `Run in ${milliseconds(took)}.`;
  } catch (error) {
    if (mine === turn) showError(byId('time'), error);
  }
}

/** @param {keyof typeof WAYS} way */
async function choose(way) {
  const mine = ++turn,
    before = model;
  const read = reader(`trace-${way}`);
  model = (async () => {
    const manifest = JSON.parse(new TextDecoder().decode(await read('manifest.json')));
    const current = await load(await read(manifest.file), await optionsOf(manifest, read));
    return { current, way };
  })();
  model.then(
    ({ current }) => {
      if (mine !== turn) return;
      const facts = [
        [
          'Operators',
          current
            .describe()
            .operators.map((/** @type {any} */ o) => o.name)
            .join(', '),
        ],
        ['Backend', `${current.backend.name}: ${current.backend.reason}`],
      ];
      byId('status').replaceChildren(
        element(
          'dl',
          {},
          ...facts.flatMap(([name = '', text = '']) => [element('dt', {}, name), element('dd', {}, text)]),
        ),
      );
    },
    (error) => showError(byId('status'), error),
  );
  await run();
  before?.then(
    ({ current }) => current.dispose(),
    () => {},
  );
}

for (const [way, text] of Object.entries(WAYS)) {
  const radio = element('input', { type: 'radio', name: 'way', value: way, checked: way === 'javascript' });
  radio.addEventListener('change', () => choose(/** @type {keyof typeof WAYS} */ (way)));
  byId('ways').append(element('label', {}, radio, text));
}
for (let i = 0; i < SIZE ** 2; i++) {
  const pixel = element('button', {
    type: 'button',
    ariaLabel: `row ${Math.floor(i / SIZE) + 1}, column ${(i % SIZE) + 1}`,
  });
  const show = () => {
    pixel.style.setProperty('--value', String(image[i]));
    pixel.setAttribute('aria-pressed', String(image[i] === 1));
  };
  pixel.addEventListener('click', () => {
    image[i] = 1 - (image[i] ?? 0);
    show();
    run();
  });
  show();
  byId('picture').append(pixel);
  byId('result').append(element('span'));
}
for (const id of ['turn', 'zoom', 'tilt', 'mirror']) byId(id).addEventListener('input', run);
await choose('javascript');

load(`${FOLDER}/trace.rush`).catch((error) => {
  byId('missing').textContent = error.message;
});
const { variants = [] } = await fetchJson(`${FOLDER}/manifest.json`).catch(() => ({}));
for (const variant of variants) {
  const { title, maxAbs, medianMs } = await agreement({ load, read: reader(variant) });
  byId('table')
    .querySelector('tbody')
    ?.append(
      element(
        'tr',
        {},
        element('td', {}, title),
        element('td', {}, maxAbs ? maxAbs.toExponential(1) : '0'),
        element('td', {}, milliseconds(medianMs)),
      ),
    );
}
