/* What an operator is, and what it may use. One row in ops.def, one function, one conformance row.
 *
 *   rush_status rush_op_NAME(rush_call *c)
 *
 * The interpreter has checked every argument against the kinds of the schema and filled in
 * defaults, so the accessors below cannot fail: arg_tensor(c, 0) of a `Tensor self` is a tensor.
 * What only the values tell (ranks, sizes, dtypes, ranges) the operator checks itself with
 * RUSH_CHECK(c->ctx, ...); messages are PyTorch's in meaning and need not name the operator: the
 * interpreter puts the instruction, the operator and the Python line in front. Loops over more
 * than some thousand elements count them with rush_charge(c->ctx, n) and return what it gives: the
 * host may want to stop. Sizes that do not belong to one tensor are multiplied and added with
 * rush_mul64, rush_add64 and their like.
 *
 * Arguments are borrowed. Results are set with ret_*; a result that is a new object hands over its
 * one reference; to return an argument itself use ret_retained. A failing operator sets no result.
 *
 * In-place forms. A row with RUSH_OP_INPLACE also serves `NAME_` (e.g. aten::add_.Tensor from
 * aten::add.Tensor): for that form c->inplace is the tensor to write (argument 0). An operator may
 * ignore that and return a new tensor: the interpreter then copies it into the destination,
 * checking sizes and dtype as PyTorch does, and returns the destination. Or, where that is safe
 * (same sizes and dtype, no partial overlap with an input) it writes c->inplace itself and returns
 * it with ret_retained. */
#ifndef RUSH_CALL_H
#define RUSH_CALL_H

#include <rushlight/op.h>

#include "tensor/iter.h"
#include "tensor/turned.h"

typedef struct rush_op rush_op;
typedef struct rush_prepare rush_prepare;
struct rush_session;

enum {
  RUSH_OP_INPLACE = 1 << 0,  /* NAME_ is served by the same function */
  RUSH_OP_VARIADIC = 1 << 1, /* any number of arguments or results: the schema is only a text */
  RUSH_OP_EXTERNAL = 1 << 2, /* computed by the host, see rush_session_next: `run` is NULL */
  /* Takes turned tensors (turned.h) as they lie, and gives results the strides that PyTorch's have.
   * Other operators never see one. */
  RUSH_OP_ANY_LAYOUT = 1 << 3,
  /* Gives views of argument 0, whose strides and offset follow from its own, dimension by
   * dimension: of a turned tensor the interpreter makes them both as it lies and as PyTorch has it. */
  RUSH_OP_VIEW = 1 << 4,
  /* Takes tensors of every dtype, and arguments `dtype`, as they are, as a view does. Other operators
   * see no float16, bfloat16, int8 and int16, but wider copies, from which what they give and write
   * is rounded back (widen.h); complex tensors are refused before them. */
  RUSH_OP_ANY_DTYPE = 1 << 5,
  /* Of one that does not: takes complex tensors all the same. */
  RUSH_OP_COMPLEX = 1 << 6,
  /* Its Scalars may be complex numbers. */
  RUSH_OP_COMPLEX_NUMBERS = 1 << 7,
  /* Takes quantized tensors as they are, too, as RUSH_OP_VIEW does; or PyTorch has it for them, and it
   * sees their numbers: quantized.h. Other operators refuse them. */
  RUSH_OP_QUANTIZED = 1 << 8,
  RUSH_OP_IN_FLOATS = 1 << 9,
  /* Beside RUSH_OP_IN_FLOATS: results between 0 and 1, or -1 and 1, which are quantized for that range
   * whatever the argument's is. */
  RUSH_OP_TO_UNIT = 1 << 10,
  RUSH_OP_TO_SIGNED_UNIT = 1 << 11,
  /* Beside RUSH_OP_IN_FLOATS: means, which PyTorch takes of the integers. The numbers are these, less
   * the zero point, so that no scale rounds them to another side of a half. */
  RUSH_OP_IN_STEPS = 1 << 12,
  /* Its second argument is a matrix, which it packs as rush_gemm_pack_items does. */
  RUSH_OP_PACKS_ROWS = 1 << 13,
  /* Its first argument is a matrix of which it takes rows: out of `packed`, which is that of an
   * operator before, where there is one. */
  RUSH_OP_READS_ROWS = 1 << 14,
  /* Its prepare is given constant matrices of halves as they are; all other halves, and of other
   * operators all, as wide copies. */
  RUSH_OP_PACKS_HALVES = 1 << 15,
  /* Of rows that write: what happens where an operand shares memory with what is written. Without a
   * flag the row is given a copy of that operand, so that it reads what was there before the call.
   * APART: it is refused, as at::assert_no_overlap does in PyTorch. SHARES: the row decides itself,
   * and must be right for operands that change while it writes. (call/overlap.h) */
  RUSH_OP_NO_OVERLAP = 1 << 28,
  RUSH_OP_MAY_OVERLAP = 1 << 29,
  /* Writes an argument that the schema marks, (a!): said of rows without RUSH_OP_INPLACE and
   * RUSH_OP_MAY_OVERLAP. */
  RUSH_OP_WRITES = 1 << 30,
};

