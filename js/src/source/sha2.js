// SHA-2 (FIPS 180-4) of a stream of bytes. crypto.subtle needs all bytes at once, and a secure page.

/** For each digest size: the bits of a word, the bytes of a block, and the number of rounds. */
const KINDS = /** @type {const} */ ({ 256: [32, 64, 64], 384: [64, 128, 80], 512: [64, 128, 80] });

/** Returns the integral part of the k-th root. @param {bigint} n @param {bigint} k */
function root(n, k) {
  let x = 1n << BigInt(Math.ceil(n.toString(2).length / Number(k)));
  for (;;) {
    const y = ((k - 1n) * x + n / x ** (k - 1n)) / k;
    if (y >= x) return x;
    x = y;
  }
}

/** @type {{ roots: Int32Array, rounds: Int32Array } | undefined} */ let tables;

/**
 * Makes the constants: the first 64 fractional bits of the square roots of the first 16 primes, and of the cube roots
 * of the first 80 primes. High and low words alternate.
 */
function constants() {
  if (tables) return tables;
  /** @type {number[]} */ const primes = [];
  for (let n = 2; primes.length < 80; n++) if (primes.every((p) => n % p)) primes.push(n);
  const words = (/** @type {bigint} */ k, /** @type {number} */ n) =>
    Int32Array.from(
      primes.slice(0, n).flatMap((p) => {
        const bits = root(BigInt(p) << (64n * k), k);
        return [Number(BigInt.asIntN(32, bits >> 32n)), Number(BigInt.asIntN(32, bits))];
      }),
    );
  return (tables = { roots: words(2n, 16), rounds: words(3n, 80) });
}

const highs = (/** @type {Int32Array} */ words) => words.filter((_, i) => i % 2 === 0);

/** @typedef {keyof typeof KINDS} Bits */

export class Sha2 {
  /** @type {Int32Array} */ #state;
  #rounds;
  #words;
  #block;
  /** The bytes in the block, and the bytes in total. */
  #filled = 0;
  #total = 0;

  /** @param {Bits} bits of the digest */
  constructor(bits) {
    this.bits = bits;
    const [word, block, rounds] = KINDS[bits],
      { roots, rounds: all } = constants();
    const first = bits === 384 ? roots.slice(16) : roots.slice(0, 16);
    this.#state = word === 32 ? highs(first) : first;
    this.#rounds = word === 32 ? highs(all).slice(0, rounds) : all;
    this.#words = new Int32Array(rounds * (word / 32));
    this.#block = new Uint8Array(block);
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    const { length } = this.#block;
    this.#total += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(length - this.#filled, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < length) return this;
      this.#take(new DataView(this.#block.buffer), 0);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (; at + length <= bytes.length; at += length) this.#take(view, at);
    this.#block.set(bytes.subarray(at));
    this.#filled = bytes.length - at;
    return this;
  }

