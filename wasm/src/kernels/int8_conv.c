#include "kernels/int8_conv.h"

#include "base/poison.h"
#include "base/threads.h"
#include "kernels/int8.h"
#include "kernels/int8_depthwise.h"
#include "kernels/int8_tile.h"
#include "kernels/int8_winograd.h"

enum { NR = RUSH_INT8_NR, KR = RUSH_INT8_KR, MR = RUSH_INT8_MR, SLACK = 16 };
enum { SOME = 8 }; /* blocks of columns that are requantized together */

static size_t round_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* In front of depthwise ones. */
typedef struct depth {
  int32_t wide; /* whether weights less their zeros are not bytes */
  int32_t rest[3];
} depth;

/* Returns whether each of many groups has one channel in and one out, so that there is nothing to
 * share. */
static bool is_depthwise(size_t groups, size_t channels, size_t outs) {
  return channels == 1 && outs == 1 && groups > 1;
}

/* Returns whether all weights of an output lie without gaps, because each tap has few. Otherwise
 * only the weights of one tap do. The same is true of inputs. */
static bool is_dense(size_t channels, size_t taps) {
  return channels <= KR && taps > 1;
}
static size_t run_of(size_t channels, size_t taps) {
  return is_dense(channels, taps) ? channels * taps : channels;
}

/* Stores the number of weights of a column. Each run without gaps fills groups of KR. */
static bool column_of(size_t channels, size_t taps, size_t *k) {
  return channels < SIZE_MAX / 2 && taps < SIZE_MAX / 2 / KR &&
         !__builtin_mul_overflow(round_up(run_of(channels, taps), KR),
                                 is_dense(channels, taps) ? 1 : taps, k);
}

static size_t depth_blocks(size_t groups) {
  return round_up(groups, RUSH_INT8_DEPTHWISE_BLOCK) / RUSH_INT8_DEPTHWISE_BLOCK;
}
/* Returns the number of blocks of 3x3 depthwise weights, which lie behind the others. */
static size_t strip_blocks(size_t groups, size_t taps) {
  return taps == 9 ? round_up(groups, RUSH_INT8_STRIP_BLOCK) / RUSH_INT8_STRIP_BLOCK : 0;
}
static size_t depth_header(size_t groups) {
  return sizeof(depth) + depth_blocks(groups) * RUSH_INT8_DEPTHWISE_BLOCK * sizeof(int32_t);
}

static bool group_bytes(size_t channels, size_t outs, size_t taps, size_t *bytes) {
  size_t k;
  return column_of(channels, taps, &k) && rush_int8_packed(outs, k, bytes);
}

bool rush_int8_conv_packed(size_t groups, size_t channels, size_t outs, size_t taps,
                           size_t *bytes) {
  if (!is_depthwise(groups, channels, outs))
    return group_bytes(channels, outs, taps, bytes) &&
           !__builtin_mul_overflow(*bytes, groups, bytes);
  if (groups > SIZE_MAX / 64 || taps > SIZE_MAX / 64) return false;
  size_t strips;
  return rush_mul(depth_blocks(groups), rush_int8_depthwise_bytes(taps), bytes) &&
         rush_add(*bytes, depth_header(groups), bytes) &&
         rush_mul(strip_blocks(groups, taps), RUSH_INT8_STRIP_BYTES, &strips) &&
         rush_add(*bytes, strips, bytes);
}

static void pack_strips(size_t groups, const int8_t *w, const int32_t *zeros, uint8_t *at) {
  for (size_t b = 0; b < strip_blocks(groups, 9); b++, at += RUSH_INT8_STRIP_BYTES) {
    const size_t from = rush_int8_depthwise_from(b, RUSH_INT8_STRIP_BLOCK, groups);
    int16_t *pairs = (int16_t *)(void *)(at + RUSH_INT8_STRIP_QUADS);
    for (size_t c = 0; c < RUSH_INT8_STRIP_BLOCK && from + c < groups; c++)
      for (size_t t = 0; t < 9; t++) {
        const size_t g = from + c, row = t / 3, column = t % 3;
        at[column * 32 + c * 4 + row] = (uint8_t)w[g * 9 + t];
        pairs[column * 32 + row / 2 * 16 + c * 2 + row % 2] = (int16_t)(w[g * 9 + t] - zeros[g]);
      }
  }
}

