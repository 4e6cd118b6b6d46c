/* Winograd's form of 3x3 convolutions. The inputs of neighbouring tiles of outputs overlap by two.
 * A transformed tile of inputs is multiplied by the transformed kernel element by element. Over all
 * tiles and channels, this is a matrix product for each of the 16 or 36 elements: [tiles][in_c] by
 * [in_c][out_c].
 *
 * The transforms are those of Toom and Cook, which evaluate polynomials at points. F(2x2) has 0, 1,
 * -1 and infinity. F(4x4) has 0, A, -A, B, -B and infinity. A = 5/8 and B = 3/2 have exact squares
 * and give 1.5 to 3 times the error of the direct form. The textbooks' 1 and 2 give 5 times that
 * error, and 14 times in the worst element. The error of F(2x2) is smaller than that of the direct
 * form, because its sums are shorter.
 *
 * The largest input of a tile determines all errors within the tile. A tile is therefore convolved
 * directly if its pixels have very unequal sizes, infinities or NaN, or if its outputs are not
 * finite. */
#include "kernels/xnn_conv.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/tile.h"

#define A 0.625f
#define B 1.5f
#define A2 (A * A)
#define B2 (B * B)
#define UNEVEN 65536.0f /* between the squares of two pixels of a tile */

enum {
  MAX_ROWS = 6,      /* rows of a tile of inputs */
  MIN_IN = 16,       /* input channels: with fewer, sums are too short to tell errors apart */
  MAX_IN = 4096,     /* so that a block is bounded */
  ALIGN = 64,        /* of every part of the scratch memory */
  LINE = 16,         /* floats between planes, so that they do not share cache sets */
  TILES = 32,        /* of an item, about */
  COLUMNS = 64,      /* of an item */
  INPUTS = 1 << 20,  /* bytes of transformed inputs at a time, about, */
  WEIGHTS = 4 << 20, /* and of transformed weights */
};

/* ---- Transforms of one dimension, `step` from one element to the next ------------------------ */

RUSH_INLINE f4 times(float a, f4 x) {
  return (f4){a, a, a, a} * x;
}
RUSH_INLINE f4 madd(float a, f4 x, f4 y) {
  return f4_madd((f4){a, a, a, a}, x, y);
}

RUSH_INLINE void inputs_2(const f4 *d, size_t step, f4 *v, size_t to) {
  v[0] = d[0] - d[2 * step];
  v[to] = d[step] + d[2 * step];
  v[2 * to] = d[2 * step] - d[step];
  v[3 * to] = d[step] - d[3 * step];
}
RUSH_INLINE void inputs_4(const f4 *d, size_t step, f4 *v, size_t to) {
  const f4 d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step],
           d5 = d[5 * step];
  const f4 even_a = madd(-B2, d2, d4), odd_a = madd(-B2, d1, d3);
  const f4 even_b = madd(-A2, d2, d4), odd_b = madd(-A2, d1, d3);
  v[0] = madd(A2 * B2, d0, madd(-(A2 + B2), d2, d4));
  v[to] = madd(A, odd_a, even_a);
  v[2 * to] = madd(-A, odd_a, even_a);
  v[3 * to] = madd(B, odd_b, even_b);
  v[4 * to] = madd(-B, odd_b, even_b);
  v[5 * to] = madd(A2 * B2, d1, madd(-(A2 + B2), d3, d5));
}

RUSH_INLINE void weights_2(const f4 *g, size_t step, f4 *u, size_t to) {
  const f4 even = times(0.5f, g[0] + g[2 * step]), odd = times(0.5f, g[step]);
  u[0] = g[0];
  u[to] = even + odd;
  u[2 * to] = even - odd;
  u[3 * to] = g[2 * step];
}
RUSH_INLINE void weights_4(const f4 *g, size_t step, f4 *u, size_t to) {
  const float at_a = 1 / (2 * A2 * (A2 - B2)), at_b = 1 / (2 * B2 * (B2 - A2));
  const f4 g0 = g[0], g1 = g[step], g2 = g[2 * step];
  const f4 even_a = times(at_a, madd(A2, g2, g0)), odd_a = times(A * at_a, g1);
  const f4 even_b = times(at_b, madd(B2, g2, g0)), odd_b = times(B * at_b, g1);
  u[0] = times(1 / (A2 * B2), g0);
  u[to] = even_a + odd_a;
  u[2 * to] = even_a - odd_a;
  u[3 * to] = even_b + odd_b;
  u[4 * to] = even_b - odd_b;
  u[5 * to] = g2;
}

