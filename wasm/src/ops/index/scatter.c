/* Operators that scatter along one dimension: scatter, scatter_reduce, index_add, index_fill and
 * index_copy, with their in-place forms. */
#include "blocks/elements/fill.h"
#include "blocks/gather_scatter.h"
#include "call/define.h"
#include "call/overlap.h"
#include "tensor/layout.h"

/* ---- scatter --------------------------------------------------------------------------------- */

static int rank_of(const rush_tensor *t) {
  return t->rank > 0 ? t->rank : 1;
}
static int64_t size_of(const rush_tensor *t, int d) {
  return t->rank > 0 ? t->sizes[d] : 1;
}

static rush_status check_scatter(rush_call *c, const rush_tensor *t, int dim,
                                 const rush_tensor *index, const rush_tensor *src) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT], s[RUSH_SHAPE_TEXT];
  if (index->numel == 0) return RUSH_OK;
  RUSH_CHECK_ARG(index->dtype == RUSH_INT64, "scatter(): Expected dtype int64 for index");
  RUSH_CHECK_ARG(src == NULL || src->dtype == t->dtype,
                 "scatter(): Expected self.dtype to be equal to src.dtype");
  RUSH_CHECK_ARG(rank_of(t) == rank_of(index),
                 "Index tensor must have the same number of dimensions as self tensor");
  RUSH_CHECK_ARG(src == NULL || rank_of(src) == rank_of(index),
                 "Index tensor must have the same number of dimensions as src tensor");
  bool fits = true;
  for (int d = 0; d < rank_of(t); d++) {
    fits = fits && (d == dim || size_of(index, d) <= size_of(t, d));
    fits = fits && (src == NULL || size_of(index, d) <= size_of(src, d));
  }
  RUSH_CHECK_ARG(fits, "Expected index %s to be no larger than self %s apart from dimension %d%s%s",
                 rush_shape_text(index->rank, index->sizes, a),
                 rush_shape_text(t->rank, t->sizes, b), dim,
                 src != NULL ? " and to be no larger size than src " : "",
                 src != NULL ? rush_shape_text(src->rank, src->sizes, s) : "");
  return RUSH_OK;
}

/* Parses the reduce names of scatter if `old` is set, and otherwise those of scatter_reduce. */
static rush_status combine_of(rush_call *c, const rush_str *name, bool old, rush_combine *how) {
  static const struct {
    const char *name;
    rush_combine how;
    bool old;
  } names[] = {{"add", RUSH_COMBINE_ADD, true},   {"multiply", RUSH_COMBINE_MUL, true},
               {"sum", RUSH_COMBINE_ADD, false},  {"prod", RUSH_COMBINE_MUL, false},
               {"mean", RUSH_COMBINE_ADD, false}, {"amax", RUSH_COMBINE_MAX, false},
               {"amin", RUSH_COMBINE_MIN, false}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    *how = names[k].how;
    if (names[k].old == old && strcmp(names[k].name, name->bytes) == 0) return RUSH_OK;
  }
  RUSH_CHECK_ARG(!old, "reduce argument must be either add or multiply.");
  return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT,
                   "reduce argument must be either sum, prod, mean, amax or amin, got %s",
                   name->bytes);
}

/* self, dim, index, src (Tensor or Scalar), and reduce if the overload has it */
static rush_status scatter(rush_call *c, rush_combine how) {
  rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2), *out, value;
  rush_storage storage;
  char bytes[16];
  int dim;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  bool scalar = c->args[3].kind != RUSH_KIND_TENSOR;
  if (scalar) {
    RUSH_TRY(arg_check_number(c, 3, t->dtype));
    value = rush_scalar_tensor(t->dtype, &storage, bytes);
    rush_fill(c->ctx, &value, &c->args[3]);
  }
  rush_tensor *src = scalar ? &value : arg_tensor(c, 3);
  RUSH_TRY(check_scatter(c, t, dim, index, scalar ? NULL : src));
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_CONTIGUOUS, &out));
  return rush_scatter(c->ctx, out, dim, index, src, how, false);
}