static void pack_depth(rush_ctx *ctx, size_t groups, size_t taps, const int8_t *w,
                       const int32_t *zeros, uint8_t *packed) {
  depth *d = (depth *)(void *)packed;
  int32_t *sums = (int32_t *)(void *)(d + 1);
  uint8_t *at = packed + depth_header(groups);
  for (size_t g = 0; g < groups && !rush_stops_at_step(ctx, (int64_t)g); g++)
    if (zeros[g] != 0) d->wide = 1;
  for (size_t b = 0; b < depth_blocks(groups); b++, at += rush_int8_depthwise_bytes(taps)) {
    const size_t from = rush_int8_depthwise_from(b, RUSH_INT8_DEPTHWISE_BLOCK, groups);
    int16_t *pairs = (int16_t *)(void *)(at + rush_int8_quads(taps));
    for (size_t c = 0; c < RUSH_INT8_DEPTHWISE_BLOCK && from + c < groups; c++) {
      const size_t g = from + c;
      if (rush_should_stop(ctx, 2 * taps)) return;
      sums[g] = 0;
      for (size_t t = 0; t < taps; t++) {
        const int32_t v = w[g * taps + t] - zeros[g];
        at[t / 4 * 64 + c * 4 + t % 4] = (uint8_t)w[g * taps + t];
        pairs[t / 2 * 32 + c * 2 + t % 2] = (int16_t)v;
        sums[g] = (int32_t)((uint32_t)sums[g] + (uint32_t)v);
      }
    }
  }
  if (taps == 9) pack_strips(groups, w, zeros, at);
}

void rush_int8_conv_pack_as(rush_ctx *ctx, bool by_pairs, size_t groups, size_t channels,
                            size_t outs, size_t taps, const int8_t *w, const int32_t *zeros,
                            void *packed) {
  if (is_depthwise(groups, channels, outs)) {
    pack_depth(ctx, groups, taps, w, zeros, packed);
    return;
  }
  size_t bytes;
  if (!group_bytes(channels, outs, taps, &bytes)) return;
  for (size_t g = 0; g < groups && !rush_should_stop(ctx, 16); g++)
    rush_int8_pack_taps(ctx, by_pairs, outs, channels, taps, run_of(channels, taps),
                        w + g * outs * channels * taps, zeros + g * outs,
                        (uint8_t *)packed + g * bytes);
}

void rush_int8_conv_pack(rush_ctx *ctx, size_t groups, size_t channels, size_t outs, size_t taps,
                         const int8_t *w, const int32_t *zeros, void *packed) {
  rush_int8_conv_pack_as(ctx, rush_int8_kernel_here().by_pairs, groups, channels, outs, taps, w,
                         zeros, packed);
}

/* ---- What the machine multiplies ------------------------------------------------------------- */

/* The form in which bytes of x are multiplied: as they are, with the highest bit flipped, or less
 * their zero point in 16 bits. */
typedef struct form {
  rush_int8_kernel kernel;
  bool depthwise, wide, copies;
  uint8_t flip;
  int32_t zero;        /* of x as it is seen */
  size_t item, images; /* bytes of an element; elements of all images */
} form;

static form form_of(const rush_int8_conv *v) {
  form f = {.kernel = rush_int8_kernel_here(), .item = 1};
  const size_t all = v->groups * v->channels;
  f.depthwise = is_depthwise(v->groups, v->channels, v->outs);
  if (f.depthwise && (f.kernel.form == RUSH_INT8_WIDE || ((const depth *)v->packed)->wide != 0)) {
    f.kernel.form = RUSH_INT8_UNSIGNED;
    f.kernel.depth = rush_int8_depthwise_wide;
    f.kernel.strips = rush_int8_strips_wide;
  }
  if (f.kernel.form == RUSH_INT8_WIDE) {
    f.wide = f.copies = true;
    f.item = sizeof(int16_t);
  } else {
    const bool becomes_signed = f.kernel.form == RUSH_INT8_SIGNED;
    f.flip = becomes_signed != v->is_signed ? 128 : 0;
    f.zero = v->zero + (v->is_signed ? 128 : 0) - (becomes_signed ? 128 : 0);
    f.copies = f.depthwise ? all < RUSH_INT8_DEPTHWISE_BLOCK : f.flip != 0 || v->channels % KR != 0;
  }
  f.images = v->images * v->pixels * all;
  return f;
}

