/* Elements of one row that are copied and converted: convert.c, copy_fp16.c. */
#ifndef RUSH_COPY_ROW_H
#define RUSH_COPY_ROW_H

#include "tensor/dtype.h"

/* n elements, of dtype `fd` and a step in bytes, become elements of `td`, as Tensor.copy_ converts them. */
typedef void rush_copy_row_fn(rush_dtype td, char *to, int64_t to_step, rush_dtype fd,
                              const char *from, int64_t from_step, int64_t n);
rush_copy_row_fn rush_copy_row;
/* Where one of the two is a half, or both are: many at a time. Slim sets it to NULL, as kernels/optional.h says,
 * where files name no halves. Without it they are converted one by one. */
extern rush_copy_row_fn *const rush_optional_copy_halves;

#endif
