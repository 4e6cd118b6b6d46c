/* Compares products of 8-bit integers with plain loops: every tile of this machine, odd sizes, zero
 * points, extreme integers, rows quantized from floats, and convolutions of bytes. The answers are
 * the same on any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "floats.h"
#include "timed.h"

#include "base/base.h"
#include "kernels/int8.h"
#include "kernels/int8_conv.h"
#include "kernels/int8_pointwise.h"
#include "kernels/int8_tile.h"
#include "kernels/int8_winograd.h"
#include "kernels/quantize_affine.h"

static int integer(int least, int most) {
  return least + (int)((noise() + 1) / 2 * (float)(most - least + 1));
}

static void *memory(size_t bytes) {
  return aligned_alloc(64, bytes / 64 * 64 + 64);
}

static rush_int8_rows new_rows(size_t m, size_t k) {
  return (rush_int8_rows){m,
                          k,
                          memory(m * rush_int8_row(k)),
                          malloc((m + 1) * sizeof(int32_t)),
                          malloc((m + 1) * sizeof(uint32_t)),
                          malloc((m + 1) * sizeof(float))};
}
static void free_rows(rush_int8_rows *rows) {
  free(rows->data);
  free(rows->zeros);
  free(rows->sums);
  free(rows->scales);
}

typedef struct weights {
  int8_t *w;
  int32_t *zeros;
  float *scales, *bias;
  void *packed;
} weights;

static weights new_weights(size_t n, size_t k, bool extreme) {
  weights w = {malloc(n * k + 1), malloc((n + 1) * sizeof(int32_t)),
               malloc((n + 1) * sizeof(float)), malloc((n + 1) * sizeof(float)), NULL};
  for (size_t i = 0; i < n * k; i++)
    w.w[i] = (int8_t)(extreme ? (noise() < 0 ? -128 : 127) : integer(-128, 127));
  for (size_t j = 0; j < n; j++) {
    w.zeros[j] = extreme ? 0 : integer(-128, 127);
    w.scales[j] = fabsf(noise()) + 0.01f;
    w.bias[j] = noise();
  }
  size_t bytes;
  assert_true(rush_int8_packed(n, k, &bytes));
  w.packed = memory(bytes);
  rush_int8_pack(NULL, n, k, w.w, w.scales, w.zeros, w.bias, w.packed);
  return w;
}
static void free_weights(weights *w) {
  free(w->w);
  free(w->zeros);
  free(w->scales);
  free(w->bias);
  free(w->packed);
}

/* Sums over x[m][k], with `zero` subtracted from each byte. */
static int32_t sum_of(const weights *w, size_t k, size_t j, const uint8_t *x, bool is_signed,
                      int32_t zero) {
  uint32_t sum = 0;
  for (size_t p = 0; p < k; p++) {
    const int32_t v = ((is_signed ? (int8_t)x[p] : x[p]) - zero) * (w->w[j * k + p] - w->zeros[j]);
    sum += (uint32_t)v;
  }
  return (int32_t)sum;
}

