// npx rushlight chat: a conversation in a terminal.

import { createInterface } from 'node:readline';
import { loadText } from '../src/text/load-text.js';
import { textLibraries } from './optional-packages.js';
import { escapeControls, styled } from './printable.js';

/**
 * @typedef {import('../src/text/text-model.js').TextModel} TextModel
 * @typedef {import('../src/text/answer.js').Message} Message
 * @typedef {import('../src/text/answer.js').GenerateOptions} GenerateOptions
 *
 * @typedef {object} ChatOptions
 * @property {string} [system] the first message
 * @property {GenerateOptions} generating
 */

const HELP = '/reset begins again, /exit or Ctrl-D ends, Ctrl-C stops an answer\n';

/** Writes to stdout. @param {string} text */
const write = (text) => void process.stdout.write(escapeControls(text));

/**
 * Writes an answer. Ctrl-C stops it.
 * @param {TextModel} chat @param {Message[]} messages @param {GenerateOptions} generating
 * @param {import('node:readline').Interface} lines
 */
async function answer(chat, messages, generating, lines) {
  const stop = new AbortController(),
    abort = () => stop.abort();
  lines.on('SIGINT', abort);
  let text = '';
  try {
    for await (const piece of chat.generate(messages, { overflow: 'slide', ...generating, signal: stop.signal })) {
      write(piece);
      text += piece;
    }
  } catch (e) {
    if (!stop.signal.aborted) throw e;
  } finally {
    lines.off('SIGINT', abort);
    write('\n');
  }
  return text;
}

/**
 * Reads messages from stdin and writes answers to stdout, until stdin ends.
 * @param {string} file @param {import('../src/text/load-text.js').TextOptions} loading @param {ChatOptions} options
 */
export async function runChat(file, loading, { system, generating }) {
  const chat = await loadText(file, { ...(await textLibraries()), ...loading });
  /** @type {Message[]} */ const first = system === undefined ? [] : [{ role: 'system', content: system }];
  let messages = [...first];
  const terminal = Boolean(process.stdin.isTTY),
    lines = createInterface({ input: process.stdin, ...(terminal && { output: process.stdout }), prompt: '> ' }),
    prompt = () => terminal && lines.prompt();
  if (terminal) write(styled('dim', HELP));
  try {
    prompt();
    for await (const line of lines) {
      const content = line.trim();
      if (content === '/exit') break;
      if (content === '/reset') messages = [...first];
      else if (content.startsWith('/')) write(HELP);
      else if (content) {
        messages.push({ role: 'user', content });
        messages.push({ role: 'assistant', content: await answer(chat, messages, generating, lines) });
      }
      prompt();
    }
  } finally {
    lines.close();
    chat.dispose();
  }
}
