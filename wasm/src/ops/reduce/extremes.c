/* Maximum and minimum, and their indices. A NaN counts as both greatest and least. The first of
 * several equal elements wins. */
#include <math.h>

#include "blocks/elements/reduce.h"
#include "kernels/reduction.h"

#define ROWS(name, op, kernel)                                               \
  static void name##_f32(rush_reduce_state *s, size_t n, const void *x,      \
                         const rush_reduce_params *p) {                      \
    const float m = kernel(n, x);                                            \
    (void)p;                                                                 \
    if ((double)m op s->f || m != m) s->f = (double)m;                       \
  }                                                                          \
  static void name##_f64(rush_reduce_state *s, size_t n, const void *x,      \
                         const rush_reduce_params *p) {                      \
    const double *v = x;                                                     \
    (void)p;                                                                 \
    for (size_t i = 0; i < n; i++)                                           \
      if (v[i] op s->f || v[i] != v[i]) s->f = v[i];                         \
  }                                                                          \
  static void name##_i64(rush_reduce_state *s, size_t n, const void *x,      \
                         const rush_reduce_params *p) {                      \
    const int64_t *v = x;                                                    \
    int64_t m = s->value;                                                    \
    (void)p;                                                                 \
    for (size_t i = 0; i < n; i++) m = v[i] op m ? v[i] : m;                 \
    s->value = m;                                                            \
  }                                                                          \
  static void arg##name##_f32(rush_reduce_state *s, size_t n, const void *x, \
                              const rush_reduce_params *p) {                 \
    const float *v = x, m = kernel(n, x);                                    \
    (void)p;                                                                 \
    if (s->f != s->f || !((double)m op s->f || m != m)) return;              \
    s->f = (double)m;                                                        \
    size_t i = 0;                                                            \
    while (!(v[i] == m || v[i] != v[i])) i++;                                \
    s->i = s->count + (int64_t)i;                                            \
  }                                                                          \
  static void arg##name##_f64(rush_reduce_state *s, size_t n, const void *x, \
                              const rush_reduce_params *p) {                 \
    const double *v = x;                                                     \
    (void)p;                                                                 \
    for (size_t i = 0; i < n && s->f == s->f; i++) {                         \
      if (!(v[i] op s->f || v[i] != v[i])) continue;                         \
      s->f = v[i];                                                           \
      s->i = s->count + (int64_t)i;                                          \
    }                                                                        \
  }                                                                          \
  static void arg##name##_i64(rush_reduce_state *s, size_t n, const void *x, \
                              const rush_reduce_params *p) {                 \
    const int64_t *v = x;                                                    \
    (void)p;                                                                 \
    for (size_t i = 0; i < n; i++) {                                         \
      if (!(v[i] op s->value)) continue;                                     \
      s->value = v[i];                                                       \
      s->i = s->count + (int64_t)i;                                          \
    }                                                                        \
  }
ROWS(max, >, rush_max_f32)
ROWS(min, <, rush_min_f32)

static void max_columns(rush_reduce_state *s, size_t rows, size_t cols, const void *x,
                        size_t stride, const rush_reduce_params *p) {
  float acc[64];
  (void)p;
  for (size_t c = 0; c < cols; c++) acc[c] = (float)s[c].f;
  rush_max_columns_f32(rows, cols, x, stride, acc);
  for (size_t c = 0; c < cols; c++) s[c].f = (double)acc[c];
}
static void min_columns(rush_reduce_state *s, size_t rows, size_t cols, const void *x,
                        size_t stride, const rush_reduce_params *p) {
  float acc[64];
  (void)p;
  for (size_t c = 0; c < cols; c++) acc[c] = (float)s[c].f;
  rush_min_columns_f32(rows, cols, x, stride, acc);
  for (size_t c = 0; c < cols; c++) s[c].f = (double)acc[c];
}

/* returns value and index */
static void finish(const rush_reduce_state *s, const rush_reduce_params *p, rush_reduce_value *v) {
  (void)p;
  v[0] = (rush_reduce_value){s->f, s->value, 0};
  v[1].i = s->i;
}

