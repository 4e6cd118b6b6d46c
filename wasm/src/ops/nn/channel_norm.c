/* batch_norm, group_norm and instance_norm. Each channel of each sample gets a scale and a shift.
 * Their statistics are either arguments or computed over sets of channels. Training mode updates
 * the running statistics, as aten/src/ATen/native/Normalization.cpp does. */
#include <math.h>

#include "blocks/elements/fill.h"
#include "call/define.h"
#include "kernels/normalize.h"
#include "kernels/reduction.h"
#include "tensor/layout.h"

typedef struct plan {
  rush_ctx *ctx;
  rush_tensor *x, *out;            /* x holds one reference */
  int64_t n, c, s;                 /* samples, channels, spatial positions */
  bool columns;                    /* channels are the innermost dimension */
  int64_t per_set;                 /* channels per set */
  bool across;                     /* a set spans all samples */
  rush_tensor *w, *b, *mean, *var; /* [c], contiguous, or NULL */
  double eps, momentum;
  rush_tensor *save_mean, *save_rstd;      /* one element per set, or NULL */
  rush_tensor *running_mean, *running_var; /* [c], borrowed, written in training mode, or NULL */
} plan;

static rush_status check_channels(rush_call *c, const plan *p, const rush_tensor *t,
                                  const char *name) {
  RUSH_CHECK_ARG(t->numel == p->c, "%s should contain %lld elements not %lld", name,
                 (long long)p->c, (long long)t->numel);
  RUSH_CHECK_ARG(t->dtype == arg_tensor(c, 0)->dtype, "expected scalar type %s but found %s",
                 rush_dtype_torch_name(arg_tensor(c, 0)->dtype), rush_dtype_torch_name(t->dtype));
  return RUSH_OK;
}

static rush_status per_channel(rush_call *c, const plan *p, uint32_t arg, const char *name,
                               rush_tensor **out) {
  rush_tensor *t = arg_tensor(c, arg);
  if (!t) return RUSH_OK;
  RUSH_TRY(check_channels(c, p, t, name));
  return tmp_contiguous(c, t, out);
}

/* Prepares a running statistic for update: argument `arg` itself, or, if `result` is not 0, a copy
 * that becomes that result. */
static rush_status running(rush_call *c, const plan *p, uint32_t arg, uint32_t result,
                           const char *name, rush_tensor **out) {
  rush_tensor *t = arg_tensor(c, arg);
  if (!t) return RUSH_OK;
  RUSH_TRY(check_channels(c, p, t, name));
  RUSH_CHECK_ARG(t->rank == 1, "%s: expected 1 dims but tensor has %d dims", name, t->rank);
  if (result == 0) {
    *out = t;
    return rush_check_write(c->ctx, t);
  }
  RUSH_TRY(rush_result(c, result, t->dtype, 1, t->sizes, out));
  return rush_copy_into(c->heap, *out, t);
}

/* Sets p->x to x itself or to a copy in a supported layout. */
static rush_status place(rush_call *c, plan *p, rush_tensor *x, int format) {
  const bool flat = rush_is_contiguous(x);
  p->columns = !flat && rush_is_channels_last(x);
  if (flat || p->columns) {
    p->x = x;
    return RUSH_OK;
  }
  p->columns = format != RUSH_FORMAT_CONTIGUOUS;
  RUSH_TRY(rush_clone(c->heap, x, format, &p->x));
  tmp_take(c, p->x);
  return RUSH_OK;
}

static bool can_overwrite(const rush_call *c, const rush_tensor *x, int format) {
  int64_t strides[RUSH_MAX_RANK];
  if (!rush_can_reuse_turned(c, 0)) return false;
  (format == RUSH_FORMAT_CONTIGUOUS ? rush_strides_contiguous : rush_strides_channels_last)(
      x->rank, x->sizes, strides);
  return memcmp(strides, rush_nominal(x), (size_t)x->rank * sizeof *strides) == 0;
}

