/* Tests base: messages, accounting, checked sizes, growing texts. */
#include "harness.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/decimal.h"
#include "base/mt19937.h"

static void a_message_says_the_last_failure_with_its_front(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  assert_string_equal(rush_ctx_error(r->ctx), "");
  assert_int_equal(rush_fail(r->ctx, RUSH_ERR_BAD_FILE, "dim %d", 4), RUSH_ERR_BAD_FILE);
  assert_int_equal(rush_fail_prefix(r->ctx, RUSH_ERR_BAD_FILE, "node %d: ", 12), RUSH_ERR_BAD_FILE);
  assert_string_equal(rush_ctx_error(r->ctx), "node 12: dim 4");
  rig_close(r);
}

static void a_message_too_long_is_cut_and_ends(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  static char wide[RUSH_MESSAGE_BYTES * 2];
  memset(wide, 'x', sizeof wide - 1);
  rush_fail(r->ctx, RUSH_ERR_BAD_FILE, "%s", wide);
  assert_int_equal(strlen(rush_ctx_error(r->ctx)), RUSH_MESSAGE_BYTES - 1);
  rush_fail_prefix(r->ctx, RUSH_ERR_BAD_FILE, "%s", wide); /* the prefix alone is too long */
  assert_int_equal(strlen(rush_ctx_error(r->ctx)), RUSH_MESSAGE_BYTES - 1);
  rush_fail_prefix(r->ctx, RUSH_ERR_BAD_FILE, "front: ");
  assert_memory_equal(rush_ctx_error(r->ctx), "front: xxx", 10);
  assert_int_equal(strlen(rush_ctx_error(r->ctx)), RUSH_MESSAGE_BYTES - 1);
  rig_close(r);
}

static void a_message_is_utf8(void **state) {
  (void)state;
  static const struct {
    const char *said, *shown;
  } rows[] = {
      {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"a\xE2\x82", "a??"},                /* truncated */
      {"\xC3\xC3\xA9", "?\xC3\xA9"},       /* before a whole one */
      {"\xC0\x80 \xED\xA0\x80", "?? ???"}, /* overlong, a surrogate */
      {"\xF4\x90\x80\x80\xFF", "?????"},
  };
  rig rig_, *r = &rig_;
  rig_open(r);
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rush_fail(r->ctx, RUSH_ERR_RAISED, "%s", rows[k].said);
    assert_string_equal(rush_ctx_error(r->ctx), rows[k].shown);
  }
  char front[512]; /* 511 bytes of it cut a character in half */
  memset(front, 'x', sizeof front);
  memcpy(front + 510, "\xC3", 2);
  rush_fail(r->ctx, RUSH_ERR_RAISED, "!");
  rush_fail_prefix(r->ctx, RUSH_ERR_RAISED, "%s\xA9", front);
  assert_string_equal(rush_ctx_error(r->ctx) + 509, "x?!");
  char name[RUSH_NAME_BYTES + 2] = {0};
  memset(name, 'x', RUSH_NAME_BYTES - 2);
  strcat(name, "\xC3\xA9");
  rush_set_location(r->ctx, &(rush_location){name, 1, name, name, 1});
  rush_location at;
  assert_true(rush_ctx_location(r->ctx, &at));
  assert_string_equal(at.method + RUSH_NAME_BYTES - 3, "x?");
  assert_string_equal(at.op, at.method);
  assert_string_equal(at.file, at.method);
  rig_close(r);
}

static void every_status_has_a_name(void **state) {
  (void)state;
  static const char *const names[] = {
      "ok",        "out-of-memory", "bad-file", "unsupported", "bad-argument",
      "bad-state", "model-raised",  "mismatch", "pending",     "interrupted"};
  for (int k = 0; k < (int)(sizeof names / sizeof *names); k++)
    assert_string_equal(rush_status_name((rush_status)k), names[k]);
  assert_string_equal(rush_status_name((rush_status)99), "unknown");
}

static void memory_is_counted_with_its_peak(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  void *a, *b;
  size_t live, peak;
  rig_open(r);
  OK(rush_alloc(r->ctx, 100, &a));
  OK(rush_calloc(r->ctx, 10, 5, &b));
  for (int k = 0; k < 50; k++) assert_int_equal(((char *)b)[k], 0);
  OK(rush_realloc(r->ctx, &a, 100, 300));
  rush_release(r->ctx, b, 50);
  OK(rush_realloc(r->ctx, &a, 300, 20));
  rush_ctx_memory(r->ctx, &live, &peak);
  assert_int_equal(live, 20);
  assert_int_equal(peak, 350);
  rush_free(r->ctx, a, 20);
  rig_close(r);
}

