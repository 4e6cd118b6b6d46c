#include "call/widen.h"

#include "tensor/layout.h"

static rush_dtype wide_of(rush_dtype dtype) {
  return rush_is_half(dtype)                  ? RUSH_FLOAT32
         : rush_is_one_of(dtype, RUSH_SHORTS) ? RUSH_INT32
                                              : dtype;
}

rush_status rush_widen(rush_heap *heap, rush_tensor *t, bool is_packed, rush_tensor **out) {
  const rush_dtype wide = wide_of(t->dtype);
  if (!is_packed && rush_has_elements(t)) return rush_tensor_to(heap, t, wide, out);
  RUSH_TRY(rush_tensor_new_view(heap, t, t->rank, t->sizes, t->strides, t->offset, out));
  (*out)->dtype = wide;
  return RUSH_OK;
}

/* The state of one call with widened arguments. */
typedef struct widening {
  rush_call *c;
  rush_dtype narrow[2];                   /* dtypes for float32 and for int32 results, or UNKNOWN */
  rush_value given[RUSH_SCHEMA_MAX_ARGS]; /* the original arguments */
  rush_value created[RUSH_SCHEMA_MAX_ARGS]; /* new lists, to be dropped */
} widening;

static rush_dtype *narrow_of(widening *w, rush_dtype dtype) {
  const rush_dtype wide = wide_of(dtype);
  return wide == RUSH_FLOAT32 ? &w->narrow[0] : wide == RUSH_INT32 ? &w->narrow[1] : NULL;
}

static rush_status widen(widening *w, rush_tensor *t, bool is_packed, rush_tensor **out) {
  rush_dtype *narrow = narrow_of(w, t->dtype);
  if (narrow && *narrow == RUSH_DTYPE_UNKNOWN) *narrow = t->dtype;
  RUSH_CHECK(w->c->ctx, !rush_is_complex(t->dtype) || w->c->op->flags & RUSH_OP_COMPLEX,
             RUSH_ERR_UNSUPPORTED, "not implemented for '%s'", rush_dtype_torch_name(t->dtype));
  RUSH_TRY(rush_widen(w->c->heap, t, is_packed, out));
  tmp_take(w->c, *out);
  return RUSH_OK;
}

static bool has_rare(const rush_list *list) {
  for (size_t k = 0; k < list->n; k++)
    if (list->items[k].kind == RUSH_KIND_TENSOR &&
        rush_is_one_of(rush_as_tensor(&list->items[k])->dtype, RUSH_RARE))
      return true;
  return false;
}

/* Returns whether the operator would see a rare dtype. */
static bool is_rare_call(const rush_schema *schema, const rush_value *args, uint32_t dtype_arg) {
  if (dtype_arg > 0 && rush_is_rare_dtype(args + dtype_arg)) return true;
  for (uint32_t k = 0; k < schema->n_args; k++) {
    if (args[k].kind == RUSH_KIND_TENSOR
            ? rush_is_one_of(rush_as_tensor(args + k)->dtype, RUSH_RARE)
            : args[k].kind == RUSH_KIND_LIST && has_rare(rush_as_list(args + k)))
      return true;
  }
  return false;
}

static rush_status widen_list(widening *w, const rush_schema_arg *arg, rush_value *v,
                              rush_value *created) {
  rush_list *list = rush_as_list(v);
  if (!has_rare(list)) return RUSH_OK;
  RUSH_CHECK(w->c->ctx, !arg->written, RUSH_ERR_UNSUPPORTED,
             "a list of tensors of this dtype cannot be written");
  RUSH_TRY(rush_new_list(w->c->heap, RUSH_KIND_LIST, list->type, list->items, list->n, created));
  list = rush_as_list(created);
  for (size_t k = 0; k < list->n; k++) {
    rush_tensor *wide;
    if (list->items[k].kind != RUSH_KIND_TENSOR) continue;
    RUSH_TRY(widen(w, rush_as_tensor(list->items + k), false, &wide));
    rush_drop(w->c->heap, list->items + k);
    list->items[k] = rush_of_tensor(rush_tensor_retain(wide));
  }
  *v = *created;
  return RUSH_OK;
}

uint32_t rush_dtype_arg(const rush_schema *schema) {
  for (uint32_t k = schema->n_args; k-- > 1;) {
    const rush_schema_arg *arg = schema->args + k;
    if (arg->name_size == 5 && memcmp(arg->name, "dtype", 5) == 0) return k;
  }
  return 0;
}

