/* Implements the rule of verdict.h. */
#include <rushlight/verdict.h>

#include <float.h>
#include <math.h>

/* 16 times the rounding error of float32. No computation in float32 is expected to be more
 * accurate. */
static const double FLOOR = 16 * 0x1p-24;
/* Rule 1 is tight only if PyTorch's L2 distance from float64 is at most this. */
static const double EXACT_ENOUGH = 1e-4;
/* A float64 result that is further from PyTorch's than this, or than ASTRAY_BY_RTOL times rtol
 * (bfloat16 has eight bits), is ignored. It belongs to another function, or to a program in which
 * rounding errors grow. */
static const double ASTRAY = 0.05, ASTRAY_BY_RTOL = 60;
/* Rule 2: the distances may exceed PyTorch's by this multiple of rtol. Activations far above the
 * result round in steps that all elements share, so chance decides which run is closer. */
static const double NEAR = 0.25;
/* Rule 2, if PyTorch itself is further than ASTRAY from the float64 result, as deep bfloat16
 * networks are. The result must then also be closer to PyTorch's than PyTorch's is to float64's. No
 * other function satisfies this. */
static const double MULTIPLE_OF_FAR = 1.25;
/* Rule 3: the greatest difference may be this multiple of rtol. The L2 distance may be at most
 * rtol. */
static const double MAX_NORMALIZED = 2.5;

void rush_verdict_begin(rush_verdict *v, double rtol, double atol, double most, bool measured,
                        bool by_norm) {
  *v = (rush_verdict){.rtol = rtol,
                      .atol = atol,
                      .tight_atol = most > 0 && most < 1 ? atol * most : atol,
                      .measured = measured,
                      .by_norm = by_norm,
                      .close = true,
                      .tight = true};
}

/* Returns whether both are finite, both are NaN, or both are the same infinity. */
static bool same_kind(double a, double b) {
  return isfinite(a) ? isfinite(b) : isnan(a) ? isnan(b) : a == b;
}

static void grow(rush_distance *d, double difference) {
  difference = fabs(difference);
  if (difference > d->max) d->max = difference;
  d->l2 += difference * difference;
}

void rush_verdict_add(rush_verdict *v, double got, double pytorch, double exact) {
  v->n++;
  if (fabs(exact) > (double)FLT_MAX) exact = copysign(INFINITY, exact); /* as in float32 */
  const bool finite = isfinite(pytorch);
  if (!same_kind(got, pytorch)) {
    v->close = v->tight = false;
    if (!v->measured || !same_kind(got, exact)) v->broken = true;
  }
  const bool known = v->measured && isfinite(exact);
  const double unit = known ? exact : finite && !v->measured ? pytorch : 0;
  v->squares += unit * unit;
  if (fabs(unit) > v->most) v->most = fabs(unit);
  if (known && isfinite(got)) grow(&v->rushlight, got - exact);
  if (known && finite) grow(&v->pytorch, pytorch - exact);
  if (!finite || !isfinite(got) || got == pytorch) return;
  const double d = fabs(got - pytorch), relative = v->rtol * fabs(pytorch);
  grow(&v->difference, d);
  v->tight &= d <= v->tight_atol + relative;
  if (d <= v->atol + relative) return;
  v->close = false;
  v->broken |= v->measured && !known; /* there is no float64 value to decide */
}

bool rush_verdict_is_measure(const rush_verdict *v) {
  return v->measured &&
         sqrt(v->pytorch.l2) <= fmax(ASTRAY, ASTRAY_BY_RTOL * v->rtol) * sqrt(v->squares);
}

bool rush_verdict_is_right(const rush_verdict *v) {
  const double norm = sqrt(v->squares), pytorch = sqrt(v->pytorch.l2);
  const bool few = v->n < RUSH_VERDICT_FEW, is_measure = rush_verdict_is_measure(v);
  const bool tells = is_measure && !few && pytorch <= EXACT_ENOUGH * norm;
  if (v->close && (v->tight || !tells)) return true;
  /* Comparisons with overflowed sums would be meaningless. */
  if (v->broken || !isfinite(norm) || !isfinite(v->rushlight.l2) || !isfinite(v->difference.l2))
    return false;
  if (is_measure) {
    const bool far = pytorch > ASTRAY * norm;
    const double multiple = far   ? MULTIPLE_OF_FAR
                            : few ? RUSH_VERDICT_MULTIPLE_OF_FEW
                                  : RUSH_VERDICT_MULTIPLE;
    /* Results in float64 get a stricter bound. */
    const double least = fmin(FLOOR, v->rtol), near = NEAR * v->rtol;
    return v->rushlight.max <= multiple * fmax(v->pytorch.max, least * v->most) + near * v->most &&
           sqrt(v->rushlight.l2) <= multiple * fmax(pytorch, least * norm) + near * norm &&
           (!far || v->difference.l2 <= v->pytorch.l2);
  }
  return v->by_norm && v->difference.max <= MAX_NORMALIZED * v->rtol * v->most &&
         sqrt(v->difference.l2) <= v->rtol * norm;
}

static rush_distance in_units(const rush_verdict *v, const rush_distance *d) {
  const double norm = sqrt(v->squares);
  return (rush_distance){d->max / (v->most > 0 ? v->most : 1), sqrt(d->l2) / (norm > 0 ? norm : 1)};
}

void rush_verdict_distances(const rush_verdict *v, rush_distance *pytorch, rush_distance *rushlight,
                            rush_distance *difference) {
  *pytorch = in_units(v, &v->pytorch);
  *rushlight = in_units(v, &v->rushlight);
  *difference = in_units(v, &v->difference);
}
