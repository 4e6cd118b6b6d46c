/* Compares results with PyTorch's. */
#include "exec/compare.h"

#include <math.h>
#include <rushlight/verdict.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct comparison {
  rush_session *s;
  double rtol, atol; /* for the current value */
  double small;      /* max_rel ignores values up to this magnitude */
  rush_verify_report *report;
  bool scaled;  /* atol is relative to a tensor's greatest element if that is above 1 */
  bool by_norm; /* rule 3 of verdict.h may decide */
  const rush_file_measure *measures; /* of the values of a test vector, in order */
  size_t n_measures;                 /* number of those that are left */
  char path[128];                    /* position in the result: "[1][0]" */
  size_t path_size;
} comparison;

static rush_status differ(comparison *c, const char *fmt, ...) RUSH_PRINTF(2, 3);
static rush_status differ(comparison *c, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return rush_fail(c->s->ctx, RUSH_ERR_MISMATCH, "result%s: %s", c->path, text);
}

/* ---- Measures -------------------------------------------------------------------------------- */

static void measure(comparison *c, double got, double want) {
  rush_verify_report *r = c->report;
  r->compared++;
  if (got == want || (isnan(got) && isnan(want))) return;
  double diff = fabs(got - want);
  if (isfinite(diff)) {
    if (diff > r->max_abs) r->max_abs = diff;
    if (fabs(want) > c->small && diff / fabs(want) > r->max_rel) r->max_rel = diff / fabs(want);
  } else {
    r->max_abs = INFINITY;
  }
}

/* The report keeps the distances of the value that is furthest from the float64 result. */
static void keep_distances(comparison *c, const rush_verdict *v) {
  rush_verify_report *r = c->report;
  rush_distance pytorch, rushlight, difference;
  if (!v->measured || v->n == 0) return; /* an empty tensor proves nothing */
  rush_verdict_distances(v, &pytorch, &rushlight, &difference);
  if (r->measured++ > 0 && !(rushlight.max > r->rushlight.max)) return;
  r->pytorch = pytorch;
  r->rushlight = rushlight;
  r->difference = difference;
}

/* Size of the text ", in float64's eyes ...", which is added if the float64 result is known. */
enum { EYES = 160 };
static const char *distances_text(const rush_verdict *v, char *text) {
  rush_distance pytorch, rushlight, difference;
  rush_verdict_distances(v, &pytorch, &rushlight, &difference);
  text[0] = '\0';
  if (v->measured)
    snprintf(text, EYES,
             "; from float64's answer PyTorch is off by %.3g (L2 %.3g), this by %.3g (L2 %.3g)",
             pytorch.max, pytorch.l2, rushlight.max, rushlight.l2);
  return text;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

/* Returns the greatest finite magnitude. */
static double greatest(const rush_tensor *t) {
  double most = 0;
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 1, &t);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      double x = fabs(rush_load_double(t->dtype, it.at[0] + k * it.stride[0][0]));
      if (isfinite(x) && x > most) most = x;
    }
  } while (rush_iter_next(&it));
  return most;
}

/* `exact` may be NULL. */
static rush_status compare_floats(comparison *c, const rush_tensor *got, const rush_tensor *want,
                                  const rush_tensor *exact) {
  const rush_tensor *operands[] = {got, want, exact};
  const rush_dtype dtype = want->dtype;
  const double most = greatest(want);
  const double atol = c->scaled ? c->atol * fmax(most, 1) : c->atol;
  double bad_got = 0, bad_want = 0;
  bool bad = false;
  char eyes[EYES];
  rush_verdict v;
  rush_verdict_begin(&v, c->rtol, atol, most, exact != NULL, c->by_norm);
  c->small = most / 1000;
  rush_iter it;
  rush_iter_init(&it, got->rank, got->sizes, exact ? 3 : 2, operands);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      double a = rush_load_double(dtype, it.at[0] + k * it.stride[0][0]);
      double b = rush_load_double(dtype, it.at[1] + k * it.stride[1][0]);
      const bool was_close = v.close, was_tight = v.tight;
      measure(c, a, b);
      rush_verdict_add(&v, a, b,
                       exact ? rush_load_double(RUSH_FLOAT64, it.at[2] + k * it.stride[2][0]) : 0);
      const bool first = was_close && !v.close;
      if (!first && (bad || !was_tight || v.tight)) continue;
      bad |= first; /* otherwise the first element that is not tightly close */
      bad_got = a;
      bad_want = b;
    }
    RUSH_TRY(rush_charge(c->s->ctx, 8 * (uint64_t)it.size[0]));
  } while (rush_iter_next(&it));
  c->small = 0;
  keep_distances(c, &v);
  if (rush_verdict_is_right(&v)) return RUSH_OK;
  return differ(c, "expected %.9g, got %.9g (greatest difference %.3g, rtol %g, atol %g)%s",
                bad_want, bad_got, c->report->max_abs, c->rtol, atol, distances_text(&v, eyes));
}

