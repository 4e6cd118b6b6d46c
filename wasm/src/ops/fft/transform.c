/* The transforms that implement torch.fft, stft and istft (see front/operators/fourier.py). */
#include <math.h>

#include "call/define.h"
#include "kernels/fft.h"
#include "tensor/layout.h"

/* The transforms along one dimension. If `from` is real, `to` receives its whole transform or the
 * first elements of it. If `to` is real, the first n/2 + 1 elements of `from` are read. */
typedef struct lines {
  rush_ctx *ctx;
  const rush_tensor *from;
  rush_tensor *to;
  int dim;
  int64_t n;
  bool forward; /* for complex to complex only; a real `to` implies backward */
  double scale;
} lines;

static void conjugate(rush_ctx *ctx, double complex *line, int64_t n) {
  for (int64_t k = 0; k < n && !rush_stops_at_step(ctx, k); k++) line[k] = conj(line[k]);
}

/* Reads n elements that are `step` bytes apart, by way of raw[n]. */
static void read_line(rush_ctx *ctx, rush_dtype to, char *out, const rush_tensor *t,
                      const char *from, int64_t step, char *raw, int64_t n) {
  const size_t item = rush_itemsize(t);
  for (size_t k = 0, some; rush_next_piece(ctx, (size_t)n, 4, k, &some); k += some) {
    rush_copy_items(item, raw, (int64_t)item, from + (int64_t)k * step, step, (int64_t)some);
    rush_convert(to, out + k * rush_dtype_size(to), t->dtype, raw, (int64_t)some);
  }
}
static void write_line(rush_ctx *ctx, rush_dtype from, const char *in, const rush_tensor *t,
                       char *to, int64_t step, char *raw, int64_t n) {
  const size_t item = rush_itemsize(t);
  for (size_t k = 0, some; rush_next_piece(ctx, (size_t)n, 4, k, &some); k += some) {
    rush_convert(t->dtype, raw, from, in + k * rush_dtype_size(from), (int64_t)some);
    rush_copy_items(item, to + (int64_t)k * step, step, raw, (int64_t)item, (int64_t)some);
  }
}

/* Transforms one line. `raw`, `in` and `out` have room for n complex numbers each. */
static void run_line(const lines *l, const rush_fft *plan, const char *from, char *to, void *raw,
                     double complex *in, double complex *out) {
  const bool from_real = !rush_is_complex(l->from->dtype), to_real = !rush_is_complex(l->to->dtype);
  const size_t item = rush_itemsize(l->from), to_item = rush_itemsize(l->to);
  const int64_t n = l->n, n_in = to_real ? n / 2 + 1 : n, n_out = l->to->sizes[l->dim];
  read_line(l->ctx, from_real ? RUSH_FLOAT64 : RUSH_COMPLEX128, (char *)in, l->from, from,
            l->from->strides[l->dim] * (int64_t)item, raw, n_in);
  if (from_real) {
    rush_fft_from_real(plan, in, out);
    for (int64_t k = n / 2 + 1; k < n_out && !rush_stops_at_step(l->ctx, k); k++)
      out[k] = conj(out[n - k]);
  } else if (to_real) {
    rush_fft_to_real(plan, in, out);
  } else {
    if (!l->forward) conjugate(l->ctx, in, n);
    rush_fft_run(plan, in, out);
    if (!l->forward) conjugate(l->ctx, out, n);
  }
  if (l->scale != 1) {
    double *numbers = (double *)out;
    const size_t all = (size_t)(to_real ? n : 2 * n_out);
    for (size_t k = 0, some; rush_next_piece(l->ctx, all, 1, k, &some); k += some)
      for (size_t i = k; i < k + some; i++) numbers[i] *= l->scale;
  }
  write_line(l->ctx, to_real ? RUSH_FLOAT64 : RUSH_COMPLEX128, (const char *)out, l->to, to,
             l->to->strides[l->dim] * (int64_t)to_item, raw, n_out);
}

