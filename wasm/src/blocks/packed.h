/* Packed weights that an operator's prepare function makes: floats after a header, owned by the
 * model. */
#ifndef RUSH_PACKED_H
#define RUSH_PACKED_H

#include "call/call.h"

/* Computes c's result: the rows times c->packed, which holds n columns of k half-precision
 * numbers. */
struct rush_linear_rows;
typedef rush_status rush_halves_fn(rush_call *c, const struct rush_linear_rows *rows, size_t n,
                                   size_t k, float min, float max);

typedef struct rush_packed_floats {
  rush_packed base;
  void *memory; /* the allocation that contains this header, and its size */
  size_t bytes;
  float *data;            /* aligned for the kernels */
  size_t floats;          /* number of floats */
  rush_halves_fn *halves; /* for a half-precision matrix (rush_linear_run), or NULL */
  rush_dtype dtype;       /* its dtype: FLOAT16 or BFLOAT16 */
  bool finite;            /* whether it has no infinity or NaN */
} rush_packed_floats;

/* Sets p->packed to a new object with uninitialized floats. */
rush_status rush_packed_new(rush_prepare *p, size_t floats, rush_packed_floats **out);

static inline const float *rush_packed_data(const rush_packed *packed) {
  return packed == NULL ? NULL : ((const rush_packed_floats *)packed)->data;
}

/* Returns a constant tensor argument of prepare, or NULL if it is not constant or has no data.
 * While placing, tensors that will have data count. rush_constant_f32 also requires float32. */
const rush_tensor *rush_constant_tensor(const rush_prepare *p, uint32_t arg);
const rush_tensor *rush_constant_f32(const rush_prepare *p, uint32_t arg);
/* Returns whether argument `arg` is a constant Scalar (or float, or int) with this value. */
bool rush_constant_is(const rush_prepare *p, uint32_t arg, double value);
/* Returns whether argument `arg` is None or a contiguous float32 bias of size n. While placing,
 * half-precision biases count as well, because they will be widened. *out is NULL for None, and
 * while placing. */
bool rush_constant_bias(const rush_prepare *p, uint32_t arg, int64_t n, const float **out);

#endif
