/* The shared part of all kernels: their buffers, NaN and infinities, and elementary functions.
 *
 * WGSL lets an implementation assume that there is no NaN, and its functions may be inexact or
 * overflow. So NaN is recognized by its bits, and the functions are those of
 * kernels/elementary_inline.h: their error is at most 3 ulp, and 1e-37 where a GPU flushes
 * subnormal numbers. */
#include "gpu/device.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"

static const char common[] = WGSL(
var<private> inf_bits: u32 = 0x7f800000u;
var<private> nan_bits: u32 = 0x7fc00000u;
fn inf() -> f32 { return bitcast<f32>(inf_bits); }
fn nan() -> f32 { return bitcast<f32>(nan_bits); }
fn isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn word(i: u32) -> u32 { return params[i >> 2u][i & 3u]; }
fn number(i: u32) -> f32 { return bitcast<f32>(word(i)); }
fn larger(a: f32, b: f32) -> f32 {
  return select(select(select(b, a, a >= b), b, isnan(b)), a, isnan(a));
}
fn smaller(a: f32, b: f32) -> f32 {
  return select(select(select(b, a, a <= b), b, isnan(b)), a, isnan(a));
}
fn limit(x: f32, low: f32, high: f32) -> f32 {
  let y = select(x, low, x < low);
  return select(select(y, high, y > high), x, isnan(x));
}
fn group_of(g: vec3<u32>, n: vec3<u32>) -> u32 { return g.y * n.x + g.x; }
);

/* float16 by its bits: a GPU may replace subnormal numbers by zero. */
static const char halves[] = WGSL(
fn half_of(w: u32, i: u32) -> f32 {
  let h = w >> ((i & 1u) * 16u);
  let m = (h & 0x7fffu) << 13u;
  let small = bitcast<u32>(bitcast<f32>(m + 0x38800000u) - bitcast<f32>(0x38800000u));
  let most = select(m + 0x38000000u, m + 0x70000000u, m >= 0x0f800000u);
  return bitcast<f32>(((h & 0x8000u) << 16u) | select(most, small, m < 0x00800000u));
}
);

/* Division and roots of whatever a GPU may flush, or may assume not to exist. A GPU's quotient may
 * be off by a few units in the last place: the remainder, modulo 2^32, corrects it. */
static const char quotients[] = WGSL(
fn unit_of(x: u32) -> f32 {
  let n = select(x, bitcast<u32>(f32(x)), x < 0x00800000u);
  return bitcast<f32>((n & 0x007fffffu) | 0x3f800000u);
}
fn exponent_of(x: u32) -> i32 {
  let n = select(x, bitcast<u32>(f32(x)), x < 0x00800000u);
  return i32(n >> 23u) - select(127, 276, x < 0x00800000u);
}
fn mantissa_of(x: u32, y: u32) -> u32 {
  let n = (x & 0x007fffffu) | 0x00800000u; let d = (y & 0x007fffffu) | 0x00800000u;
  let less = n < d;
  var q = u32(unit_of(x) / unit_of(y) * select(8388608.0, 16777216.0, less));
  var r = bitcast<i32>((n << select(23u, 24u, less)) - q * d);
  for (var i = 0; i < 4 && r < 0; i++) { q -= 1u; r += i32(d); }
  for (var i = 0; i < 4 && r >= i32(d); i++) { q += 1u; r -= i32(d); }
  let twice = u32(r) * 2u;
  return q + select(0u, 1u, twice > d || (twice == d && (q & 1u) == 1u));
}
fn div_(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if (x - 0x00800000u < 0x7f000000u && y - 0x00800000u < 0x7f000000u) {
    let less = (x & 0x007fffffu) < (y & 0x007fffffu);
    let up = i32(x >> 23u) - i32(y >> 23u) + select(127, 126, less);
    if (up > 0 && up < 254) {
      let bits = (u32(up) << 23u) + mantissa_of(x, y) - 0x00800000u;
      return bitcast<f32>(bits | ((bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u));
    }
  }
  let sign = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
  let odd = x == y && (x == 0u || x == 0x7f800000u);
  if (x > 0x7f800000u || y > 0x7f800000u || odd) { return nan(); }
  if (x == 0x7f800000u || y == 0u) { return bitcast<f32>(sign | inf_bits); }
  if (y == 0x7f800000u || x == 0u) { return bitcast<f32>(sign); }
  let e = clamp(exponent_of(x) - exponent_of(y), -252, 252);
  let h = e >> 1u;
  let low = bitcast<f32>(u32(h + 127) << 23u);
  let q = unit_of(x) / unit_of(y) * low * bitcast<f32>(u32(e - h + 127) << 23u);
  return bitcast<f32>(bitcast<u32>(q) | sign);
}
fn sqrt_(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) == 0u) { return x; }
  if (bits > 0x7f800000u) { return nan(); }
  if (bits == 0x7f800000u) { return x; }
  if (bits < 0x00800000u) { return sqrt(f32(bits) * 2.0) * 2.64697796e-23; }
  return sqrt(x);
}
);

