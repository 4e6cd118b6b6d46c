/* Weights of 8-bit integers in the form that kernels/int8.h multiplies, and rows to multiply by them. */
#ifndef RUSH_PACKED_INT8_H
#define RUSH_PACKED_INT8_H

#include "blocks/packed.h"
#include "kernels/int8.h"

/* A constant argument of prepare: NULL where it is none, or not a row-major tensor of that dtype and
 * rank with data. Nothing is placed. */
const rush_tensor *rush_constant_of(const rush_prepare *p, uint32_t arg, rush_dtype dtype,
                                    int rank);

/* Sets p->packed to n columns of k weights; see rush_int8_pack. */
rush_status rush_int8_prepare(rush_prepare *p, size_t n, size_t k, const int8_t *w,
                              const float *scales, const int32_t *zeros, const float *bias);

/* The same for one call, where the weights are no constants. */
rush_status rush_int8_pack_call(rush_call *c, size_t n, size_t k, const int8_t *w,
                                const float *scales, const int32_t *zeros, const float *bias,
                                const void **packed);

/* Memory for m rows of k, for this call. */
rush_status rush_int8_rows_new(rush_call *c, int64_t m, int64_t k, rush_int8_rows *rows);

/* y[m][n] = x[m][k] * packed, x of row stride ldx: as PyTorch's quantized::linear_dynamic, which quantizes all of x
 * by one scale, to integers of `levels` steps (1 to 255). rows: of m and k, for its work. */
rush_status rush_int8_dynamic(rush_ctx *ctx, int64_t levels, const float *x, size_t ldx,
                              const rush_int8_rows *rows, size_t n, const void *packed, float *y);

#endif
