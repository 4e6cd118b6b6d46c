// What runs of the benchmark's models, which structure.py exports, ask of a device. No GPU is necessary.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from '../../js/src/index.js';
import { recordingGpu } from './recording-gpu.js';

/**
 * Of the first run, the bytes of weights and what it makes; of each run, the rest.
 * @type {Record<string, import('./recording-gpu.js').Counts & { weights: number }>}
 */
const MODELS = {
  mobilenet_v2: {
    buffers: 139,
    pipelines: 10,
    weights: 13951264,
    dispatches: 64,
    submits: 1,
    uploaded: 602112,
    read: 4000,
  },
  resnet18: { buffers: 60, pipelines: 9, weights: 46738848, dispatches: 39, submits: 1, uploaded: 602112, read: 4000 },
  'minilm-16': {
    buffers: 92,
    pipelines: 14,
    weights: 44877312,
    dispatches: 96,
    submits: 1,
    uploaded: 192,
    read: 1536,
  },
  'minilm-128': {
    buffers: 93,
    pipelines: 14,
    weights: 44877312,
    dispatches: 96,
    submits: 1,
    uploaded: 1536,
    read: 1536,
  },
  'unet-64': { buffers: 49, pipelines: 6, weights: 1928132, dispatches: 27, submits: 1, uploaded: 49152, read: 16384 },
  'gpt2-step': {
    buffers: 52,
    pipelines: 12,
    weights: 11539456,
    dispatches: 56,
    submits: 1,
    uploaded: 786448,
    read: 796576,
  },
};

for (const [name, expected] of Object.entries(MODELS))
  test(`${name}: dispatches, submits, transfers, buffers and pipelines`, async () => {
    const { gpu, counts } = recordingGpu();
    const file = readFileSync(new URL(`../../build/gpu-structure/${name}.rush`, import.meta.url));
    const model = await load(new Uint8Array(file), { device: 'webgpu', gpu, backend: 'simd' });
    await model.verify(); // its answers are zeros, which nobody looks at
    const { weights, ...first } = expected;
    assert.deepEqual(counts(), { ...first, uploaded: first.uploaded + weights });
    for (let k = 0; k < 2; k++) {
      await model.verify();
      assert.deepEqual(counts(), { ...first, buffers: 0, pipelines: 0 });
    }
    model.dispose();
  });
