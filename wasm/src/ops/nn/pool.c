/* Max, average and adaptive pooling in one to three dimensions. */
#include "kernels/pooling.h"

#include "call/define.h"
#include "tensor/layout.h"
#include "tensor/quant.h"

/* ---- Input layout for the kernels ------------------------------------------------------------ */

typedef struct pooling {
  int dims;
  /* This is the case in which the result has the input's memory format. */
  enum { SUGGESTED, NEVER, MEAN_OF_ALL } follows;
  bool batched, last; /* last: channels-last, otherwise contiguous */
  int format;         /* memory format of PyTorch's result */
  rush_tensor *x;     /* holds one reference */
  rush_pool s;
} pooling;

static int spatial(const pooling *p, int d) {
  return p->x->rank - p->dims + d;
}

/* Returns the memory format of PyTorch's result. 1-d pooling runs as 2-d pooling with height 1.
 * max_pool1d without indices is the exception, because it has its own kernel. */
static int result_format(const rush_call *c, const pooling *p, const rush_tensor *x) {
  if (!p->batched || p->follows == NEVER) return RUSH_FORMAT_CONTIGUOUS;
  if (p->follows == MEAN_OF_ALL) {
    const rush_value *size = &c->args[1];
    const rush_list *sizes = size->kind == RUSH_KIND_LIST ? rush_as_list(size) : NULL;
    for (size_t k = 0; sizes && k < sizes->n; k++)
      if (sizes->items[k].u.i != 1) return RUSH_FORMAT_CONTIGUOUS;
    if (!sizes && size->u.i != 1) return RUSH_FORMAT_CONTIGUOUS;
  }
  rush_tensor seen = rush_nominal_header(x);
  if (p->dims == 1) {
    seen.rank = 4;
    seen.sizes[3] = seen.sizes[2];
    seen.strides[3] = seen.strides[2];
    seen.strides[2] *= seen.sizes[2];
    seen.sizes[2] = 1;
  }
  return rush_suggest_format(&seen);
}

/* Returns the zero point of x, or 0 if x is not quantized. */
static rush_status zero_of(rush_call *c, int64_t *zero) {
  const rush_tensor *x = arg_tensor(c, 0);
  *zero = 0;
  if (!rush_is_quantized(x->dtype)) return RUSH_OK;
  RUSH_CHECK(c->ctx, rush_quant_of(x)->axis < 0, RUSH_ERR_UNSUPPORTED,
             "not implemented for tensors quantized per channel");
  *zero = rush_quant_of(x)->zero_points[0];
  return RUSH_OK;
}

