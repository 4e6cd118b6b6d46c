// Tool calls: in the messages that a chat template reads, and in the text of an answer.

import { badArgument, describeValue } from '../base/errors.js';
import { beginningAtEnd } from './detokenizer.js';

/**
 * @typedef {object} Tool a tool that an answer may call
 * @property {'function'} type always 'function'
 * @property {ToolFunction} function the function
 *
 * @typedef {object} ToolFunction a function that an answer may call
 * @property {string} name its name
 * @property {string} [description] what it does, for the model
 * @property {object} [parameters] a JSON schema of its arguments, which are an object
 *
 * @typedef {object} ToolCall a call of a function
 * @property {string} id differs for each call
 * @property {'function'} type always 'function'
 * @property {CalledFunction} function the function and its arguments
 *
 * @typedef {object} CalledFunction a function that is called
 * @property {string} name its name
 * @property {string} arguments its arguments: an object as JSON
 *
 * @typedef {{ name: string, arguments: object }} Call
 */

const BEGIN = '<tool_call>';

/**
 * Returns the key of the arguments in the calls of a template: Hermes and Qwen, or Llama 3.
 * @param {string} template
 */
const keyOf = (template) =>
  template.includes(BEGIN) || !template.includes('"parameters"') ? 'arguments' : 'parameters';

/** @param {unknown} value @returns {Call | undefined} */
function callOf(value) {
  const { name, arguments: given, parameters = given } = /** @type {Record<string, unknown>} */ (value ?? {});
  if (typeof name !== 'string' || typeof parameters !== 'object' || parameters === null) return undefined;
  return { name, arguments: parameters };
}

/** @param {string} text */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return [value].flat().map(callOf);
  } catch {
    return [undefined];
  }
}

/**
 * Returns the calls in an answer, and the text before them. An answer with a call that cannot be read is only text.
 * @param {string} text @returns {{ content: string, calls: Call[] }}
 */
export function parseCalls(text) {
  const at = text.indexOf(BEGIN),
    content = at < 0 ? '' : text.slice(0, at),
    parts = at < 0 ? [text.trim().replace(/^<\|python_tag\|>/, '')] : text.slice(at).split(BEGIN).slice(1),
    calls = parts.flatMap((part) => parsed(part.replace('</tool_call>', '')));
  if (calls.includes(undefined) || calls.length === 0) return { content: text, calls: [] };
  return { content: content.trim(), calls: /** @type {Call[]} */ (calls) };
}

/** Returns how much of an unfinished answer is text, and cannot be a call. @param {string} text */
export function textBefore(text) {
  if (/^\s*[[{]/.test(text)) return 0;
  const at = text.indexOf(BEGIN);
  return at < 0 ? text.length - beginningAtEnd(text, [BEGIN]) : at;
}

/**
 * Returns the schema of an answer that must call a tool.
 * @param {readonly Tool[]} tools
 * @param {string | undefined} name of the tool; undefined for any
 * @param {string} template
 */
export function callSchema(tools, name, template) {
  const chosen = tools.filter((tool) => name === undefined || tool.function.name === name),
    key = keyOf(template);
  if (chosen.length === 0)
    throw badArgument(`create: tool_choice must name one of the tools, got ${describeValue(name)}`);
  return {
    anyOf: chosen.map(({ function: { name, parameters } }) => ({
      type: 'object',
      properties: { name: { const: name }, [key]: parameters ?? { type: 'object' } },
      required: ['name', key],
    })),
  };
}

/**
 * @typedef {object} MessageParam a message of a request. The chat template may read further properties, such as
 *   `tool_call_id`
 * @property {string} role such as "user", "assistant", "system" or "tool"
 * @property {string | TextPart[] | null} [content] its text, as one string or as parts
 * @property {ToolCall[]} [tool_calls] the calls of an earlier answer
 *
 * @typedef {object} TextPart a part of a message
 * @property {string} type must be "text"
 * @property {string} [text] the text
 */

/** @param {ToolCall} call @returns {unknown} */
function argumentsOf({ function: { name, arguments: given } }) {
  try {
    return JSON.parse(given);
  } catch (cause) {
    throw badArgument(`create: the arguments of a call of ${name} must be JSON, got ${describeValue(given)}`, {
      cause,
    });
  }
}

/** Changes a message of the interface to one of a chat template. @param {MessageParam} message */
export function templateMessage(message) {
  const { content, tool_calls: calls, ...rest } = message;
  const text = Array.isArray(content)
    ? content
        .map((part) => {
          if (part?.type !== 'text' || typeof part.text !== 'string')
            throw badArgument(`create: a part of a message must be text, got ${describeValue(part?.type)}`);
          return part.text;
        })
        .join('')
    : content;
  return {
    ...rest,
    content: text ?? '',
    ...(calls && {
      tool_calls: calls.map((/** @type {ToolCall} */ call) => ({
        ...call,
        function: { ...call.function, arguments: argumentsOf(call) },
      })),
    }),
  };
}
