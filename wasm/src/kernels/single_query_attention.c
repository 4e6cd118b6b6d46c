#include "kernels/single_query_attention.h"

#include <stdbool.h>

#include "kernels/elementary_inline.h"
#include "kernels/tile.h"

/* Returns four scaled logits from i on. Lanes beyond `left` are -infinity. */
RUSH_INLINE f4 logits_at(const float *x, size_t i, size_t left, f4 scale, const float *mask,
                         const uint8_t *keep) {
  f4 v = f4_load_up_to(x + i, left) * scale;
  if (mask != NULL) v += f4_load_up_to(mask + i, left);
  i4 drop;
  for (size_t t = 0; t < 4; t++) drop[t] = -(t >= left || (keep != NULL && !keep[i + t]));
  return f4_select(drop, f4_set(-INFINITY), v);
}

/* Both passes compute the scaled logits, which is cheaper than storing them. */
RUSH_INLINE float weigh(size_t n, float *x, float scale, const float *mask, const uint8_t *keep) {
  const f4 by = f4_set(scale);
  f4 best = f4_set(-INFINITY);
  i4 odd = i4_set(0);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const f4 v = logits_at(x, i, 4, by, mask, keep);
    best = f4_more(v, best);
    odd |= v != v;
  }
  const f4 last = logits_at(x, i, n - i, by, mask, keep);
  best = f4_more(last, best);
  odd |= last != last;
  float most = best[0];
  for (int t = 1; t < 4; t++) most = best[t] > most ? best[t] : most;
  if (i4_any(odd) || most == INFINITY) { /* exp(x - most) would be NaN */
    for (i = 0; i < n; i++) x[i] = NAN;
    return 1;
  }
  if (most == -INFINITY) {
    memset(x, 0, n * sizeof *x);
    return 1;
  }
  const f4 top = f4_set(most);
  f4 sums = f4_zero();
  for (i = 0; i + 4 <= n; i += 4) {
    const f4 e = f4_exp_negative(logits_at(x, i, 4, by, mask, keep) - top);
    f4_store(x + i, e);
    sums += e;
  }
  const f4 e = f4_exp_negative(last - top);
  f4_store_part(x + i, e, n - i);
  return 1 / f4_sum(sums + e);
}

float rush_attention_row(size_t n, float *x, float scale, const float *mask, const uint8_t *keep) {
  if (mask != NULL) return weigh(n, x, scale, mask, NULL);
  return keep != NULL ? weigh(n, x, scale, NULL, keep) : weigh(n, x, scale, NULL, NULL);
}

/* Computes the dot products of q with at most 4 rows of k. */
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