/* Compares quantization with plain C. */
static void test_floats(void **state) {
  (void)state;
  for (size_t k = 0; k < 40; k += k < 20 ? 1 : 13) {
    enum { M = 9, N = 43 };
    weights w = new_weights(N, k, false);
    rush_int8_rows rows = new_rows(M, k);
    float *x = malloc((M * k + 1) * sizeof *x), y[M * N + GUARD];
    uint8_t *q = malloc(M * k + 1);
    for (size_t i = 0; i < M * k; i++) x[i] = noise() * 3 + (i / (k + 1) % 2 ? 1.0f : 0.0f);
    for (size_t p = 0; p < k; p++) x[k + p] = 0, x[2 * k + p] = fabsf(x[2 * k + p]);
    for (size_t p = 0; p < k; p++) x[3 * k + p] = -fabsf(x[3 * k + p]), x[4 * k + p] *= 1e-38f;
    for (size_t p = 0; p < k; p++) x[5 * k + p] *= 1e38f;
    if (k > 0) x[6 * k] = NAN, x[7 * k + k - 1] = -INFINITY;
    rush_int8_rows_of_floats(NULL, x, k, &rows);
    for (size_t i = 0; i < GUARD; i++) y[M * N + i] = guard;
    rush_int8_gemm(NULL, &rows, N, w.packed, y, N, -INFINITY, INFINITY);
    for (size_t i = 0; i < M; i++) {
      float least = 0, most = 0;
      bool finite = true;
      for (size_t p = 0; p < k; p++) {
        least = fminf(least, x[i * k + p]), most = fmaxf(most, x[i * k + p]);
        finite = finite && isfinite(x[i * k + p]);
      }
      float scale = most / 255 - least / 255;
      if (scale < 1e-37f) scale = 0;
      const float inverse = scale > 0 ? 1 / scale : 0;
      const int32_t zero = finite ? (int32_t)rintf(-least * inverse) : 0;
      for (size_t p = 0; p < k; p++) {
        const float v = rintf(x[i * k + p] * inverse) + (float)zero;
        q[i * k + p] = (uint8_t)(v > 0 ? v < 255 ? v : 255 : 0);
      }
      for (size_t j = 0; j < N; j++) {
        const float sum = (float)sum_of(&w, k, j, q + i * k, false, zero);
        const float product = sum * (scale * w.scales[j]), wanted = product + w.bias[j];
        if (finite) {
          assert_true(y[i * N + j] == wanted);
        } else {
          assert_true(isnan(y[i * N + j]));
        }
      }
    }
    for (size_t i = 0; i < GUARD; i++) assert_true(y[M * N + i] == guard);
    /* A row alone gives the same answer as among others. */
    const rush_int8_rows one = {1, k, rows.data, rows.zeros, rows.sums, rows.scales};
    for (size_t n = 1; n <= N; n++) {
      float alone[N + 1];
      alone[n] = guard;
      rush_int8_gemm(NULL, &one, n, w.packed, alone, n, -INFINITY, INFINITY);
      assert_memory_equal(alone, y, n * sizeof *y);
      assert_true(alone[n] == guard);
    }
    rush_int8_rows_scaled(NULL, x, k, 0.01f, 130, &rows);
    rush_int8_gemm(NULL, &rows, N, w.packed, y, N, -0.5f, 0.5f);
    for (size_t p = 0; p < k; p++) {
      const float v = rintf(x[2 * k + p] * (1 / 0.01f)) + 130;
      q[p] = (uint8_t)(v > 0 ? v < 255 ? v : 255 : 0);
    }
    for (size_t j = 0; j < N; j++) {
      const float product = (float)sum_of(&w, k, j, q, false, 130) * (0.01f * w.scales[j]);
      const float v = product + w.bias[j];
      assert_true(y[2 * N + j] == (v < -0.5f ? -0.5f : v > 0.5f ? 0.5f : v));
    }
    free(x);
    free(q);
    free_rows(&rows);
    free_weights(&w);
  }
}

enum { GROUPS = 37, TAPS = 3, DEPTH = GROUPS * RUSH_INT8_KR };
/* The elements of a row and a tap that a tile reads. */
typedef union elements {
  int16_t wide[DEPTH];
  uint8_t bytes[DEPTH];
} elements;

/* The building blocks of all tiles on this machine. */
#if defined(__x86_64__)
static const char wide_tile[] = "SSE2";
#else
static const char wide_tile[] = "16 bits";
#endif

/* Returns the position of weight i of a column in its block: w[groups][NR][KR] or, by pairs,
 * [groups][KR / 2][NR][2]. */
static size_t place_of(bool by_pairs, size_t i, size_t c) {
  const size_t each = by_pairs ? 2 : RUSH_INT8_KR;
  return (i / each * RUSH_INT8_NR + c) * each + i % each;
}

static void plain_tile(size_t groups, size_t mr, const elements *x, bool is_wide, bool by_pairs,
                       const int8_t *w, int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR]) {
  for (size_t r = 0; r < mr; r++)
    for (size_t c = 0; c < RUSH_INT8_NR; c++) {
      int32_t sum = 0;
      for (size_t t = 0; t < TAPS; t++)
        for (size_t i = 0; i < groups * RUSH_INT8_KR; i++) {
          const size_t row = t * RUSH_INT8_MR + r;
          sum += (is_wide ? x[row].wide[i] : x[row].bytes[i]) *
                 w[place_of(by_pairs, t * groups * RUSH_INT8_KR + i, c)];
        }
      sums[r][c] = sum;
    }
}