/* Brings x into one of the two layouts, and makes a result with the same layout. `format` is the
 * memory format of PyTorch's result. */
static rush_status begin(rush_call *c, plan *p, int format) {
  rush_tensor *x = arg_tensor(c, 0);
  RUSH_CHECK_ARG(x->rank >= 2, "Expected at least 2 dimensions for input tensor but received %d",
                 x->rank);
  RUSH_CHECK_ARG(rush_is_float(x->dtype), "\"batch_norm\" not implemented for '%s'",
                 rush_dtype_torch_name(x->dtype));
  p->ctx = c->ctx;
  p->n = x->sizes[0];
  p->c = x->sizes[1];
  p->s = 1;
  for (int d = 2; d < x->rank; d++) p->s *= x->sizes[d];
  RUSH_TRY(place(c, p, x, format));
  if (p->x != x || can_overwrite(c, x, format)) {
    p->out = p->x;
    ret_tensor(c, 0, rush_tensor_retain(p->x));
  } else {
    RUSH_TRY(rush_new_in_layout(c->heap, x->dtype, x->rank, x->sizes, p->columns, format, &p->out));
    ret_tensor(c, 0, p->out);
  }
  if (p->s == 1) p->columns = true;
  return RUSH_OK;
}

static int64_t set_count(const plan *p) {
  return (p->c / p->per_set) * (p->across ? 1 : p->n);
}
static int64_t set_of(const plan *p, int64_t n, int64_t c) {
  return c / p->per_set + (p->across ? 0 : n * (p->c / p->per_set));
}

/* Steps through the positions of a sample in pieces, see rush_next_piece. */
static bool places(const plan *p, size_t at, size_t *some) {
  return rush_next_piece(p->ctx, (size_t)p->s, p->columns ? (size_t)p->c : 1, at, some);
}