static void nothing_and_too_much_are_no_special_cases(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  void *p = &rig_;
  rig_open(r);
  OK(rush_alloc(r->ctx, 0, &p));
  assert_null(p);
  rush_release(r->ctx, NULL, 0);
  p = &rig_;
  assert_int_equal(rush_calloc(r->ctx, SIZE_MAX / 2, 3, &p), RUSH_ERR_NO_MEMORY);
  assert_null(p);
  r->counter.fail_at = r->counter.calls + 1;
  assert_int_equal(rush_alloc(r->ctx, 77, &p), RUSH_ERR_NO_MEMORY);
  assert_contains("alloc", rush_ctx_error(r->ctx), "tried to allocate 77 bytes");
  r->counter.fail_at = 0;
  OK(rush_alloc(r->ctx, 10, &p));
  void *before = p;
  r->counter.fail_at = r->counter.calls + 1;
  assert_int_equal(rush_realloc(r->ctx, &p, 10, 20), RUSH_ERR_NO_MEMORY);
  assert_ptr_equal(p, before);
  r->counter.fail_at = 0;
  rush_free(r->ctx, p, 10);
  rig_close(r);
}

static void a_context_that_cannot_be_made_is_null(void **state) {
  (void)state;
  counter c = {.fail_at = 1};
  rush_ctx *ctx = (rush_ctx *)&c;
  assert_int_equal(rush_ctx_create(counter_alloc, &c, &ctx), RUSH_ERR_NO_MEMORY);
  assert_null(ctx);
  rush_ctx_destroy(NULL);
  assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK); /* malloc */
  void *p;
  assert_int_equal(rush_alloc(ctx, 1000, &p), RUSH_OK);
  rush_free(ctx, p, 1000);
  rush_ctx_destroy(ctx);
}

static void products_and_sums_say_when_they_overflow(void **state) {
  (void)state;
  size_t n;
  int64_t i;
  assert_true(rush_mul(SIZE_MAX / 3, 3, &n));
  assert_false(rush_mul(SIZE_MAX / 3 + 1, 3, &n));
  assert_true(rush_add(SIZE_MAX - 1, 1, &n));
  assert_false(rush_add(SIZE_MAX, 1, &n));
  assert_true(rush_mul64(INT64_MAX / 2, 2, &i));
  assert_false(rush_mul64(INT64_MAX / 2 + 1, 2, &i));
  assert_true(rush_add64(INT64_MIN, INT64_MAX, &i));
  assert_false(rush_add64(INT64_MAX, 1, &i));
}

/* The result has the same bits as strtod's. */
static void a_decimal_is_the_nearest_double(void **state) {
  (void)state;
  static const char *const rows[] = {"0",
                                     "-0.0",
                                     ".5",
                                     "1.",
                                     "1e-05",
                                     "-1.5e+3",
                                     "0.1,",
                                     "1.0)",
                                     "1e",
                                     "1e+",
                                     "9007199254740993",
                                     "9007199254740992.99999999999999999999999999999999999999",
                                     "0.33333333333333331",
                                     "1.7976931348623157e308",
                                     "1.7976931348623159e308",
                                     "1e400",
                                     "1e-400",
                                     "1e-9999999999",
                                     "4.9406564584124654e-324",
                                     "2.4703282292062327e-324",
                                     "2.4703282292062328e-324",
                                     "2.2250738585072011e-308",
                                     "00000.0000e5",
                                     "inf",
                                     "-inf"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *end;
    double want = strtod(rows[i], &end), got = 1;
    assert_ptr_equal(rush_parse_decimal(rows[i], &got), end);
    assert_memory_equal(&got, &want, sizeof want);
  }
  uint64_t bits = 88172645463325252;
  for (int i = 0; i < 3000; i++) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    uint64_t finite = bits & (i % 3 ? 0xffefffffffffffff : 0x800fffffffffffff); /* subnormal */
    char text[1000], *end;
    double want, got = 1;
    memcpy(&want, &finite, sizeof want);
    snprintf(text, sizeof text, "%.*e", (int)(bits % 900), want);
    want = strtod(text, &end);
    assert_ptr_equal(rush_parse_decimal(text, &got), end);
    assert_memory_equal(&got, &want, sizeof want);
  }
  double nothing = 1;
  static const char *const none[] = {"", "-", ".", "e5", "x1", "+.e1"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    assert_ptr_equal(rush_parse_decimal(none[i], &nothing), none[i]);
  assert_true(nothing == 1);
  assert_string_equal(rush_parse_decimal("nan)", &nothing), ")");
  assert_true(nothing != nothing);
}

