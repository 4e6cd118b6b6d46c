/* Custom operators, written in C.
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
 *   rush_ctx_add_op(ctx, &op);              before loading models that use it, or
 *   rushlight_add_operators(target op.c)    in CMake, which links RUSH_LINK_OPS(&op) into a build
 *
 * The schema is the one that TORCH_LIBRARY registered on the host. The runtime checks the
 * arguments against it and fills in defaults, so `run` receives all arguments with the right
 * kinds. If `run` is NULL, a name without a schema is enough: the schema is then the one in the
 * file. */
#ifndef RUSHLIGHT_OP_H
#define RUSHLIGHT_OP_H

#include "rushlight.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call of an operator. It is valid while the operator runs. */
typedef struct rush_call rush_call;

/* The flags of rush_custom_op. */
enum {
  /* The operator takes tensors with any strides. Without this flag they arrive contiguous. */
  RUSH_CUSTOM_STRIDED = 1 << 8,
};

/* A custom operator: its schema and its function. */
typedef struct rush_custom_op {
  uint32_t size;      /* sizeof(rush_custom_op), which tells versions of this struct apart */
  uint32_t flags;     /* RUSH_CUSTOM_*, or 0 */
  const char *schema; /* "namespace::name.overload(Tensor x, int n=1) -> Tensor" */
  /* Returns RUSH_OK after setting all results, or the status that rush_call_fail returned. NULL
   * means that the host computes the operator; see rush_session_next. */
  rush_status (*run)(rush_call *call, void *user);
  void *user; /* passed to run */
} rush_custom_op;

/* Registers the operator for models that this context loads from now on. `op` belongs to the
 * caller and must stay valid until those models are destroyed. Fails with BAD_ARGUMENT if the
 * schema cannot be parsed or the name is taken, even by an operator of Rushlight, and with
 * NO_MEMORY. */
rush_status rush_ctx_add_op(rush_ctx *ctx, const rush_custom_op *op);

/* Links operators into a build of the runtime. Write it once, in one C file: RUSH_LINK_OPS(&a,
 * &b, &c) */
#define RUSH_LINK_OPS(...) const rush_custom_op *const rush_linked_ops[] = {__VA_ARGS__, NULL}
/* The operators that RUSH_LINK_OPS lists, followed by NULL. */
extern const rush_custom_op *const rush_linked_ops[];

/* ---- Inside run ------------------------------------------------------------------------------ */

/* Returns how many arguments the schema has. */
size_t rush_call_arg_count(const rush_call *call);
/* Returns argument `i`, borrowed, or None if there is no such argument. */
rush_value rush_call_arg(const rush_call *call, size_t i);
/* Stores argument `i` as a tensor. `data` may be written if the schema marks the argument as
 * written, (a!). Fails with BAD_ARGUMENT for other kinds, including None of a `Tensor?`. */
rush_status rush_call_tensor(const rush_call *call, size_t i, rush_tensor_info *out);
/* Does the same for an operator that takes one dtype and rank only. Fails with BAD_ARGUMENT for
 * other tensors; the message names the expected dtype and rank. */
rush_status rush_call_tensor_of(rush_call *call, size_t i, rush_dtype dtype, int rank,
                                rush_tensor_info *out);
/* Makes result `i` a new contiguous tensor of these sizes. *data points to its elements, which
 * are not initialized. Fails with UNSUPPORTED, BAD_ARGUMENT or NO_MEMORY as rush_tensor_create
 * does. */
rush_status rush_call_result(rush_call *call, size_t i, rush_dtype dtype, int rank,
                             const int64_t *sizes, void **data);
/* Makes result `i` this value and takes over the caller's reference, even if it fails. Fails
 * with BAD_ARGUMENT if there is no such result. */
rush_status rush_call_return(rush_call *call, size_t i, rush_value value);
/* Makes result `i` argument `k` itself, for operators that write an argument and return it.
 * Fails with BAD_ARGUMENT if there is no such result or argument. */
rush_status rush_call_return_arg(rush_call *call, size_t i, size_t k);
/* Records the message and returns BAD_ARGUMENT, for `run` to return. */
rush_status rush_call_fail(rush_call *call, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* Counts `steps` of work, each about a nanosecond. A slow operator calls it about every
 * millisecond. Returns INTERRUPTED if the host wants to stop; `run` must then return that
 * status. */
rush_status rush_call_charge(rush_call *call, uint64_t steps);
/* Returns the session, for the functions on values in rushlight.h. */
rush_session *rush_call_session(const rush_call *call);

#ifdef __cplusplus
}
#endif
#endif
