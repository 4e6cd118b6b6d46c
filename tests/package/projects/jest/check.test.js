const { readFileSync } = require('node:fs');

const { RushlightError, load } = require('rushlight');
const { readNpy, writeNpy } = require('rushlight/npy');
const { audioToTensor } = require('rushlight/audio');
const { imageToTensor } = require('rushlight/image');
const { ShapeProp } = require('rushlight/fx');
const { list } = require('rushlight/cache');

const { MODEL } = process.env;

for (const worker of [false, true]) {
  test(`a model runs, worker: ${worker}`, async () => {
    const model = await load(MODEL, { worker });
    const { passed, tests } = await model.verify();
    expect({ passed, compared: tests[0].compared }).toEqual({ passed: true, compared: 20 });
    const { y } = await model.run({ x: { dtype: 'float32', shape: [2, 1, 28, 28], data: new Float32Array(2 * 784) } });
    expect(y.shape).toEqual([2, 10]);
    await expect(model.run({ z: 1 })).rejects.toThrow(RushlightError);
    expect((await model.profile({ x: new Float32Array(784) })).length).toBeGreaterThan(3);
    model.dispose();
  });

  test(`a model runs on two threads, worker: ${worker}`, async () => {
    const model = await load(MODEL, { worker, threads: 2 });
    expect(model.backend).toMatchObject({ threads: 2, reason: expect.stringMatching('; 2 threads: as requested$') });
    expect((await model.verify()).passed).toBe(true);
    model.dispose();
  });

  test(`bytes of this realm are taken, worker: ${worker}`, async () => {
    const model = await load(new Uint8Array(readFileSync(MODEL)), { worker });
    const { y } = await model.run({ x: new Float32Array(784) });
    expect(y.shape).toEqual([1, 10]);
    model.dispose();
  });
}

test('the other parts of the package are there, and throw the same errors', async () => {
  expect(readNpy(writeNpy({ dtype: 'float32', shape: [1], data: Float32Array.of(5) })).data[0]).toBe(5);
  expect(() => readNpy(new Uint8Array(9))).toThrow(RushlightError);
  expect(audioToTensor(new Float32Array(441), { from: 44100, sampleRate: 16000 }).shape).toEqual([1, 160]);
  expect(imageToTensor({ width: 2, height: 2, data: new Uint8Array(16) }).shape).toEqual([1, 3, 2, 2]);
  expect(Array.isArray(await list())).toBe(true);
  const model = await load(MODEL);
  await new ShapeProp(model).run({ x: new Float32Array(784) });
  expect(model.graph.nodes[1].meta.tensor.shape).toBeDefined();
  model.dispose();
});

test('a run gives the event loop its turn', async () => {
  const model = await load(MODEL);
  const x = { dtype: 'float32', shape: [2000, 1, 28, 28], data: new Float32Array(2000 * 784) };
  const stop = new AbortController();
  setTimeout(() => stop.abort());
  await expect(model.run({ x }, { signal: stop.signal })).rejects.toThrow('aborted');
  model.dispose();
});
