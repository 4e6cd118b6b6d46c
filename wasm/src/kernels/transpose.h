/* Transposition and reversal of arrays. */
#ifndef RUSH_TRANSPOSE_H
#define RUSH_TRANSPOSE_H

#include <stddef.h>

/* Computes to[i * to_row + j] = from[j * from_row + i] for i < rows, j < columns. Rows of both
 * matrices are dense, with elements of `size` bytes (1, 2, 4, 8 or 16). Strides are in elements.
 * The matrices must not overlap. */
void rush_transpose(size_t size, size_t rows, size_t columns, const void *from, ptrdiff_t from_row,
                    void *to, ptrdiff_t to_row);
/* Computes out[i] = in[n - 1 - i] for 4-byte items. The arrays must not overlap. */
void rush_reverse_4(size_t n, void *out, const void *in);

#endif
