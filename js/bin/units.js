export const number = (/** @type {number} */ n) => n.toLocaleString('en');

/** Returns "1 layer" or "2 layers". @param {number} n @param {string} noun in the singular */
export const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;

/** Returns a size such as "1.2 MB" or "30.7 kB". @param {number} n */
export const size = (n) => (n < 1e5 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`);