RUSH_INLINE void outputs_2(const f4 *m, size_t step, f4 *y, size_t to) {
  y[0] = m[0] + m[step] + m[2 * step];
  y[to] = m[step] - m[2 * step] - m[3 * step];
}
RUSH_INLINE void outputs_4(const f4 *m, size_t step, f4 *y, size_t to) {
  const f4 even_a = m[step] + m[2 * step], odd_a = m[step] - m[2 * step];
  const f4 even_b = m[3 * step] + m[4 * step], odd_b = m[3 * step] - m[4 * step];
  y[0] = m[0] + even_a + even_b;
  y[to] = madd(B, odd_b, times(A, odd_a));
  y[2 * to] = madd(B2, even_b, times(A2, even_a));
  y[3 * to] = madd(B2 * B, odd_b, madd(A2 * A, odd_a, m[5 * step]));
}

/* ---- What is where --------------------------------------------------------------------------- */

typedef struct job {
  const rush_conv_job *direct;
  const rush_conv *s;
  size_t size, side, planes; /* a tile's outputs per side, its inputs, and their square */
  size_t down, across, all;  /* tiles of an image, and of all images */
  size_t in_row, nr;         /* floats of transformed inputs of a tile; columns of a block */
  size_t item_tiles, item_columns;
  size_t most_tiles, most_columns; /* transformed at a time */
  bool alone; /* each thread transforms the inputs of its items, which others need not wait for */
  /* The block at work. */
  size_t first_tile, tiles, first_column, columns;
  /* Scratch memory; a plane of each, in floats. */
  float *inputs;  /* [planes][most_tiles][in_row]; for each thread where `alone` */
  float *weights; /* [planes][most_columns / nr][in_c + 1][nr] */
  float *outputs; /* for each thread [planes][item_tiles][item_columns] */
  float *sizes;   /* of each input pixel: the mean of its squares */
  char *uneven;   /* [most_tiles] whether it is convolved directly; as `inputs` */
  size_t inputs_plane, weights_plane, outputs_plane;
  rush_xnn_gemm_fn kernel;
  size_t mr;
} job;

