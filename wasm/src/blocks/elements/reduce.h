/* The skeleton of reductions: which dimensions, keepdim, dtypes, any strides. An operator gives
 * functions on contiguous elements of one type:
 *
 *   const rush_reduce rush_reduce_sum = {.dim = 1, .keepdim = 2, .dtype = 3, ...};
 *   REDUCE(sum, "aten::sum.dim_IntList(...) -> Tensor", 0)     in ops.def
 *
 * Where the reduced dimension is the innermost in memory its elements are fed as rows; where a kept
 * one is, columns are transposed in blocks, or fed to `columns`. */
#ifndef RUSH_REDUCE_H
#define RUSH_REDUCE_H

#include "call/define.h"
#include "tensor/layout.h"

/* What is known of one result so far. The meaning is the operator's. */
typedef struct rush_reduce_state {
  double f, g, h;
  int64_t i, value;
  int64_t count; /* elements fed so far, kept by the skeleton */
} rush_reduce_state;

typedef struct rush_reduce_params {
  double f[2];
  int64_t n; /* elements that make one result */
} rush_reduce_params;

/* Takes n more elements into account. */
typedef void rush_reduce_row(rush_reduce_state *s, size_t n, const void *x,
                             const rush_reduce_params *p);
/* Takes `rows` more elements of each of `cols` results; columns adjoin, rows are `stride` elements
 * apart. */
typedef void rush_reduce_columns(rush_reduce_state *s, size_t rows, size_t cols, const void *x,
                                 size_t stride, const rush_reduce_params *p);
/* A result's number(s): value[k].f for floating outputs, .i for others; .f and .g for complex ones. */
typedef struct rush_reduce_value {
  double f;
  int64_t i;
  double g;
} rush_reduce_value;
typedef void rush_reduce_finish(const rush_reduce_state *s, const rush_reduce_params *p,
                                rush_reduce_value value[2]);

enum {
  RUSH_RED_WIDEN = 1 << 0,        /* integers and bool give int64 */
  RUSH_RED_FLOAT = 1 << 1,        /* floating point only (after dtype=) */
  RUSH_RED_AS_BOOL = 1 << 2,      /* elements are taken as truth values */
  RUSH_RED_TO_BOOL = 1 << 3,      /* the result is bool (uint8 for uint8, as any and all) */
  RUSH_RED_TO_INT64 = 1 << 4,     /* the result is int64 */
  RUSH_RED_INDEX = 1 << 5,        /* elements must come in order; 0-size reductions are refused */
  RUSH_RED_NONEMPTY = 1 << 6,     /* 0-size reductions are refused */
  RUSH_RED_SECOND_INDEX = 1 << 7, /* a second result, int64 */
  RUSH_RED_SECOND_SAME = 1 << 8,  /* a second result, of the first's dtype */
  RUSH_RED_TO_FLOAT = 1 << 9,     /* integers and bool are computed as float32 */
  RUSH_RED_SECOND_OUT = 1 << 10,  /* value[1] is the only result */
  RUSH_RED_NO_DIMS = 1 << 11,     /* an empty list of dims means none of them, otherwise all */
  RUSH_RED_TO_REAL = 1 << 12,     /* complex elements give a real (first) result */
  RUSH_RED_ROUNDS_ONCE = 1 << 13, /* halves as dtype= round the result alone, as PyTorch's mean */
};

typedef struct rush_reduce {
  int8_t dim, keepdim, dtype; /* which arguments; 0 for none (argument 0 is self) */
  uint32_t flags;
  double init_f, init_g; /* of a fresh state */
  int64_t init_i, init_value;
  rush_reduce_row *f32, *f64, *i64, *b8, *c128; /* halves go through f32, complex64 through c128 */
  rush_reduce_columns *columns;                 /* of f32, may be NULL */
  rush_reduce_finish *finish;
  const char *name; /* for messages */
  /* May be NULL; reads parameters into p, may exchange the row (not its dim, keepdim and dtype). */
  rush_status (*setup)(rush_call *c, const struct rush_reduce **row, rush_reduce_params *p);
} rush_reduce;

rush_status rush_run_reduce(rush_call *c);
/* Runs a row on other arguments than the call's, for operators made of several; *out is a new
 * reference of its first result. */
rush_status rush_reduce_on(rush_call *c, const rush_reduce *row, uint32_t n, const rush_value *args,
                           rush_tensor **out);

#endif
