/* Random numbers that match torch 2.6 on the CPU without MKL. Follows Distributions.cpp,
 * cpu/DistributionTemplates.h and TensorFactories.cpp. The exporter refuses a generator argument,
 * so it is None here. */
#include <float.h>
#include <math.h>

#include "blocks/random_fill.h"
#include "call/define.h"
#include "call/overlap.h"
#include "tensor/layout.h"

static rush_dtype own_dtype(const rush_call *c) {
  return arg_tensor(c, 0)->dtype;
}

/* Sets *out to the tensor that NAME_ writes, or to a new tensor like argument 0 for NAME. */
static rush_status target(rush_call *c, rush_tensor **out) {
  *out = c->inplace;
  if (*out == NULL) return rush_result_like(c, 0, arg_tensor(c, 0), own_dtype(c), out);
  RUSH_TRY(rush_check_write(c->ctx, *out));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

static rush_status need_float(rush_call *c, const rush_tensor *t, const char *name) {
  RUSH_CHECK_ARG(rush_is_float(t->dtype), "\"%s\" not implemented for '%s'", name,
                 rush_dtype_torch_name(t->dtype));
  return RUSH_OK;
}

/* Returns view_as_real(t) of complex numbers. PyTorch draws the two parts independently. */
static rush_status both_parts(rush_call *c, const rush_tensor *t, rush_tensor *out) {
  *out = rush_complex_part(t, 0);
  RUSH_CHECK_ARG(t->rank < RUSH_MAX_RANK,
                 "a complex tensor must have at most %d dimensions, got %d", RUSH_MAX_RANK - 1,
                 t->rank);
  out->sizes[out->rank] = 2;
  out->strides[out->rank++] = 1;
  out->numel *= 2;
  return RUSH_OK;
}

/* ---- Uniform --------------------------------------------------------------------------------- */

static void uniform(rush_random *random, double from, double to, rush_dtype dtype, void *at) {
  if (dtype == RUSH_FLOAT32) {
    const float a = (float)from, b = (float)to;
    *(float *)at = rush_random_float(random) * (b - a) + a;
  } else {
    *(double *)at = rush_random_double(random) * (to - from) + from;
  }
}

/* Half-precision numbers use as many random bits as they have significant digits. */
static void uniform_half(rush_random *random, double from, double to, int digits, void *at) {
  const uint32_t bits = (uint32_t)(rush_random_float(random) * 0x1p24f) & ((1u << digits) - 1);
  const float a = (float)from, b = (float)to;
  *(float *)at = (float)bits / (float)(1 << digits) * (b - a) + a;
}
static void uniform_f16(rush_random *random, double from, double to, rush_dtype dtype, void *at) {
  (void)dtype;
  uniform_half(random, from, to, 11, at);
}
static void uniform_bf16(rush_random *random, double from, double to, rush_dtype dtype, void *at) {
  (void)dtype;
  uniform_half(random, from, to, 8, at);
}

/* Returns the half-precision dtype if the call computes one in float32. A tensor that itself has a
 * half-precision dtype keeps it. */
static rush_dtype draw_dtype(const rush_call *c, rush_dtype dtype) {
  return dtype == RUSH_FLOAT32 && rush_is_half(c->narrow) ? c->narrow : dtype;
}

static rush_random_fn uniform_of(rush_dtype drawn) {
  return drawn == RUSH_FLOAT16 ? uniform_f16 : drawn == RUSH_BFLOAT16 ? uniform_bf16 : uniform;
}

static rush_status fill_with(rush_call *c, rush_tensor *t, double from, double to,
                             rush_random_fn draw) {
  RUSH_TRY(need_float(c, t, "check_uniform_bounds"));
  RUSH_CHECK_ARG(from <= to,
                 "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from,
                 to);
  RUSH_CHECK_ARG(
      to - from <= (t->dtype == RUSH_FLOAT32 ? (double)FLT_MAX : DBL_MAX),
      "uniform_ expects to-from to be a %s, but found to=%g and from=%g which result in to-from to "
      "exceed the limit",
      rush_dtype_name(t->dtype), to, from);
  rush_random_fill(c, t, draw, from, to);
  return RUSH_OK;
}

static rush_status fill_uniform(rush_call *c, rush_tensor *t, double from, double to) {
  /* The parts are never half-precision, not even for rand_like of a half-precision tensor. */
  if (rush_is_complex(t->dtype)) {
    rush_tensor both;
    RUSH_TRY(both_parts(c, t, &both));
    return fill_with(c, &both, from, to, uniform);
  }
  return fill_with(c, t, from, to, uniform_of(draw_dtype(c, t->dtype)));
}

RUSH_OP(uniform) {
  rush_tensor *out;
  RUSH_TRY(target(c, &out));
  return fill_uniform(c, out, arg_float(c, 1), arg_float(c, 2));
}

/* ---- Normal ---------------------------------------------------------------------------------- */

static void normal(rush_random *random, double mean, double std, rush_dtype dtype, void *at) {
  rush_store_double(dtype, at, rush_random_normal(random) * std + mean);
}

/* Follows normal_fill_16: turns sixteen uniform numbers into normal ones (Box-Muller). The first
 * eight determine the radius. The angle is rounded to float32, as in PyTorch. */
static void pairs_f32(float *at, float mean, float std) {
  for (int i = 0; i < 8; i++) {
    const float radius = sqrtf(-2 * logf(1 - at[i]));
    const float angle = (float)(2 * 3.14159265358979323846) * at[i + 8];
    at[i] = radius * cosf(angle) * std + mean;
    at[i + 8] = radius * sinf(angle) * std + mean;
  }
}
static void pairs_f64(double *at, double mean, double std) {
  for (int i = 0; i < 8; i++) {
    const double radius = sqrt(-2 * log(1 - at[i])), angle = 2 * 3.14159265358979323846 * at[i + 8];
    at[i] = radius * cos(angle) * std + mean;
    at[i + 8] = radius * sin(angle) * std + mean;
  }
}
/* Uses half-precision arithmetic, which rounds after each step. */
#define AS(x) rush_rounded(dtype, x)
static void pairs_half(rush_dtype dtype, float *at, double mean, double std) {
  for (int i = 0; i < 8; i++) {
    const double radius = AS(sqrt(AS(-2 * AS(log(AS(1 - (double)at[i]))))));
    const double angle = AS(2 * 3.14159265358979323846 * (double)at[i + 8]);
    at[i] = (float)AS(AS(AS(radius * AS(cos(angle))) * AS(std)) + AS(mean));
    at[i + 8] = (float)AS(AS(AS(radius * AS(sin(angle))) * AS(std)) + AS(mean));
  }
}
#undef AS
static void pairs(rush_dtype dtype, rush_dtype drawn, char *at, double mean, double std) {
  if (rush_is_half(drawn))
    pairs_half(drawn, (float *)(void *)at, mean, std);
  else if (dtype == RUSH_FLOAT32)
    pairs_f32((float *)(void *)at, (float)mean, (float)std);
  else
    pairs_f64((double *)(void *)at, mean, std);
}

/* From 16 elements on, PyTorch draws all numbers first. If the size is not a multiple of 16, it
 * then redraws the last 16. */
static void fill_many(rush_call *c, rush_tensor *t, rush_dtype drawn, double mean, double std) {
  const rush_dtype dtype = t->dtype;
  const size_t item = rush_itemsize(t);
  const rush_random_fn draw = uniform_of(drawn);
  char *at = rush_data(t);
  for (int64_t i = 0; i < t->numel && !rush_should_stop(c->ctx, 8); i++)
    draw(c->random, 0, 1, dtype, at + (size_t)i * item);
  for (int64_t i = 0; i + 16 <= t->numel && !rush_should_stop(c->ctx, 256); i += 16)
    pairs(dtype, drawn, at + (size_t)i * item, mean, std);
  if (t->numel % 16 == 0) return;
  at += (size_t)(t->numel - 16) * item;
  for (size_t i = 0; i < 16; i++) draw(c->random, 0, 1, dtype, at + i * item);
  pairs(dtype, drawn, at, mean, std);
}

static rush_status fill_normal_as(rush_call *c, rush_tensor *t, rush_dtype drawn, double mean,
                                  double std) {
  RUSH_CHECK_ARG(std >= 0, "normal expects std >= 0.0, but found std %g", std);
  RUSH_TRY(need_float(c, t, "normal_kernel_cpu"));
  if (t->numel >= 16 && rush_is_contiguous(t))
    fill_many(c, t, drawn, mean, std);
  else
    rush_random_fill(c, t, normal, mean, std);
  return rush_take_stop(c->ctx); /* callers read the numbers again */
}

static rush_status fill_normal(rush_call *c, rush_tensor *t, double mean, double std) {
  if (rush_is_complex(t->dtype)) { /* each part has half the variance */
    rush_tensor both;
    RUSH_TRY(both_parts(c, t, &both));
    return fill_normal_as(c, &both, both.dtype, mean, std * 0.70710678118654752440);
  }
  return fill_normal_as(c, t, draw_dtype(c, t->dtype), mean, std);
}

/* normal_ and normal_functional */
RUSH_OP(normal) {
  rush_tensor *out;
  RUSH_TRY(target(c, &out));
  return fill_normal(c, out, arg_float(c, 1), arg_float(c, 2));
}
/* Contiguous halves are drawn as floats, others one by one. */
static rush_status fill_halves(rush_call *c, rush_tensor *t, double mean, double std) {
  rush_tensor *wide = t;
  if (rush_is_contiguous(t)) RUSH_TRY(tmp_new(c, RUSH_FLOAT32, t->rank, t->sizes, &wide));
  RUSH_TRY(fill_normal_as(c, wide, t->dtype, mean, std));
  return wide != t ? rush_tensor_copy(c->heap, t, wide) : RUSH_OK;
}
RUSH_OP(normal_self) {
  rush_tensor *t = arg_tensor(c, 0);
  const double mean = arg_float(c, 1), std = arg_float(c, 2);
  RUSH_TRY(rush_check_write(c->ctx, t));
  RUSH_TRY((rush_is_half(t->dtype) ? fill_halves : fill_normal)(c, t, mean, std));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}
RUSH_OP(normal_sizes) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty(c, 2, 4, RUSH_FLOAT32, &out));
  return fill_normal(c, out, arg_float(c, 0), arg_float(c, 1));
}