static size_t up_to(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

static size_t within(size_t n, size_t least, size_t most) {
  n = n < least ? least : n;
  return n > most ? most : n;
}

/* Returns the cost of a form, in products. For each element of a tile it adds the cost of loads,
 * stores and transforms, as measured in wasm. */
static double cost(const rush_conv *s, size_t size, size_t nr) {
  static const struct {
    double in, out, weight;
  } transforms[] = {{6, 5, 3}, {14, 6, 5}}; /* of a channel's tile, of a column's, of a weight */
  const double in = (double)s->in_c, out = (double)s->out_c, products = in + 8;
  const double wide = (double)nr / 8; /* transforms are of four floats at a time on every machine */
  const size_t down = (s->out[1] + size - 1) / size, across = (s->out[2] + size - 1) / size;
  const double tiles = (double)s->batch * (double)down * (double)across;
  if (size == 1) return tiles * out * (9 * in + 8);
  const int i = size == 4;
  const double planes = (double)((size + 2) * (size + 2));
  return planes * (tiles * out * products +
                   wide * (tiles * (transforms[i].in * in + transforms[i].out * out) +
                           transforms[i].weight * in * out));
}

/* 1 for the direct form, which has to be slower by a tenth. */
static size_t best_size(const rush_conv *s, size_t nr) {
  for (int d = 0; d < 3; d++)
    if (s->kernel[d] != (d == 0 ? 1 : 3) || s->stride[d] != 1 || s->dilation[d] != 1) return 1;
  if (s->transposed || s->groups != 1 || s->in[0] != 1 || s->out[0] != 1 || s->padding[0] != 0 ||
      s->in_c < MIN_IN || s->in_c > MAX_IN)
    return 1;
  const double two = cost(s, 2, nr), four = cost(s, 4, nr), direct = 0.9 * cost(s, 1, nr);
  if (two >= direct && four >= direct) return 1;
  return two < four ? 2 : 4;
}

static bool plan(const rush_conv *s, job *j) {
  const rush_xnn_kernels *kernels = rush_xnn_gemm();
  const size_t size = best_size(s, kernels->nr), side = size + 2, planes = side * side;
  if (size == 1) return false;
  *j = (job){.s = s, .size = size, .side = side, .planes = planes, .nr = kernels->nr};
  j->kernel = kernels->gemm[0][1];
  j->mr = kernels->mr;
  j->down = (s->out[1] + size - 1) / size;
  j->across = (s->out[2] + size - 1) / size;
  j->all = s->batch * j->down * j->across;
  j->in_row = up_to(s->in_c, 4);
  const size_t columns = up_to(s->out_c, j->nr);
  j->item_tiles = within(TILES / j->mr * j->mr, j->mr, up_to(j->all, j->mr));
  j->most_tiles =
      within(INPUTS / sizeof(float) / planes / j->in_row / j->item_tiles * j->item_tiles,
             j->item_tiles, up_to(j->all, j->item_tiles));
  j->most_columns = within(WEIGHTS / sizeof(float) / planes / (s->in_c + 1) / COLUMNS * COLUMNS,
                           up_to(COLUMNS, j->nr), columns);
  j->item_columns = within(COLUMNS, j->nr, j->most_columns) / j->nr * j->nr;
  const size_t threads = rush_threads(s->ctx), wanted = 4 * threads;
  const size_t items = j->most_tiles / j->item_tiles;
  const size_t share = j->all / (2 * wanted) / j->mr * j->mr;
  j->alone = threads > 1 && share >= 2 * j->mr && j->most_columns == columns &&
             planes * columns * (s->in_c + 1) <= WEIGHTS / 2 / sizeof(float);
  if (j->alone)
    j->most_tiles = j->item_tiles = within(share, j->mr, j->item_tiles);
  else if (threads > 1 && items < wanted)
    j->item_columns =
        within(up_to(j->most_columns * items / wanted + 1, 2 * j->nr), j->nr, j->item_columns);
  j->inputs_plane = j->most_tiles * j->in_row + LINE;
  j->weights_plane = j->most_columns * (s->in_c + 1);
  j->outputs_plane = j->item_tiles * j->item_columns + LINE;
  return true;
}

/* Returns the next `n` items of `item` bytes of the scratch memory, or NULL if there is none
 * yet. */
static void *next(char *scratch, size_t *at, size_t n, size_t item) {
  char *here = scratch == NULL ? NULL : scratch + *at;
  *at += up_to(n * item, ALIGN);
  return here;
}

/* Computes the layout, and returns its bytes. */
static size_t lay(job *j, char *scratch) {
  const rush_conv *s = j->s;
  const size_t each = j->alone ? rush_threads(s->ctx) : 1;
  size_t at = 0;
  j->inputs = next(scratch, &at, each * j->planes * j->inputs_plane, sizeof(float));
  j->weights = next(scratch, &at, j->planes * j->weights_plane, sizeof(float));
  j->outputs =
      next(scratch, &at, rush_threads(s->ctx) * j->planes * j->outputs_plane, sizeof(float));
  j->sizes = next(scratch, &at, s->batch * s->in[1] * s->in[2], sizeof(float));
  j->uneven = next(scratch, &at, each * j->most_tiles, 1);
  return at;
}

/* ---- The parts of a run ---------------------------------------------------------------------- */

/* Infinity where squares overflow, or an input is not finite. */
static void measure_pixels(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const size_t n = j->s->in_c, whole = n / 4 * 4;
  (void)who;
  for (size_t p = begin; p < end; p++) {
    const float *x = j->direct->x + p * n;
    f4 sum = f4_zero(), more = f4_load_part(x + whole, n - whole);
    more = more * more;
    size_t c = 0;
    for (; c + 8 <= whole; c += 8) {
      const f4 u = f4_load(x + c), v = f4_load(x + c + 4);
      sum = f4_madd(u, u, sum);
      more = f4_madd(v, v, more);
    }
    if (c < whole) sum = f4_madd(f4_load(x + c), f4_load(x + c), sum);
    const float mean = f4_sum(sum + more) / (float)n;
    j->sizes[p] = mean <= FLT_MAX ? mean : INFINITY;
  }
}

/* The position of a tile's outputs. */
typedef struct place {
  size_t image, h, w, rows, columns; /* of the tile, inside the output */
} place;

static place place_of(const job *j, size_t tile) {
  const size_t image = tile / (j->down * j->across), within_image = tile % (j->down * j->across);
  place p = {.image = image};
  p.h = within_image / j->across * j->size;
  p.w = within_image % j->across * j->size;
  p.rows = j->s->out[1] - p.h < j->size ? j->s->out[1] - p.h : j->size;
  p.columns = j->s->out[2] - p.w < j->size ? j->s->out[2] - p.w : j->size;
  return p;
}

/* The least and the greatest size of a tile's pixels. Beside a pixel of zeros errors count
 * absolutely: it has the size of one. */
typedef struct range {
  f4 least, most;
} range;

RUSH_INLINE range with(range r, f4 sizes) {
  const f4 counts = f4_select(sizes == f4_zero(), f4_set(1), sizes);
  return (range){f4_less(counts, r.least), f4_more(sizes, r.most)};
}

static bool is_even(range r) {
  float least = r.least[0], most = r.most[0];
  for (int i = 1; i < 4; i++) {
    least = r.least[i] < least ? r.least[i] : least;
    most = r.most[i] > most ? r.most[i] : most;
  }
  return most <= FLT_MAX && most <= least * UNEVEN;
}

/* Finds where each input of a tile is: outside the image, there are zeros. Returns whether all
 * inputs have about the same size. */
static bool look_at_tile(const job *j, size_t tile, const float *at[MAX_ROWS * MAX_ROWS]) {
  const rush_conv *s = j->s;
  const place p = place_of(j, tile);
  const ptrdiff_t height = (ptrdiff_t)s->in[1], width = (ptrdiff_t)s->in[2];
  const ptrdiff_t h0 = (ptrdiff_t)p.h - s->padding[1], w0 = (ptrdiff_t)p.w - s->padding[2],
                  side = (ptrdiff_t)j->side, in = (ptrdiff_t)s->in_c;
  const float *x = j->direct->x + p.image * s->in[1] * s->in[2] * s->in_c;
  const float *sizes = j->sizes + p.image * s->in[1] * s->in[2];
  range r = {f4_set(INFINITY), f4_zero()};
  if (h0 >= 0 && w0 >= 0 && h0 + side <= height && w0 + side <= width) {
    for (ptrdiff_t h = 0; h < side; h++, at += side) {
      const ptrdiff_t pixel = (h0 + h) * width + w0;
      for (ptrdiff_t w = 0; w < side; w++) at[w] = x + (pixel + w) * in;
      r = with(with(r, f4_load(sizes + pixel)), f4_load(sizes + pixel + side - 4));
    }
    return is_even(r);
  }
  for (size_t i = 0; i < j->planes; i++) {
    const ptrdiff_t h = h0 + (ptrdiff_t)i / side, w = w0 + (ptrdiff_t)i % side;
    at[i] = j->direct->zeros;
    if (h < 0 || h >= height || w < 0 || w >= width) continue;
    at[i] = x + (h * width + w) * in;
    r = with(r, f4_set(sizes[h * width + w]));
  }
  return is_even(r);
}

#define INPUTS_OF(size)                                                                      \
  RUSH_INLINE void inputs_of_##size(const job *j, const float **at, float *to) {             \
    enum { SIDE = size + 2 };                                                                \
    for (size_t c = 0; c < j->in_row; c += 4) {                                              \
      f4 d[SIDE * SIDE], v[SIDE * SIDE];                                                     \
      for (size_t i = 0; i < SIDE * SIDE; i++) d[i] = f4_load(at[i] + c);                    \
      for (size_t i = 0; i < SIDE; i++) inputs_##size(d + i, SIDE, v + i, SIDE);             \
      for (size_t i = 0; i < SIDE; i++) inputs_##size(v + SIDE * i, 1, d + SIDE * i, 1);     \
      for (size_t i = 0; i < SIDE * SIDE; i++) f4_store(to + i * j->inputs_plane + c, d[i]); \
    }                                                                                        \
  }