/* Checks one call of `tile`, and one of `tiles` with several blocks. */
static void check_tile(const char *variant, rush_int8_tile *tile, rush_int8_tiles *tiles, size_t mr,
                       bool is_wide, bool by_pairs) {
  enum { BLOCKS = 3, BLOCK = TAPS * GROUPS * RUSH_INT8_NR * RUSH_INT8_KR, FAR = BLOCK + 24 };
  int8_t w[BLOCKS * FAR];
  elements x[TAPS * RUSH_INT8_MR];
  for (size_t groups = timed.wanted ? GROUPS : 0; groups <= GROUPS; groups += groups < 4 ? 1 : 11) {
    const void *rows[TAPS * RUSH_INT8_MR];
    int32_t sums[BLOCKS][RUSH_INT8_MR][RUSH_INT8_NR], want[RUSH_INT8_MR][RUSH_INT8_NR];
    for (size_t i = 0; i < sizeof w; i++) w[i] = (int8_t)(i < 64 ? -128 : integer(-128, 127));
    for (size_t r = 0; r < TAPS * RUSH_INT8_MR; r++) {
      rows[r] = &x[r];
      for (size_t i = 0; i < DEPTH; i++) {
        if (is_wide) {
          x[r].wide[i] = (int16_t)(i < 8 ? 383 : integer(-255, 255));
        } else {
          x[r].bytes[i] = (uint8_t)(i < 8 ? 255 : integer(0, 255));
        }
      }
    }
    char row[64];
    snprintf(row, sizeof row, "%zu row%s of %zu", mr, mr == 1 ? "" : "s",
             TAPS * groups * RUSH_INT8_KR);
    const double work = 2.0 * (double)(mr * RUSH_INT8_NR * TAPS * groups * RUSH_INT8_KR);
    if (tile != NULL)
      TIMED("int8 tile", row, variant, work, 0, tile(TAPS, groups, rows, w, sums[0]));
    else
      TIMED("int8 tile", row, variant, work, 0, tiles(TAPS, groups, rows, 1, w, FAR, sums));
    TIMED("int8 tile", row, PLAIN, work, 0, plain_tile(groups, mr, x, is_wide, by_pairs, w, want));
    assert_memory_equal(sums[0], want, mr * sizeof *want);
    if (tiles == NULL) continue;
    tiles(TAPS, groups, rows, BLOCKS, w, FAR, sums);
    for (size_t b = 0; b < BLOCKS; b++) {
      plain_tile(groups, mr, x, is_wide, by_pairs, w + b * FAR, want);
      assert_memory_equal(sums[b], want, mr * sizeof *want);
    }
  }
}

static void check_pair(rush_int8_pair *pair, bool is_wide) {
  enum { N = GROUPS * RUSH_INT8_KR, STEP = RUSH_INT8_NR * RUSH_INT8_KR };
  enum { FAR = GROUPS * STEP + 24 };
  int8_t w[FAR + GROUPS * STEP];
  union {
    int16_t wide[N];
    uint8_t bytes[N];
  } x;
  for (size_t groups = 0; groups <= GROUPS; groups += groups < 5 ? 1 : 11) {
    int32_t sums[2][RUSH_INT8_NR];
    for (size_t i = 0; i < sizeof w; i++) w[i] = (int8_t)(i < 64 ? -128 : integer(-128, 127));
    for (size_t i = 0; i < N; i++) {
      if (is_wide) {
        x.wide[i] = (int16_t)(i < 8 ? 383 : integer(-255, 255));
      } else {
        x.bytes[i] = (uint8_t)(i < 8 ? 255 : integer(0, 255));
      }
    }
    pair(groups, &x, w, FAR, sums);
    for (size_t b = 0; b < 2; b++)
      for (size_t c = 0; c < RUSH_INT8_NR; c++) {
        int32_t sum = 0;
        for (size_t i = 0; i < groups * RUSH_INT8_KR; i++) {
          const int8_t *of = w + b * FAR + i / RUSH_INT8_KR * STEP + c * RUSH_INT8_KR;
          sum += (is_wide ? x.wide[i] : x.bytes[i]) * of[i % RUSH_INT8_KR];
        }
        assert_int_equal(sums[b][c], sum);
      }
  }
}

