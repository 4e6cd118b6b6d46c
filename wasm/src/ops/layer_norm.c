/* layer_norm and rms_norm: over the last dimensions, row by row. */
#include "blocks/layout.h"
#include "kernels/normalize.h"
#include "ops/define.h"

typedef struct rows {
  rush_tensor *x, *w, *b, *out; /* x, w, b row-major, one reference each; w and b may be NULL */
  int axis;                     /* the first normalised dimension */
  int64_t n, count;             /* elements of a row, rows */
} rows;

static void drop_rows(rush_call *c, rows *r) {
  rush_tensor_drop(c->heap, r->x);
  rush_tensor_drop(c->heap, r->w);
  rush_tensor_drop(c->heap, r->b);
}

static rush_status check_shape(rush_call *c, rows *r) {
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t shape[RUSH_MAX_RANK];
  int n;
  char want[RUSH_SHAPE_TEXT], have[RUSH_SHAPE_TEXT];
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, shape, &n));
  RUSH_NEED(n >= 1,
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but "
            "got normalized_shape = []");
  r->axis = x->rank - n;
  bool fits = n <= x->rank;
  r->n = r->count = 1;
  for (int d = 0; d < x->rank && fits; d++) {
    if (d < r->axis)
      r->count *= x->sizes[d];
    else
      r->n *= x->sizes[d];
    fits = d < r->axis || x->sizes[d] == shape[d - r->axis];
  }
  RUSH_NEED(
      fits,
      "Given normalized_shape=%s, expected input with that shape behind, but got input of size%s",
      rush_shape_text(n, shape, want), rush_shape_text(x->rank, x->sizes, have));
  RUSH_NEED(rush_is_float((rush_dtype)x->dtype), "\"LayerNormKernelImpl\" not implemented for '%s'",
            rush_dtype_word(x->dtype));
  return RUSH_OK;
}

static rush_status get_scale(rush_call *c, const rows *r, uint32_t arg, const char *name,
                             rush_tensor **out) {
  rush_tensor *t = arg_tensor(c, arg);
  const rush_tensor *x = arg_tensor(c, 0);
  if (!t) return RUSH_OK;
  bool fits = t->rank == x->rank - r->axis &&
              memcmp(t->sizes, x->sizes + r->axis, (size_t)t->rank * sizeof *t->sizes) == 0;
  RUSH_NEED(fits, "Expected %s to be of same shape as normalized_shape", name);
  RUSH_NEED(t->dtype == x->dtype, "expected scalar type %s but found %s", rush_dtype_word(x->dtype),
            rush_dtype_word(t->dtype));
  return rush_tensor_contiguous(c->heap, t, out);
}

/* Reads the arguments (b_arg 0 for none) and makes result 0. */
static rush_status begin(rush_call *c, uint32_t w_arg, uint32_t b_arg, rows *r) {
  *r = (rows){0};
  RUSH_TRY(check_shape(c, r));
  rush_status st = get_scale(c, r, w_arg, "weight", &r->w);
  if (st == RUSH_OK && b_arg) st = get_scale(c, r, b_arg, "bias", &r->b);
  if (st == RUSH_OK) st = rush_tensor_contiguous(c->heap, arg_tensor(c, 0), &r->x);
  if (st == RUSH_OK) {
    if (r->x != arg_tensor(c, 0) || rush_can_reuse(c, 0)) {
      ret_tensor(c, 0, rush_tensor_keep(r->x));
      r->out = r->x;
    } else {
      st = rush_result(c, 0, (rush_dtype)r->x->dtype, r->x->rank, r->x->sizes, &r->out);
    }
  }
  if (st != RUSH_OK) drop_rows(c, r);
  return st;
}

static void *data_of(const rush_tensor *t) {
  return t ? rush_data(t) : NULL;
}

/* mean and rstd: one per row, or NULL */
static void normalize(const rows *r, double eps, rush_tensor *mean, rush_tensor *rstd) {
  const int64_t n = r->n;
  if (n == 0) return;
  if (r->x->dtype == RUSH_FLOAT64) {
    double m, s;
    for (int64_t k = 0; k < r->count; k++) {
      rush_layer_norm_f64((size_t)n, (double *)rush_data(r->out) + k * n,
                          (const double *)rush_data(r->x) + k * n, data_of(r->w), data_of(r->b),
                          eps, &m, &s);
      if (mean) ((double *)rush_data(mean))[k] = m, ((double *)rush_data(rstd))[k] = s;
    }
    return;
  }
  float m, s;
  for (int64_t k = 0; k < r->count; k++) {
    rush_layer_norm_f32((size_t)n, (float *)rush_data(r->out) + k * n,
                        (const float *)rush_data(r->x) + k * n, data_of(r->w), data_of(r->b), eps,
                        &m, &s);
    if (mean) ((float *)rush_data(mean))[k] = m, ((float *)rush_data(rstd))[k] = s;
  }
}

/* input, normalized_shape, weight, bias, eps */
RUSH_OP(layer_norm) {
  rows r;
  RUSH_TRY(begin(c, 2, 3, &r));
  normalize(&r, arg_float(c, 4), NULL, NULL);
  drop_rows(c, &r);
  return RUSH_OK;
}

RUSH_OP(native_layer_norm) {
  rows r;
  rush_tensor *mean, *rstd;
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_TRY(begin(c, 2, 3, &r));
  for (int d = 0; d < r.x->rank; d++) sizes[d] = d < r.axis ? r.x->sizes[d] : 1;
  rush_status st = rush_result(c, 1, (rush_dtype)r.x->dtype, r.x->rank, sizes, &mean);
  if (st == RUSH_OK) st = rush_result(c, 2, (rush_dtype)r.x->dtype, r.x->rank, sizes, &rstd);
  if (st == RUSH_OK) normalize(&r, arg_float(c, 4), mean, rstd);
  drop_rows(c, &r);
  return st;
}

/* input, normalized_shape, weight, eps */
RUSH_OP(rms_norm) {
  rows r;
  RUSH_TRY(begin(c, 2, 0, &r));
  const bool wide = r.x->dtype == RUSH_FLOAT64;
  const double eps = !arg_is_none(c, 3) ? arg_float(c, 3)
                     : wide             ? 2.220446049250313e-16
                                        : 1.1920928955078125e-07;
  const int64_t n = r.n;
  for (int64_t k = 0; k < r.count && n > 0; k++) {
    if (wide)
      rush_rms_norm_f64((size_t)n, (double *)rush_data(r.out) + k * n,
                        (const double *)rush_data(r.x) + k * n, data_of(r.w), eps);
    else
      rush_rms_norm_f32((size_t)n, (float *)rush_data(r.out) + k * n,
                        (const float *)rush_data(r.x) + k * n, data_of(r.w), eps);
  }
  drop_rows(c, &r);
  return RUSH_OK;
}
