/* Conversion of lists of numbers to tensors and back. */
#include "blocks/values.h"
#include "call/define.h"

/* tolist() returns `depth` nested lists of `kind`, or a number if depth is 0. libtorch's inputs are
 * the tensor, the depth and the type of the numbers (0 int, 1 float, 2 bool, 3 complex). */
typedef struct lister {
  const rush_tensor *t;
  rush_heap *heap;
} lister;

static rush_status number_at(const lister *l, int64_t offset, rush_value *out) {
  rush_dtype dtype = l->t->dtype;
  const char *at = (const char *)l->t->storage->data + (size_t)offset * rush_itemsize(l->t);
  if (rush_is_complex(dtype)) return rush_complex_at(l->heap, dtype, at, out);
  if (rush_is_float(dtype))
    *out = rush_float(rush_load_double(dtype, at));
  else if (dtype == RUSH_BOOL)
    *out = rush_bool(rush_load_int(dtype, at) != 0);
  else
    *out = rush_int(rush_load_int(dtype, at));
  return RUSH_OK;
}

static rush_status list_at(const lister *l, int d, int64_t offset, rush_value *out) {
  if (d == l->t->rank) return number_at(l, offset, out);
  RUSH_TRY(rush_new_list(l->heap, RUSH_KIND_LIST, RUSH_NONE, NULL, 0, out));
  for (int64_t i = 0; i < l->t->sizes[d]; i++) {
    rush_value item = rush_none();
    rush_status st = rush_charge(l->heap->ctx, 8);
    if (st == RUSH_OK) st = list_at(l, d + 1, offset + i * l->t->strides[d], &item);
    if (st == RUSH_OK) st = rush_list_push(l->heap, rush_as_list(out), item);
    rush_drop(l->heap, &item);
    if (st != RUSH_OK) {
      rush_drop(l->heap, out);
      return st;
    }
  }
  return RUSH_OK;
}

static rush_status check_tolist(rush_call *c) {
  static const char *const words[] = {"int", "float", "bool", "complex"};
  bool fits = c->n_args == 3 && c->args[0].kind == RUSH_KIND_TENSOR &&
              c->args[1].kind == RUSH_KIND_INT && c->args[2].kind == RUSH_KIND_INT;
  RUSH_CHECK_ARG(!fits || !rush_is_quantized(arg_tensor(c, 0)->dtype),
                 "tolist() is not supported for quantized tensors");
  RUSH_CHECK_ARG(fits, "tolist takes a tensor, a depth and a type");
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t depth = arg_int(c, 1), wanted = arg_int(c, 2);
  RUSH_CHECK_ARG(wanted >= 0 && wanted <= 3, "tolist: type %lld", (long long)wanted);
  rush_dtype dtype = t->dtype;
  int have = rush_is_complex(dtype) ? 3 : rush_is_float(dtype) ? 1 : dtype == RUSH_BOOL ? 2 : 0;
  RUSH_CHECK_ARG(have == wanted,
                 "Output annotation element type and runtime tensor element type must match for "
                 "tolist(): %s and %s",
                 words[wanted], rush_dtype_name(t->dtype));
  RUSH_CHECK_ARG(depth == t->rank,
                 "Output annotation list dimension and runtime tensor dimension must match for "
                 "tolist(): %lld and %d",
                 (long long)depth, t->rank);
  return RUSH_OK;
}

RUSH_OP(tolist) {
  RUSH_TRY(check_tolist(c));
  lister l = {arg_tensor(c, 0), c->heap};
  RUSH_TRY(list_at(&l, 0, l.t->offset, &c->results[0]));
  if (c->results[0].kind == RUSH_KIND_LIST && c->result_types)
    rush_as_list(&c->results[0])->type = c->result_types[0];
  return RUSH_OK;
}