static const char exponential[] = WGSL(
fn pow2(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }
fn exp_poly(r: f32) -> f32 {
  var p = fma(1.39464578e-3, r, 8.36658943e-3);
  p = fma(p, r, 4.16662805e-2);
  p = fma(p, r, 1.66665435e-1);
  return fma(p, r, 0.5);
}
fn exp_reduce(x: f32) -> vec2<f32> {
  let k = round(x * 1.44269504);
  return vec2<f32>(fma(k, 2.12194440e-4, fma(k, -0.693359375, x)), k);
}
fn exp_(x: f32) -> f32 {
  if (isnan(x)) { return x; }
  if (x > 88.722839) { return inf(); }
  if (x < -103.972084) { return 0.0; }
  let e = exp_reduce(x);
  let n = i32(e.y);
  let h = n >> 1u;
  return (fma(exp_poly(e.x), e.x * e.x, e.x) + 1.0) * pow2(h) * pow2(n - h);
}
fn expm1_(x: f32) -> f32 {
  if (isnan(x) || x == 0.0) { return x; }
  if (x > 88.722839) { return inf(); }
  let y = max(x, -18.0);
  let k = round(y * 1.44269504);
  let r = fma(k, -0.693359375, y);
  var low = k * 2.12194440e-4;
  let s = r + low;
  low = (r - s) + low;
  let p = fma(exp_poly(s), s * s, low);
  if (k == 0.0) { return s + p; }
  let half = pow2(i32(k) - 1);
  let e = (half * p + half * s) + (half - 0.5);
  return e + e;
}
fn sigmoid_(x: f32) -> f32 {
  if (isnan(x)) { return x; }
  let e = exp_(-abs(x));
  return select(e, 1.0, x >= 0.0) / (1.0 + e);
}
fn mish_(x: f32) -> f32 {
  if (isnan(x)) { return x; }
  let e = exp_(min(x, 20.0));
  let w = e * (e + 2.0);
  return x * (w / (w + 2.0));
}
fn tanh_(x: f32) -> f32 {
  if (isnan(x)) { return x; }
  let t = expm1_(-2.0 * min(abs(x), 10.0));
  let y = -t / (t + 2.0);
  return bitcast<f32>((bitcast<u32>(y) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u));
}
);

static const char normal[] = WGSL(
fn normal_tail(x: f32) -> f32 {
  if (x > 13.1) { return 0.0; }
  let t = 3.0 / (x + 3.0);
  var p = fma(-2.72188801e-2, t, 1.51928455e-1);
  p = fma(p, t, -3.19350272e-1);
  p = fma(p, t, 2.77094573e-1);
  p = fma(p, t, -9.67856422e-2);
  p = fma(p, t, 1.40615374e-1);
  p = fma(p, t, 1.06131762e-1);
  p = fma(p, t, 1.34745583e-1);
  p = fma(p, t, 1.32833749e-1);
  p = fma(p, t, 5.30887883e-6);
  let high = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  let low = (high - x) * (high + x) * 0.5;
  let e = exp_reduce(-0.5 * high * high);
  let r = e.x + low;
  return p * (fma(exp_poly(r), r * r, r) + 1.0) * pow2(i32(e.y));
}
fn gelu_tanh(x: f32) -> f32 {
  return x * sigmoid_(fma(x * x * x, 0.044715, x) * 1.59576912);
}
fn erf_(x: f32) -> f32 {
  if (isnan(x)) { return x; }
  let a = abs(x);
  let z = x * x;
  if (a < 1.0) {
    var p = fma(7.85385419e-5, z, -8.01019138e-4);
    p = fma(p, z, 5.18832729e-3);
    p = fma(p, z, -2.68538110e-2);
    p = fma(p, z, 1.12835854e-1);
    p = fma(p, z, -3.76126260e-1);
    p = fma(p, z, 1.28379107e-1);
    return fma(p, x, x);
  }
  let q = normal_tail(a * 1.41421356);
  return select(1.0, -1.0, x < 0.0) * (1.0 - (q + q));
}
fn gelu_(x: f32) -> f32 {
  if (isnan(x)) { return x; }
  let q = normal_tail(abs(x));
  return x * select(1.0 - q, q, x < 0.0);
}
);

