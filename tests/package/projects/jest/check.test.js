const rushlight = () => (process.env.HOW === 'require' ? require('rushlight') : import('rushlight'));

test('a model runs', async () => {
  const { load } = await rushlight();
  const model = await load(process.env.MODEL);
  expect((await model.verify()).passed).toBe(true);
  model.dispose();
});

test('bytes of this realm are taken', async () => {
  const { load } = await rushlight();
  const bytes = require('node:fs').readFileSync(process.env.MODEL);
  const model = await load(new Uint8Array(bytes));
  const { y } = await model.run({ x: { dtype: 'float32', shape: [1, 1, 28, 28], data: new Float32Array(784) } });
  expect(y.shape).toEqual([1, 10]);
});
