/* The skeleton of pointwise operators: broadcasting, type promotion, strides and memory of the
 * result. An operator gives bodies that compute contiguous elements of one type:
 *
 *   RUSH_BODY_2(add_f32, float, float, x + y)
 *   const rush_pointwise rush_pointwise_minimum = {.operands = 2, .f32 = ..., .f64 = ..., .i64 = ...};
 *   POINTWISE(minimum, "aten::minimum(Tensor self, Tensor other) -> Tensor", 0)     in ops.def
 *
 * Operands are tensors or Scalars. They are brought to their common dtype as TensorIterator does
 * (int64 bodies serve all integers and bool, float32 ones float16 and bfloat16, complex128 ones
 * complex64 where it has none), in blocks that stay in cache; where memory already is as the body wants it, the body
 * works on it directly. */
#ifndef RUSH_POINTWISE_H
#define RUSH_POINTWISE_H

#include <complex.h>
#include <math.h>

#include "call/define.h"
#include "kernels/simd.h"
#include "tensor/layout.h"

enum { RUSH_PW_OPERANDS = 4 };

/* Two numbers: the real part, and the imaginary one. */
typedef double complex rush_c128;

/* c10::complex divides by zero part by part. */
static inline rush_c128 rush_quotient_c128(rush_c128 x, rush_c128 y) {
  return y == 0 ? CMPLX(creal(x) / fabs(creal(y)), cimag(x) / fabs(cimag(y))) : x / y;
}

/* What an operator read from its arguments in setup, for its bodies. */
typedef struct rush_pw_params {
  double f[4];
  int64_t i[4];
  double (*fn)(double); /* of rush_pw_map_f64 */
  float (*fn32)(float); /* of rush_pw_map_f32 */
  double (*fn2)(double, double);
  float (*fn2_32)(float, float);
  rush_c128 (*cfn)(rush_c128);
  rush_dtype common; /* set behind setup */
  int bits;          /* of the common dtype, if it is an integer or bool */
  bool is_signed;    /* the common dtype is */
  const char *fault; /* set by a body: the call fails with this message */
} rush_pw_params;

/* Computes n elements; out may be one of in, never overlap one partly. */
typedef void rush_pw_body(size_t n, void *out, const void *const *in, rush_pw_params *p);

struct rush_pw_job;

enum {
  RUSH_PW_TO_FLOAT = 1 << 0,  /* integers and bool are computed, and returned, as float32 */
  RUSH_PW_TO_BOOL = 1 << 1,   /* bodies write bool (uint8_t 0 or 1) */
  RUSH_PW_AS_BOOL = 1 << 2,   /* operands are taken as truth values; body `b8` */
  RUSH_PW_NO_BOOL = 1 << 3,   /* refuses bool as common dtype */
  RUSH_PW_MASK = 1 << 4,      /* operand 0 is a bool mask and does not take part in promotion */
  RUSH_PW_KEEP_SELF = 1 << 5, /* the common dtype is argument 0's, whatever the others are */
  RUSH_PW_INTO = 1 << 6,      /* of an in-place form with a row of its own: argument 0 is written */
  RUSH_PW_CONTIGUOUS = 1 << 7,   /* a new result is contiguous, whatever the operands are */
  RUSH_PW_NUMBER_FIRST = 1 << 8, /* the same where argument 0 is a number */
  RUSH_PW_LIKE_SELF = 1 << 9,    /* it is as empty_like(argument 0) makes it */
  RUSH_PW_NUMBER_ASIDE =
      1 << 10,               /* numbers behind the tensors are no operands of TensorIterator's */
  RUSH_PW_TO_REAL = 1 << 12, /* c128 writes doubles, c64 floats: of complex operands it is real */
  RUSH_PW_EXACT = 1 << 11,   /* the last operand, a number beside half elements, is not rounded to
                              their dtype */
  RUSH_PW_ITEM = 1 << 13, /* operand 1 is a number, as item() gives it before anything is written */
  RUSH_PW_COMPLEX_NUMBERS = 1 << 14, /* numbers behind the operands may be complex, too */
};

typedef struct rush_pointwise {
  int operands; /* the first so many arguments, unless setup says otherwise */
  uint32_t flags;
  /* NULL where the dtype is not supported. i32 and b8 may be NULL where i64 serves them, c64 where
   * c128 does. */
  rush_pw_body *f32, *f64, *i64, *i32, *b8, *c128, *c64;
  /* For rush_pw_map_*: the functions that all elements go through. */
  double (*fn)(double);
  float (*fn32)(float);
  double (*fn2)(double, double);
  float (*fn2_32)(float, float);
  rush_c128 (*cfn)(rush_c128);
  /* May be NULL. Reads parameters, checks, and may change the job. */
  rush_status (*setup)(rush_call *c, struct rush_pw_job *job);
} rush_pointwise;

/* One call. Before setup: operands and dtypes as the row says. Setup may change all of it, also the
 * row. */
typedef struct rush_pw_job {
  const rush_pointwise *row;
  int n;
  uint32_t arg[RUSH_PW_OPERANDS]; /* operand k is this argument */
  rush_dtype common;              /* what operands are computed in */
  rush_pw_params p;
} rush_pw_job;

/* The operands of a call, and what they broadcast to. */
typedef struct rush_pw_operands {
  rush_tensor *t[RUSH_PW_OPERANDS]; /* NULL for a Scalar */
  int rank;
  int64_t sizes[RUSH_MAX_RANK];
  bool flat;   /* all tensors have the result's sizes and are row-major, or have rank 0 */
  bool turned; /* some are turned */
} rush_pw_operands;