/* Uses x in place if it is dense, and otherwise a copy in the result's memory format. */
static rush_status open(rush_call *c, pooling *p) {
  rush_tensor *x = arg_tensor(c, 0);
  p->batched = x->rank == p->dims + 2;
  p->format = result_format(c, p, x);
  p->last = p->batched && !rush_is_contiguous(x) && rush_is_channels_last(x);
  if (p->last || rush_is_contiguous(x)) {
    p->x = x;
  } else {
    p->last = p->format != RUSH_FORMAT_CONTIGUOUS && p->dims > 1;
    RUSH_TRY(rush_clone(c->heap, x, p->last ? p->format : RUSH_FORMAT_CONTIGUOUS, &p->x));
    tmp_take(c, p->x);
  }
  rush_pool *s = &p->s;
  s->ctx = c->ctx;
  s->batch = p->batched ? (size_t)x->sizes[0] : 1;
  s->channels = (size_t)x->sizes[x->rank - p->dims - 1];
  if (!p->last) {
    s->batch *= s->channels;
    s->channels = 1;
  }
  for (int d = 0; d < 3; d++) {
    s->in[d] = s->out[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
    s->padding[d] = 0;
  }
  for (int d = 0; d < p->dims; d++) s->in[d + 3 - p->dims] = (size_t)x->sizes[spatial(p, d)];
  return RUSH_OK;
}

static rush_status result(rush_call *c, const pooling *p, uint32_t i, rush_dtype dtype,
                          rush_tensor **out) {
  int64_t sizes[RUSH_MAX_RANK];
  const rush_tensor *x = p->x;
  for (int d = 0; d < x->rank; d++) {
    const int from = d - (x->rank - p->dims);
    sizes[d] = from < 0 ? x->sizes[d] : (int64_t)p->s.out[from + 3 - p->dims];
  }
  RUSH_TRY(rush_new_in_layout(c->heap, dtype, x->rank, sizes, p->last, p->format, out));
  ret_tensor(c, i, *out);
  return RUSH_OK;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Reads `int[k] what`. A single number applies to all dimensions. */
static rush_status ints(rush_call *c, uint32_t arg, const pooling *p, const char *what,
                        int64_t *out, int *n) {
  static const char *const words[] = {"", "single int", "tuple of two ints", "tuple of three ints"};
  RUSH_TRY(arg_ints(c, arg, RUSH_MAX_RANK, out, n));
  RUSH_CHECK_ARG(*n == 0 || *n == 1 || *n == p->dims,
                 "pooling: %s must either be a single int, or a %s", what, words[p->dims]);
  if (*n == 1)
    for (int d = 1; d < p->dims; d++) out[d] = out[0];
  return RUSH_OK;
}

static rush_status check_input(rush_call *c, const pooling *p) {
  const rush_tensor *x = arg_tensor(c, 0);
  char text[RUSH_SHAPE_TEXT];
  bool empty = false;
  RUSH_CHECK_ARG(x->rank == p->dims + 1 || x->rank == p->dims + 2,
                 "non-empty %dD or %dD (batch mode) tensor expected for input, but got: %s",
                 p->dims + 1, p->dims + 2, rush_shape_text(x->rank, x->sizes, text));
  for (int d = x->rank == p->dims + 2 ? 1 : 0; d < x->rank; d++) {
    empty = empty || x->sizes[d] == 0;
    RUSH_CHECK_ARG(x->sizes[d] <= INT32_MAX, "pooling of an input of this size is not supported");
  }
  RUSH_CHECK_ARG(
      !empty,
      "Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but "
      "got:%s",
      p->dims + 1, p->dims + 2, rush_shape_text(x->rank, x->sizes, text));
  return RUSH_OK;
}

/* Follows pooling_output_shape in aten/src/ATen/native/Pool.h. */
static rush_status output_size(rush_call *c, int64_t in, int64_t k, int64_t stride, int64_t pad,
                               int64_t dilation, bool ceil, int64_t *out) {
  RUSH_CHECK_ARG(stride != 0, "stride should not be zero");
  RUSH_CHECK_ARG(pad >= 0, "pad must be non-negative, but got pad: %lld", (long long)pad);
  RUSH_CHECK_ARG(k > 0 && k <= INT32_MAX, "kernel size should be greater than zero, but got %lld",
                 (long long)k);
  RUSH_CHECK_ARG(stride > 0 && stride <= INT32_MAX,
                 "stride should be greater than zero, but got %lld", (long long)stride);
  RUSH_CHECK_ARG(dilation > 0 && dilation <= INT32_MAX,
                 "dilation should be greater than zero, but got %lld", (long long)dilation);
  RUSH_CHECK_ARG(pad <= ((k - 1) * dilation + 1) / 2,
                 "pad should be at most half of effective kernel size, but got pad=%lld, "
                 "kernel_size=%lld and dilation=%lld",
                 (long long)pad, (long long)k, (long long)dilation);
  /* The kernels' sums stay below 2^31, because ptrdiff_t has 32 bits in wasm. */
  RUSH_CHECK_ARG(in + 2 * pad + dilation * (k - 1) + 2 * stride < INT32_MAX,
                 "pooling with windows of this size is not supported");
  const int64_t room = in + 2 * pad - dilation * (k - 1) - 1 + (ceil ? stride - 1 : 0);
  *out = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
  if (ceil && (*out - 1) * stride >= in + pad) --*out;
  return RUSH_OK;
}

/* Reads arguments 1 to 3 (kernel, stride, padding), and argument 4 if `dilated`. `ceil` is the
 * index of ceil_mode. */
static rush_status read_windows(rush_call *c, pooling *p, bool dilated, uint32_t ceil) {
  int64_t k[RUSH_MAX_RANK], stride[RUSH_MAX_RANK], pad[RUSH_MAX_RANK],
      dilation[RUSH_MAX_RANK] = {1, 1, 1}, out[3];
  int n;
  RUSH_TRY(ints(c, 1, p, "kernel_size", k, &n));
  RUSH_CHECK_ARG(n > 0, "pooling: kernel_size must not be empty");
  RUSH_TRY(ints(c, 2, p, "stride", stride, &n));
  if (n == 0) memcpy(stride, k, sizeof k);
  RUSH_TRY(ints(c, 3, p, "padding", pad, &n));
  RUSH_CHECK_ARG(n > 0, "pooling: padding must not be empty");
  if (dilated) RUSH_TRY(ints(c, 4, p, "dilation", dilation, &n));
  RUSH_CHECK_ARG(n > 0, "pooling: dilation must not be empty");
  RUSH_TRY(check_input(c, p));
  const rush_tensor *x = arg_tensor(c, 0);
  bool fits = true;
  for (int d = 0; d < p->dims; d++) {
    RUSH_TRY(output_size(c, x->sizes[x->rank - p->dims + d], k[d], stride[d], pad[d], dilation[d],
                         arg_bool(c, ceil), out + d));
    fits = fits && out[d] > 0;
  }
  char text[RUSH_SHAPE_TEXT], more[RUSH_SHAPE_TEXT];
  for (int d = 0; d < 3 && p->dims == 3 && !dilated; d++) {
    RUSH_CHECK_ARG(x->sizes[x->rank - 3 + d] >= k[d], "input image %s smaller than kernel size %s",
                   rush_shape_text(3, x->sizes + x->rank - 3, text), rush_shape_text(3, k, more));
  }
  RUSH_CHECK_ARG(fits, "Given input size: %s. Calculated output size: %s. Output size is too small",
                 rush_shape_text(x->rank, x->sizes, text), rush_shape_text(p->dims, out, more));
  RUSH_TRY(open(c, p));
  for (int d = 0; d < p->dims; d++) {
    const int at = d + 3 - p->dims;
    p->s.out[at] = (size_t)out[d];
    p->s.kernel[at] = (size_t)k[d];
    p->s.stride[at] = (size_t)stride[d];
    p->s.dilation[at] = (size_t)dilation[d];
    p->s.padding[at] = (ptrdiff_t)pad[d];
  }
  return RUSH_OK;
}

/* Reads output_size. The last `full` dimensions must not be empty. */
static rush_status read_adaptive(rush_call *c, pooling *p, const char *name, int full) {
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t out[RUSH_MAX_RANK];
  int n;
  char text[RUSH_SHAPE_TEXT];
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, out, &n));
  RUSH_CHECK_ARG(n == p->dims, "%s%dd: output_size must be %d", name, p->dims, p->dims);
  RUSH_CHECK_ARG(x->rank == p->dims + 1 || x->rank == p->dims + 2,
                 "%s%dd(): Expected %dD or %dD tensor, but got %s", name, p->dims, p->dims + 1,
                 p->dims + 2, rush_shape_text(x->rank, x->sizes, text));
  for (int d = x->rank - full; d < x->rank; d++) {
    RUSH_CHECK_ARG(
        x->sizes[d] > 0,
        "%s%dd(): Expected input to have non-zero size for non-batch dimensions, but input "
        "has sizes %s with "
        "dimension %d being empty",
        name, p->dims, rush_shape_text(x->rank, x->sizes, text), d);
  }
  for (int d = 0; d < n; d++) {
    RUSH_CHECK_ARG(
        out[d] >= 0,
        "%s%dd: elements of output_size must be greater than or equal to 0 but received %s", name,
        p->dims, rush_shape_text(n, out, text));
    RUSH_CHECK_ARG(out[d] <= INT32_MAX && x->sizes[x->rank - p->dims + d] <= INT32_MAX,
                   "the result is too large");
  }
  RUSH_TRY(open(c, p));
  p->s.adaptive = true;
  for (int d = 0; d < n; d++) p->s.out[d + 3 - n] = (size_t)out[d];
  return RUSH_OK;
}

