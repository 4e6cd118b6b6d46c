/* Test vectors: runs the file's inputs and compares the results. */
#include "exec/compare.h"

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
  RUSH_TRY(rush_session_copy(s, t->inputs, &inputs));
  rush_status st = rush_session_reset(s);
  if (st == RUSH_OK)
    st = rush_session_begin(s, t->method, rush_as_list(&inputs)->items, rush_as_list(&inputs)->n);
  rush_drop(&s->heap, &inputs);
  if (st == RUSH_OK) {
    rush_random_seed(&s->test_random, RUSH_TEST_SEED);
    s->random = &s->test_random;
  }
  return st == RUSH_OK ? st : rush_fail_prefix(s->ctx, st, "test vector %zu: ", test);
}

rush_status rush_session_verify_end(rush_session *s, size_t test, rush_verify_report *report) {
  const rush_file_test *t;
  rush_value got, want = rush_none();
  *report = (rush_verify_report){0};
  RUSH_TRY(find_test(s, test, &t));
  RUSH_TRY(rush_session_result(s, &got));
  rush_status st = rush_session_copy(s, t->output, &want);
  if (st == RUSH_OK) st = rush_compare_answer(s, &got, &want, test, report);
  rush_drop(&s->heap, &got);
  rush_drop(&s->heap, &want);
  return st == RUSH_OK ? st : rush_fail_prefix(s->ctx, st, "test vector %zu: ", test);
}

rush_status rush_session_verify(rush_session *s, size_t test, rush_verify_report *report) {
  *report = (rush_verify_report){0};
  RUSH_TRY(rush_session_verify_begin(s, test));
  rush_status st = rush_session_finish(s);
  return st == RUSH_OK ? rush_session_verify_end(s, test, report)
                       : rush_fail_prefix(s->ctx, st, "test vector %zu: ", test);
}
