/* Attention of a single query. Keys and values are read in place: rows with contiguous features,
 * `row` floats apart. */
#ifndef RUSH_SINGLE_QUERY_ATTENTION_H
#define RUSH_SINGLE_QUERY_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

/* Computes x[j] = q[e] . k[j][e] for n keys. */
void rush_attention_scores(size_t n, size_t e, const float *q, const float *k, ptrdiff_t row,
                           float *x);
/* Computes out[e] = sum of w[j] * v[j][e] over n values. */
void rush_attention_sum(size_t n, size_t e, const float *w, const float *v, ptrdiff_t row,
                        float *out);

/* Replaces x[n] by softmax(scale * x + mask), up to a factor, which is returned and must be applied
 * to the weighted sum. A row of -infinity becomes zeros. mask: n floats to add, or NULL. keep: n
 * bools, where 0 means -infinity, or NULL. At most one of them may be given. */
float rush_attention_row(size_t n, float *x, float scale, const float *mask, const uint8_t *keep);

#endif