/* Computes *at = *at * by + mean, and rounds each step to the drawn dtype. The mean is loaded from
 * `mean_at` (same dtype), unless that is NULL. */
static void scale_and_shift(const rush_call *c, rush_dtype dtype, char *at, double by,
                            const char *mean_at, double mean) {
  const rush_dtype part = rush_real_dtype(dtype),
                   drawn = part == dtype ? draw_dtype(c, dtype) : part;
  const size_t size = rush_dtype_size(part);
  for (size_t k = 0; k < rush_dtype_size(dtype); k += size) {
    if (mean_at != NULL) mean = rush_load_double(part, mean_at + k);
    const double scaled = rush_rounded(drawn, rush_load_double(part, at + k) * by);
    rush_store_double(part, at + k, rush_rounded(drawn, scaled + rush_rounded(drawn, mean)));
  }
}

/* Draws with a mean and a standard deviation per element. If a tensor is NULL, its number applies
 * to all elements. */
static rush_status normal_each(rush_call *c, const rush_tensor *means, double mean,
                               const rush_tensor *stds, double std) {
  const rush_tensor *like = means != NULL ? means : stds;
  int64_t sizes[RUSH_MAX_RANK];
  int rank = like->rank;
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  memcpy(sizes, like->sizes, (size_t)rank * sizeof *sizes);
  if (means != NULL && stds != NULL) {
    RUSH_CHECK_ARG(
        rush_broadcast(means->rank, means->sizes, stds->rank, stds->sizes, &rank, sizes),
        "The size of the means %s and that of the deviations %s do not broadcast to one shape",
        rush_shape_text(means->rank, means->sizes, a), rush_shape_text(stds->rank, stds->sizes, b));
  }
  RUSH_CHECK_ARG(stds == NULL || !rush_is_complex(stds->dtype),
                 "normal expects standard deviation to be non-complex");
  rush_tensor *out;
  RUSH_TRY(rush_result(c, 0, like->dtype, rank, sizes, &out));
  RUSH_TRY(fill_normal(c, out, 0, stds != NULL ? 1 : std));
  const rush_tensor *operands[] = {out, means != NULL ? means : out, stds != NULL ? stds : out};
  rush_iter it;
  rush_iter_init(&it, rank, sizes, 3, operands);
  do {
    for (int64_t i = 0; i < it.size[0]; i++) {
      double by = 1;
      RUSH_TRY(rush_charge(c->ctx, 8));
      if (stds != NULL) by = rush_load_double(stds->dtype, it.at[2] + i * it.stride[2][0]);
      RUSH_CHECK_ARG(by >= 0, "normal expects all elements of std >= 0.0");
      scale_and_shift(c, out->dtype, it.at[0] + i * it.stride[0][0], by,
                      means != NULL ? it.at[1] + i * it.stride[1][0] : NULL, mean);
    }
  } while (rush_iter_next(&it));
  return RUSH_OK;
}
RUSH_OP(normal_means) {
  return normal_each(c, arg_tensor(c, 0), 0, NULL, arg_float(c, 1));
}
RUSH_OP(normal_stds) {
  return normal_each(c, NULL, arg_float(c, 0), arg_tensor(c, 1), 1);
}
RUSH_OP(normal_both) {
  return normal_each(c, arg_tensor(c, 0), 0, arg_tensor(c, 1), 1);
}

