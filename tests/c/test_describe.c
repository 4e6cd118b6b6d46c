/* Tests model/describe and model/print: a file as text and as JSON. */
#include "harness.h"

enum { TENSOR, INT, OPTIONAL, FIELDS, NAMED };

static void build_model(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type_n(b, RUSH_TYPE_OPTIONAL, 1, U32(INT));
  uint32_t fields[] = {TENSOR, INT, build_str(b, "logits"), build_str(b, "rounds")};
  rush_file_type named = {RUSH_TYPE_TUPLE, 2, build_add(b, RUSH_SEC_LISTS, 4, fields, 4),
                          build_str(b, "Answer"), 0};
  build_add(b, RUSH_SEC_TYPES, sizeof named, &named, 1);
  uint32_t two = build_int(b, 2), yes = build_bool(b, true),
           w = build_tensor(b, RUSH_FLOAT32, 2, SIZES(2, 3), NULL);
  ((rush_file_tensor *)build_at(b, RUSH_SEC_TENSORS, 0))->name = build_str(b, "fc.weight");
  build_method(b, "forward", FIELDS, 2, U32(TENSOR, INT));
  rush_file_hint hint = {RUSH_FLOAT32, 2, 0, 0, {-1, 3}};
  build_add(b, RUSH_SEC_HINTS, sizeof hint, &hint, 1);
  ((rush_file_port *)build_at(b, RUSH_SEC_PORTS, 0))->hint = 0;
  ((rush_file_port *)build_at(b, RUSH_SEC_PORTS, 1))->initial = two;
  uint32_t out = build_reg(b, TENSOR), i = build_reg(b, INT), in = build_reg(b, TENSOR);
  build_loop(b, 1, K(yes), 1, U32(0), U32(out), U32(i, in));
  uint32_t turned = build_call(b, "aten::t", TENSOR, 1, U32(in));
  build_end_loop(b, K(yes), 1, U32(turned));
  uint32_t same = build_call(b, "aten::view_as", TENSOR, 2, U32(out, K(w)));
  build_return(b, build_call(b, "prim::TupleConstruct", FIELDS, 2, U32(same, 1)));
  build_attribute(b, "cache \"k\"", INT, two);
  rush_file_meta meta = {build_str(b, "licence"), build_str(b, "a\\b\n\xc3\xa9")};
  build_add(b, RUSH_SEC_META, sizeof meta, &meta, 1);
}

static char *describe(rig *r, const rush_model *m, rush_describe_form form, size_t *size) {
  char *text;
  OK(rush_model_describe(r->ctx, m, form, &text, size));
  return text;
}

static void the_text_says_what_a_reader_asks(void **state) {
  (void)state;
  static const char *const parts[] = {"method forward",      "input0 : Tensor float32[?, 3]",
                                      "input1 : int",        " = 2",
                                      "Answer(Tensor, int)", "aten::t",
                                      "aten::view_as",       "cache \"k\" : int",
                                      "licence: a\\b",       "tensors: 1, "};
  rig rig_, *r = &rig_;
  builder b;
  size_t size;
  rig_open(r);
  build_model(&b);
  rig_load(r, &b);
  char *text = describe(r, r->model, RUSH_DESCRIBE_TEXT, &size);
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) assert_contains("text", text, parts[k]);
  rush_free(r->ctx, text, size);
  rig_close(r);
}

static void the_type_of_a_result_says_the_fields(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  char *text;
  size_t size;
  rig_open(r);
  build_model(&b);
  rig_load(r, &b);
  OK(rush_model_result_type(r->ctx, r->model, 0, &text, &size));
  assert_string_equal(text, "Answer(logits : Tensor, rounds : int)");
  rush_free(r->ctx, text, size);
  assert_int_equal(rush_model_result_type(r->ctx, r->model, 1, &text, &size),
                   RUSH_ERR_BAD_ARGUMENT);
  assert_null(text);
  OK(rush_model_input_type(r->ctx, r->model, 0, 0, &text, &size));
  assert_string_equal(text, "Tensor");
  rush_free(r->ctx, text, size);
  assert_int_equal(rush_model_input_type(r->ctx, r->model, 0, 99, &text, &size),
                   RUSH_ERR_BAD_ARGUMENT);
  assert_null(text);
  rig_close(r);
}

/* A minimal JSON parser that only checks the syntax. */
static const char *past(const char *at) {
  return at + strspn(at, " \n\t");
}

static const char *json(const char *at) {
  at = past(at);
  if (*at == '"') {
    for (at++; *at && *at != '"'; at++) {
      if ((unsigned char)*at < 0x20) return NULL;
      if (*at == '\\' && !strchr("\"\\/bfnrtu", *++at)) return NULL;
    }
    return *at ? at + 1 : NULL;
  }
  if (*at == '{' || *at == '[') {
    char close = *at == '{' ? '}' : ']';
    at = past(at + 1);
    if (*at == close) return at + 1;
    for (;;) {
      if (close == '}') {
        if (*past(at) != '"' || !(at = json(at)) || *(at = past(at)) != ':') return NULL;
        at++;
      }
      if (!(at = json(at))) return NULL;
      at = past(at);
      if (*at == close) return at + 1;
      if (*at++ != ',') return NULL;
    }
  }
  size_t n = strspn(at, "-+.0123456789eE");
  if (n) return at + n;
  static const char *const words[] = {"true", "false", "null"};
  for (int k = 0; k < 3; k++) {
    if (strncmp(at, words[k], strlen(words[k])) == 0) return at + strlen(words[k]);
  }
  return NULL;
}

