#include "kernels/int4_gemm.h"

#include "base/threads.h"
#include "kernels/int8.h"
#include "kernels/int8_bytes.h"
#include "kernels/int8_dot.h"
#include "kernels/int8_tile.h"
#include "kernels/tile.h"

enum {
  NR = RUSH_INT8_NR,
  KR = RUSH_INT8_KR,
  MR = RUSH_INT8_MR,
  LANES = 16,
  PIECE = RUSH_INT4_PIECE,
  LONG = 1 << 18 /* elements of a row between two checks for a stop request */
};

static size_t div_up(size_t n, size_t to) {
  return n / to + (n % to != 0);
}

/* ---- Memory layout --------------------------------------------------------------------------- */

/* Iterates over the pieces of a row: start, length, and whether the piece is the first of its
 * group. A context, which may be NULL, lets the host stop the iteration. */
typedef struct piece {
  size_t from, n, end, checked; /* end: end of the group; checked: end of what may be done */
  bool opens;
  rush_ctx *ctx;
} piece;

/* Returns the element before which the next check for a stop request is due, or `at` if the
 * iteration must end. */
RUSH_ALONE static size_t next_check(rush_ctx *ctx, size_t k, size_t at) {
  if (at >= k || (at > 0 && rush_poll_should_stop(ctx))) return at;
  return k - at < LONG ? k : at + LONG;
}

RUSH_INLINE bool next_piece(const rush_int4_matrix *b, piece *p) {
  p->from += p->n;
  if (p->from >= p->checked) {
    p->checked = next_check(p->ctx, b->k, p->from);
    if (p->from >= p->checked) return false;
  }
  p->opens = p->from == p->end;
  if (p->opens) p->end = b->k - p->from < b->group ? b->k : p->from + b->group;
  p->n = p->end - p->from < PIECE ? p->end - p->from : PIECE;
  return true;
}

size_t rush_int4_groups(const rush_int4_matrix *b) {
  return div_up(b->k, b->group);
}

/* Sums `of` (0 for n = 0) over all pieces of a row. */
typedef size_t of_elements(const rush_int4_matrix *b, size_t n);
RUSH_INLINE size_t sum_over_pieces(const rush_int4_matrix *b, of_elements *of) {
  const size_t whole = b->k / b->group, rest = b->k % b->group;
  const size_t group = b->group / PIECE * of(b, PIECE) + of(b, b->group % PIECE);
  return whole * group + rest / PIECE * of(b, PIECE) + of(b, rest % PIECE);
}

/* Returns the bytes of a piece in a block. */
static size_t piece_bytes(const rush_int4_matrix *b, size_t n) {
  return div_up(n, KR) * NR * KR * (size_t)b->bits / 8;
}

/* Returns the bytes before a group's pieces. */
static size_t group_bytes(const rush_int4_matrix *b) {
  return NR * (sizeof(float) + (b->offsets == RUSH_INT4_NO_OFFSETS ? 0 : sizeof(int32_t)));
}

/* A block of columns is stored in reading order: [bias], then for each group [scales][zero points
 * as int32, or minima][pieces]. */
RUSH_ALONE RUSH_RARE static size_t block_bytes(const rush_int4_matrix *b) {
  const size_t bytes =
      NR * sizeof(float) + group_bytes(b) * rush_int4_groups(b) + sum_over_pieces(b, piece_bytes);
  return div_up(bytes, LANES) * LANES;
}

bool rush_int4_packed(const rush_int4_matrix *b, size_t *bytes) {
  /* An upper bound for the bytes per weight in a block, for all group sizes. */
  enum { MAX_BYTES = 2 * NR * (sizeof(float) + sizeof(int32_t) + KR) };
  if (b->k > SIZE_MAX / MAX_BYTES - 1) return false;
  return !__builtin_mul_overflow(div_up(b->n, NR), block_bytes(b), bytes);
}

