#include "kernels/int8_winograd.h"

#include "base/threads.h"
#include "kernels/int8.h"
#include "kernels/int8_dot.h"

enum { NR = RUSH_INT8_NR, KR = RUSH_INT8_KR, MR = RUSH_INT8_MR, LANES = 8, PLACES = 16 };

/* The least channels and tiles that are worth it; the most channels whose sums, four times as
 * large, fit; and the most rows, and elements of a row, that leave time for a stop request. */
enum { MIN_CHANNELS = 16, MAX_CHANNELS = 1024, MIN_TILES = 8, MOST = 1 << 20 };

static size_t half_up(size_t n) {
  return (n + 1) / 2;
}

/* Returns whether neighbouring outputs read neighbouring pixels. */
static bool is_shifted(const rush_int8_window *w, int d) {
  const ptrdiff_t *at = w->places[d];
  for (size_t o = 0; o + 1 < w->out[d]; o++)
    for (int k = 0; k < 2; k++)
      if (at[3 * o + (size_t)k + 1] != at[3 * (o + 1) + (size_t)k]) return false;
  return true;
}

bool rush_int8_winograd_fits(const rush_int8_conv *v) {
  const rush_int8_window *w = &v->window;
  return v->groups == 1 && v->channels >= MIN_CHANNELS && v->channels <= MAX_CHANNELS &&
         v->channels % LANES == 0 && v->outs >= MIN_CHANNELS && w->kernel[0] == 3 &&
         w->kernel[1] == 3 && w->kernel[2] == 1 && w->out[2] == 1 && w->out[0] <= MOST &&
         w->out[1] <= MOST / v->channels && half_up(w->out[0]) * half_up(w->out[1]) >= MIN_TILES &&
         is_shifted(w, 0) && is_shifted(w, 1);
}

typedef struct job {
  const rush_int8_conv *v;
  const rush_int8_kernel *kernel;
  size_t block_bytes;
  size_t across, rows; /* tiles: in a row; rows of them at work at a time */
  size_t top, down;    /* those at work now, of this image: */
  const uint8_t *x;
  uint8_t *y;
  int16_t *pixels;  /* [PLACES][rows * across][channels] */
  int16_t *weights; /* of each thread [PLACES][channels / KR][NR][KR] */
  int32_t *sums;    /* and [2 * rows][out][NR] */
  uint8_t *none;    /* a pixel of zeros */
} job;

static job plan(const rush_int8_conv *v) {
  enum { CACHE = 512 * 1024 };
  job j = {.v = v, .across = half_up(v->window.out[1])};
  const size_t all = half_up(v->window.out[0]);
  const size_t most = CACHE / (PLACES * sizeof(int16_t)) / v->channels / j.across;
  j.rows = most < 1 ? 1 : most < all ? most : all;
  return j;
}

static size_t pixels_of(const job *j) {
  return PLACES * j->rows * j->across * j->v->channels;
}
static size_t weights_of(const job *j) {
  return PLACES * j->v->channels * NR;
}
static size_t sums_of(const job *j) {
  return 2 * j->rows * j->v->window.out[1] * NR;
}

bool rush_int8_winograd_scratch(struct rush_ctx *ctx, const rush_int8_conv *v, size_t *bytes) {
  const job j = plan(v);
  const size_t threads = rush_threads(ctx);
  if (j.across > SIZE_MAX / 64 / PLACES / j.rows / v->channels ||
      weights_of(&j) > SIZE_MAX / 64 / threads || sums_of(&j) > SIZE_MAX / 64 / threads)
    return false;
  *bytes = pixels_of(&j) * sizeof(int16_t) +
           threads * (weights_of(&j) * sizeof(int16_t) + sums_of(&j) * sizeof(int32_t)) +
           v->channels;
  return true;
}

/* d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3] of each row, then of each column. */
RUSH_INLINE void transform_pixels(s8 d[4][4]) {
  for (int i = 0; i < 4; i++) {
    const s8 a = d[0][i], b = d[1][i], c = d[2][i], e = d[3][i];
    d[0][i] = a - c, d[1][i] = b + c, d[2][i] = c - b, d[3][i] = b - e;
  }
  for (int i = 0; i < 4; i++) {
    const s8 a = d[i][0], b = d[i][1], c = d[i][2], e = d[i][3];
    d[i][0] = a - c, d[i][1] = b + c, d[i][2] = c - b, d[i][3] = b - e;
  }
}