static rush_status run(rush_call *c, const lines *l) {
  const size_t n = (size_t)l->n;
  const bool real = !rush_is_complex(l->from->dtype) || !rush_is_complex(l->to->dtype);
  rush_fft plan;
  double complex *tables, *in, *out;
  void *raw;
  RUSH_CHECK(c->ctx, n < SIZE_MAX / 256, RUSH_ERR_NO_MEMORY,
             "out of memory: a transform of %lld points is too large", (long long)n);
  RUSH_TRY(tmp_items(c, (int64_t)rush_fft_plan(c->ctx, n, real, &plan), sizeof *tables,
                     (void **)&tables));
  RUSH_TRY(tmp_items(c, l->n, sizeof *in, (void **)&in));
  RUSH_TRY(tmp_items(c, l->n, sizeof *out, (void **)&out));
  RUSH_TRY(tmp_items(c, l->n, sizeof *out, &raw));
  rush_fft_init(&plan, tables);
  rush_tensor from = *l->from, to = *l->to; /* iterate over the starts of the lines */
  const rush_tensor *tensors[] = {&from, &to};
  rush_iter it;
  from.sizes[l->dim] = to.sizes[l->dim] = 1;
  rush_iter_init(&it, to.rank, to.sizes, 2, tensors);
  do {
    for (int64_t i = 0; i < it.size[0]; i++) {
      if (rush_should_stop(c->ctx, 8)) break;
      run_line(l, &plan, it.at[0] + i * it.stride[0][0], it.at[1] + i * it.stride[1][0], raw, in,
               out);
    }
    RUSH_TRY(rush_take_stop(c->ctx));
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

/* ---- Several dimensions ---------------------------------------------------------------------- */

typedef struct transforms {
  int n, dims[RUSH_MAX_RANK];
  double scale;
} transforms;

/* Reads dim and normalization. If `last` is not 0, it is the length of the last dimension. */
static rush_status read_dims(rush_call *c, int64_t last, transforms *t) {
  const rush_tensor *self = arg_tensor(c, 0);
  int64_t dims[RUSH_MAX_RANK];
  double elements = 1;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, dims, &t->n));
  uint32_t seen = 0;
  for (int k = 0; k < t->n; k++) {
    RUSH_CHECK_ARG(dims[k] >= -self->rank && dims[k] < self->rank,
                   "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                   -self->rank, self->rank - 1, (long long)dims[k]);
    const int d = (int)dims[k] + (dims[k] < 0 ? self->rank : 0);
    RUSH_CHECK_ARG((seen >> d & 1) == 0, "FFT dims must be unique");
    seen |= 1u << d;
    t->dims[k] = d;
    const int64_t n = last && k == t->n - 1 ? last : self->sizes[d];
    RUSH_CHECK_ARG(n >= 1, "Invalid number of data points (%lld) specified", (long long)n);
    elements *= (double)n;
  }
  const int64_t mode = arg_int(c, 2);
  RUSH_CHECK_ARG(mode >= 0 && mode <= 2, "Unsupported normalization type %lld", (long long)mode);
  t->scale = mode == 0 ? 1 : mode == 1 ? 1 / sqrt(elements) : 1 / elements;
  return RUSH_OK;
}

static rush_status need_complex(rush_call *c, const rush_tensor *t) {
  RUSH_CHECK_ARG(rush_is_complex(t->dtype), "expected a complex tensor, but got %s",
                 rush_dtype_torch_name(t->dtype));
  return RUSH_OK;
}

/* Transforms self along the first n dimensions of `t` into `out`, which has the same sizes. */
static rush_status complex_dims(rush_call *c, const transforms *t, int n, const rush_tensor *self,
                                rush_tensor *out, bool forward, double scale) {
  for (int k = 0; k < n; k++) {
    const rush_tensor *from = k == 0 ? self : out;
    RUSH_TRY(run(c, &(lines){c->ctx, from, out, t->dims[k], out->sizes[t->dims[k]], forward,
                             k == n - 1 ? scale : 1}));
  }
  return RUSH_OK;
}

/* self, dim, normalization, forward */
RUSH_OP(fft_c2c) {
  const rush_tensor *self = arg_tensor(c, 0);
  transforms t;
  rush_tensor *out;
  RUSH_TRY(need_complex(c, self));
  RUSH_TRY(read_dims(c, 0, &t));
  RUSH_TRY(rush_result(c, 0, self->dtype, self->rank, self->sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  if (t.n == 0) return rush_tensor_copy(c->heap, out, self);
  return complex_dims(c, &t, t.n, self, out, arg_bool(c, 3), t.scale);
}

/* self, dim, normalization, onesided. The last dimension comes first. */
RUSH_OP(fft_r2c) {
  const rush_tensor *self = arg_tensor(c, 0);
  transforms t;
  rush_tensor *out;
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_CHECK_ARG(self->dtype == RUSH_FLOAT32 || self->dtype == RUSH_FLOAT64, "Unsupported dtype %s",
                 rush_dtype_torch_name(self->dtype));
  RUSH_TRY(read_dims(c, 0, &t));
  RUSH_CHECK_ARG(t.n > 0, "_fft_r2c must transform at least one axis");
  const int last = t.dims[t.n - 1];
  for (int d = 0; d < self->rank; d++) sizes[d] = self->sizes[d];
  if (arg_bool(c, 3)) sizes[last] = sizes[last] / 2 + 1;
  RUSH_TRY(rush_result(c, 0, self->dtype == RUSH_FLOAT32 ? RUSH_COMPLEX64 : RUSH_COMPLEX128,
                       self->rank, sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(run(c, &(lines){c->ctx, self, out, last, self->sizes[last], true, t.scale}));
  return complex_dims(c, &t, t.n - 1, out, out, true, 1);
}

/* self, dim, normalization, last_dim_size. The last dimension comes last. */
RUSH_OP(fft_c2r) {
  const rush_tensor *self = arg_tensor(c, 0);
  const int64_t n = arg_int(c, 3);
  transforms t;
  rush_tensor *out, *middle;
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_TRY(need_complex(c, self));
  RUSH_CHECK_ARG(n >= 1, "Invalid number of data points (%lld) specified", (long long)n);
  RUSH_TRY(read_dims(c, n, &t));
  RUSH_CHECK_ARG(t.n > 0, "_fft_c2r must transform at least one axis");
  const int last = t.dims[t.n - 1];
  RUSH_CHECK_ARG(self->sizes[last] > n / 2, "_fft_c2r of %lld needs %lld numbers, but got %lld",
                 (long long)n, (long long)n / 2 + 1, (long long)self->sizes[last]);
  for (int d = 0; d < self->rank; d++) sizes[d] = self->sizes[d];
  sizes[last] = n;
  RUSH_TRY(rush_result(c, 0, rush_real_dtype(self->dtype), self->rank, sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  if (t.n > 1) {
    RUSH_TRY(tmp_new(c, self->dtype, self->rank, self->sizes, &middle));
    RUSH_TRY(complex_dims(c, &t, t.n - 1, self, middle, false, 1));
    self = middle;
  }
  return run(c, &(lines){c->ctx, self, out, last, n, false, t.scale});
}