#define MAX(d, k, label)        \
  {.dim = d,                    \
   .keepdim = k,                \
   .flags = RUSH_RED_NONEMPTY,  \
   .init_f = (double)-INFINITY, \
   .init_value = INT64_MIN,     \
   .f32 = max_f32,              \
   .f64 = max_f64,              \
   .i64 = max_i64,              \
   .columns = max_columns,      \
   .finish = finish,            \
   .name = label}
#define MIN(d, k, label)       \
  {.dim = d,                   \
   .keepdim = k,               \
   .flags = RUSH_RED_NONEMPTY, \
   .init_f = (double)INFINITY, \
   .init_value = INT64_MAX,    \
   .f32 = min_f32,             \
   .f64 = min_f64,             \
   .i64 = min_i64,             \
   .columns = min_columns,     \
   .finish = finish,           \
   .name = label}
#define ARGMAX(d, k, label, more)  \
  {.dim = d,                       \
   .keepdim = k,                   \
   .flags = RUSH_RED_INDEX | more, \
   .init_f = (double)-INFINITY,    \
   .init_value = INT64_MIN,        \
   .f32 = argmax_f32,              \
   .f64 = argmax_f64,              \
   .i64 = argmax_i64,              \
   .finish = finish,               \
   .name = label}
#define ARGMIN(d, k, label, more)  \
  {.dim = d,                       \
   .keepdim = k,                   \
   .flags = RUSH_RED_INDEX | more, \
   .init_f = (double)INFINITY,     \
   .init_value = INT64_MAX,        \
   .f32 = argmin_f32,              \
   .f64 = argmin_f64,              \
   .i64 = argmin_i64,              \
   .finish = finish,               \
   .name = label}
RUSH_REDUCE(amax) = MAX(1, 2, "amax");
RUSH_REDUCE(amin) = MIN(1, 2, "amin");
RUSH_REDUCE(max) = MAX(0, 0, "max");
RUSH_REDUCE(min) = MIN(0, 0, "min");
RUSH_REDUCE(max_dim) = ARGMAX(1, 2, "max", RUSH_RED_SECOND_INDEX);
RUSH_REDUCE(min_dim) = ARGMIN(1, 2, "min", RUSH_RED_SECOND_INDEX);
RUSH_REDUCE(argmax) = ARGMAX(1, 2, "argmax", RUSH_RED_TO_INT64 | RUSH_RED_SECOND_OUT);
RUSH_REDUCE(argmin) = ARGMIN(1, 2, "argmin", RUSH_RED_TO_INT64 | RUSH_RED_SECOND_OUT);

/* f and value hold the minimum, g and i the maximum. */
static void both_f32(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const float low = rush_min_f32(n, x), high = rush_max_f32(n, x);
  (void)p;
  if ((double)low < s->f || low != low) s->f = (double)low;
  if ((double)high > s->g || high != high) s->g = (double)high;
}
static void both_f64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) {
    if (v[i] < s->f || v[i] != v[i]) s->f = v[i];
    if (v[i] > s->g || v[i] != v[i]) s->g = v[i];
  }
}
static void both_i64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const int64_t *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) {
    if (v[i] < s->value) s->value = v[i];
    if (v[i] > s->i) s->i = v[i];
  }
}
static void finish_both(const rush_reduce_state *s, const rush_reduce_params *p,
                        rush_reduce_value *v) {
  (void)p;
  v[0] = (rush_reduce_value){s->f, s->value, 0};
  v[1] = (rush_reduce_value){s->g, s->i, 0};
}
RUSH_REDUCE(aminmax) = {.dim = 1,
                        .keepdim = 2,
                        .flags = RUSH_RED_NONEMPTY | RUSH_RED_SECOND_SAME,
                        .init_f = (double)INFINITY,
                        .init_g = (double)-INFINITY,
                        .init_value = INT64_MAX,
                        .init_i = INT64_MIN,
                        .f32 = both_f32,
                        .f64 = both_f64,
                        .i64 = both_i64,
                        .finish = finish_both,
                        .name = "aminmax"};
