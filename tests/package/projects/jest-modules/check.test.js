const ways = { require: async () => require('rushlight'), import: () => import('rushlight') };

test.each(Object.keys(ways))('a model runs, by %s', async (way) => {
  const { load } = await ways[way]();
  const model = await load(process.env.MODEL);
  expect((await model.verify()).passed).toBe(true);
  model.dispose();
});
