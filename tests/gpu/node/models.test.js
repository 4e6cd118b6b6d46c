// Runs the models that models.py has exported to build/gpu-models, in Node with npm's webgpu on lavapipe.

import { readFileSync } from 'node:fs';
import test from 'node:test';

import { create, globals } from 'webgpu';

Object.assign(globalThis, globals, { gpuOfTests: create([]) });
const { verifyOnGpu } = await import('../model-in-page.js');

const folder = new URL('../../../build/gpu-models/', import.meta.url);
for (const row of JSON.parse(readFileSync(new URL('models.json', folder), 'utf8')))
  test(`${row.name} on lavapipe`, async (t) => {
    t.diagnostic(await verifyOnGpu(row, new Uint8Array(readFileSync(new URL(row.file, folder)))));
  });
