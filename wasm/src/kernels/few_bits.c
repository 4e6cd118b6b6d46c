#include "kernels/few_bits.h"

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
  PIECE = RUSH_FEW_PIECE
};

static size_t up(size_t n, size_t to) {
  return n / to + (n % to != 0);
}

/* ---- Where things lie -------------------------------------------------------------------------- */

/* A run over the pieces of a row: where each begins, how long it is, whether it is its group's first. */
typedef struct piece {
  size_t from, n, end; /* end: of the group */
  bool opens;
} piece;

RUSH_INLINE bool next_piece(const rush_few_bits *b, piece *p) {
  p->from += p->n;
  if (p->from >= b->k) return false;
  p->opens = p->from == p->end;
  if (p->opens) p->end = b->k - p->from < b->group ? b->k : p->from + b->group;
  p->n = p->end - p->from < PIECE ? p->end - p->from : PIECE;
  return true;
}

size_t rush_few_groups(const rush_few_bits *b) {
  return up(b->k, b->group);
}

/* What something of a piece of n elements comes to, 0 of none, over all pieces of a row. */
typedef size_t of_elements(const rush_few_bits *b, size_t n);
RUSH_INLINE size_t over_pieces(const rush_few_bits *b, of_elements *of) {
  const size_t whole = b->k / b->group, rest = b->k % b->group;
  const size_t group = b->group / PIECE * of(b, PIECE) + of(b, b->group % PIECE);
  return whole * group + rest / PIECE * of(b, PIECE) + of(b, rest % PIECE);
}

/* Bytes of a block's piece. */
static size_t piece_bytes(const rush_few_bits *b, size_t n) {
  return up(n, KR) * NR * KR * (size_t)b->bits / 8;
}

/* In front of a group's pieces. */
static size_t group_bytes(const rush_few_bits *b) {
  return NR * (sizeof(float) + (b->zero_points ? sizeof(int32_t) : 0));
}

/* A block of columns: [bias], then for each group [scales][zero points, int32, if any][pieces], so that it
 * is read from front to back. */
static size_t block_bytes(const rush_few_bits *b) {
  const size_t bytes =
      NR * sizeof(float) + group_bytes(b) * rush_few_groups(b) + over_pieces(b, piece_bytes);
  return up(bytes, LANES) * LANES;
}

bool rush_few_packed(const rush_few_bits *b, size_t *bytes) {
  /* A weight takes less than so much of a block, whatever the groups. */
  enum { MOST = 2 * NR * (sizeof(float) + sizeof(int32_t) + KR) };
  if (b->k > SIZE_MAX / MOST - 1) return false;
  return !__builtin_mul_overflow(up(b->n, NR), block_bytes(b), bytes);
}

/* A row: [of_piece for each piece][pieces of 16-bit integers, each padded by zeros]. */
typedef struct of_piece {
  float scale;
  int32_t sum; /* of the integers */
} of_piece;
static size_t one_piece(const rush_few_bits *b, size_t n) {
  (void)b;
  return n > 0;
}
static size_t scales_bytes(const rush_few_bits *b) {
  return up(over_pieces(b, one_piece) * sizeof(of_piece), LANES) * LANES;
}
static size_t elements_of(size_t n) {
  return up(n, LANES) * LANES;
}
static size_t element_bytes(const rush_few_bits *b, size_t n) {
  (void)b;
  return elements_of(n) * sizeof(int16_t);
}
static size_t row_bytes(const rush_few_bits *b) {
  return scales_bytes(b) + over_pieces(b, element_bytes);
}

bool rush_few_rows(const rush_few_bits *b, size_t m, size_t *bytes) {
  enum { MOST = LANES * sizeof(int16_t) + 2 * LANES };
  if (b->k > SIZE_MAX / MOST - 1) return false;
  return !__builtin_mul_overflow(m, row_bytes(b), bytes);
}

/* ---- Packing ----------------------------------------------------------------------------------- */

void rush_few_pack(const rush_few_bits *b, size_t first, const void *w, const float *scales,
                   const uint8_t *zero_points, const float *bias, void *packed) {
  const size_t columns = b->n - first < NR ? b->n - first : NR, groups = rush_few_groups(b);
  const size_t row = b->bits == 8 ? b->k : up(b->k, 2);
  uint8_t *at = (uint8_t *)packed + first / NR * block_bytes(b);
  memset(at, 0, block_bytes(b));
  float *to = (float *)(void *)at;
  for (size_t c = 0; c < columns; c++) to[c] = bias != NULL ? bias[c] : 0;
  at += NR * sizeof *to;
  size_t group = 0;
  for (piece p = {0}; next_piece(b, &p); at += piece_bytes(b, p.n)) {
    if (p.opens) {
      float *factors = (float *)(void *)at;
      int32_t *zeros = (int32_t *)(void *)(factors + NR);
      for (size_t c = 0; c < columns; c++) {
        factors[c] = scales[c * groups + group];
        if (b->zero_points) zeros[c] = zero_points[c * groups + group] & 15;
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
          /* Of 32 weights the first half lies in the lower bits. */
          const int v = ((const uint8_t *)w)[of_row + k / 2] >> k % 2 * 4 & 15;
          at[place / 32 * 16 + place % 16] |= (uint8_t)(v << place % 32 / 16 * 4);
        }
      }
    }
  }
}

