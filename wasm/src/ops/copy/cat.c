/* cat, stack, and the operators that reshape their tensors first (hstack, vstack, dstack). */
#include "blocks/concatenate.h"

#include "blocks/shape.h"
#include "call/define.h"

/* The tensors of argument 0 as an array. Each one is expanded to at least `rank` dimensions, as
 * torch.atleast_1d, atleast_2d and atleast_3d do. The headers hold no reference to the storage. */
typedef struct tensors {
  size_t n;
  const rush_tensor **list;
  rush_tensor *headers;
} tensors;

static rush_status open_tensors(rush_call *c, tensors *ts) {
  const rush_list *list = arg_list(c, 0);
  *ts = (tensors){.n = list->n};
  const size_t each = sizeof(rush_tensor) + sizeof(rush_tensor *);
  RUSH_TRY(tmp_items(c, (int64_t)list->n, each, (void **)&ts->headers));
  ts->list = (const rush_tensor **)(void *)(ts->headers + ts->n);
  for (size_t k = 0; k < ts->n; k++) {
    RUSH_TRY(rush_charge(c->ctx, 64));
    ts->headers[k] = *rush_as_tensor(&list->items[k]);
    ts->list[k] = &ts->headers[k];
  }
  return RUSH_OK;
}

static void insert_one(rush_tensor *t, int at) {
  for (int d = t->rank++; d > at; d--)
    t->sizes[d] = t->sizes[d - 1], t->strides[d] = t->strides[d - 1];
  t->strides[at] = at + 1 < t->rank ? t->sizes[at + 1] * t->strides[at + 1] : 1;
  t->sizes[at] = 1;
}

static void at_least(tensors *ts, int rank) {
  for (size_t k = 0; k < ts->n; k++) {
    rush_tensor *t = &ts->headers[k];
    if (t->rank == 0) insert_one(t, 0);
    if (rank >= 2 && t->rank == 1) insert_one(t, 0);
    if (rank == 3 && t->rank == 2) insert_one(t, 2);
  }
}

static rush_status ret_cat(rush_call *c, const tensors *ts, int64_t dim) {
  rush_tensor *out;
  RUSH_TRY(rush_cat(c->heap, ts->n, ts->list, dim, arg_result_type(c, 1), &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

RUSH_OP(cat) {
  tensors ts;
  RUSH_CHECK_ARG(arg_list(c, 0)->n > 0, "torch.cat(): expected a non-empty list of Tensors");
  RUSH_TRY(open_tensors(c, &ts));
  return ret_cat(c, &ts, arg_int(c, 1));
}

/* Computes aten::cat of a tensor that the program keeps in an attribute and replaces by the result.
 * The exporter's pass grow_cat makes this operator. */
RUSH_OP(grow) {
  tensors ts;
  rush_tensor *out;
  RUSH_CHECK_ARG(arg_list(c, 0)->n > 0, "torch.cat(): expected a non-empty list of Tensors");
  RUSH_TRY(open_tensors(c, &ts));
  RUSH_TRY(rush_cat_growing(c->heap, ts.n, ts.list, arg_int(c, 1), arg_result_type(c, 1), &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

static rush_status check_stack(rush_call *c, const rush_list *list) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  const rush_tensor *first = rush_as_tensor(&list->items[0]);
  for (size_t k = 1; k < list->n; k++) {
    const rush_tensor *t = rush_as_tensor(&list->items[k]);
    RUSH_TRY(rush_charge(c->ctx, 16));
    RUSH_CHECK_ARG(
        rush_same_sizes(first, t),
        "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %zu",
        rush_shape_text(first->rank, first->sizes, a), rush_shape_text(t->rank, t->sizes, b), k);
  }
  return RUSH_OK;
}

/* Follows PyTorch: cat along the dimension, then a view that splits it in two. A stack of
 * channels-last tensors therefore keeps their memory order. */
RUSH_OP(stack) {
  const rush_list *list = arg_list(c, 0);
  RUSH_CHECK_ARG(list->n > 0, "stack expects a non-empty TensorList");
  const rush_tensor *first = rush_as_tensor(&list->items[0]);
  int dim, rank = first->rank;
  tensors ts;
  RUSH_TRY(arg_dim(c, 1, rank + 1, &dim));
  RUSH_TRY(check_stack(c, list));
  RUSH_CHECK_ARG(rank < RUSH_MAX_RANK, "stack: the result must have at most %d dimensions",
                 RUSH_MAX_RANK);
  RUSH_TRY(open_tensors(c, &ts));
  if (dim == rank)
    for (size_t k = 0; k < ts.n; k++) insert_one(&ts.headers[k], dim);
  rush_tensor *joined;
  RUSH_TRY(rush_cat(c->heap, ts.n, ts.list, dim, arg_result_type(c, 1), &joined));
  if (dim == rank) {
    ret_tensor(c, 0, joined);
    return RUSH_OK;
  }
  int64_t sizes[RUSH_MAX_RANK];
  memcpy(sizes, first->sizes, (size_t)rank * sizeof *sizes);
  for (int d = rank; d > dim; d--) sizes[d] = sizes[d - 1];
  sizes[dim] = (int64_t)list->n;
  rush_tensor *out;
  RUSH_TRY(rush_reshape(c->heap, tmp_take(c, joined), rank + 1, sizes, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

static rush_status stack_along(rush_call *c, const char *name, int rank, int64_t dim) {
  tensors ts;
  RUSH_CHECK_ARG(arg_list(c, 0)->n > 0, "%s expects a non-empty TensorList", name);
  RUSH_TRY(open_tensors(c, &ts));
  at_least(&ts, rank);
  return ret_cat(c, &ts, rank == 1 && ts.list[0]->rank == 1 ? 0 : dim);
}

RUSH_OP(hstack) {
  return stack_along(c, "hstack", 1, 1);
}
RUSH_OP(vstack) {
  return stack_along(c, "vstack", 2, 0);
}
RUSH_OP(dstack) {
  return stack_along(c, "dstack", 3, 2);
}

RUSH_OP(column_stack) {
  tensors ts;
  RUSH_CHECK_ARG(arg_list(c, 0)->n > 0, "column_stack expects a non-empty TensorList");
  RUSH_TRY(open_tensors(c, &ts));
  for (size_t k = 0; k < ts.n; k++) {
    rush_tensor *t = &ts.headers[k];
    if (t->rank == 0) insert_one(t, 0);
    if (t->rank == 1) insert_one(t, 1);
  }
  return ret_cat(c, &ts, 1);
}
