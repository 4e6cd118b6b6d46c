/* Matrix products of every dtype in plain C, with arbitrary strides in elements. float32 has a
 * faster version (gemm.h), for which this is the reference. Integers wrap. */
#ifndef RUSH_GEMM_ANY_H
#define RUSH_GEMM_ANY_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>

/* Computes c[m][n] = a[m][k] * b[k][n], or adds it to c if `add` is true. c must not overlap a or
 * b. dtype is one of two floating-point or three integer dtypes. */
typedef void rush_gemm_any_fn(rush_dtype dtype, bool add, size_t m, size_t n, size_t k,
                              const void *a, ptrdiff_t a_row, ptrdiff_t a_col, const void *b,
                              ptrdiff_t b_row, ptrdiff_t b_col, void *c, ptrdiff_t c_row);
rush_gemm_any_fn rush_gemm_any;

#endif