/* ---- Rows -------------------------------------------------------------------------------------- */

typedef struct task {
  const rush_few_bits *b;
  const float *x;
  size_t ldx;
  uint8_t *rows;
} task;

/* n elements of a piece as integers. */
static of_piece integers_of(size_t n, const float *x, int16_t *to) {
  const float top = 32767;
  float most, least = rush_int8_range(n, x, &most);
  if (-least > most || least != least) most = -least;
  float scale = most / top;
  const float inverse = scale >= 1e-37f ? 1 / scale : 0;
  if (inverse == 0 && scale == scale) scale = 0;
  const f4 factor = f4_set(inverse), lo = f4_set(-top), hi = f4_set(top);
  float rest[2 * RUSH_LANES] = {0};
  i4 sum = i4_set(0);
  memset(to, 0, elements_of(n) * sizeof *to);
  for (size_t i = 0; i < n; i += 8) {
    const float *from = x + i;
    i4 a, b;
    if (n - i < 8) from = memcpy(rest, from, (n - i) * sizeof *x);
    f4_round_small(f4_less(f4_more(f4_load(from) * factor, lo), hi), &a);
    f4_round_small(f4_less(f4_more(f4_load(from + 4) * factor, lo), hi), &b);
    rush_int8_store_wide(to + i, a, b, INT16_MAX);
    sum = i4_add(sum, i4_add(a, b));
  }
  return (of_piece){
      scale, (int32_t)((uint32_t)sum[0] + (uint32_t)sum[1] + (uint32_t)sum[2] + (uint32_t)sum[3])};
}

static void rows_of_floats(const void *arg, size_t begin, size_t end, unsigned who) {
  const task *t = arg;
  (void)who;
  for (size_t r = begin; r < end; r++) {
    of_piece *of = (of_piece *)(void *)(t->rows + r * row_bytes(t->b));
    int16_t *to = (int16_t *)(void *)((uint8_t *)of + scales_bytes(t->b));
    for (piece p = {0}; next_piece(t->b, &p); to += elements_of(p.n))
      *of++ = integers_of(p.n, t->x + r * t->ldx + p.from, to);
  }
}

void rush_few_rows_of_floats(rush_ctx *ctx, const rush_few_bits *b, size_t m, const float *x,
                             size_t ldx, void *rows) {
  const task t = {b, x, ldx, rows};
  rush_parallel(ctx, m, b->k / 4 + 1, rows_of_floats, &t);
}

/* ---- The product ------------------------------------------------------------------------------- */

/* The most rows that see a block before the next one. */
enum { HEIGHT = 48 };

typedef struct product {
  const rush_few_bits *b;
  size_t m, height, width, down, row_bytes, scales_bytes, block_bytes;
  rush_int8_kernel kernel;
  const uint8_t *rows, *packed;
  float *y, min, max;
  size_t ldy;
} product;

/* Integers of 4 bits, of 32 the first half in the lower bits of 16 bytes. */
typedef struct nibbles {
  b16 low, high;
} nibbles;
RUSH_INLINE nibbles split(const uint8_t *w, b16 mask) {
  typedef uint16_t u8 __attribute__((vector_size(16)));
  const b16 v = b16_load(w);
  return (nibbles){v & mask, (b16)((u8)v >> 4) & mask};
}

/* As bytes, and times one row. */
static void as_bytes(size_t quads, const uint8_t *w, int8_t *out) {
  const b16 mask = (b16)i4_set(0x0f0f0f0f);
  for (size_t q = 0; q < quads; q++, w += 16, out += 32) {
    const nibbles v = split(w, mask);
    memcpy(out, &v, sizeof v);
  }
}
RUSH_INLINE void times_row(size_t quads, const uint8_t *w, const int16_t *x, i4 out[2]) {
  const b16 mask = (b16)i4_set(0x0f0f0f0f);
  i4 sum[4] = {{0}};
  for (size_t q = 0; q < quads; q++, w += 16, x += KR) {
    const nibbles v = split(w, mask);
    const s8 twice = s8_twice(x);
    sum[0] = s8_dot(s8_low(v.low), twice, sum[0]);
    sum[1] = s8_dot(s8_high(v.low), twice, sum[1]);
    sum[2] = s8_dot(s8_low(v.high), twice, sum[2]);
    sum[3] = s8_dot(s8_high(v.high), twice, sum[3]);
  }
  out[0] = i4_add_pairs(sum[0], sum[1]);
  out[1] = i4_add_pairs(sum[2], sum[3]);
}

/* Of a group's columns. */
typedef struct group {
  f4 scales[2];
  i4 zeros[2];
} group;

