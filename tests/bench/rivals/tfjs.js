// Runs graph.py's graph in TensorFlow.js with its wasm backend, as its own executor would.

import { graphInputs } from './graph_inputs.js';

export const file = 'graph';

const inPage = typeof document !== 'undefined';
const dist = new URL('./node_modules/@tensorflow/tfjs-backend-wasm/dist/', import.meta.url);

/** Loads a script whose globals are its exports. @param {string | URL} url */
const script = (url) =>
  new Promise((done, fail) => {
    const element = Object.assign(document.createElement('script'), {
      src: String(url),
      onload: done,
      onerror: () => fail(new Error(`no ${url}`)),
    });
    document.head.append(element);
  });

/** @returns {Promise<[any, any]>} the library, and its backend */
async function imported() {
  if (!inPage) {
    const [tf, wasm] = [await import('@tensorflow/tfjs-core'), await import('@tensorflow/tfjs-backend-wasm')];
    wasm.setWasmPaths((await import('node:url')).fileURLToPath(dist));
    return [tf, wasm];
  }
  await script(new URL('../../tfjs-core/dist/tf-core.min.js', dist));
  await script(new URL('tf-backend-wasm.min.js', dist));
  const { tf } = /** @type {any} */ (globalThis);
  tf.wasm.setWasmPaths(dist.pathname);
  return [tf, tf.wasm];
}

/** @param {{ threads: number }} options */
export async function open({ threads }) {
  const [tf, wasm] = await imported();
  if (threads > 1) wasm.setThreadsCount(threads);
  else tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  return {
    /** @param {Uint8Array} bytes the constants @param {any} about @param {Record<string, any>} inputs */
    async load(bytes, { graph }, inputs) {
      await tf.setBackend('wasm');
      await tf.ready();
      const run = executor(tf, graph, bytes);
      const given = graphInputs(graph.inputs, inputs);
      return {
        run: async () =>
          tf.tidy(() => run(given.map(({ data, shape, dtype }) => tf.tensor(data, shape, dtype))).dataSync()),
      };
    },
  };
}

/** @param {any} tf @param {any} graph @param {Uint8Array} bytes @returns {(inputs: any[]) => any} its first output */
function executor(tf, graph, bytes) {
  const consts = Object.entries(graph.consts).map(([name, { shape, dtype, at }]) => {
    const size = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
    const data = new (dtype === 'int32' ? Int32Array : Float32Array)(bytes.buffer, bytes.byteOffset + at, size);
    return [name, tf.tensor(data, shape, dtype)];
  });
  const made = new Set(graph.nodes.map((/** @type {any} */ node) => node.out));
  /** The values that are dead after each node. @type {string[][]} */
  const dead = graph.nodes.map(() => []);
  const last = new Map();
  graph.nodes.forEach((/** @type {any} */ node, /** @type {number} */ i) =>
    node.in.forEach((/** @type {string} */ name) => made.has(name) && last.set(name, i)),
  );
  for (const [name, i] of last) if (!graph.outputs.includes(name)) dead[i].push(name);

  return (inputs) => {
    const values = Object.fromEntries([
      ...consts,
      ...graph.inputs.map((/** @type {any} */ { name }, /** @type {number} */ i) => [name, inputs[i]]),
    ]);
    graph.nodes.forEach((/** @type {any} */ node, /** @type {number} */ i) => {
      values[node.out] = tf.tidy(() =>
        compute(
          tf,
          node,
          node.in.map((/** @type {string} */ name) => values[name]),
        ),
      );
      for (const name of dead[i]) values[name].dispose();
    });
    return values[graph.outputs[0]];
  };
}

/** @param {any} tf @param {any} node @param {any[]} args */
function compute(tf, node, args) {
  const [x, w, bias] = args;
  const fused = {
    strides: node.stride,
    pad: node.pad,
    bias,
    activation: node.act ?? 'linear',
    dimRoundingMode: 'floor',
  };
  const acted = (/** @type {any} */ y) => (node.act ? tf[node.act](y) : y);
  switch (node.op) {
    case 'add':
    case 'sub':
    case 'mul':
    case 'div':
    case 'maximum':
      return acted(tf[node.op](x, w));
    case 'relu':
    case 'relu6':
    case 'sigmoid':
    case 'tanh':
    case 'abs':
    case 'sqrt':
    case 'softmax':
      return tf[node.op](x);
    case 'hardswish':
      return tf.mul(x, tf.mul(tf.relu6(tf.add(x, 3)), 1 / 6));
    case 'gelu':
      return tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));
    case 'gelu_tanh': {
      const inner = tf.add(x, tf.mul(tf.mul(tf.mul(x, x), x), 0.044715));
      return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(tf.mul(inner, Math.sqrt(2 / Math.PI))), 1));
    }
    case 'conv':
      return tf.fused.conv2d({ ...fused, x, filter: w });
    case 'depthwise':
      return tf.fused.depthwiseConv2d({ ...fused, x, filter: w });
    case 'deconv':
      return tf.add(tf.conv2dTranspose(x, w, node.shape, node.stride, 'valid'), bias);
    case 'linear': {
      const rows = x.shape.length === 2 ? x : tf.reshape(x, [-1, x.shape.at(-1)]);
      return tf.reshape(tf.fused.matMul({ a: rows, b: w, bias, activation: node.act ?? 'linear' }), node.shape);
    }
    case 'matmul':
      return tf.matMul(x, w, false, node.turned);
    case 'pool':
      return tf.maxPool(x, node.size, node.stride, node.pad, 'floor');
    case 'mean':
    case 'sum':
      return tf[node.op](x, node.axes, node.keep);
    case 'layernorm': {
      const off = tf.sub(x, tf.mean(x, -1, true));
      const unit = tf.mul(off, tf.rsqrt(tf.add(tf.mean(tf.mul(off, off), -1, true), node.eps)));
      return tf.add(tf.mul(unit, w), bias);
    }
    case 'reshape':
      return tf.reshape(x, node.shape);
    case 'cast':
      return tf.cast(x, node.dtype);
    case 'transpose':
      return tf.transpose(x, node.axes);
    case 'pad':
      return tf.pad(x, node.by);
    case 'cat':
      return tf.concat(args, node.axis);
    case 'slice':
      return tf.slice(x, node.begin, node.size);
    case 'gather':
      return tf.gather(x, w);
    default:
      throw new Error(`tfjs.js knows no ${node.op}`);
  }
}
