#include "kernels/reduction.h"

#include "kernels/simd.h"

enum { BLOCK = 256 };

static double lanes(f4 v) {
  return ((double)v[0] + (double)v[1]) + ((double)v[2] + (double)v[3]);
}

/* Sums f(x) over blocks, where x is a vector of four elements. Elements past the end are 0, for
 * which f must return 0. */
#define SUM_F32(n, data, x, f, tail)                                  \
  double total = 0;                                                   \
  for (size_t at = 0; at < (n); at += BLOCK) {                        \
    const size_t m = (n) - at < BLOCK ? (n) - at : BLOCK;             \
    const float *p = (data) + at;                                     \
    f4 a = f4_zero(), b = f4_zero(), c = f4_zero(), d = f4_zero(), x; \
    size_t i = 0;                                                     \
    for (; i + 16 <= m; i += 16) {                                    \
      x = f4_load(p + i), a += f;                                     \
      x = f4_load(p + i + 4), b += f;                                 \
      x = f4_load(p + i + 8), c += f;                                 \
      x = f4_load(p + i + 12), d += f;                                \
    }                                                                 \
    for (; i + 4 <= m; i += 4) x = f4_load(p + i), a += f;            \
    double rest = 0;                                                  \
    for (; i < m; i++) rest += tail;                                  \
    total += lanes((a + b) + (c + d)) + rest;                         \
  }                                                                   \
  return total;

double rush_sum_f32(size_t n, const float *data) {
  SUM_F32(n, data, x, x, (double)p[i])
}
double rush_sum_squares_f32(size_t n, const float *data, float shift) {
  const f4 s = f4_set(shift);
  SUM_F32(n, data, x, (x - s) * (x - s),
          ((double)p[i] - (double)shift) * ((double)p[i] - (double)shift))
}
double rush_sum_abs_f32(size_t n, const float *data) {
  SUM_F32(n, data, x, f4_abs(x), (double)fabsf(p[i]))
}

double rush_sum_f64(size_t n, const double *x) {
  double total = 0;
  for (size_t at = 0; at < n; at += BLOCK) {
    const size_t m = n - at < BLOCK ? n - at : BLOCK;
    double s[4] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + 4 <= m; i += 4)
      for (int k = 0; k < 4; k++) s[k] += x[at + i + (size_t)k];
    for (; i < m; i++) s[0] += x[at + i];
    total += (s[0] + s[1]) + (s[2] + s[3]);
  }
  return total;
}
double rush_sum_squares_f64(size_t n, const double *x, double shift) {
  double total = 0;
  for (size_t at = 0; at < n; at += BLOCK) {
    const size_t m = n - at < BLOCK ? n - at : BLOCK;
    double s = 0;
    for (size_t i = 0; i < m; i++) s += (x[at + i] - shift) * (x[at + i] - shift);
    total += s;
  }
  return total;
}

/* ---- Maximum and minimum --------------------------------------------------------------------- */

RUSH_INLINE f4 greater(f4 x, f4 m) {
  return f4_select((x > m) | (x != x), x, m);
}
RUSH_INLINE f4 lesser(f4 x, f4 m) {
  return f4_select((x < m) | (x != x), x, m);
}
static float greater1(float x, float m) {
  return x > m || x != x ? x : m;
}
static float lesser1(float x, float m) {
  return x < m || x != x ? x : m;
}

#define EXTREME(name, pick, pick1)                        \
  float name(size_t n, const float *x) {                  \
    float best = x[0];                                    \
    size_t i = 0;                                         \
    if (n >= 8) {                                         \
      f4 a = f4_load(x), b = f4_load(x + 4);              \
      for (i = 8; i + 8 <= n; i += 8) {                   \
        a = pick(f4_load(x + i), a);                      \
        b = pick(f4_load(x + i + 4), b);                  \
      }                                                   \
      a = pick(b, a);                                     \
      best = pick1(pick1(a[0], a[1]), pick1(a[2], a[3])); \
    }                                                     \
    for (; i < n; i++) best = pick1(x[i], best);          \
    return best;                                          \
  }
EXTREME(rush_max_f32, greater, greater1)
EXTREME(rush_min_f32, lesser, lesser1)

/* ---- Columns --------------------------------------------------------------------------------- */

#define COLUMNS(name, step, step1)                                                 \
  void name(size_t rows, size_t cols, const float *x, size_t stride, float *acc) { \
    size_t j = 0;                                                                  \
    for (; j + 16 <= cols; j += 16) {                                              \
      f4 a = f4_load(acc + j), b = f4_load(acc + j + 4), c = f4_load(acc + j + 8), \
         d = f4_load(acc + j + 12);                                                \
      const float *p = x + j;                                                      \
      for (size_t i = 0; i < rows; i++, p += stride) {                             \
        a = step(f4_load(p), a);                                                   \
        b = step(f4_load(p + 4), b);                                               \
        c = step(f4_load(p + 8), c);                                               \
        d = step(f4_load(p + 12), d);                                              \
      }                                                                            \
      f4_store(acc + j, a), f4_store(acc + j + 4, b), f4_store(acc + j + 8, c),    \
          f4_store(acc + j + 12, d);                                               \
    }                                                                              \
    for (; j + 4 <= cols; j += 4) {                                                \
      f4 a = f4_load(acc + j);                                                     \
      const float *p = x + j;                                                      \
      for (size_t i = 0; i < rows; i++, p += stride) a = step(f4_load(p), a);      \
      f4_store(acc + j, a);                                                        \
    }                                                                              \
    for (; j < cols; j++) {                                                        \
      float a = acc[j];                                                            \
      for (size_t i = 0; i < rows; i++) a = step1(x[i * stride + j], a);           \
      acc[j] = a;                                                                  \
    }                                                                              \
  }
RUSH_INLINE f4 plus(f4 x, f4 m) {
  return x + m;
}
static float plus1(float x, float m) {
  return x + m;
}
COLUMNS(rush_sum_columns_f32, plus, plus1)
COLUMNS(rush_max_columns_f32, greater, greater1)
COLUMNS(rush_min_columns_f32, lesser, lesser1)