/* rand and randn, with sizes or like a tensor: uniform in [0, 1), or standard normal. */
typedef rush_status fill(rush_call *c, rush_tensor *t, double a, double b);

/* The dtype is argument `dtype_arg`. A generator may precede it. */
static rush_status fill_new(rush_call *c, uint32_t dtype_arg, fill *how) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty(c, 0, dtype_arg, RUSH_FLOAT32, &out));
  return how(c, out, 0, 1);
}
static rush_status fill_like(rush_call *c, fill *how) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty_like(c, 1, &out));
  return how(c, out, 0, 1);
}
RUSH_OP(rand) {
  return fill_new(c, 1, fill_uniform);
}
RUSH_OP(rand_generator) {
  return fill_new(c, 2, fill_uniform);
}
RUSH_OP(rand_like) {
  return fill_like(c, fill_uniform);
}
RUSH_OP(randn) {
  return fill_new(c, 1, fill_normal);
}
RUSH_OP(randn_generator) {
  return fill_new(c, 2, fill_normal);
}
RUSH_OP(randn_like) {
  return fill_like(c, fill_normal);
}

/* ---- Other distributions --------------------------------------------------------------------- */

RUSH_OP(exponential) {
  rush_tensor *out;
  const double lambda = arg_float(c, 1);
  RUSH_CHECK_ARG(lambda > 0, "exponential_ expects lambda > 0.0, but found lambda=%g", lambda);
  RUSH_CHECK_ARG(
      rush_is_float(own_dtype(c)),
      "Exponential distribution is a continuous probability distribution. dtype must be a floating "
      "point but you specified %s",
      rush_dtype_torch_name(own_dtype(c)));
  RUSH_TRY(target(c, &out));
  rush_random_fill_exponential(c, out, lambda);
  return RUSH_OK;
}