void rush_int8_conv_zeros(const rush_int8_conv *v, int32_t *zeros) {
  const form f = form_of(v);
  const size_t outs = v->groups * v->outs;
  if (f.depthwise) {
    const int32_t *sums = (const int32_t *)(const void *)((const depth *)v->packed + 1);
    for (size_t g = 0; g < outs; g++) zeros[g] = (int32_t)((uint32_t)f.zero * (uint32_t)sums[g]);
    return;
  }
  const size_t taps = v->window.kernel[0] * v->window.kernel[1] * v->window.kernel[2];
  size_t bytes, k;
  if (!group_bytes(v->channels, v->outs, taps, &bytes) || !column_of(v->channels, taps, &k)) return;
  for (size_t g = 0; g < v->groups; g++)
    rush_int8_packed_sums(v->outs, k, (const uint8_t *)v->packed + g * bytes, zeros + g * v->outs);
  for (size_t i = 0; i < outs; i++) zeros[i] = (int32_t)((uint32_t)f.zero * (uint32_t)zeros[i]);
}

typedef struct job {
  const rush_int8_conv *v;
  form f;
  const uint8_t *x;    /* as the machine wants it */
  const uint8_t *none; /* a pixel of zeros */
  const uint8_t **pointers;
  int32_t *sums;                       /* of depthwise outputs */
  uint8_t *rows;                       /* of dense ones: MR times row_bytes for each thread */
  bool strips, dense, winograd, zeros; /* zeros: some zero points of weights differ from 0 */
  size_t runs, run, row_bytes;         /* elements that a row has in a run */
  size_t none_bytes, pointer_bytes, sum_bytes, all_rows; /* of the parts of scratch */
  size_t taps, places, m, k, pixel, n_pointers, n_sums;
  size_t group_bytes, block_bytes, height, width, down, across;
  uint8_t *copy;
} job;

static void copy_pixels(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const rush_int8_conv *v = j->v;
  const size_t each = v->groups * v->channels;
  (void)who;
  rush_int8_elements(j->f.wide, v->is_signed, j->f.depthwise ? 0 : j->f.flip, v->zero,
                     (end - begin) * each, (const uint8_t *)v->x + begin * each,
                     j->copy + begin * each * j->f.item);
}

/* An output: where its image begins, a group's part `shift` bytes into a pixel, and where it stands
 * in it. */
typedef struct output {
  const uint8_t *x;
  size_t at[3];
} output;

static output output_at(const job *j, size_t i, size_t shift) {
  const size_t *out = j->v->window.out, place = i % j->places, row = place / out[2];
  return (output){j->x + i / j->places * j->v->pixels * j->pixel + shift,
                  {row / out[1], row % out[1], place % out[2]}};
}
RUSH_INLINE void to_next(const job *j, output *o) {
  const size_t *out = j->v->window.out;
  if (++o->at[2] < out[2]) return;
  o->at[2] = 0;
  if (++o->at[1] < out[1]) return;
  o->at[1] = 0;
  if (++o->at[0] < out[0]) return;
  o->at[0] = 0;
  o->x += j->v->pixels * j->pixel;
}

/* Stores the addresses of the taps of outputs from `at` on, of which n differ: to[taps][MR]. The
 * part of a group is `shift` bytes into a pixel. */