INPUTS_OF(2)
INPUTS_OF(4)

static void transform_inputs(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  (void)who;
  for (size_t t = begin; t < end; t++) {
    const float *at[MAX_ROWS * MAX_ROWS];
    j->uneven[t] = !look_at_tile(j, j->first_tile + t, at);
    float *to = j->inputs + t * j->in_row;
    if (j->size == 2) {
      inputs_of_2(j, at, to);
    } else {
      inputs_of_4(j, at, to);
    }
  }
}

/* An item is a block of nr columns. */
#define WEIGHTS_OF(size)                                                                      \
  RUSH_INLINE void weights_of_##size(const job *j, const float *packed, float *to) {          \
    enum { SIDE = size + 2 };                                                                 \
    const size_t tap = j->s->in_c * j->nr;                                                    \
    for (size_t i = 0; i < tap; i += 4) {                                                     \
      f4 g[9], half[3 * SIDE], u[SIDE * SIDE];                                                \
      for (size_t t = 0; t < 9; t++) g[t] = f4_load(packed + t * tap + i);                    \
      for (size_t t = 0; t < 3; t++) weights_##size(g + t, 3, half + t, 3);                   \
      for (size_t t = 0; t < SIDE; t++) weights_##size(half + 3 * t, 1, u + SIDE * t, 1);     \
      for (size_t t = 0; t < SIDE * SIDE; t++) f4_store(to + t * j->weights_plane + i, u[t]); \
    }                                                                                         \
  }