/* All that is known of a call before a result is made. */
typedef struct rush_pw_plan {
  rush_pw_job job;
  rush_pw_operands o;
  rush_pw_body *body;
  rush_dtype compute; /* what the body takes, but for a mask, */
  rush_dtype written; /* what it writes, */
  rush_dtype result;  /* and the result's */
} rush_pw_plan;

/* What POINTWISE rows run. */
rush_status rush_run_pointwise(rush_call *c);
/* The same with a row of the caller's. */
rush_status rush_pointwise_call(rush_call *c, const rush_pointwise *row);

/* For calls that are not run one by one (fused.h): checks the arguments, as the call does. */
rush_status rush_pw_plan_call(rush_call *c, const rush_pointwise *row, rush_pw_plan *plan);
/* The dtype in which the body takes operand k. */
rush_dtype rush_pw_operand_dtype(const rush_pw_plan *plan, int k);
/* Operand k, a Scalar, as the body takes it. */
void rush_pw_place_scalar(const rush_call *c, const rush_pw_plan *plan, int k, int64_t to[2]);
/* to[0..n) = the element, of 4 bytes; up to a multiple of four of them are written. */
static inline void rush_pw_fill_words(char *to, const void *element, int64_t n) {
  int32_t v;
  memcpy(&v, element, sizeof v);
  const i4 all = i4_set(v);
  for (int64_t i = 0; i < n; i += 4) memcpy(to + i * (int64_t)sizeof v, &all, sizeof all);
}
/* Where a new result lies, and the strides that PyTorch gives it. */
void rush_pw_result_strides(const rush_call *c, const rush_pw_plan *plan, int64_t *strides,
                            int64_t *nominal);

/* Runs a row on other arguments than the call's, for operators made of several; *out is a new
 * reference. */
rush_status rush_pointwise_on(rush_call *c, const rush_pointwise *row, uint32_t n,
                              const rush_value *args, rush_tensor **out);

/* For setups: puts Scalar argument `arg` into p.f[k] and p.i[k] (whichever fits; None leaves them).
 * The imaginary part of a complex number goes into p.f[k + 1]. */
void rush_pw_scalar(const rush_call *c, rush_pw_job *job, uint32_t arg, int k);
/* Bodies that put each element through p->fn, p->fn32, p->cfn and so on. */
rush_pw_body rush_pw_map_f64, rush_pw_map_f32, rush_pw_map2_f64, rush_pw_map2_f32, rush_pw_map_c128;
/* v as an element of the common dtype, for operators on halves that PyTorch rounds on the way. */
float rush_pw_rounded(const rush_pw_params *p, float v);
/* out = in for int64: rounding of integers, and whatever else leaves them alone. */
rush_pw_body rush_pw_copy_i64;
/* All false. */
rush_pw_body rush_pw_false;

/* The k-th parameter as T: p->f[k] for floats, p->i[k] for integers. */
#define RUSH_PARAM(T, k) ((T)1.5 == (T)1 ? (T)p->i[k] : (T)p->f[k])
/* A body from an expression of x, y, z and the parameters s and t; T is the operands' type, R the
 * result's. */
#define RUSH_BODY_1(name, T, R, expr)                                                 \
  static void name(size_t n, void *out_, const void *const *in_, rush_pw_params *p) { \
    const T *a_ = in_[0];                                                             \
    R *o_ = out_;                                                                     \
    const T s = RUSH_PARAM(T, 0), t = RUSH_PARAM(T, 1);                               \
    (void)s, (void)t;                                                                 \
    RUSH_EACH for (size_t i_ = 0; i_ < n; i_++) {                                     \
      const T x = a_[i_];                                                             \
      o_[i_] = (R)(expr);                                                             \
    }                                                                                 \
  }
#define RUSH_BODY_2(name, T, R, expr)                                                 \
  static void name(size_t n, void *out_, const void *const *in_, rush_pw_params *p) { \
    const T *a_ = in_[0], *b_ = in_[1];                                               \
    R *o_ = out_;                                                                     \
    const T s = RUSH_PARAM(T, 0), t = RUSH_PARAM(T, 1);                               \
    (void)s, (void)t;                                                                 \
    RUSH_EACH for (size_t i_ = 0; i_ < n; i_++) {                                     \
      const T x = a_[i_], y = b_[i_];                                                 \
      o_[i_] = (R)(expr);                                                             \
    }                                                                                 \
  }
#define RUSH_BODY_3(name, T, R, expr)                                                 \
  static void name(size_t n, void *out_, const void *const *in_, rush_pw_params *p) { \
    const T *a_ = in_[0], *b_ = in_[1], *c_ = in_[2];                                 \
    R *o_ = out_;                                                                     \
    const T s = RUSH_PARAM(T, 0), t = RUSH_PARAM(T, 1);                               \
    (void)s, (void)t;                                                                 \
    RUSH_EACH for (size_t i_ = 0; i_ < n; i_++) {                                     \
      const T x = a_[i_], y = b_[i_], z = c_[i_];                                     \
      o_[i_] = (R)(expr);                                                             \
    }                                                                                 \
  }
/* A body that is a kernel of kernels/elementary.h. */
#define RUSH_BODY_KERNEL(name, kernel)                                              \
  static void name(size_t n, void *out, const void *const *in, rush_pw_params *p) { \
    (void)p;                                                                        \
    kernel(n, out, in[0]);                                                          \
  }

#endif
