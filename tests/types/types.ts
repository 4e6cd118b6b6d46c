// The types are an interface, so they are tested: each @ts-expect-error must be one.

import { load, plan, RushlightError, tensor } from 'rushlight';
import type { Backend, Description, ErrorCode, LoadOptions, Model, Port, GpuTensor,
  ProfileRow, StepValue, Tensor, TensorLike, Value, ValueMeta, VerifyReport } from 'rushlight';
import { cached, clear, list, remove, size } from 'rushlight/cache';
import type { CachedModel } from 'rushlight/cache';
import { Interpreter, Profiler, ShapeProp, printTabular } from 'rushlight/fx';
import type { Node } from 'rushlight/fx';
import { audioToTensor, tensorToAudio } from 'rushlight/audio';
import { imageToTensor, tensorToImage } from 'rushlight/image';
import type { ImageSource } from 'rushlight/image';
import { readNpy, writeNpy } from 'rushlight/npy';
import { loadPool } from 'rushlight/pool';
import type { Pool, PoolMemory } from 'rushlight/pool';
import { readSafetensors, writeSafetensors } from 'rushlight/safetensors';
import { loadText } from 'rushlight/text';
import type { GenerateOptions, Label, Message, TextModel } from 'rushlight/text';

const ok: Tensor<'float32'> = { dtype: 'float32', shape: [2], data: new Float32Array(2) };
// @ts-expect-error int64 data is a BigInt64Array
const bad: Tensor<'int64'> = { dtype: 'int64', shape: [2], data: new Float32Array(2) };
// @ts-expect-error there is no float16 yet
const none: Tensor<'float16'> = ok;
function narrow(any: Tensor) {
  if (any.dtype === 'int64') {
    const first: bigint | undefined = any.data[0];
    // @ts-expect-error these are bigints
    const number: number | undefined = any.data[0];
    void [first, number];
  }
}
const bool: Tensor<'bool'> = { dtype: 'bool', shape: [], data: new Uint8Array(1) };
void [bad, none, bool, narrow];