/* Compares the real parts, then the imaginary parts. */
static rush_status compare_complexes(comparison *c, const rush_tensor *got, const rush_tensor *want,
                                     const rush_tensor *exact) {
  for (int k = 0; k < 2; k++) {
    const rush_tensor a = rush_complex_part(got, k), b = rush_complex_part(want, k);
    const rush_tensor e = exact ? rush_complex_part(exact, k) : b;
    RUSH_TRY(compare_floats(c, &a, &b, exact ? &e : NULL));
  }
  return RUSH_OK;
}

/* Returns whether all elements are equal. Otherwise sets one element of each that differs. For a
 * quantized `a`, the integers are compared. */
static bool same_elements(const rush_tensor *a, const rush_tensor *b, double *in_a, double *in_b) {
  const rush_tensor *operands[] = {a, b};
  const rush_dtype dtype = b->dtype;
  rush_iter it;
  rush_iter_init(&it, a->rank, a->sizes, 2, operands);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      const char *x = it.at[0] + k * it.stride[0][0], *y = it.at[1] + k * it.stride[1][0];
      if (rush_load_int(dtype, x) == rush_load_int(dtype, y)) continue;
      *in_a = rush_load_double(dtype, x);
      *in_b = rush_load_double(dtype, y);
      return false;
    }
  } while (rush_iter_next(&it));
  return true;
}

/* Values other than floating-point numbers must equal PyTorch's or the float64 result. */
static rush_status compare_others(comparison *c, const rush_tensor *got, const rush_tensor *want,
                                  const rush_tensor *exact) {
  double a, b;
  c->report->compared += (uint64_t)want->numel;
  if (same_elements(got, want, &a, &b)) return RUSH_OK;
  double other_a, other_b;
  if (exact && same_elements(got, exact, &other_a, &other_b)) return RUSH_OK;
  return differ(c, "expected %.9g, got %.9g", b, a);
}

/* Returns the float64 result if it can belong to this tensor. */
static const rush_tensor *exact_of(const rush_tensor *want, const rush_value *exact) {
  if (!exact || exact->kind != RUSH_KIND_TENSOR) return NULL;
  const rush_tensor *t = rush_as_tensor(exact);
  const rush_dtype dtype = rush_is_complex(want->dtype) ? RUSH_COMPLEX128
                           : rush_is_float(want->dtype) ? RUSH_FLOAT64
                                                        : want->dtype;
  return t->dtype == dtype && rush_same_sizes(t, want) ? t : NULL;
}