/* Twice g[0], g[0] + g[1] + g[2], g[0] - g[1] + g[2], twice g[2] of each row, then of each
 * column. */
RUSH_INLINE void transform_weights(s8 g[3][3], s8 to[4][4]) {
  s8 t[4][3];
  for (int i = 0; i < 3; i++) {
    const s8 both = g[0][i] + g[2][i];
    t[0][i] = g[0][i] + g[0][i], t[3][i] = g[2][i] + g[2][i];
    t[1][i] = both + g[1][i], t[2][i] = both - g[1][i];
  }
  for (int i = 0; i < 4; i++) {
    const s8 both = t[i][0] + t[i][2];
    to[i][0] = t[i][0] + t[i][0], to[i][3] = t[i][2] + t[i][2];
    to[i][1] = both + t[i][1], to[i][2] = both - t[i][1];
  }
}

/* Stores the positions of the four pixels of tile t along dimension d; -1 outside. */
static void places_of(const rush_int8_window *w, int d, size_t t, ptrdiff_t to[4]) {
  for (size_t k = 0; k < 3; k++) to[k] = w->places[d][3 * (2 * t) + k];
  to[3] = 2 * t + 1 < w->out[d] ? w->places[d][3 * (2 * t + 1) + 2] : -1;
}

/* An item is a row of tiles. */
static void transform_rows(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const rush_int8_conv *v = j->v;
  const size_t each = j->rows * j->across * v->channels;
  const uint8_t flip = v->is_signed ? 128 : 0;
  const b16 flips = {flip, flip, flip, flip, flip, flip, flip, flip};
  const s8 zeros = s8_low((b16){0}) + (int16_t)(v->zero + flip);
  (void)who;
  for (size_t row = begin; row < end; row++) {
    ptrdiff_t rows[4], columns[4];
    places_of(&v->window, 0, j->top + row, rows);
    for (size_t t = 0; t < j->across; t++) {
      const uint8_t *from[4][4];
      int16_t *to = j->pixels + (row * j->across + t) * v->channels;
      places_of(&v->window, 1, t, columns);
      for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
          from[a][b] = (rows[a] | columns[b]) < 0
                           ? j->none
                           : j->x + (size_t)(rows[a] + columns[b]) * v->channels;
      for (size_t c = 0; c < v->channels; c += LANES) {
        s8 d[4][4];
        for (int a = 0; a < 4; a++)
          for (int b = 0; b < 4; b++)
            d[a][b] = s8_low(b16_load_half(from[a][b] + c) ^ flips) - zeros;
        transform_pixels(d);
        for (size_t p = 0; p < PLACES; p++) memcpy(to + p * each + c, &d[p / 4][p % 4], sizeof(s8));
      }
    }
  }
}

/* Transforms the weights of a block from [9][channels / KR][NR][KR] to [PLACES][channels /
 * KR][NR][KR]. */
static void weights_of_block(const job *j, const int8_t *w, int16_t *to) {
  const size_t each = j->v->channels * NR;
  for (size_t i = 0; i < each; i += LANES) {
    s8 g[3][3], made[4][4];
    for (size_t t = 0; t < 9; t++) g[t / 3][t % 3] = s8_widened(w + t * each + i);
    transform_weights(g, made);
    for (size_t p = 0; p < PLACES; p++) memcpy(to + p * each + i, &made[p / 4][p % 4], sizeof(s8));
  }
}

/* Four columns of a tile's 2x2 outputs: m[0] + m[1] + m[2], m[1] - m[2] - m[3] of each row, then of
 * each column. */