RUSH_OP(scatter) {
  rush_combine how = RUSH_COMBINE_SET;
  if (c->n_args > 4) RUSH_TRY(combine_of(c, arg_str(c, 4), true, &how));
  return scatter(c, how);
}

RUSH_OP(scatter_add) {
  return scatter(c, RUSH_COMBINE_ADD);
}

/* ---- scatter_reduce and index_reduce --------------------------------------------------------- */

/* Stores the identity of a reduction: 0, 1, or the least or greatest value of the dtype. */
static void store_start(rush_dtype dtype, rush_combine how, void *at) {
  bool max = how == RUSH_COMBINE_MAX;
  if (how == RUSH_COMBINE_ADD || how == RUSH_COMBINE_MUL)
    rush_store_int(dtype, at, how == RUSH_COMBINE_MUL);
  else if (rush_is_float(dtype))
    rush_store_double(dtype, at, max ? -__builtin_inf() : __builtin_inf());
  else if (dtype == RUSH_BOOL || dtype == RUSH_UINT8)
    rush_store_int(dtype, at, max ? 0 : dtype == RUSH_BOOL ? 1 : 255);
  else
    rush_store_int(dtype, at, (max ? INT64_MIN : INT64_MAX) >> (64 - 8 * rush_dtype_size(dtype)));
}

static void divide_one(rush_dtype dtype, char *at, int64_t n) {
  const rush_dtype part = rush_real_dtype(dtype);
  if (part != dtype) {
    divide_one(part, at, n);
    divide_one(part, at + rush_dtype_size(part), n);
  } else if (dtype == RUSH_FLOAT32) {
    float v;
    memcpy(&v, at, sizeof v);
    v /= (float)n;
    memcpy(at, &v, sizeof v);
  } else if (rush_is_float(dtype)) {
    rush_store_double(dtype, at, rush_load_double(dtype, at) / (double)n);
  } else {
    int64_t v = rush_load_int(dtype, at), q = v / n;
    rush_store_int(dtype, at, v % n < 0 ? q - 1 : q);
  }
}

/* Computes out /= counts and rounds integers down. A count of 0 is treated as 1. */
static void divide(rush_ctx *ctx, rush_tensor *out, const rush_tensor *counts) {
  const rush_tensor *operands[] = {out, counts};
  rush_iter it;
  rush_iter_init(&it, out->rank, out->sizes, 2, operands);
  do {
    for (int64_t k = 0; k < it.size[0] && !rush_should_stop(ctx, 8); k++) {
      int64_t n = rush_load_int(RUSH_INT64, it.at[1] + k * it.stride[1][0]);
      if (n > 1) divide_one(out->dtype, it.at[0] + k * it.stride[0][0], n);
    }
  } while (!ctx->stopped && rush_iter_next(&it));
}

/* Counts the elements that were scattered to each place of `out`, and divides by the counts. */
static rush_status divide_by_counts(rush_call *c, rush_tensor *out, int dim,
                                    const rush_tensor *index, bool include_self) {
  rush_tensor *counts;
  rush_storage storage;
  int64_t one = 1;
  rush_tensor value = rush_scalar_tensor(RUSH_INT64, &storage, &one);
  RUSH_TRY(tmp_new(c, RUSH_INT64, out->rank, out->sizes, &counts));
  const rush_value start = rush_int(include_self);
  rush_fill(c->ctx, counts, &start);
  RUSH_TRY(rush_scatter(c->ctx, counts, dim, index, &value, RUSH_COMBINE_ADD, false));
  divide(c->ctx, out, counts);
  return RUSH_OK;
}