/* Of rows that have one function: the number of spatial dimensions, and which of its kinds, by
 * blocks/variants.h. The function reads them with rush_dims and rush_kind_of. */
#define RUSH_OP_DIMS(n) ((uint32_t)(n) << 16)
#define RUSH_OP_KIND(k) ((uint32_t)(k) << 20)

struct rush_op {
  const char
      *schema; /* whole, as torch prints it: "aten::add.Tensor(Tensor self, ...) -> Tensor" */
  rush_status (*run)(rush_call *c);
  /* May be NULL. Called by the loader for each instruction as soon as the last of its constant
   * tensors has arrived: packs weights. See rush_prepare. */
  rush_status (*prepare)(rush_prepare *p);
  uint32_t flags;
  const void
      *family; /* what a shared skeleton (pointwise, reduce) needs to know of this row; of others
                  rush_overlap_default, or NULL */
};

/* Packed weights of an instruction, and of others that have the same constants; they belong to the
 * model and are shared by its sessions, so they are never written after prepare. */
typedef struct rush_packed {
  void (*destroy)(rush_ctx *ctx, struct rush_packed *packed);
  /* The loader's: how many other instructions have it, and what it has consumed. */
  uint32_t others, consumed;
} rush_packed;

struct rush_call {
  rush_ctx *ctx;
  rush_heap *heap;
  struct rush_session *session; /* for rush_call_session and rush::chain alone */
  const struct rush_model *model;
  rush_value *attributes; /* the session's, model->n_attributes of them */
  const rush_op *op;
  uint32_t n_args, n_results;
  const rush_value *args; /* borrowed, n_args of the schema (of the instruction where variadic) */
  rush_value *results;    /* None at entry */
  const uint32_t *result_types; /* indices into the model's types */
  rush_tensor *inplace;         /* the destination of an in-place form, else NULL */
  uint32_t last_use;            /* bit i: argument i (i < 32) is not read after this instruction */
  struct rush_random *random;   /* the session's */
  const rush_packed *packed;    /* of this instruction, or NULL */
  void *tensors, *blocks;       /* temporaries, chained: see tmp_take and tmp_bytes */
  rush_dtype narrow; /* FLOAT16 or BFLOAT16 where float32 arguments are wide copies of such */
};

