// OpenAI's interface: rushlight/openai, rushlight serve, and a chat in a terminal.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import test, { after, before } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import * as jinja from '@huggingface/jinja';
import * as tokenizers from '@huggingface/tokenizers';

import { Completions } from '../../js/bin/completions.js';
import { serveModel } from '../../js/bin/serve.js';
import { CreateMLCEngine, OpenAI } from '../../js/src/text/openai.js';
import { RushlightError } from '../../js/src/index.js';
import { callSchema, parseCalls, templateMessage, textBefore } from '../../js/src/text/tools.js';

const folder = fileURLToPath(new URL('../../build/text/', import.meta.url)); // export_models.py writes it
const want = JSON.parse(readFileSync(`${folder}expected.json`, 'utf8'));
const client = new OpenAI({ baseURL: pathToFileURL(folder), apiKey: 'none', tokenizers, jinja });
const base = { model: 'decoder.rush', messages: want.messages, temperature: 0, max_tokens: 12 };
const { create } = client.chat.completions;
after(() => client.unload());

test('a completion has the answer of transformers', async () => {
  const { id, created, ...rest } = await create({ ...base, logprobs: true, top_logprobs: 2 });
  assert.match(id, /^chatcmpl-/);
  assert(created > 1e9);
  const [choice] = rest.choices;
  assert.equal(choice?.message.content, want.text);
  assert.equal(choice?.finish_reason, 'length');
  assert.deepEqual(rest.usage, {
    prompt_tokens: want.prompt.length,
    completion_tokens: 12,
    total_tokens: want.prompt.length + 12,
    prompt_tokens_details: { cached_tokens: 0 },
  });
  const { content = [] } = choice?.logprobs ?? {};
  content.forEach(({ logprob, top_logprobs }, i) => {
    assert(Math.abs(logprob - want.logProbabilities[i]) < 1e-5);
    assert.equal(top_logprobs.length, 2);
    assert.equal(top_logprobs[0]?.logprob, logprob);
  });
});

test('chunks join to the same answer, with its usage', async () => {
  const stream = await create({ ...base, stream: true, stream_options: { include_usage: true }, logprobs: true });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  assert(chunks.every(({ object }) => object === 'chat.completion.chunk'));
  assert.equal(chunks.map(({ choices: [c] }) => c?.delta.content ?? '').join(''), want.text);
  assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '' });
  assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'length');
  assert.deepEqual(chunks.at(-1)?.choices, []);
  assert.equal(chunks.at(-1)?.usage?.completion_tokens, 12);
});

test('requests at the same time wait for each other; an early end of a stream frees the model', async () => {
  const [a, b] = await Promise.all([create(base), create({ ...base, max_tokens: 3 })]);
  assert(a.choices[0]?.message.content?.startsWith(b.choices[0]?.message.content ?? 'x'));
  for await (const _ of await create({ ...base, stream: true })) break;
  const gone = new AbortController();
  gone.abort();
  await assert.rejects(create(base, { signal: gone.signal }), { code: 'aborted' });
  assert.equal((await create(base)).choices[0]?.message.content, want.text);
});

test('an answer fits the schema of response_format', async () => {
  const schema = { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] };
  const { choices } = await create({
    ...base,
    max_tokens: 30,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  });
  assert.equal(typeof JSON.parse(choices[0]?.message.content ?? '').a, 'boolean');
  assert.equal(choices[0]?.finish_reason, 'stop');
});

const tools = [
  { type: /** @type {const} */ ('function'), function: { name: 'f', parameters: { type: 'object', properties: {} } } },
];

