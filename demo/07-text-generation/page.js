import { addDeviceChoice } from '../shared/device.js';
import { element, showError } from '../shared/page.js';
import { loadTextModel } from '../shared/text.js';

const FOLDER = '../../build/demo/07-text-generation/smollm2';
const EXAMPLES = [
  'What is the capital of France?',
  'Write a short poem about rain.',
  'Explain gravity to a child.',
  'Name the 4 seasons.',
];
const SETTINGS = ['temperature', 'topK', 'topP', 'maxTokens', 'seed'];
const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const [talk, question, ask, stop, anew] = ['talk', 'question', 'ask', 'stop', 'anew'].map(byId);

/** @type {AbortController | undefined} */ let writing; // the element of the current answer

const open = (/** @type {import('../shared/device.js').Device} */ device) =>
  loadTextModel(FOLDER, byId('status'), device).then(({ loaded }) => loaded);
let ready = open('cpu');
/** @type {import('../../js/src/text/load-text.js').Message[]} */ let messages = [];

/** Formats a count with its noun. @param {number} n @param {string} what */
const count = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

/** Updates which buttons are shown. */
function update() {
  ask.hidden = writing !== undefined;
  stop.hidden = writing === undefined;
  anew.disabled = writing !== undefined || talk.childElementCount === 0;
  talk.ariaBusy = String(writing !== undefined);
}

/** @param {string} asked */
async function answer(asked) {
  if (writing) return;
  const stopped = (writing = new AbortController()).signal;
  const words = element('span', { className: 'writing' }),
    facts = element('p', { className: 'facts quiet' });
  talk.append(element('li', { className: 'asked' }, asked), element('li', { className: 'answer' }, words, facts));
  facts.scrollIntoView({ block: 'nearest' });
  question.value = '';
  update();
  let tokens = 0,
    first = 0,
    last = 0;
  const speed = () => `${(((tokens - 1) / (last - first)) * 1000).toFixed(1)} tokens/s`;
  const talked = [...messages, { role: 'user', content: asked }],
    options = Object.fromEntries(SETTINGS.map((name) => [name, byId(name).valueAsNumber]));
  const start = performance.now();
  try {
    const chat = await ready,
      written = chat.generate(talked, { ...options, overflow: 'truncate', signal: stopped });
    for await (const text of written) {
      last = performance.now();
      if (tokens === 0) first = last;
      tokens = written.usage.answer;
      words.append(text);
      byId('speed').textContent = tokens > 1 ? speed() : '';
      words.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  } catch (error) {
    if (!stopped.aborted) showError(facts, error);
  }
  if (tokens > 0) {
    messages = [...talked, { role: 'assistant', content: words.textContent }];
    facts.prepend(
      `${count(tokens, 'token')}${stopped.aborted ? ', stopped' : ''}: the first after ` +
        `${(first - start).toFixed(0)} ms${tokens > 1 ? `, then ${speed()}` : ''}.`,
    );
  } else if (stopped.aborted) facts.textContent = 'Stopped.';
  words.className = '';
  writing = undefined;
  update();
}

byId('form').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault();
  if (question.value.trim() && !ask.disabled) answer(question.value.trim());
});
question.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId('form').requestSubmit();
});
stop.addEventListener('click', () => writing?.abort());
anew.addEventListener('click', () => {
  messages = [];
  talk.replaceChildren();
  byId('speed').textContent = '';
  update();
  question.focus();
});
for (const name of SETTINGS) {
  const input = byId(name),
    shown = document.querySelector(`output[for="${name}"]`);
  const show = () => {
    if (shown) shown.textContent = input.value;
  };
  input.addEventListener('input', show);
  show();
}
for (const text of EXAMPLES) {
  const button = element('button', { type: 'button', disabled: true }, text);
  button.addEventListener('click', () => answer(text));
  byId('examples').append(button);
}

/** Lets the visitor ask when the model is loaded. */
async function begin() {
  try {
    await ready;
    for (const button of byId('form').querySelectorAll('button:disabled')) if (button !== anew) button.disabled = false;
  } catch (error) {
    showError(byId('status'), error);
  }
}

addDeviceChoice(byId('status'), (device) => {
  writing?.abort();
  ready.then(
    (chat) => chat.dispose(),
    () => {}, // it was shown
  );
  ready = open(device);
  begin();
});
await begin();
