/* Schemas: parses the text of a row in ops.def. Follows the grammar of
 * torch/csrc/jit/frontend/function_schema_parser.cpp, as far as rows use it. */
#ifndef RUSH_SCHEMA_H
#define RUSH_SCHEMA_H

#include "call/call.h"

enum { RUSH_SCHEMA_MAX_ARGS = 32, RUSH_SCHEMA_MAX_RESULTS = 8, RUSH_SCHEMA_MAX_BYTES = 1 << 14 };

/* A set of kinds, with one bit per rush_kind. */
typedef uint32_t rush_kinds;
#define RUSH_KIND_BIT(kind) (1u << (kind))
#define RUSH_KINDS_ANY 0xFFFFFFFFu

typedef enum rush_default_kind {
  RUSH_DEFAULT_ABSENT, /* the argument is required */
  RUSH_DEFAULT_VALUE,  /* None, int, float or bool in `value` */
  RUSH_DEFAULT_STR,    /* text, text_size */
  RUSH_DEFAULT_INTS,   /* a list of ints, n_ints of them */
} rush_default_kind;

enum { RUSH_DEFAULT_MAX_INTS = 6 };

typedef struct rush_schema_arg {
  const char *name; /* points into the schema's text, not zero-terminated */
  uint32_t name_size;
  rush_kinds kinds; /* kinds that the argument may have */
  rush_kinds items; /* kinds of a list's items; RUSH_KINDS_ANY for others */
  bool written;     /* annotated with ! */
  int8_t returned; /* index of the result with the same annotation, which is this argument; or -1 */
  rush_default_kind otherwise;
  rush_value value;
  const char *text;
  uint32_t text_size, n_ints;
  int64_t ints[RUSH_DEFAULT_MAX_INTS];
} rush_schema_arg;

typedef struct rush_schema {
  uint32_t n_args, n_required, n_results;
  bool more_args, more_results; /* "...": any number of additional ones */
  rush_schema_arg *args;
  rush_kinds result_kinds[RUSH_SCHEMA_MAX_RESULTS];
  struct {
    const char *text; /* points into the schema's text */
    uint32_t size;
  } result_types[RUSH_SCHEMA_MAX_RESULTS];
} rush_schema;

/* Parses the schema text of a row. An error in a row is a bug, reported as BAD_STATE. Schemas of
 * users and files are also parsed safely. */
rush_status rush_schema_parse(rush_ctx *ctx, const char *text, rush_schema *out);
/* Lets Scalar arguments be complex numbers. */
void rush_schema_take_complex(rush_schema *schema);
void rush_schema_free(rush_ctx *ctx, rush_schema *schema);

/* Returns whether an argument of a row must be turned back. A tensor that is written and has
 * aliases or is growable always is, because checks of overlaps read strides, and the memory that
 * growable tensors share must not be written. */
static inline bool rush_needs_order(const rush_op *op, const rush_schema_arg *arg,
                                    const rush_value *v) {
  if (!rush_is_object(v)) return false;
  if (!(op->flags & (RUSH_OP_ANY_LAYOUT | RUSH_OP_VIEW))) return true;
  return arg->written && v->kind == RUSH_KIND_TENSOR &&
         (rush_as_tensor(v)->storage->refs > 1 || rush_as_tensor(v)->storage->growable);
}
/* Puts turned tensors in `args` into PyTorch's order where the row needs that. */
rush_status rush_lay_args(rush_heap *heap, const rush_op *op, const rush_schema *schema,
                          const rush_value *args);

#endif