/* Tests all tiles, including those that this machine would not select. */
static void test_tiles(void **state) {
  (void)state;
  check_tile(wide_tile, rush_int8_one_wide, NULL, 1, true, false);
  check_tile(wide_tile, rush_int8_many_wide, NULL, 4, true, false);
  check_tile(wide_tile, NULL, rush_int8_conv_one_wide, 1, true, true);
  check_tile(wide_tile, NULL, rush_int8_conv_wide, 5, true, true);
  check_pair(rush_int8_pair_wide, true);
  const rush_int8_kernel here = rush_int8_kernel_here();
  if (here.form != RUSH_INT8_SIGNED) {
    const bool is_wide = here.form == RUSH_INT8_WIDE;
    check_tile("kernel", here.one, NULL, 1, is_wide, false);
    check_tile("kernel", here.many, NULL, here.mr, is_wide, false);
    check_tile("kernel", NULL, here.conv_one, 1, is_wide, here.by_pairs);
    check_tile("kernel", NULL, here.conv, here.conv_mr, is_wide, here.by_pairs);
    check_pair(here.pair, here.form == RUSH_INT8_WIDE);
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    check_tile("AVX2", rush_int8_one_avx2, rush_int8_conv_one_avx2, 1, true, false);
    check_tile("AVX2", rush_int8_many_avx2, rush_int8_conv_avx2, 6, true, false);
    check_pair(rush_int8_pair_avx2, true);
  }
#endif
}

/* A padded convolution over one dimension with stride 1, compared with plain loops. */
typedef struct sizes {
  size_t images, size, kernel, padding, groups, channels, outs;
} sizes;

static uint8_t requantized(const rush_int8_requantization *to, size_t c, int32_t sum) {
  float v = (float)sum * to->factors[c];
  if (to->rounds_first) {
    v = rintf(v) + (float)to->zero_point;
  } else {
    v += to->bias[c];
    v *= to->inverse;
    v = rintf(v + (float)to->zero_point);
  }
  const float most = to->is_signed ? INT8_MAX : UINT8_MAX, least = (float)to->least;
  return (uint8_t)(int)(v > least ? v < most ? v : most : least);
}

/* Computes y[pixel][channel] one number at a time. */
static void plain_convolution(const sizes *s, const rush_int8_conv *v, const ptrdiff_t *places,
                              const int8_t *w, const int32_t *zeros, uint8_t *y) {
  const uint8_t *x = v->x;
  const size_t out = v->window.out[0], in = s->groups * s->channels, n = s->groups * s->outs;
  for (size_t i = 0; i < s->images * out; i++)
    for (size_t c = 0; c < n; c++) {
      int32_t sum = 0;
      for (size_t k = 0; k < s->kernel; k++) {
        const ptrdiff_t at = places[i % out * s->kernel + k];
        for (size_t p = 0; p < s->channels && at >= 0; p++) {
          const uint8_t q =
              x[(i / out * s->size + (size_t)at) * in + c / s->outs * s->channels + p];
          sum += ((v->is_signed ? (int8_t)q : q) - v->zero) *
                 (w[(c * s->channels + p) * s->kernel + k] - zeros[c]);
        }
      }
      y[i * n + c] = requantized(v->to, c, sum);
    }
}

