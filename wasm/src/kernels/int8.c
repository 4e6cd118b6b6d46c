#include "kernels/int8.h"

#include <math.h>

#include "base/threads.h"
#include "kernels/int8_tile.h"
#include "kernels/tile.h"

enum { NR = RUSH_INT8_NR, KR = RUSH_INT8_KR, MR = RUSH_INT8_MR, LANES = 16 };

/* The header of a block's weights. */
typedef struct block {
  int32_t sums[NR], zeros[NR]; /* sums wrap */
  float scales[NR], bias[NR];
} block;

static size_t groups_of(size_t k) {
  return k / KR + (k % KR != 0);
}
static size_t block_bytes(size_t k) {
  return sizeof(block) + groups_of(k) * NR * KR;
}

bool rush_int8_packed(size_t n, size_t k, size_t *bytes) {
  size_t blocks = n / NR;
  if (n % NR != 0) blocks++;
  if (k > (SIZE_MAX - sizeof(block)) / NR - KR) return false;
  return !__builtin_mul_overflow(blocks, block_bytes(k), bytes);
}

/* Packs columns of [channels][taps] weights as [taps][channels], in runs of `run` weights, each
 * padded to a multiple of KR. */
static void pack(rush_ctx *ctx, bool by_pairs, size_t n, size_t channels, size_t taps, size_t run,
                 const int8_t *w, const float *scales, const int32_t *zeros, const float *bias,
                 void *packed) {
  const size_t runs = run == 0 ? 0 : channels * taps / run;
  const size_t each = groups_of(run) * KR, k = runs * each;
  uint8_t *at = packed;
  for (size_t j = 0; j < n; j += NR, w += NR * channels * taps, at += block_bytes(k)) {
    const size_t columns = n - j < NR ? n - j : NR;
    int8_t *to = (int8_t *)(at + sizeof(block));
    block b;
    memset(&b, 0, sizeof b);
    for (size_t c = 0; c < columns; c++) {
      b.zeros[c] = zeros != NULL ? zeros[j + c] : 0;
      b.scales[c] = scales != NULL ? scales[j + c] : 1;
      b.bias[c] = bias != NULL ? bias[j + c] : 0;
      uint32_t sum = 0;
      for (size_t from = 0, some; rush_next_piece(ctx, channels * taps, 1, from, &some);
           from += some)
        for (size_t i = from; i < from + some; i++) {
          const int32_t v = w[c * channels * taps + i];
          sum += (uint32_t)v;
        }
      b.sums[c] = (int32_t)sum;
    }
    memcpy(at, &b, sizeof b);
    for (size_t r = 0; r < runs; r++)
      for (size_t i = 0; i < each && !rush_should_stop(ctx, NR * KR); i += KR, to += NR * KR)
        for (size_t p = 0; p < KR; p++) {
          const bool there = i + p < run;
          const size_t tap = run == channels ? r : (i + p) / channels;
          const size_t channel = run == channels ? i + p : (i + p) % channels;
          int8_t *at_p = by_pairs ? to + p / 2 * NR * 2 + p % 2 : to + p;
          for (size_t c = 0; c < NR; c++)
            at_p[c * (by_pairs ? 2 : KR)] =
                there && c < columns ? w[(c * channels + channel) * taps + tap] : 0;
        }
  }
}

void rush_int8_pack(rush_ctx *ctx, size_t n, size_t k, const int8_t *w, const float *scales,
                    const int32_t *zeros, const float *bias, void *packed) {
  pack(ctx, false, n, k, 1, k, w, scales, zeros, bias, packed);
}

void rush_int8_pack_taps(rush_ctx *ctx, bool by_pairs, size_t n, size_t channels, size_t taps,
                         size_t run, const int8_t *w, const int32_t *zeros, void *packed) {
  pack(ctx, by_pairs, n, channels, taps, run, w, NULL, zeros, NULL, packed);
}

void rush_int8_packed_sums(size_t n, size_t k, const void *packed, int32_t *sums) {
  const uint8_t *at = packed;
  for (size_t j = 0; j < n; j += NR, at += block_bytes(k))
    memcpy(sums + j, ((const block *)(const void *)at)->sums,
           (n - j < NR ? n - j : NR) * sizeof *sums);
}

