/* Answers of operators in rare combinations of dtypes and sizes, known by hand: each row of
 * answers.def is a call (call_text.h). tests/conformance has PyTorch's answers in the usual
 * ones. */
#include "call_text.h"

static const call_row rows[] = {
#include "answers.def"
};

static bool is_equal(const char *said, const char *wanted) {
  return strcmp(said, wanted) == 0;
}

static void answers_are_those_known(void **state) {
  (void)state;
  assert_int_equal(call_rows(rows, sizeof rows / sizeof *rows, is_equal), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_known)};
  return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