/* Replaces a rare `dtype` argument by the wide dtype. */
static void widen_dtype(widening *w, rush_value *v) {
  if (v->kind != RUSH_KIND_INT || v->u.i < 0 || v->u.i > 255 || !rush_dtype_known((int)v->u.i))
    return;
  rush_dtype *narrow = narrow_of(w, (rush_dtype)v->u.i);
  if (!narrow) return;
  *narrow = (rush_dtype)v->u.i;
  v->u.i = wide_of(*narrow);
}

static rush_status widen_args(widening *w, const rush_schema *schema, rush_value *args,
                              uint32_t dtype_arg) {
  for (uint32_t k = 0; k < schema->n_args; k++) {
    rush_value *v = args + k;
    rush_tensor *wide;
    if (v->kind == RUSH_KIND_TENSOR) {
      const bool is_packed = w->c->packed && w->c->packed->consumed >> k & 1;
      RUSH_TRY(widen(w, rush_as_tensor(v), is_packed, &wide));
      *v = rush_of_tensor(wide);
    } else if (v->kind == RUSH_KIND_LIST) {
      RUSH_TRY(widen_list(w, schema->args + k, v, w->created + k));
    }
  }
  if (dtype_arg > 0) widen_dtype(w, args + dtype_arg);
  return RUSH_OK;
}

/* Rounds one result, or each item of a list result. */
static rush_status narrow(widening *w, const rush_schema *schema, const rush_value *args,
                          rush_value *v) {
  rush_tensor *t, *out;
  if (v->kind == RUSH_KIND_LIST) {
    rush_list *list = rush_as_list(v);
    for (size_t k = 0; k < list->n; k++)
      if (list->items[k].kind == RUSH_KIND_TENSOR)
        RUSH_TRY(narrow(w, schema, args, list->items + k));
    return RUSH_OK;
  }
  if (v->kind != RUSH_KIND_TENSOR) return RUSH_OK;
  t = rush_as_tensor(v);
  for (uint32_t k = 0; k < schema->n_args; k++) {
    if (args[k].kind != RUSH_KIND_TENSOR || rush_as_tensor(args + k) != t) continue;
    rush_drop(w->c->heap, v);
    *v = rush_value_retained(w->given[k]);
    return RUSH_OK;
  }
  const rush_dtype *dtype = narrow_of(w, t->dtype);
  if (!dtype || *dtype == RUSH_DTYPE_UNKNOWN || t->dtype != wide_of(t->dtype)) return RUSH_OK;
  RUSH_TRY(rush_tensor_to(w->c->heap, t, *dtype, &out));
  rush_drop(w->c->heap, v);
  *v = rush_of_tensor(out);
  return RUSH_OK;
}

static rush_status write_back(widening *w, const rush_schema *schema, const rush_value *args) {
  const rush_call *c = w->c;
  for (uint32_t k = 0; k < schema->n_args; k++) {
    if (args[k].kind != RUSH_KIND_TENSOR || args[k].u.ref == w->given[k].u.ref) continue;
    if (!schema->args[k].written) continue;
    rush_tensor *to = rush_as_tensor(w->given + k);
    const rush_tensor *from = rush_as_tensor(args + k);
    RUSH_CHECK(c->ctx, rush_same_sizes(to, from), RUSH_ERR_UNSUPPORTED,
               "a tensor of dtype %s cannot be resized by this operator",
               rush_dtype_name(to->dtype));
    RUSH_TRY(rush_tensor_copy(c->heap, to, from));
  }
  return RUSH_OK;
}

rush_status rush_call_widened(rush_call *c, const rush_schema *schema, rush_value *args,
                              uint32_t dtype_arg) {
  if (!is_rare_call(schema, args, dtype_arg)) return c->op->run(c);
  widening w = {.c = c, .narrow = {RUSH_DTYPE_UNKNOWN, RUSH_DTYPE_UNKNOWN}};
  rush_tensor *inplace = c->inplace;
  for (uint32_t k = 0; k < schema->n_args; k++) w.given[k] = args[k];
  rush_status st = widen_args(&w, schema, args, dtype_arg);
  if (st == RUSH_OK) {
    if (inplace) c->inplace = rush_as_tensor(args);
    c->narrow = w.narrow[0];
    /* The arguments are copies that the call owns; reusing one would lose the original. */
    c->last_use = 0;
    st = c->op->run(c);
  }
  if (st == RUSH_OK) st = write_back(&w, schema, args);
  for (uint32_t k = 0; k < c->n_results && st == RUSH_OK; k++)
    st = narrow(&w, schema, args, c->results + k);
  c->inplace = inplace;
  for (uint32_t k = 0; k < schema->n_args; k++) {
    args[k] = w.given[k];
    rush_drop(c->heap, w.created + k);
  }
  return st;
}
