/* Answers of operators in dtypes and sizes that rarely meet, known by hand: each row of answers.def
 * calls one (call_text.h). What PyTorch answers in the usual ones is in tests/conformance. */
#include "call_text.h"

static const struct {
  const char *op, *args, *answer;
} rows[] = {
#include "answers.def"
};

/* All rows, so that one run names each that differs. */
static void answers_are_those_known(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    rig_open(r);
    const char *said = call_text(r, rows[k].op, rows[k].args);
    if (strcmp(said, rows[k].answer) != 0) {
      print_error("%s %s: expected %s, got %s\n", rows[k].op, rows[k].args, rows[k].answer, said);
      wrong++;
    }
    rig_close(r);
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_known)};
  return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
