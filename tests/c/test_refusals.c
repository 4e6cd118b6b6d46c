/* What operators refuse, by PyTorch's words: each row of refusals.def calls one with arguments that
 * do not fit (call_text.h), and a part of the message is compared. */
#include "call_text.h"

static const struct {
  const char *op, *args, *says;
} rows[] = {
#include "refusals.def"
};

/* All rows, so that one run names each that differs. */
static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    rig_open(r);
    const char *said = call_text(r, rows[k].op, rows[k].args);
    if (!strstr(said, ": forward, instruction ") || !strstr(said, rows[k].says)) {
      print_error("%s %s: '%s' is no refusal with '%s'\n", rows[k].op, rows[k].args, said,
                  rows[k].says);
      wrong++;
    }
    rig_close(r);
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_does_not_fit_is_refused)};
  return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