  /** Returns the digest. No bytes can be added afterwards. @returns {Uint8Array} */
  digest() {
    const { length } = this.#block,
      bits = BigInt(this.#total) * 8n;
    const tail = new Uint8Array((this.#filled < length - length / 8 ? length : 2 * length) - this.#filled);
    tail[0] = 0x80;
    new DataView(tail.buffer).setBigUint64(tail.length - 8, bits);
    this.update(tail);
    const out = new DataView(new ArrayBuffer(4 * this.#state.length));
    this.#state.forEach((word, i) => out.setInt32(4 * i, word));
    return new Uint8Array(out.buffer, 0, this.bits / 8);
  }

  /** @param {DataView} view @param {number} at the offset of a block */
  #take(view, at) {
    const w = this.#words,
      n = this.#block.length / 4;
    for (let i = 0; i < n; i++) w[i] = view.getInt32(at + 4 * i);
    (this.bits === 256 ? block256 : block512)(this.#state, w, this.#rounds);
  }
}

// eslint-disable-next-line types/any -- noUncheckedIndexedAccess would demand a cast for each of the 100 reads
/** @typedef {{ [i: number]: any }} Words an Int32Array */

/**
 * Adds one block to the state.
 * @param {Words} state 8 words
 * @param {Words} w 64 words, the block in the first 16
 * @param {Words} k
 */
function block256(state, w, k) {
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15],
      y = w[i - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
  }
  let a = state[0],
    b = state[1],
    c = state[2],
    d = state[3],
    e = state[4],
    f = state[5],
    g = state[6],
    h = state[7];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + k[i] + w[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

const TWO32 = 2 ** 32;

/**
 * Adds one block, with words of 64 bits that consist of a high and a low word. Sums of low words are exact as doubles,
 * and give the carry.
 * @param {Words} state 8 pairs @param {Words} w 80 pairs, the block in the first 16 @param {Words} k
 */
function block512(state, w, k) {
  for (let i = 32; i < 160; i += 2) {
    const xh = w[i - 30],
      xl = w[i - 29],
      yh = w[i - 4],
      yl = w[i - 3];
    const s0h = ((xh >>> 1) | (xl << 31)) ^ ((xh >>> 8) | (xl << 24)) ^ (xh >>> 7);
    const s0l = ((xl >>> 1) | (xh << 31)) ^ ((xl >>> 8) | (xh << 24)) ^ ((xl >>> 7) | (xh << 25));
    const s1h = ((yh >>> 19) | (yl << 13)) ^ ((yl >>> 29) | (yh << 3)) ^ (yh >>> 6);
    const s1l = ((yl >>> 19) | (yh << 13)) ^ ((yh >>> 29) | (yl << 3)) ^ ((yl >>> 6) | (yh << 26));
    const low = (w[i - 31] >>> 0) + (s0l >>> 0) + (w[i - 13] >>> 0) + (s1l >>> 0);
    w[i] = (w[i - 32] + s0h + w[i - 14] + s1h + ((low / TWO32) | 0)) | 0;
    w[i + 1] = low | 0;
  }
  let ah = state[0],
    al = state[1],
    bh = state[2],
    bl = state[3],
    ch = state[4],
    cl = state[5],
    dh = state[6],
    dl = state[7];
  let eh = state[8],
    el = state[9],
    fh = state[10],
    fl = state[11],
    gh = state[12],
    gl = state[13],
    hh = state[14],
    hl = state[15];
  for (let i = 0; i < 160; i += 2) {
    const s1h = ((eh >>> 14) | (el << 18)) ^ ((eh >>> 18) | (el << 14)) ^ ((el >>> 9) | (eh << 23));
    const s1l = ((el >>> 14) | (eh << 18)) ^ ((el >>> 18) | (eh << 14)) ^ ((eh >>> 9) | (el << 23));
    const low1 = (hl >>> 0) + (s1l >>> 0) + (((el & fl) ^ (~el & gl)) >>> 0) + (k[i + 1] >>> 0) + (w[i + 1] >>> 0);
    const t1h = (hh + s1h + ((eh & fh) ^ (~eh & gh)) + k[i] + w[i] + ((low1 / TWO32) | 0)) | 0,
      t1l = low1 | 0;
    const s0h = ((ah >>> 28) | (al << 4)) ^ ((al >>> 2) | (ah << 30)) ^ ((al >>> 7) | (ah << 25));
    const s0l = ((al >>> 28) | (ah << 4)) ^ ((ah >>> 2) | (al << 30)) ^ ((ah >>> 7) | (al << 25));
    const low2 = (s0l >>> 0) + (((al & bl) ^ (al & cl) ^ (bl & cl)) >>> 0);
    const t2h = (s0h + ((ah & bh) ^ (ah & ch) ^ (bh & ch)) + ((low2 / TWO32) | 0)) | 0,
      t2l = low2 | 0;
    hh = gh;
    hl = gl;
    gh = fh;
    gl = fl;
    fh = eh;
    fl = el;
    const lowE = (dl >>> 0) + (t1l >>> 0);
    eh = (dh + t1h + ((lowE / TWO32) | 0)) | 0;
    el = lowE | 0;
    dh = ch;
    dl = cl;
    ch = bh;
    cl = bl;
    bh = ah;
    bl = al;
    const lowA = (t1l >>> 0) + (t2l >>> 0);
    ah = (t1h + t2h + ((lowA / TWO32) | 0)) | 0;
    al = lowA | 0;
  }
  const sums = [ah, al, bh, bl, ch, cl, dh, dl, eh, el, fh, fl, gh, gl, hh, hl];
  for (let i = 0; i < 16; i += 2) {
    const low = (state[i + 1] >>> 0) + (sums[i + 1] >>> 0);
    state[i] += sums[i] + ((low / TWO32) | 0);
    state[i + 1] = low;
  }
}