/* Returns whether rows are stored as int8. Otherwise they are int16, even if they have 8 bits. */
static bool is_small(const rush_int4_matrix *b) {
#ifdef RUSH_NIBBLE_DOT
  return b->row_bits == 8;
#else
  (void)b;
  return false;
#endif
}

/* A row is [of_piece for each piece][pieces of integers, each padded with zeros]. */
typedef struct of_piece {
  float scale;
  int32_t sum; /* sum of the integers, times the zero point if all columns have the same one */
} of_piece;
static size_t one_piece(const rush_int4_matrix *b, size_t n) {
  (void)b;
  return n > 0;
}
RUSH_ALONE RUSH_RARE static size_t scales_bytes(const rush_int4_matrix *b) {
  return div_up(sum_over_pieces(b, one_piece) * sizeof(of_piece), LANES) * LANES;
}
static size_t elements_of(size_t n) {
  return div_up(n, LANES) * LANES;
}
static size_t element_bytes(const rush_int4_matrix *b, size_t n) {
  return elements_of(n) * (is_small(b) ? sizeof(int8_t) : sizeof(int16_t));
}
RUSH_ALONE RUSH_RARE static size_t row_bytes(const rush_int4_matrix *b) {
  return scales_bytes(b) + sum_over_pieces(b, element_bytes);
}

bool rush_int4_rows(const rush_int4_matrix *b, size_t m, size_t *bytes) {
  enum { MAX_BYTES = LANES * sizeof(int16_t) + 2 * LANES };
  if (b->k > SIZE_MAX / MAX_BYTES - 1) return false;
  return !__builtin_mul_overflow(m, row_bytes(b), bytes);
}

/* ---- Packing --------------------------------------------------------------------------------- */

static void put_offset(const rush_int4_matrix *b, const void *offsets, size_t i, void *to) {
  if (b->offsets == RUSH_INT4_ZERO_POINTS) {
    const int32_t zero = ((const uint8_t *)offsets)[i] & 15;
    memcpy(to, &zero, sizeof zero);
  } else if (b->offsets == RUSH_INT4_MINIMA) {
    memcpy(to, (const float *)offsets + i, sizeof(float));
  }
}

