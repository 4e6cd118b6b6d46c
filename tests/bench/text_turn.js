// Runs one contender's turn with one language model in a page: load, prompt and tokens.

const now = () => performance.now();

/** Returns the place of the largest number. @param {ArrayLike<number>} values */
function largest(values) {
  let at = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[at]) at = i;
  return at;
}

/**
 * Returns the cosine of two vectors less their means, which the softmax does not see.
 * @param {ArrayLike<number>} a @param {ArrayLike<number>} b
 */
function cosine(a, b) {
  const mean = (/** @type {ArrayLike<number>} */ x) => Array.prototype.reduce.call(x, (s, v) => s + v, 0) / x.length;
  const [am, bm] = [mean(a), mean(b)];
  let ab = 0,
    aa = 0,
    bb = 0;
  for (let i = 0; i < b.length; i++) {
    const [x, y] = [a[i] - am, b[i] - bm];
    ((ab += x * y), (aa += x * x), (bb += y * y));
  }
  return ab / Math.sqrt(aa * bb);
}

/**
 * Times a prompt and tokens of a contender that computes steps.
 * @param {any} model @param {number[]} prompt @param {number} most
 */
async function stepped(model, prompt, most) {
  const tokens = [];
  const start = now();
  let logits = await model.step(prompt, 0);
  const first = logits.slice();
  const prompted = now();
  for (let i = 0; i < most; i++) {
    tokens.push(largest(logits));
    if (i + 1 < most) logits = await model.step(tokens.slice(-1), prompt.length + i);
  }
  return { prompt: (prompted - start) / prompt.length, decode: (now() - prompted) / (most - 1), tokens, first };
}

/**
 * Returns the tokens and the logits after the prompt of a contender that generates by itself.
 * @param {any} model @param {number[]} prompt @param {number} most @param {number} words
 */
async function generated(model, prompt, most, words) {
  const [start] = await model.tokens(prompt, 1, words);
  const first = new Float32Array(words).fill(Math.min(...start.top.map((/** @type {any} */ one) => one.logprob)));
  for (const { id, logprob } of start.top) first[id] = logprob;
  const made = await model.tokens(prompt, most, 1);
  return { first, tokens: made.map((/** @type {any} */ one) => one.token) };
}

/**
 * Returns how far the answers to the questions agree with PyTorch's: for each, the number of tokens before the first
 * that differs, and the cosine of the logits after the prompt.
 * @param {any} model @param {any} about @param {Float32Array} logits
 */
async function agreement(model, { questions, words }, logits) {
  const same = [],
    cosines = [];
  for (const [i, { prompt, tokens }] of questions.entries()) {
    const most = tokens.length;
    const made = await (model.step ? stepped(model, prompt, most) : generated(model, prompt, most, words));
    const at = made.tokens.findIndex((/** @type {number} */ token, /** @type {number} */ j) => token !== tokens[j]);
    same.push(at < 0 ? most : at);
    cosines.push(cosine(made.first, logits.subarray(i * words, (i + 1) * words)));
  }
  return { same, cosines };
}

/**
 * @param {object} job
 * @param {string} job.folder @param {string} job.rival @param {number} job.threads
 * @param {number} job.rounds the most; after a third of the limit, no further one begins
 * @param {boolean} job.compare whether answers are compared with PyTorch's
 * @param {number} job.limit ms that the turn may take
 * @param {(file: string) => Promise<Uint8Array>} read a file below build/bench/text/
 */
export async function turn({ folder, rival, threads, rounds, compare, limit }, read) {
  const about = JSON.parse(new TextDecoder().decode(await read(`${folder}/bench.json`)));
  const { files, open } = await import(`./rivals/text_${rival.split('-')[0]}.js`);
  const logits = new Float32Array((await read(`${folder}/logits.bin`)).slice().buffer);
  const bytes = await read(`${folder}/${files[rival]}`);
  const start = now();
  const model = await open(bytes, about, { threads });
  const load = now() - start;
  Object.assign(globalThis, { model }); // it stays in memory, which is measured when the turn has ended
  const { prompt, most } = about;
  const time = () => (model.step ? stepped(model, prompt, most) : model.generate(prompt, most));
  const timed = [];
  while (timed.length < rounds && (!timed.length || now() - start < limit / 3)) timed.push(await time());
  return {
    load,
    rounds: timed.length,
    bytes: bytes.length,
    prompt: Math.min(...timed.map((one) => one.prompt)),
    decode: Math.min(...timed.map((one) => one.decode)),
    ...(compare ? await agreement(model, about, logits) : {}),
    name: model.name,
  };
}
