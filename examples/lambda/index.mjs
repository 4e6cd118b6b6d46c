// A function of AWS Lambda. It loads the model at the cold start, and warm calls reuse it.
import { tmpdir } from 'node:os';
import { load } from 'rushlight';

const model = await load(process.env.MODEL_URL, { cache: `${tmpdir()}/models` }); // /tmp is the only folder to write to

export const handler = async ({ x }) => {
  const { y } = await model.run({ x });
  return { shape: y.shape, data: [...y.data] };
};