static void point(const job *j, size_t at, size_t n, size_t shift, size_t step,
                  const uint8_t **to) {
  const rush_int8_window *w = &j->v->window;
  if (j->v->direct) {
    for (size_t r = 0; r < step; r++) to[r] = j->x + (at + (r < n ? r : n - 1)) * j->pixel + shift;
    return;
  }
  output o = output_at(j, at, shift);
  for (size_t r = 0; r < step; r++) {
    const ptrdiff_t *first = w->places[0] + o.at[0] * w->kernel[0];
    const ptrdiff_t *second = w->places[1] + o.at[1] * w->kernel[1];
    const ptrdiff_t *third = w->places[2] + o.at[2] * w->kernel[2];
    const uint8_t **tap = to + r;
    for (size_t a = 0; a < w->kernel[0]; a++)
      for (size_t b = 0; b < w->kernel[1]; b++)
        for (size_t e = 0; e < w->kernel[2]; e++, tap += step) {
          const ptrdiff_t outside = first[a] | second[b] | third[e];
          *tap = outside < 0 ? j->none : o.x + (size_t)(first[a] + second[b] + third[e]) * j->pixel;
        }
    if (r + 1 < n) to_next(j, &o);
  }
}

/* Removes the sums that the zero points of weights add. They are rare: convolutions mostly have
 * symmetric weights. */
static void without_zeros(const job *j, const uint8_t *const *rows, size_t n, const int32_t *zeros,
                          int32_t sums[][NR]) {
  for (size_t r = 0; r < n; r++) {
    uint32_t sum = 0;
    for (size_t t = 0; t < j->runs; t++)
      for (size_t i = 0; i < j->run; i++) {
        const uint8_t *x = rows[t * MR + r];
        const int32_t v = j->f.wide ? ((const int16_t *)(const void *)x)[i]
                          : j->f.kernel.form == RUSH_INT8_SIGNED ? (int8_t)x[i] - j->f.zero
                                                                 : x[i] - j->f.zero;
        sum += (uint32_t)v;
      }
    for (size_t c = 0; c < NR; c++)
      sums[r][c] = (int32_t)((uint32_t)sums[r][c] - sum * (uint32_t)zeros[c]);
  }
}

/* n elements, up to a multiple of KR. */
RUSH_INLINE void copy_run(size_t item, size_t n, const uint8_t *from, uint8_t *to) {
  for (size_t i = 0; i < n; i += KR) memcpy(to + i * item, from + i * item, KR * item);
}

/* Gathers the inputs of an output's taps, one after the other. Each overwrites the bytes that
 * earlier ones copied beyond their end. */
RUSH_INLINE void gather_one(size_t item, const job *j, const output *o, uint8_t *to) {
  const rush_int8_window *w = &j->v->window;
  const ptrdiff_t none = 0;
  const size_t channels = j->v->channels;
  const int d = w->kernel[2] == 1 && w->out[2] == 1 ? 1 : 2; /* along which pixels lie together */
  const size_t inner = w->kernel[d], middle = d == 1 ? 1 : w->kernel[1];
  const ptrdiff_t *first = w->places[0] + o->at[0] * w->kernel[0];
  const ptrdiff_t *second = d == 1 ? &none : w->places[1] + o->at[1] * middle;
  const ptrdiff_t *last = w->places[d] + o->at[d] * inner;
  const bool whole =
      j->v->groups == 1 && last[0] >= 0 && last[inner - 1] - last[0] == (ptrdiff_t)inner - 1;
  for (size_t a = 0; a < w->kernel[0]; a++)
    for (size_t b = 0; b < middle; b++) {
      const bool outside = (first[a] | second[b]) < 0;
      const uint8_t *from = o->x + (outside ? 0 : (size_t)(first[a] + second[b]) * j->pixel);
      if (whole && !outside) {
        copy_run(item, inner * channels, from + (size_t)last[0] * j->pixel, to);
        to += inner * channels * item;
        continue;
      }
      for (size_t e = 0; e < inner; e++, to += channels * item)
        copy_run(item, KR, outside || last[e] < 0 ? j->none : from + (size_t)last[e] * j->pixel,
                 to);
    }
}

/* Outputs from `at` on, of which n differ, as rows to[step] of their own. */
static void gather(const job *j, size_t at, size_t n, size_t shift, size_t step, uint8_t *rows,
                   const uint8_t **to) {
  output o = output_at(j, at, shift);
  for (size_t r = 0; r < step; r++) {
    to[r] = rows + (r < n ? r : n - 1) * j->row_bytes;
    if (r >= n) continue;
    if (j->f.wide) {
      gather_one(sizeof(int16_t), j, &o, rows + r * j->row_bytes);
    } else {
      gather_one(1, j, &o, rows + r * j->row_bytes);
    }
    to_next(j, &o);
  }
}

