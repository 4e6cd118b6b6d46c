// Compares a whole model on the GPU with PyTorch's answers. It runs in a page and in Node.

import { load } from '../../js/src/index.js';
import { CALLS, DISPATCHES, counting, equal, ownGpu } from './in-page-helpers.js';

/**
 * Runs the test vectors of a file. Fails if an answer is wrong, and names the first operator that differs. Fails also
 * if the GPU has computed nothing, or was lost, and if the same runs make other buffers or pipelines.
 * @param {{ tests: number }} row of models.json @param {Uint8Array} file
 * @returns {Promise<string>} what the device has done
 */
export async function verifyOnGpu({ tests: expected }, file) {
  const model = await load(file, { device: 'webgpu', gpu: ownGpu(), backend: 'simd' });
  let said = '';
  const made = CALLS.filter(([, name]) => /^create.*(Buffer|Pipeline)$/.test(name));
  await counting([...DISPATCHES, ...made], async (count) => {
    const { tests } = await model.verify({ device: 'webgpu' });
    const { dispatchWorkgroups: dispatches = 0, submit, mapAsync } = count;
    const wrong = tests.filter(({ passed }) => !passed).map(({ message }) => message);
    if (wrong.length) throw new Error(wrong.join('\n'));
    equal([tests.length, model.backend.device], [expected, 'webgpu']);
    if (dispatches < expected) throw new Error(`the GPU has run ${dispatches} kernels for ${expected} test vectors`);
    const apart = Math.max(...tests.map(({ maxAbs }) => maxAbs)).toExponential(0);
    said = `${expected} test vectors, ${dispatches} dispatches, ${submit} submits, ${mapAsync} reads, maxAbs ${apart}`;
    for (const name in count) count[name] = 0;
    await model.verify();
    equal(count, { dispatchWorkgroups: dispatches, submit, mapAsync, createBuffer: 0, createComputePipeline: 0 });
  });
  model.dispose();
  return said;
}
