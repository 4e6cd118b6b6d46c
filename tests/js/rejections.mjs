// What is given to Node by --import: a rejection that nobody handles fails the file, also when its test has ended,
// which node:test lets pass.

import { writeSync } from 'node:fs';

let seen = 0;

process.on('unhandledRejection', (e) => {
  seen++;
  writeSync(2, `a rejection that nobody handles: ${e instanceof Error ? e.stack : String(e)}\n`);
});
process.on('exit', () => {
  if (seen) process.exitCode = 1;
});
globalThis[Symbol.for('rushlight.rejections')] = true;