static rush_status reduce_into(rush_call *c, rush_tensor *out, int dim, const rush_tensor *index,
                               rush_tensor *src, rush_combine how, bool mean, bool include_self) {
  RUSH_CHECK_ARG(!rush_is_complex(out->dtype) || how == RUSH_COMBINE_ADD ||
                     how == RUSH_COMBINE_MUL || index->numel == 0,
                 "\"scatter_gather_tensor_cpu_reduce_%s\" not implemented for '%s'",
                 how == RUSH_COMBINE_MAX ? "amax" : "amin", rush_dtype_torch_name(out->dtype));
  if (!include_self && index->numel > 0) {
    char bytes[16];
    rush_storage storage;
    rush_tensor start = rush_scalar_tensor(out->dtype, &storage, bytes);
    store_start(out->dtype, how, bytes);
    RUSH_TRY(rush_scatter(c->ctx, out, dim, index, &start, RUSH_COMBINE_SET, false));
  }
  RUSH_TRY(rush_scatter(c->ctx, out, dim, index, src, how, false));
  return mean ? divide_by_counts(c, out, dim, index, include_self) : RUSH_OK;
}

/* self, dim, index, src, reduce, include_self */
RUSH_OP(scatter_reduce) {
  rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2), *src = arg_tensor(c, 3), *out;
  rush_combine how;
  int dim;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  RUSH_TRY(check_scatter(c, t, dim, index, src));
  RUSH_TRY(combine_of(c, arg_str(c, 4), false, &how));
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_CONTIGUOUS, &out));
  return reduce_into(c, out, dim, index, src, how, strcmp(arg_str(c, 4)->bytes, "mean") == 0,
                     arg_bool(c, 5));
}

/* ---- 1-d index: index_add, index_copy, index_reduce, index_fill ------------------------------ */

/* Checks index and source of index_add, index_copy and index_reduce. */
static rush_status check_slices(rush_call *c, const char *name, int dim, const rush_tensor *t,
                                const rush_tensor *index, const rush_tensor *source) {
  RUSH_CHECK_ARG(index->rank <= 1, "%s: Index is supposed to be a vector", name);
  RUSH_CHECK_ARG(index->dtype == RUSH_INT64 || index->dtype == RUSH_INT32,
                 "%s: Expected dtype int32/int64 for index", name);
  RUSH_CHECK_ARG(source->dtype == t->dtype, "%s: self and source must have the same scalar type",
                 name);
  RUSH_CHECK_ARG(dim == 0 || dim < source->rank,
                 "%s: Indexing dim %d is out of bounds of the source tensor with dim %d", name, dim,
                 source->rank);
  RUSH_CHECK_ARG(
      index->numel == size_of(source, dim),
      "%s: Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %d", name,
      (long long)index->numel, (long long)size_of(source, dim), dim);
  bool same = source->rank == 0 || t->rank == 0 || source->rank == t->rank;
  for (int d = 0; d < t->rank && d < source->rank; d++)
    same = same && (d == dim || t->sizes[d] == source->sizes[d]);
  if (source->rank == 0 || t->rank == 0)
    same = same && source->numel == index->numel && rank_of(t) == rank_of(source);
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(same,
                 "%s: source tensor shape must match self tensor shape, excluding the specified "
                 "dimension. Got self.shape = "
                 "%s source.shape = %s",
                 name, rush_shape_text(t->rank, t->sizes, a),
                 rush_shape_text(source->rank, source->sizes, b));
  return RUSH_OK;
}

/* Computes source * alpha in source's dtype. */
static rush_status scaled(rush_call *c, uint32_t alpha, rush_tensor *source, rush_tensor **out) {
  const rush_dtype dtype = source->dtype;
  RUSH_TRY(arg_check_number(c, alpha, dtype));
  RUSH_CHECK_ARG(!arg_scalar_is_float(c, alpha) || !rush_is_integral(dtype),
                 "For integral input tensors, argument alpha must not be a floating point number.");
  if (c->args[alpha].kind != RUSH_KIND_COMPLEX && arg_scalar_double(c, alpha) == 1) {
    *out = source;
    return RUSH_OK;
  }
  RUSH_TRY(rush_clone(c->heap, source, RUSH_FORMAT_CONTIGUOUS, out));
  tmp_take(c, *out);
  char *at = rush_data(*out), bytes[16];
  const int64_t here = 0;
  rush_storage storage;
  rush_tensor factor = rush_scalar_tensor(dtype, &storage, bytes);
  rush_fill(c->ctx, &factor, &c->args[alpha]);
  for (int64_t k = 0; k < source->numel && !rush_should_stop(c->ctx, 8);
       k++, at += rush_itemsize(source))
    rush_combine_row(RUSH_COMBINE_MUL, dtype, at, &here, bytes, 0, 1);
  return RUSH_OK;
}

