/* Custom operators that users add: rushlight/op.h. */
#include <stdarg.h>
#include <stdio.h>

#include "call/schema.h"

/* ---- Registration ---------------------------------------------------------------------------- */

static size_t name_size(const char *schema) {
  return strcspn(schema, "(");
}

static bool is_named(const rush_custom_op *op, const char *name, size_t n) {
  return name_size(op->schema) == n && memcmp(op->schema, name, n) == 0;
}

static const rush_custom_op *find(const rush_ctx *ctx, const char *name, size_t n) {
  for (size_t i = 0; i < ctx->n_ops; i++) {
    if (is_named(ctx->ops[i], name, n)) return ctx->ops[i];
  }
  for (const rush_custom_op *const *op = rush_linked_ops; *op; op++) {
    if (is_named(*op, name, n)) return *op;
  }
  return NULL;
}

static rush_status run_custom(rush_call *c);

bool rush_op_find_custom(const rush_ctx *ctx, const char *name, rush_op *op) {
  const rush_custom_op *custom = find(ctx, name, strlen(name));
  if (!custom) return false;
  *op = (rush_op){.schema = custom->schema,
                  .run = custom->run ? run_custom : NULL,
                  .flags = RUSH_OP_ANY_DTYPE | (custom->run ? 0 : RUSH_OP_EXTERNAL),
                  .family = custom};
  return true;
}

rush_status rush_ctx_add_op(rush_ctx *ctx, const rush_custom_op *op) {
  char name[256];
  rush_schema schema;
  bool inplace;
  RUSH_CHECK(
      ctx, op->size == sizeof *op, RUSH_ERR_BAD_ARGUMENT,
      "an operator of %u bytes was compiled for another version of rushlight/op.h, which has %zu",
      op->size, sizeof *op);
  RUSH_CHECK(ctx, op->schema, RUSH_ERR_BAD_ARGUMENT, "an operator must have a schema, got NULL");
  size_t n = name_size(op->schema);
  bool whole = op->schema[n] == '(';
  RUSH_CHECK(ctx, n > 0 && n < sizeof name && (whole || !op->run), RUSH_ERR_BAD_ARGUMENT,
             "a schema must be NAME(ARGUMENTS) -> RESULTS, got '%.80s'", op->schema);
  memcpy(name, op->schema, n);
  name[n] = '\0';
  if (whole) {
    rush_status st = rush_schema_parse(ctx, op->schema, &schema);
    if (st != RUSH_OK) return st == RUSH_ERR_BAD_STATE ? RUSH_ERR_BAD_ARGUMENT : st;
    rush_schema_free(ctx, &schema);
  }
  RUSH_CHECK(ctx, !find(ctx, name, n) && !rush_op_find(name, &inplace), RUSH_ERR_BAD_ARGUMENT,
             "operator '%s' exists already", name);
  size_t before, after;
  if (!rush_mul(ctx->n_ops, sizeof *ctx->ops, &before) ||
      !rush_add(before, sizeof *ctx->ops, &after))
    return rush_fail_memory(ctx, SIZE_MAX);
  RUSH_TRY(rush_realloc(ctx, (void **)&ctx->ops, before, after));
  ctx->ops[ctx->n_ops++] = op;
  return RUSH_OK;
}

/* ---- Calling --------------------------------------------------------------------------------- */

/* Replaces strided tensors among the arguments, and in lists of tensors, by contiguous copies. */
static rush_status make_contiguous(rush_call *c, rush_value *args) {
  for (uint32_t k = 0; k < c->n_args; k++) {
    args[k] = rush_none();
    if (c->args[k].kind == RUSH_KIND_TENSOR) {
      rush_tensor *t;
      RUSH_TRY(rush_tensor_contiguous(c->heap, rush_as_tensor(c->args + k), &t));
      args[k] = rush_of_tensor(t);
    } else if (c->args[k].kind == RUSH_KIND_LIST) {
      const rush_list *list = rush_as_list(c->args + k);
      RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_LIST, list->type, list->items, list->n, args + k));
      for (size_t i = 0; i < list->n; i++) {
        rush_value *item = rush_as_list(args + k)->items + i;
        rush_tensor *t;
        if (item->kind != RUSH_KIND_TENSOR) continue;
        RUSH_TRY(rush_tensor_contiguous(c->heap, rush_as_tensor(item), &t));
        rush_drop(c->heap, item);
        *item = rush_of_tensor(t);
      }
    } else {
      args[k] = rush_value_retained(c->args[k]);
    }
  }
  return RUSH_OK;
}

/* Copies what the operator wrote to a contiguous copy back into the tensor, or into the tensors of
 * the list. */
static rush_status copy_back(rush_call *c, const rush_value *to, const rush_value *from) {
  if ((to->kind != RUSH_KIND_TENSOR && to->kind != RUSH_KIND_LIST) || to->u.ref == from->u.ref)
    return RUSH_OK;
  if (to->kind == RUSH_KIND_LIST) {
    const rush_list *list = rush_as_list(to);
    for (size_t i = 0; i < list->n; i++)
      RUSH_TRY(copy_back(c, list->items + i, rush_as_list(from)->items + i));
    return RUSH_OK;
  }
  rush_tensor *t = rush_as_tensor(to);
  return t->storage->borrowed ? RUSH_OK : rush_tensor_copy(c->heap, t, rush_as_tensor(from));
}