async function use(signal: AbortSignal) {
  const options: LoadOptions = { signal, backend: 'auto', onProgress: ({ loaded, total }) => void (loaded / (total ?? 1)) };
  const model: Model = await load('/m.rush', options);
  await load(new URL('https://example.org/m.rush'));
  await load(await fetch('/m.rush'), { wasm: new Uint8Array(8), request: { credentials: 'include' } });
  await load(new Blob([]), { wasm: { simd: '/a.wasm', relaxed: new URL('https://example.org/b.wasm') } });
  await load(new ArrayBuffer(8));
  // @ts-expect-error a model does not come from a number
  await load(5);
  await load('/m.rush', { ops: { 'my_ops::a': (x: Tensor) => x, 'my_ops::b': { schema: 'my_ops::b(int n) -> int', run: async (n: number) => n } } });
  // @ts-expect-error an operator is a function
  await load('/m.rush', { ops: { 'my_ops::a': 5 } });
  await load('/m.rush', { limits: { bytes: 1e9, steps: 1e6 } });
  // @ts-expect-error there is no limit `time`
  await load('/m.rush', { limits: { time: 5 } });
  // @ts-expect-error there is no option `thread`
  await load('/m.rush', { thread: 4 });
  // @ts-expect-error there is no backend `webgpu`
  await load('/m.rush', { backend: 'webgpu' });

  const { logits } = await model.run({
    image: new Float32Array(3),
    mask: { data: [1, 0], dtype: 'bool' },
    ids: { data: new BigInt64Array(2), shape: [1, 2] },
    numbers: [1, 2, 3],
    n: 5, big: 5n, flag: true, name: 'x', nothing: null,
    list: [new Float32Array(1), new Float32Array(2)],
    dict: new Map([['a', ok]]),
  }, { signal, method: 'forward' });
  void logits;
  // @ts-expect-error inputs must be an object
  await model.run();
  // @ts-expect-error a function is no input
  await model.run({ image: () => 1 });
  // @ts-expect-error there is no option `timeout`
  await model.run({}, { timeout: 5 });
  const image = new ImageData(1, 1);
  // @ts-expect-error ImageData is no tensor
  await model.run({ image });
  // @ts-expect-error nor are half floats, yet
  await model.run({ image: new Float16Array(2) });
  // @ts-expect-error nor what other libraries have
  await model.run({ image: { data: new Float32Array(2), dims: [2], type: 'float32' } });
  // @ts-expect-error outputs are names
  await model.run({}, { outputs: [0] });
  const { wanted } = await model.run({}, { outputs: ['wanted'] });
  void wanted?.shape;
  const { y } = await model.run({});
  const shape: number[] | undefined = y?.shape;
  // @ts-expect-error an output is held to be a tensor
  y?.dims;
  void shape;
  const value = await model.call('forward', ok, 5, [1, 2]);
  void value;
  const report: VerifyReport = await model.verify();
  const worst: number = Math.max(...report.tests.map((t) => t.maxAbs));
  const rows: ProfileRow[] = await model.profile({}, { runs: 3 });
  const { live, peak, heap } = await model.memory();
  const { name, reason }: Backend = model.backend;
  const simd: 'simd' | 'relaxed' = name;
  const inputs: Port[] = model.inputs;
  const greatest: number | null | undefined = inputs[0]?.constraints?.[0]?.max;
  const { y: onGpu } = await model.run({ x: ok }, { outputDevice: 'webgpu' });
  const there: GpuTensor | undefined = onGpu;
  if (there) await model.run({ x: there });
  const fetched: Tensor | undefined = await there?.download();
  void fetched;
  // @ts-expect-error its elements are not in memory
  void onGpu?.data;
  await model.run({ x: { gpuBuffer: {}, dtype: 'float32', shape: [2] } });
  // @ts-expect-error results stay on the GPU, or come to memory
  await model.run({ x: ok }, { outputDevice: 'cpu' });
  const pixels = new Float32Array(2);
  await model.run({ x: pixels }, { transfer: [pixels.buffer] });
  // @ts-expect-error buffers are handed over, not the arrays on them
  await model.run({ x: pixels }, { transfer: pixels });
  const sizes: (number | null)[] | null | undefined = inputs[0]?.shape;
  const head: Description = await plan('/m.rush');
  const { least, limit, fits }: { least: number; limit: number; fits: boolean } = head.memory;
  void [least, limit, fits];
  const missing: string[] = head.missing.map((m) => m.name);
  // @ts-expect-error what the model says about itself is read only by name
  model.description;
  await model.reset();
  const state: Record<string, Value> = await model.state();
  await model.setState(state);
  const held = state['cache'];
  // @ts-expect-error the items of a list may be of any type
  if (Array.isArray(held)) held[0].shape;
  if (held && typeof held === 'object' && 'enum' in held) void held.enum.length;
  // @ts-expect-error a state is an object
  await model.setState(5);
  const target: string | undefined = model.graph.nodes[0]?.target;
  const text: string | undefined = model.torch['layer.0']?.tree;
  class Mine extends Interpreter {
    override async runNode(node: Node) {
      const value = await super.runNode(node);
      const line: string = node.source;
      return [value, line].at(0);
    }
  }
  await new Mine(model, { method: 'forward' }).run({ x: ok });
  await new ShapeProp(model).run({});
  const { tensor: meta, ms }: { tensor?: ValueMeta; ms?: number } = model.graph.nodes[0]?.meta ?? {};
  // @ts-expect-error a list of tensors has no shape
  meta?.shape;
  const { args } = await (await model.steps({})).next({ args: true });
  const first: StepValue | undefined = args?.[0];
  void [ms, first];
  const summary: string = new Profiler(model).summary();
  printTabular(model.graph, ['name', 'tensor']);
  // @ts-expect-error a table is of a graph
  printTabular(model);
  void [target, text, summary];
  model.dispose();
  void [worst, rows, live, peak, heap, reason, simd, sizes, missing];
  const tensor: Tensor = readNpy(new Uint8Array(0));
  const file: Uint8Array = writeNpy(tensor);
  const named: Record<string, Tensor> = readSafetensors(file);
  void named;
}

/** Results are arrays over an ArrayBuffer, which the platform's functions require since TypeScript 5.7. */
async function owned(model: Model, sound: AudioBuffer, shared: Float32Array<SharedArrayBuffer>) {
  const { y } = await model.run({ x: shared, z: { data: shared } });
  if (y?.dtype !== 'float32') return [];
  await model.run({ x: y }, { transfer: [y.data.buffer] });
  sound.copyToChannel(y.data, 0);
  await crypto.subtle.digest('SHA-256', y.data);
  const half: Uint16Array<ArrayBuffer> = tensor('float16', [1]).data;
  // @ts-expect-error the data of a tensor from shared memory stays shared
  await model.run({}, { transfer: [tensor('float32', shared, [2]).data.buffer] });
  return [new Blob([y.data, writeNpy(y), writeSafetensors({ y }), imageToTensor(new ImageData(1, 1)).data]), half];
}
void owned;

async function made(model: Model) {
  const data = new Float32Array(2);
  const x = { dtype: 'float32', shape: [2], data };
  await model.run({ x });
  const a: Tensor<'float32'> = tensor('float32', data, [1, 2]);
  const b: Tensor<'int64'> = tensor('int64', [[1, 2n], [3, 4]]);
  const c: Tensor<'bool'> = tensor('bool', true);
  await model.run({ a, b, c, d: tensor('uint8', new Uint8ClampedArray(4)), list: [a, tensor('complex64', data)] });
  // @ts-expect-error int64 data is a BigInt64Array
  tensor('int64', data);
  // @ts-expect-error there is no dtype `float`
  tensor('float', [1]);
  // @ts-expect-error a string is no element
  tensor('float32', ['1']);
}
void made;

