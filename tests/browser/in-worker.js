// Runs one of the tests of in-page.js in a worker.

import { tests } from './in-page.js';

onmessage = ({ data: { name, base } }) =>
  Promise.resolve(tests[/** @type {string} */ (name)]?.(base)).then(
    () => postMessage('ok'),
    (e) => postMessage(String(e.stack ?? e)),
  );
