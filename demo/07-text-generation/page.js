import { element, fetchJson, loadModel, showError } from '../shared/page.js';
import { Conversation, makeTokenizer } from './chat.js';

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

async function prepare() {
  const [{ model, manifest }, { Tokenizer }, json] = await Promise.all([
    loadModel(FOLDER, byId('status'), { worker: true, threads: 'auto' }),
    import(`${FOLDER}/tokenizers.mjs`).catch(() => {
      throw new Error('There is no tokenizer yet. Run ./dev demo first.');
    }),
    fetchJson(`${FOLDER}/tokenizer.json`),
  ]);
  return () => new Conversation(model, makeTokenizer(Tokenizer, json), manifest);
}

const ready = prepare();
/** @type {Conversation | undefined} */ let conversation;

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
  const start = performance.now();
  try {
    conversation ??= (await ready)();
    const options = Object.fromEntries(SETTINGS.map((name) => [name, byId(name).valueAsNumber]));
    for await (const { text } of conversation.ask(asked, { ...options, signal: stopped })) {
      last = performance.now();
      if (tokens++ === 0) first = last;
      words.append(text);
      byId('speed').textContent = tokens > 1 ? speed() : '';
      words.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  } catch (error) {
    if (!stopped.aborted) showError(facts, error);
  }
  if (tokens > 0)
    facts.prepend(
      `${count(tokens, 'token')}${stopped.aborted ? ', stopped' : ''}: the first after ` +
        `${(first - start).toFixed(0)} ms${tokens > 1 ? `, then ${speed()}` : ''}. The cache ` +
        `holds ${count(conversation?.position ?? 0, 'token')}.`,
    );
  else if (stopped.aborted) facts.textContent = 'Stopped.';
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
  conversation = undefined;
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

try {
  await ready;
  for (const button of byId('form').querySelectorAll('button:disabled')) if (button !== anew) button.disabled = false;
} catch (error) {
  showError(byId('status'), error);
}
