// /v1/chat/completions and /v1/models of npx rushlight serve, for files with a model of text.

import { once } from 'node:events';
import { RushlightError } from '../src/base/errors.js';
import { checkRequest, create } from '../src/text/completions.js';
import { loadText } from '../src/text/load-text.js';
import { textLibraries } from './optional-packages.js';

/**
 * @typedef {import('node:http').IncomingMessage} IncomingMessage
 * @typedef {import('node:http').ServerResponse} ServerResponse
 * @typedef {import('../src/text/text-model.js').TextModel} TextModel
 */

/** The most bytes of a request. */
const MAX_REQUEST = 8 << 20;

/** An answer with an HTTP status, in the form of OpenAI's errors. */
class Refusal extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @param {IncomingMessage} request @returns {Promise<unknown>} */
async function readJson(request) {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    throw new Refusal(415, 'the content type must be application/json'); // which a page of another site cannot send
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MAX_REQUEST) throw new Refusal(413, `the request must have at most ${MAX_REQUEST} bytes`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch (e) {
    throw new Refusal(400, `the request must be JSON: ${/** @type {Error} */ (e).message}`);
  }
}

/** Answers requests for one file. */
export class Completions {
  #file;
  #name;
  #headers;
  /** @type {Promise<TextModel> | undefined} */ #chat;

  /** @param {string} file @param {string} name of the model @param {Record<string, string>} headers of each answer */
  constructor(file, name, headers) {
    this.#file = file;
    this.#name = name;
    this.#headers = headers;
  }

  /** Loads the model at the first request. */
  #model() {
    this.#chat ??= textLibraries().then((libraries) => loadText(this.#file, { ...libraries, worker: true }));
    this.#chat.catch(() => (this.#chat = undefined));
    return this.#chat;
  }

  /** Frees the model. */
  async dispose() {
    (await this.#chat?.catch(() => undefined))?.dispose();
  }

  /** @param {IncomingMessage} request @param {ServerResponse} response @param {string} path */
  async answer(request, response, path) {
    try {
      const origin = request.headers.origin;
      if (origin !== undefined && origin !== `http://${request.headers.host}`)
        throw new Refusal(403, `the origin must be http://${request.headers.host}, got ${origin}`);
      const method = path === '/v1/models' ? 'GET' : 'POST';
      if (request.method !== method) throw new Refusal(405, `the method must be ${method}, got ${request.method}`);
      if (path === '/v1/models') {
        await this.#model();
        const model = { id: this.#name, object: 'model', created: 0, owned_by: 'rushlight' };
        return this.#send(response, 200, { object: 'list', data: [model] });
      }
      if (path !== '/v1/chat/completions') throw new Refusal(404, `there is no ${path}`);
      await this.#complete(request, response);
    } catch (e) {
      this.#refuse(response, e);
    }
  }

  /** @param {IncomingMessage} request @param {ServerResponse} response */
  async #complete(request, response) {
    const body = await readJson(request),
      gone = new AbortController();
    response.on('close', () => gone.abort());
    checkRequest(body);
    const result = await create(await this.#model(), body, this.#name, gone.signal);
    if (!(Symbol.asyncIterator in result)) return this.#send(response, 200, result);
    try {
      const first = await result.next(); // refuses a request before the headers are sent
      response.writeHead(200, { ...this.#headers, 'Content-Type': 'text/event-stream; charset=utf-8' });
      for (let { value, done } = first; !done; { value, done } = await result.next())
        if (!response.write(`data: ${JSON.stringify(value)}\n\n`))
          await once(response, 'drain', { signal: gone.signal });
      response.end('data: [DONE]\n\n');
    } finally {
      await result.return(); // lets the next request begin, also if the client has left
    }
  }

  /** @param {ServerResponse} response @param {number} status @param {object} value */
  #send(response, status, value) {
    response.writeHead(status, { ...this.#headers, 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  }

  /** @param {ServerResponse} response @param {unknown} e */
  #refuse(response, e) {
    const caller = e instanceof RushlightError && ['bad-argument', 'unsupported'].includes(e.code),
      status = e instanceof Refusal ? e.status : caller ? 400 : 500,
      error = {
        message: /** @type {Error} */ (e).message,
        type: status < 500 ? 'invalid_request_error' : 'server_error',
        code: e instanceof RushlightError ? e.code : null,
      };
    if (!response.headersSent) this.#send(response, status, { error });
    else response.end(`data: ${JSON.stringify({ error })}\n\n`);
  }
}
