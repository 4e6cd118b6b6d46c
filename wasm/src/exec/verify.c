/* Test vectors: the file's inputs run, the answer compared as torch.allclose does. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "exec/session.h"

typedef struct comparison {
  rush_session *s;
  double rtol, atol;
  double small; /* max_rel leaves out what is not above this */
  rush_verify_report *report;
  bool scaled;    /* atol counts in units of a tensor's greatest element, at least 1 */
  char path[128]; /* where in the result: "[1][0]" */
  size_t path_size;
} comparison;

static rush_status differ(comparison *c, const char *fmt, ...) RUSH_PRINTF(2, 3);
static rush_status differ(comparison *c, const char *fmt, ...) {
  char text[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return rush_fail(c->s->ctx, RUSH_ERR_MISMATCH, "result%s: %s", c->path, text);
}

static bool close_enough(comparison *c, double got, double want) {
  rush_verify_report *r = c->report;
  r->compared++;
  if (got == want || (isnan(got) && isnan(want))) return true;
  double diff = fabs(got - want);
  if (isfinite(diff)) {
    if (diff > r->max_abs) r->max_abs = diff;
    if (fabs(want) > c->small && diff / fabs(want) > r->max_rel) r->max_rel = diff / fabs(want);
  } else {
    r->max_abs = INFINITY;
  }
  return diff <= c->atol + c->rtol * fabs(want) && isfinite(want);
}

static rush_status compare_elements(comparison *c, const rush_tensor *got,
                                    const rush_tensor *want) {
  const rush_tensor *operands[] = {got, want};
  rush_dtype dtype = (rush_dtype)got->dtype;
  bool all = true;
  double bad_got = 0, bad_want = 0;
  rush_iter it;
  rush_iter_init(&it, got->rank, got->sizes, 2, operands);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      const char *a = it.at[0] + k * it.stride[0][0], *b = it.at[1] + k * it.stride[1][0];
      bool same;
      if (rush_is_float(dtype)) {
        same = close_enough(c, rush_load_double(dtype, a), rush_load_double(dtype, b));
      } else {
        same = rush_load_int(dtype, a) == rush_load_int(dtype, b);
        c->report->compared++;
      }
      if (same || !all) continue;
      all = false;
      bad_got = rush_load_double(dtype, a);
      bad_want = rush_load_double(dtype, b);
    }
  } while (rush_iter_next(&it));
  if (all) return RUSH_OK;
  return differ(c, "%.9g was wanted, %.9g came (greatest difference %.3g)", bad_want, bad_got,
                c->report->max_abs);
}

/* The greatest finite magnitude. */
static double greatest(const rush_tensor *t) {
  double most = 0;
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 1, &t);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      double x = fabs(rush_load_double((rush_dtype)t->dtype, it.at[0] + k * it.stride[0][0]));
      if (isfinite(x) && x > most) most = x;
    }
  } while (rush_iter_next(&it));
  return most;
}

static rush_status compare_tensors(comparison *c, const rush_tensor *got, const rush_tensor *want) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  if (got->dtype != want->dtype)
    return differ(c, "dtype %s was wanted, %s came", rush_dtype_name(want->dtype),
                  rush_dtype_name(got->dtype));
  if (!rush_same_sizes(got, want))
    return differ(c, "shape %s was wanted, %s came", rush_shape_text(want->rank, want->sizes, a),
                  rush_shape_text(got->rank, got->sizes, b));
  if (!rush_is_float((rush_dtype)want->dtype)) return compare_elements(c, got, want);
  double atol = c->atol, most = greatest(want);
  if (c->scaled) c->atol = atol * fmax(most, 1);
  c->small = most / 1000;
  rush_status st = compare_elements(c, got, want);
  c->atol = atol;
  c->small = 0;
  return st;
}

static rush_status compare(comparison *c, const rush_value *got, const rush_value *want);

static rush_status compare_items(comparison *c, const rush_list *got, const rush_list *want) {
  if (got->n != want->n) return differ(c, "%zu items were wanted, %zu came", want->n, got->n);
  size_t size = c->path_size;
  for (size_t k = 0; k < got->n; k++) {
    int n = snprintf(c->path + size, sizeof c->path - size, "[%zu]", k);
    c->path_size = n > 0 && size + (size_t)n < sizeof c->path ? size + (size_t)n : size;
    RUSH_TRY(compare(c, got->items + k, want->items + k));
  }
  c->path_size = size;
  c->path[size] = '\0';
  return RUSH_OK;
}

