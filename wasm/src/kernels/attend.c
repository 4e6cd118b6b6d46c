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