static void cauchy(rush_random *random, double median, double sigma, rush_dtype dtype, void *at) {
  const double turn = 3.14159265358979323846 * (rush_random_double(random) - 0.5);
  rush_store_double(dtype, at, median + sigma * tan(turn));
}
RUSH_OP(cauchy) {
  rush_tensor *out;
  RUSH_CHECK_ARG(arg_float(c, 2) > 0, "cauchy_ expects sigma > 0.0, but found sigma=%g",
                 arg_float(c, 2));
  RUSH_CHECK_ARG(rush_is_float(own_dtype(c)),
                 "Cauchy distribution is a continuous probability distribution. dtype must be a "
                 "floating point "
                 "but you specified %s",
                 rush_dtype_torch_name(own_dtype(c)));
  RUSH_TRY(target(c, &out));
  rush_random_fill(c, out, cauchy, arg_float(c, 1), arg_float(c, 2));
  return RUSH_OK;
}

static void log_normal(rush_random *random, double mean, double std, rush_dtype dtype, void *at) {
  rush_store_double(dtype, at, exp(rush_random_normal(random) * std + mean));
}
RUSH_OP(log_normal) {
  rush_tensor *out;
  RUSH_CHECK_ARG(arg_float(c, 2) > 0, "log_normal_ expects std > 0.0, but found std=%g",
                 arg_float(c, 2));
  RUSH_TRY(need_float(c, arg_tensor(c, 0), "log_normal_cpu"));
  RUSH_TRY(target(c, &out));
  rush_random_fill(c, out, log_normal, arg_float(c, 1), arg_float(c, 2));
  return RUSH_OK;
}

