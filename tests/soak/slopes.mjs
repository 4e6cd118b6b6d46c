// Measures how memory grows: the median of the slopes between any two samples, which single peaks do not affect.

/** Memory must be flat after SETTLED hours. A growth of less than MAX_GROWTH bytes in an hour counts as flat. */
const SETTLED = 10 / 60,
  MAX_GROWTH = 1e6;

/** @param {number[]} xs @param {number[]} ys */
export function slope(xs, ys) {
  const all = xs.flatMap((x, i) =>
    xs
      .slice(i + 1)
      .map((other, k) => /** @type {number} */ (ys[i + 1 + k] - /** @type {number} */ (ys[i])) / (other - x)),
  );
  return all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
}

/**
 * Returns which kinds of memory grow. A soak below twenty minutes is too short to show growth.
 * @param {{ hours: number, wasm: number, heap: number, rss: number }[]} samples @param {(text: string) => void} say
 */
export function slopes(samples, say) {
  const settled = samples.filter(({ hours }) => hours >= SETTLED),
    wrong = [];
  if ((settled.at(-1)?.hours ?? 0) < 2 * SETTLED) {
    say('memory is not judged: that takes twenty minutes');
    return [];
  }
  for (const key of /** @type {const} */ (['wasm', 'heap', 'rss'])) {
    const grows = slope(
        settled.map(({ hours }) => hours),
        settled.map((s) => s[key]),
      ),
      text = `${key} grows by ${(grows / 1e6).toFixed(3)} MB an hour`;
    say(text);
    if (grows >= MAX_GROWTH) wrong.push(`${text}, and may by ${MAX_GROWTH / 1e6}`);
  }
  return wrong;
}