/* What the row says: see RUSH_OP_DIMS. 0 where it says nothing. */
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
/* `Tensor` or `Tensor?`; NULL for None. */
static inline rush_tensor *arg_tensor(const rush_call *c, uint32_t i) {
  return arg_is_none(c, i) ? NULL : rush_as_tensor(&c->args[i]);
}
/* `int`, `int?` (check arg_is_none first), ScalarType, Layout and MemoryFormat. */
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
/* `Scalar`: an int, float or bool value. */
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
/* `int[]`: copies at most `max` ints; BAD_ARGUMENT where there are more. None gives *n = 0. */
rush_status arg_ints(const rush_call *c, uint32_t i, int max, int64_t *out, int *n);
/* A dim argument, wrapped: -rank..rank-1 (rank 0 counts as 1). BAD_ARGUMENT with PyTorch's message.
 */
rush_status arg_dim(const rush_call *c, uint32_t i, int rank, int *out);
/* `int[]? dim` of a reduction as a bit mask; None or an empty list means all. Refuses repeats. */
rush_status arg_dims_mask(const rush_call *c, uint32_t i, int rank, uint32_t *out);
/* `ScalarType?`: the given dtype, or `otherwise` for None. UNSUPPORTED where it is reserved, or rare
 * and the row does not say RUSH_OP_ANY_DTYPE. */
rush_status arg_dtype(const rush_call *c, uint32_t i, rush_dtype otherwise, rush_dtype *out);
/* `int[]` of sizes, none negative. */
rush_status arg_sizes(const rush_call *c, uint32_t i, int *rank, int64_t *sizes);
/* BAD_ARGUMENT where a Scalar is complex and what it goes into, of `dtype`, is not. */
rush_status arg_check_number(const rush_call *c, uint32_t i, rush_dtype dtype);
/* The dtype that a Scalar has in type promotion: bool, int64 or the default dtype float32. */
rush_dtype arg_scalar_dtype(const rush_call *c, uint32_t i);
/* torch.result_type of the given arguments (tensors and Scalars), with dimensioned tensors before
 * 0-d ones before Scalars, as PyTorch (TensorIterator) does. `mask`: bit i for argument i; None is
 * skipped. */
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
static inline void ret_retained(rush_call *c, uint32_t i, const rush_value *v) {
  c->results[i] = rush_value_retained(*v);
}

/* Makes tensor result `i`, row-major, ready to be written in any order; the operator's inputs must
 * have been checked. It is set as the result at once. */
rush_status rush_result(rush_call *c, uint32_t i, rush_dtype dtype, int rank, const int64_t *sizes,
                        rush_tensor **out);
/* The same with the strides of a dense tensor `like` (as empty_like). */
rush_status rush_result_like(rush_call *c, uint32_t i, const rush_tensor *like, rush_dtype dtype,
                             rush_tensor **out);
/* Result 0 as torch.empty makes it, of the sizes in argument `size` and the dtype in `dtype_arg`;
 * and as torch.empty_like(argument 0), with dtype, layout, device, pin_memory, memory_format from
 * `dtype_arg` on. */
rush_status rush_result_empty(rush_call *c, uint32_t size, uint32_t dtype_arg, rush_dtype otherwise,
                              rush_tensor **out);
rush_status rush_result_empty_like(rush_call *c, uint32_t dtype_arg, rush_tensor **out);
/* A view of `base` as result `i`. */
rush_status rush_result_view(rush_call *c, uint32_t i, const rush_tensor *base, int rank,
                             const int64_t *sizes, const int64_t *strides, int64_t offset);
/* The same, lying as `strides` say where PyTorch's tensor has `nominal`: rush_tensor_new_turned. */
rush_status rush_result_turned(rush_call *c, uint32_t i, rush_dtype dtype, int rank,
                               const int64_t *sizes, const int64_t *strides, const int64_t *nominal,
                               rush_tensor **out);
/* Whether argument i may be overwritten and be the result: it dies here, nothing else refers to its
 * storage, which it begins with, and it is not a weight. */
bool rush_can_reuse(const rush_call *c, uint32_t i);
/* The same, also of a turned tensor: for operators that see to the result's strides. */
bool rush_can_reuse_turned(const rush_call *c, uint32_t i);

