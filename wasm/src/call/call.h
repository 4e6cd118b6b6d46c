/* Defines what an operator is and what it may use. An operator has one row in ops.def, one function
 * and conformance rows:
 *
 *   rush_status rush_op_NAME(rush_call *c)
 *
 * Arguments. The interpreter has checked every argument against the kinds of the schema and filled
 * in defaults, so the accessors below cannot fail: arg_tensor(c, 0) of a `Tensor self` is a tensor.
 * The operator itself checks values (ranks, sizes, dtypes, ranges) with RUSH_CHECK(c->ctx, ...).
 * Its messages have PyTorch's meaning and need not name the operator, because the interpreter adds
 * the instruction, the operator and the Python line in front. Loops over more than a few thousand
 * elements count their work with rush_charge(c->ctx, n) and return its status, because the host may
 * request a stop. Products and sums of sizes that are not the size of one tensor use rush_mul64,
 * rush_add64 and similar functions.
 *
 * Ownership. Arguments are borrowed. Results are set with ret_*. A new object hands over its only
 * reference; ret_retained returns an argument itself. An operator that fails sets no result.
 *
 * In-place forms. A row with RUSH_OP_INPLACE also serves `NAME_`, such as aten::add_.Tensor for
 * aten::add.Tensor. For that form, c->inplace is the tensor to write (argument 0). An operator may
 * ignore it and return a new tensor. The interpreter then copies the result into the destination,
 * checks sizes and dtype as PyTorch does, and returns the destination. If it is safe (same sizes
 * and dtype, no partial overlap with an input), an operator may instead write c->inplace itself and
 * return it with ret_retained. */
#ifndef RUSH_CALL_H
#define RUSH_CALL_H

#include <rushlight/op.h>

#include "tensor/iter.h"
#include "tensor/turned.h"

typedef struct rush_op rush_op;
typedef struct rush_prepare rush_prepare;
struct rush_session;

enum {
  RUSH_OP_INPLACE = 1 << 0,  /* the same function serves NAME_ */
  RUSH_OP_VARIADIC = 1 << 1, /* any number of arguments or results; the schema is only text */
  RUSH_OP_EXTERNAL = 1 << 2, /* computed by the host (see rush_session_next); `run` is NULL */
  /* Accepts turned tensors (turned.h), and gives results PyTorch's nominal strides. Other operators
   * never see a turned tensor. */
  RUSH_OP_ANY_LAYOUT = 1 << 3,
  /* Returns views of argument 0 whose strides and offset follow from those of the argument,
   * dimension by dimension. For a turned tensor, the interpreter computes both the memory strides
   * and the nominal ones. */
  RUSH_OP_VIEW = 1 << 4,
  /* Accepts tensors and `dtype` arguments of every dtype, as a view does. For other operators,
   * float16, bfloat16, int8 and int16 are widened, and their results and writes are rounded back
   * (widen.h). Complex tensors are refused for them. */
  RUSH_OP_ANY_DTYPE = 1 << 5,
  /* Accepts complex tensors without RUSH_OP_ANY_DTYPE. */
  RUSH_OP_COMPLEX = 1 << 6,
  /* Scalars may be complex numbers. */
  RUSH_OP_COMPLEX_NUMBERS = 1 << 7,
  /* RUSH_OP_QUANTIZED accepts quantized tensors, and so does RUSH_OP_VIEW. RUSH_OP_IN_FLOATS marks
   * operators that PyTorch supports for quantized tensors; they see dequantized tensors
   * (quantized.h). Other operators refuse quantized tensors. */
  RUSH_OP_QUANTIZED = 1 << 8,
  RUSH_OP_IN_FLOATS = 1 << 9,
  /* With RUSH_OP_IN_FLOATS: results are in [0, 1] or [-1, 1] and are quantized for that range,
   * whatever the argument's range is. */
  RUSH_OP_TO_UNIT = 1 << 10,
  RUSH_OP_TO_SIGNED_UNIT = 1 << 11,
  /* With RUSH_OP_IN_FLOATS: means, which PyTorch computes from the integers. The operator sees the
   * integers minus the zero point, so that no scale changes how a tie is rounded. */
  RUSH_OP_IN_STEPS = 1 << 12,
  /* Argument 1 is a matrix that prepare packs like rush_gemm_pack_items. */
  RUSH_OP_PACKS_ROWS = 1 << 13,
  /* Argument 0 is a matrix whose rows are gathered, from `packed` if another operator has packed
   * it. */
  RUSH_OP_READS_ROWS = 1 << 14,
  /* prepare gets constant half-precision matrices as they are. All other half-precision constants
   * are widened first. */
  RUSH_OP_PACKS_HALVES = 1 << 15,
  /* These flags decide about an operand that overlaps a tensor that the row writes
   * (call/overlap.h). Without a flag, the row gets a copy of that operand, so that it reads the
   * values from before the call. RUSH_OP_NO_OVERLAP refuses the operand, like PyTorch's
   * at::assert_no_overlap. With RUSH_OP_MAY_OVERLAP the row decides itself, and it must be correct
   * for operands that change while it writes. */
  RUSH_OP_NO_OVERLAP = 1 << 28,
  RUSH_OP_MAY_OVERLAP = 1 << 29,
  /* Writes an argument that the schema marks with (a!). Set on rows without RUSH_OP_INPLACE and
   * RUSH_OP_MAY_OVERLAP. */
  RUSH_OP_WRITES = 1 << 30,
};