RUSH_INLINE void outputs_of(const int32_t *m, size_t stride, i4 y[2][2]) {
  i4 t[2][4];
  for (size_t i = 0; i < 4; i++) {
    i4 v[4];
    for (size_t k = 0; k < 4; k++) memcpy(&v[k], m + (4 * k + i) * stride, sizeof v[k]);
    t[0][i] = i4_add(i4_add(v[0], v[1]), v[2]);
    t[1][i] = i4_sub(i4_sub(v[1], v[2]), v[3]);
  }
  for (int a = 0; a < 2; a++) {
    y[a][0] = i4_add(i4_add(t[a][0], t[a][1]), t[a][2]) >> 2;
    y[a][1] = i4_sub(i4_sub(t[a][1], t[a][2]), t[a][3]) >> 2;
  }
}

static void store(const job *j, size_t tile, const int32_t *m, size_t stride, int32_t *sums) {
  const size_t width = j->v->window.out[1], row = tile / j->across * 2,
               column = tile % j->across * 2;
  for (size_t h = 0; h < NR; h += 4) {
    i4 y[2][2];
    outputs_of(m + h, stride, y);
    for (size_t a = 0; a < 2; a++)
      for (size_t b = 0; b < 2 && column + b < width; b++)
        memcpy(sums + ((row + a) * width + column + b) * NR + h, &y[a][b], sizeof(i4));
  }
}

/* An item is a block of output channels. */
static void convolve(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const rush_int8_conv *v = j->v;
  const size_t channels = v->channels, tiles = j->down * j->across;
  const size_t each = j->rows * j->across * channels, height = v->window.out[0],
               width = v->window.out[1];
  int16_t *weights = j->weights + who * weights_of(j);
  int32_t *sums = j->sums + who * sums_of(j);
  for (size_t b = begin; b < end; b++) {
    const int32_t *zeros;
    const size_t c = b * NR, n = v->outs - c < NR ? v->outs - c : NR;
    weights_of_block(j, rush_int8_block((const uint8_t *)v->packed + b * j->block_bytes, &zeros),
                     weights);
    for (size_t t = 0; t < tiles; t += j->kernel->conv_mr) {
      const size_t mr = tiles - t < j->kernel->conv_mr ? tiles - t : j->kernel->conv_mr;
      int32_t m[PLACES][MR][NR];
      for (size_t p = 0; p < PLACES; p++) {
        const void *rows[MR];
        for (size_t r = 0; r < MR; r++)
          rows[r] = j->pixels + p * each + (t + (r < mr ? r : mr - 1)) * channels;
        j->kernel->words(1, channels / KR, rows, (const int8_t *)(weights + p * channels * NR),
                         m[p]);
      }
      for (size_t r = 0; r < mr; r++) store(j, t + r, m[0][r], MR * NR, sums);
    }
    const size_t rows = 2 * j->down < height - 2 * j->top ? 2 * j->down : height - 2 * j->top;
    rush_int8_requantize(v->to, rows * width, c, n, sums, NR, 0,
                         j->y + 2 * j->top * width * v->outs + c, v->outs);
  }
}

void rush_int8_winograd(struct rush_ctx *ctx, const rush_int8_conv *v, size_t block_bytes,
                        const rush_int8_kernel *kernel, void *scratch) {
  const size_t threads = rush_threads(ctx), all = half_up(v->window.out[0]);
  job j = plan(v);
  j.kernel = kernel;
  j.block_bytes = block_bytes;
  j.pixels = scratch;
  j.weights = j.pixels + pixels_of(&j);
  j.sums = (int32_t *)(void *)(j.weights + threads * weights_of(&j));
  j.none = (uint8_t *)(j.sums + threads * sums_of(&j));
  memset(j.none, (uint8_t)v->zero, v->channels);
  for (size_t i = 0; i < v->images; i++) {
    j.x = (const uint8_t *)v->x + i * v->pixels * v->channels;
    j.y = v->y + i * v->window.out[0] * v->window.out[1] * v->outs;
    for (j.top = 0; j.top < all; j.top += j.rows) {
      j.down = all - j.top < j.rows ? all - j.top : j.rows;
      if (rush_parallel(ctx, j.down, (uint64_t)j.across * v->channels, transform_rows, &j) ||
          rush_parallel(ctx, (v->outs + NR - 1) / NR,
                        (uint64_t)(j.down * j.across + 8) * v->channels * NR, convolve, &j))
        return;
    }
  }
}
