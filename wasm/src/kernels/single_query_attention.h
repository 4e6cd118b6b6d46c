/* Attention of one query. Keys and values are read where they lie: rows of dense features, `row`
 * floats apart. */
#ifndef RUSH_SINGLE_QUERY_ATTENTION_H
#define RUSH_SINGLE_QUERY_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

/* x[j] = q[e] . k[j][e], for n keys. */
void rush_attention_scores(size_t n, size_t e, const float *q, const float *k, ptrdiff_t row,
                           float *x);
/* out[e] = the sum of w[j] * v[j][e] over n values. */
void rush_attention_sum(size_t n, size_t e, const float *w, const float *v, ptrdiff_t row,
                        float *out);

/* x[n] becomes softmax(scale * x + mask) but for a factor, which is returned: what is made of the
 * weights is multiplied by it. A row that is all -infinity becomes zeros. mask: n floats to add, or
 * NULL; keep: n bools, where 0 means -infinity, or NULL; not both. */
float rush_attention_row(size_t n, float *x, float scale, const float *mask, const uint8_t *keep);
/* The same in double and plain C, with the factor in it. */
void rush_attention_row_f64(size_t n, double *x, double scale, const double *mask,
                            const uint8_t *keep);

#endif