/* For rows that share a function: the number of spatial dimensions, and a kind of
 * blocks/variants.h. The function reads them with rush_dims and rush_kind_of. */
#define RUSH_OP_DIMS(n) ((uint32_t)(n) << 16)
#define RUSH_OP_KIND(k) ((uint32_t)(k) << 20)

struct rush_op {
  const char *schema; /* as torch prints it: "aten::add.Tensor(Tensor self, ...) -> Tensor" */
  rush_status (*run)(rush_call *c);
  /* Packs weights. The loader calls it for each instruction as soon as its last constant tensor has
   * arrived (see rush_prepare). May be NULL. */
  rush_status (*prepare)(rush_prepare *p);
  uint32_t flags;
  /* The row of a framework (pointwise, reduce), rush_overlap_default, or NULL. */
  const void *family;
};

/* Packed weights of an instruction, shared by instructions with the same constants. They belong to
 * the model and are shared by its sessions, so they are never written after prepare. */
typedef struct rush_packed {
  void (*destroy)(rush_ctx *ctx, struct rush_packed *packed);
  /* Set by the loader: the number of other instructions that share it, and the arguments it
   * consumed. */
  uint32_t others, consumed;
} rush_packed;

struct rush_call {
  rush_ctx *ctx;
  rush_heap *heap;
  struct rush_session *session; /* only for rush_call_session and rush::chain */
  const struct rush_model *model;
  rush_value *attributes; /* the session's model->n_attributes attributes */
  const rush_op *op;
  uint32_t n_args, n_results;
  /* borrowed; n_args as in the schema (as in the instruction if variadic) */
  const rush_value *args;
  rush_value *results;          /* None before the call */
  const uint32_t *result_types; /* indices of types in the model */
  rush_tensor *inplace;         /* destination of an in-place form, or NULL */
  uint32_t last_use;            /* bit i: argument i (i < 32) has its last use here */
  struct rush_random *random;   /* the session's generator */
  const rush_packed *packed;    /* packed weights of this instruction, or NULL */
  void *tensors, *blocks;       /* linked temporaries: see tmp_take and tmp_bytes */
  rush_dtype narrow;            /* FLOAT16 or BFLOAT16 if float32 arguments are widened from it */
};