WEIGHTS_OF(2)
WEIGHTS_OF(4)

static void transform_weights(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const size_t in = j->s->in_c, nr = j->nr;
  (void)who;
  for (size_t b = begin; b < end; b++) {
    const float *packed = j->direct->packed + (j->first_column + b * nr) * (9 * in + 1) + nr;
    float *to = j->weights + b * nr * (in + 1);
    for (size_t i = 0; i < j->planes; i++) memset(to + i * j->weights_plane, 0, nr * sizeof *to);
    if (j->size == 2) {
      weights_of_2(j, packed, to + nr);
    } else {
      weights_of_4(j, packed, to + nr);
    }
  }
}

/* Four columns of a tile: its outputs, false where one of them is not finite. */
#define OUTPUTS_OF(size)                                                                   \
  RUSH_INLINE f4 outputs_of_##size(const job *j, const float *from, f4 *y) {               \
    enum { SIDE = size + 2 };                                                              \
    f4 m[SIDE * SIDE], half[size * SIDE], sum = f4_zero();                                 \
    for (size_t i = 0; i < SIDE * SIDE; i++) m[i] = f4_load(from + i * j->outputs_plane);  \
    for (size_t i = 0; i < SIDE; i++) outputs_##size(m + i, SIDE, half + i, SIDE);         \
    for (size_t i = 0; i < size; i++) outputs_##size(half + SIDE * i, 1, y + size * i, 1); \
    for (size_t i = 0; i < size * size; i++) sum += y[i];                                  \
    return sum - sum;                                                                      \
  }
OUTPUTS_OF(2)
OUTPUTS_OF(4)

/* Columns [first, first + columns) of one tile, from its products. */
static void transform_outputs(const job *j, size_t tile, const float *from, size_t first,
                              size_t columns, unsigned who) {
  const rush_conv *s = j->s;
  const place p = place_of(j, j->first_tile + tile);
  const size_t block = j->nr * (9 * s->in_c + 1), row = s->out[2] * s->out_c;
  const f4 min = f4_set(j->direct->params.scalar.min), max = f4_set(j->direct->params.scalar.max);
  float *to = j->direct->y + ((p.image * s->out[1] + p.h) * s->out[2] + p.w) * s->out_c + first;
  f4 broken = f4_zero();
  for (size_t c = 0; c < columns && !j->uneven[tile]; c += 4) {
    f4 y[4 * 4];
    broken += j->size == 2 ? outputs_of_2(j, from + c, y) : outputs_of_4(j, from + c, y);
    const f4 bias = f4_load(j->direct->packed + (first + c) / j->nr * block + (first + c) % j->nr);
    for (size_t h = 0; h < p.rows; h++) {
      for (size_t w = 0; w < p.columns; w++) {
        const f4 v = f4_clamp(y[h * j->size + w] + bias, min, max);
        float *at = to + h * row + w * s->out_c + c;
        f4_store_up_to(at, v, columns - c);
      }
    }
  }
  if (j->uneven[tile] || i4_any(broken != broken))
    for (size_t h = 0; h < p.rows; h++)
      rush_conv_run_pixels(j->direct, p.image, p.h + h, p.w, p.columns, first, columns, who);
}

