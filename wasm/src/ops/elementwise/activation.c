/* The activations of torch.nn.functional. */
#include <math.h>

#include "blocks/elements/pointwise.h"
#include "kernels/elementary.h"

#define FLOATS(id, expr)                    \
  RUSH_BODY_1(id##_f32, float, float, expr) \
  RUSH_BODY_1(id##_f64, double, double, expr)

/* ---- Clamping activations: NaN stays NaN, -0 stays -0 ---------------------------------------- */

FLOATS(relu, x < 0 ? 0 : x)
RUSH_BODY_1(relu_i64, int64_t, int64_t, x < 0 ? 0 : x)
static rush_status setup_relu(rush_call *c, rush_pw_job *job) {
  RUSH_CHECK(c->ctx, job->common != RUSH_BOOL, RUSH_ERR_BAD_ARGUMENT,
             "Boolean inputs not supported for relu");
  return RUSH_OK;
}
RUSH_POINTWISE(relu) = {
    .operands = 1, .f32 = relu_f32, .f64 = relu_f64, .i64 = relu_i64, .setup = setup_relu};

FLOATS(hardtanh, x<s ? s : x> t ? t : x)
FLOATS(times_nan, x *s)
static const rush_pointwise limited_by_nan = {
    .operands = 1, .flags = RUSH_PW_LIKE_SELF, .f32 = times_nan_f32, .f64 = times_nan_f64};
RUSH_BODY_1(hardtanh_i64, int64_t, int64_t, x<s ? s : x> t ? t : x)
static rush_status setup_hardtanh(rush_call *c, rush_pw_job *job) {
  RUSH_CHECK(c->ctx, job->common != RUSH_BOOL, RUSH_ERR_BAD_ARGUMENT,
             "Bool inputs not supported for hardtanh");
  rush_pw_scalar(c, job, 1, 0);
  rush_pw_scalar(c, job, 2, 1);
  RUSH_CHECK(c->ctx, job->common != RUSH_UINT8 || (job->p.i[0] >= 0 && job->p.i[1] >= 0),
             RUSH_ERR_BAD_ARGUMENT, "cannot do hardtanh on an unsigned type with negative limits");
  if (isnan(job->p.f[0]) || isnan(job->p.f[1])) {
    RUSH_CHECK(c->ctx, !rush_is_int(job->common), RUSH_ERR_BAD_ARGUMENT,
               "value cannot be converted to type int64_t without overflow");
    job->p.f[0] = (double)NAN;
    job->row = &limited_by_nan;
  } else if (job->p.f[0] > job->p.f[1]) { /* the upper limit takes precedence */
    job->p.f[0] = job->p.f[1];
    job->p.i[0] = job->p.i[1];
  }
  return RUSH_OK;
}
RUSH_POINTWISE(hardtanh) = {.operands = 1,
                            .flags = RUSH_PW_LIKE_SELF,
                            .f32 = hardtanh_f32,
                            .f64 = hardtanh_f64,
                            .i64 = hardtanh_i64,
                            .setup = setup_hardtanh};
static rush_status setup_relu6(rush_call *c, rush_pw_job *job) {
  RUSH_CHECK(c->ctx, job->common != RUSH_BOOL, RUSH_ERR_BAD_ARGUMENT,
             "Bool inputs not supported for hardtanh");
  job->p.f[1] = 6;
  job->p.i[1] = 6;
  return RUSH_OK;
}
RUSH_POINTWISE(relu6) = {.operands = 1,
                         .flags = RUSH_PW_LIKE_SELF,
                         .f32 = hardtanh_f32,
                         .f64 = hardtanh_f64,
                         .i64 = hardtanh_i64,
                         .setup = setup_relu6};

#define UP_TO_6 (6 < (x + 3 < 0 ? 0 : x + 3) ? 6 : (x + 3 < 0 ? 0 : x + 3))
RUSH_BODY_KERNEL(hardsigmoid_f32, rush_hardsigmoid_f32)
RUSH_BODY_1(hardsigmoid_f64, double, double, UP_TO_6 / 6)
RUSH_POINTWISE(hardsigmoid) = {.operands = 1, .f32 = hardsigmoid_f32, .f64 = hardsigmoid_f64};
RUSH_BODY_KERNEL(hardswish_f32, rush_hardswish_f32)
RUSH_BODY_1(hardswish_f64, double, double, x *UP_TO_6 / 6)
RUSH_POINTWISE(hardswish) = {.operands = 1, .f32 = hardswish_f32, .f64 = hardswish_f64};

/* ---- Smooth activations ---------------------------------------------------------------------- */

RUSH_BODY_KERNEL(silu_f32, rush_silu_f32)
RUSH_BODY_1(silu_c128, rush_c128, rush_c128, x / (1 + cexp(-x)))
RUSH_POINTWISE(silu) = {
    .operands = 1, .f32 = silu_f32, .f64 = rush_pw_map_f64, .c128 = silu_c128, .fn = rush_silu_ref};
RUSH_BODY_KERNEL(mish_f32, rush_mish_f32)
RUSH_POINTWISE(mish) = {
    .operands = 1, .f32 = mish_f32, .f64 = rush_pw_map_f64, .fn = rush_mish_ref};
RUSH_BODY_KERNEL(log_sigmoid_f32, rush_log_sigmoid_f32)
RUSH_POINTWISE(log_sigmoid) = {.operands = 1,
                               .flags = RUSH_PW_CONTIGUOUS,
                               .f32 = log_sigmoid_f32,
                               .f64 = rush_pw_map_f64,
                               .fn = rush_log_sigmoid_ref};

RUSH_BODY_KERNEL(gelu_f32, rush_gelu_f32)
RUSH_BODY_KERNEL(gelu_tanh_f32, rush_gelu_tanh_f32)
static const rush_pointwise gelu_tanh = {
    .operands = 1, .f32 = gelu_tanh_f32, .f64 = rush_pw_map_f64, .fn = rush_gelu_tanh_ref};
static rush_status setup_gelu(rush_call *c, rush_pw_job *job) {
  const char *form = arg_str(c, 1)->bytes;
  if (strcmp(form, "tanh") == 0) {
    job->row = &gelu_tanh;
  } else if (strcmp(form, "none") != 0) {
    return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT,
                     "approximate argument must be either none or tanh.");
  }
  return RUSH_OK;
}
RUSH_POINTWISE(gelu) = {.operands = 1,
                        .f32 = gelu_f32,
                        .f64 = rush_pw_map_f64,
                        .fn = rush_gelu_ref,
                        .setup = setup_gelu};

static void softplus_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  rush_softplus_f32(n, out, in[0], (float)p->f[0], (float)p->f[1]);
}
RUSH_BODY_1(softplus_f64, double, double, x *s > t ? x : log1p(exp(x * s)) / s)
static rush_status setup_softplus(rush_call *c, rush_pw_job *job) {
  rush_pw_scalar(c, job, 1, 0);
  rush_pw_scalar(c, job, 2, 1);
  return RUSH_OK;
}
RUSH_POINTWISE(softplus) = {
    .operands = 1, .f32 = softplus_f32, .f64 = softplus_f64, .setup = setup_softplus};

