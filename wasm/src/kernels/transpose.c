#include "kernels/transpose.h"

#include <stdint.h>
#include <string.h>

#include "kernels/tile.h"

/* A block of BLOCK x BLOCK elements fits the L1 cache. */
enum { BLOCK = 32 };

#define TRANSPOSE_BLOCK(name, type)                                                              \
  RUSH_ALONE static void name(size_t rows, size_t columns, const type *from, ptrdiff_t from_row, \
                              type *to, ptrdiff_t to_row) {                                      \
    for (size_t i = 0; i < rows; i++)                                                            \
      for (size_t j = 0; j < columns; j++)                                                       \
        to[(ptrdiff_t)i * to_row + (ptrdiff_t)j] = from[(ptrdiff_t)j * from_row + (ptrdiff_t)i]; \
  }
typedef struct pair {
  uint64_t low, high;
} pair;
TRANSPOSE_BLOCK(block_1, uint8_t)
TRANSPOSE_BLOCK(block_2, uint16_t)
TRANSPOSE_BLOCK(block_4_any, uint32_t)
TRANSPOSE_BLOCK(block_8, uint64_t)
TRANSPOSE_BLOCK(block_16, pair)

RUSH_ALONE static void block_4(size_t rows, size_t columns, const uint32_t *from,
                               ptrdiff_t from_row, uint32_t *to, ptrdiff_t to_row) {
  size_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const float *f = (const float *)from + i;
    float *t = (float *)to + (ptrdiff_t)i * to_row;
    size_t j = 0;
    for (; j + 4 <= columns; j += 4, f += 4 * from_row, t += 4) {
      f4 a = f4_load(f), b = f4_load(f + from_row), c = f4_load(f + 2 * from_row),
         d = f4_load(f + 3 * from_row);
      f4_transpose(&a, &b, &c, &d);
      f4_store(t, a);
      f4_store(t + to_row, b);
      f4_store(t + 2 * to_row, c);
      f4_store(t + 3 * to_row, d);
    }
    if (columns - j == 3) { /* such as the channels of an RGB image */
      f4 a = f4_load(f), b = f4_load(f + from_row), c = f4_load(f + 2 * from_row), d = c;
      f4_transpose(&a, &b, &c, &d);
      f4_store_part(t, a, 3);
      f4_store_part(t + to_row, b, 3);
      f4_store_part(t + 2 * to_row, c, 3);
      f4_store_part(t + 3 * to_row, d, 3);
      continue;
    }
    block_4_any(4, columns - j, from + (ptrdiff_t)j * from_row + (ptrdiff_t)i, from_row,
                to + (ptrdiff_t)i * to_row + (ptrdiff_t)j, to_row);
  }
  block_4_any(rows - i, columns, from + i, from_row, to + (ptrdiff_t)i * to_row, to_row);
}

void rush_transpose(size_t size, size_t rows, size_t columns, const void *from, ptrdiff_t from_row,
                    void *to, ptrdiff_t to_row) {
  const ptrdiff_t bytes = (ptrdiff_t)size;
  for (size_t i = 0; i < rows; i += BLOCK) {
    const size_t m = rows - i < BLOCK ? rows - i : BLOCK;
    for (size_t j = 0; j < columns; j += BLOCK) {
      const size_t n = columns - j < BLOCK ? columns - j : BLOCK;
      const char *f = (const char *)from + ((ptrdiff_t)j * from_row + (ptrdiff_t)i) * bytes;
      char *t = (char *)to + ((ptrdiff_t)i * to_row + (ptrdiff_t)j) * bytes;
      switch (size) {
        case 1:
          block_1(m, n, (const void *)f, from_row, (void *)t, to_row);
          break;
        case 2:
          block_2(m, n, (const void *)f, from_row, (void *)t, to_row);
          break;
        case 4:
          block_4(m, n, (const void *)f, from_row, (void *)t, to_row);
          break;
        case 8:
          block_8(m, n, (const void *)f, from_row, (void *)t, to_row);
          break;
        default:
          block_16(m, n, (const void *)f, from_row, (void *)t, to_row);
          break;
      }
    }
  }
}

void rush_reverse_4(size_t n, void *out, const void *in) {
  float *to = out;
  const float *end = (const float *)in + n;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const f4 v = f4_load(end - i - 4);
    f4_store(to + i, __builtin_shufflevector(v, v, 3, 2, 1, 0));
  }
  for (; i < n; i++) memcpy(to + i, end - i - 1, sizeof *to);
}