/* Recursion is as deep as the expected constant is nested: at most RUSH_MAX_NESTING. */
static rush_status compare(comparison *c, const rush_value *got, const rush_value *want) {
  if (got->kind != want->kind)
    return differ(c, "%s was wanted, %s came", rush_kind_name(want->kind),
                  rush_kind_name(got->kind));
  switch (want->kind) {
    case RUSH_KIND_TENSOR:
      return compare_tensors(c, rush_as_tensor(got), rush_as_tensor(want));
    case RUSH_KIND_LIST:
    case RUSH_KIND_TUPLE:
    case RUSH_KIND_DICT:
      return compare_items(c, rush_as_list(got), rush_as_list(want));
    case RUSH_KIND_INT:
    case RUSH_KIND_BOOL:
      c->report->compared++;
      return got->u.i == want->u.i ? RUSH_OK
                                   : differ(c, "%lld was wanted, %lld came", (long long)want->u.i,
                                            (long long)got->u.i);
    case RUSH_KIND_FLOAT:
      return close_enough(c, got->u.f, want->u.f)
                 ? RUSH_OK
                 : differ(c, "%.17g was wanted, %.17g came", want->u.f, got->u.f);
    case RUSH_KIND_COMPLEX: {
      const rush_complex *a = got->u.ref, *b = want->u.ref;
      bool re = close_enough(c, a->re, b->re), im = close_enough(c, a->im, b->im);
      return re && im ? RUSH_OK
                      : differ(c, "(%g, %g) was wanted, (%g, %g) came", b->re, b->im, a->re, a->im);
    }
    case RUSH_KIND_STR:
    case RUSH_KIND_DEVICE: {
      const rush_str *a = rush_as_str(got), *b = rush_as_str(want);
      c->report->compared++;
      bool same = a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
      return same ? RUSH_OK : differ(c, "'%.60s' was wanted, '%.60s' came", b->bytes, a->bytes);
    }
    default:
      return RUSH_OK; /* None */
  }
}

rush_status rush_compare_scaled(rush_session *s, const rush_value *got, const rush_value *want,
                                double rtol, double atol, rush_verify_report *report) {
  comparison c = {.s = s, .rtol = rtol, .atol = atol, .report = report, .scaled = true};
  return compare(&c, got, want);
}

/* A copy of a constant, made in full: whoever gets it may write it. */
static rush_status copy_constant(rush_session *s, uint32_t constant, rush_value *out) {
  rush_storage **copies;
  RUSH_TRY(rush_calloc(s->ctx, s->m->n_storages, sizeof *copies, (void **)&copies));
  rush_status st = rush_constant_copy(&s->heap, s->m, constant, copies, out);
  rush_release(s->ctx, copies, s->m->n_storages * sizeof *copies);
  return st;
}

static rush_status find_test(rush_session *s, size_t test, const rush_file_test **out) {
  RUSH_CHECK(s->ctx, test < s->m->n_tests, RUSH_ERR_BAD_ARGUMENT,
             "test vector %zu does not exist, the file has %u", test, s->m->n_tests);
  *out = s->m->tests + test;
  return RUSH_OK;
}

rush_status rush_session_verify_begin(rush_session *s, size_t test) {
  const rush_file_test *t;
  rush_value inputs = rush_none();
  RUSH_TRY(find_test(s, test, &t));
  RUSH_TRY(copy_constant(s, t->inputs, &inputs));
  rush_status st = rush_session_reset(s);
  if (st == RUSH_OK)
    st = rush_session_begin(s, t->method, rush_as_list(&inputs)->items, rush_as_list(&inputs)->n);
  rush_drop(&s->heap, &inputs);
  if (st == RUSH_OK) {
    rush_random_seed(&s->test_random, RUSH_TEST_SEED);
    s->random = &s->test_random;
  }
  return st == RUSH_OK ? st : rush_note(s->ctx, st, "test vector %zu: ", test);
}

rush_status rush_session_verify_end(rush_session *s, size_t test, rush_verify_report *report) {
  const rush_file_test *t;
  rush_value got, want = rush_none();
  *report = (rush_verify_report){0};
  RUSH_TRY(find_test(s, test, &t));
  RUSH_TRY(rush_session_result(s, &got));
  rush_status st = copy_constant(s, t->output, &want);
  if (st == RUSH_OK) {
    comparison c = {.s = s, .rtol = (double)t->rtol, .atol = (double)t->atol, .report = report};
    st = compare(&c, &got, &want);
  }
  rush_drop(&s->heap, &got);
  rush_drop(&s->heap, &want);
  return st == RUSH_OK ? st : rush_note(s->ctx, st, "test vector %zu: ", test);
}

rush_status rush_session_verify(rush_session *s, size_t test, rush_verify_report *report) {
  *report = (rush_verify_report){0};
  RUSH_TRY(rush_session_verify_begin(s, test));
  rush_status st = rush_session_finish(s);
  return st == RUSH_OK ? rush_session_verify_end(s, test, report)
                       : rush_note(s->ctx, st, "test vector %zu: ", test);
}
