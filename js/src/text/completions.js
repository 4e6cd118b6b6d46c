// Chat completions in the form of OpenAI's interface.

import { badArgument, describeValue, unknownNameError } from '../base/errors.js';
import { fields, flag, integer, list, nullable, number, object, oneOf, string } from './asset-checks.js';
import { callSchema, parseCalls, templateMessage, textBefore } from './tools.js';

/**
 * @typedef {import('./text-model.js').TextModel} TextModel
 * @typedef {import('./answer.js').Answer} Answer
 * @typedef {import('./tools.js').Tool} Tool
 * @typedef {import('./tools.js').ToolCall} ToolCall
 * @typedef {import('./tools.js').MessageParam} MessageParam
 *
 * @typedef {object} CompletionRequest a request, as OpenAI describes it. A property that is null is treated as absent
 * @property {readonly MessageParam[]} messages the conversation, with at least one message
 * @property {string} [model] the path or URL of a .rush file
 * @property {boolean | null} [stream] gives the answer in chunks; false by default
 * @property {StreamOptions | null} [stream_options] options of an answer in chunks
 * @property {number | null} [temperature] divides the logits; 0 always chooses the likeliest token. Like the default of
 *   `top_p`, its default is that of the model's generation_config.json
 * @property {number | null} [top_p] chooses among the fewest tokens whose total probability reaches it, from 0 to 1
 * @property {number | null} [max_tokens] the older name of `max_completion_tokens`
 * @property {number | null} [max_completion_tokens] the most tokens of the answer; by default the room that is left
 * @property {string | readonly string[] | null} [stop] strings that end the answer, which has none of them
 * @property {number | null} [seed] the same seed chooses the same tokens
 * @property {boolean | null} [logprobs] adds the probability of each token
 * @property {number | null} [top_logprobs] with `logprobs`, how many of the likeliest tokens are added; 0 by default
 * @property {ResponseFormat | null} [response_format] the form of the answer; text by default
 * @property {readonly Tool[] | null} [tools] functions that the answer may call
 * @property {string | ToolChoice | null} [tool_choice] 'auto', which is the default, lets the model choose; 'none'
 *   forbids calls; 'required' forces a call; an object forces a call of its function
 * @property {number | null} [n] the number of answers, which must be 1
 *
 * @typedef {object} StreamOptions options of an answer in chunks
 * @property {boolean} [include_usage] adds a last chunk, which has no choices and has `usage`
 *
 * @typedef {object} ResponseFormat the form of an answer
 * @property {string} type 'text', 'json_object' for any object, or 'json_schema'
 * @property {ResponseSchema} [json_schema] the schema, for the type 'json_schema'
 *
 * @typedef {object} ResponseSchema the schema of an answer. Its further properties, such as `name`, change nothing
 * @property {object} [schema] a JSON schema. The answer always matches it
 *
 * @typedef {object} ToolChoice the function that an answer must call
 * @property {ChosenFunction} function the function
 *
 * @typedef {object} ChosenFunction the name of a function
 * @property {string} name the name of one of `tools`
 *
 * @typedef {object} Logprob a token and its probability
 * @property {string} token its text
 * @property {number} logprob the natural logarithm of its probability
 * @property {number[]} bytes its text in UTF-8, a number for each byte
 *
 * @typedef {object} LikelyTokens the likeliest tokens in the place of a token
 * @property {Logprob[]} top_logprobs as many as the request's `top_logprobs`, the likeliest first
 *
 * @typedef {object} Logprobs the probabilities of tokens
 * @property {(Logprob & LikelyTokens)[]} content an element for each token, without the token that ends the answer
 *
 * @typedef {'stop' | 'length' | 'tool_calls'} FinishReason why an answer ended: 'stop' at its end or at a stop string,
 *   'length' at the number of tokens, or 'tool_calls' if it calls a function
 *
 * @typedef {object} CompletionUsage numbers of tokens
 * @property {number} prompt_tokens tokens of the prompt
 * @property {number} completion_tokens tokens of the answer, with the one that ends it
 * @property {number} total_tokens the sum of both
 * @property {PromptDetails} prompt_tokens_details a part of the prompt's tokens
 *
 * @typedef {object} PromptDetails a part of the prompt's tokens
 * @property {number} cached_tokens those that were in the cache, and were not computed again
 *
 * @typedef {object} CompletionMessage the message of an answer
 * @property {'assistant'} role always 'assistant'
 * @property {string | null} content the text, or null if the answer only calls functions
 * @property {ToolCall[]} [tool_calls] the calls, if there are any
 *
 * @typedef {object} Choice an answer of a request. There is one
 * @property {0} index always 0
 * @property {CompletionMessage} message the answer
 * @property {Logprobs | null} logprobs the probabilities of all tokens, or null without the request's `logprobs`
 * @property {FinishReason} finish_reason why the answer ended
 *
 * @typedef {object} ChatCompletion a whole answer
 * @property {string} id differs for each answer
 * @property {'chat.completion'} object the kind of this object
 * @property {number} created when the answer began, in seconds since 1970
 * @property {string} model the request's `model`
 * @property {Choice[]} choices the answer, as the only element
 * @property {CompletionUsage} usage numbers of tokens
 *
 * @typedef {object} ChunkChoice the addition of a chunk to an answer
 * @property {0} index always 0
 * @property {Partial<CompletionMessage>} delta the new part of the message
 * @property {Logprobs | null} logprobs the probabilities of the new tokens, or null without the request's `logprobs`
 * @property {FinishReason | null} finish_reason why the answer ended, or null before the end
 *
 * @typedef {object} ChatCompletionChunk a part of an answer
 * @property {string} id the same for all chunks of an answer
 * @property {'chat.completion.chunk'} object the kind of this object
 * @property {number} created when the answer began, in seconds since 1970
 * @property {string} model the request's `model`
 * @property {ChunkChoice[]} choices the new part, as the only element; empty in the chunk that has `usage`
 * @property {CompletionUsage} [usage] numbers of tokens, only with `include_usage` and only in the last chunk
 */

