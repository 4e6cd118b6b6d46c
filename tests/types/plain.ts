// A project without the newest libraries of TypeScript, and a bundler.

import { load } from 'rushlight';

export async function classify(pixels: Float32Array) {
  const model = await load('/m.rush');
  try {
    return await model.run({ image: pixels });
  } finally {
    model.dispose();
  }
}