static void check_convolution(sizes s, bool is_signed, bool symmetric, bool extreme, bool first) {
  const size_t out = s.size + 2 * s.padding - s.kernel + 1, in = s.groups * s.channels;
  const size_t n = s.groups * s.outs, each = s.channels * s.kernel;
  ptrdiff_t zero_place = 0, *places = malloc(out * s.kernel * sizeof *places);
  int8_t *w = malloc(n * each);
  int32_t *zeros = malloc(n * sizeof *zeros), *offsets = calloc(n + 8, sizeof *offsets);
  float *factors = malloc((n + 8) * sizeof *factors), *bias = malloc((n + 8) * sizeof *bias);
  uint8_t *x = malloc(s.images * s.size * in), *y = malloc(s.images * out * n + 1);
  uint8_t *want = malloc(s.images * out * n);
  const int32_t least = is_signed ? -128 : 0;
  const rush_int8_requantization to = {.offsets = offsets,
                                       .factors = factors,
                                       .bias = bias,
                                       .inverse = 0.7f,
                                       .zero_point = integer(least, least + 255),
                                       .least = least,
                                       .is_signed = is_signed,
                                       .rounds_first = first,
                                       .activation = RUSH_INT8_PLAIN};
  for (size_t i = 0; i < n * each; i++)
    w[i] = (int8_t)(extreme ? (noise() < 0 ? -128 : 127) : integer(-128, 127));
  for (size_t i = 0; i < s.images * s.size * in; i++)
    x[i] = (uint8_t)(extreme ? (noise() < 0 ? 0 : 255) ^ (is_signed ? 128 : 0) : integer(0, 255));
  for (size_t i = 0; i < n + 8; i++) {
    if (i < n) zeros[i] = symmetric ? 0 : integer(-128, 127);
    factors[i] = (fabsf(noise()) + 0.01f) * (extreme ? 1 : 1e-3f), bias[i] = noise();
  }
  for (size_t o = 0; o < out; o++)
    for (size_t k = 0; k < s.kernel; k++) {
      const ptrdiff_t at = (ptrdiff_t)(o + k) - (ptrdiff_t)s.padding;
      places[o * s.kernel + k] = at >= 0 && at < (ptrdiff_t)s.size ? at : -1;
    }
  rush_int8_conv v = {.window = {.out = {out, 1, 1},
                                 .kernel = {s.kernel, 1, 1},
                                 .places = {places, &zero_place, &zero_place}},
                      .images = s.images,
                      .pixels = s.size,
                      .groups = s.groups,
                      .channels = s.channels,
                      .outs = s.outs,
                      .x = x,
                      .is_signed = is_signed,
                      .zero = integer(least, least + 255),
                      .direct = s.kernel == 1 && s.padding == 0,
                      .to = &to,
                      .y = y};
  size_t bytes, packed_bytes;
  assert_true(rush_int8_conv_packed(s.groups, s.channels, s.outs, s.kernel, &packed_bytes));
  void *packed = memory(packed_bytes), *scratch;
  memset(packed, 0, packed_bytes);
  rush_int8_conv_pack(NULL, s.groups, s.channels, s.outs, s.kernel, w, zeros, packed);
  v.packed = packed;
  rush_int8_conv_zeros(&v, offsets);
  for (size_t i = 0; i < n; i++) offsets[i] = -offsets[i];
  assert_true(rush_int8_conv_scratch(NULL, &v, &bytes));
  scratch = memory(bytes);
  y[s.images * out * n] = 77;
  char row[96];
  snprintf(row, sizeof row, "%zu of %zu, %zu group%s of %zu to %zu channels", s.kernel,
           s.images * s.size, s.groups, s.groups == 1 ? "" : "s", s.channels, s.outs);
  const double work = 2.0 * (double)(s.images * out * n * each);
  TIMED("int8 conv", row, "kernel", work, 0, rush_int8_convolve(NULL, &v, scratch));
  TIMED("int8 conv", row, PLAIN, work, 0, plain_convolution(&s, &v, places, w, zeros, want));
  assert_memory_equal(y, want, s.images * out * n);
  assert_int_equal(y[s.images * out * n], 77);
  free(places), free(w), free(zeros), free(offsets), free(factors), free(bias);
  free(x), free(y), free(want), free(packed), free(scratch);
}

static const sizes convolutions[] = {
    {1, 1, 1, 0, 1, 1, 1},    {2, 7, 1, 0, 1, 8, 16},    {1, 13, 1, 0, 1, 24, 9},
    {3, 9, 3, 1, 1, 3, 8},    {1, 50, 3, 2, 1, 16, 19},  {2, 6, 5, 2, 4, 5, 3},
    {1, 5, 3, 1, 7, 8, 1},    {1, 4, 2, 1, 3, 1, 5},     {2, 9, 3, 1, 16, 1, 1},
    {1, 8, 9, 4, 40, 1, 1},   {2, 5, 3, 1, 5, 1, 1},     {1, 6, 4, 3, 23, 1, 1},
    {1, 3, 25, 12, 33, 1, 1}, {1, 60, 1, 0, 1, 260, 70}, {1, 1, 1, 0, 1, 1031, 17}};

static void test_convolutions(void **state) {
  (void)state;
  for (size_t t = 0; t < sizeof convolutions / sizeof *convolutions; t++)
    for (int kind = 0; kind < 16; kind++)
      check_convolution(convolutions[t], kind & 1, kind & 2, kind & 4, kind & 8);
}