/* The integers at numbers that a GPU may replace by zero, and zeros with their sign. */
static const char roundings[] = WGSL(
fn small(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) - 1u < 0x3effffffu; }
fn zero_of(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x80000000u); }
fn floor_(x: f32) -> f32 {
  if (small(x)) { return select(0.0, -1.0, bitcast<u32>(x) >= 0x80000000u); }
  return select(floor(x), x, isnan(x));
}
fn ceil_(x: f32) -> f32 {
  if (small(x)) { return select(1.0, zero_of(x), bitcast<u32>(x) >= 0x80000000u); }
  return select(ceil(x), x, isnan(x));
}
fn trunc_(x: f32) -> f32 {
  return select(select(trunc(x), x, isnan(x)), zero_of(x), small(x));
}
fn round_(x: f32) -> f32 {
  return select(select(round(x), x, isnan(x)), zero_of(x), small(x));
}
);

/* An implementation may round to either of the two nearest floats. */
static const char integers[] = WGSL(
fn float_of(low: u32, high: u32) -> f32 {
  let minus = high >= 0x80000000u;
  var l = select(low, ~low + 1u, minus);
  let h = select(high, ~high + select(0u, 1u, l == 0u), minus);
  let sign = select(0u, 0x80000000u, minus);
  if (h == 0u && l < 0x01000000u) { return bitcast<f32>(bitcast<u32>(f32(l)) | sign); }
  let z = select(countLeadingZeros(h), 32u + countLeadingZeros(l), h == 0u);
  var n = h;
  if (z >= 32u) { n = l << (z - 32u); l = 0u; }
  else if (z > 0u) { n = (h << z) | (l >> (32u - z)); l = l << z; }
  let m = n >> 8u; let rest = n & 0xffu;
  let up = rest > 0x80u || (rest == 0x80u && (l != 0u || (m & 1u) == 1u));
  return bitcast<f32>((((190u - z) << 23u) + m + select(0u, 1u, up) - 0x00800000u) | sign);
}
);

static const char mixes[] = WGSL(
fn lerp_(x: f32, y: f32, z: f32) -> f32 {
  return select(y - (y - x) * (1.0 - z), x + z * (y - x), abs(z) < 0.5);
}
fn softshrink_(x: f32, s: f32) -> f32 {
  if (isnan(x)) { return x; }
  return select(select(0.0, x + s, x < -s), x - s, x > s);
}
);

/* An implementation may multiply by the constants first, and the product would not overflow. */
static const char hardswish[] = WGSL(
fn hardswish_(x: f32) -> f32 {
  let y = x * smaller(6.0, larger(0.0, x + 3.0));
  let odd = (bitcast<u32>(y) & 0x7f800000u) == 0x7f800000u;
  return select(y * 0.166666667, y, odd);
}
);

/* Numbers by the order of their bits: a GPU may replace subnormal numbers by zero. */
static const char orders[] = WGSL(
fn rank_(x: f32) -> i32 {
  let n = bitcast<i32>(bitcast<u32>(x) & 0x7fffffffu);
  return select(n, -n, bitcast<u32>(x) >= 0x80000000u);
}
fn same_(x: f32, y: f32) -> bool { return rank_(x) == rank_(y) && !isnan(x); }
fn less_(x: f32, y: f32) -> bool { return rank_(x) < rank_(y) && !isnan(x) && !isnan(y); }
);