/* x <= 0 ? expm1(x * f[2]) * f[0] : x * f[1]. An infinite f[0] turns a zero into NaN, as in
 * PyTorch. */
static void elu_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  rush_elu_f32(n, out, in[0], (float)p->f[2], (float)p->f[0], (float)p->f[1]);
}
RUSH_BODY_1(elu_f64, double, double, x <= 0 ? expm1(x * p->f[2]) * s : x * t)
static rush_status setup_elu(rush_call *c, rush_pw_job *job) {
  double alpha = arg_scalar_double(c, 1), scale = arg_scalar_double(c, 2);
  job->p.f[0] = alpha * scale;
  job->p.f[1] = scale;
  job->p.f[2] = arg_scalar_double(c, 3);
  return RUSH_OK;
}
RUSH_POINTWISE(elu) = {.operands = 1, .f32 = elu_f32, .f64 = elu_f64, .setup = setup_elu};
static rush_status setup_selu(rush_call *c, rush_pw_job *job) {
  (void)c;
  const double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  job->p.f[0] = alpha * scale;
  job->p.f[1] = scale;
  job->p.f[2] = 1;
  return RUSH_OK;
}
RUSH_POINTWISE(selu) = {.operands = 1, .f32 = elu_f32, .f64 = elu_f64, .setup = setup_selu};
static rush_status setup_celu(rush_call *c, rush_pw_job *job) {
  double alpha = arg_scalar_double(c, 1);
  RUSH_CHECK(c->ctx, alpha != 0, RUSH_ERR_BAD_ARGUMENT,
             "ZeroDivisionError: alpha cannot be 0 for CELU");
  job->p.f[0] = alpha;
  job->p.f[1] = 1;
  job->p.f[2] = 1 / alpha;
  return RUSH_OK;
}
RUSH_POINTWISE(celu) = {.operands = 1, .f32 = elu_f32, .f64 = elu_f64, .setup = setup_celu};

