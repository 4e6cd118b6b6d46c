// Measures the machine's peak for one thread in this engine with the loops of peak.c.

const WORK = 12 * 4 * 256 * 2; // products and sums, in float32, of each of a call's `times`: see peak.c
const BYTES = 256 << 20;

/**
 * @param {() => void} call
 * @returns {number} the least seconds of a call within half a second, in which the engine optimizes the loop
 */
function least(call) {
  let best = Infinity;
  const begun = performance.now();
  for (let start = begun; start < begun + 500;) {
    call();
    const end = performance.now();
    best = Math.min(best, (end - start) / 1e3);
    start = end;
  }
  return best;
}

/**
 * @param {BufferSource} wasm
 * @returns {Promise<{ gflops: number, gops: number, gbytes: number }>} float32, int8, reading; billions in a second
 */
export async function peak(wasm) {
  const { instance } = await WebAssembly.instantiate(wasm);
  const { fill, madds, dots, read_all: readAll } = /** @type {any} */ (instance.exports);
  fill();
  const times = 3000;
  return {
    gflops: (WORK * times) / least(() => madds(times)) / 1e9,
    gops: (4 * WORK * times) / least(() => dots(times)) / 1e9,
    gbytes: BYTES / least(() => readAll()) / 1e9,
  };
}
