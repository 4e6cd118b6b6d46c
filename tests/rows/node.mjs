// Replays build/rows in Node, with the plain binary: node.mjs MANIFEST prints the report as JSON.

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

import { load } from '../../js/src/index.js';
import { replay } from '../browser/replay.mjs';

const manifest = pathToFileURL(process.argv[2]);
const { rows } = JSON.parse(await readFile(manifest, 'utf8'));
const report = await replay({ load, rows, read: (file) => readFile(new URL(file, manifest)), backend: 'simd' });
process.stdout.write(`\n${JSON.stringify(report)}`); // operators that print write their lines before it