static void the_json_is_json_and_says_shapes(void **state) {
  (void)state;
  /* clang-format off */
  static const char *const parts[] = {
      ("\"inputs\":[{\"name\":\"input0\",\"type\":\"Tensor\",\"dtype\":\"float32\","
       "\"shape\":[null,3]"),
      "\"shape\":null,\"optional\":true",
      "{\"name\":\"aten::t\",\"count\":1}",
      "\"missing\":[]",
      "{\"name\":\"fc.weight\",\"dtype\":\"float32\",\"shape\":[2,3],\"bytes\":24,\"used\":true}",
      "cache \\\"k\\\"",
      "\"licence\":\"a\\\\b\\n\xc3\xa9\"",
      "\"tests\":0"};
  /* clang-format on */
  rig rig_, *r = &rig_;
  builder b;
  size_t size;
  rig_open(r);
  build_model(&b);
  rig_load(r, &b);
  char *text = describe(r, r->model, RUSH_DESCRIBE_JSON, &size);
  const char *end = json(text);
  if (!end || *past(end)) fail_msg("no JSON: %s", text);
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) assert_contains("json", text, parts[k]);
  rush_free(r->ctx, text, size);
  text = describe(r, r->model, RUSH_DESCRIBE_GRAPH, &size);
  end = json(text);
  if (!end || *past(end)) fail_msg("no JSON: %s", text);
  assert_contains("graph", text, "aten::view_as");
  rush_free(r->ctx, text, size);
  rig_close(r);
}

static void pytorchs_texts_stand_below_the_names_of_their_methods(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  size_t size;
  rig_open(r);
  build_model(&b);
  rush_file_text texts[] = {
      {build_str(&b, ""), RUSH_TEXT_GRAPH, build_str(&b, "graph(%x):\n"), 0},
      {build_str(&b, ""), RUSH_TEXT_CODE, build_str(&b, "def forward(self):\n"), 0},
      {build_str(&b, "layer.0:step"), RUSH_TEXT_CODE, build_str(&b, "def step(self):\n"), 0},
      {build_str(&b, ""), RUSH_TEXT_TREE, build_str(&b, "Net()"), 0},
  };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    build_add(&b, RUSH_SEC_TEXTS, sizeof *texts, texts + k, 1);
  rig_load(r, &b);
  char *text = describe(r, r->model, RUSH_DESCRIBE_TORCH_CODE, &size);
  assert_string_equal(
      text, "Net()\n\n# forward\ndef forward(self):\n\n# layer.0.step\ndef step(self):\n");
  rush_free(r->ctx, text, size);
  text = describe(r, r->model, RUSH_DESCRIBE_TORCH_GRAPH, &size);
  assert_string_equal(text, "Net()\n\n# forward\ngraph(%x):\n");
  rush_free(r->ctx, text, size);
  rig_close(r);
}

static void a_file_without_pytorchs_texts_says_so(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  size_t size;
  rig_open(r);
  build_model(&b);
  rig_load(r, &b);
  char *text = describe(r, r->model, RUSH_DESCRIBE_TORCH_CODE, &size);
  assert_contains("code", text, "exported without source lines");
  rush_free(r->ctx, text, size);
  rig_close(r);
}

static void a_head_alone_is_described_with_what_is_missing(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  size_t size, room, n;
  rush_loader *loader;
  void *at;
  rig_open(r);
  build_model(b);
  ((rush_file_op *)build_at(b, RUSH_SEC_OPS, 0))->name = build_str(b, "my_ops::turn");
  ((rush_file_op *)build_at(b, RUSH_SEC_OPS, 0))->schema =
      build_str(b, "my_ops::turn(Tensor x) -> Tensor");
  uint8_t *file = build_file(b, &size);
  build_free(b);
  OK(rush_loader_create(r->ctx, &loader));
  for (size_t got = 0; !rush_loader_head(loader); got += room) {
    OK(rush_loader_window(loader, &at, &room));
    memcpy(at, file + got, room);
    OK(rush_loader_advance(loader, room));
  }
  char *text = describe(r, rush_loader_head(loader), RUSH_DESCRIBE_JSON, &n);
  assert_contains("json", text,
                  "\"missing\":[{\"name\":\"my_ops::turn\",\"count\":1,\"schema\":\"my_ops::turn("
                  "Tensor x) -> Tensor\"");
  rush_free(r->ctx, text, n);
  text = describe(r, rush_loader_head(loader), RUSH_DESCRIBE_TEXT, &n);
  assert_contains("text", text, "my_ops::turn   (this runtime lacks it)");
  rush_free(r->ctx, text, n);
  assert_int_equal(rush_loader_window(loader, &at, &room), RUSH_ERR_UNSUPPORTED);
  assert_contains("window", rush_ctx_error(r->ctx), "my_ops::turn");
  rush_loader_destroy(loader);
  free(file);
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_text_says_what_a_reader_asks),
      cmocka_unit_test(the_type_of_a_result_says_the_fields),
      cmocka_unit_test(the_json_is_json_and_says_shapes),
      cmocka_unit_test(pytorchs_texts_stand_below_the_names_of_their_methods),
      cmocka_unit_test(a_file_without_pytorchs_texts_says_so),
      cmocka_unit_test(a_head_alone_is_described_with_what_is_missing),
  };
  return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
