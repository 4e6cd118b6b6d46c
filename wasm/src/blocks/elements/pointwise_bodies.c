/* Parameters from Scalars, and bodies that several rows share. */
#include "blocks/elements/pointwise.h"

void rush_pw_scalar(const rush_call *c, rush_pw_job *job, uint32_t arg, int k) {
  if (arg_is_none(c, arg)) return;
  if (c->args[arg].kind == RUSH_KIND_COMPLEX) {
    const rush_complex *z = (const rush_complex *)c->args[arg].u.ref;
    job->p.f[k] = z->re;
    job->p.f[k + 1] = z->im;
    return;
  }
  job->p.f[k] = arg_scalar_double(c, arg);
  if (!arg_scalar_is_float(c, arg)) {
    job->p.i[k] = arg_scalar_int(c, arg);
  } else {
    int64_t as_int;
    rush_convert(RUSH_INT64, &as_int, RUSH_FLOAT64, &job->p.f[k], 1);
    job->p.i[k] = as_int;
  }
}

float rush_pw_rounded(const rush_pw_params *p, float v) {
  return (float)rush_rounded(p->common, (double)v);
}

/* ---- Bodies that rows share ------------------------------------------------------------------ */

void rush_pw_map_f64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const double *x = in[0];
  double *y = out;
  double (*fn)(double) = p->fn;
  for (size_t i = 0; i < n; i++) y[i] = fn(x[i]);
}
void rush_pw_map_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const float *x = in[0];
  float *y = out;
  float (*fn)(float) = p->fn32;
  for (size_t i = 0; i < n; i++) y[i] = fn(x[i]);
}
void rush_pw_map2_f64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const double *a = in[0], *b = in[1];
  double *y = out, (*fn)(double, double) = p->fn2;
  for (size_t i = 0; i < n; i++) y[i] = fn(a[i], b[i]);
}
void rush_pw_map2_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const float *a = in[0], *b = in[1];
  float *y = out, (*fn)(float, float) = p->fn2_32;
  for (size_t i = 0; i < n; i++) y[i] = fn(a[i], b[i]);
}
void rush_pw_map_c128(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const rush_c128 *x = in[0];
  rush_c128 *y = out;
  for (size_t i = 0; i < n; i++) y[i] = p->cfn(x[i]);
}
void rush_pw_copy_i64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)p;
  memmove(out, in[0], n * sizeof(int64_t));
}
void rush_pw_false(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)in, (void)p;
  memset(out, 0, n);
}
