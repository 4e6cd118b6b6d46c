// Times models in this engine with every binary of Rushlight, in turns.

import { readNpy } from '../../js/src/media/npy.js';
import { difference } from '../../demo/shared/agreement.js';

const now = () => performance.now();
/** @param {number[]} values */
function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { min: sorted[0], median: sorted[sorted.length >> 1] };
}

/**
 * @param {object} options
 * @param {(source: any, options?: any) => Promise<any>} options.load
 * @param {(file: string) => Promise<Uint8Array>} options.read a file below build/bench/
 * @param {string} options.name of the model
 * @param {string[]} options.backends
 * @param {number} options.rounds
 * @param {number} options.threads it runs on one thread and on this number
 */
export async function bench({ load, read, name, backends, rounds, threads }) {
  const about = JSON.parse(new TextDecoder().decode(await read(`${name}/bench.json`)));
  const rush = await read(`${name}/${about.files.rush}`);
  const expected = readNpy(await read(`${name}/expected.npy`)).data;
  /** @type {Record<string, any>} */
  const inputs = {};
  for (const key of about.inputs) inputs[key] = readNpy(await read(`${name}/${key}.npy`));

  const copies = Array.from({ length: 9 }, () => {
    const start = now();
    new Uint8Array(rush);
    return now() - start;
  });
  /** @type {any[]} */
  const contenders = [];
  for (const options of backends.flatMap((backend) =>
    (threads > 1 ? [undefined, threads] : [undefined]).map((n) => ({ backend, threads: n })),
  )) {
    const loads = [];
    let model;
    for (let i = 0; i < 9; i++) {
      // the first load also compiles the wasm
      model?.dispose();
      const start = now();
      model = await load(rush, options);
      loads.push(now() - start);
    }
    const loaded = await model.memory();
    const start = now();
    const answer = (await model.run(inputs))[about.output];
    const first = now() - start;
    const ran = await model.memory();
    contenders.push({
      engine: `rushlight ${model.backend.name}${threads > 1 ? `, ${model.backend.threads}` : ''}`,
      times: [],
      model,
      run: () => model.run(inputs),
      load: summary(loads.slice(1)),
      copy: summary(copies),
      first,
      off: difference(answer.data, expected),
      memory: { file: rush.length, peakAtLoad: loaded.peak, live: ran.live, peak: ran.peak, heap: ran.heap },
    });
  }
  for (const contender of contenders) {
    let runs = 0;
    const start = now();
    do (await contender.run(), runs++);
    while (now() - start < 300); // the engine optimizes hot code
    contender.repeat = Math.ceil(runs / 300); // a round takes at least a millisecond: clocks are coarse in pages
  }
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < contenders.length; i++) {
      // the order changes in each round
      const contender = contenders[(i + round) % contenders.length];
      const start = now();
      for (let k = 0; k < contender.repeat; k++) await contender.run();
      contender.times.push((now() - start) / contender.repeat);
    }
  }

  const results = [];
  for (const { engine, times, model, load, copy, first, off, memory } of contenders) {
    const profile = await model.profile(inputs, { runs: 5 });
    results.push({
      name,
      engine,
      run: summary(times),
      load,
      copy,
      first,
      maxAbs: off.maxAbs,
      close: off.close,
      memory,
      profile,
    });
    model.dispose();
  }
  return results;
}

/** Measures how long the engine takes to compile a binary. @param {BufferSource} wasm */
export async function compileTime(wasm) {
  const times = [];
  for (let i = 0; i < 5; i++) {
    const start = now();
    await WebAssembly.compile(wasm);
    times.push(now() - start);
  }
  return summary(times);
}
