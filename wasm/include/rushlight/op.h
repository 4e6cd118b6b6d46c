/* Operators of your own, in C.
 *
 *   static rush_status double_it(rush_call *call, void *user) {
 *     rush_tensor_info x;
 *     void *y;
 *     rush_status st = rush_call_tensor_of(call, 0, RUSH_FLOAT32, 1, &x);
 *     if (st == RUSH_OK) st = rush_call_result(call, 0, x.dtype, x.rank, x.sizes, &y);
 *     if (st != RUSH_OK) return st;
 *     for (int64_t i = 0; i < x.numel; i++) ((float *)y)[i] = 2 * ((const float *)x.data)[i];
 *     return RUSH_OK;
 *   }
 *   static const rush_custom_op op = {.size = sizeof op,
 *                                     .schema = "my_ops::double_it(Tensor x) -> Tensor",
 *                                     .run = double_it};
 *   rush_ctx_add_op(ctx, &op);              before loading models that use it, or:
 *   rushlight_add_operators(target op.c)    in CMake, which links RUSH_LINK_OPS(&op) into a build
 *
 * The schema is what TORCH_LIBRARY registered on the host. Arguments arrive complete and checked
 * against it: of the right kinds, defaults filled in. Where `run` is NULL a name without a schema
 * will do: the schema is then the one that the file carries.
 */
#ifndef RUSHLIGHT_OP_H
#define RUSHLIGHT_OP_H

#include "rushlight.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call of an operator; valid while it runs. */
typedef struct rush_call rush_call;

/* Flags of rush_custom_op. */
enum {
  RUSH_CUSTOM_STRIDED =
      1 << 8, /* takes tensors with any strides; without it they arrive contiguous */
};

/* An operator: its schema and its function. */
typedef struct rush_custom_op {
  uint32_t size;      /* sizeof(rush_custom_op): tells versions of this struct apart */
  uint32_t flags;     /* RUSH_CUSTOM_*, or 0 */
  const char *schema; /* "namespace::name.overload(Tensor x, int n=1) -> Tensor" */
  /* Returns RUSH_OK with all results set, or what rush_call_fail returned. NULL: an operator that
   * the host computes outside, see rush_session_next. */
  rush_status (*run)(rush_call *call, void *user);
  void *user; /* handed to run */
} rush_custom_op;

/* Makes the operator known to models that this context loads from now on. `op` stays the caller's,
 * who keeps it until those models are destroyed. BAD_ARGUMENT for a schema that cannot be read or a
 * name that is taken (also by an operator of Rushlight's). */
rush_status rush_ctx_add_op(rush_ctx *ctx, const rush_custom_op *op);

/* For a build of the runtime that carries operators: in one C file, RUSH_LINK_OPS(&a, &b, &c) */
#define RUSH_LINK_OPS(...) const rush_custom_op *const rush_linked_ops[] = {__VA_ARGS__, NULL}
/* What it defines, ending with NULL. */
extern const rush_custom_op *const rush_linked_ops[];

/* ---- Inside run ------------------------------------------------------------------------------ */

/* How many arguments the schema has. */
size_t rush_call_arg_count(const rush_call *call);
/* Argument `i`, borrowed; None where there is no such argument. */
rush_value rush_call_arg(const rush_call *call, size_t i);
/* Argument `i` as a tensor; BAD_ARGUMENT for other kinds (None of a `Tensor?` too). An argument
 * that the schema marks as written, (a!), may be written through `data`. */
rush_status rush_call_tensor(const rush_call *call, size_t i, rush_tensor_info *out);
/* The same for an operator that takes one dtype and rank only: BAD_ARGUMENT, saying which, for
 * other tensors. */
rush_status rush_call_tensor_of(rush_call *call, size_t i, rush_dtype dtype, int rank,
                                rush_tensor_info *out);
/* Makes result `i` a new contiguous tensor; *data are its elements, not set. */
rush_status rush_call_result(rush_call *call, size_t i, rush_dtype dtype, int rank,
                             const int64_t *sizes, void **data);
/* Makes result `i` this value and takes over the caller's reference, also where it fails. */
rush_status rush_call_return(rush_call *call, size_t i, rush_value value);
/* Makes result `i` argument `k` itself, as operators do that write an argument and return it. */
rush_status rush_call_return_arg(rush_call *call, size_t i, size_t k);
/* Leaves the message and gives BAD_ARGUMENT to return. */
rush_status rush_call_fail(rush_call *call, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* Counts `steps` of work of about a nanosecond: for an operator that takes long, every millisecond
 * or so. INTERRUPTED, to be returned, where the host wants to stop. */
rush_status rush_call_charge(rush_call *call, uint64_t steps);
/* The session, for the functions on values in rushlight.h. */
rush_session *rush_call_session(const rush_call *call);

#ifdef __cplusplus
}
#endif
#endif