test('a tool must be called', async () => {
  // The model has random weights and room for 48 tokens, so that some seeds do not come to an end.
  let called = 0;
  for (let seed = 0; seed < 12; seed++) {
    const request = {
      ...{ ...base, messages: [{ role: 'user', content: '' }], max_tokens: 40 },
      ...{ temperature: 1.5, seed, tools, tool_choice: 'required' },
    };
    const whole = await create(request);
    const deltas = [];
    for await (const { choices } of await create({ ...request, stream: true })) deltas.push(choices[0]);
    const [choice] = whole.choices;
    assert.equal(deltas.at(-1)?.finish_reason, choice?.finish_reason);
    if (choice?.finish_reason !== 'tool_calls') continue;
    called++;
    assert.equal(choice.message.content, null);
    assert.deepEqual(choice.message.tool_calls?.[0]?.function, { name: 'f', arguments: '{}' });
    assert.equal(deltas.find((c) => c?.delta.tool_calls)?.delta.tool_calls?.[0]?.function.name, 'f');
    assert.equal(deltas.map((c) => c?.delta.content ?? '').join(''), '');
  }
  assert(called > 0);
});

test('calls in the formats of Hermes, Qwen and Llama 3', () => {
  const call = { name: 'f', arguments: { x: 1 } };
  const qwen = 'Let me see.\n<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>';
  assert.deepEqual(parseCalls(qwen), { content: 'Let me see.', calls: [call] });
  assert.deepEqual(parseCalls(`${qwen}\n<tool_call>{"name":"f","arguments":{"x":1}}</tool_call>`).calls, [call, call]);
  assert.deepEqual(parseCalls('{"name": "f", "parameters": {"x": 1}}').calls, [call]);
  assert.deepEqual(parseCalls('<|python_tag|>{"name": "f", "parameters": {"x": 1}}').calls, [call]);
  for (const text of ['{"name": 1}', '<tool_call>{', 'text', '{"x": 1}', '<tool_call>'])
    assert.deepEqual(parseCalls(text), { content: text, calls: [] });
  assert.equal(textBefore('Hello <tool'), 6);
  assert.equal(textBefore('Hello <tool_call>\n{'), 6);
  assert.equal(textBefore('Hello < b'), 9);
  assert.equal(textBefore(' {"na'), 0);
  const llama = callSchema(tools, 'f', 'with {"name": function name, "parameters": dictionary}');
  assert.deepEqual(llama.anyOf[0]?.required, ['name', 'parameters']);
  assert.throws(() => callSchema(tools, 'g', ''), {
    code: 'bad-argument',
    message: /must name one of the tools, got the string "g"/,
  });
});