static rush_status compare_tensors(comparison *c, const rush_tensor *got, const rush_tensor *want,
                                   const rush_value *exact) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  const bool in_integers = rush_is_quantized(got->dtype);
  if ((in_integers ? rush_integer_dtype(got->dtype) : got->dtype) != want->dtype)
    return differ(c, "expected dtype %s, got %s", rush_dtype_name(want->dtype),
                  rush_dtype_name(got->dtype));
  if (!rush_same_sizes(got, want))
    return differ(c, "expected shape %s, got %s", rush_shape_text(want->rank, want->sizes, a),
                  rush_shape_text(got->rank, got->sizes, b));
  const rush_tensor *e = exact_of(want, exact);
  if (rush_is_complex(want->dtype)) return compare_complexes(c, got, want, e);
  return rush_is_float(want->dtype) ? compare_floats(c, got, want, e)
                                    : compare_others(c, got, want, e);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static rush_status compare_float(comparison *c, double got, double want, const rush_value *exact) {
  const bool measured = exact && exact->kind == RUSH_KIND_FLOAT;
  char eyes[EYES];
  rush_verdict v;
  rush_verdict_begin(&v, c->rtol, c->atol, fabs(want), measured, c->by_norm);
  measure(c, got, want);
  rush_verdict_add(&v, got, want, measured ? exact->u.f : 0);
  keep_distances(c, &v);
  return rush_verdict_is_right(&v)
             ? RUSH_OK
             : differ(c, "expected %.17g, got %.17g%s", want, got, distances_text(&v, eyes));
}

static rush_status compare_complex(comparison *c, const rush_complex *a, const rush_complex *b,
                                   const rush_value *exact) {
  const bool measured = exact && exact->kind == RUSH_KIND_COMPLEX;
  const rush_complex *e = measured ? exact->u.ref : b;
  rush_verdict v;
  rush_verdict_begin(&v, c->rtol, c->atol, fmax(fabs(b->re), fabs(b->im)), measured, c->by_norm);
  measure(c, a->re, b->re);
  measure(c, a->im, b->im);
  rush_verdict_add(&v, a->re, b->re, e->re);
  rush_verdict_add(&v, a->im, b->im, e->im);
  keep_distances(c, &v);
  return rush_verdict_is_right(&v)
             ? RUSH_OK
             : differ(c, "expected (%g, %g), got (%g, %g)", b->re, b->im, a->re, a->im);
}

static rush_status compare_int(comparison *c, const rush_value *got, const rush_value *want,
                               const rush_value *exact) {
  c->report->compared++;
  if (got->u.i == want->u.i) return RUSH_OK;
  if (exact && exact->kind == want->kind && got->u.i == exact->u.i) return RUSH_OK;
  return differ(c, "expected %lld, got %lld", (long long)want->u.i, (long long)got->u.i);
}

/* ---- Any values ------------------------------------------------------------------------------ */

static rush_status compare(comparison *c, const rush_value *got, const rush_value *want,
                           const rush_value *exact);

static rush_status compare_items(comparison *c, const rush_list *got, const rush_list *want,
                                 const rush_value *exact) {
  if (got->n != want->n) return differ(c, "expected %zu items, got %zu", want->n, got->n);
  const rush_value *e = NULL;
  if (exact && rush_as_list(exact)->n == want->n) e = rush_as_list(exact)->items;
  size_t size = c->path_size;
  for (size_t k = 0; k < got->n; k++) {
    int n = snprintf(c->path + size, sizeof c->path - size, "[%zu]", k);
    c->path_size = n > 0 && size + (size_t)n < sizeof c->path ? size + (size_t)n : size;
    RUSH_TRY(compare(c, got->items + k, want->items + k, e ? e + k : NULL));
  }
  c->path_size = size;
  c->path[size] = '\0';
  return RUSH_OK;
}

static rush_status compare_leaf(comparison *c, const rush_value *got, const rush_value *want,
                                const rush_value *exact) {
  switch (want->kind) {
    case RUSH_KIND_TENSOR:
      return compare_tensors(c, rush_as_tensor(got), rush_as_tensor(want), exact);
    case RUSH_KIND_FLOAT:
      return compare_float(c, got->u.f, want->u.f, exact);
    case RUSH_KIND_COMPLEX:
      return compare_complex(c, got->u.ref, want->u.ref, exact);
    default:
      return compare_int(c, got, want, exact);
  }
}

