// The work of the soak, which is the same in Node and in a page. It loads, runs, stops, exchanges and disposes models
// in random order. Each answer must have the same bits as the first answer of its kind.

import { RushlightError, load } from '../../js/src/index.js';
import { liveModels } from '../../js/src/api/model.js';

/**
 * @typedef {import('../../js/src/index.js').Model} Model
 * @typedef {import('../../js/src/index.js').LoadOptions} LoadOptions
 * @typedef {Record<string, any>} Inputs of one run
 */

export const NAMES = ['mlp', 'conv', 'state', 'cache', 'control', 'long'];
/** Models that stay loaded: the file's name, and its options. @type {Record<string, LoadOptions>} */
const STAY = {
  mlp: {},
  conv: {},
  state: {},
  cache: {},
  control: {},
  long: {},
  'mlp in a worker': { worker: true },
  'conv on threads': { threads: 2 },
};
const ENDLESS = 2 ** 31;

/** @param {number[]} shape @param {number} step */
const wave = (shape, step) => ({
  dtype: 'float32',
  shape,
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin((i + 1) * step)),
});

/** Sequences of runs for each model. Each sequence starts with a reset. @type {Record<string, Inputs[][]>} */
const CASES = {
  mlp: [1, 3, 17, 128].map((n) => [{ x: wave([n, 64], 0.37) }]),
  conv: [
    [1, 3, 32, 32],
    [1, 3, 64, 64],
    [1, 3, 96, 80],
    [4, 3, 48, 48],
  ].map((shape) => [{ x: wave(shape, 0.11) }]),
  state: [[1, 4, 9], [20], [2, 2, 2, 2]].map((lengths) => lengths.map((n) => ({ x: wave([1, n, 16], 0.23) }))),
  cache: [
    [5, ...Array(30).fill(1)],
    [1, 2, 3, 4],
  ].map((lengths) => lengths.map((n) => ({ x: wave([1, n, 32], 0.29) }))),
  control: [0, 1, 5, 23].map((n) => [{ x: wave([4, 8], 0.41), n }]),
  long: [1, 3, 10].map((n) => [{ x: wave([64, 64], 0.013), n }]),
};

/** Returns all bytes of tensors in a value, and its numbers, as text. @param {any} v @returns {string} */
function bits(v) {
  if (v?.data && v.shape)
    return `${v.dtype}[${v.shape}]${new Uint8Array(v.data.buffer, v.data.byteOffset, v.data.byteLength).join()}`;
  if (v && typeof v === 'object')
    return Object.entries(v)
      .map(([k, item]) => `${k}:${bits(item)}`)
      .join(';');
  return String(v);
}

/** Returns a generator of numbers from 0 to 1 for a seed. @param {number} state */
const numbers = (state) => () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

/** @param {number} ms */
const later = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Fails unless the promise is rejected with the code. @param {Promise<unknown>} promise @param {string[]} codes */
async function refused(promise, ...codes) {
  const e = await promise.then(
    () => new Error('nothing was refused'),
    (error) => error,
  );
  if (!(e instanceof RushlightError) || !codes.includes(e.code))
    throw new Error(`${codes.join(' or ')} was expected`, { cause: e });
}