/* 3x3 convolutions in two dimensions by tiles of 2x2, compared with plain loops. Only some machines
 * select these tiles. */
typedef struct plane {
  size_t images, size[2], padding, channels, outs;
} plane;

static void check_winograd(plane s, bool is_signed, bool extreme, const rush_int8_kernel *kernel) {
  const size_t out[2] = {s.size[0] + 2 * s.padding - 2, s.size[1] + 2 * s.padding - 2};
  const size_t pixels = s.size[0] * s.size[1], outputs = out[0] * out[1];
  const size_t n = s.outs, each = s.channels * 9, of_x = s.images * pixels * s.channels;
  ptrdiff_t zero_place = 0, *places[2];
  int8_t *w = malloc(n * each);
  int32_t *zeros = calloc(n, sizeof *zeros), *offsets = calloc(n + 8, sizeof *offsets);
  float *factors = malloc((n + 8) * sizeof *factors), *bias = malloc((n + 8) * sizeof *bias);
  uint8_t *x = malloc(of_x), *y = malloc(s.images * outputs * n + 1);
  const int32_t least = is_signed ? -128 : 0;
  const rush_int8_requantization to = {.offsets = offsets,
                                       .factors = factors,
                                       .bias = bias,
                                       .inverse = 0.7f,
                                       .zero_point = least + 100,
                                       .least = least,
                                       .is_signed = is_signed,
                                       .rounds_first = true,
                                       .activation = RUSH_INT8_PLAIN};
  const int sign = noise() < 0 ? -128 : 127;
  for (size_t i = 0; i < n * each; i++) w[i] = (int8_t)(extreme ? sign : integer(-128, 127));
  for (size_t i = 0; i < of_x; i++)
    x[i] = (uint8_t)(extreme ? 255 ^ (is_signed ? 128 : 0) : integer(0, 255));
  for (size_t i = 0; i < n + 8; i++)
    factors[i] = 100 / ((float)each * (extreme ? 32385 : 1500)), bias[i] = 0;
  for (int d = 0; d < 2; d++) {
    places[d] = malloc(out[d] * 3 * sizeof **places);
    for (size_t o = 0; o < out[d]; o++)
      for (size_t k = 0; k < 3; k++) {
        const ptrdiff_t at = (ptrdiff_t)(o + k) - (ptrdiff_t)s.padding;
        const bool inside = at >= 0 && at < (ptrdiff_t)s.size[d];
        places[d][o * 3 + k] = !inside ? -1 : d == 0 ? at * (ptrdiff_t)s.size[1] : at;
      }
  }
  rush_int8_conv v = {
      .window = {{out[0], out[1], 1}, {3, 3, 1}, {places[0], places[1], &zero_place}},
      .images = s.images,
      .pixels = pixels,
      .groups = 1,
      .channels = s.channels,
      .outs = n,
      .x = x,
      .is_signed = is_signed,
      .zero = extreme ? least : integer(least, least + 255),
      .to = &to,
      .y = y};
  size_t bytes, packed_bytes;
  assert_true(rush_int8_conv_packed(1, s.channels, n, 9, &packed_bytes));
  const size_t block = packed_bytes / ((n + 7) / 8);
  void *packed = memory(packed_bytes), *scratch;
  memset(packed, 0, packed_bytes);
  rush_int8_conv_pack_as(NULL, kernel->by_pairs, 1, s.channels, n, 9, w, zeros, packed);
  v.packed = packed;
  assert_true(rush_int8_winograd_fits(&v));
  assert_true(rush_int8_winograd_scratch(NULL, &v, &bytes));
  scratch = memory(bytes);
  y[s.images * outputs * n] = 77;
  rush_int8_winograd(NULL, &v, block, kernel, scratch);
  for (size_t i = 0; i < s.images * outputs; i++)
    for (size_t c = 0; c < n; c++) {
      int32_t sum = 0;
      for (size_t k = 0; k < 9; k++) {
        const ptrdiff_t row = places[0][i % outputs / out[1] * 3 + k / 3];
        const ptrdiff_t column = places[1][i % out[1] * 3 + k % 3];
        for (size_t p = 0; p < s.channels && row >= 0 && column >= 0; p++) {
          const uint8_t q = x[(i / outputs * pixels + (size_t)(row + column)) * s.channels + p];
          sum += ((is_signed ? (int8_t)q : q) - v.zero) * w[c * each + p * 9 + k];
        }
      }
      assert_int_equal(y[i * n + c], requantized(&to, c, sum));
    }
  assert_int_equal(y[s.images * outputs * n], 77);
  free(places[0]), free(places[1]), free(w), free(zeros), free(offsets), free(factors), free(bias);
  free(x), free(y), free(packed), free(scratch);
}