/* An item is some outputs times some channels of a group. */
static void convolve(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const rush_int8_conv *v = j->v;
  const uint8_t **rows = j->pointers + who * j->n_pointers;
  const size_t outs = v->groups * v->outs;
  for (size_t t = begin; t < end; t++) {
    const size_t g = t / (j->down * j->across), rest = t % (j->down * j->across);
    const size_t from = rest / j->down * j->width, top = rest % j->down * j->height;
    const size_t right = v->outs - from < j->width ? v->outs : from + j->width;
    const size_t bottom = j->m - top < j->height ? j->m : top + j->height;
    const uint8_t *packed = (const uint8_t *)v->packed + g * j->group_bytes;
    size_t mr;
    for (size_t i = top; i < bottom; i += mr) {
      mr = bottom - i < j->f.kernel.conv_mr ? bottom - i : j->f.kernel.conv_mr;
      const size_t shift = g * v->channels * j->f.item;
      if (j->dense)
        gather(j, i, mr, shift, j->f.kernel.conv_mr, j->rows + who * MR * j->row_bytes, rows);
      else
        point(j, i, mr, shift, MR, rows);
      rush_int8_tiles *tiles = mr == 1 ? j->f.kernel.conv_one : j->f.kernel.conv;
      for (size_t c = from; c < right; c += SOME * NR) {
        const size_t n = right - c < SOME * NR ? right - c : SOME * NR;
        int32_t sums[SOME][MR][NR];
        const uint8_t *block = packed + c / NR * j->block_bytes;
        const int32_t *zeros;
        tiles(j->runs, (j->run + KR - 1) / KR, (const void *const *)rows, (n + NR - 1) / NR,
              rush_int8_block(block, &zeros), j->block_bytes, sums);
        for (size_t k = 0; j->zeros && k * NR < n; k++) {
          rush_int8_block(block + k * j->block_bytes, &zeros);
          if (zeros != NULL) without_zeros(j, rows, mr, zeros, sums[k]);
        }
        const size_t channel = g * v->outs + c;
        rush_int8_requantize(v->to, mr, channel, n, sums[0][0], NR, MR * NR,
                             v->y + i * outs + channel, outs);
      }
    }
  }
}

static void convolve_depth(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const rush_int8_conv *v = j->v;
  const uint8_t **taps = j->pointers + who * j->n_pointers;
  int32_t *sums = j->sums + who * j->n_sums;
  const uint8_t *w = (const uint8_t *)v->packed + depth_header(v->groups);
  for (size_t i = begin; i < end; i++) {
    point(j, i, 1, 0, 1, taps);
    j->f.kernel.depth(j->taps, v->groups, taps, j->f.flip, w, sums);
    rush_int8_requantize(v->to, 1, 0, v->groups, sums, 0, 8, v->y + i * v->groups, 0);
  }
}

