/* A part of a tensor along one dimension: what select and slice mean, for those who read it (the
 * views) and those who write it (select_scatter, slice_scatter). The parts are headers on the stack
 * without a count. */
#ifndef RUSH_SUBTENSOR_H
#define RUSH_SUBTENSOR_H

#include "call/call.h"

/* t.select(dim, index): arguments `at` and `at` + 1 of the call. */
rush_status rush_subtensor_select(const rush_call *c, uint32_t at, const rush_tensor *t,
                                  rush_tensor *part);
/* t.slice(dim, start, end, step): arguments `at` to `at` + 3. */
rush_status rush_subtensor_slice(const rush_call *c, uint32_t at, const rush_tensor *t,
                                 rush_tensor *part);
/* t.diagonal(offset, dim1, dim2): arguments `at` to `at` + 2. */
rush_status rush_subtensor_diagonal(const rush_call *c, uint32_t at, const rush_tensor *t,
                                    rush_tensor *part);

#endif