static void test_winograd(void **state) {
  (void)state;
  static const plane all[] = {{1, {8, 8}, 0, 16, 16},
                              {2, {7, 9}, 1, 24, 19},
                              {1, {5, 5}, 2, 40, 17},
                              {1, {40, 70}, 1, 64, 16},
                              {1, {4, 7}, 1, 1024, 16}};
  rush_int8_kernel kernels[2] = {rush_int8_wide(), rush_int8_wide()};
  kernels[1].by_pairs = true, kernels[1].conv_mr = 5, kernels[1].words = rush_int8_words_wide;
  for (size_t t = 0; t < sizeof all / sizeof *all; t++)
    for (int kind = 0; kind < 8; kind++)
      check_winograd(all[t], kind & 1, kind & 2, &kernels[kind >> 2]);
}

/* Activations before quantization: within one of libm's answer, and exact without a table. */
static void test_activations(void **state) {
  (void)state;
  enum { N = 19, ROWS = 60 };
  for (int kind = RUSH_INT8_HARDSWISH; kind < RUSH_INT8_ACTIVATIONS; kind++)
    for (int range = 0; range < 3; range++) {
      int32_t sums[ROWS][N + 5], offsets[N + 8] = {0};
      float factors[N + 8], bias[N + 8];
      uint8_t y[ROWS * N + 1], table[RUSH_INT8_TABLE_SIZE];
      const bool unit = kind == RUSH_INT8_HARDSIGMOID || kind == RUSH_INT8_SIGMOID;
      const float greatest = unit ? 1 : (float[]){0.5f, 6, 70}[range];
      const float scale = (unit ? 1 : greatest + 0.4f) / 255;
      rush_int8_requantization to = {.offsets = offsets,
                                     .factors = factors,
                                     .bias = bias,
                                     .inverse = 1 / scale,
                                     .zero_point = unit ? 0 : (int32_t)(0.4f / scale),
                                     .activation = (rush_int8_activation)kind};
      if (rush_int8_by_table(to.activation)) rush_int8_fill_table(&to, table);
      for (size_t c = 0; c < N + 8; c++) factors[c] = greatest * 1e-3f, bias[c] = noise();
      for (size_t i = 0; i < ROWS; i++)
        for (size_t c = 0; c < N + 5; c++) sums[i][c] = i == 0 ? INT32_MAX : integer(-20000, 3000);
      y[ROWS * N] = 77;
      rush_int8_requantize(&to, ROWS, 0, N, sums[0], N + 5, 8, y, N);
      for (size_t i = 0; i < ROWS; i++)
        for (size_t c = 0; c < N; c++) {
          const double x = (double)sums[i][c] * factors[c] + bias[c];
          const double six = x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6, s = 1 / (1 + exp(-x));
          const double want[] = {x, x * six, x * s, six, s};
          const double steps = want[kind] / scale + to.zero_point;
          const double bounded = steps > 0 ? steps < 255 ? steps : 255 : 0;
          assert_true(fabs(y[i * N + c] - bounded) <
                      (rush_int8_by_table(to.activation) ? 1.1 : 0.51));
        }
      assert_int_equal(y[ROWS * N], 77);
    }
}

static uint8_t byte_of(float v) {
  v = rintf(v);
  return (uint8_t)(v > 0 ? v < 255 ? v : 255 : 0);
}