/* ---- Piecewise linear activations ------------------------------------------------------------ */

static rush_status setup_1(rush_call *c, rush_pw_job *job) {
  rush_pw_scalar(c, job, 1, 0);
  return RUSH_OK;
}
static rush_status setup_2(rush_call *c, rush_pw_job *job) {
  rush_pw_scalar(c, job, 1, 0);
  rush_pw_scalar(c, job, 2, 1);
  return RUSH_OK;
}
FLOATS(leaky_relu, x > 0 ? x : x * s)
RUSH_POINTWISE(leaky_relu) = {
    .operands = 1, .f32 = leaky_relu_f32, .f64 = leaky_relu_f64, .setup = setup_1};
FLOATS(threshold, x <= s ? t : x)
RUSH_BODY_1(threshold_i64, int64_t, int64_t, x <= s ? t : x)
/* PyTorch casts both numbers to the element type first. For uint8, negative numbers wrap around. */
static rush_status setup_threshold(rush_call *c, rush_pw_job *job) {
  RUSH_TRY(setup_2(c, job));
  for (int k = 0; k < 2 && job->common == RUSH_UINT8; k++) {
    RUSH_CHECK_ARG(job->p.i[k] >= -UINT8_MAX && job->p.i[k] <= UINT8_MAX,
                   "value cannot be converted to type uint8_t without overflow");
    job->p.i[k] = (uint8_t)job->p.i[k];
  }
  return RUSH_OK;
}
RUSH_POINTWISE(threshold) = {.operands = 1,
                             .flags = RUSH_PW_NO_BOOL,
                             .f32 = threshold_f32,
                             .f64 = threshold_f64,
                             .i64 = threshold_i64,
                             .setup = setup_threshold};
FLOATS(hardshrink, x >= -s && x <= s ? 0 : x)
static rush_status setup_hardshrink(rush_call *c, rush_pw_job *job) {
  job->p.f[0] = rush_rounded(job->common, arg_scalar_double(c, 1));
  return RUSH_OK;
}
RUSH_POINTWISE(hardshrink) = {
    .operands = 1, .f32 = hardshrink_f32, .f64 = hardshrink_f64, .setup = setup_hardshrink};
FLOATS(softshrink, x > s ? x - s : x < -s ? x + s : x != x ? x : 0)
static rush_status setup_softshrink(rush_call *c, rush_pw_job *job) {
  rush_pw_scalar(c, job, 1, 0);
  RUSH_CHECK(c->ctx, job->p.f[0] >= 0, RUSH_ERR_BAD_ARGUMENT,
             "lambda must be greater or equal to 0, but found to be %g.", job->p.f[0]);
  return RUSH_OK;
}
RUSH_POINTWISE(softshrink) = {
    .operands = 1, .f32 = softshrink_f32, .f64 = softshrink_f64, .setup = setup_softshrink};

