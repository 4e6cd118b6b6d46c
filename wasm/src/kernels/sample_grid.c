/* Follows aten/src/ATen/native/cpu/GridSamplerKernel.cpp (2-d) and GridSampler.cpp (3-d), in the
 * precision of the tensors, because it decides which pixel is nearest. */
#include "kernels/sample_grid.h"

#include <math.h>

#include "base/base.h"
#include "kernels/simd.h"

enum { TAPS = 4, MAX_TAPS = 16 /* 16 for 2-d cubic; 8 for 3-d linear */, BLOCK = 64 };

#define GRID_SAMPLE(T, f, FABS, FMOD, FLOOR, RINT)                                                 \
  typedef struct taps_##f {                                                                        \
    int n;                                                                                         \
    int64_t at[TAPS]; /* offset in elements, or -1 for outside */                                  \
    T weight[TAPS];                                                                                \
  } taps_##f;                                                                                      \
                                                                                                   \
  static T rounded_##f(const rush_grid *g, T v) {                                                  \
    return g->rounded ? (T)g->rounded((float)v) : v;                                               \
  }                                                                                                \
                                                                                                   \
  static T brought_in_##f(const rush_grid *g, T at, int64_t size) {                                \
    if (g->padding == RUSH_GRID_ZEROS) return at;                                                  \
    if (g->padding == RUSH_GRID_REFLECTION) {                                                      \
      const T low = g->align_corners ? 0 : (T) - 0.5;                                              \
      const T twice = 2 * (T)(g->align_corners ? size - 1 : size);                                 \
      const T part = twice > 0 ? FMOD(rounded_##f(g, FABS(at - low)), twice) : 0;                  \
      at = twice > 0                                                                               \
               ? rounded_##f(g, (part < twice - part ? part : rounded_##f(g, twice - part)) + low) \
               : 0;                                                                                \
    }                                                                                              \
    const T last = (T)(size - 1);                                                                  \
    if (at != at) return g->dims == 2 ? 0 : last; /* ATen's 2-d and 3-d kernels differ for NaN */  \
    return at < 0 ? 0 : at > last ? last : at;                                                     \
  }                                                                                                \
                                                                                                   \
  /* The cubic convolution kernel with A = -0.75, for the outer two and the inner two pixels. */   \
  static T outer_##f(T x) {                                                                        \
    const T A = (T) - 0.75;                                                                        \
    return ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;                                              \
  }                                                                                                \
  static T inner_##f(T x) {                                                                        \
    const T A = (T) - 0.75;                                                                        \
    return ((A + 2) * x - (A + 3)) * x * x + 1;                                                    \
  }                                                                                                \
                                                                                                   \
  static void taps_of_##f(const rush_grid *g, int d, T coordinate, taps_##f *t) {                  \
    const int64_t size = g->size[d];                                                               \
    const T pixels = (T)(g->align_corners ? size - 1 : size);                                      \
    T at = coordinate + 1, first;                                                                  \
    if (g->dims == 2)                                                                              \
      at = at * (pixels / 2) - (g->align_corners ? 0 : (T)0.5);                                    \
    else if (g->align_corners)                                                                     \
      at = rounded_##f(g, rounded_##f(g, rounded_##f(g, at) / 2) * pixels);                        \
    else                                                                                           \
      at = rounded_##f(g, rounded_##f(g, rounded_##f(g, rounded_##f(g, at) * pixels) - 1) / 2);    \
    if (g->interpolation != RUSH_GRID_CUBIC) at = brought_in_##f(g, at, size);                     \
    if (g->interpolation == RUSH_GRID_NEAREST) {                                                   \
      first = RINT(at);                                                                            \
      t->n = 1;                                                                                    \
      t->weight[0] = 1;                                                                            \
    } else if (g->interpolation == RUSH_GRID_LINEAR) {                                             \
      first = FLOOR(at);                                                                           \
      t->n = 2;                                                                                    \
      t->weight[1] = at - first;                                                                   \
      t->weight[0] = 1 - t->weight[1];                                                             \
    } else {                                                                                       \
      const T part = at - FLOOR(at);                                                               \
      first = FLOOR(at) - 1;                                                                       \
      t->n = 4;                                                                                    \
      t->weight[0] = outer_##f(part + 1);                                                          \
      t->weight[1] = inner_##f(part);                                                              \
      t->weight[2] = inner_##f(1 - part);                                                          \
      t->weight[3] = outer_##f(2 - part);                                                          \
    }                                                                                              \
    for (int k = 0; k < t->n; k++) {                                                               \
      T tap = first + (T)k;                                                                        \
      if (g->interpolation == RUSH_GRID_CUBIC) tap = brought_in_##f(g, tap, size);                 \
      t->at[k] =                                                                                   \
          tap >= 0 && tap < (T)size && (int64_t)tap < size ? (int64_t)tap * g->step[d] : -1;       \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* The taps of a few grid points, which all channels share. Tap k of point i is at offset */     \
  /* at[k][i] from the channel's first element, or outside. */                                     \
  typedef struct block_##f {                                                                       \
    ptrdiff_t at[MAX_TAPS][BLOCK];                                                                 \
    T weight[MAX_TAPS][BLOCK];                                                                     \
    bool outside; /* whether any tap has at[k][i] < 0 */                                           \
    int taps;                                                                                      \
  } block_##f;                                                                                     \
                                                                                                   \
  static void block_of_##f(const rush_grid *g, size_t n, const T *at, block_##f *block) {          \
    block->outside = false;                                                                        \
    for (size_t i = 0; i < n; i++, at += g->dims) {                                                \
      taps_##f axes[3] = {{.n = 1}, {.n = 1}, {.n = 1, .at = {0}, .weight = {1}}};                 \
      int k = 0;                                                                                   \
      for (int d = 0; d < g->dims; d++) taps_of_##f(g, d, at[d], axes + d);                        \
      for (int a = 0; a < axes[2].n; a++)                                                          \
        for (int b = 0; b < axes[1].n; b++)                                                        \
          for (int c = 0; c < axes[0].n; c++, k++) {                                               \
            const T w = axes[2].weight[a] * axes[1].weight[b] * axes[0].weight[c];                 \
            const bool in = axes[2].at[a] >= 0 && axes[1].at[b] >= 0 && axes[0].at[c] >= 0;        \
            block->at[k][i] =                                                                      \
                in ? (ptrdiff_t)(axes[2].at[a] + axes[1].at[b] + axes[0].at[c]) : -1;              \
            /* In 2-d a NaN coordinate propagates; in 3-d it is skipped. */                        \
            block->weight[k][i] = in || g->dims == 2 ? w : 0;                                      \
            block->outside = block->outside || !in;                                                \
          }                                                                                        \
      block->taps = k;                                                                             \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  RUSH_INLINE void sum_taps_##f(const block_##f *b, size_t n, const T *x, T *y, const int taps) {  \
    if (b->outside) {                                                                              \
      for (size_t i = 0; i < n; i++) {                                                             \
        T sum = 0;                                                                                 \
        for (int k = 0; k < taps; k++) {                                                           \
          const ptrdiff_t at = b->at[k][i];                                                        \
          const T v = x[at < 0 ? 0 : at]; /* index 0 always exists */                              \
          sum += (at < 0 ? 0 : v) * b->weight[k][i];                                               \
        }                                                                                          \
        y[i] = sum;                                                                                \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    for (size_t i = 0; i < n; i++) {                                                               \
      T sum = 0;                                                                                   \
      for (int k = 0; k < taps; k++) sum += x[b->at[k][i]] * b->weight[k][i];                      \
      y[i] = sum;                                                                                  \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void sum_block_##f(const block_##f *b, size_t n, const T *x, T *y) {                      \
    if (b->taps == 4) {                                                                            \
      sum_taps_##f(b, n, x, y, 4);                                                                 \
    } else if (b->taps == 1) {                                                                     \
      sum_taps_##f(b, n, x, y, 1);                                                                 \
    } else {                                                                                       \
      sum_taps_##f(b, n, x, y, b->taps);                                                           \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  void rush_grid_sample_##f(const rush_grid *g, size_t n, const T *at, const T *x, T *y) {         \
    block_##f block;                                                                               \
    for (size_t i = 0; i < n; i += BLOCK, at += BLOCK * g->dims, y += BLOCK) {                     \
      const size_t m = n - i < BLOCK ? n - i : BLOCK;                                              \
      if (rush_should_stop(g->ctx, 64 * (uint64_t)m)) return;                                      \
      block_of_##f(g, m, at, &block);                                                              \
      for (int64_t c = 0; c < g->channels && !rush_should_stop(g->ctx, 8 * (uint64_t)m); c++)      \
        sum_block_##f(&block, m, x + c * g->channel_step, y + (size_t)c * n);                      \
    }                                                                                              \
  }
GRID_SAMPLE(float, f32, fabsf, fmodf, floorf, rintf)
GRID_SAMPLE(double, f64, fabs, fmod, floor, rint)