/** Properties of requests that change an answer. */
const KNOWN = [
  ...['messages', 'model', 'stream', 'stream_options', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens'],
  ...['stop', 'seed', 'logprobs', 'top_logprobs', 'response_format', 'tools', 'tool_choice', 'n'],
];
/** Properties that do not change an answer here. */
const IGNORED = [
  'user',
  'store',
  'metadata',
  'parallel_tool_calls',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
];
/** Properties that are accepted with the value that changes nothing. */
const NEUTRAL = /** @type {Record<string, number>} */ ({ frequency_penalty: 0, presence_penalty: 0, n: 1 });

/** The answer that each model writes. Requests wait for it. @type {WeakMap<TextModel, Promise<void>>} */
const turns = new WeakMap();

/**
 * Waits for the earlier requests of a model. Returns a function that lets the next one begin.
 * @param {TextModel} chat
 */
async function turn(chat) {
  const before = turns.get(chat);
  /** @type {() => void} */ let done = () => {};
  turns.set(chat, new Promise((resolve) => (done = resolve)));
  await before;
  return done;
}

const TEXT = string(Infinity),
  OBJECT = (/** @type {unknown} */ value, /** @type {import('./asset-checks.js').Where} */ where) =>
    object(value, where);
const PART = fields({ type: string(64, 1), text: TEXT }, ['type']);
const CALL = fields({ function: fields({ name: string(256, 1), arguments: TEXT }, ['name', 'arguments']) }, [
  'function',
]);
const TOOL = fields(
  { function: fields({ name: string(256, 1), description: nullable(TEXT), parameters: nullable(OBJECT) }, ['name']) },
  ['function'],
);

/** @type {import('./asset-checks.js').Check} */
const content = (value, where) => (Array.isArray(value) ? list(PART, Infinity) : nullable(TEXT))(value, where);
/** @type {import('./asset-checks.js').Check} */
const stop = (value, where) => (Array.isArray(value) ? list(TEXT, Infinity) : TEXT)(value, where);
/** @type {import('./asset-checks.js').Check} */
const toolChoice = (value, where) =>
  typeof value === 'object'
    ? fields({ function: fields({ name: TEXT }, ['name']) }, ['function'])(value, where)
    : oneOf(['auto', 'none', 'required'])(value, where);

/** The kind of each property that changes an answer. All but `messages` may be null. */
const KINDS = {
  messages: list(
    fields({ role: string(256, 1), content, tool_calls: nullable(list(CALL, Infinity)) }, ['role']),
    Infinity,
    1,
  ),
  ...Object.fromEntries(
    Object.entries({
      stream: flag,
      stream_options: fields({ include_usage: nullable(flag) }),
      temperature: number(0, Infinity),
      top_p: number(Number.MIN_VALUE, 1),
      max_tokens: integer(1, Number.MAX_SAFE_INTEGER),
      max_completion_tokens: integer(1, Number.MAX_SAFE_INTEGER),
      stop,
      seed: integer(0, Number.MAX_SAFE_INTEGER),
      logprobs: flag,
      top_logprobs: integer(0, Number.MAX_SAFE_INTEGER),
      response_format: fields({ type: oneOf(['text', 'json_object', 'json_schema']), json_schema: nullable(OBJECT) }, [
        'type',
      ]),
      tools: list(TOOL, Infinity),
      tool_choice: toolChoice,
    }).map(([name, of]) => [name, nullable(of)]),
  ),
};

/** @param {unknown} request @returns {asserts request is CompletionRequest} */
export function checkRequest(request) {
  if (typeof request !== 'object' || request === null || Array.isArray(request))
    throw badArgument(`create: the request must be an object, got ${describeValue(request)}`);
  for (const [name, value] of Object.entries(request)) {
    if (value === null || value === undefined || IGNORED.includes(name)) continue;
    const neutral = NEUTRAL[name];
    if (neutral !== undefined && value !== neutral)
      throw badArgument(`create: ${name} must be ${neutral}, got ${describeValue(value)}`);
    if (neutral === undefined && !KNOWN.includes(name))
      throw unknownNameError('create: there is no property', name, KNOWN);
  }
  try {
    fields(KINDS, ['messages'])(request, 'create');
  } catch (e) {
    const { message, expected, actual } = /** @type {import('../base/errors.js').RushlightError} */ (e);
    throw badArgument(message, { expected, actual });
  }
}

/** @param {CompletionRequest} request @param {string} template @param {boolean} forced */
function structureOf({ response_format: format, tools, tool_choice: choice }, template, forced) {
  if (forced)
    return {
      schema: callSchema(tools ?? [], typeof choice === 'object' ? choice?.function.name : undefined, template),
    };
  if (!format || format.type === 'text') return {};
  if (format.type === 'json_object') return { schema: { type: 'object' } };
  if (format.json_schema?.schema) return { schema: format.json_schema.schema };
  throw badArgument(
    `create: response_format: json_schema must have a schema, got ${describeValue(format.json_schema?.schema)}`,
  );
}

/** @param {TextModel} chat @param {CompletionRequest} request @param {boolean} forced @param {AbortSignal} [signal] */
function begin(chat, request, forced, signal) {
  const tools = request.tool_choice === 'none' ? null : request.tools,
    given = {
      temperature: request.temperature,
      topP: request.top_p,
      maxTokens: request.max_completion_tokens ?? request.max_tokens,
      stop: request.stop,
      seed: request.seed,
      logProbabilities: request.logprobs ? (request.top_logprobs ?? 0) : undefined,
      variables: tools?.length ? { tools } : undefined,
      ...structureOf(request, chat.template, forced),
    };
  const options = Object.fromEntries(Object.entries(given).filter(([, v]) => v !== null && v !== undefined));
  const messages = request.messages.map(templateMessage);
  return chat.generate(messages, { overflow: 'truncate', ...options, ...(signal && { signal }) });
}

/** @param {TextModel} chat @param {Answer} answer @param {number} from the first token @returns {Logprobs} */
function logprobs(chat, answer, from) {
  const entry = (/** @type {{ id: number, logProbability?: number }} */ { id, logProbability = NaN }) => {
    const token = chat.decode([id]);
    return { token, logprob: logProbability, bytes: [...new TextEncoder().encode(token)] };
  };
  const tokens = answer.tokens.slice(from).map((token) => ({
    ...entry(token),
    top_logprobs: (token.alternatives ?? []).map(entry),
  }));
  return { content: tokens.filter(({ token }) => token !== '') }; // without the token that ends the answer
}

/** @param {Answer} answer @returns {CompletionUsage} */
const usageOf = ({ usage: { prompt, cached, answer } }) => ({
  prompt_tokens: prompt,
  completion_tokens: answer,
  total_tokens: prompt + answer,
  prompt_tokens_details: { cached_tokens: cached },
});

/**
 * Writes an answer as parts: their text, and at the end the calls.
 * @param {TextModel} chat @param {CompletionRequest} request @param {AbortSignal} [signal]
 */
async function* parts(chat, request, signal) {
  const done = await turn(chat);
  try {
    const choice = request.tool_choice ?? 'auto',
      forced = choice === 'required' || typeof choice === 'object',
      mayCall = forced || (Boolean(request.tools?.length) && choice !== 'none'),
      answer = begin(chat, request, forced, signal);
    let text = '',
      given = 0,
      from = 0;
    for await (const piece of answer) {
      text += piece;
      const end = mayCall ? (forced ? 0 : textBefore(text)) : text.length;
      if (end <= given) continue;
      yield { content: text.slice(given, end), answer, from };
      given = end;
      from = answer.tokens.length;
    }
    const { content, calls } = mayCall ? parseCalls(text) : { content: text, calls: [] };
    const rest = calls.length ? '' : content.slice(given);
    yield { content: rest, answer, from, calls: calls.map(toolCall), finished: true };
  } finally {
    done();
  }
}

/** @param {import('./tools.js').Call} call @returns {ToolCall} */
const toolCall = ({ name, arguments: given }) => ({
  id: `call_${newId()}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(given) },
});

const newId = () => crypto.getRandomValues(new Uint32Array(4)).join('');

/** @param {CompletionRequest} request @param {string} name */
const head = (request, name) => ({
  id: `chatcmpl-${newId()}`,
  created: Math.floor(Date.now() / 1000),
  model: request.model ?? name,
});

/**
 * Answers a request as a whole.
 * @param {TextModel} chat @param {CompletionRequest} request @param {string} name of the model
 * @param {AbortSignal} [signal]
 * @returns {Promise<ChatCompletion>}
 */
async function complete(chat, request, name, signal) {
  const first = head(request, name);
  let text = '';
  for await (const { content, answer, calls = [], finished } of parts(chat, request, signal)) {
    text += content;
    if (!finished) continue;
    /** @type {CompletionMessage} */ const message = {
      role: 'assistant',
      content: calls.length && !text.trim() ? null : text,
      ...(calls.length && { tool_calls: calls }),
    };
    const reason = calls.length ? 'tool_calls' : (answer.finishReason ?? 'stop'),
      probabilities = request.logprobs ? logprobs(chat, answer, 0) : null;
    return {
      ...first,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: probabilities, finish_reason: reason }],
      usage: usageOf(answer),
    };
  }
  throw new Error('an answer must end with a last part');
}

/**
 * Answers a request in chunks.
 * @param {TextModel} chat @param {CompletionRequest} request @param {string} name of the model
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<ChatCompletionChunk, void, void>}
 */
async function* stream(chat, request, name, signal) {
  const first = { ...head(request, name), object: /** @type {const} */ ('chat.completion.chunk') };
  /** @type {(delta: Partial<CompletionMessage>, more?: object) => ChatCompletionChunk} */
  const chunk = (delta, more) => ({
    ...first,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }],
  });
  let begun = false;
  for await (const { content, answer, from, calls = [], finished } of parts(chat, request, signal)) {
    if (!begun) yield chunk({ role: 'assistant', content: '' }); // a wrong request is refused before it
    begun = true;
    if (content) yield chunk({ content }, request.logprobs ? { logprobs: logprobs(chat, answer, from) } : {});
    if (!finished) continue;
    if (calls.length) yield chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) });
    yield chunk({}, { finish_reason: calls.length ? 'tool_calls' : (answer.finishReason ?? 'stop') });
    if (request.stream_options?.include_usage) yield { ...first, choices: [], usage: usageOf(answer) };
  }
}

/**
 * Answers a request of checkRequest(), in chunks if it has `stream`.
 * @param {TextModel} chat @param {CompletionRequest} request @param {string} name @param {AbortSignal} [signal]
 */
export async function create(chat, request, name, signal) {
  return request.stream ? stream(chat, request, name, signal) : complete(chat, request, name, signal);
}
