#include "kernels/attend.h"

#include <stdbool.h>

#include "kernels/math_inline.h"
#include "kernels/tile.h"

/* Masks a row's logits in place and says their maximum (-infinity for none, NaN where one is). */
static float prepare(size_t n, float *x, float scale, const float *mask, const uint8_t *keep) {
  const f4 s = f4_set(scale);
  f4 best = f4_set(-INFINITY);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    f4 v = f4_load(x + i) * s;
    if (mask != NULL) v += f4_load(mask + i);
    if (keep != NULL) {
      const i4 drop = {-!keep[i], -!keep[i + 1], -!keep[i + 2], -!keep[i + 3]};
      v = f4_select(drop, f4_set(-INFINITY), v);
    }
    f4_store(x + i, v);
    best = f4_max(best, v);
  }
  float most = -INFINITY;
  for (int t = 0; t < 4; t++) most = best[t] > most || best[t] != best[t] ? best[t] : most;
  for (; i < n; i++) {
    float v = x[i] * scale;
    if (mask != NULL) v += mask[i];
    if (keep != NULL && !keep[i]) v = -INFINITY;
    x[i] = v;
    most = v > most || v != v ? v : most;
  }
  return most;
}

void rush_attention_row(size_t n, float *x, float scale, const float *mask, const uint8_t *keep) {
  const float most = prepare(n, x, scale, mask, keep);
  if (most == -INFINITY) {
    memset(x, 0, n * sizeof *x);
    return;
  }
  if (most != most || most == INFINITY) { /* as exp(x - most) would have it */
    for (size_t i = 0; i < n; i++) x[i] = NAN;
    return;
  }
  f4 sums = f4_set(0);
  const f4 top = f4_set(most);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const f4 e = f4_exp_negative(f4_load(x + i) - top);
    f4_store(x + i, e);
    sums += e;
  }
  if (i < n) {
    const size_t left = n - i;
    f4 e = f4_exp_negative(f4_load_part(x + i, left) - top);
    for (size_t t = left; t < 4; t++) e[t] = 0;
    f4_store_part(x + i, e, left);
    sums += e;
  }
  const f4 factor = f4_set(1 / f4_sum(sums));
  for (i = 0; i + 4 <= n; i += 4) f4_store(x + i, f4_load(x + i) * factor);
  for (; i < n; i++) x[i] *= factor[0];
}

/* The dot products of q with `count` rows of k, at most 4. */
RUSH_INLINE void some_scores(size_t count, size_t e, const float *q, const float *k, ptrdiff_t row,
                             float *x) {
  f4 sums[4] = {f4_zero(), f4_zero(), f4_zero(), f4_zero()};
  size_t i = 0;
  for (; i + 4 <= e; i += 4) {
    const f4 features = f4_load(q + i);
    for (size_t j = 0; j < count; j++)
      sums[j] = f4_madd(features, f4_load(k + (ptrdiff_t)j * row + i), sums[j]);
  }
  for (size_t j = 0; j < count; j++) {
    x[j] = f4_sum(sums[j]);
    for (size_t t = i; t < e; t++) x[j] += q[t] * k[(ptrdiff_t)j * row + (ptrdiff_t)t];
  }
}

void rush_attention_scores(size_t n, size_t e, const float *q, const float *k, ptrdiff_t row,
                           float *x) {
  size_t j = 0;
  for (; j + 4 <= n; j += 4) some_scores(4, e, q, k + (ptrdiff_t)j * row, row, x + j);
  for (; j < n; j++) some_scores(1, e, q, k + (ptrdiff_t)j * row, row, x + j);
}

void rush_attention_sum(size_t n, size_t e, const float *w, const float *v, ptrdiff_t row,
                        float *out) {
  size_t i = 0;
  for (; i + 16 <= e; i += 16) {
    f4 sums[4] = {f4_zero(), f4_zero(), f4_zero(), f4_zero()};
    const float *at = v + i;
    for (size_t j = 0; j < n; j++, at += row) {
      const f4 weight = f4_set(w[j]);
      for (int t = 0; t < 4; t++) sums[t] = f4_madd(weight, f4_load(at + 4 * t), sums[t]);
    }
    for (int t = 0; t < 4; t++) f4_store(out + i + 4 * t, sums[t]);
  }
  for (; i < e; i++) {
    float sum = 0;
    for (size_t j = 0; j < n; j++) sum += w[j] * v[(ptrdiff_t)j * row + (ptrdiff_t)i];
    out[i] = sum;
  }
}

void rush_attention_row_f64(size_t n, double *x, double scale, const double *mask,
                            const uint8_t *keep) {
  double most = (double)-INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) {
    x[i] *= scale;
    if (mask != NULL) x[i] += mask[i];
    if (keep != NULL && !keep[i]) x[i] = (double)-INFINITY;
    most = x[i] > most || x[i] != x[i] ? x[i] : most;
  }
  const bool none = most == (double)-INFINITY;
  for (size_t i = 0; i < n; i++) sum += x[i] = none ? 0 : exp(x[i] - most);
  for (size_t i = 0; i < n && !none; i++) x[i] /= sum;
}
