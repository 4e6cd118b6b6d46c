/* Equality, order and text of Python values. */
#ifndef RUSH_VALUES_H
#define RUSH_VALUES_H

#include "tensor/value.h"

/* Computes a == b for numbers (an int and a float compare as doubles), bools, strings, devices,
 * None, and lists, tuples and dicts of them. Other objects, including tensors, are only equal to
 * themselves. This function and the next two fail if values are nested too deeply. */
rush_status rush_values_equal(rush_ctx *ctx, const rush_value *a, const rush_value *b, bool *out);
/* Computes a < b for two numbers, strings, or tuples of them. The result is false for values
 * without an order. */
rush_status rush_values_less(rush_ctx *ctx, const rush_value *a, const rush_value *b, bool *out);
/* Returns whether one of `n` values, `step` apart, equals `v`. *at is its index, or n. */
rush_status rush_values_find(rush_ctx *ctx, const rush_value *values, size_t n, size_t step,
                             const rush_value *v, size_t *at);

/* Creates a complex number from the element at `at`. */
rush_status rush_complex_at(rush_heap *heap, rush_dtype dtype, const void *at, rush_value *out);

/* Appends the text that libtorch's `str()` and `format` produce: `1.`, `[x, y]`, `[ CPUFloatType{2}
 * ]`. */
rush_status rush_repr(rush_heap *heap, rush_text *text, const rush_value *v);

/* Creates a string from a text and frees the text. Reports the failure if the text failed. */
rush_status rush_str_of_text(rush_heap *heap, rush_text *text, rush_value *out);

#endif