/* ---- Max pooling ----------------------------------------------------------------------------- */

static rush_status run_max(rush_call *c, const pooling *p, bool with_indices) {
  rush_tensor *out, *indices = NULL;
  int64_t zero;
  RUSH_TRY(zero_of(c, &zero));
  RUSH_TRY(result(c, p, 0, p->x->dtype, &out));
  if (with_indices) RUSH_TRY(result(c, p, 1, RUSH_INT64, &indices));
  if (out->numel == 0) return RUSH_OK;
  if (rush_is_quantized(out->dtype)) {
    c->heap->quantized.max_pool(out->dtype, &p->s, rush_data(p->x), rush_data(out));
    return RUSH_OK;
  }
  rush_max_pool(out->dtype, &p->s, rush_data(p->x), rush_data(out),
                indices ? rush_data(indices) : NULL);
  return RUSH_OK;
}

static rush_status max_pool(rush_call *c, bool with_indices) {
  pooling p = {.dims = rush_dims(c)};
  if (p.dims == 1 && !with_indices) p.follows = NEVER;
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  RUSH_CHECK_ARG(dtype != RUSH_BOOL && (p.dims > 1 || with_indices || rush_is_float(dtype) ||
                                        rush_is_quantized(dtype)),
                 "\"max_pool%dd\" not implemented for '%s'", p.dims, rush_dtype_torch_name(dtype));
  RUSH_TRY(read_windows(c, &p, true, 5));
  return run_max(c, &p, with_indices);
}
RUSH_OP(max_pool) {
  return max_pool(c, false);
}
RUSH_OP(max_pool_with_indices) {
  return max_pool(c, true);
}

