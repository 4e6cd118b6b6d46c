import { element, fetchJson, loadModel, milliseconds, rankedLine, showError } from '../shared/page.js';
import { SemanticIndex } from './search.js';
import { makeTokenizer } from './tokenizer.js';

const FOLDER = '../../build/demo/02-semantic-search';
const EXAMPLES = [
  'a sleepy pet',
  'my computer is broken',
  'what to wear when it pours',
  'getting old',
  'a journey by rail',
  'the night sky',
  'losing money',
  'music',
  'how plants survive',
];
const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const query = /** @type {HTMLInputElement} */ (byId('query'));
const status = byId('status');

/** Lets the page draw before the next run. */
const breathe = () => new Promise((next) => setTimeout(next));

async function prepare() {
  const [{ model }, { Tokenizer }, json, config, text] = await Promise.all([
    loadModel(FOLDER, status),
    import(`${FOLDER}/tokenizers.mjs`).catch(() => {
      throw new Error('There is no tokenizer yet. Run ./dev demo first.');
    }),
    fetchJson(`${FOLDER}/tokenizer.json`),
    fetchJson(`${FOLDER}/tokenizer_config.json`),
    fetch('sentences.txt').then((response) => response.text()),
  ]);
  const sentences = text.trim().split('\n');
  const index = new SemanticIndex(model, makeTokenizer(Tokenizer, json, config));
  const bar = element('progress', { max: sentences.length, value: 0, ariaLabel: 'Reading the sentences' });
  const line = element('p', { className: 'quiet' });
  status.append(bar, line);
  const start = performance.now();
  await index.add(sentences, async (done) => {
    bar.value = done;
    line.textContent = `Reading ${done} of ${sentences.length} sentences`;
    await breathe();
  });
  const took = performance.now() - start;
  bar.remove();
  line.remove();
  status
    .querySelector('dl')
    ?.append(
      element('dt', {}, 'Sentences'),
      element(
        'dd',
        {},
        `${sentences.length}, read in ${(took / 1000).toFixed(1)} s (${milliseconds(took / sentences.length)} each)`,
      ),
    );
  return index;
}

const ready = prepare();
let turn = 0; // number of the last query; answers to older ones are dropped

async function search() {
  const mine = ++turn;
  const text = query.value.trim();
  try {
    const index = await ready;
    if (!text || mine !== turn) {
      if (!text) byId('results').replaceChildren();
      return;
    }
    const start = performance.now();
    const results = await index.search(text);
    const took = performance.now() - start;
    if (mine !== turn) return;
    byId('time').textContent = `Found in ${milliseconds(took)}: ${index.tokenize(text).length} tokens.`;
    byId('results').replaceChildren(
      ...results.map(({ text: sentence, score }) => rankedLine(sentence, score.toFixed(3), Math.max(0, score))),
    );
    history.replaceState(null, '', `?q=${encodeURIComponent(text)}`);
  } catch (error) {
    if (mine === turn) showError(byId('time'), error);
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pause;
query.addEventListener('input', () => {
  clearTimeout(pause);
  pause = setTimeout(search, 120);
});
for (const text of EXAMPLES) {
  const button = element('button', { type: 'button' }, text);
  button.addEventListener('click', () => {
    query.value = text;
    search();
  });
  byId('examples').append(button);
}
try {
  await ready;
  query.disabled = false;
  query.value = new URLSearchParams(location.search).get('q') ?? EXAMPLES[0];
  if (matchMedia('(pointer: fine)').matches) query.focus(); // on a phone this would open the keyboard
  await search();
} catch (error) {
  showError(status, error);
}
