/* Python values as a whole: equality, order, text. */
#ifndef RUSH_VALUES_H
#define RUSH_VALUES_H

#include "tensor/value.h"

/* a == b of numbers (an int and a float as doubles), bools, strings, devices, lists, tuples and
 * dicts of them, None. Other objects, tensors among them, are equal to themselves only. This and
 * the next two fail for values that are nested too deeply. */
rush_status rush_values_equal(rush_ctx *ctx, const rush_value *a, const rush_value *b, bool *out);
/* a < b of two numbers, strings, or tuples of them; false for what has no order. */
rush_status rush_values_less(rush_ctx *ctx, const rush_value *a, const rush_value *b, bool *out);
/* Whether one of `n` values, `step` apart, is equal to `v`; *at is its index, or n. */
rush_status rush_values_find(rush_ctx *ctx, const rush_value *values, size_t n, size_t step,
                             const rush_value *v, size_t *at);

/* A new complex number: the element at `at`. */
rush_status rush_complex_at(rush_heap *heap, rush_dtype dtype, const void *at, rush_value *out);

/* Appends the text that libtorch's `str()` and `format` give: `1.`, `[x, y]`, `[ CPUFloatType{2}
 * ]`. */
rush_status rush_repr(rush_heap *heap, rush_text *text, const rush_value *v);

/* A new string of a text, whose memory is given back; reports a text that failed. */
rush_status rush_str_of_text(rush_heap *heap, rush_text *text, rush_value *out);

#endif
