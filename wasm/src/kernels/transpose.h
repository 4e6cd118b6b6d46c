/* Moving elements from one order of dimensions to another. */
#ifndef RUSH_TRANSPOSE_H
#define RUSH_TRANSPOSE_H

#include <stddef.h>

/* to[i * to_row + j] = from[j * from_row + i], i < rows, j < columns: the transpose of a matrix
 * whose rows, in both places, are dense runs of elements of `size` bytes (1, 2, 4 or 8; 16 works
 * too). Strides in elements. No overlap. */
void rush_transpose(size_t size, size_t rows, size_t columns, const void *from, ptrdiff_t from_row,
                    void *to, ptrdiff_t to_row);
/* out[i] = in[n - 1 - i], of items of 4 bytes; the two do not overlap. */
void rush_reverse_4(size_t n, void *out, const void *in);

#endif