/* Gives where its first piece is. */
RUSH_INLINE const uint8_t *read_group(const rush_few_bits *b, const uint8_t *at, group *g) {
  memcpy(g->scales, at, sizeof g->scales);
  if (b->zero_points) memcpy(g->zeros, at + sizeof g->scales, sizeof g->zeros);
  return at + group_bytes(b);
}

/* Adds what a piece's sums stand for; its integers still have their zero points. */
RUSH_INLINE void add_sums(const i4 sums[2], const of_piece *x, const group *g, f4 sum[2]) {
  const f4 scale = f4_set(x->scale);
  for (int h = 0; h < 2; h++) {
    const i4 v = i4_sub(sums[h], (i4)((u4)i4_set(x->sum) * (u4)g->zeros[h]));
    sum[h] = sum[h] + f4_from_int(v) * (scale * g->scales[h]);
  }
}

/* One row and 4 bits; of a block from behind its bias. */
static void add_row(const product *p, const uint8_t *at, size_t i, f4 sum[2]) {
  const of_piece *of = (const of_piece *)(const void *)(p->rows + i * p->row_bytes);
  const int16_t *x = (const int16_t *)(const void *)((const uint8_t *)of + p->scales_bytes);
  group g = {.zeros = {i4_set(8), i4_set(8)}};
  i4 sums[2];
  for (piece k = {0}; next_piece(p->b, &k); of++) {
    if (k.opens) at = read_group(p->b, at, &g);
    const size_t quads = up(k.n, KR);
    times_row(quads, at, x, sums);
    add_sums(sums, of, &g, sum);
    at += quads * NR * KR / 2;
    x += elements_of(k.n);
  }
}

/* Rows top.. to bottom - 1, their sums in sum[.][0] for columns 0 to 3, [1] for the others. */
static void add_rows(const product *p, const uint8_t *at, size_t top, size_t bottom,
                     f4 sum[HEIGHT][2]) {
  const bool four = p->b->bits == 4;
  group g = {.zeros = {i4_set(four ? 8 : 0), i4_set(four ? 8 : 0)}};
  int8_t wide[PIECE * NR];
  size_t offset = p->scales_bytes, n = 0;
  for (piece k = {0}; next_piece(p->b, &k); n++) {
    const size_t quads = up(k.n, KR);
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
        add_sums(both, (const of_piece *)(const void *)row + n, &g, sum[i - top + r]);
      }
    }
    at += piece_bytes(p->b, k.n);
    offset += elements_of(k.n) * sizeof(int16_t);
  }
}

static void run_items(const void *arg, size_t begin, size_t end, unsigned who) {
  const product *p = arg;
  (void)who;
  for (size_t t = begin; t < end; t++) {
    const size_t from = t / p->down * p->width, top = t % p->down * p->height;
    const size_t right = p->b->n - from < p->width ? p->b->n : from + p->width;
    const size_t bottom = p->m - top < p->height ? p->m : top + p->height;
    for (size_t j = from; j < right; j += NR) {
      const uint8_t *block = p->packed + j / NR * p->block_bytes;
      const float *bias = (const float *)(const void *)block;
      f4 sum[HEIGHT][2];
      memset(sum, 0, (bottom - top) * sizeof *sum);
      if (p->b->bits == 4 && bottom - top == 1) {
        add_row(p, block + NR * sizeof *bias, top, sum[0]);
      } else {
        add_rows(p, block + NR * sizeof *bias, top, bottom, sum);
      }
      for (size_t i = top; i < bottom; i++) {
        for (size_t h = 0; h < 2 && j + 4 * h < p->b->n; h++) {
          const size_t left = p->b->n - j - 4 * h;
          float *y = p->y + i * p->ldy + j + 4 * h;
          const f4 v =
              f4_clamp(sum[i - top][h] + f4_load(bias + 4 * h), f4_set(p->min), f4_set(p->max));
          if (left >= 4) {
            f4_store(y, v);
          } else {
            f4_store_part(y, v, left);
          }
        }
      }
    }
  }
}

void rush_few_gemm(rush_ctx *ctx, const rush_few_bits *b, size_t m, const void *rows,
                   const void *packed, float *y, size_t ldy, float min, float max) {
  enum { ITEM = 1 << 22 };
  if (m == 0 || b->n == 0) return;
  product p = {
      .b = b, .m = m, .rows = rows, .packed = packed, .y = y, .min = min, .max = max, .ldy = ldy};
  p.row_bytes = row_bytes(b);
  p.scales_bytes = scales_bytes(b);
  p.block_bytes = block_bytes(b);
  p.kernel = rush_int8_wide();
  p.height = m < HEIGHT ? m : HEIGHT;
  p.down = up(m, p.height);
  const size_t blocks = up(b->n, NR);
  const size_t wide = rush_int8_blocks(ctx, ITEM / p.height / (NR * (b->k + 8)), blocks, p.down);
  p.width = wide * NR;
  rush_parallel(ctx, p.down * up(blocks, wide), (uint64_t)p.height * p.width * (b->k + 8) / 16 + 1,
                run_items, &p);
}
