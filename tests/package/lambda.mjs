// The service around lambda-runtime.mjs: the Runtime API of AWS Lambda, with events and answers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const runtime = fileURLToPath(new URL('lambda-runtime.mjs', import.meta.url));

/**
 * Starts a server.
 * @param {import('node:http').RequestListener} answer
 * @returns {Promise<{ host: string, end: () => void }>}
 */
export async function answerAt(answer) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return { host: `127.0.0.1:${port}`, end };
}

/**
 * Starts the function in its own environment, and sends it events; its answers.
 * @param {string} folder of the function
 * @param {Record<string, string>} env
 * @param {unknown[]} events
 */
export async function invoke(folder, env, events) {
  const waiting = events.map((event, i) => ({ id: `request-${i}`, event }));
  /** @type {unknown[]} */ const answers = [];
  let done = () => {};
  const all = new Promise((resolve) => (done = () => resolve(undefined)));
  const { host, end } = await answerAt(async (request, response) => {
    const path = request.url ?? '';
    if (path.endsWith('/next')) {
      const next = waiting.shift();
      if (!next) return; // the runtime waits for the next event, as between calls
      response.setHeader('Lambda-Runtime-Aws-Request-Id', next.id);
      response.setHeader('Lambda-Runtime-Deadline-Ms', String(Date.now() + 60_000));
      response.end(JSON.stringify(next.event));
      return;
    }
    answers.push([/** @type {string} */ (path.split('/').at(-1)), await json(request)]);
    response.writeHead(202).end('{}');
    if (answers.length === events.length) done();
  });
  const child = spawn(process.execPath, [runtime], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: 120_000, // ends a call that would never end
    env: {
      PATH: process.env.PATH,
      AWS_LAMBDA_RUNTIME_API: host,
      LAMBDA_TASK_ROOT: folder,
      _HANDLER: 'index.handler',
      ...env,
    },
  });
  const exit = once(child, 'exit').then(([code]) => assert.fail(`the runtime has ended with ${code}`));
  try {
    await Promise.race([all, exit]);
    return answers;
  } finally {
    exit.catch(() => {});
    child.kill();
    end();
  }
}
