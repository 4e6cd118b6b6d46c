/* The framework for pointwise operators: broadcasting, type promotion, strides and memory of the
 * result. An operator supplies bodies that compute contiguous elements of one type:
 *
 *   RUSH_BODY_2(add_f32, float, float, x + y)
 *   const rush_pointwise rush_pointwise_minimum = {.operands = 2, .f32 = ..., .i64 = ...};
 *   POINTWISE(minimum, "aten::minimum(Tensor self, Tensor other) -> Tensor", 0)     in ops.def
 *
 * Operands are tensors or Scalars. They are converted to their common dtype, as TensorIterator
 * does, in blocks that stay in cache. int64 bodies serve all integers and bool, float32 bodies
 * serve float16 and bfloat16, and complex128 bodies serve complex64 unless it has its own. If
 * memory already has the body's dtype and layout, the body works on it directly. */
#ifndef RUSH_POINTWISE_H
#define RUSH_POINTWISE_H

#include <complex.h>
#include <math.h>

#include "call/define.h"
#include "kernels/simd.h"
#include "tensor/layout.h"

enum { RUSH_PW_OPERANDS = 4 };

/* A real and an imaginary part. */
typedef double complex rush_c128;

/* Divides like c10::complex, which divides by zero part by part. */
static inline rush_c128 rush_quotient_c128(rush_c128 x, rush_c128 y) {
  return y == 0 ? CMPLX(creal(x) / fabs(creal(y)), cimag(x) / fabs(cimag(y))) : x / y;
}

/* Parameters that setup reads from the arguments, for the bodies. */
typedef struct rush_pw_params {
  double f[4];
  int64_t i[4];
  double (*fn)(double); /* for rush_pw_map_f64 */
  float (*fn32)(float); /* for rush_pw_map_f32 */
  double (*fn2)(double, double);
  float (*fn2_32)(float, float);
  rush_c128 (*cfn)(rush_c128);
  rush_dtype common; /* set after setup */
  int bits;          /* of the common dtype, if integer or bool */
  bool is_signed;    /* whether the common dtype is signed */
  const char *fault; /* set by a body; the call then fails with this message */
} rush_pw_params;

/* Computes n elements. out may equal an input, but must not overlap one partly. */
typedef void rush_pw_body(size_t n, void *out, const void *const *in, rush_pw_params *p);

struct rush_pw_job;

enum {
  RUSH_PW_TO_FLOAT = 1 << 0,      /* integers and bool are computed and returned as float32 */
  RUSH_PW_TO_BOOL = 1 << 1,       /* bodies write bool (uint8_t 0 or 1) */
  RUSH_PW_AS_BOOL = 1 << 2,       /* operands are converted to bool; body `b8` */
  RUSH_PW_NO_BOOL = 1 << 3,       /* refuses bool as the common dtype */
  RUSH_PW_MASK = 1 << 4,          /* operand 0 is a bool mask, excluded from promotion */
  RUSH_PW_KEEP_SELF = 1 << 5,     /* argument 0's dtype is the common dtype */
  RUSH_PW_INTO = 1 << 6,          /* in-place form with its own row: writes argument 0 */
  RUSH_PW_CONTIGUOUS = 1 << 7,    /* a new result is contiguous, whatever the operands are */
  RUSH_PW_NUMBER_FIRST = 1 << 8,  /* the same if argument 0 is a number */
  RUSH_PW_LIKE_SELF = 1 << 9,     /* the result has the strides of empty_like(argument 0) */
  RUSH_PW_NUMBER_ASIDE = 1 << 10, /* Numbers after the tensors are not TensorIterator operands. */
  /* Complex operands give a real result: c128 writes doubles, c64 floats. */
  RUSH_PW_TO_REAL = 1 << 12,
  /* A number that is the last operand is not rounded to the half-precision dtype. */
  RUSH_PW_EXACT = 1 << 11,
  RUSH_PW_ITEM = 1 << 13,            /* operand 1 is a number, read by item() before any write */
  RUSH_PW_COMPLEX_NUMBERS = 1 << 14, /* numbers after the operands may be complex */
};

typedef struct rush_pointwise {
  int operands; /* number of leading arguments, unless setup changes it */
  uint32_t flags;
  /* NULL if the dtype is not supported. i32 and b8 may be NULL if i64 serves them, and c64 if c128
   * does. */
  rush_pw_body *f32, *f64, *i64, *i32, *b8, *c128, *c64;
  /* For rush_pw_map_*: the functions that are called for each element. */
  double (*fn)(double);
  float (*fn32)(float);
  double (*fn2)(double, double);
  float (*fn2_32)(float, float);
  rush_c128 (*cfn)(rush_c128);
  /* Reads parameters, checks them, and may change the job. May be NULL. */
  rush_status (*setup)(rush_call *c, struct rush_pw_job *job);
} rush_pointwise;