/* ---- Temporaries ------------------------------------------------------------------------------ */

/* Tensors and memory that belong to the call: they go when the operator has returned, however that
 * was, so it drops and frees nothing, and none may be a view of what lies on its stack. One that
 * becomes a result needs a reference of its own: ret_tensor(c, 0, rush_tensor_retain(x)). */

/* Takes over one reference of a new tensor, or of one that an argument, a result or an earlier
 * temporary holds; that one stays alive by itself, and its count is as if nobody had asked: what
 * rush_can_reuse says does not change. Gives `t`. */
rush_tensor *tmp_take(rush_call *c, rush_tensor *t);
rush_status tmp_new(rush_call *c, rush_dtype dtype, int rank, const int64_t *sizes,
                    rush_tensor **out);
rush_status tmp_view(rush_call *c, const rush_tensor *base, int rank, const int64_t *sizes,
                     const int64_t *strides, int64_t offset, rush_tensor **out);
/* The tensor itself where it is row-major or has the dtype, else a copy. */
rush_status tmp_contiguous(rush_call *c, rush_tensor *t, rush_tensor **out);
rush_status tmp_to(rush_call *c, rush_tensor *t, rush_dtype dtype, rush_tensor **out);
/* t, in halves where argument `dtype` asks for them: PyTorch converts to dtype= before it computes. The operator
 * sees float32 there. */
rush_status tmp_rounded(rush_call *c, rush_tensor *t, uint32_t dtype, rush_tensor **out);
/* The tensor itself where its memory is [N, ..., C] without gaps, else such a copy; of rank 2 or more. */
rush_status tmp_channels_last(rush_call *c, rush_tensor *t, rush_tensor **out);
/* Memory, not set; n items of one size, where n and the product may be more than there can be. */
rush_status tmp_bytes(rush_call *c, size_t bytes, void **out);
rush_status tmp_items(rush_call *c, int64_t n, size_t item, void **out);
/* The interpreter calls it after the operator. */
void rush_call_release(rush_call *c);

/* ---- Preparing ------------------------------------------------------------------------------- */

/* What prepare sees: the arguments of one instruction that are constants. Tensors among them are
 * plain here and may be released afterwards, if the operator says that it does not need them.
 *
 * Where a storage belongs to one instruction alone, prepare is asked before its bytes arrive as
 * well, with `placing` set: tensors have no data then. An operator that can pack in place sets
 * `packed` and says where in it the bytes shall go; when they are there it is called again, with
 * that `packed`, and has to pack. */
struct rush_prepare {
  rush_ctx *ctx;
  uint32_t n_args;
  const rush_value *const
      *args; /* per argument of the schema (defaults filled in): NULL where not constant */
  rush_packed *packed;         /* set by the operator */
  const rush_storage *placing; /* whose bytes are about to arrive; NULL in the ordinary call */
  void *place;                 /* while placing, set by the operator: where they shall go */
  uint32_t consumed; /* set by the operator: bit i where tensor i lives in `packed` only, and
                        run never touches its data again (its sizes and dtype stay readable) */
};

/* The operator of a custom one, for models that `ctx` loads; op->family is the rush_custom_op.
 * False where the context (and this build) has none of that name. */
bool rush_op_find_custom(const rush_ctx *ctx, const char *name, rush_op *op);

/* The table of all operators, in the order of ops.def; NULL where there is none of that name
 * ("aten::add.Tensor" or its in-place form, for which *inplace is set). */
const rush_op *rush_op_find(const char *name, bool *inplace);
size_t rush_op_count(void);
const rush_op *rush_op_at(size_t i);

/* What those look into; where `npx rushlight slim` took rows away, n is less than n_built. */
typedef struct rush_op_table {
  const rush_op *rows; /* [n] */
  uint32_t n, n_built;
} rush_op_table;
extern const rush_op_table rush_all_ops;
bool rush_ops_slimmed(void);

#endif