void rush_int4_pack(rush_ctx *ctx, const rush_int4_matrix *b, size_t first, const void *w,
                    const float *scales, const void *offsets, const float *bias, void *packed) {
  const size_t columns = b->n - first < NR ? b->n - first : NR, groups = rush_int4_groups(b);
  const size_t row = b->bits == 8 ? b->k : div_up(b->k, 2);
  uint8_t *at = (uint8_t *)packed + first / NR * block_bytes(b);
  for (size_t i = 0, some; rush_next_piece(ctx, block_bytes(b), 1, i, &some); i += some)
    memset(at + i, 0, some);
  float *to = (float *)(void *)at;
  for (size_t c = 0; c < columns; c++) to[c] = bias != NULL ? bias[c] : 0;
  at += NR * sizeof *to;
  size_t group = 0;
  for (piece p = {.ctx = ctx}; next_piece(b, &p); at += piece_bytes(b, p.n)) {
    if (p.opens) {
      float *factors = (float *)(void *)at;
      for (size_t c = 0; c < columns; c++) {
        factors[c] = scales[c * groups + group];
        put_offset(b, offsets, c * groups + group, factors + NR + c);
      }
      at += group_bytes(b);
      group++;
    }
    for (size_t c = 0; c < columns; c++) {
      for (size_t i = 0; i < p.n; i++) {
        const size_t of_row = c * row, k = p.from + i, place = i / KR * NR * KR + c * KR + i % KR;
        if (b->bits == 8) {
          at[place] = ((const uint8_t *)w)[of_row + k];
        } else {
          /* Of 32 weights, the first 16 are in the lower nibbles. */
          const int v = ((const uint8_t *)w)[of_row + k / 2] >> k % 2 * 4 & 15;
          at[place / 32 * 16 + place % 16] |= (uint8_t)(v << place % 32 / 16 * 4);
        }
      }
    }
  }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

typedef struct task {
  rush_ctx *ctx;
  const rush_int4_matrix *b;
  const float *x;
  size_t ldx;
  uint8_t *rows;
} task;

/* Stores eight integers, which are in -127..127 if stored as bytes. */
RUSH_INLINE void store_eight(bool small, void *to, i4 a, i4 b) {
#ifdef RUSH_NIBBLE_DOT
  const v128_t v = wasm_i16x8_narrow_i32x4((v128_t)a, (v128_t)b);
  if (small) {
    wasm_v128_store64_lane(to, wasm_i8x16_narrow_i16x8(v, v), 0);
    return;
  }
#else
  (void)small;
#endif
  rush_int8_store_wide(to, a, b, INT16_MAX);
}

/* Returns the zero point of all columns if they have the same one, and 1 otherwise. */
static uint32_t zero_of_all(const rush_int4_matrix *b) {
  if (b->offsets != RUSH_INT4_NO_OFFSETS) return 1;
  return b->bits == 4 ? 8 : 0;
}

/* Quantizes n elements of a piece. */
static of_piece integers_of(const rush_int4_matrix *b, size_t n, const float *x, uint8_t *to) {
  const bool small = is_small(b);
  const float top = b->row_bits == 8 ? 127 : 32767;
  float most, least = rush_int8_range(n, x, &most);
  if (-least > most || least != least) most = -least;
  float scale = most / top;
  const float inverse = scale >= 1e-37f ? 1 / scale : 0;
  if (inverse == 0 && scale == scale) scale = 0;
  const f4 factor = f4_set(inverse), lo = f4_set(-top), hi = f4_set(top);
  float rest[2 * RUSH_LANES] = {0};
  i4 sum = i4_set(0);
  memset(to, 0, element_bytes(b, n));
  for (size_t i = 0; i < n; i += 8, to += small ? 8 : 16) {
    const float *from = x + i;
    i4 left, right;
    if (n - i < 8) from = memcpy(rest, from, (n - i) * sizeof *x);
    f4_round_small(f4_less(f4_more(f4_load(from) * factor, lo), hi), &left);
    f4_round_small(f4_less(f4_more(f4_load(from + 4) * factor, lo), hi), &right);
    store_eight(small, to, left, right);
    sum = i4_add(sum, i4_add(left, right));
  }
  const uint32_t of = (uint32_t)sum[0] + (uint32_t)sum[1] + (uint32_t)sum[2] + (uint32_t)sum[3];
  return (of_piece){scale, (int32_t)(of * zero_of_all(b))};
}

static void rows_of_floats(const void *arg, size_t begin, size_t end, unsigned who) {
  const task *t = arg;
  for (size_t r = begin; r < end; r++) {
    of_piece *of = (of_piece *)(void *)(t->rows + r * row_bytes(t->b));
    uint8_t *to = (uint8_t *)of + scales_bytes(t->b);
    for (piece p = {.ctx = who == 0 ? t->ctx : NULL}; next_piece(t->b, &p);
         to += element_bytes(t->b, p.n))
      *of++ = integers_of(t->b, p.n, t->x + r * t->ldx + p.from, to);
  }
}

void rush_int4_rows_of_floats(rush_ctx *ctx, const rush_int4_matrix *b, size_t m, const float *x,
                              size_t ldx, void *rows) {
  const task t = {ctx, b, x, ldx, rows};
  rush_parallel(ctx, m, b->k / 4 + 1, rows_of_floats, &t);
}

/* ---- Product --------------------------------------------------------------------------------- */

/* The most rows that are multiplied by a block before moving to the next one. */
enum { HEIGHT = 48 };

typedef struct product product;
/* Multiplies row i by columns [from, right). A pointer keeps each form its own function. */
typedef void multiply_row(const product *p, size_t i, size_t from, size_t right);
struct product {
  rush_ctx *ctx; /* NULL on other threads than the context's */
  const rush_int4_matrix *b;
  size_t m, height, width, down, row_bytes, scales_bytes, block_bytes;
  rush_int8_kernel kernel;
  multiply_row *row;
  const uint8_t *rows, *packed;
  float *y, min, max;
  size_t ldy;
};

/* 32 4-bit integers. The first 16 are in the lower nibbles of the 16 bytes. */
typedef struct nibbles {
  b16 low, high;
} nibbles;
RUSH_INLINE nibbles split(const uint8_t *w, b16 mask) {
  typedef uint16_t u8 __attribute__((vector_size(16)));
  const b16 v = b16_load(w);
  return (nibbles){v & mask, (b16)((u8)v >> 4) & mask};
}

/* Unpacks 4-bit weights to bytes. */
static void as_bytes(size_t quads, const uint8_t *w, int8_t *out) {
  const b16 mask = (b16)i4_set(0x0f0f0f0f);
  for (size_t q = 0; q < quads; q++, w += 16, out += 32) {
    const nibbles v = split(w, mask);
    memcpy(out, &v, sizeof v);
  }
}
/* Unpacks and multiplies by one row, for one block or for two that are `far` bytes apart. */
typedef void times_row(size_t blocks, size_t quads, const uint8_t *w, size_t far, const void *row,
                       i4 out[2][2]);

RUSH_INLINE void times_wide(size_t blocks, size_t quads, const uint8_t *w, size_t far,
                            const void *row, i4 out[2][2]) {
  const b16 mask = (b16)i4_set(0x0f0f0f0f);
  const int16_t *x = row;
  i4 sum[2][4] = {{{0}}};
  for (size_t q = 0; q < quads; q++, w += 16, x += KR) {
    const s8 twice = s8_twice(x);
    for (size_t b = 0; b < blocks; b++) {
      const nibbles v = split(w + b * far, mask);
      sum[b][0] = s8_dot(s8_low(v.low), twice, sum[b][0]);
      sum[b][1] = s8_dot(s8_high(v.low), twice, sum[b][1]);
      sum[b][2] = s8_dot(s8_low(v.high), twice, sum[b][2]);
      sum[b][3] = s8_dot(s8_high(v.high), twice, sum[b][3]);
    }
  }
  for (size_t b = 0; b < blocks; b++) {
    out[b][0] = i4_add_pairs(sum[b][0], sum[b][1]);
    out[b][1] = i4_add_pairs(sum[b][2], sum[b][3]);
  }
}

#ifdef RUSH_NIBBLE_DOT
RUSH_INLINE void add_quad(size_t blocks, const uint8_t *w, size_t far, const int8_t *x,
                          i4 sum[2][2]) {
  const b16 mask = (b16)i4_set(0x0f0f0f0f);
  const v128_t four = wasm_v128_load32_splat(x);
  for (size_t b = 0; b < blocks; b++) {
    const nibbles v = split(w + b * far, mask);
    sum[b][0] = rush_nibble_dot(four, (v128_t)v.low, sum[b][0]);
    sum[b][1] = rush_nibble_dot(four, (v128_t)v.high, sum[b][1]);
  }
}
/* Even and odd quads use separate accumulators; see int8_tile.c. */
RUSH_INLINE void times_small(size_t blocks, size_t quads, const uint8_t *w, size_t far,
                             const void *row, i4 out[2][2]) {
  const int8_t *x = row;
  i4 even[2][2] = {{{0}}}, odd[2][2] = {{{0}}};
  size_t q = 0;
  for (; q + 4 <= quads; q += 4, w += 4 * 16, x += 4 * KR) {
    add_quad(blocks, w, far, x, even);
    add_quad(blocks, w + 16, far, x + KR, odd);
    add_quad(blocks, w + 2 * 16, far, x + 2 * KR, even);
    add_quad(blocks, w + 3 * 16, far, x + 3 * KR, odd);
  }
  for (; q < quads; q++, w += 16, x += KR) add_quad(blocks, w, far, x, even);
  for (size_t b = 0; b < blocks; b++)
    for (size_t h = 0; h < 2; h++) out[b][h] = i4_add(even[b][h], odd[b][h]);
}

/* Does the same on machines without a dot product of four bytes. */
RUSH_INLINE void add_quads_of_two(size_t blocks, size_t quads, const uint8_t *w, size_t far,
                                  const int8_t *x, i4 out[2][2]) {
  const b16 mask = (b16)i4_set(0x0f0f0f0f);
  v128_t sum[2][2] = {{wasm_i16x8_splat(0)}};
  for (size_t q = 0; q < quads; q++, w += 16, x += KR) {
    const v128_t four = wasm_v128_load32_splat(x);
    for (size_t b = 0; b < blocks; b++) {
      const nibbles v = split(w + b * far, mask);
      sum[b][0] = rush_nibble_dot_of_two(four, (v128_t)v.low, sum[b][0]);
      sum[b][1] = rush_nibble_dot_of_two(four, (v128_t)v.high, sum[b][1]);
    }
  }
  for (size_t b = 0; b < blocks; b++)
    for (size_t h = 0; h < 2; h++) out[b][h] = rush_nibble_widen(out[b][h], sum[b][h]);
}
RUSH_INLINE void times_small_of_two(size_t blocks, size_t quads, const uint8_t *w, size_t far,
                                    const void *row, i4 out[2][2]) {
  enum { MAX_QUADS = RUSH_NIBBLE_QUADS };
  const int8_t *x = row;
  for (size_t b = 0; b < blocks; b++) out[b][0] = out[b][1] = i4_set(0);
  for (; quads > MAX_QUADS; quads -= MAX_QUADS, w += MAX_QUADS * 16, x += MAX_QUADS * KR)
    add_quads_of_two(blocks, MAX_QUADS, w, far, x, out);
  add_quads_of_two(blocks, quads, w, far, x, out);
}
#endif

/* Scales, and zero points or minima, of a group, for the columns of a block. */
typedef struct group {
  f4 scales[2];
  i4 zeros[2];
  f4 minima[2];
} group;

/* Returns the start of the group's first piece. */
RUSH_INLINE const uint8_t *read_group(const rush_int4_matrix *b, const uint8_t *at, group *g) {
  memcpy(g->scales, at, sizeof g->scales);
  const uint8_t *offsets = at + sizeof g->scales;
  if (b->offsets == RUSH_INT4_ZERO_POINTS) memcpy(g->zeros, offsets, sizeof g->zeros);
  if (b->offsets == RUSH_INT4_MINIMA) memcpy(g->minima, offsets, sizeof g->minima);
  return at + group_bytes(b);
}

/* Adds a piece's sums to the result, with the correction for zero points or minima. */
RUSH_INLINE void add_sums(rush_int4_offsets offsets, const i4 sums[2], const of_piece *x,
                          const group *g, f4 sum[2]) {
  const f4 scale = f4_set(x->scale);
  for (int h = 0; h < 2; h++) {
    if (offsets == RUSH_INT4_MINIMA) {
      sum[h] = sum[h] + f4_from_int(sums[h]) * (scale * g->scales[h]);
      sum[h] = sum[h] + f4_set((float)x->sum) * (scale * g->minima[h]);
    } else {
      i4 zeros = i4_set(x->sum);
      if (offsets == RUSH_INT4_ZERO_POINTS) zeros = (i4)((u4)zeros * (u4)g->zeros[h]);
      sum[h] = sum[h] + f4_from_int(i4_sub(sums[h], zeros)) * (scale * g->scales[h]);
    }
  }
}

/* Multiplies row i by the block at `at` (after its bias), and by a second one `far` bytes later if
 * `blocks` is 2; see rush_int8_pair. `times` is used for 4 bits. */
RUSH_INLINE void add_row(const product *p, size_t blocks, times_row *times, const uint8_t *at,
                         size_t far, size_t i, f4 sum[2][2]) {
  const of_piece *of = (const of_piece *)(const void *)(p->rows + i * p->row_bytes);
  const uint8_t *x = (const uint8_t *)of + p->scales_bytes;
  group g[2] = {{.scales = {{0}}}};
  i4 sums[2][2];
  for (piece k = {.ctx = p->ctx}; next_piece(p->b, &k); of++) {
    const size_t quads = div_up(k.n, KR);
    if (k.opens) {
      const uint8_t *from = at;
      for (size_t b = 0; b < blocks; b++) at = read_group(p->b, from + b * far, &g[b]);
      at -= (blocks - 1) * far;
    }
    if (times != NULL) {
      times(blocks, quads, at, far, x, sums);
    } else {
      int32_t each[MR][NR];
      if (blocks == 2) {
        p->kernel.pair(quads, x, (const int8_t *)at, far, each);
      } else {
        p->kernel.one(1, quads, (const void *[MR]){x}, (const int8_t *)at, each);
      }
      memcpy(sums, each, sizeof sums);
    }
    for (size_t b = 0; b < blocks; b++) add_sums(p->b->offsets, sums[b], of, &g[b], sum[b]);
    at += piece_bytes(p->b, k.n);
    x += element_bytes(p->b, k.n);
  }
}

/* Computes rows top to bottom - 1. sum[.][0] holds columns 0 to 3, and sum[.][1] the others. */
static void add_rows(const product *p, const uint8_t *at, size_t top, size_t bottom,
                     f4 sum[HEIGHT][2]) {
  const bool four = p->b->bits == 4;
  group g = {.scales = {{0}}};
  int8_t wide[PIECE * NR];
  size_t offset = p->scales_bytes, n = 0;
  for (piece k = {.ctx = p->ctx}; next_piece(p->b, &k); n++) {
    const size_t quads = div_up(k.n, KR);
    if (k.opens) at = read_group(p->b, at, &g);
    if (four) as_bytes(quads, at, wide);
    for (size_t i = top; i < bottom; i += p->kernel.mr) {
      const size_t mr = bottom - i < p->kernel.mr ? bottom - i : p->kernel.mr;
      const void *rows[MR];
      int32_t sums[MR][NR];
      for (size_t r = 0; r < MR; r++)
        rows[r] = p->rows + (i + (r < mr ? r : mr - 1)) * p->row_bytes + offset;
      (mr == 1 ? p->kernel.one : p->kernel.many)(1, quads, rows, four ? wide : (const int8_t *)at,
                                                 sums);
      for (size_t r = 0; r < mr; r++) {
        const uint8_t *row = p->rows + (i + r) * p->row_bytes;
        i4 both[2];
        memcpy(both, sums[r], sizeof both);
        add_sums(p->b->offsets, both, (const of_piece *)(const void *)row + n, &g,
                 sum[i - top + r]);
      }
    }
    at += piece_bytes(p->b, k.n);
    offset += element_bytes(p->b, k.n);
  }
}

/* Adds the bias, clamps and stores the columns of a block for row i. */
static void finish(const product *p, size_t i, size_t j, const uint8_t *block, const f4 sum[2]) {
  const float *bias = (const float *)(const void *)block;
  for (size_t h = 0; h < 2 && j + 4 * h < p->b->n; h++) {
    const f4 v = f4_clamp(sum[h] + f4_load(bias + 4 * h), f4_set(p->min), f4_set(p->max));
    f4_store_up_to(p->y + i * p->ldy + j + 4 * h, v, p->b->n - j - 4 * h);
  }
}

typedef struct single {
  const product *p;
  times_row *times;
  size_t i;
} single;
RUSH_INLINE void blocks_of_row(const void *arg, size_t blocks, size_t j, size_t apart,
                               const uint8_t *at, size_t far) {
  const single *s = arg;
  f4 sum[2][2] = {{{0}}};
  add_row(s->p, blocks, s->times, at + NR * sizeof(float), far, s->i, sum);
  for (size_t b = 0; b < blocks; b++) finish(s->p, s->i, j + b * apart, at + b * far, sum[b]);
}
#define MULTIPLY_ROW(name, times)                                                       \
  static void name(const product *p, size_t i, size_t from, size_t right) {             \
    const single s = {p, times, i};                                                     \
    rush_int8_split_columns(from, right, p->packed, p->block_bytes, blocks_of_row, &s); \
  }
MULTIPLY_ROW(row_of_bytes, NULL)
MULTIPLY_ROW(row_of_wide, times_wide)
#ifdef RUSH_NIBBLE_DOT
MULTIPLY_ROW(row_of_small, times_small)
MULTIPLY_ROW(row_of_small_of_two, times_small_of_two)
#endif

static multiply_row *row_kernel(const rush_int4_matrix *b, bool fours) {
  (void)fours;
  if (b->bits == 8) return row_of_bytes;
#ifdef RUSH_NIBBLE_DOT
  if (is_small(b)) return fours ? row_of_small : row_of_small_of_two;
#endif
  return row_of_wide;
}

static void run_items(const void *arg, size_t begin, size_t end, unsigned who) {
  product own = *(const product *)arg;
  const product *p = &own;
  if (who > 0) own.ctx = NULL;
  for (size_t t = begin; t < end; t++) {
    const size_t from = t / p->down * p->width, top = t % p->down * p->height;
    const size_t right = p->b->n - from < p->width ? p->b->n : from + p->width;
    const size_t bottom = p->m - top < p->height ? p->m : top + p->height;
    if (bottom - top == 1) {
      p->row(p, top, from, right);
      continue;
    }
    for (size_t j = from; j < right; j += NR) {
      const uint8_t *block = p->packed + j / NR * p->block_bytes;
      f4 sum[HEIGHT][2];
      memset(sum, 0, (bottom - top) * sizeof *sum);
      add_rows(p, block + NR * sizeof(float), top, bottom, sum);
      for (size_t i = top; i < bottom; i++) finish(p, i, j, block, sum[i - top]);
    }
  }
}

void rush_int4_gemm(rush_ctx *ctx, const rush_int4_matrix *b, size_t m, const void *rows,
                    const void *packed, float *y, size_t ldy, float min, float max) {
  rush_int4_gemm_by(ctx, rush_int8_dots_of_four(), b, m, rows, packed, y, ldy, min, max);
}

void rush_int4_gemm_by(rush_ctx *ctx, bool fours, const rush_int4_matrix *b, size_t m,
                       const void *rows, const void *packed, float *y, size_t ldy, float min,
                       float max) {
  enum { ITEM = 1 << 22 };
  if (m == 0 || b->n == 0) return;
  product p = {.ctx = ctx,
               .b = b,
               .m = m,
               .row = row_kernel(b, fours),
               .rows = rows,
               .packed = packed,
               .y = y,
               .min = min,
               .max = max,
               .ldy = ldy};
  p.row_bytes = row_bytes(b);
  p.scales_bytes = scales_bytes(b);
  p.block_bytes = block_bytes(b);
  p.kernel = rush_int8_wide();
  if (is_small(b)) {
    p.kernel.mr = rush_int8_nibbles(fours, &p.kernel.many);
    p.kernel.one = p.kernel.many;
  }
  p.height = m < HEIGHT ? m : HEIGHT;
  p.down = div_up(m, p.height);
  const size_t blocks = div_up(b->n, NR);
  const size_t wide = rush_int8_blocks(ctx, ITEM / p.height / (NR * (b->k + 8)), blocks, p.down);
  p.width = wide * NR;
  rush_parallel(ctx, p.down * div_up(blocks, wide),
                (uint64_t)p.height * p.width * (b->k + 8) / 16 + 1, run_items, &p);
}