#define CHANNELS(T, f)                                                                            \
  /* Computes mean and variance of each set. total: [c], centre: [c]. */                          \
  static void moments_##f(const plan *p, double *mean, double *var, double *total, T *centre) {   \
    const int64_t sets = set_count(p), sample = p->c * p->s;                                      \
    const double count = (double)p->per_set * (double)p->s * (p->across ? (double)p->n : 1);      \
    const size_t channels = (size_t)p->c;                                                         \
    for (int64_t k = 0; k < sets; k++) mean[k] = var[k] = 0;                                      \
    for (int pass = 0; pass < 2; pass++) {                                                        \
      for (int64_t n = 0; n < p->n; n++) {                                                        \
        if (rush_should_stop(p->ctx, 16)) return;                                                 \
        const T *x = (const T *)rush_data(p->x) + n * sample;                                     \
        for (int64_t c = 0; c < p->c; c++) {                                                      \
          total[c] = 0;                                                                           \
          centre[c] = (T)mean[set_of(p, n, c)];                                                   \
        }                                                                                         \
        for (size_t at = 0, some; p->columns && places(p, at, &some); at += some) {               \
          const T *from = x + at * channels;                                                      \
          if (pass == 0)                                                                          \
            rush_add_columns_##f(some, channels, from, total);                                    \
          else                                                                                    \
            rush_add_square_columns_##f(some, channels, from, centre, total);                     \
        }                                                                                         \
        for (int64_t c = 0; c < p->c && !p->columns; c++)                                         \
          for (size_t at = 0, some; places(p, at, &some); at += some)                             \
            total[c] += pass == 0 ? rush_sum_##f(some, x + c * p->s + at)                         \
                                  : rush_sum_squares_##f(some, x + c * p->s + at, centre[c]);     \
        for (int64_t c = 0; c < p->c; c++) (pass == 0 ? mean : var)[set_of(p, n, c)] += total[c]; \
      }                                                                                           \
      for (int64_t k = 0; k < sets; k++) {                                                        \
        const double off = mean[k] - (double)(T)mean[k];                                          \
        if (pass == 0)                                                                            \
          mean[k] /= count;                                                                       \
        else                                                                                      \
          var[k] = var[k] / count - off * off;                                                    \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  /* Applies scale and shift, which are [c]. */                                                   \
  static void apply_##f(const plan *p, const double *mean, const double *var, T *scale,           \
                        T *shift) {                                                               \
    const T *w = p->w ? rush_data(p->w) : NULL, *b = p->b ? rush_data(p->b) : NULL;               \
    const T *given_mean = p->mean ? rush_data(p->mean) : NULL,                                    \
            *given_var = p->var ? rush_data(p->var) : NULL;                                       \
    const int64_t sample = p->c * p->s;                                                           \
    for (int64_t n = 0; n < p->n; n++) {                                                          \
      if (rush_should_stop(p->ctx, 16)) return;                                                   \
      for (int64_t c = 0; c < p->c && (n == 0 || !p->across); c++) {                              \
        const int64_t k = set_of(p, n, c);                                                        \
        const double m = given_mean ? (double)given_mean[c] : mean[k];                            \
        const double v = given_var ? (double)given_var[c] : var[k] < 0 ? 0 : var[k];              \
        const bool flat = !given_var && v + p->eps == 0; /* as PyTorch's InvStd */                \
        const double r = flat ? 0 : 1 / sqrt(v + p->eps);                                         \
        scale[c] = (T)(w ? r * (double)w[c] : r);                                                 \
        shift[c] = (T)((b ? (double)b[c] : 0) - m * (double)scale[c]);                            \
        if (p->save_mean)                                                                         \
          ((T *)rush_data(p->save_mean))[k] = (T)m, ((T *)rush_data(p->save_rstd))[k] = (T)r;     \
      }                                                                                           \
      const T *x = (const T *)rush_data(p->x) + n * sample;                                       \
      T *o = (T *)rush_data(p->out) + n * sample;                                                 \
      const size_t channels = (size_t)p->c;                                                       \
      for (size_t at = 0, some; p->columns && places(p, at, &some); at += some)                   \
        rush_affine_columns_##f(some, channels, o + at * channels, x + at * channels, scale,      \
                                shift);                                                           \
      for (int64_t c = 0; c < p->c && !p->columns; c++)                                           \
        for (size_t at = 0, some; places(p, at, &some); at += some)                               \
          rush_affine_##f(some, o + c * p->s + at, x + c * p->s + at, scale[c], shift[c]);        \
    }                                                                                             \
  }
CHANNELS(float, f32)
CHANNELS(double, f64)

/* Stores momentum * now + (1 - momentum) * running. If each sample has sets of its own, the average
 * over samples is used. now: one element per set, multiplied by `factor`. */
static void keep_running(const plan *p, rush_tensor *running, const double *now, double factor) {
  const int64_t samples = p->across ? 1 : p->n;
  for (int64_t c = 0; running && c < p->c; c++) {
    const int64_t at = c * running->strides[0];
    float *single = (float *)rush_data(running) + at;
    double *twice = (double *)rush_data(running) + at;
    const bool wide = running->dtype == RUSH_FLOAT64;
    const double before = wide ? *twice : (double)*single;
    double total = 0;
    for (int64_t n = 0; n < samples; n++)
      total += p->momentum * now[n * p->c + c] * factor + (1 - p->momentum) * before;
    if (wide)
      *twice = total / (double)samples;
    else
      *single = (float)(total / (double)samples);
  }
}

/* Fills the statistics of empty sets with PyTorch's values. */
static void set_empty_moments(rush_ctx *ctx, rush_tensor *mean, rush_tensor *rstd) {
  const rush_value zero = rush_float(0), nan = rush_float(NAN);
  if (mean) rush_fill(ctx, mean, &zero);
  if (rstd) rush_fill(ctx, rstd, &nan);
}

