/* The framework for reductions: dim, keepdim, dtypes and arbitrary strides. An operator supplies
 * functions on contiguous elements of one type:
 *
 *   const rush_reduce rush_reduce_sum = {.dim = 1, .keepdim = 2, .dtype = 3, ...};
 *   REDUCE(sum, "aten::sum.dim_IntList(...) -> Tensor", 0)     in ops.def
 *
 * If a reduced dimension is innermost in memory, its elements are fed as rows. If a kept dimension
 * is innermost, columns are transposed in blocks or fed to `columns`. */
#ifndef RUSH_REDUCE_H
#define RUSH_REDUCE_H

#include "call/define.h"
#include "tensor/layout.h"

/* The state of one result. The operator defines what the fields mean. */
typedef struct rush_reduce_state {
  double f, g, h;
  int64_t i, value;
  int64_t count; /* elements fed so far, maintained by the framework */
} rush_reduce_state;

typedef struct rush_reduce_params {
  double f[2];
  int64_t n; /* elements per result */
} rush_reduce_params;

/* Adds n elements to the state. */
typedef void rush_reduce_row(rush_reduce_state *s, size_t n, const void *x,
                             const rush_reduce_params *p);
/* Adds `rows` elements to each of `cols` results. Columns are adjacent, and rows are `stride`
 * elements apart. */
typedef void rush_reduce_columns(rush_reduce_state *s, size_t rows, size_t cols, const void *x,
                                 size_t stride, const rush_reduce_params *p);
/* The values of a result: value[k].f for floating-point outputs, .i for integers, .f and .g for
 * complex ones. */
typedef struct rush_reduce_value {
  double f;
  int64_t i;
  double g;
} rush_reduce_value;
typedef void rush_reduce_finish(const rush_reduce_state *s, const rush_reduce_params *p,
                                rush_reduce_value value[2]);

enum {
  RUSH_RED_WIDEN = 1 << 0,        /* integers and bool give int64 */
  RUSH_RED_FLOAT = 1 << 1,        /* floating-point only (after dtype=) */
  RUSH_RED_AS_BOOL = 1 << 2,      /* elements are converted to bool */
  RUSH_RED_TO_BOOL = 1 << 3,      /* the result is bool (uint8 for uint8, as in any and all) */
  RUSH_RED_TO_INT64 = 1 << 4,     /* the result is int64 */
  RUSH_RED_INDEX = 1 << 5,        /* elements must come in order; empty reductions are refused */
  RUSH_RED_NONEMPTY = 1 << 6,     /* empty reductions are refused */
  RUSH_RED_SECOND_INDEX = 1 << 7, /* a second result of dtype int64 */
  RUSH_RED_SECOND_SAME = 1 << 8,  /* a second result with the dtype of the first */
  RUSH_RED_TO_FLOAT = 1 << 9,     /* integers and bool are computed as float32 */
  RUSH_RED_SECOND_OUT = 1 << 10,  /* value[1] is the only result */
  RUSH_RED_NO_DIMS = 1 << 11,     /* an empty list of dims means none; otherwise it means all */
  RUSH_RED_TO_REAL = 1 << 12,     /* complex elements give a real (first) result */
  /* A half-precision dtype= only rounds the result, as in PyTorch's mean */
  RUSH_RED_ROUNDS_ONCE = 1 << 13,
};

typedef struct rush_reduce {
  int8_t dim, keepdim, dtype; /* argument positions; 0 for none (argument 0 is self) */
  uint32_t flags;
  double init_f, init_g; /* initial state */
  int64_t init_i, init_value;
  /* f32 also serves half precision, c128 also complex64 */
  rush_reduce_row *f32, *f64, *i64, *b8, *c128;
  rush_reduce_columns *columns; /* for f32; may be NULL */
  rush_reduce_finish *finish;
  const char *name; /* for messages */
  /* Reads parameters into p, and may replace the row, but not its dim, keepdim and dtype. May be
   * NULL. */
  rush_status (*setup)(rush_call *c, const struct rush_reduce **row, rush_reduce_params *p);
} rush_reduce;

rush_status rush_run_reduce(rush_call *c);
/* Runs a row on arguments other than the call's, for operators that combine several. *out is a new
 * reference to its first result. */
rush_status rush_reduce_on(rush_call *c, const rush_reduce *row, uint32_t n, const rush_value *args,
                           rush_tensor **out);

#endif
