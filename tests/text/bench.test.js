// onnxruntime-web computes the models of `./dev bench --text` as PyTorch does.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { open } from '../bench/rivals/text_ort.js';

const folder = fileURLToPath(new URL('../../build/text/', import.meta.url)); // export_models.py writes it
const models = JSON.parse(readFileSync(`${folder}bench.json`, 'utf8'));

for (const [name, about] of Object.entries(models))
  test(`${name}: logits of a prompt and of a token`, async () => {
    const model = await open(readFileSync(`${folder}${name}.onnx`), about, { threads: 1 });
    const tokens = about.tokens;
    const got = [await model.step(tokens.slice(0, -1), 0), await model.step(tokens.slice(-1), tokens.length - 1)];
    for (const [i, logits] of got.entries()) {
      const want = about.logits[i],
        off = Math.hypot(...want.map((/** @type {number} */ x, /** @type {number} */ j) => x - logits[j]));
      assert(off < about.limit * Math.hypot(...want), `${off} of ${Math.hypot(...want)}`);
    }
  });
