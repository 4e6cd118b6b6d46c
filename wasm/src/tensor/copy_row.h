/* Copies and conversions of one row of elements, for convert.c and copy_fp16.c. */
#ifndef RUSH_COPY_ROW_H
#define RUSH_COPY_ROW_H

#include "tensor/dtype.h"

/* Converts n elements of dtype `fd` to `td` as Tensor.copy_ does. Steps are in bytes. */
typedef void rush_copy_row_fn(rush_dtype td, char *to, int64_t to_step, rush_dtype fd,
                              const char *from, int64_t from_step, int64_t n);
rush_copy_row_fn rush_copy_row;
/* Handles rows in which one dtype, or both, are half-precision. `slim` sets it to NULL if no file
 * uses them (see kernels/optional.h). Without it, elements are converted one by one. */
extern rush_copy_row_fn *const rush_optional_copy_halves;

#endif
