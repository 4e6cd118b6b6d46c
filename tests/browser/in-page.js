// Tests that run in a page and in a worker; js.test.js calls them by name. A failure is an exception.

import { imageToTensor, tensorToImage } from '../../js/src/media/image.js';
import { RushlightError, load, plan } from '../../js/src/index.js';
import { flipFile, tracedFile } from '../js/build-rush.mjs';

const bytes = flipFile().bytes();

/** @param {unknown} actual @param {unknown} expected */
function equal(actual, expected) {
  const text = (/** @type {unknown} */ v) =>
    JSON.stringify(v, (_, x) => (ArrayBuffer.isView(x) ? [.../** @type {any} */ (x)] : x));
  if (text(actual) !== text(expected)) throw new Error(`${text(actual)} is not ${text(expected)}`);
}

/** @param {Promise<unknown>} promise @param {string} code @param {RegExp} message */
async function refused(promise, code, message) {
  const error = await promise.then(
    () => new Error('nothing was thrown'),
    (e) => e,
  );
  if (!(error instanceof RushlightError) || error.code !== code || !message.test(error.message)) throw error;
}

/**
 * @param {import('../../js/src/index.js').Source} source
 * @param {import('../../js/src/index.js').LoadOptions} [options]
 */
async function flips(source, options) {
  const model = await load(source, options);
  equal((await model.run({ x: new Float32Array([1, 2]) })).y, { dtype: 'float32', shape: [1, 2], data: [2, 1] });
  model.dispose();
  return model.backend;
}

const url = () => URL.createObjectURL(new Blob([bytes]));

