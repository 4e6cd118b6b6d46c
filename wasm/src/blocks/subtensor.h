/* Parts of a tensor, as select, slice and diagonal define them. Views read them, and select_scatter
 * and slice_scatter write them. The parts are headers on the stack that hold no reference. */
#ifndef RUSH_SUBTENSOR_H
#define RUSH_SUBTENSOR_H

#include "call/call.h"

/* Computes t.select(dim, index) from arguments `at` and `at` + 1 of the call. */
rush_status rush_subtensor_select(const rush_call *c, uint32_t at, const rush_tensor *t,
                                  rush_tensor *part);
/* Computes t.slice(dim, start, end, step) from arguments `at` to `at` + 3. */
rush_status rush_subtensor_slice(const rush_call *c, uint32_t at, const rush_tensor *t,
                                 rush_tensor *part);
/* Computes t.diagonal(offset, dim1, dim2) from arguments `at` to `at` + 2. */
rush_status rush_subtensor_diagonal(const rush_call *c, uint32_t at, const rush_tensor *t,
                                    rush_tensor *part);

#endif