/* strtod also reads hexadecimal numbers, spaces and words. */
static void a_real_is_what_strtod_reads(void **state) {
  (void)state;
  static const char *const rows[] = {" \t\n\v\f\r1.5e3",
                                     "+7",
                                     "-0x1p3",
                                     "0X1.8P+1",
                                     "0x.8",
                                     "0x1p",
                                     "0x",
                                     "0xg",
                                     "0x.p1",
                                     "0x1.g",
                                     "0x1fffffffffffff8p0",
                                     "0x1fffffffffffff4p0",
                                     "0x1fffffffffffff400000000000000001p0",
                                     "0x1fffffffffffffcp-1100",
                                     "0x0.00000000000000000000001p-980",
                                     "0x1p-1075",
                                     "0x1.000001p-1075",
                                     "0x1p-1074",
                                     "0x1.fffffffffffff8p1023",
                                     "0x1.fffffffffffff7ffp1023",
                                     "0x1p1024",
                                     "0x0p99999",
                                     "0x1p99999999999",
                                     "0x123456789abcdef0123456789p-20",
                                     "INF",
                                     "-iNfiNity",
                                     "infinit",
                                     "in",
                                     "nAn",
                                     "nan(12_a)",
                                     "nan(",
                                     "nan(-)",
                                     "-",
                                     "+-1",
                                     "",
                                     " ",
                                     ".",
                                     "e1",
                                     "\x10x1",
                                     "1e5x",
                                     "1e",
                                     "-.5e-1"};
  uint64_t bits = 88172645463325252;
  for (size_t i = 0; i < sizeof rows / sizeof *rows + 3000; i++) {
    char text[64], *end;
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    if (i < sizeof rows / sizeof *rows)
      snprintf(text, sizeof text, "%s", rows[i]);
    else
      snprintf(text, sizeof text, "0x%" PRIx64 ".%" PRIx64 "p%d", bits >> (bits % 64), bits * 3,
               (int)(bits % 2400) - 1250);
    double want = strtod(text, &end), got = 0;
    assert_ptr_equal(rush_parse_real(text, &got), end);
    if (want == want)
      assert_memory_equal(&got, &want, sizeof want);
    else
      assert_true(got != got);
  }
}

static void a_text_grows_and_json_is_escaped(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  char *out;
  size_t size;
  rig_open(r);
  rush_text t = {.ctx = r->ctx};
  for (int k = 0; k < 300; k++) rush_text_add(&t, "%d,", k);
  rush_text_json(&t, "a\"b\\c\n\x01\xc3\xa9", 9);
  OK(rush_text_take(&t, &out, &size));
  assert_memory_equal(out, "0,1,2,3,", 8);
  assert_contains("json", out, "299,\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\"");
  rush_free(r->ctx, out, size);
  rush_text empty = {.ctx = r->ctx};
  OK(rush_text_take(&empty, &out, &size));
  assert_string_equal(out, "");
  rush_free(r->ctx, out, size);
  rig_close(r);
}

static void a_text_has_an_end(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  char *out;
  size_t size;
  rush_text t = {.ctx = r->ctx};
  rush_text_bytes(&t, "not read", RUSH_MAX_TEXT);
  assert_int_equal(rush_text_take(&t, &out, &size), RUSH_ERR_NO_MEMORY);
  assert_contains("end", rush_ctx_error(r->ctx), "out of memory");
  rig_close(r);
}

static void a_text_without_memory_fails_at_the_end_and_leaks_nothing(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  for (size_t n = 1; n <= 3; n++) {
    char *out = (char *)r;
    size_t size;
    rig_open(r);
    rush_text t = {.ctx = r->ctx};
    r->counter.fail_at = r->counter.calls + n;
    for (int k = 0; k < 300; k++) rush_text_add(&t, "%d,", k);
    assert_int_equal(rush_text_take(&t, &out, &size), RUSH_ERR_NO_MEMORY);
    assert_null(out);
    rig_close(r);
  }
}

static bool all_seven(void *user, void *to, size_t size) {
  memset(to, 7, size);
  *(size_t *)user += size;
  return true;
}

static void fresh_seeds_come_from_where_the_host_says(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rush_random fresh, seeded;
  size_t asked = 0;
  rig_open(r);
  rush_ctx_set_entropy(r->ctx, all_seven, &asked);
  rush_random_seed_freshly(r->ctx, &fresh);
  rush_random_seed(&seeded, 0x0707070707070707u);
  assert_int_equal(asked, 8);
  assert_int_equal(rush_random_64(&fresh), rush_random_64(&seeded));
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_message_says_the_last_failure_with_its_front),
      cmocka_unit_test(a_message_too_long_is_cut_and_ends),
      cmocka_unit_test(a_message_is_utf8),
      cmocka_unit_test(every_status_has_a_name),
      cmocka_unit_test(memory_is_counted_with_its_peak),
      cmocka_unit_test(nothing_and_too_much_are_no_special_cases),
      cmocka_unit_test(a_context_that_cannot_be_made_is_null),
      cmocka_unit_test(products_and_sums_say_when_they_overflow),
      cmocka_unit_test(a_decimal_is_the_nearest_double),
      cmocka_unit_test(a_real_is_what_strtod_reads),
      cmocka_unit_test(a_text_grows_and_json_is_escaped),
      cmocka_unit_test(a_text_has_an_end),
      cmocka_unit_test(a_text_without_memory_fails_at_the_end_and_leaks_nothing),
      cmocka_unit_test(fresh_seeds_come_from_where_the_host_says),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