/* Tests such numbers at every position among numbers that integers can represent. */
static void test_what_no_integer_holds(void **state) {
  (void)state;
  static const struct {
    rush_dtype dtype;
    int64_t zero_point, least, most;
  } rows[] = {{RUSH_QUINT8, 10, 0, 255},
              {RUSH_QUINT8, 300, 0, 255},
              {RUSH_QINT8, -3, -128, 127},
              {RUSH_QINT32, 0, INT32_MIN, INT32_MAX}};
  enum { MOST = 19 };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (size_t n = 1; n <= MOST; n++)
      for (size_t at = 0; at < n; at++) {
        const float odd[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 3e9f};
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
          float x[MOST] = {0};
          int32_t wide[MOST];
          x[at] = odd[k];
          rush_quantize(rows[r].dtype, 0.1, rows[r].zero_point, n, x, wide);
          const int64_t got = rows[r].dtype == RUSH_QUINT8  ? ((uint8_t *)wide)[at]
                              : rows[r].dtype == RUSH_QINT8 ? ((int8_t *)wide)[at]
                                                            : wide[at];
          assert_int_equal(got, odd[k] > 0 ? rows[r].most : rows[r].least);
        }
      }
}

static void test_pointwise(void **state) {
  (void)state;
  enum { ROWS = 3, MOST = 41 };
  for (size_t n = 0; n <= MOST; n++) {
    uint8_t a[ROWS * MOST + 1], b[ROWS * MOST + 1], y[ROWS * MOST + 1];
    float factors[MOST];
    uint32_t sums[MOST + 1];
    for (size_t i = 0; i <= ROWS * MOST; i++)
      a[i] = (uint8_t)integer(0, 255), b[i] = (uint8_t)integer(0, 255), y[i] = 77;
    for (size_t i = 0; i < n; i++) factors[i] = i == 3 ? NAN : i == 4 ? 1e30f : 2 * noise();
    rush_int8_add(n, a, 0.7f, b, -1.3f, 60.25f, y);
    for (size_t i = 0; i < n; i++) {
      float v = a[i] * 0.7f;
      v += b[i] * -1.3f;
      assert_int_equal(y[i], byte_of(v + 60.25f));
    }
    assert_int_equal(y[n], 77);
    rush_int8_scale(ROWS, n, a, 100, factors, 31, y);
    for (size_t i = 0; i < ROWS * n; i++) {
      const float v = ((float)a[i] - 100) * factors[i % n];
      assert_int_equal(y[i], byte_of(v + 31));
    }
    sums[n] = 77;
    memset(sums, 0, n * sizeof *sums);
    rush_int8_sum(ROWS, n, a, sums);
    for (size_t i = 0; i < n; i++) assert_int_equal(sums[i], a[i] + a[n + i] + a[2 * n + i]);
    assert_int_equal(sums[n], 77);
  }
}

static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 4, M = 131, N = 333, K = 77 };
  weights w = new_weights(N, K, false);
  float *x = malloc(M * K * sizeof *x), *y[2];
  for (size_t i = 0; i < M * K; i++) x[i] = noise();
  for (size_t m = 1; m <= M; m += M - 1) {
    for (int t = 0; t < 2; t++) {
      rush_int8_rows rows = new_rows(m, K);
      rush_ctx *ctx;
      assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK);
      assert_int_equal(rush_ctx_set_threads(ctx, t ? THREADS : 1), RUSH_OK);
      y[t] = malloc(m * N * sizeof *y[t]);
      rush_int8_rows_of_floats(ctx, x, K, &rows);
      rush_int8_gemm(ctx, &rows, N, w.packed, y[t], N, -INFINITY, INFINITY);
      rush_ctx_destroy(ctx);
      free_rows(&rows);
    }
    assert_memory_equal(y[0], y[1], m * N * sizeof *y[0]);
    free(y[0]);
    free(y[1]);
  }
  free(x);
  free_weights(&w);
}

static void test_sizes(void **state) {
  (void)state;
  size_t bytes;
  assert_false(rush_int8_packed(8, SIZE_MAX, &bytes));
  assert_false(rush_int8_packed(8, SIZE_MAX / 8, &bytes));
  assert_false(rush_int8_packed(SIZE_MAX, 8, &bytes));
  assert_true(rush_int8_packed(9, 5, &bytes));
  assert_int_equal(bytes, 2 * (128 + 2 * 32));
}

static void time_rows(void) {
  test_tiles(NULL);
  for (size_t t = 0; t < sizeof convolutions / sizeof *convolutions; t++)
    check_convolution(convolutions[t], false, true, false, true);
}

int main(int argc, char **argv) {
  if (timed_wanted(argc, argv)) return time_rows(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_floats),
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_convolutions),
      cmocka_unit_test(test_winograd),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_activations),
      cmocka_unit_test(test_pointwise),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_what_no_integer_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
