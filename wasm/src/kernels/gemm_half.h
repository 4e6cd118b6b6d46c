/* Products of float32 rows and a packed matrix of float16 or bfloat16 (gemm.h with 2-byte items).
 * Elements are widened exactly as they are read, including infinities and NaN. Results are bitwise
 * equal to those of the same matrix in float32. */
#ifndef RUSH_GEMM_HALF_H
#define RUSH_GEMM_HALF_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* The arguments of rush_gemm_parallel, with n > 0. */
typedef struct rush_half_product {
  rush_dtype dtype; /* FLOAT16 or BFLOAT16 */
  bool finite;      /* for FLOAT16: the result of rush_half_is_finite */
  size_t m, n, k, lda, ldc;
  const float *a, *packed;
  float *c, min, max;
} rush_half_product;

/* Returns whether none of n elements is an infinity or NaN. For BFLOAT16 it returns true, because
 * the answer is not needed. */
bool rush_half_is_finite(rush_dtype dtype, size_t n, const uint16_t *x);
/* Computes the floats of scratch memory that a product needs on the threads of `ctx`. Returns false
 * on overflow. */
bool rush_half_scratch(const struct rush_ctx *ctx, const rush_half_product *p, size_t *floats);
/* Runs on all threads of the context, or on this one if it is NULL (see rush_parallel). `scratch`
 * is aligned to 64 bytes. */
void rush_half_gemm(struct rush_ctx *ctx, const rush_half_product *p, float *scratch);

#endif