/* One call. Operands and dtypes are set from the row before setup, which may change everything,
 * including the row. */
typedef struct rush_pw_job {
  const rush_pointwise *row;
  int n;
  uint32_t arg[RUSH_PW_OPERANDS]; /* argument index of operand k */
  rush_dtype common;              /* dtype in which operands are computed */
  rush_pw_params p;
} rush_pw_job;

/* The operands of a call and their broadcast sizes. */
typedef struct rush_pw_operands {
  rush_tensor *t[RUSH_PW_OPERANDS]; /* NULL for a Scalar */
  int rank;
  int64_t sizes[RUSH_MAX_RANK];
  bool flat;   /* all tensors are contiguous with the result's sizes, or 0-d */
  bool turned; /* some have a turned storage (tensor/turned.h) */
} rush_pw_operands;

/* Everything that is known about a call before its result is allocated. */
typedef struct rush_pw_plan {
  rush_pw_job job;
  rush_pw_operands o;
  rush_pw_body *body;
  rush_dtype compute; /* dtype of the body's operands, except for a mask */
  rush_dtype written; /* dtype that the body writes */
  rush_dtype result;  /* dtype of the result */
} rush_pw_plan;

/* Runs a POINTWISE row. */
rush_status rush_run_pointwise(rush_call *c);
/* Runs a row that the caller supplies. */
rush_status rush_pointwise_call(rush_call *c, const rush_pointwise *row);

/* Checks the arguments without running the call, for fusion (fused.h). */
rush_status rush_pw_plan_call(rush_call *c, const rush_pointwise *row, rush_pw_plan *plan);
/* Returns the dtype in which the body takes operand k. */
rush_dtype rush_pw_operand_dtype(const rush_pw_plan *plan, int k);
/* Stores operand k, a Scalar, in the dtype that the body takes. */
void rush_pw_place_scalar(const rush_call *c, const rush_pw_plan *plan, int k, int64_t to[2]);
/* Sets to[0..n) to the 4-byte element. Writes up to the next multiple of four elements. */
static inline void rush_pw_fill_words(char *to, const void *element, int64_t n) {
  int32_t v;
  memcpy(&v, element, sizeof v);
  const i4 all = i4_set(v);
  for (int64_t i = 0; i < n; i += 4) memcpy(to + i * (int64_t)sizeof v, &all, sizeof all);
}
/* Computes the memory strides of a new result, and the nominal strides that PyTorch gives it. */
void rush_pw_result_strides(const rush_call *c, const rush_pw_plan *plan, int64_t *strides,
                            int64_t *nominal);

/* Runs a row on arguments other than the call's, for operators that combine several. *out is a new
 * reference. */
rush_status rush_pointwise_on(rush_call *c, const rush_pointwise *row, uint32_t n,
                              const rush_value *args, rush_tensor **out);

/* Called by setups: stores Scalar argument `arg` in p.f[k] and p.i[k], whichever fits. None changes
 * nothing. The imaginary part of a complex number goes to p.f[k + 1]. */
void rush_pw_scalar(const rush_call *c, rush_pw_job *job, uint32_t arg, int k);
/* Bodies that call p->fn, p->fn32, p->cfn and so on for each element. */
rush_pw_body rush_pw_map_f64, rush_pw_map_f32, rush_pw_map2_f64, rush_pw_map2_f32, rush_pw_map_c128;
/* Rounds v to the common dtype, for operators whose half-precision form rounds intermediate results
 * in PyTorch. */
float rush_pw_rounded(const rush_pw_params *p, float v);
/* Copies int64 elements, for operators such as rounding that do not change integers. */
rush_pw_body rush_pw_copy_i64;
/* Writes false for all elements. */
rush_pw_body rush_pw_false;

/* The k-th parameter as T: p->f[k] for floats, p->i[k] for integers. */
#define RUSH_PARAM(T, k) ((T)1.5 == (T)1 ? (T)p->i[k] : (T)p->f[k])
/* Defines a body from an expression of x, y, z and the parameters s and t. T is the type of the
 * operands, R the type of the result. */
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
/* Defines a body that calls a kernel of kernels/elementary.h. */
#define RUSH_BODY_KERNEL(name, kernel)                                              \
  static void name(size_t n, void *out, const void *const *in, rush_pw_params *p) { \
    (void)p;                                                                        \
    kernel(n, out, in[0]);                                                          \
  }

#endif