/* self, dim, index, source, alpha */
RUSH_OP(index_add) {
  rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2), *source = arg_tensor(c, 3), *out,
              *addend;
  int dim;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  RUSH_TRY(check_slices(c, "index_add_()", dim, t, index, source));
  RUSH_TRY(scaled(c, 4, source, &addend));
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_CONTIGUOUS, &out));
  const rush_tensor along = rush_index_along(index, addend, dim);
  return rush_scatter(c->ctx, out, dim, &along, addend, RUSH_COMBINE_ADD, false);
}

RUSH_OP(index_copy) {
  rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2), *source = arg_tensor(c, 3), *out;
  int dim;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  RUSH_CHECK_ARG(index->dtype == RUSH_INT64,
                 "index_copy_(): Expected a long tensor for index, but got %s",
                 rush_dtype_torch_name(index->dtype));
  RUSH_TRY(check_slices(c, "index_copy_()", dim, t, index, source));
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_CONTIGUOUS, &out));
  rush_tensor along = rush_index_along(index, source, dim);
  return rush_scatter(c->ctx, out, dim, &along, source, RUSH_COMBINE_SET, false);
}

/* self, dim, index, source, reduce, include_self */
RUSH_OP(index_reduce) {
  rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2), *source = arg_tensor(c, 3), *out;
  rush_combine how;
  int dim;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  RUSH_CHECK_ARG(
      strcmp(arg_str(c, 4)->bytes, "sum") != 0,
      "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got sum.");
  RUSH_TRY(combine_of(c, arg_str(c, 4), false, &how));
  RUSH_TRY(check_slices(c, "index_reduce_()", dim, t, index, source));
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_CONTIGUOUS, &out));
  rush_tensor along = rush_index_along(index, source, dim);
  return reduce_into(c, out, dim, &along, source, how, strcmp(arg_str(c, 4)->bytes, "mean") == 0,
                     arg_bool(c, 5));
}

/* self, dim, index, value (Scalar or 0-d Tensor) */
RUSH_OP(index_fill) {
  rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2), *out;
  rush_dtype dtype = t->dtype;
  rush_storage storage;
  char bytes[16];
  int dim;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  RUSH_CHECK_ARG(index->dtype == RUSH_INT64, "index_fill_(): Expected dtype int64 for index.");
  RUSH_CHECK_ARG(index->rank <= 1, "Index has to be a vector/scalar");
  rush_tensor value = rush_scalar_tensor(dtype, &storage, bytes);
  if (c->args[3].kind == RUSH_KIND_TENSOR) {
    const rush_tensor *v = arg_tensor(c, 3);
    if (c->inplace)
      RUSH_TRY(rush_check_no_overlap(c->ctx, t, index)); /* the value may alias an element of t */
    RUSH_CHECK_ARG(v->rank == 0,
                   "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                   "dimension(s).",
                   v->rank);
    rush_convert(dtype, bytes, v->dtype, rush_data(v), 1);
  } else {
    RUSH_TRY(arg_check_number(c, 3, dtype));
    rush_fill(c->ctx, &value, &c->args[3]);
  }
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_LOOSE, &out));
  rush_tensor like = *out;
  if (like.rank > 0) {
    like.numel = like.sizes[dim] > 0 ? like.numel / like.sizes[dim] * index->numel : 0;
    like.sizes[dim] = index->numel;
  } else if (index->numel == 0) {
    return RUSH_OK;
  }
  if (out->numel == 0) return RUSH_OK;
  rush_value indices = c->args[2];
  RUSH_TRY(rush_overlap_copy(c, out, &indices));
  rush_tensor along = rush_index_along(rush_as_tensor(&indices), &like, dim);
  return rush_scatter(c->ctx, out, dim, &along, &value, RUSH_COMBINE_SET, true);
}
