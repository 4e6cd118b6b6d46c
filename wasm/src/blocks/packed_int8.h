/* int8 weights, packed for the kernels in kernels/int8.h, and quantized rows to multiply with
 * them. */
#ifndef RUSH_PACKED_INT8_H
#define RUSH_PACKED_INT8_H

#include "blocks/packed.h"
#include "kernels/int8.h"

/* Returns a constant argument of prepare, or NULL if it is not constant or not a contiguous tensor
 * with data, this dtype and this rank. It never accepts placed tensors. */
const rush_tensor *rush_constant_of(const rush_prepare *p, uint32_t arg, rush_dtype dtype,
                                    int rank);

/* Sets p->packed to n packed columns of k weights; see rush_int8_pack. */
rush_status rush_int8_prepare(rush_prepare *p, size_t n, size_t k, const int8_t *w,
                              const float *scales, const int32_t *zeros, const float *bias);

/* Does the same for one call, if the weights are not constant. */
rush_status rush_int8_pack_call(rush_call *c, size_t n, size_t k, const int8_t *w,
                                const float *scales, const int32_t *zeros, const float *bias,
                                const void **packed);

/* Allocates m rows of k for this call. */
rush_status rush_int8_rows_new(rush_call *c, int64_t m, int64_t k, rush_int8_rows *rows);

/* Refuses sums of more than `most` products. RUSH_INT8_LONGEST of them take so little time for the
 * rows and columns that a kernel computes at once that a stop request need not divide them. */
enum { RUSH_INT8_LONGEST = 1 << 22 };
rush_status rush_check_int8_sum(rush_ctx *ctx, size_t n, size_t most);

/* Computes y[m][n] = x[m][k] * packed, where ldx is x's row stride. Like PyTorch's
 * quantized::linear_dynamic, it quantizes all of x with a single scale, to `levels` steps (1 to
 * 255). `rows` is scratch memory for m rows of k. */
rush_status rush_int8_dynamic(rush_ctx *ctx, int64_t levels, const float *x, size_t ldx,
                              const rush_int8_rows *rows, size_t n, const void *packed, float *y);

#endif