static const char logarithm[] = WGSL(
fn log_of(k: f32, f: f32) -> f32 {
  let z = f * f;
  var p = fma(6.74659163e-2, f, -1.16756387e-1);
  p = fma(p, f, 1.18881777e-1);
  p = fma(p, f, -1.24055922e-1);
  p = fma(p, f, 1.42195508e-1);
  p = fma(p, f, -1.66679963e-1);
  p = fma(p, f, 2.00021192e-1);
  p = fma(p, f, -2.50000089e-1);
  p = fma(p, f, 3.33333135e-1);
  let y = fma(-0.5, z, fma(k, -2.12194440e-4, p * f * z)) + f;
  return fma(k, 0.693359375, y);
}
fn log_any(x: f32) -> f32 {
  if (isnan(x)) { return x; }
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) == 0u) { return -inf(); }
  if (bits >= 0x80000000u) { return nan(); }
  if (bits == 0x7f800000u) { return x; }
  let ix = i32(bits) + 0x004afb0d;
  let k = f32((ix >> 23u) - 127);
  return log_of(k, bitcast<f32>((ix & 0x7fffff) + 0x3f3504f3) - 1.0);
}
fn log_(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (bits > 0u && bits < 0x00800000u) { return log_any(f32(bits)) - 103.278929; }
  return log_any(x);
}
fn log1p_(x: f32) -> f32 {
  if (x > -0.29 && x < 0.41) { return select(log_of(0.0, x), x, x == 0.0); }
  return log_(1.0 + x);
}
);
/* sin, and cos with `quarter` 1. x = j * pi/2 + r, where the bits of x * 2/pi from 2 to 2^-94 give
 * j and r (Payne and Hanek). They are computed in integers, because an implementation may reorder
 * sums. */
static const char sines[] = WGSL(
fn high_of(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let mid = ah * bl + ((al * bl) >> 16u);
  let more = al * bh + (mid & 0xffffu);
  return ah * bh + (mid >> 16u) + (more >> 16u);
}
fn reduce(bits: u32) -> vec2<f32> {
  var p = array<u32, 8>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                        0x3c439041u, 0xfe5163abu);
  let m = (bits & 0x007fffffu) | 0x00800000u;
  let e = (bits >> 23u) - 120u;
  let w = e >> 5u; let s = e & 31u;
  var q = array<u32, 3>(p[w], p[w + 1u], p[w + 2u]);
  if (s != 0u) {
    for (var i = 0u; i < 3u; i++) { q[i] = (q[i] << s) | (p[w + i + 1u] >> (32u - s)); }
  }
  let r1 = m * q[1] + high_of(m, q[2]);
  let r0 = m * q[0] + high_of(m, q[1]) + select(0u, 1u, r1 < m * q[1]);
  var f0 = (r0 << 2u) | (r1 >> 30u);
  var f1 = (r1 << 2u) | ((m * q[2]) >> 30u);
  let minus = f0 >= 0x80000000u;
  if (minus) {
    f1 = ~f1 + 1u;
    f0 = ~f0 + select(0u, 1u, f1 == 0u);
  }
  let z = countLeadingZeros(f0);
  var n = f0;
  if (z == 32u) { n = f1; } else if (z > 0u) { n = (f0 << z) | (f1 >> (32u - z)); }
  let r = f32(high_of(n, 0xc90fdaa2u)) * bitcast<f32>((96u - z) << 23u);
  return vec2<f32>(select(r, -r, minus), f32((r0 >> 30u) + select(0u, 1u, minus)));
}
fn sin_(x: f32, quarter: u32) -> f32 {
  let bits = bitcast<u32>(x);
  let a = bits & 0x7fffffffu;
  if (a >= 0x7f800000u) { return nan(); }
  if (a == 0u && quarter == 0u) { return x; }
  var r = bitcast<f32>(a);
  var j = quarter;
  if (a > 0x3f490fdbu) {
    let large = reduce(a);
    r = large.x;
    j += u32(large.y);
  }
  let z = r * r;
  var s = fma(-1.9515295891e-4, z, 8.3321608736e-3);
  s = fma(s, z, -1.6666654611e-1);
  s = fma(s * z, r, r);
  var c = fma(2.443315711809948e-5, z, -1.388731625493765e-3);
  c = fma(c, z, 4.166664568298827e-2);
  c = fma(c * z, z, fma(-0.5, z, 1.0));
  let y = bitcast<u32>(select(s, c, (j & 1u) == 1u)) ^ ((j & 2u) << 30u);
  return bitcast<f32>(y ^ select(0u, bits & 0x80000000u, quarter == 0u));
}
);
/* clang-format on */

