// What every project does with the package.

import { load } from 'rushlight';

/**
 * Loads the model and compares its answers with PyTorch's, which the file has.
 * @param {string} model its address
 * @param {boolean} worker
 * @param {number} [threads]
 */
export async function check(model, worker, threads) {
  const loaded = await load(model, { worker, ...(threads && { threads }) });
  const { y } = await loaded.run({
    x: { dtype: 'float32', shape: [3, 1, 28, 28], data: new Float32Array(3 * 28 * 28).fill(0.5) },
  });
  const { passed, tests } = await loaded.verify();
  loaded.dispose();
  return {
    passed,
    compared: tests[0].compared,
    shape: y.shape.join(),
    ...(threads && { threads: loaded.backend.threads, reason: loaded.backend.reason.split('; ')[1] }),
  };
}