test('messages for a template', () => {
  assert.deepEqual(
    templateMessage({
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    }),
    {
      role: 'user',
      content: 'ab',
    },
  );
  const call = { id: '1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } };
  const { tool_calls } = templateMessage({ role: 'assistant', content: null, tool_calls: [call] });
  assert.deepEqual(tool_calls[0].function.arguments, { x: 1 });
  assert.throws(() => templateMessage({ role: 'user', content: [{ type: 'image_url' }] }), {
    message: /must be text, got the string "image_url"/,
  });
});

test('wrong requests are refused', async () => {
  const wrong = (/** @type {any} */ more, /** @type {RegExp} */ message) =>
    assert.rejects(create({ ...base, ...more }), { code: 'bad-argument', message });
  await wrong({ messages: [] }, /messages must be an array of at least 1 elements/);
  await wrong({ model: '' }, /model must be the path or URL/);
  await wrong({ n: 2 }, /n must be 1, got 2/);
  await wrong({ presence_penalty: 0.5 }, /presence_penalty must be 0/);
  await wrong({ logit_bias: {} }, /there is no property "logit_bias"/);
  await wrong({ response_format: { type: 'xml' } }, /response_format: type must be one of text, json_object/);
  await create({ ...base, max_tokens: 1, n: 1, frequency_penalty: 0, user: 'x' });
});

test('an engine as WebLLM has it', async () => {
  const engine = await CreateMLCEngine(`${folder}decoder.rush`, { tokenizers, jinja });
  const { choices } = await engine.chat.completions.create({ messages: want.messages, temperature: 0, max_tokens: 12 });
  assert.equal(choices[0]?.message.content, want.text);
  await engine.unload();
});

// ---- rushlight serve

/** @type {Awaited<ReturnType<typeof serveModel>>} */ let served;
const here = process.cwd();
before(async () => {
  process.chdir(fileURLToPath(new URL('../', import.meta.url))); // which has the two packages
  served = await serveModel(`${folder}decoder.rush`, 0);
});
after(() => {
  process.chdir(here);
  served.server.close();
  served.server.closeAllConnections();
});

/** @param {string} path @param {object} [body] @param {Record<string, string>} [headers] */
const post = (path, body, headers = {}) =>
  fetch(new URL(path, served.url), {
    method: body ? 'POST' : 'GET',
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });

test('the server answers whole and in chunks', async () => {
  const models = /** @type {any} */ (await (await post('/v1/models')).json());
  assert.equal(models.data[0].id, 'decoder.rush');
  const { model: _, ...request } = base;
  const whole = /** @type {any} */ (await (await post('/v1/chat/completions', request)).json());
  assert.equal(whole.choices[0].message.content, want.text);
  assert.equal(whole.model, 'decoder.rush');
  const response = await post('/v1/chat/completions', { ...request, stream: true });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const events = (await response.text())
    .trim()
    .split('\n\n')
    .map((line) => line.replace(/^data: /, ''));
  assert.equal(events.pop(), '[DONE]');
  assert.equal(events.map((event) => JSON.parse(event).choices[0].delta.content ?? '').join(''), want.text);
});

test('serve prints the address of the chat completions, if the model has them', async () => {
  const cli = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url)),
    child = spawn(process.execPath, [cli, 'serve', `${folder}decoder.rush`]),
    lines = [];
  child.stderr.pipe(process.stderr);
  for await (const line of createInterface(child.stdout)) if (lines.push(line) === 2) child.kill();
  const url = /^http:\/\/localhost:\d+\//.exec(lines[0] ?? '')?.[0];
  assert.deepEqual(lines, [
    `${url} shows ${folder}decoder.rush; Ctrl-C ends it`,
    `${url}v1/chat/completions answers OpenAI's requests`,
  ]);
  const remote = await serveModel(`${served.url}model.rush`, 0); // a URL that answers ranges
  remote.server.close();
  assert.equal(await remote.completions, `${remote.url}v1/chat/completions`);
  for (const file of ['embedder.rush', 'plain.rush', 'expected.json']) {
    const { server, completions } = await serveModel(folder + file, 0),
      none = await completions;
    server.close();
    assert.equal(none, undefined, file);
  }
});

test('the server refuses wrong requests and other sites', async () => {
  const refused = async (
    /** @type {Response} */ response,
    /** @type {number} */ status,
    /** @type {RegExp} */ message,
  ) => {
    assert.equal(response.status, status);
    assert.match(/** @type {any} */ (await response.json()).error.message, message);
  };
  const path = '/v1/chat/completions';
  await refused(await post(path), 405, /must be POST, got GET/);
  await refused(await post('/v1/embeddings', {}), 404, /there is no \/v1\/embeddings/);
  await refused(await post(path, base, { 'content-type': 'text/plain' }), 415, /must be application\/json/);
  await refused(await post(path, base, { origin: 'https://example.org' }), 403, /the origin must be/);
  await refused(await post(path, { ...base, stream: true, temperature: -1 }), 400, /temperature must be/);
  await refused(await post(path, { messages: [{ role: 'user', content: 'x'.repeat(99) }] }), 400, /at most 48 tokens/);
  const status = await new Promise((resolve) =>
    httpRequest(new URL('/v1/models', served.url), { headers: { host: 'example.org' } }, (r) =>
      resolve(r.statusCode),
    ).end(),
  );
  assert.equal(status, 403);
});

