/* Products of float32 rows and a matrix of float16 or bfloat16 that is packed as such (gemm.h, items of 2
 * bytes). Elements are widened as they are read, exactly, infinities and NaN, too: results are, to the
 * bit, those of the same matrix in float32. */
#ifndef RUSH_GEMM_HALF_H
#define RUSH_GEMM_HALF_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* A product as rush_gemm_parallel makes it, n > 0. */
typedef struct rush_half_product {
  rush_dtype dtype; /* FLOAT16 or BFLOAT16 */
  bool finite;      /* of FLOAT16: as rush_half_is_finite says */
  size_t m, n, k, lda, ldc;
  const float *a, *packed;
  float *c, min, max;
} rush_half_product;

/* Whether of n elements none is an infinity or NaN; true of BFLOAT16, of which nobody asks. */
bool rush_half_is_finite(rush_dtype dtype, size_t n, const uint16_t *x);
/* Floats of the scratch memory that a product takes on the threads of `ctx`; false where that overflows. */
bool rush_half_scratch(const struct rush_ctx *ctx, const rush_half_product *p, size_t *floats);
/* On all threads of the context (NULL: this one), see rush_parallel. `scratch` is aligned to 64 bytes. */
void rush_half_gemm(struct rush_ctx *ctx, const rush_half_product *p, float *scratch);

#endif