/* An item is some tiles times some columns; those of the same columns come one after the other. */
static void multiply(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const union xnn_f32_minmax_params params = {{-INFINITY, INFINITY}};
  const size_t in = j->s->in_c, down = (j->tiles - 1) / j->item_tiles + 1;
  float *products = j->outputs + who * j->planes * j->outputs_plane;
  for (size_t i = begin; i < end; i++) {
    const size_t tile = i % down * j->item_tiles, column = i / down * j->item_columns;
    const size_t tiles = within(j->tiles - tile, 0, j->item_tiles);
    const size_t columns = within(j->columns - column, 0, j->item_columns);
    for (size_t p = 0; p < j->planes; p++) {
      const float *weights = j->weights + p * j->weights_plane + column * (in + 1);
      const float *from = j->inputs + p * j->inputs_plane + tile * j->in_row;
      float *to = products + p * j->outputs_plane;
      for (size_t t = 0; t < tiles; t += j->mr)
        j->kernel(within(tiles - t, 0, j->mr), up_to(columns, 4), in * sizeof(float),
                  from + t * j->in_row, j->in_row * sizeof(float), weights,
                  to + t * j->item_columns, j->item_columns * sizeof(float), j->nr * sizeof(float),
                  &params);
    }
    for (size_t t = 0; t < tiles; t++)
      transform_outputs(j, tile + t, products + t * j->item_columns, j->first_column + column,
                        columns, who);
  }
}

/* An item is some tiles, whose inputs this thread has in its cache. */
static void transform_and_multiply(const void *arg, size_t begin, size_t end, unsigned who) {
  job own = *(const job *)arg;
  own.inputs += who * own.planes * own.inputs_plane;
  own.uneven += who * own.most_tiles;
  for (size_t i = begin; i < end; i++) {
    own.first_tile = i * own.item_tiles;
    own.tiles = within(own.all - own.first_tile, 0, own.item_tiles);
    transform_inputs(&own, 0, own.tiles, who);
    multiply(&own, 0, (own.columns - 1) / own.item_columns + 1, who);
  }
}

/* Work is counted as rush_charge does; where it was stopped, the rest is left out. */
static void run(job *j) {
  const rush_conv *s = j->s;
  const size_t planes = j->planes, in = s->in_c;
  if (rush_parallel(s->ctx, s->batch * s->in[1] * s->in[2], in / 8 + 1, measure_pixels, j)) return;
  for (j->first_column = 0; j->first_column < s->out_c; j->first_column += j->most_columns) {
    j->columns = within(s->out_c - j->first_column, 0, j->most_columns);
    const size_t blocks = (j->columns - 1) / j->nr + 1;
    if (rush_parallel(s->ctx, blocks, planes * in * j->nr / 4, transform_weights, j)) return;
    if (j->alone) {
      rush_parallel(s->ctx, (j->all - 1) / j->item_tiles + 1,
                    planes * j->item_tiles * (in / 2 + j->columns * (in + 16) / 8),
                    transform_and_multiply, j);
      return;
    }
    for (j->first_tile = 0; j->first_tile < j->all; j->first_tile += j->most_tiles) {
      j->tiles = within(j->all - j->first_tile, 0, j->most_tiles);
      const bool there = j->first_column > 0 && j->most_tiles >= j->all;
      if (!there && rush_parallel(s->ctx, j->tiles, planes * in / 2, transform_inputs, j)) return;
      const size_t down = (j->tiles - 1) / j->item_tiles + 1;
      const size_t across = (j->columns - 1) / j->item_columns + 1;
      if (rush_parallel(s->ctx, down * across,
                        planes * j->item_tiles * j->item_columns * (in + 16) / 8, multiply, j))
        return;
    }
  }
}

size_t rush_winograd(const rush_conv *s, const rush_conv_job *direct) {
  job j;
  if (!plan(s, &j)) return 0;
  const size_t bytes = lay(&j, NULL) + ALIGN;
  if (direct == NULL) return bytes;
  const uintptr_t behind = (uintptr_t)(direct->zeros + s->in_c + 4);
  j.direct = direct;
  lay(&j, (char *)up_to(behind, ALIGN));
  run(&j);
  return bytes;
}
