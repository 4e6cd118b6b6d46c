#include "kernels/gemm_any.h"

#include <stdint.h>

/* Computes c row by row. It adds up rows of b while they fit the L1 cache. */
#define GEMM(name, type, sum_type)                                                            \
  static void name(bool add, size_t m, size_t n, size_t k, const type *a, ptrdiff_t a_row,    \
                   ptrdiff_t a_col, const type *b, ptrdiff_t b_row, ptrdiff_t b_col, type *c, \
                   ptrdiff_t c_row) {                                                         \
    enum { BLOCK = 256 };                                                                     \
    sum_type sum[BLOCK];                                                                      \
    for (size_t i = 0; i < m; i++) {                                                          \
      for (size_t j = 0; j < n; j += BLOCK) {                                                 \
        const size_t columns = n - j < BLOCK ? n - j : BLOCK;                                 \
        for (size_t t = 0; t < columns; t++)                                                  \
          sum[t] = add ? (sum_type)c[(ptrdiff_t)i * c_row + (ptrdiff_t)(j + t)] : 0;          \
        for (size_t p = 0; p < k; p++) {                                                      \
          const sum_type x = (sum_type)a[(ptrdiff_t)i * a_row + (ptrdiff_t)p * a_col];        \
          const type *row = b + (ptrdiff_t)p * b_row + (ptrdiff_t)j * b_col;                  \
          if (b_col == 1) {                                                                   \
            for (size_t t = 0; t < columns; t++) sum[t] += x * (sum_type)row[t];              \
          } else {                                                                            \
            for (size_t t = 0; t < columns; t++)                                              \
              sum[t] += x * (sum_type)row[(ptrdiff_t)t * b_col];                              \
          }                                                                                   \
        }                                                                                     \
        for (size_t t = 0; t < columns; t++)                                                  \
          c[(ptrdiff_t)i * c_row + (ptrdiff_t)(j + t)] = (type)sum[t];                        \
      }                                                                                       \
    }                                                                                         \
  }
GEMM(gemm_f32, float, double)
GEMM(gemm_f64, double, double)
GEMM(gemm_u8, uint8_t, uint32_t)
GEMM(gemm_u32, uint32_t, uint32_t)
GEMM(gemm_u64, uint64_t, uint64_t)

void rush_gemm_any(rush_dtype dtype, bool add, size_t m, size_t n, size_t k, const void *a,
                   ptrdiff_t a_row, ptrdiff_t a_col, const void *b, ptrdiff_t b_row,
                   ptrdiff_t b_col, void *c, ptrdiff_t c_row) {
  switch (dtype) {
    case RUSH_FLOAT32:
      gemm_f32(add, m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row);
      break;
    case RUSH_FLOAT64:
      gemm_f64(add, m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row);
      break;
    case RUSH_UINT8:
      gemm_u8(add, m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row);
      break;
    case RUSH_INT32:
      gemm_u32(add, m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row);
      break;
    default:
      gemm_u64(add, m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row);
      break;
  }
}