/* Returns whether the constant can be the float64 result of this value. Only then is it copied. */
static bool may_be_exact(const rush_model *m, uint32_t constant, const rush_value *want) {
  if (constant == RUSH_NONE) return false;
  const rush_file_constant *c = m->constants + constant;
  if (want->kind != RUSH_KIND_TENSOR)
    return !rush_const_has_items(c->kind) && c->kind != RUSH_CONST_TENSOR &&
           c->kind != RUSH_CONST_RANDOM;
  if (c->kind != RUSH_CONST_TENSOR) return false;
  const rush_tensor *t = rush_as_tensor(want);
  const rush_file_tensor *e = m->tensors + c->a;
  return e->rank == t->rank && memcmp(e->sizes, t->sizes, t->rank * sizeof *t->sizes) == 0;
}

/* Compares a tensor or number of a test vector, with the file's measure of it. */
static rush_status compare_measured(comparison *c, const rush_value *got, const rush_value *want) {
  RUSH_CHECK(c->s->ctx, c->n_measures > 0, RUSH_ERR_BAD_FILE,
             "the file has fewer measures than the answer has values");
  const rush_file_measure *m = c->measures++;
  rush_value exact = rush_none();
  c->n_measures--;
  c->rtol = (double)m->rtol;
  c->atol = (double)m->atol;
  const bool known = may_be_exact(c->s->m, m->exact, want);
  if (known) RUSH_TRY(rush_session_copy(c->s, m->exact, &exact));
  rush_status st = compare_leaf(c, got, want, known ? &exact : NULL);
  rush_drop(&c->s->heap, &exact);
  return st;
}

/* The recursion depth is limited to RUSH_MAX_NESTING, the nesting of the expected constant. `exact`
 * is the float64 result or NULL. */
static rush_status compare(comparison *c, const rush_value *got, const rush_value *want,
                           const rush_value *exact) {
  if (got->kind != want->kind)
    return differ(c, "expected %s, got %s", rush_kind_name(want->kind), rush_kind_name(got->kind));
  if (exact && exact->kind != want->kind) exact = NULL;
  switch (want->kind) {
    case RUSH_KIND_TENSOR:
    case RUSH_KIND_FLOAT:
    case RUSH_KIND_COMPLEX:
    case RUSH_KIND_INT:
    case RUSH_KIND_BOOL:
      return c->measures ? compare_measured(c, got, want) : compare_leaf(c, got, want, exact);
    case RUSH_KIND_LIST:
    case RUSH_KIND_TUPLE:
    case RUSH_KIND_DICT:
    case RUSH_KIND_OBJECT:
    case RUSH_KIND_ENUM:
      return compare_items(c, rush_as_list(got), rush_as_list(want), exact);
    case RUSH_KIND_STR:
    case RUSH_KIND_DEVICE: {
      const rush_str *a = rush_as_str(got), *b = rush_as_str(want);
      c->report->compared++;
      bool same = a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
      return same ? RUSH_OK : differ(c, "expected '%.60s', got '%.60s'", b->bytes, a->bytes);
    }
    default:
      return RUSH_OK; /* None */
  }
}

rush_status rush_compare_scaled(rush_session *s, const rush_value *got, const rush_value *want,
                                const rush_value *exact, double rtol, double atol,
                                rush_verify_report *report) {
  comparison c = {
      .s = s, .rtol = rtol, .atol = atol, .report = report, .scaled = true, .by_norm = true};
  return compare(&c, got, want, exact);
}

/* Older files have no measures. */
static void find_measures(const rush_model *m, size_t test, comparison *c) {
  size_t first = 0, n = 0;
  while (first < m->n_measures && m->measures[first].test < test) first++;
  while (first + n < m->n_measures && m->measures[first + n].test == test) n++;
  if (n == 0) return;
  c->measures = m->measures + first;
  c->n_measures = n;
  c->by_norm = true;
}

rush_status rush_compare_answer(rush_session *s, const rush_value *got, const rush_value *want,
                                size_t test, rush_verify_report *report) {
  const rush_file_test *t = s->m->tests + test;
  comparison c = {.s = s, .rtol = (double)t->rtol, .atol = (double)t->atol, .report = report};
  find_measures(s->m, test, &c);
  return compare(&c, got, want, NULL);
}