RUSH_BODY_2(prelu_f32, float, float, x > 0 ? x : x * y)
RUSH_BODY_2(prelu_f64, double, double, x > 0 ? x : x * y)
RUSH_POINTWISE(prelu_kernel) = {
    .operands = 2, .flags = RUSH_PW_LIKE_SELF, .f32 = prelu_f32, .f64 = prelu_f64};

/* ---- Ternary operators ----------------------------------------------------------------------- */

static rush_status same_dtypes(rush_call *c, rush_pw_job *job) {
  for (uint32_t i = 0; i < 3; i++) {
    if (c->args[i].kind != RUSH_KIND_TENSOR) continue;
    RUSH_CHECK(c->ctx, arg_tensor(c, i)->dtype == arg_tensor(c, 0)->dtype, RUSH_ERR_BAD_ARGUMENT,
               "expected dtype %s for argument %u but got dtype %s",
               rush_dtype_name(arg_tensor(c, 0)->dtype), (unsigned)i,
               rush_dtype_name(arg_tensor(c, i)->dtype));
  }
  job->common = arg_tensor(c, 0)->dtype;
  return RUSH_OK;
}
#define MIX(small) (small ? x + z * (y - x) : y - (y - x) * (1 - z))
#define LERP(T) MIX((z < (T)0.5 && z > (T) - 0.5))
RUSH_BODY_3(lerp_f32, float, float, LERP(float))
RUSH_BODY_3(lerp_f64, double, double, LERP(double))
RUSH_BODY_3(lerp_c128, rush_c128, rush_c128, MIX((cabs(z) < 0.5)))
RUSH_POINTWISE(lerp) = {.operands = 3,
                        .flags = RUSH_PW_NUMBER_ASIDE | RUSH_PW_EXACT,
                        .f32 = lerp_f32,
                        .f64 = lerp_f64,
                        .c128 = lerp_c128,
                        .setup = same_dtypes};

RUSH_BODY_3(addcmul_f32, float, float, x + s * y * z)
RUSH_BODY_3(addcmul_f64, double, double, x + s * y * z)
#define COMPLEX_VALUE CMPLX(p->f[0], p->f[1])
RUSH_BODY_3(addcmul_c128, rush_c128, rush_c128, x + COMPLEX_VALUE * y * z)
RUSH_BODY_3(addcmul_i64, int64_t, int64_t, (uint64_t)x + (uint64_t)s * (uint64_t)y * (uint64_t)z)
static rush_status setup_value(rush_call *c, rush_pw_job *job) {
  rush_pw_scalar(c, job, 3, 0);
  return RUSH_OK;
}
RUSH_POINTWISE(addcmul) = {.operands = 3,
                           .flags = RUSH_PW_NO_BOOL | RUSH_PW_COMPLEX_NUMBERS,
                           .f32 = addcmul_f32,
                           .f64 = addcmul_f64,
                           .i64 = addcmul_i64,
                           .c128 = addcmul_c128,
                           .setup = setup_value};
RUSH_BODY_3(addcdiv_f32, float, float, x + s * y / z)
RUSH_BODY_3(addcdiv_f64, double, double, x + s * y / z)
static rush_status setup_addcdiv(rush_call *c, rush_pw_job *job) {
  RUSH_CHECK(
      c->ctx,
      !rush_is_integral(arg_tensor(c, 1)->dtype) || !rush_is_integral(arg_tensor(c, 2)->dtype),
      RUSH_ERR_BAD_ARGUMENT,
      "Integer division with addcdiv is no longer supported, and in a future  release "
      "addcdiv will perform a "
      "true division of tensor1 and tensor2.");
  return setup_value(c, job);
}
RUSH_BODY_3(addcdiv_c128, rush_c128, rush_c128, x + rush_quotient_c128(COMPLEX_VALUE * y, z))
RUSH_POINTWISE(addcdiv) = {.operands = 3,
                           .flags = RUSH_PW_COMPLEX_NUMBERS,
                           .f32 = addcdiv_f32,
                           .f64 = addcdiv_f64,
                           .c128 = addcdiv_c128,
                           .setup = setup_addcdiv};