static rush_status normalize(rush_call *c, plan *p) {
  if (p->x->numel == 0) {
    set_empty_moments(c->ctx, p->save_mean, p->save_rstd);
    if (p->n > 0 || p->across) return RUSH_OK;
    keep_running(p, p->running_mean, NULL, 1); /* NaN, the average over no samples */
    keep_running(p, p->running_var, NULL, 1);
    return RUSH_OK;
  }
  const size_t sets = (size_t)set_count(p), channels = (size_t)p->c;
  size_t bytes, more;
  void *scratch;
  if (!rush_mul(sets, 2 * sizeof(double), &bytes) ||
      !rush_mul(channels, 3 * sizeof(double), &more) || !rush_add(bytes, more, &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &scratch));
  double *mean = scratch, *var = mean + sets, *total = var + sets;
  void *one = total + channels, *two = total + 2 * channels;
  if (p->x->dtype == RUSH_FLOAT64) {
    if (!p->mean) moments_f64(p, mean, var, total, one);
    apply_f64(p, mean, var, one, two);
  } else {
    if (!p->mean) moments_f32(p, mean, var, total, one);
    apply_f32(p, mean, var, one, two);
  }
  const double count = (double)p->s * (p->across ? (double)p->n : 1);
  keep_running(p, p->running_mean, mean, 1);
  keep_running(p, p->running_var, var, count / (count - 1));
  return RUSH_OK;
}

/* ---- batch_norm: input, weight, bias, running_mean, running_var ------------------------------ */

/* Describes how a form of batch_norm differs: where its last argument is, and which results
 * it has. */
typedef struct form {
  uint32_t eps;    /* index of eps; momentum comes before it */
  bool stats;      /* has running_mean and running_var */
  bool three;      /* also returns the batch statistics */
  bool functional; /* returns new running statistics instead of updating them in place */
} form;

