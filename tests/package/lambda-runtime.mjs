// Calls a handler as the Node runtime of AWS Lambda does: it imports the module of _HANDLER from LAMBDA_TASK_ROOT,
// takes each event from the Runtime API, and posts the answer or the error.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { AWS_LAMBDA_RUNTIME_API = '', LAMBDA_TASK_ROOT = '', _HANDLER = '' } = process.env;
const api = `http://${AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;
const post = (/** @type {string} */ path, /** @type {unknown} */ body) =>
  fetch(`${api}/${path}`, { method: 'POST', body: JSON.stringify(body) });

const [file, name = ''] = _HANDLER.split('.');
const { [name]: handler } = await import(pathToFileURL(join(LAMBDA_TASK_ROOT, `${file}.mjs`)).href);
for (;;) {
  const next = await fetch(`${api}/next`),
    id = next.headers.get('lambda-runtime-aws-request-id') ?? '',
    deadline = Number(next.headers.get('lambda-runtime-deadline-ms'));
  const context = {
    awsRequestId: id,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
  try {
    await post(`${id}/response`, await handler(await next.json(), context));
  } catch (e) {
    const { name: errorType, message: errorMessage } = /** @type {Error} */ (e);
    await post(`${id}/error`, { errorType, errorMessage });
  }
}
