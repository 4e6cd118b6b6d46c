/* Packed weights that an operator's prepare makes: floats behind a header, owned by the model. */
#ifndef RUSH_PACKED_H
#define RUSH_PACKED_H

#include "call/call.h"

/* c's result: rows times c->packed, which are n columns of k halves. */
struct rush_linear_rows;
typedef rush_status rush_halves_fn(rush_call *c, const struct rush_linear_rows *rows, size_t n,
                                   size_t k, float min, float max);

typedef struct rush_packed_floats {
  rush_packed base;
  void *memory; /* the block that this lies in, and its size */
  size_t bytes;
  float *data;            /* aligned as kernels want it, */
  size_t floats;          /* so many */
  rush_halves_fn *halves; /* of a matrix of halves: rush_linear_run; else NULL */
  rush_dtype dtype;       /* of such: FLOAT16 or BFLOAT16, */
  bool finite;            /* and whether none is an infinity or NaN */
} rush_packed_floats;

/* Sets p->packed to a new one, its floats not set. */
rush_status rush_packed_new(rush_prepare *p, size_t floats, rush_packed_floats **out);

static inline const float *rush_packed_data(const rush_packed *packed) {
  return packed == NULL ? NULL : ((const rush_packed_floats *)packed)->data;
}

/* A constant argument of prepare: NULL where it is none, or not a tensor with data (while placing: that
 * will have data); and such a one of float32. */
const rush_tensor *rush_constant_tensor(const rush_prepare *p, uint32_t arg);
const rush_tensor *rush_constant_f32(const rush_prepare *p, uint32_t arg);
/* Whether argument `arg` is a constant Scalar (or float, or int) of this value. */
bool rush_constant_is(const rush_prepare *p, uint32_t arg, double value);
/* A bias, `arg` being None or float32 (while placing: or halves, to be widened) of rank 1 and size n, contiguous; false otherwise. *out is
 * NULL for None, and while placing. */
bool rush_constant_bias(const rush_prepare *p, uint32_t arg, int64_t n, const float **out);

#endif