/* Writes a buffer, and how to read its elements as float32. */
static void write_input(rush_text *t, unsigned n, char type) {
  const char *of = type == 'f' ? "f32" : type == 'v' ? "vec4<f32>" : "u32";
  rush_text_add(t, "@group(0) @binding(%u) var<storage, read> in%u: array<%s>;\n", n + 1, n, of);
  if (type == 'u') return;
  rush_text_add(t, "fn at%u(i: u32) -> f32 { return ", n);
  if (type == 'f') rush_text_add(t, "in%u[i]; }\n", n);
  if (type == 'v') rush_text_add(t, "in%u[i >> 2u][i & 3u]; }\n", n);
  if (type == 'h') rush_text_add(t, "half_of(in%u[i >> 1u], i); }\n", n);
}

void rush_gpu_prelude(rush_text *t, const char *types) {
  const unsigned last = (unsigned)strlen(types) - 1;
  bool has_halves = false;
  rush_text_add(t, "@group(0) @binding(0) var<uniform> params: array<vec4<u32>, 16>;\n");
  for (unsigned n = 0; n < last; n++) {
    write_input(t, n, types[n]);
    has_halves = has_halves || types[n] == 'h';
  }
  rush_text_add(t, "@group(0) @binding(%u) var<storage, read_write> out: array<%s>;\n", last + 1,
                types[last] == 'u' ? "u32" : "f32");
  rush_text_bytes(t, common, sizeof common - 1);
  if (has_halves) rush_text_bytes(t, halves, sizeof halves - 1);
}

void rush_gpu_write_integers(rush_text *t) {
  rush_text_bytes(t, integers, sizeof integers - 1);
}

static bool is_named(const char *const *texts, int n, const char *name) {
  for (int k = 0; k < n; k++)
    if (strstr(texts[k], name)) return true;
  return false;
}

void rush_gpu_functions(rush_text *t, const char *const *texts, int n) {
  const bool tails = is_named(texts, n, "erf_") || is_named(texts, n, "gelu_");
  const char *const names[] = {"exp_", "expm1_", "sigmoid_", "tanh_", "mish_"};
  bool exponentials = tails;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    exponentials = exponentials || is_named(texts, n, names[k]);
  if (exponentials) rush_text_bytes(t, exponential, sizeof exponential - 1);
  if (tails) rush_text_bytes(t, normal, sizeof normal - 1);
  if (is_named(texts, n, "div_") || is_named(texts, n, "sqrt_"))
    rush_text_bytes(t, quotients, sizeof quotients - 1);
  if (is_named(texts, n, "sin_")) rush_text_bytes(t, sines, sizeof sines - 1);
  if (is_named(texts, n, "floor_") || is_named(texts, n, "ceil_") || is_named(texts, n, "trunc_") ||
      is_named(texts, n, "round_"))
    rush_text_bytes(t, roundings, sizeof roundings - 1);
  if (is_named(texts, n, "lerp_") || is_named(texts, n, "softshrink_"))
    rush_text_bytes(t, mixes, sizeof mixes - 1);
  if (is_named(texts, n, "hardswish_")) rush_text_bytes(t, hardswish, sizeof hardswish - 1);
  if (is_named(texts, n, "rank_") || is_named(texts, n, "same_") || is_named(texts, n, "less_"))
    rush_text_bytes(t, orders, sizeof orders - 1);
  if (is_named(texts, n, "log_") || is_named(texts, n, "log1p_"))
    rush_text_bytes(t, logarithm, sizeof logarithm - 1);
}