/** @type {Record<string, (base: string) => Promise<unknown>>} */
export const tests = {
  'bytes, a Blob, a File, a Response, a stream and a blob: URL are loaded': async () => {
    await flips(bytes);
    await flips(new Blob([bytes]));
    await flips(new File([bytes], 'flip.rush'));
    await flips(new Response(bytes));
    await flips(/** @type {any} */ (new Response(bytes).body));
    await flips(url());
    await flips(new URL(url()));
  },

  'a run is compared with the trace in the file': async () => {
    const twice = (/** @type {any} */ x) => ({ ...x, data: x.data.map((/** @type {number} */ v) => 2 * v) });
    const right = await load(tracedFile().bytes(), { ops: { 'my_ops::twice': twice } });
    equal((await right.diff()).agrees, true);
    right.dispose();
    const other = await load(tracedFile(5).bytes(), { ops: { 'my_ops::twice': twice } });
    const { first } = await other.diff();
    equal([first?.node.target, first?.iteration, first?.source], ['my_ops::twice', 1, 'model.py:5']);
    other.dispose();
  },

  'every binary that this browser can run runs, and the choice has a reason': async () => {
    const { name, reason } = await flips(bytes);
    equal(reason, { relaxed: 'this engine has relaxed SIMD', simd: 'this engine has no relaxed SIMD' }[name]);
    if (name === 'relaxed')
      equal(await flips(bytes, { backend: 'relaxed' }), {
        name,
        reason: 'requested by the option `backend`',
        threads: 1,
      });
    equal(await flips(bytes, { backend: 'simd' }), {
      name: 'simd',
      reason: 'requested by the option `backend`',
      threads: 1,
    });
  },

  'a Request is not a source, and a Response that a worker gets keeps its name': async (base) => {
    for (const worker of [false, true]) {
      await refused(
        load(/** @type {any} */ (new Request(`${base}/m.rush`)), { worker }),
        'bad-argument',
        /^a model must be a URL, .*, got Request$/,
      );
      await refused(
        load(/** @type {any} */ (fetch(`${base}/m.rush`)), { worker }),
        'bad-argument',
        /, got a Promise: did you forget await\?$/,
      );
    }
    for (const worker of [false, true])
      await refused(
        load(await fetch(`${base}/tests/browser/in-page.js`), { worker }),
        'bad-file',
        /^http:.*\/tests\/browser\/in-page\.js: not a \.rush file/,
      );
  },

  'an address with nothing behind it is an HTTP error': (base) =>
    refused(load(`${base}/tests/browser/none.rush`), 'network', /^HTTP 404/),

  'a page in place of a model is recognised': (base) =>
    refused(
      load(`${base}/tests/browser/replay.html`),
      'bad-file',
      /replay\.html must be a \.rush file, got HTML: check the address/,
    ),

  'what fails is one rejection, with the frame of its caller': async () => {
    /** @type {string[]} */ const unhandled = [];
    const note = (/** @type {PromiseRejectionEvent} */ e) => {
      unhandled.push(String(e.reason));
    };
    addEventListener('unhandledrejection', note);
    for (const worker of [false, true]) {
      await refused(
        load(bytes, { worker, signal: /** @type {any} */ (new AbortController()) }),
        'bad-argument',
        /^load: signal must be an AbortSignal, got AbortController: pass controller\.signal$/,
      );
      for (const onProgress of [
        () => {
          throw new Error('mine');
        },
        async () => {
          throw new Error('mine');
        },
      ]) {
        await refused(load(bytes, { worker, onProgress }), 'callback', /^onProgress failed: mine$/);
      }
      const model = await load(bytes, { worker });
      for (const call of [
        () => model.run({ x: 'a' }),
        () => model.run({ x: [1, 2] }, { signal: AbortSignal.abort() }),
        () => model.setState(/** @type {any} */ (undefined)),
        () => load(url(), { worker, integrity: `sha256-${'A'.repeat(43)}` }),
      ]) {
        const e = await call().catch((/** @type {any} */ e) => e);
        if (!(e instanceof RushlightError) || !/in-page\.js/.test(String(e.stack))) throw e;
      }
      model.dispose();
    }
    await new Promise((resolve) => setTimeout(resolve)); // a rejection is told when its task has ended
    removeEventListener('unhandledrejection', note);
    equal(unhandled, []);
  },

  'a server that is not there is a network error': () =>
    refused(load('http://localhost:9/m.rush'), 'network', /^cannot read http:\/\/localhost:9\/m\.rush: /),

  'an address that is relative is taken from the page': () =>
    refused(load('none.rush'), 'network', /^HTTP 404 .*\/tests\/browser\/none\.rush/),

  'the binary may come from a URL, a Response or a Module': async (base) => {
    const wasm = `${base}/js/wasm/rushlight-simd.wasm`;
    const options = { backend: /** @type {const} */ ('simd') };
    await flips(bytes, { ...options, wasm });
    await flips(bytes, { ...options, wasm: await fetch(wasm) });
    await flips(bytes, { ...options, wasm: await WebAssembly.compileStreaming(fetch(wasm)) });
    equal(await flips(bytes, { wasm }), { name: 'simd', reason: 'the binary given as `wasm`', threads: 1 });
    await refused(
      load(bytes, { wasm: `${base}/tests/browser/replay.html` }),
      'bad-file',
      / must be the wasm, got HTML/,
    );
  },

  'threads give the same answer, and end': async () => {
    const { RushFile } = await import('../js/build-rush.mjs');
    const f = new RushFile(),
      n = 128;
    f.method('forward', { inputs: [{ name: 'x' }] }, (/** @type {any} */ m, /** @type {any} */ x) =>
      m.op('aten::matmul', [x, x]),
    );
    const x = {
      dtype: /** @type {const} */ ('float32'),
      shape: [n, n],
      data: Float32Array.from({ length: n * n }, (_, i) => Math.sin(i)),
    };
    const answers = [];
    for (const options of [{}, { threads: 2 }, { threads: 3, worker: true }]) {
      const model = await load(f.bytes(), options);
      // WebKitGTK has no SharedArrayBuffer.
      equal(model.backend.threads, typeof SharedArrayBuffer === 'undefined' ? 1 : (options.threads ?? 1));
      for (let i = 0; i < 3; i++) answers.push(await model.run({ x }));
      model.dispose();
    }
    for (const answer of answers) equal(answer, answers[0]);
  },

  'an abort stops a run, and events get through': async () => {
    const { RushFile } = await import('../js/build-rush.mjs');
    const f = new RushFile();
    f.method(
      'forward',
      { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] },
      (/** @type {any} */ m, /** @type {any} */ x, /** @type {any} */ n) =>
        m.loop(n, [x], (/** @type {any} */ _, /** @type {any} */ v) => [m.op('aten::flip', [v, f.ints([0])])])[0],
    );
    const model = await load(f.bytes());
    const control = new AbortController();
    setTimeout(() => control.abort()); // fires when the run gives the event loop a turn
    await refused(
      model.run({ x: new Float32Array(1 << 16), n: 1e9 }, { signal: control.signal }),
      'aborted',
      /aborted/,
    );
    equal((await model.run({ x: new Float32Array([1, 2]), n: 1 })).y.data, [2, 1]);
    model.dispose();
  },

  'a long operator gives others a turn, hears an abort, and ends with the model, with Promise Integration':
    async () => {
      if (!('Suspending' in WebAssembly)) return;
      const { RushFile } = await import('../js/build-rush.mjs');
      const f = new RushFile(),
        n = 1536;
      f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [null, null] }], outputs: ['y'] }, (m, x) =>
        m.op('aten::matmul', [x, x]),
      );
      const x = {
        dtype: /** @type {const} */ ('float32'),
        shape: [n, n],
        data: Float32Array.from({ length: n * n }, (_, i) => Math.sin(i)),
      };
      for (const threads of [1, 2]) {
        // of which two are had where memory can be shared
        const model = await load(f.bytes(), { threads }),
          expected = await model.run({ x }, { yield: false });
        let turns = 0,
          ended = false;
        const turn = () => {
          turns++;
          model.describeText(); // may be called meanwhile
          if (!ended) setTimeout(turn);
        };
        setTimeout(turn);
        const got = await model.run({ x });
        ended = true;
        if (turns < 2) throw new Error(`${turns} turns`);
        equal(
          got.y.data.every((/** @type {number} */ v, /** @type {number} */ i) => v === expected.y.data[i]),
          true,
        );
        const stop = new AbortController();
        setTimeout(() => stop.abort());
        await refused(model.run({ x }, { signal: stop.signal }), 'aborted', /^the run was aborted$/);
        equal((await model.run({ x: { dtype: 'float32', shape: [1, 1], data: new Float32Array([2]) } })).y, {
          dtype: 'float32',
          shape: [1, 1],
          data: [4],
        });
        setTimeout(() => model.dispose());
        await refused(model.run({ x }), 'disposed', /^the model was disposed/);
      }
      const begun = new RushFile(),
        stop = new AbortController();
      begun.method(
        'forward',
        { inputs: [{ name: 'x' }], outputs: ['y'] },
        (/** @type {any} */ m, /** @type {any} */ x) => {
          const v = m.op('my::begin', [x], 'Tensor', 'my::begin(Tensor x) -> Tensor');
          return m.op('aten::matmul', [v, v]);
        },
      );
      const abort = (/** @type {any} */ v) => {
        // The worker is in the long operator when it hears of the abort, or about to enter it.
        setTimeout(() => stop.abort());
        return v;
      };
      const model = await load(begun.bytes(), { worker: true, ops: { 'my::begin': abort } });
      await refused(model.run({ x }, { signal: stop.signal }), 'aborted', /^the run was aborted$/);
      // The worker is still there
      equal((await model.run({ x: { dtype: 'float32', shape: [1, 1], data: new Float32Array([2]) } })).y, {
        dtype: 'float32',
        shape: [1, 1],
        data: [4],
      });
      model.dispose();
    },

  'an operator is computed by a function of the page, the model in a worker or not': async () => {
    const { RushFile } = await import('../js/build-rush.mjs');
    const f = new RushFile();
    f.method('forward', { inputs: [{ name: 'x' }] }, (/** @type {any} */ m, /** @type {any} */ x) =>
      m.op('aten::relu', [m.op('my_ops::twice', [x], 'Tensor', 'my_ops::twice(Tensor x, int by=2) -> Tensor')]),
    );
    for (const worker of [false, true]) {
      let fail = false;
      const model = await load(f.bytes(), {
        worker,
        ops: {
          'my_ops::twice': async (x, by) => {
            if (fail) throw new Error('no');
            return { ...x, data: x.data.map((/** @type {number} */ v) => v * by) };
          },
        },
      });
      equal((await model.run({ x: new Float32Array([1, -2]) })).y.data, [2, 0]);
      fail = true;
      await refused(model.run({ x: new Float32Array([1, -2]) }), 'operator', /my_ops::twice.*: no$/);
      equal(model.graph.nodes.length, 4);
      model.dispose();
    }
  },

  'a model in a worker is loaded from anywhere, and a long run does not stop the page': async (base) => {
    for (const source of [bytes, new Blob([bytes]), new Response(bytes), url()])
      await flips(/** @type {any} */ (source), { worker: true });
    await refused(load('none.rush', { worker: true }), 'network', /^HTTP 404 .*\/tests\/browser\/none\.rush/);
    await flips(bytes, { worker: true, backend: 'simd', wasm: `${base}/js/wasm/rushlight-simd.wasm` });
    const { RushFile } = await import('../js/build-rush.mjs');
    const f = new RushFile();
    f.method(
      'forward',
      { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] },
      (/** @type {any} */ m, /** @type {any} */ x, /** @type {any} */ n) =>
        m.loop(n, [x], (/** @type {any} */ _, /** @type {any} */ v) => [
          m.op('my::step', [v], 'Tensor', 'my::step(Tensor x) -> Tensor'),
        ])[0],
    );
    const step = (/** @type {any} */ v) => {
      model.dispose();
      return v;
    };
    const model = await load(f.bytes(), { worker: true, ops: { 'my::step': step } });
    const running = model.run({ x: new Float32Array(1 << 16), n: 1e9 });
    await refused(running, 'disposed', /disposed/);
  },

  'a picture becomes a tensor and a picture again': async () => {
    const source = new ImageData(new Uint8ClampedArray([255, 0, 51, 255, 0, 255, 102, 255]), 2, 1),
      canvas = new OffscreenCanvas(2, 1);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.putImageData(source, 0, 0);
    const wanted = { dtype: 'uint8', shape: [1, 3, 1, 2], data: [255, 0, 0, 255, 51, 102] },
      bitmap = await createImageBitmap(canvas);
    const frame = new VideoFrame(bitmap, { timestamp: 0 });
    for (const each of [source, canvas, bitmap, frame]) equal(imageToTensor(each, { dtype: 'uint8' }), wanted);
    frame.close();
    equal(tensorToImage(imageToTensor(bitmap)).data, source.data);
  },

  'plan() needs no more than the head': async () => equal((await plan(url())).inputs[0]?.shape, [null, 2]),

  'many models are loaded and disposed': async () => {
    for (let i = 0; i < 300; i++) await flips(bytes);
  },
};