/** A request as node:http gives it. @param {object} body */
const incoming = (body) =>
  /** @type {any} */ (
    Object.assign(Readable.from([Buffer.from(JSON.stringify(body))]), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
  );

test('a client that stops reading and leaves does not hold the model', async () => {
  const completions = new Completions(`${folder}decoder.rush`, 'decoder.rush', {}),
    path = '/v1/chat/completions',
    { model: _, ...request } = base,
    gone = Object.assign(new EventEmitter(), { headersSent: false, writeHead: () => (gone.headersSent = true) });
  const write = () => {
    setImmediate(() => gone.emit('close')); // while the server waits for 'drain'
    return false;
  };
  const response = /** @type {any} */ (Object.assign(gone, { write, end: () => {} }));
  await completions.answer(incoming({ ...request, stream: true }), response, path);
  const text = new Promise((end) =>
    completions.answer(
      incoming(request),
      /** @type {any} */ (Object.assign(new EventEmitter(), { writeHead: () => ({ end }) })),
      path,
    ),
  );
  const first = await Promise.race([text, new Promise((resolve) => setTimeout(resolve, 20_000, '{}').unref())]);
  assert.equal(JSON.parse(first).choices?.[0].message.content, want.text);
  await completions.dispose();
});

test('a chat in a terminal', async () => {
  const cli = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url));
  const child = spawn(process.execPath, [
    cli,
    'chat',
    `${folder}decoder.rush`,
    '--temperature',
    '0',
    '--max-tokens',
    '12',
  ]);
  child.stdin.end(`${want.messages[0].content}\n/reset\n${want.messages[0].content}\n/what\n/exit\nx\n`);
  let out = '';
  child.stdout.on('data', (data) => (out += data));
  child.stderr.pipe(process.stderr);
  assert.equal(await new Promise((resolve) => child.on('close', resolve)), 0);
  const shown = want.text.replace(
    /[^\P{Cc}\t\n]/gu,
    (/** @type {string} */ c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  assert.equal(out, `${shown}\n${shown}\n/reset begins again, /exit or Ctrl-D ends, Ctrl-C stops an answer\n`);
});

test('a request with any value in any place is answered or refused in words', async () => {
  const call = { id: '1', type: 'function', function: { name: 'f', arguments: '{}' } },
    whole = {
      ...base,
      max_tokens: 1,
      stream: false,
      stream_options: { include_usage: true },
      top_p: 0.5,
      max_completion_tokens: 1,
      stop: ['x'],
      seed: 1,
      logprobs: true,
      top_logprobs: 1,
      response_format: { type: 'json_schema', json_schema: { schema: { type: 'boolean' } } },
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } }],
      tool_choice: { function: { name: 'f' } },
      n: 1,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }], tool_calls: [call] }],
    };
  const values = [null, true, -1, 1.5, NaN, Infinity, '', 'x', [], [null], {}, 10n, Symbol('s'), () => {}];
  /** @param {any} value @returns {any[][]} */
  const pathsOf = (value) =>
    value && typeof value === 'object'
      ? Object.keys(value).flatMap((key) => [[key], ...pathsOf(value[key]).map((path) => [key, ...path])])
      : [];
  const attempt = async (/** @type {any} */ request, /** @type {any} */ options, /** @type {string} */ what) => {
    try {
      const given = await create(request, options);
      if (Symbol.asyncIterator in given) for await (const _ of given);
    } catch (e) {
      assert(e instanceof RushlightError && e.code !== 'internal', `${what}: ${e instanceof Error ? e.stack : e}`);
      assert(!e.message.includes('[object') && !e.message.includes('JSON.parse'), `${what}: ${e.message}`);
    }
  };
  for (const path of pathsOf(whole))
    for (const value of values) {
      const request = structuredClone(whole);
      const parent = path.slice(0, -1).reduce((at, key) => at[key], /** @type {any} */ (request));
      parent[path.at(-1)] = value;
      await attempt(request, {}, `${path.join('.')} = ${String(value)}`);
    }
  for (const value of values) {
    await attempt(value, {}, `the request ${String(value)}`);
    await attempt(base, value, `the options ${String(value)}`);
    await attempt(base, { signal: value }, `the signal ${String(value)}`);
    assert.throws(() => {
      new OpenAI(/** @type {any} */ (value)).load(value);
    }, RushlightError);
  }
  await assert.rejects(create(/** @type {any} */ (null)), { code: 'bad-argument', message: /got null/ });
  await assert.rejects(create({ ...base, temperature: /** @type {any} */ ('1') }), {
    code: 'bad-argument',
    message: 'create: temperature must be a number of at least 0, got the string "1"',
  });
});
