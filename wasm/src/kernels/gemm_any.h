/* Matrix products of every dtype, in plain C; any strides, in elements. float32 has its own
 * (gemm.h); here it is the reference. Integers wrap. */
#ifndef RUSH_GEMM_ANY_H
#define RUSH_GEMM_ANY_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>

/* c[m][n] = a[m][k] * b[k][n]. c does not overlap a or b. dtype: one of the two floating or three
 * integer ones. */
typedef void rush_gemm_any_fn(rush_dtype dtype, size_t m, size_t n, size_t k, const void *a,
                              ptrdiff_t a_row, ptrdiff_t a_col, const void *b, ptrdiff_t b_row,
                              ptrdiff_t b_col, void *c, ptrdiff_t c_row);
rush_gemm_any_fn rush_gemm_any;

#endif
