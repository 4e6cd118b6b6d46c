// Prints errors of the demos' programs in one sentence, without a stack.

import { fileURLToPath } from 'node:url';

const exports = fileURLToPath(new URL('../../build/demo/', import.meta.url));

process.on('uncaughtException', (/** @type {NodeJS.ErrnoException} */ { code, message, path }) => {
  const missing = code === 'ENOENT' ? 'there is no such file' : message;
  console.error(
    path ? `cannot read ${path}: ${missing}${path.startsWith(exports) ? '. Run ./dev demo first.' : ''}` : message,
  );
  process.exit(1);
});