async function media(image: HTMLImageElement, video: HTMLVideoElement, context: CanvasRenderingContext2D, sound: AudioBuffer) {
  const x: Tensor<'float32'> = imageToTensor(image, { size: 256, crop: [224, 224], mean: [0.485, 0.456, 0.406] as const, std: 0.25, interpolation: 'bicubic', like: 'pil' });
  const bytes: Uint8Array = imageToTensor(video, { dtype: 'uint8', layout: 'nhwc', background: null }).data;
  const bitmap: ImageBitmap = await createImageBitmap(new Blob([]));
  const sources: ImageSource[] = [bitmap, context.canvas, new OffscreenCanvas(1, 1), new VideoFrame(bitmap, { timestamp: 0 }), context.getImageData(0, 0, 1, 1), { data: bytes, width: 1, height: 1 }];
  context.putImageData(tensorToImage(x, { mean: 0.5, colormap: 'viridis', range: 'auto' }), 0, 0);
  // @ts-expect-error a Blob has to become an ImageBitmap
  imageToTensor(new Blob([]));
  // @ts-expect-error there is no interpolation `nearest`
  imageToTensor(bitmap, { interpolation: 'nearest' });
  // @ts-expect-error these are bytes
  const floats: Float32Array = imageToTensor(bitmap, { dtype: 'uint8' }).data;
  const heard: Tensor<'float32'> = audioToTensor(sound, { sampleRate: 16000, mono: true });
  audioToTensor([heard.data, heard.data], { from: 8000 });
  const back: AudioBuffer = tensorToAudio(heard, { sampleRate: 16000 });
  // @ts-expect-error 16-bit samples have to be divided
  audioToTensor(new Int16Array(5));
  void [sources, floats, back];
}

async function scoped() {
  using model = await load('/m.rush');
  return model.run({});
}

try {
  await use(AbortSignal.timeout(5));
  await scoped();
  void media;
} catch (e) {
  if (e instanceof RushlightError) {
    const code: ErrorCode = e.code;
    if (e.code === 'aborted') void e.cause;
    // @ts-expect-error there is no such code
    if (e.code === 'oops') void 0;
    void [code, e.op, e.input, e.expected, e.actual, e.source];
  }
}

async function keep(signal: AbortSignal) {
  await load(await cached('/m.rush', { cache: 'mine', integrity: 'sha256-x', signal, retries: 3, wait: async (ms) => void ms.toFixed(), request: { credentials: 'include' } }));
  const [model]: CachedModel[] = await list({ cache: 'mine' });
  const left: number = (await size()) - (model?.kept ?? 0);
  await remove(new URL(model?.url ?? ''), { cache: 'auto' });
  await clear();
  await load('/m.rush', { cache: 'auto', integrity: 'sha256-x' });
  await load('/m.rush', { cache: false });
  // @ts-expect-error a cache has a name
  await cached('/m.rush', { cache: true });
  return left;
}
void keep;

async function write(signal: AbortSignal) {
  const chat: TextModel = await loadText('/m.rush', { worker: true, threads: 'auto', tokenizers: {} });
  const messages: Message[] = [{ role: 'user', content: 'Hi' }];
  const options: GenerateOptions = { temperature: 0.7, topK: 40, topP: 0.9, minP: 0, seed: 1, stop: ['.'], overflow: 'slide', signal };
  const answer = chat.generate(messages, options);
  for await (const piece of answer) console.log(piece.length);
  // @ts-expect-error there is no such way
  chat.generate('x', { overflow: 'drop' });
  const vectors: Float32Array[] = await chat.embed(['x'], { batch: 4 });
  const labels: Label[][] = await chat.classify(['x', ['question', 'text']]);
  const file: Uint8Array = await (await chat.model.asset('text.json')).bytes();
  return [answer.usage.cached, answer.tokens[0]?.logProbability, answer.finishReason, vectors, labels, file];
}

async function serve(signal: AbortSignal) {
  const pool: Pool<{ forward: { inputs: { x: TensorLike<'float32'> }; outputs: { y: Tensor<'float32'> }; args: [TensorLike<'float32'>]; result: Tensor<'float32'> } }> =
    await loadPool('/m.rush', { size: 4, threads: 2, cache: 'auto', signal });
  const { y } = await pool.run({ x: [1, 2] }, { signal, outputs: ['y'] });
  const data: Float32Array = y.data;
  const result: Tensor<'float32'> = await pool.call('forward', data);
  const shape: readonly number[] = await pool.use(async (model) => (await model.run({ x: result })).y.shape, { signal });
  // @ts-expect-error there is no such input
  await pool.run({ z: 1 });
  // @ts-expect-error each model has a worker
  await loadPool('/m.rush', { worker: true });
  const { file, heap, workers }: PoolMemory = await pool.memory();
  pool.dispose();
  return [shape, file + heap, workers[0]?.live, pool.size + pool.busy + pool.waiting + pool.restarts];
}
void [serve, write];