/* Does the same for rows. */
static void convolve_strips(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const rush_int8_conv *v = j->v;
  const rush_int8_window *window = &v->window;
  const size_t channels = v->groups;
  int32_t *sums = j->sums + who * j->n_sums;
  rush_int8_strip r = {.none = j->none,
                       .n = window->out[1],
                       .stride = v->stride,
                       .first = v->first,
                       .width = (ptrdiff_t)v->width};
  for (size_t i = begin; i < end; i++) {
    const ptrdiff_t *places = window->places[0] + i % window->out[0] * 3;
    const uint8_t *x = j->x + i / window->out[0] * v->pixels * j->pixel;
    const uint8_t *w = (const uint8_t *)v->packed + depth_header(channels) +
                       depth_blocks(channels) * rush_int8_depthwise_bytes(9);
    for (size_t k = 0; k < 3; k++) {
      r.rows[k] = places[k] < 0 ? j->none : x + (size_t)places[k] * j->pixel;
      r.steps[k] = places[k] < 0 ? 0 : j->pixel;
    }
    for (size_t b = 0; b < strip_blocks(channels, 9); b++, w += RUSH_INT8_STRIP_BYTES) {
      const size_t c = rush_int8_depthwise_from(b, RUSH_INT8_STRIP_BLOCK, channels);
      j->f.kernel.strips(&r, c, j->f.flip, w, sums);
      rush_int8_requantize(v->to, r.n, c, RUSH_INT8_STRIP_BLOCK, sums, RUSH_INT8_STRIP_BLOCK, 0,
                           v->y + i * r.n * channels + c, channels);
    }
  }
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Returns whether a weight has a zero point other than 0. Depthwise weights are not supported. */
static bool has_zeros(const rush_int8_conv *v, size_t block_bytes) {
  const size_t blocks = round_up(v->outs, NR) / NR * v->groups;
  for (size_t b = 0; b < blocks; b++) {
    const int32_t *zeros;
    rush_int8_block((const uint8_t *)v->packed + b * block_bytes, &zeros);
    if (zeros != NULL) return true;
  }
  return false;
}

/* Bytes from one block of a group's weights to the next; false where they have no end. */
static bool of_block(const rush_int8_conv *v, size_t taps, size_t *bytes) {
  if (!group_bytes(v->channels, v->outs, taps, bytes)) return false;
  *bytes /= round_up(v->outs, NR) / NR;
  return true;
}

/* Adds a part of n * item + `more` bytes to *all, rounded up to SLACK. */
static bool add_part(size_t n, size_t item, size_t more, size_t *part, size_t *all) {
  if (!rush_mul(n, item, part) || !rush_add(*part, more, part) || !rush_add(*part, SLACK - 1, part))
    return false;
  *part -= *part % SLACK;
  return rush_add(*all, *part, all);
}

/* scratch: a pixel that is outside; pointers, sums and rows of each thread; x as the machine wants
 * it. */
static bool parts_of(job *j, size_t threads, size_t *bytes) {
  size_t pointers, sums, rows = 0, images;
  if (!rush_mul(threads, j->n_pointers, &pointers) || !rush_mul(threads, j->n_sums, &sums))
    return false;
  if (j->dense && !add_part(j->run, j->f.item, SLACK, &j->row_bytes, &rows)) return false;
  *bytes = 0;
  return add_part(j->pixel, 1, 2 * SLACK, &j->none_bytes, bytes) &&
         add_part(pointers, sizeof(void *), 0, &j->pointer_bytes, bytes) &&
         add_part(sums, sizeof(int32_t), 0, &j->sum_bytes, bytes) && rush_mul(rows, MR, &rows) &&
         add_part(threads, rows, 0, &j->all_rows, bytes) &&
         add_part(j->f.copies ? j->f.images : 0, j->f.item, 2 * SLACK, &images, bytes);
}

static bool plan(struct rush_ctx *ctx, const rush_int8_conv *v, job *j, size_t *bytes) {
  const size_t threads = rush_threads(ctx), all = v->groups * v->channels;
  *j = (job){.v = v, .f = form_of(v)};
  j->taps = v->window.kernel[0] * v->window.kernel[1] * v->window.kernel[2];
  j->places = v->window.out[0] * v->window.out[1] * v->window.out[2];
  j->m = v->images * j->places;
  j->pixel = all * j->f.item;
  j->dense = !j->f.depthwise && is_dense(v->channels, j->taps);
  j->runs = j->dense ? 1 : j->taps;
  j->run = run_of(v->channels, j->taps);
  j->strips = j->f.depthwise && v->stride != 0 && all >= RUSH_INT8_DEPTHWISE_BLOCK;
  j->n_sums = j->f.depthwise ? round_up(all, RUSH_INT8_DEPTHWISE_BLOCK) : 0;
  if (!rush_mul(j->taps, j->f.depthwise ? 1 : MR, &j->n_pointers) ||
      (j->strips && !rush_mul(v->window.out[1], RUSH_INT8_STRIP_BLOCK, &j->n_sums)))
    return false;
  if (!j->f.depthwise && j->f.kernel.words != NULL && of_block(v, j->taps, &j->block_bytes) &&
      rush_int8_winograd_fits(v) && !has_zeros(v, j->block_bytes)) {
    j->winograd = true;
    return rush_int8_winograd_scratch(ctx, v, bytes);
  }
  return parts_of(j, threads, bytes);
}

bool rush_int8_conv_scratch(struct rush_ctx *ctx, const rush_int8_conv *v, size_t *bytes) {
  job j;
  return plan(ctx, v, &j, bytes);
}

/* Lays the parts of scratch out, fills the pixel of zeros, and copies x if the machine wants it
 * otherwise. Returns false if the host has stopped it. */
static bool lay_out(struct rush_ctx *ctx, job *j, uint8_t *at, size_t bytes) {
  const rush_int8_conv *v = j->v;
  RUSH_MARK_INITIALIZED(at, bytes); /* rows end in bytes whose weights are 0 */
  /* Depthwise kernels flip what they read. */
  memset(at, j->f.wide ? 0 : (uint8_t)(j->f.depthwise ? v->zero : j->f.zero), j->none_bytes);
  j->none = at;
  at += j->none_bytes;
  j->pointers = (const uint8_t **)(void *)at;
  at += j->pointer_bytes;
  j->sums = (int32_t *)(void *)at;
  at += j->sum_bytes;
  j->rows = at;
  at += j->all_rows;
  j->x = v->x;
  if (!j->f.copies) return true;
  j->x = j->copy = at;
  memset(at + j->f.images * j->f.item, 0, SLACK);
  return !rush_parallel(ctx, v->images * v->pixels, v->groups * v->channels / 16 + 1, copy_pixels,
                        j);
}

/* Strategy 1: depthwise with a 3x3 kernel, whole rows of outputs at a time. */
static void run_strips(struct rush_ctx *ctx, job *j) {
  const rush_int8_conv *v = j->v;
  const size_t rows = v->images * v->window.out[0];
  rush_parallel(ctx, rows, (uint64_t)(v->window.out[1] + 2) * v->groups + 8, convolve_strips, j);
}

/* Strategy 2: any other depthwise convolution, one output pixel at a time. */
static void run_depthwise(struct rush_ctx *ctx, job *j) {
  rush_parallel(ctx, j->m, (uint64_t)j->v->groups * j->taps / 16 + 8, convolve_depth, j);
}

/* Strategy 3: a matrix product, by tiles of outputs and blocks of channels. */
static void run_tiles(struct rush_ctx *ctx, job *j) {
  enum { CACHE = 128 * 1024, HEIGHT = 48, ITEM = 1 << 22, LONG = 1 << 20 };
  const rush_int8_conv *v = j->v;
  if (!column_of(v->channels, j->taps, &j->k) || !of_block(v, j->taps, &j->block_bytes)) return;
  const size_t blocks = round_up(v->outs, NR) / NR;
  j->group_bytes = blocks * j->block_bytes;
  j->zeros = has_zeros(v, j->block_bytes);
  /* The outputs are divided as evenly as possible into pieces of whole tiles. */
  j->down = (j->m - 1) / (j->k > LONG ? j->f.kernel.conv_mr : HEIGHT) + 1;
  j->height = (j->m - 1) / j->down + 1;
  j->height = round_up(j->height, j->f.kernel.conv_mr);
  j->down = (j->m - 1) / j->height + 1;
  const size_t most = (j->down > 1 ? CACHE : ITEM / j->height) / j->block_bytes;
  const size_t wide = rush_int8_blocks(ctx, most, blocks, j->down);
  j->width = wide * NR;
  j->across = (blocks - 1) / wide + 1;
  rush_parallel(ctx, v->groups * j->down * j->across,
                (uint64_t)j->height * j->width * (j->k + 8) / 32 + 1, convolve, j);
}

void rush_int8_convolve(struct rush_ctx *ctx, const rush_int8_conv *v, void *scratch) {
  size_t bytes;
  job j;
  if (!plan(ctx, v, &j, &bytes) || j.m == 0) return;
  if (j.winograd) {
    rush_int8_winograd(ctx, v, j.block_bytes, &j.f.kernel, scratch);
    return;
  }
  if (!lay_out(ctx, &j, scratch, bytes)) return;
  if (j.strips)
    run_strips(ctx, &j);
  else if (j.f.depthwise)
    run_depthwise(ctx, &j);
  else
    run_tiles(ctx, &j);
}
