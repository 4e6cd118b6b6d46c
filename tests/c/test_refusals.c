/* Refusals of operators, in PyTorch's words: each row of refusals.def is a call with invalid
 * arguments (call_text.h) and a part of its message. */
#include "call_text.h"

static const call_row rows[] = {
#include "refusals.def"
};

static bool is_refusal(const char *said, const char *wanted) {
  return strstr(said, ": forward, instruction ") && strstr(said, wanted);
}

static void invalid_arguments_are_refused(void **state) {
  (void)state;
  assert_int_equal(call_rows(rows, sizeof rows / sizeof *rows, is_refusal), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(invalid_arguments_are_refused)};
  return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
