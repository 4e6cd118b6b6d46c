// Loads models of text whose assets were changed, and uses them. It posts the name of each case before it begins, and
// what was wrong.

import { parentPort, workerData } from 'node:worker_threads';

import * as jinja from '@huggingface/jinja';
import * as tokenizers from '@huggingface/tokenizers';

import { Model } from '../../js/src/api/model.js';
import { RushlightError } from '../../js/src/index.js';
import { loadText } from '../../js/src/text/load-text.js';

/** @type {{ folder: string, cases: { file: string, asset: string, name: string, text: string }[] }} */
const { folder, cases } = workerData;
const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

/** The most bytes that a case may leave in buffers, with the memory of its model. */
const MOST_BUFFERS = 192 << 20;

/** @type {{ asset: string, text: string } | undefined} */ let changed;
const { asset } = Model.prototype;
Model.prototype.asset = async function (name) {
  const found = await asset.call(this, name);
  if (changed?.asset === name) Object.defineProperty(found, 'text', { value: async () => changed?.text });
  return found;
};

/** @param {unknown} value @param {string} kind */
const must = (value, kind) => {
  if (typeof value !== kind) throw new TypeError(`an answer must be a ${kind}, got ${typeof value}`);
};

/** Uses each function of a model. @param {import('../../js/src/text/load-text.js').TextModel} chat */
const uses = (chat) => [
  async () => must(chat.decode(chat.encode('Hello, wörld 12')), 'string'),
  async () => must(chat.decode([0, 65, 255, 256, 1 << 20]), 'string'),
  async () => must(chat.applyTemplate([{ role: 'user', content: 'Hi' }]), 'string'),
  async () => must(await chat.generate('Hi', { maxTokens: 3 }).text(), 'string'),
  async () => must(await chat.generate('Hi', { maxTokens: 4, temperature: 0, overflow: 'slide' }).text(), 'string'),
  async () => must(await chat.generate([{ role: 'user', content: 'Hi' }], { maxTokens: 2 }).text(), 'string'),
  async () => must(await chat.generate('Hi', { maxTokens: 8, schema: { type: 'boolean' } }).text(), 'string'),
  async () => must((await chat.transcribe(new Float32Array(20_000), { timestamps: true })).text, 'string'),
  async () => must((await chat.classify(['Anna lives in Berlin']))[0]?.length, 'number'),
  async () => must((await chat.embed(['Hello']))[0]?.[0], 'number'),
];

/** @param {string} file */
async function tryCase(file) {
  const wrong = [];
  /** @param {() => Promise<unknown>} job */
  const guarded = async (job) => {
    try {
      return await job();
    } catch (e) {
      if (!(e instanceof RushlightError) || e.code === 'internal' || e.message.includes('[object'))
        wrong.push(`${e?.code ?? ''} ${e?.stack}`.split('\n').slice(0, 3).join(' '));
      return undefined;
    }
  };
  const chat = /** @type {import('../../js/src/text/load-text.js').TextModel | undefined} */ (
    await guarded(() => loadText(`${folder}${file}`, { tokenizers, jinja }))
  );
  if (!chat) return { wrong, loaded: false };
  for (const use of uses(chat)) await guarded(use);
  const { arrayBuffers } = process.memoryUsage();
  if (arrayBuffers > MOST_BUFFERS) wrong.push(`${arrayBuffers} bytes in buffers`);
  chat.dispose();
  return { wrong, loaded: true };
}

for (const [at, one] of cases.entries()) {
  port.postMessage({ at });
  changed = one.asset ? one : undefined;
  port.postMessage({ at, ...(await tryCase(one.file)) });
  if (at % 8 === 0) globalThis.gc?.();
}
port.postMessage({ at: cases.length });