/* Replaces results that are copies of arguments by the arguments themselves. */
static void return_arguments(rush_call *c, const rush_value *own) {
  for (uint32_t k = 0; k < c->n_args; k++) {
    if (c->args[k].kind != RUSH_KIND_TENSOR || c->args[k].u.ref == own[k].u.ref) continue;
    for (uint32_t r = 0; r < c->n_results; r++) {
      if (c->results[r].kind != RUSH_KIND_TENSOR || c->results[r].u.ref != own[k].u.ref) continue;
      rush_drop(c->heap, c->results + r);
      ret_retained(c, r, c->args + k);
    }
  }
}

static rush_status check_results(rush_call *c, const rush_schema *schema) {
  for (uint32_t r = 0; r < c->n_results; r++) {
    RUSH_CHECK(c->ctx, schema->result_kinds[r] & RUSH_KIND_BIT(c->results[r].kind),
               RUSH_ERR_BAD_ARGUMENT, "the operator's schema does not allow %s as result %u",
               rush_kind_name(c->results[r].kind), r);
  }
  return RUSH_OK;
}

/* Runs the user's function. If it fails, the message is its own, not an earlier one, and the status
 * is an error. */
static rush_status run_own(rush_call *c, const rush_custom_op *op) {
  c->ctx->message[0] = '\0';
  rush_status st = op->run(c, op->user);
  bool error = (st > RUSH_OK && st < RUSH_PENDING) || st == RUSH_ERR_INTERRUPTED;
  if (st == RUSH_OK || (error && c->ctx->message[0] != '\0')) return st;
  return rush_fail(c->ctx, error ? st : RUSH_ERR_BAD_ARGUMENT,
                   "the operator failed without a message, with status %d (%s)", (int)st,
                   rush_status_name(st));
}

static rush_status run_custom(rush_call *c) {
  const rush_custom_op *op = c->op->family;
  rush_value own[RUSH_SCHEMA_MAX_ARGS];
  const rush_value *given = c->args;
  rush_schema schema;
  bool copies = !(op->flags & RUSH_CUSTOM_STRIDED);
  RUSH_TRY(rush_schema_parse(c->ctx, op->schema, &schema));
  rush_status st = RUSH_OK;
  for (uint32_t k = 0; k < c->n_args; k++) own[k] = rush_none();
  if (copies) st = make_contiguous(c, own);
  if (copies) c->args = own;
  if (st == RUSH_OK) st = run_own(c, op);
  c->args = given;
  for (uint32_t k = 0; copies && st == RUSH_OK && k < c->n_args; k++) {
    if (schema.args[k].written) st = copy_back(c, given + k, own + k);
  }
  if (st == RUSH_OK && copies) return_arguments(c, own);
  for (uint32_t k = 0; k < c->n_args; k++) rush_drop(c->heap, own + k);
  if (st == RUSH_OK) st = check_results(c, &schema);
  rush_schema_free(c->ctx, &schema);
  return st;
}

/* ---- Functions that run may call ------------------------------------------------------------- */

size_t rush_call_arg_count(const rush_call *c) {
  return c->n_args;
}

rush_value rush_call_arg(const rush_call *c, size_t i) {
  return i < c->n_args ? c->args[i] : rush_none();
}

rush_status rush_call_tensor(const rush_call *c, size_t i, rush_tensor_info *out) {
  rush_value v = rush_call_arg(c, i);
  *out = (rush_tensor_info){0};
  RUSH_CHECK(c->ctx, v.kind == RUSH_KIND_TENSOR, RUSH_ERR_BAD_ARGUMENT,
             "argument %zu must be a Tensor, got %s", i, rush_kind_name(v.kind));
  *out = rush_tensor_info_of(rush_as_tensor(&v));
  return RUSH_OK;
}

rush_status rush_call_tensor_of(rush_call *c, size_t i, rush_dtype dtype, int rank,
                                rush_tensor_info *out) {
  RUSH_TRY(rush_call_tensor(c, i, out));
  RUSH_CHECK(c->ctx, out->dtype == dtype && out->rank == rank, RUSH_ERR_BAD_ARGUMENT,
             "argument %zu must be %s with %d dimensions, got %s with %d", i,
             rush_dtype_name(dtype), rank, rush_dtype_name(out->dtype), out->rank);
  return RUSH_OK;
}

static rush_status result_in_range(rush_call *c, size_t i) {
  RUSH_CHECK(c->ctx, i < c->n_results, RUSH_ERR_BAD_ARGUMENT,
             "result %zu does not exist, the number of results is %u", i, c->n_results);
  return RUSH_OK;
}

rush_status rush_call_result(rush_call *c, size_t i, rush_dtype dtype, int rank,
                             const int64_t *sizes, void **data) {
  rush_tensor *t;
  *data = NULL;
  RUSH_TRY(result_in_range(c, i));
  RUSH_TRY(rush_tensor_new_checked(c->heap, dtype, rank, sizes, &t));
  *data = rush_data(t);
  return rush_call_return(c, i, rush_of_tensor(t));
}

rush_status rush_call_return(rush_call *c, size_t i, rush_value value) {
  rush_status st = result_in_range(c, i);
  if (st != RUSH_OK) {
    rush_drop(c->heap, &value);
    return st;
  }
  rush_drop(c->heap, c->results + i);
  c->results[i] = value;
  return RUSH_OK;
}

rush_status rush_call_return_arg(rush_call *c, size_t i, size_t k) {
  rush_value v = rush_call_arg(c, k);
  return rush_call_return(c, i, rush_value_retained(v));
}

rush_status rush_call_fail(rush_call *c, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT, "%s", text);
}

rush_status rush_call_charge(rush_call *c, uint64_t steps) {
  return rush_charge(c->ctx, steps);
}

rush_session *rush_call_session(const rush_call *c) {
  return c->session;
}