static rush_status batch_norm(rush_call *c, const form *f, bool training, int format) {
  plan p = {.per_set = 1, .across = true};
  p.eps = arg_float(c, f->eps);
  p.momentum = arg_float(c, f->eps - 1);
  rush_tensor *none;
  char text[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(training || (f->stats && !arg_is_none(c, 3) && !arg_is_none(c, 4)),
                 "running_mean must be defined in evaluation mode");
  const rush_tensor *x = arg_tensor(c, 0);
  RUSH_CHECK_ARG(!training || !f->three || x->numel > 0,
                 "input tensor must have at least one element, but got input_sizes = %s",
                 rush_shape_text(x->rank, x->sizes, text));
  RUSH_TRY(begin(c, &p, format));
  RUSH_TRY(per_channel(c, &p, 1, "weight", &p.w));
  RUSH_TRY(per_channel(c, &p, 2, "bias", &p.b));
  if (!training) {
    RUSH_TRY(per_channel(c, &p, 3, "running_mean", &p.mean));
    RUSH_TRY(per_channel(c, &p, 4, "running_var", &p.var));
  }
  const bool renewed = f->functional;
  if (f->stats && (training || renewed)) {
    RUSH_TRY(running(c, &p, 3, renewed ? 3 : 0, "running_mean", &p.running_mean));
    RUSH_TRY(running(c, &p, 4, renewed ? 4 : 0, "running_var", &p.running_var));
  }
  if (!training) p.running_mean = p.running_var = NULL;
  for (uint32_t k = 1; k <= 2 && f->three; k++) {
    const int64_t size = training ? p.c : 0;
    RUSH_TRY(rush_result(c, k, p.x->dtype, 1, &size, &none));
    if (training) *(k == 1 ? &p.save_mean : &p.save_rstd) = none;
  }
  return normalize(c, &p);
}
RUSH_OP(batch_norm) {
  /* ATen's batch_norm clones an empty input and checks nothing */
  if (arg_tensor(c, 0)->numel == 0) {
    rush_tensor *out;
    RUSH_TRY(rush_clone(c->heap, arg_tensor(c, 0), RUSH_FORMAT_PRESERVE, &out));
    ret_tensor(c, 0, out);
    return RUSH_OK;
  }
  const form f = {.eps = 7, .stats = true};
  return batch_norm(c, &f, arg_bool(c, 5), rush_suggest_format(arg_tensor(c, 0)));
}
RUSH_OP(native_batch_norm) {
  const form f = {.eps = 7, .stats = true, .three = true};
  return batch_norm(c, &f, arg_bool(c, 5), rush_suggest_format(arg_tensor(c, 0)));
}
RUSH_OP(native_batch_norm_eval) {
  const form f = {.eps = 6, .stats = true, .three = true};
  return batch_norm(c, &f, false, rush_suggest_format(arg_tensor(c, 0)));
}
RUSH_OP(native_batch_norm_no_stats) {
  const form f = {.eps = 5, .three = true};
  return batch_norm(c, &f, arg_bool(c, 3), rush_suggest_format(arg_tensor(c, 0)));
}
RUSH_OP(native_batch_norm_functional) {
  const form f = {.eps = 7, .stats = true, .three = true, .functional = true};
  return batch_norm(c, &f, arg_bool(c, 5), rush_suggest_format(arg_tensor(c, 0)));
}

/* input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps */
RUSH_OP(instance_norm) {
  if (!arg_bool(c, 5)) {
    const form f = {.eps = 7, .stats = true};
    return batch_norm(c, &f, false, RUSH_FORMAT_CONTIGUOUS);
  }
  plan p = {.per_set = 1, .across = false, .momentum = arg_float(c, 6), .eps = arg_float(c, 7)};
  RUSH_TRY(begin(c, &p, RUSH_FORMAT_CONTIGUOUS));
  RUSH_TRY(per_channel(c, &p, 1, "weight", &p.w));
  RUSH_TRY(per_channel(c, &p, 2, "bias", &p.b));
  RUSH_TRY(running(c, &p, 3, 0, "running_mean", &p.running_mean));
  RUSH_TRY(running(c, &p, 4, 0, "running_var", &p.running_var));
  return normalize(c, &p);
}

static rush_status group_norm(rush_call *c, int64_t groups, uint32_t w, uint32_t b, double eps,
                              bool three) {
  plan p = {.across = false, .eps = eps};
  const rush_tensor *x = arg_tensor(c, 0);
  RUSH_CHECK_ARG(groups > 0, "Expected num groups to be greater than 0, got %lld",
                 (long long)groups);
  RUSH_CHECK_ARG(x->rank >= 2, "Expected at least 2 dimensions for input tensor but received %d",
                 x->rank);
  RUSH_CHECK_ARG(x->sizes[1] % groups == 0,
                 "Expected number of channels in input to be divisible by num_groups, but got %lld "
                 "channels and %lld groups",
                 (long long)x->sizes[1], (long long)groups);
  RUSH_TRY(begin(c, &p, rush_suggest_format(x)));
  p.per_set = p.c > 0 ? p.c / groups : 1;
  RUSH_TRY(per_channel(c, &p, w, "weight", &p.w));
  RUSH_TRY(per_channel(c, &p, b, "bias", &p.b));
  const int64_t sizes[] = {p.n, groups};
  if (three) {
    RUSH_TRY(rush_result(c, 1, x->dtype, 2, sizes, &p.save_mean));
    RUSH_TRY(rush_result(c, 2, x->dtype, 2, sizes, &p.save_rstd));
  }
  return normalize(c, &p);
}
/* input, num_groups, weight, bias, eps */
RUSH_OP(group_norm) {
  return group_norm(c, arg_int(c, 1), 2, 3, arg_float(c, 4), false);
}
/* input, weight, bias, N, C, HxW, group, eps */
RUSH_OP(native_group_norm) {
  return group_norm(c, arg_int(c, 6), 1, 2, arg_float(c, 7), true);
}