static void geometric(rush_random *random, double p, double b, rush_dtype dtype, void *at) {
  (void)b;
  rush_store_double(dtype, at, ceil(log(rush_random_double(random)) / log1p(-p)));
}
RUSH_OP(geometric) {
  rush_tensor *out;
  const double p = arg_float(c, 1);
  RUSH_CHECK_ARG(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=%g", p);
  RUSH_CHECK_ARG(own_dtype(c) != RUSH_BOOL, "\"geometric_cpu\" not implemented for 'Bool'");
  RUSH_TRY(target(c, &out));
  rush_random_fill(c, out, geometric, p, 0);
  return RUSH_OK;
}

/* ---- Bernoulli ------------------------------------------------------------------------------- */

static rush_status fill_bernoulli(rush_call *c, rush_tensor *t, double p) {
  RUSH_CHECK_ARG(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
  rush_random_fill_bernoulli(c, t, p);
  return RUSH_OK;
}

/* Draws with one probability per element. */
static rush_status fill_bernoulli_each(rush_call *c, rush_tensor *t, const rush_tensor *p) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  int rank;
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_CHECK_ARG(rush_is_float(p->dtype),
                 "expected probabilities tensor to have floating type, got %s",
                 rush_dtype_torch_name(p->dtype));
  RUSH_CHECK_ARG(p->rank <= t->rank &&
                     rush_broadcast(t->rank, t->sizes, p->rank, p->sizes, &rank, sizes) &&
                     memcmp(sizes, t->sizes, t->rank * sizeof *sizes) == 0,
                 "the probabilities of sizes %s do not expand to the sizes %s",
                 rush_shape_text(p->rank, p->sizes, a), rush_shape_text(t->rank, t->sizes, b));
  const rush_tensor *operands[] = {t, p};
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 2, operands);
  do {
    for (int64_t i = 0; i < it.size[0]; i++) {
      RUSH_TRY(rush_charge(c->ctx, 16));
      const double at_most = rush_load_double(p->dtype, it.at[1] + i * it.stride[1][0]);
      RUSH_CHECK_ARG(at_most >= 0 && at_most <= 1,
                     "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
      const double drawn = p->dtype == RUSH_FLOAT64 ? rush_random_double(c->random)
                                                    : (double)rush_random_float(c->random);
      rush_store_int(t->dtype, it.at[0] + i * it.stride[0][0], drawn < at_most);
    }
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

/* self holds the probabilities. */
RUSH_OP(bernoulli) {
  rush_tensor *out, *self = arg_tensor(c, 0);
  RUSH_TRY(rush_result(c, 0, own_dtype(c), self->rank, self->sizes, &out));
  return fill_bernoulli_each(c, out, self);
}
RUSH_OP(bernoulli_p) {
  rush_tensor *out, *self = arg_tensor(c, 0);
  RUSH_TRY(rush_result(c, 0, own_dtype(c), self->rank, self->sizes, &out));
  return fill_bernoulli(c, out, arg_float(c, 1));
}
RUSH_OP(bernoulli_each) {
  rush_tensor *out;
  rush_value p = c->args[1];
  RUSH_TRY(target(c, &out));
  if (rush_same_sizes(out, rush_as_tensor(&p)))
    RUSH_TRY(rush_check_no_partial_overlap(c->ctx, out, rush_as_tensor(&p)));
  RUSH_TRY(rush_overlap_copy(c, out, &p));
  return fill_bernoulli_each(c, out, rush_as_tensor(&p));
}
RUSH_OP(bernoulli_self) {
  RUSH_TRY(rush_check_write(c->ctx, arg_tensor(c, 0)));
  RUSH_TRY(fill_bernoulli(c, arg_tensor(c, 0), arg_float(c, 1)));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

/* ---- The generator --------------------------------------------------------------------------- */

RUSH_OP(manual_seed) {
  rush_random_seed(c->random, (uint64_t)arg_int(c, 0));
  return RUSH_OK;
}
