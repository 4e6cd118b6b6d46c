// Prints errors of the demos' programs in one sentence, without a stack.

import { fileURLToPath } from 'node:url';

const exports = fileURLToPath(new URL('../../build/demo/', import.meta.url));

process.on('uncaughtException', (/** @type {NodeJS.ErrnoException} */ { code, message, path }) => {
  const reason = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : message;
  console.error(
    path ? `cannot read ${path}: ${reason}${path.startsWith(exports) ? '. Run ./dev demo first.' : ''}` : message,
  );
  process.exit(1);
});