/* Read RUSH_OP_DIMS and RUSH_OP_KIND of the row; 0 if it has none. */
static inline int rush_dims(const rush_call *c) {
  return (int)(c->op->flags >> 16 & 15);
}
static inline int rush_kind_of(const rush_call *c) {
  return (int)(c->op->flags >> 20 & 255);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static inline bool arg_is_none(const rush_call *c, uint32_t i) {
  assert(i < c->n_args);
  return c->args[i].kind == RUSH_KIND_NONE;
}
/* Returns a `Tensor` or `Tensor?` argument, or NULL for None. */
static inline rush_tensor *arg_tensor(const rush_call *c, uint32_t i) {
  return arg_is_none(c, i) ? NULL : rush_as_tensor(&c->args[i]);
}
/* Returns an `int`, `int?` (check arg_is_none first), ScalarType, Layout or MemoryFormat. */
static inline int64_t arg_int(const rush_call *c, uint32_t i) {
  assert(i < c->n_args && (c->args[i].kind == RUSH_KIND_INT || c->args[i].kind == RUSH_KIND_BOOL));
  return c->args[i].u.i;
}
static inline bool arg_bool(const rush_call *c, uint32_t i) {
  assert(i < c->n_args && (c->args[i].kind == RUSH_KIND_BOOL || c->args[i].kind == RUSH_KIND_INT));
  return c->args[i].u.i != 0;
}
static inline double arg_float(const rush_call *c, uint32_t i) {
  assert(i < c->n_args && c->args[i].kind == RUSH_KIND_FLOAT);
  return c->args[i].u.f;
}
/* `Scalar`: an int, float or bool. */
static inline bool arg_scalar_is_float(const rush_call *c, uint32_t i) {
  return c->args[i].kind == RUSH_KIND_FLOAT;
}
static inline double arg_scalar_double(const rush_call *c, uint32_t i) {
  return arg_scalar_is_float(c, i) ? c->args[i].u.f : (double)c->args[i].u.i;
}
static inline int64_t arg_scalar_int(const rush_call *c, uint32_t i) {
  return arg_scalar_is_float(c, i) ? rush_double_to_int(c->args[i].u.f) : c->args[i].u.i;
}
static inline const rush_list *arg_list(const rush_call *c, uint32_t i) {
  return rush_as_list(&c->args[i]);
}
static inline const rush_str *arg_str(const rush_call *c, uint32_t i) {
  return rush_as_str(&c->args[i]);
}
/* Copies an `int[]` of at most `max` ints. Fails with BAD_ARGUMENT if there are more. None gives *n
 * = 0. */
rush_status arg_ints(const rush_call *c, uint32_t i, int max, int64_t *out, int *n);
/* Reads a dim argument in -rank..rank-1 and wraps it (rank 0 counts as 1). Fails with BAD_ARGUMENT
 * and PyTorch's message. */
rush_status arg_dim(const rush_call *c, uint32_t i, int rank, int *out);
/* Returns a slice's bound as Python reads it: a negative index counts from the end, and the result
 * is in 0..size. */
int64_t rush_clamp_index(int64_t index, int64_t size);
/* Reads the `int[]? dim` of a reduction as a bit mask. None or an empty list means all. Refuses
 * duplicates. */
rush_status arg_dims_mask(const rush_call *c, uint32_t i, int rank, uint32_t *out);
/* Reads a `ScalarType?`, or returns `otherwise` for None. Fails with UNSUPPORTED if the dtype is
 * reserved, or if it is rare and the row lacks RUSH_OP_ANY_DTYPE. */
rush_status arg_dtype(const rush_call *c, uint32_t i, rush_dtype otherwise, rush_dtype *out);
/* Reads an `int[]` of sizes and refuses negative ones. */
rush_status arg_sizes(const rush_call *c, uint32_t i, int *rank, int64_t *sizes);
/* Fails with BAD_ARGUMENT if a Scalar is complex and `dtype`, its destination, is not. */
rush_status arg_check_number(const rush_call *c, uint32_t i, rush_dtype dtype);
/* Returns the dtype of a Scalar in type promotion: bool, int64 or the default dtype float32. */
rush_dtype arg_scalar_dtype(const rush_call *c, uint32_t i);
/* Implements torch.result_type for the given arguments. Tensors with dimensions take precedence
 * over 0-d tensors, and those over Scalars, as in TensorIterator. `mask`: bit i for argument i.
 * None is skipped. */
rush_dtype arg_result_type(const rush_call *c, uint32_t mask);

/* ---- Results --------------------------------------------------------------------------------- */

static inline void ret_tensor(rush_call *c, uint32_t i, rush_tensor *t) {
  assert(i < c->n_results);
  c->results[i] = rush_of_tensor(t);
}
static inline void ret_int(rush_call *c, uint32_t i, int64_t v) {
  c->results[i] = rush_int(v);
}
static inline void ret_float(rush_call *c, uint32_t i, double v) {
  c->results[i] = rush_float(v);
}
static inline void ret_bool(rush_call *c, uint32_t i, bool v) {
  c->results[i] = rush_bool(v);
}
static inline void ret_value(rush_call *c, uint32_t i, rush_value v) {
  c->results[i] = v;
}
/* Set the only result, and return RUSH_OK. */
static inline rush_status return_int(rush_call *c, int64_t v) {
  ret_int(c, 0, v);
  return RUSH_OK;
}
static inline rush_status return_bool(rush_call *c, bool v) {
  ret_bool(c, 0, v);
  return RUSH_OK;
}
static inline void ret_retained(rush_call *c, uint32_t i, const rush_value *v) {
  c->results[i] = rush_value_retained(*v);
}

/* Creates the contiguous tensor result `i` and sets it. Its elements may be written in any order.
 * Check the operator's inputs before calling it. */
rush_status rush_result(rush_call *c, uint32_t i, rush_dtype dtype, int rank, const int64_t *sizes,
                        rush_tensor **out);
/* Does the same with the strides of a dense tensor `like`, as empty_like does. */
rush_status rush_result_like(rush_call *c, uint32_t i, const rush_tensor *like, rush_dtype dtype,
                             rush_tensor **out);
/* Creates result 0 like torch.empty, with the sizes of argument `size` and the dtype of argument
 * `dtype_arg`; or like torch.empty_like(argument 0), where dtype, layout, device, pin_memory and
 * memory_format start at `dtype_arg`. */
rush_status rush_result_empty(rush_call *c, uint32_t size, uint32_t dtype_arg, rush_dtype otherwise,
                              rush_tensor **out);
rush_status rush_result_empty_like(rush_call *c, uint32_t dtype_arg, rush_tensor **out);
/* Sets result `i` to a view of `base`. */
rush_status rush_result_view(rush_call *c, uint32_t i, const rush_tensor *base, int rank,
                             const int64_t *sizes, const int64_t *strides, int64_t offset);
/* Creates result `i` with memory strides `strides`, where PyTorch's tensor has the strides
 * `nominal`: rush_tensor_new_turned. */
rush_status rush_result_turned(rush_call *c, uint32_t i, rush_dtype dtype, int rank,
                               const int64_t *sizes, const int64_t *strides, const int64_t *nominal,
                               rush_tensor **out);
/* Returns whether argument i may be overwritten and returned as the result: it has its last use
 * here, starts at the beginning of its storage, is the only reference to it, and is not a
 * weight. */
bool rush_can_reuse(const rush_call *c, uint32_t i);
/* Does the same, but also allows turned tensors, for operators that handle the result's strides. */
bool rush_can_reuse_turned(const rush_call *c, uint32_t i);

/* ---- Temporaries ----------------------------------------------------------------------------- */

/* Tensors and memory that belong to the call. They are released when the operator returns, with or
 * without an error, so the operator frees nothing. A temporary must not be a view of memory on the
 * operator's stack. A temporary that becomes a result needs its own reference: ret_tensor(c, 0,
 * rush_tensor_retain(x)). */

/* Takes over one reference to a new tensor, or to one that an argument, a result or an earlier
 * temporary holds. In the latter case that owner keeps it alive, and its count does not change, so
 * neither does the answer of rush_can_reuse. Returns `t`. */
rush_tensor *tmp_take(rush_call *c, rush_tensor *t);
rush_status tmp_new(rush_call *c, rush_dtype dtype, int rank, const int64_t *sizes,
                    rush_tensor **out);
rush_status tmp_view(rush_call *c, const rush_tensor *base, int rank, const int64_t *sizes,
                     const int64_t *strides, int64_t offset, rush_tensor **out);
/* Return the tensor itself if it is contiguous, or has the dtype, and otherwise a copy. */
rush_status tmp_contiguous(rush_call *c, rush_tensor *t, rush_tensor **out);
rush_status tmp_to(rush_call *c, rush_tensor *t, rush_dtype dtype, rush_tensor **out);
/* Rounds t to the half-precision dtype that argument `dtype` asks for, if any. PyTorch converts to
 * dtype= before it computes, but the operator sees float32. */
rush_status tmp_rounded(rush_call *c, rush_tensor *t, uint32_t dtype, rush_tensor **out);
/* Returns the tensor itself if its memory is a dense [N, ..., C], and otherwise such a copy. The
 * rank must be at least 2. */
rush_status tmp_channels_last(rush_call *c, rush_tensor *t, rush_tensor **out);
/* Allocate uninitialized memory. n and its product with `item` may be out of range. */
rush_status tmp_bytes(rush_call *c, size_t bytes, void **out);
rush_status tmp_items(rush_call *c, int64_t n, size_t item, void **out);
/* Releases the temporaries. The interpreter calls it after the operator. */
void rush_call_release(rush_call *c);

/* ---- Preparation ----------------------------------------------------------------------------- */

/* The arguments of prepare: the constant arguments of one instruction. Their tensors have plain
 * data here, which may be released afterwards if the operator does not need it.
 *
 * If a storage belongs to a single instruction, prepare is also called before its bytes arrive,
 * with `placing` set and tensors without data. An operator that can pack in place sets `packed`,
 * and sets `place` to the address in it for the bytes. When they have arrived, prepare is called
 * again with that `packed` and must pack. */
struct rush_prepare {
  rush_ctx *ctx;
  uint32_t n_args;
  const rush_value *const
      *args;           /* one per argument of the schema, with defaults; NULL if not constant */
  rush_packed *packed; /* set by the operator */
  const rush_storage *placing; /* the storage whose bytes are about to arrive, or NULL */
  void *place;                 /* while placing, set by the operator: destination of the bytes */
  /* Set by the operator: bit i if tensor i is only stored in `packed`. run never reads its data,
   * but may read its sizes and dtype. */
  uint32_t consumed;
};

/* Finds a custom operator for models that `ctx` loads. op->family is the rush_custom_op. Returns
 * false if neither the context nor this build has the name. */
bool rush_op_find_custom(const rush_ctx *ctx, const char *name, rush_op *op);

/* The table of all operators, in the order of ops.def. rush_op_find returns NULL for an unknown
 * name. The name is "aten::add.Tensor", or its in-place form, which sets *inplace. */
const rush_op *rush_op_find(const char *name, bool *inplace);
size_t rush_op_count(void);
const rush_op *rush_op_at(size_t i);

/* The table behind these functions. n is less than n_built if `npx rushlight slim` has removed
 * rows. */
typedef struct rush_op_table {
  const rush_op *rows; /* [n] */
  uint32_t n, n_built;
} rush_op_table;
extern const rush_op_table rush_all_ops;
bool rush_ops_slimmed(void);

#endif