const int8_t *rush_int8_block(const void *packed, const int32_t **zeros) {
  const block *b = packed;
  *zeros = NULL;
  for (size_t c = 0; c < NR; c++)
    if (b->zeros[c] != 0) *zeros = b->zeros;
  return (const int8_t *)(b + 1);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns the number of elements of a row, including padding that is multiplied by zeros. */
static size_t elements_of(size_t k) {
  return (k / LANES + (k % LANES != 0)) * LANES;
}

size_t rush_int8_row(size_t k) {
  return elements_of(k) * (rush_int8_kernel_here().form == RUSH_INT8_WIDE ? 2 : 1);
}

/* Stores sixteen elements q - zero in the given form. */
RUSH_INLINE void store(rush_int8_form form, void *to, const i4 v[4], i4 zero) {
#if defined(__wasm_simd128__)
#define NARROW(a, b) wasm_i16x8_narrow_i32x4((v128_t)(a), (v128_t)(b))
#define STORE(to, v) wasm_v128_store(to, v)
#define BYTES(a, b) wasm_i8x16_narrow_i16x8(a, b)
#define UBYTES(a, b) wasm_u8x16_narrow_i16x8(a, b)
#elif defined(__SSE2__)
#define NARROW(a, b) _mm_packs_epi32((__m128i)(a), (__m128i)(b))
#define STORE(to, v) _mm_storeu_si128((__m128i *)(to), v)
#define BYTES(a, b) _mm_packs_epi16(a, b)
#define UBYTES(a, b) _mm_packus_epi16(a, b)
#endif
#ifdef NARROW
  if (form == RUSH_INT8_WIDE) {
    STORE(to, NARROW(v[0], v[1]));
    STORE((int16_t *)to + 8, NARROW(v[2], v[3]));
  } else if (form == RUSH_INT8_UNSIGNED) {
    STORE(to, UBYTES(NARROW(i4_add(v[0], zero), i4_add(v[1], zero)),
                     NARROW(i4_add(v[2], zero), i4_add(v[3], zero))));
  } else {
    STORE(to, BYTES(NARROW(i4_add(v[0], zero), i4_add(v[1], zero)),
                    NARROW(i4_add(v[2], zero), i4_add(v[3], zero))));
  }
#else
  for (size_t i = 0; i < LANES; i++) {
    const int32_t n = v[i / 4][i % 4];
    if (form == RUSH_INT8_WIDE) {
      ((int16_t *)to)[i] = (int16_t)n;
    } else {
      ((uint8_t *)to)[i] = (uint8_t)(n + zero[0]);
    }
  }
#endif
}

typedef struct task {
  rush_int8_rows rows;
  rush_int8_form form;
  size_t stride; /* bytes per row */
  const float *x;
  size_t ldx;
  float scale; /* scale of all rows, or 0 if each row gets its own */
  int32_t zero;
} task;

float rush_int8_range(size_t k, const float *x, float *most) {
  f4 lo = f4_zero(), hi = lo, bad = lo;
  float rest[RUSH_LANES] = {0};
  size_t i = 0;
  for (; i + RUSH_LANES <= k; i += RUSH_LANES) {
    const f4 v = f4_load(x + i);
    lo = f4_less(v, lo);
    hi = f4_more(v, hi);
    bad += v * 0.0f;
  }
  if (i < k) memcpy(rest, x + i, (k - i) * sizeof *x);
  const f4 v = f4_load(rest);
  lo = f4_less(v, lo);
  hi = f4_more(v, hi);
  bad += v * 0.0f;
  float least = lo[0];
  *most = hi[0];
  for (int l = 1; l < RUSH_LANES; l++) {
    if (lo[l] < least) least = lo[l];
    if (hi[l] > *most) *most = hi[l];
  }
  return least + f4_sum(bad);
}

/* Computes q - zero of sixteen floats. */
RUSH_INLINE void quantize(const float *x, f4 inverse, f4 lo, f4 hi, i4 out[4]) {
  for (int l = 0; l < 4; l++)
    f4_round_small(f4_less(f4_more(f4_load(x + 4 * l) * inverse, lo), hi), &out[l]);
}

static void row_of_floats(const task *t, size_t i) {
  const size_t k = t->rows.k;
  const float *x = t->x + i * t->ldx;
  uint8_t *to = (uint8_t *)t->rows.data + i * t->stride;
  float scale = t->scale, inverse, most;
  int32_t zero = t->zero;
  if (scale == 0) {
    const float least = rush_int8_range(k, x, &most);
    scale = most / 255 - least / 255;
    /* If the range is too small for a reciprocal, all elements count as zeros. */
    inverse = scale >= 1e-37f ? 1 / scale : 0;
    if (inverse == 0 && scale == scale) scale = 0;
    zero = inverse > 0 ? (int32_t)rintf(-least * inverse) : 0;
  } else {
    inverse = 1 / scale;
  }
  const int32_t shift = t->form == RUSH_INT8_SIGNED ? 128 : 0;
  const f4 factor = f4_set(inverse), lo = f4_set((float)-zero), hi = f4_set((float)(255 - zero));
  const i4 zeros = i4_set(zero - shift);
  const size_t step = LANES * (t->form == RUSH_INT8_WIDE ? sizeof(int16_t) : 1);
  float rest[LANES] = {0};
  i4 sum = i4_set(0), v[4];
  for (size_t p = 0; p < k; p += LANES, to += step) {
    const float *from = x + p;
    if (k - p < LANES) {
      memcpy(rest, from, (k - p) * sizeof *x);
      from = rest;
    }
    quantize(from, factor, lo, hi, v);
    sum = i4_add(sum, i4_add(i4_add(v[0], v[1]), i4_add(v[2], v[3])));
    store(t->form, to, v, zeros);
  }
  t->rows.zeros[i] = zero - shift;
  t->rows.scales[i] = scale;
  t->rows.sums[i] = (uint32_t)sum[0] + (uint32_t)sum[1] + (uint32_t)sum[2] + (uint32_t)sum[3];
}

static void rows_of_floats(const void *arg, size_t begin, size_t end, unsigned who) {
  (void)who;
  for (size_t i = begin; i < end; i++) row_of_floats(arg, i);
}

void rush_int8_rows_scaled(rush_ctx *ctx, const float *x, size_t ldx, float scale, int32_t zero,
                           const rush_int8_rows *rows) {
  const task t = {*rows, rush_int8_kernel_here().form, rush_int8_row(rows->k), x, ldx, scale, zero};
  rush_parallel(ctx, rows->m, rows->k / 4 + 1, rows_of_floats, &t);
}

void rush_int8_rows_of_floats(rush_ctx *ctx, const float *x, size_t ldx,
                              const rush_int8_rows *rows) {
  rush_int8_rows_scaled(ctx, x, ldx, 0, 0, rows);
}

#define WIDEN(T) RUSH_EACH for (size_t i = 0; i < n; i++) to[i] = (int16_t)((T)x[i] - zero);
static void widen(size_t n, const uint8_t *restrict x, bool is_signed, int32_t zero,
                  int16_t *restrict to) {
  if (is_signed) {
    WIDEN(int8_t)
  } else {
    WIDEN(uint8_t)
  }
}

void rush_int8_elements(bool wide, bool is_signed, uint8_t flip, int32_t zero, size_t n,
                        const uint8_t *restrict x, uint8_t *restrict to) {
  if (wide) {
    widen(n, x, is_signed, zero, (int16_t *)(void *)to);
  } else {
    RUSH_EACH for (size_t i = 0; i < n; i++) to[i] = x[i] ^ flip;
  }
}

/* ---- Product --------------------------------------------------------------------------------- */

/* A work item is a block of rows times a block of columns. Items with the same columns are
 * adjacent. */
typedef struct product {
  rush_int8_rows rows;
  rush_int8_kernel kernel;
  size_t n, groups, stride, height, width, down;
  const uint8_t *packed;
  size_t block_bytes;
  float *y, min, max;
  size_t ldy;
} product;

/* Stores the rows of a tile from i on, after the correction for zero points. */
RUSH_INLINE void finish(const product *p, size_t i, size_t mr, size_t j, const block *b,
                        int32_t sums[][NR]) {
  const bool wide = p->kernel.form == RUSH_INT8_WIDE;
  const f4 min = f4_set(p->min), max = f4_set(p->max);
  for (size_t c = 0; c < NR && j + c < p->n; c += 4) {
    i4 of_weights, zeros;
    memcpy(&of_weights, b->sums + c, sizeof of_weights);
    memcpy(&zeros, b->zeros + c, sizeof zeros);
    const bool has_zeros = i4_any(zeros != 0);
    const f4 scales = f4_load(b->scales + c), bias = f4_load(b->bias + c);
    float *y = p->y + i * p->ldy + j + c;
    for (size_t r = 0; r < mr; r++, y += p->ldy) {
      i4 sum;
      memcpy(&sum, sums[r] + c, sizeof sum);
      if (!wide) sum = i4_sub(sum, (i4)((u4)i4_set(p->rows.zeros[i + r]) * (u4)of_weights));
      if (has_zeros) sum = i4_sub(sum, (i4)((u4)i4_set((int32_t)p->rows.sums[i + r]) * (u4)zeros));
      const f4 v = f4_from_int(sum) * (f4_set(p->rows.scales[i + r]) * scales) + bias;
      f4_store_up_to(y, f4_clamp(v, min, max), p->n - j - c);
    }
  }
}

/* Handles a single row. */
RUSH_INLINE void blocks_of_row(const void *arg, size_t blocks, size_t j, size_t apart,
                               const uint8_t *at, size_t far) {
  const product *p = arg;
  const int8_t *w = (const int8_t *)(at + sizeof(block));
  int32_t sums[MR][NR];
  if (blocks == 2) {
    p->kernel.pair(p->groups, p->rows.data, w, far, sums);
  } else {
    p->kernel.one(1, p->groups, (const void *[MR]){p->rows.data}, w, sums);
  }
  for (size_t b = 0; b < blocks; b++)
    finish(p, 0, 1, j + b * apart, (const block *)(const void *)(at + b * far), sums + b);
}

static void run_items(const void *arg, size_t begin, size_t end, unsigned who) {
  const product *p = arg;
  (void)who;
  for (size_t t = begin; t < end; t++) {
    const size_t from = t / p->down * p->width, top = t % p->down * p->height;
    const size_t right = p->n - from < p->width ? p->n : from + p->width;
    const size_t bottom = p->rows.m - top < p->height ? p->rows.m : top + p->height;
    size_t mr;
    if (p->rows.m == 1) {
      rush_int8_split_columns(from, right, p->packed, p->block_bytes, blocks_of_row, p);
      continue;
    }
    for (size_t i = top; i < bottom; i += mr) {
      const void *rows[MR];
      mr = bottom - i < p->kernel.mr ? bottom - i : p->kernel.mr;
      for (size_t r = 0; r < MR; r++)
        rows[r] = (const uint8_t *)p->rows.data + (i + (r < mr ? r : mr - 1)) * p->stride;
      rush_int8_tile *tile = mr == 1 ? p->kernel.one : p->kernel.many;
      for (size_t j = from; j < right; j += NR) {
        int32_t sums[MR][NR];
        const block *b = (const block *)(const void *)(p->packed + j / NR * p->block_bytes);
        tile(1, p->groups, rows, (const int8_t *)(b + 1), sums);
        finish(p, i, mr, j, b, sums);
      }
    }
  }
}

size_t rush_int8_blocks(const rush_ctx *ctx, size_t most, size_t blocks, size_t down) {
  enum { EACH = 4 };
  const size_t threads = rush_threads(ctx), fair = blocks * down / (EACH * threads);
  if (threads > 1 && most > fair) most = fair;
  return most < 1 ? 1 : most < blocks ? most : blocks;
}

void rush_int8_gemm(rush_ctx *ctx, const rush_int8_rows *rows, size_t n, const void *packed,
                    float *y, size_t ldy, float min, float max) {
  enum { CACHE = 128 * 1024, HEIGHT = 48, ITEM = 1 << 22, LONG = 1 << 20 };
  if (rows->m == 0 || n == 0) return;
  product p = {.rows = *rows, .y = y, .ldy = ldy, .min = min, .max = max};
  p.kernel = rush_int8_kernel_here();
  p.n = n;
  p.groups = groups_of(rows->k);
  p.stride = rush_int8_row(rows->k);
  p.packed = packed;
  p.block_bytes = block_bytes(rows->k);
  const size_t blocks = (n + NR - 1) / NR;
  const size_t most_rows = rows->k > LONG ? p.kernel.mr : HEIGHT;
  p.height = rows->m < most_rows ? rows->m : most_rows;
  p.down = (rows->m - 1) / p.height + 1;
  /* As many column blocks as stay in cache while all rows pass by, but fewer if an item would take
   * long. */
  const size_t most = (p.down > 1 ? CACHE : ITEM / p.height) / p.block_bytes;
  const size_t wide = rush_int8_blocks(ctx, most, blocks, p.down);
  p.width = wide * NR;
  rush_parallel(ctx, p.down * ((blocks - 1) / wide + 1),
                (uint64_t)p.height * p.width * (rows->k + 8) / 32 + 1, run_items, &p);
}