/** Counts the existing workers and wasm instances. */
function watch() {
  const counts = { workers: 0 };
  /** @type {WeakRef<object>[]} */ let instances = [];
  const { process } = /** @type {any} */ (globalThis),
    { instantiate } = WebAssembly;
  WebAssembly.instantiate = /** @type {any} */ (
    async (/** @type {any[]} */ ...args) => {
      const made = await /** @type {any} */ (instantiate)(...args);
      instances.push(new WeakRef(made));
      return made;
    }
  );
  if (process?.on) {
    process.on('worker', (/** @type {any} */ worker) => {
      counts.workers++;
      worker.once('exit', () => {
        counts.workers--;
      });
    });
  } else {
    globalThis.Worker = class extends Worker {
      #ended = false;
      /** @param {string | URL} url @param {WorkerOptions} [options] */
      constructor(url, options) {
        super(url, options);
        counts.workers++;
      }
      terminate() {
        if (!this.#ended) counts.workers--;
        this.#ended = true;
        super.terminate();
      }
    };
  }
  return () => {
    instances = instances.filter((ref) => ref.deref());
    return { models: liveModels, workers: counts.workers, instances: instances.length };
  };
}

export class Soak {
  /** @type {Map<string, Model>} */ #stay = new Map();
  /** @type {Map<string, string>} the first answers */ #answers = new Map();
  /** @type {Record<string, Uint8Array>} */ #files = {};
  /** @type {string[]} */ #faults = [];
  #random;
  #counts;
  done = { actions: 0, runs: 0, loads: 0 };

  /** @param {number} seed */
  constructor(seed) {
    this.#random = numbers(seed);
    this.#counts = watch();
    const fault = (/** @type {any} */ e) => {
      this.#faults.push(`nobody took this: ${e?.stack ?? e}`);
    };
    const { process } = /** @type {any} */ (globalThis);
    if (process?.on) process.on('unhandledRejection', fault);
    else globalThis.addEventListener('unhandledrejection', (e) => fault(e.reason));
  }

  /** Loads the models that stay, and runs each case once. @param {(name: string) => Promise<Uint8Array>} read */
  async open(read) {
    // The slice() of a Buffer would not copy.
    for (const name of NAMES) this.#files[name] = new Uint8Array(await read(name));
    for (const place of Object.keys(STAY)) this.#stay.set(place, await this.#load(place));
    for (const [place, model] of this.#stay) {
      for (const k of CASES[this.#name(place)]?.keys() ?? []) await this.#check(place, model, k);
    }
  }

  /** @param {string} place */
  #name(place) {
    return /** @type {string} */ (place.split(' ')[0]);
  }

  /** @template T @param {readonly T[]} items @returns {T} */
  #one(items) {
    return /** @type {T} */ (items[Math.floor(this.#random() * items.length)]);
  }

  /**
   * Loads from bytes, or from a stream.
   * @param {string} place
   * @param {LoadOptions} [more]
   * @returns {Promise<Model>}
   */
  #load(place, more) {
    const bytes = /** @type {Uint8Array<ArrayBuffer>} */ (this.#files[this.#name(place)]);
    this.done.loads++;
    return load(this.#one([bytes, new Blob([bytes]), new Response(bytes)]), { ...STAY[place], ...more });
  }

  /**
   * Compares the answers of a case with the first ones.
   * @param {string} place
   * @param {Model} model
   * @param {number} [k]
   */
  async #check(place, model, k) {
    const name = this.#name(place),
      cases = /** @type {Inputs[][]} */ (CASES[name]),
      which = k ?? Math.floor(this.#random() * cases.length);
    const runs = /** @type {Inputs[]} */ (cases[which]);
    const answers = [];
    if (runs.length > 1 || /state|cache/.test(name)) answers.push(model.reset());
    for (const inputs of runs) answers.push(model.run(inputs)); // the runs wait for each other
    this.done.runs += runs.length;
    const now = bits(await Promise.all(answers)),
      key = `${name}, case ${which}`,
      first = this.#answers.get(key);
    if (first === undefined) this.#answers.set(key, now);
    else if (first !== now) throw new Error(`${place}: another answer than at first: ${key}`);
  }

  /**
   * Loads a model, uses it and disposes it.
   * @param {string} name
   * @param {LoadOptions} options
   * @param {(model: Model) => Promise<unknown>} use
   */
  async #with(name, options, use) {
    const model = await this.#load(name, options);
    try {
      await use(model);
    } finally {
      model.dispose();
    }
  }

  /** Aborts an endless run. @param {Model} model */
  async #abort(model) {
    const stop = new AbortController(),
      run = model.run({ ...CASES.long?.[0]?.[0], n: ENDLESS }, { signal: stop.signal });
    setTimeout(() => stop.abort(), this.#random() * 20);
    await refused(run, 'aborted');
    await this.#check('long', model);
  }

  #actions = {
    answer: () => {
      const [place, model] = this.#one([...this.#stay]);
      return this.#check(place, model);
    },
    together: () => Promise.all([...this.#stay].map(([place, model]) => this.#check(place, model))),
    another: () => {
      const name = this.#one(NAMES);
      return this.#with(
        name,
        this.#one([{}, { worker: true }, { threads: 2 }, { threads: 3, worker: true }]),
        (model) => this.#check(name, model),
      );
    },
    abort: () => this.#abort(/** @type {Model} */ (this.#stay.get('long'))),
    abortElsewhere: () =>
      this.#with('long', this.#one([{ worker: true }, { threads: 2 }]), (model) => this.#abort(model)),
    abortLoad: async () => {
      const stop = new AbortController(),
        loading = this.#load(this.#one(NAMES), { signal: stop.signal, worker: this.#random() < 0.3 });
      if (this.#random() < 0.5) await later(this.#random() * 5);
      stop.abort();
      // The model may already be loaded
      await loading.then(
        (model) => model.dispose(),
        (e) => {
          if (e.code !== 'aborted') throw e;
        },
      );
    },
    disposeInRun: async () => {
      const model = await this.#load('long', { worker: this.#random() < 0.3 }),
        run = model.run({ ...CASES.long?.[0]?.[0], n: ENDLESS });
      setTimeout(() => model.dispose(), this.#random() * 10);
      await refused(run, 'disposed');
    },
    raise: async () => {
      const model = /** @type {Model} */ (this.#stay.get('control'));
      await refused(model.run({ ...CASES.control?.[0]?.[0], n: -1 }), 'model-raised');
      await this.#check('control', model);
    },
    refuse: async () => {
      const [place, model] = this.#one([...this.#stay]);
      await refused(model.run({}), 'bad-argument');
      await refused(model.run({ x: 'no tensor', n: 1 }), 'bad-argument');
      await this.#check(place, model);
    },
    limit: () =>
      this.#with('long', { limits: { steps: 500 } }, async (model) => {
        await refused(model.run({ ...CASES.long?.[0]?.[0], n: ENDLESS }), 'interrupted');
        await this.#check('long', model);
      }),
    memory: () =>
      this.#with('conv', { limits: { bytes: 2 ** 20 } }, async (model) => {
        await refused(model.run({ x: wave([1, 3, 256, 256], 1) }), 'out-of-memory');
        await this.#check('conv', model, 0);
      }),
    badFile: async () => {
      const bytes = /** @type {Uint8Array} */ (this.#files[this.#one(NAMES)]).slice();
      const at = Math.floor(this.#random() * bytes.length);
      await refused(load(bytes.slice(0, at)), 'truncated');
      bytes.fill(0xff, 64, 320);
      await refused(load(bytes), 'bad-file');
    },
    exchange: async () => {
      const [place, old] = this.#one([...this.#stay]),
        answers = [this.#check(place, old), this.#check(place, old)];
      const next = await this.#load(place);
      this.#stay.set(place, next);
      await Promise.all([...answers, this.#check(place, next)]);
      old.dispose();
    },
  };

  /** Performs random actions for the given time. @param {number} ms @returns {Promise<void>} */
  async work(ms) {
    const end = Date.now() + ms,
      names = /** @type {(keyof Soak['#actions'])[]} */ (Object.keys(this.#actions));
    while (Date.now() < end && this.#faults.length === 0) {
      const name = this.#one(names);
      await Promise.resolve(this.#actions[name]()).catch((e) => {
        this.#faults.push(`${name}: ${e.stack}\n${e.cause?.stack ?? ''}`);
      });
      this.done.actions++;
      await later(0);
    }
  }

  /** Samples the idle state, after a garbage collection. */
  async look() {
    const used = await Promise.all([...this.#stay.values()].map((model) => model.memory()));
    return {
      ...this.#counts(),
      stay: this.#stay.size,
      wasm: used.reduce((sum, { heap }) => sum + heap, 0),
      faults: this.#faults,
      done: this.done,
    };
  }
}