RUSH_OP(adaptive_max_pool) {
  pooling p = {.dims = rush_dims(c)};
  if (p.dims == 3) p.follows = NEVER;
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  RUSH_CHECK_ARG(rush_is_float(dtype), "\"adaptive_max_pool%dd\" not implemented for '%s'", p.dims,
                 rush_dtype_torch_name(dtype));
  RUSH_TRY(read_adaptive(c, &p, "adaptive_max_pool", arg_tensor(c, 0)->rank - 1));
  return run_max(c, &p, true);
}

/* ---- Average pooling ------------------------------------------------------------------------- */

static rush_status run_avg(rush_call *c, const pooling *p) {
  rush_tensor *out;
  int64_t zero;
  RUSH_TRY(zero_of(c, &zero));
  RUSH_TRY(result(c, p, 0, p->x->dtype, &out));
  if (out->numel == 0) return RUSH_OK;
  if (rush_is_quantized(out->dtype)) {
    c->heap->quantized.avg_pool(out->dtype, &p->s, zero, rush_data(p->x), rush_data(out));
    return RUSH_OK;
  }
  rush_avg_pool(out->dtype, &p->s, rush_data(p->x), rush_data(out));
  return RUSH_OK;
}

RUSH_OP(avg_pool) {
  pooling p = {.dims = rush_dims(c)};
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  RUSH_CHECK_ARG(rush_is_float(dtype) || rush_is_quantized(dtype) || dtype == RUSH_INT64,
                 "\"avg_pool%dd\" not implemented for '%s'", p.dims == 3 ? 3 : 2,
                 rush_dtype_torch_name(dtype));
  if (p.dims == 3) p.follows = NEVER;
  p.s.count_padding = arg_bool(c, 5);
  if (p.dims > 1 && !arg_is_none(c, 6)) {
    p.s.divisor = arg_int(c, 6);
    RUSH_CHECK_ARG(p.s.divisor != 0, "divisor must be not zero");
  }
  RUSH_TRY(read_windows(c, &p, false, 4));
  return run_avg(c, &p);
}

RUSH_OP(adaptive_avg_pool) {
  pooling p = {.dims = rush_dims(c)};
  if (p.dims == 3) p.follows = rush_kind_of(c) ? NEVER : MEAN_OF_ALL;
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  RUSH_CHECK_ARG(rush_is_float(dtype) || rush_is_quantized(dtype),
                 "\"adaptive_avg_pool%dd\" not implemented for '%s'", p.dims,
                 rush_dtype_torch_name(dtype));
  RUSH_TRY(read_adaptive(c, &p, "adaptive_avg_pool", p.dims));
  return run_avg(c, &p);
}
