/* One row of attention weights. */
#ifndef RUSH_ATTEND_H
#define RUSH_ATTEND_H

#include <stddef.h>
#include <stdint.h>

/* x[n] becomes softmax(scale * x + mask); a row that is all -infinity becomes zeros. mask: n floats
 * to add, or NULL; keep: n bools, where 0 means -infinity, or NULL. */
void rush_attention_row(size_t n, float *x, float scale, const float *mask, const uint8_t *keep);
/* The same in double and plain C. */
void rush_attention_row_f64(size_t n, double *x, double scale, const double *mask,
                            const uint8_t *keep);

#endif
