/* Tests model: a valid file, and files that break each of the format's rules. */
#include "harness.h"
#include "model/model.h"

enum { X, N, FLAG, BRANCH, THEN, OTHER, LOOPED, INDEX, CARRIED, TURNED, SHAPED };
enum {
  T_TENSOR,
  T_INT,
  T_BOOL,
  T_STR,
  T_FLOAT,
  T_LIST,
  T_OPTIONAL,
  T_DICT,
  T_NAMED,
  T_ARGS,
  T_TENSORS,
  T_ENUM,
  T_OBJECT
};
enum {
  C_W,
  C_VIEW,
  C_INT,
  C_FLOAT,
  C_TRUE,
  C_STR,
  C_NONE,
  C_LIST,
  C_DICT,
  C_TUPLE,
  C_COMPLEX,
  C_DEVICE,
  C_RANDOM,
  C_X,
  C_THREE,
  C_ARGS,
  C_ANSWER,
  C_RED,
  C_ENUM,
  C_OBJECT
};
enum { I_IF, I_T, I_ELSE, I_ALIAS, I_END_IF, I_LOOP, I_BODY, I_END_LOOP, I_VIEW_AS, I_RETURN };

static void add_types(builder *b) {
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type(b, RUSH_TYPE_BOOL);
  build_type(b, RUSH_TYPE_STR);
  build_type(b, RUSH_TYPE_FLOAT);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(T_INT));
  build_type_n(b, RUSH_TYPE_OPTIONAL, 1, U32(T_TENSOR));
  build_type_n(b, RUSH_TYPE_DICT, 2, U32(T_STR, T_INT));
  uint32_t field = build_str(b, "field");
  rush_file_type named = {RUSH_TYPE_TUPLE, 1, build_add(b, RUSH_SEC_LISTS, 4, U32(T_INT, field), 2),
                          build_str(b, "Point"), 0};
  build_add(b, RUSH_SEC_TYPES, sizeof named, &named, 1);
  build_type_n(b, RUSH_TYPE_TUPLE, 3, U32(T_TENSOR, T_INT, T_BOOL));
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(T_TENSOR));
  rush_file_type color = {RUSH_TYPE_ENUM, 0, 0, build_str(b, "Color"), 0};
  build_add(b, RUSH_SEC_TYPES, sizeof color, &color, 1);
  rush_file_type pair = {RUSH_TYPE_OBJECT, 2, build_add(b, RUSH_SEC_LISTS, 4, U32(field, field), 2),
                         build_str(b, "Pair"), 0};
  build_add(b, RUSH_SEC_TYPES, sizeof pair, &pair, 1);
}

static void add_constants(builder *b) {
  static const float w[] = {1, 2, 3, 4}, x[] = {5, 6, 7, 8}, turned[] = {5, 6, 7, 8};
  uint32_t text = build_str(b, "h\xc3\xa9");
  build_tensor(b, RUSH_FLOAT32, 2, SIZES(2, 2), w);
  build_const(b, RUSH_CONST_TENSOR, build_view(b, 0, RUSH_FLOAT32, 1, SIZES(2), SIZES(2), 1), 0, 0);
  build_int(b, -7);
  build_float(b, 0.5);
  build_bool(b, true);
  build_const(b, RUSH_CONST_STR, text, 0, 0);
  build_none(b);
  build_items(b, RUSH_CONST_LIST, T_LIST, 2, U32(C_INT, C_INT));
  build_items(b, RUSH_CONST_DICT, T_DICT, 2, U32(C_STR, C_INT));
  build_items(b, RUSH_CONST_TUPLE, T_NAMED, 1, U32(C_INT));
  build_const(b, RUSH_CONST_COMPLEX, 0, 0, 0);
  build_const(b, RUSH_CONST_DEVICE, build_str(b, "cpu"), 0, 0);
  build_const(b, RUSH_CONST_RANDOM, build_view(b, RUSH_NONE, RUSH_FLOAT32, 2, SIZES(3, 4), NULL, 0),
              42, 0x3f80000000000000u);
  build_tensor(b, RUSH_FLOAT32, 2, SIZES(2, 2), x);
  build_int(b, 3);
  build_items(b, RUSH_CONST_TUPLE, T_ARGS, 3, U32(C_X, C_THREE, C_TRUE));
  build_tensor(b, RUSH_FLOAT32, 2, SIZES(2, 2), turned);
  build_const(b, RUSH_CONST_STR, build_str(b, "Color.RED"), 0, 0);
  build_items(b, RUSH_CONST_ENUM, T_ENUM, 2, U32(C_RED, C_THREE));
  build_items(b, RUSH_CONST_OBJECT, T_OBJECT, 2, U32(C_ENUM, C_X));
}

/* forward(x, n, flag): y = x.t() if flag else x; for _ in range(n): y = y.t(); return
 * y.view_as(w) */
static void add_method(builder *b) {
  build_method(b, "forward", T_TENSOR, 3, U32(T_TENSOR, T_INT, T_BOOL));
  static const uint32_t types[] = {T_TENSOR, T_TENSOR, T_TENSOR, T_TENSOR,
                                   T_INT,    T_TENSOR, T_TENSOR, T_TENSOR};
  for (int k = 0; k < 8; k++) build_reg(b, types[k]);
  build_if(b, FLAG, 1, U32(BRANCH));
  build_op(b, "aten::t", 1, U32(X), 1, U32(THEN));
  build_else(b, 1, U32(THEN));
  build_op(b, "aten::alias", 1, U32(X), 1, U32(OTHER));
  build_end_if(b, 1, U32(OTHER));
  build_loop(b, N, K(C_TRUE), 1, U32(BRANCH), U32(LOOPED), U32(INDEX, CARRIED));
  build_op(b, "aten::t", 1, U32(CARRIED), 1, U32(TURNED));
  build_end_loop(b, K(C_TRUE), 1, U32(TURNED));
  build_op(b, "aten::view_as", 2, U32(LOOPED, K(C_W)), 1, U32(SHAPED));
  build_return(b, SHAPED);
}

static void add_rest(builder *b) {
  uint32_t name = build_str(b, "model.py");
  build_attribute(b, "count", T_INT, C_INT);
  rush_file_hint hint = {RUSH_FLOAT32, 2, 0, 0, {-1, 2}};
  build_add(b, RUSH_SEC_HINTS, sizeof hint, &hint, 1);
  ((rush_file_port *)build_at(b, RUSH_SEC_PORTS, 0))->hint = 0;
  ((rush_file_port *)build_at(b, RUSH_SEC_PORTS, 2))->initial = C_TRUE;
  rush_file_source source = {name, 7, RUSH_NONE, RUSH_NONE, 0};
  build_add(b, RUSH_SEC_SOURCES, sizeof source, &source, 1);
  for (uint32_t i = 0; i <= I_RETURN; i++)
    ((rush_file_instr *)build_at(b, RUSH_SEC_INSTRS, i))->source = i % 2 ? 0 : RUSH_NONE;
  build_test(b, 0, C_ARGS, C_ANSWER, 0, 0);
  rush_file_meta meta = {name, name};
  build_add(b, RUSH_SEC_META, sizeof meta, &meta, 1);
  rush_file_text text = {name, RUSH_TEXT_CODE, name, 0};
  build_add(b, RUSH_SEC_TEXTS, sizeof text, &text, 1);
  rush_file_traced traced = {0, C_ARGS, 1};
  build_add(b, RUSH_SEC_TRACED, sizeof traced, &traced, 1);
  const rush_file_constraint constraints[] = {{0, 0, name, 0, 0, INT64_MAX},
                                              {0, 1, RUSH_NONE, 0, 2, 2}};
  build_add(b, RUSH_SEC_CONSTRAINTS, sizeof *constraints, constraints, 2);
  rush_file_measure measure = {0, RUSH_NONE, 0, 0};
  build_add(b, RUSH_SEC_MEASURES, sizeof measure, &measure, 1);
  rush_file_exact exact = {0, C_ARGS};
  build_add(b, RUSH_SEC_EXACT, sizeof exact, &exact, 1);
}

static void build_program(builder *b) {
  *b = (builder){0};
  add_types(b);
  add_constants(b);
  add_method(b);
  add_rest(b);
}

static void add_two_assets(builder *b) {
  build_asset(b, "labels.txt", "cat\ndog\n", 8);
  build_asset(b, "tokenizer.json", "{}", 2);
}

static void build_good(builder *b) {
  build_program(b);
  add_two_assets(b);
}

static uint8_t *good_file(size_t *size) {
  builder b;
  build_good(&b);
  uint8_t *file = build_file(&b, size);
  build_free(&b);
  return file;
}

/* ---- The valid file -------------------------------------------------------------------------- */

static void a_good_file_loads_and_runs(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_verify_report report;
  rig_open(r);
  build_good(&b);
  rig_start(r, &b);
  assert_int_equal(rush_model_method_count(r->model), 1);
  assert_int_equal(rush_model_find_method(r->model, "forward"), 0);
  assert_int_equal(rush_model_find_method(r->model, "backward"), -1);
  assert_string_equal(rush_model_method_name(r->model, 0), "forward");
  assert_null(rush_model_method_name(r->model, 1));
  assert_int_equal(rush_model_input_count(r->model, 0), 3);
  assert_string_equal(rush_model_input_name(r->model, 0, 1), "input1");
  assert_null(rush_model_input_name(r->model, 0, 3));
  assert_int_equal(rush_model_output_count(r->model, 0), 1);
  assert_string_equal(rush_model_output_name(r->model, 0, 0), "output0");
  assert_int_equal(rush_model_weight_count(r->model), 5);
  rush_weight_info info;
  OK(rush_model_weight(r->ctx, r->model, 1, &info));
  assert_int_equal(info.strides[0], 2);
  assert_int_equal(rush_model_weight(r->ctx, r->model, 2, &info), RUSH_ERR_BAD_ARGUMENT);
  assert_int_equal(rush_model_weight(r->ctx, r->model, 9, &info), RUSH_ERR_BAD_ARGUMENT);
  OK(rush_session_verify(r->session, 0, &report));
  assert_int_equal(report.compared, 4);
  rig_close(r);
}

/* Loads the file byte by byte, and in pieces of other sizes. */
static void a_stream_of_any_pieces_gives_the_same_model(void **state) {
  (void)state;
  size_t size;
  uint8_t *file = good_file(&size);
  for (size_t piece = 1; piece < 200; piece = piece * 3 + 1) {
    rig rig_, *r = &rig_;
    rush_loader *loader;
    rush_status st;
    void *at;
    size_t room, got = 0;
    rig_open(r);
    OK(rush_loader_create(r->ctx, &loader));
    assert_null(rush_loader_head(loader));
    assert_int_equal(rush_loader_total(loader), 0);
    while ((st = rush_loader_window(loader, &at, &room)) == RUSH_OK && room > 0) {
      size_t n = room < piece ? room : piece;
      assert_true(n <= size - got);
      memcpy(at, file + got, n);
      got += n;
      OK(rush_loader_advance(loader, n));
    }
    assert_int_equal(st, RUSH_OK);
    assert_int_equal(got, size);
    assert_int_equal(rush_loader_total(loader), size);
    assert_non_null(rush_loader_head(loader));
    OK(rush_loader_finish(loader, &r->model));
    rush_model *again = r->model;
    assert_int_equal(rush_loader_finish(loader, &again), RUSH_ERR_BAD_STATE);
    assert_null(again);
    rush_loader_destroy(loader);
    rush_verify_report report;
    OK(rush_session_create(r->ctx, r->model, &r->session));
    OK(rush_session_verify(r->session, 0, &report));
    rig_close(r);
  }
  free(file);
}

static void too_many_bytes_are_refused(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  size_t size;
  uint8_t *file = good_file(&size);
  rig_open(r);
  file = realloc(file, size + 5);
  assert_non_null(file);
  memset(file + size, 0, 5);
  assert_int_equal(rush_model_load(r->ctx, file, size + 5, &r->model), RUSH_ERR_BAD_FILE);
  assert_null(r->model);
  assert_contains("5 bytes more", rush_ctx_error(r->ctx), "5 bytes follow the end of the file");
  rush_loader *loader;
  void *at;
  size_t room;
  OK(rush_loader_create(r->ctx, &loader));
  OK(rush_loader_window(loader, &at, &room));
  assert_int_equal(rush_loader_advance(loader, room + 1), RUSH_ERR_BAD_ARGUMENT);
  rush_loader_destroy(loader);
  free(file);
  rig_close(r);
}

/* ---- Cut off --------------------------------------------------------------------------------- */

static void check_cut(const uint8_t *file, size_t size) {
  rig rig_, *r = &rig_;
  uint8_t *copy = malloc(size + 1); /* with the exact length, so that ASan knows the end */
  assert_non_null(copy);
  if (size) memcpy(copy, file, size);
  rig_open(r);
  rush_status st = rush_model_load(r->ctx, copy, size, &r->model);
  if (st != RUSH_ERR_BAD_FILE) fail_msg("cut at %zu: %s", size, rush_status_name(st));
  assert_contains("cut", rush_ctx_error(r->ctx), "the file is cut off: ");
  free(copy);
  rig_close(r);
}

static void a_small_file_cut_anywhere_says_so(void **state) {
  (void)state;
  size_t size;
  uint8_t *file = good_file(&size);
  assert_true(size < 65536);
  for (size_t n = 0; n < size; n++) check_cut(file, n);
  free(file);
}

static void a_large_file_cut_at_each_section_says_so(void **state) {
  (void)state;
  builder b;
  size_t size;
  build_program(&b);
  static char ballast[300000];
  for (int k = 0; k < 9; k++) build_storage(&b, ballast, sizeof ballast - (size_t)k * 1000);
  add_two_assets(&b);
  uint8_t *file = build_file(&b, &size);
  build_free(&b);
  rush_file_header h;
  memcpy(&h, file, sizeof h);
  for (uint32_t k = 0; k < h.n_sections; k++) {
    rush_file_section s;
    memcpy(&s, file + sizeof h + k * sizeof s, sizeof s);
    check_cut(file, (size_t)s.offset);
    check_cut(file, (size_t)(s.offset + s.bytes));
    for (uint32_t i = 0; s.id == RUSH_SEC_STORAGES && i < s.count; i++) {
      rush_file_storage t;
      memcpy(&t, file + s.offset + i * sizeof t, sizeof t);
      size_t end = (size_t)(h.head_bytes + t.offset + t.bytes);
      check_cut(file, end - 1);
      if (end < size) check_cut(file, end);
    }
  }
  free(file);
}

/* ---- The header ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct {
  const char *name;
  size_t offset, width;
  uint64_t value;
  rush_status want;
  const char *says;
} headers[] = {
    {"an HTML page", 0, 1, '<', RUSH_ERR_BAD_FILE, "this is an HTML page, not a .rush file"},
    {"a zip", 0, 4, 0x04034b50, RUSH_ERR_BAD_FILE, "this is a PyTorch file, not"},
    {"a pickle", 0, 2, 0x0280, RUSH_ERR_BAD_FILE, "this is a PyTorch file, not"},
    {"an ONNX model", 0, 2, 0x0708, RUSH_ERR_BAD_FILE, "this is an ONNX model, not"},
    {"other magic", 1, 1, 'P', RUSH_ERR_BAD_FILE, "byte 0 to 7 are 89 50 55 53 48 0d 0a 1a"},
    {"line ends changed", 5, 1, 0x0a, RUSH_ERR_BAD_FILE, "not a .rush file"},
    {"version 0", 8, 4, 0, RUSH_ERR_UNSUPPORTED, "format version 0, this runtime reads version 1"},
    {"version 2", 8, 4, 2, RUSH_ERR_UNSUPPORTED, "format version 2, this runtime reads version 1"},
    {"no sections", 12, 4, 0, RUSH_ERR_BAD_FILE, "1 to 64 sections, got 0"},
    {"65 sections", 12, 4, 65, RUSH_ERR_BAD_FILE, "a file must have 1 to 64 sections, got 65"},
    {"more sections than there are", 12, 4, 60, RUSH_ERR_BAD_FILE, "section table"},
    {"an unknown feature", 16, 8, 4, RUSH_ERR_UNSUPPORTED, "needs features 0x4"},
    {"no head", 24, 8, 0, RUSH_ERR_BAD_FILE, "to 67108864, got 0"},
    {"a head not aligned", 24, 8, 1000, RUSH_ERR_BAD_FILE,
         "head_bytes must be a multiple of 64 from"},
    {"a head too large", 24, 8, (64u << 20) + 64, RUSH_ERR_BAD_FILE, "got 67108928"},
    {"a head of 2^63", 24, 8, (uint64_t)1 << 63, RUSH_ERR_BAD_FILE,
         "got 9223372036854775808"},
    {"weights not aligned", 32, 8, 65, RUSH_ERR_BAD_FILE,
         "weights_bytes must be a multiple of 64 and at most 2^48, got 65"},
    {"weights too large", 32, 8, (uint64_t)1 << 60, RUSH_ERR_BAD_FILE, "at most 2^48"},
    {"another file size", 40, 8, 64, RUSH_ERR_BAD_FILE, "file_bytes must be"},
    {"reserved, first", 48, 8, 1, RUSH_ERR_BAD_FILE, "reserved bytes 48 to 63"},
    {"reserved, last", 63, 1, 1, RUSH_ERR_BAD_FILE, "reserved bytes 48 to 63"},
    /* The section table. Record k is at 64 + 24 k. */
    {"ids fall", 64 + 24, 4, 1, RUSH_ERR_BAD_FILE, "ids must increase, got 0x1 after 0x1"},
    {"an unknown required section", 64, 4, 0, RUSH_ERR_UNSUPPORTED,
         "the file needs section 0x0, which this runtime"},
    {"an offset of 0", 64 + 8, 8, 0, RUSH_ERR_BAD_FILE, "section 0x1 at byte 0"},
    {"an offset not aligned", 64 + 24 + 8, 8, 4001, RUSH_ERR_BAD_FILE, "section 0x2 at byte 4001"},
    {"an offset far away", 64 + 24 + 8, 8, (uint64_t)-8, RUSH_ERR_BAD_FILE,
         "section 0x2 at byte 18446744073709551608"},
    {"a section too long", 64 + 24 + 16, 8, (uint64_t)-8, RUSH_ERR_BAD_FILE, "section 0x2 at byte"},
    {"a count that is a lie", 64 + 24 + 4, 4, 0xFFFFFFFF, RUSH_ERR_BAD_FILE,
         "section 'strings': 4294967295 records of 8 bytes"},
};
/* clang-format on */

static void each_header_field_has_its_message(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    rig rig_, *r = &rig_;
    size_t size;
    uint8_t *file = good_file(&size);
    rig_open(r);
    memcpy(file + headers[i].offset, &headers[i].value, headers[i].width);
    rush_status st = rush_model_load(r->ctx, file, size, &r->model);
    if (st != headers[i].want)
      fail_msg("%s: %s: %s", headers[i].name, rush_status_name(st), rush_ctx_error(r->ctx));
    assert_contains(headers[i].name, rush_ctx_error(r->ctx), headers[i].says);
    assert_null(r->model);
    free(file);
    rig_close(r);
  }
}

static void gaps_between_sections_are_zero(void **state) {
  (void)state;
  size_t size;
  uint8_t *file = good_file(&size);
  rush_file_header h;
  int found = 0;
  memcpy(&h, file, sizeof h);
  for (uint32_t k = 0; k < h.n_sections; k++) {
    rig rig_, *r = &rig_;
    rush_file_section s, next = {.offset = h.head_bytes};
    memcpy(&s, file + sizeof h + k * sizeof s, sizeof s);
    if (k + 1 < h.n_sections) memcpy(&next, file + sizeof h + (k + 1) * sizeof s, sizeof s);
    if (s.offset + s.bytes == next.offset) continue;
    rig_open(r);
    file[s.offset + s.bytes] = 1;
    assert_int_equal(rush_model_load(r->ctx, file, size, &r->model), RUSH_ERR_BAD_FILE);
    assert_contains("gap", rush_ctx_error(r->ctx),
                    k + 1 < h.n_sections ? "are not zero" : "are not padding");
    file[s.offset + s.bytes] = 0;
    rig_close(r);
    found++;
  }
  assert_true(found >= 2);
  free(file);
}

static void an_unknown_optional_section_is_skipped(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rig_open(r);
  build_good(&b);
  build_add(&b, 0x1ff, 3, "abcdef", 2);
  rig_load(r, &b);
  rig_close(r);
  rig_open(r);
  build_good(&b);
  build_add(&b, 0x11, 3, "abcdef", 2);
  assert_int_equal(rig_try_load(r, &b), RUSH_ERR_UNSUPPORTED);
  assert_contains(
      "0x11", rush_ctx_error(r->ctx),
      "the file needs section 0x11, which this runtime (format version 1) does not know");
  rig_close(r);
}

/* ---- Every rule about records ---------------------------------------------------------------- */

static double zero = 0.0;

static void make_uniform(builder *b, uint32_t storage) {
  rush_file_uniform u = {storage, {0}};
  build_add(b, RUSH_SEC_UNIFORM, sizeof u, &u, 1);
}

#define REC(type, section, i) ((rush_file_##type *)build_at(b, RUSH_SEC_##section, i))
#define WORD(section, i) (*(uint32_t *)build_at(b, RUSH_SEC_##section, i))
#define INSTR(i) REC(instr, INSTRS, i)
#define OPERAND(i, k) WORD(OPERANDS, INSTR(i)->operands + (k))
#define DTYPE REC(tensor, TENSORS, 1)->dtype

/* name, status, part of the message, change of the valid file */
/* clang-format off */
#define ROWS(R)                                                                                    \
  R(string_outside, BAD_FILE, "strings[2] at byte", REC(string, STRINGS, 2)->offset = 90000)       \
  R(string_huge, BAD_FILE, "lies outside the string bytes", REC(string, STRINGS,                   \
      2)->bytes = 0xFFFFFFFF)                                                                      \
  R(string_without_end, BAD_FILE, "no zero byte follows it", REC(string, STRINGS, 0)->bytes--)     \
  R(string_cut_utf8, BAD_FILE, "is not UTF-8", ((char *)build_at(b, RUSH_SEC_STRING_BYTES,         \
      0))[0] = (char)0xC3)                                                                         \
  R(string_overlong, BAD_FILE, "is not UTF-8", memcpy(build_at(b, RUSH_SEC_STRING_BYTES, 0),       \
      "\xC0\x80", 2))                                                                              \
  R(string_surrogate, BAD_FILE, "is not UTF-8", memcpy(build_at(b, RUSH_SEC_STRING_BYTES, 0),      \
      "\xED\xA0\x80", 3))                                                                          \
  R(string_beyond, BAD_FILE, "is not UTF-8", memcpy(build_at(b, RUSH_SEC_STRING_BYTES, 0),         \
      "\xF4\x90\x80\x80", 4))                                                                      \
  R(type_kind, BAD_FILE, "types[1] at byte", REC(type, TYPES, 1)->kind = 19)                       \
  R(type_reserved, BAD_FILE, "reserved bytes must be zero", REC(type, TYPES, 1)->reserved = 1)     \
  R(type_arity, BAD_FILE, "2 children do not fit kind 7", REC(type, TYPES, T_LIST)->n = 2)         \
  R(type_name, BAD_FILE, "name 999 is not a string", REC(type, TYPES, T_NAMED)->name = 999)        \
  R(type_list, BAD_FILE, "its list lies outside the lists", REC(type, TYPES,                       \
      T_LIST)->list = 99999)                                                                       \
  R(type_of_itself, BAD_FILE, "child 5 does not come before it", WORD(LISTS, REC(type, TYPES,      \
      T_LIST)->list) = T_LIST)                                                                     \
  R(type_field, BAD_FILE, "field 0 has no name", WORD(LISTS, REC(type, TYPES,                      \
      T_NAMED)->list + 1) = 999)                                                                   \
  R(type_class, BAD_FILE, "a class has no name", REC(type, TYPES, T_ENUM)->name = RUSH_NONE)       \
  R(type_attribute, BAD_FILE, "attribute 1 has no name", WORD(LISTS, REC(type, TYPES,              \
      T_OBJECT)->list + 1) = 999)                                                                  \
  R(type_nesting, BAD_FILE, "types are nested deeper than 64", nest_types(b))                      \
  R(storage_alignment, BAD_FILE, "offset 65 is not a multiple of 64", REC(storage, STORAGES,       \
      1)->offset = 65)                                                                             \
  R(storage_overlap, BAD_FILE, "overlaps the one before it", REC(storage, STORAGES,                \
      1)->offset = 0)                                                                              \
  R(storage_outside, BAD_FILE, "lies outside the weights", REC(storage, STORAGES, 2)->bytes = 999) \
  R(storage_far, BAD_FILE, "lies outside the weights", REC(storage, STORAGES,                      \
      2)->offset = (uint64_t)1 << 62)                                                              \
  R(uniform_missing, BAD_FILE, "storages must exist and be sorted", make_uniform(b, 3))            \
  R(uniform_twice, BAD_FILE, "storages must exist and be sorted", make_uniform(b, 1);              \
    make_uniform(b, 1))                                                                            \
  R(uniform_unsorted, BAD_FILE, "storages must exist and be sorted", make_uniform(b, 2);           \
    make_uniform(b, 1))                                                                            \
  R(uniform_alignment, BAD_FILE, "offset 65 is not a multiple of 64", make_uniform(b, 1);          \
    REC(storage, STORAGES, 1)->offset = 65)                                                        \
  R(uniform_far, BAD_FILE, "lies outside the weights", make_uniform(b, 2);                         \
    REC(storage, STORAGES, 2)->offset = (uint64_t)1 << 62)                                         \
  R(uniform_large, BAD_FILE, "more than this machine can address", make_uniform(b, 2);             \
    REC(storage, STORAGES, 2)->bytes = UINT64_MAX)                                                 \
  R(uniform_tensor, BAD_FILE, "reaches outside storage 0 of 8 bytes", make_uniform(b, 0);          \
    REC(storage, STORAGES, 0)->bytes = 8)                                                          \
  R(uniform_under_asset, OK, "", make_uniform(b, 2); REC(asset, ASSETS,                            \
      0)->offset = REC(storage, STORAGES, 2)->offset)                                              \
  R(uniform_over_asset, BAD_FILE, "overlaps the one before it", make_uniform(b, 2);                \
    REC(asset, ASSETS, 0)->offset = REC(storage, STORAGES, 1)->offset)                             \
  R(dtype_reserved, UNSUPPORTED,                                                                   \
      "tensor 1 has dtype qint8 (12), which this runtime does not have", DTYPE = 12)               \
  R(dtype_unknown, UNSUPPORTED, "tensor 1 has dtype ? (77)", DTYPE = 77)                           \
  R(tensor_rank, BAD_FILE, "rank must be at most 8, got 9", REC(tensor, TENSORS, 1)->rank = 9)     \
  R(tensor_reserved, BAD_FILE, "reserved bytes", REC(tensor, TENSORS, 1)->reserved1 = 1)           \
  R(tensor_name, BAD_FILE, "name 999 is not a string", REC(tensor, TENSORS, 1)->name = 999)        \
  R(tensor_storage, BAD_FILE, "storage 77 does not exist", REC(tensor, TENSORS, 1)->storage = 77)  \
  R(tensor_negative, BAD_FILE, "sizes and strides must not be negative", REC(tensor, TENSORS,      \
      1)->sizes[0] = -1)                                                                           \
  R(tensor_stride, BAD_FILE, "sizes and strides must not be negative", REC(tensor, TENSORS,        \
      1)->strides[0] = -1)                                                                         \
  R(tensor_beyond_rank, BAD_FILE, "beyond the rank", REC(tensor, TENSORS, 1)->strides[7] = 1)      \
  R(tensor_extent, BAD_FILE, "its extent overflows", REC(tensor, TENSORS,                          \
      0)->strides[0] = INT64_MAX;                                                                  \
    REC(tensor, TENSORS, 0)->sizes[0] = 4)                                                         \
  R(tensor_numel, BAD_FILE, "its number of elements overflows", REC(tensor, TENSORS,               \
      0)->sizes[0] = (int64_t)1 << 40;                                                             \
    REC(tensor, TENSORS, 0)->sizes[1] = (int64_t)1 << 40; REC(tensor, TENSORS,                     \
    0)->strides[0] = 0;                                                                            \
    REC(tensor, TENSORS, 0)->strides[1] = 0)                                                       \
  R(tensor_outside, BAD_FILE, "reaches outside storage 0 of 16 bytes", REC(tensor, TENSORS,        \
      1)->offset = 2)                                                                              \
  R(tensor_offset, BAD_FILE, "reaches outside storage 0", REC(tensor, TENSORS,                     \
      1)->offset = (uint64_t)-1)                                                                   \
  R(tensor_bytes, BAD_FILE, "reaches outside storage 0", REC(tensor, TENSORS,                      \
      0)->dtype = RUSH_FLOAT64)                                                                    \
  R(tensor_empty_offset, BAD_FILE, "is out of range", REC(tensor, TENSORS, 1)->sizes[0] = 0;       \
    REC(tensor, TENSORS, 1)->offset = (uint64_t)1 << 60)                                           \
  R(constant_kind, BAD_FILE, "kind 14 is not known", REC(constant, CONSTANTS, C_INT)->kind = 14)   \
  R(constant_none, BAD_FILE, "None has a payload", REC(constant, CONSTANTS, C_NONE)->p0 = 1)       \
  R(constant_bool, BAD_FILE, "a bool must be 0 or 1", REC(constant, CONSTANTS, C_TRUE)->p0 = 2)    \
  R(constant_int, BAD_FILE, "unused fields must be zero", REC(constant, CONSTANTS, C_INT)->a = 1)  \
  R(constant_complex, BAD_FILE, "unused fields must be zero", REC(constant, CONSTANTS,             \
      C_COMPLEX)->a = 1)                                                                           \
  R(constant_tensor, BAD_FILE, "tensor 99 does not exist", REC(constant, CONSTANTS, C_W)->a = 99)  \
  R(constant_tensor_payload, BAD_FILE, "unused fields", REC(constant, CONSTANTS, C_W)->p1 = 1)     \
  R(constant_tensor_shape, BAD_FILE, "or has no storage", REC(constant, CONSTANTS, C_W)->a = 2)    \
  R(constant_random, BAD_FILE, "or has a storage", REC(constant, CONSTANTS, C_RANDOM)->a = 0)      \
  R(constant_str, BAD_FILE, "string 999 does not exist", REC(constant, CONSTANTS,                  \
      C_STR)->a = 999)                                                                             \
  R(constant_list, BAD_FILE, "its list lies outside the lists", REC(constant, CONSTANTS,           \
      C_LIST)->p0 = 1u << 30)                                                                      \
  R(constant_list_huge, BAD_FILE, "its list lies outside", REC(constant, CONSTANTS,                \
      C_LIST)->p0 = (uint64_t)-1)                                                                  \
  R(constant_type, BAD_FILE, "type 0 does not fit", REC(constant, CONSTANTS,                       \
      C_LIST)->p1 = T_TENSOR)                                                                      \
  R(constant_type_huge, BAD_FILE, "type 18446744073709551615 does not fit", REC(constant,          \
      CONSTANTS, C_LIST)->p1 = (uint64_t)-1)                                                       \
  R(constant_dict, BAD_FILE, "a dict must have a value for each key", REC(constant, CONSTANTS,     \
      C_DICT)->p0 = 1)                                                                             \
  R(constant_tuple, BAD_FILE, "0 items do not fit its type", REC(constant, CONSTANTS,              \
      C_TUPLE)->p0 = 0)                                                                            \
  R(constant_object, BAD_FILE, "1 items do not fit its type", REC(constant, CONSTANTS,             \
      C_OBJECT)->p0 = 1)                                                                           \
  R(constant_enum, BAD_FILE, "an enum must have a name and a value", REC(constant, CONSTANTS,      \
      C_ENUM)->p0 = 1)                                                                             \
  R(constant_enum_name, BAD_FILE, "an enum must have a name", WORD(LISTS, REC(constant,            \
      CONSTANTS,                                                                                   \
      C_ENUM)->a) = C_INT)                                                                         \
  R(constant_cycle, BAD_FILE, "item 7 does not come before it", WORD(LISTS, REC(constant,          \
      CONSTANTS, C_LIST)->a) = C_LIST)                                                             \
  R(constant_nesting, BAD_FILE, "constants are nested deeper than 64", nest_constants(b))          \
  R(op_name, BAD_FILE, "its name or schema is not a string", REC(op, OPS, 0)->name = 999)          \
  R(attribute_type, BAD_FILE, "attributes[0] at byte", REC(attribute, ATTRIBUTES, 0)->type = 99)   \
  R(attribute_initial, BAD_FILE, "attributes[0] at byte", REC(attribute, ATTRIBUTES,               \
      0)->initial = 99)                                                                            \
  R(attribute_reserved, BAD_FILE, "attributes[0] at byte", REC(attribute, ATTRIBUTES,              \
      0)->reserved = 1)                                                                            \
  R(hint_rank, BAD_FILE, "rank must be at most 8, got 9", REC(hint, HINTS, 0)->rank = 9)           \
  R(hint_size, BAD_FILE, "size 1 is out of range", REC(hint, HINTS, 0)->sizes[1] = -2)             \
  R(hint_beyond, BAD_FILE, "size 3 is out of range", REC(hint, HINTS, 0)->sizes[3] = 1)            \
  R(hint_reserved, BAD_FILE, "reserved bytes", REC(hint, HINTS, 0)->reserved1 = 1)                 \
  R(port_name, BAD_FILE, "ports[0] at byte", REC(port, PORTS, 0)->name = 999)                      \
  R(port_hint, BAD_FILE, "hint 5 does not exist", REC(port, PORTS, 0)->hint = 5)                   \
  R(port_default, BAD_FILE, "default 99 does not exist", REC(port, PORTS, 2)->initial = 99)        \
  R(register_type, BAD_FILE, "registers[3] at byte", REC(register, REGISTERS, 3)->type = 99)       \
  R(register_name, BAD_FILE, "registers[3] at byte", REC(register, REGISTERS, 3)->name = 999)      \
  R(method_name, BAD_FILE, "methods[0] at byte", REC(method, METHODS, 0)->name = 999)              \
  R(method_result, BAD_FILE, "methods[0] at byte", REC(method, METHODS, 0)->result = 99)           \
  R(method_ports, BAD_FILE, "ports lie outside the ports", REC(method, METHODS,                    \
      0)->inputs = 0xFFFFFFFF)                                                                     \
  R(method_registers, BAD_FILE, "registers lie outside", REC(method, METHODS,                      \
      0)->n_registers = 0xFFFFFFFF)                                                                \
  R(method_few_registers, BAD_FILE, "registers lie outside", REC(method, METHODS,                  \
      0)->n_registers = 2)                                                                         \
  R(method_instrs, BAD_FILE, "instructions lie outside", REC(method, METHODS, 0)->n_instrs = 11)   \
  R(method_empty, BAD_FILE, "or there are none", REC(method, METHODS, 0)->n_instrs = 0)            \
  R(method_outputs, BAD_FILE, "has 0 outputs, but its result type has 1",                         \
      REC(method, METHODS, 0)->n_outputs = 0)                                                      \
  R(method_twice, BAD_FILE, "duplicate method 'forward'", twice(b, true))                          \
  R(method_shared, BAD_FILE, "shares registers with the methods before it", twice(b, false))       \
  R(method_instr_shared, BAD_FILE, "must start at 10, got 0", twice(b, false);       \
    REC(method, METHODS, 1)->registers = 11; REC(method, METHODS, 1)->n_registers = 0;             \
    REC(method, METHODS, 1)->n_inputs = 0)                                                         \
  R(method_gap, BAD_FILE, "its instructions must start at 0, got 1",                 \
    REC(method, METHODS, 0)->instrs = 1; REC(method, METHODS, 0)->n_instrs = 9)                    \
  R(instr_stray, BAD_FILE, "instructions[9] at byte", REC(method, METHODS,                         \
      0)->n_instrs = I_RETURN)                                                                     \
  R(string_shared, BAD_FILE, "strings[1] at byte", REC(string, STRINGS, 1)->offset = 0;            \
    REC(string, STRINGS, 1)->bytes = REC(string, STRINGS, 0)->bytes)                               \
  R(string_inside, BAD_FILE, "overlaps the one before it", REC(string, STRINGS, 1)->offset =       \
    REC(string, STRINGS, 0)->bytes; REC(string, STRINGS, 1)->bytes = 0)                            \
  R(type_doubled, BAD_FILE, "has more than", double_types(b, 40))                                  \
  R(type_wide, BAD_FILE, "types have too many parts in all", widen_types(b))                       \
  R(constant_doubled, BAD_FILE, "has more than", double_constants(b, 40))                          \
  R(constant_wide, BAD_FILE, "constants have too many parts in all", widen_constants(b))           \
  R(attributes_wide, BAD_FILE, "constants have too many parts in all", repeat_attributes(b))       \
  R(many_ops, BAD_FILE, "at most 16384 operators, got 16385", add_ops(b, 16385))                   \
  R(variadic_results, BAD_FILE,                                                                    \
      "prim::ListConstruct has 1 results, but the instruction takes 0",                            \
      INSTR(I_T)->n_out = 0;                                                                       \
    rename_op_to(b, 0, "prim::ListConstruct"))                                                     \
  R(variadic_arguments, BAD_FILE, "prim::isinstance needs 2 arguments, got 1",                     \
    rename_op_to(b, 0, "prim::isinstance"))                                                        \
  R(operands_shared, BAD_FILE, "shares operands with an instruction before it",                    \
    INSTR(I_ALIAS)->operands = INSTR(I_T)->operands)                                               \
  R(source_string, BAD_FILE, "sources[0] at byte", REC(source, SOURCES, 0)->file = 999)            \
  R(constraint_port, BAD_FILE, "constraints[1] at byte", REC(constraint, CONSTRAINTS,              \
      1)->port = 999)                                                                              \
  R(constraint_dim, BAD_FILE, "its port or dimension does not exist", REC(constraint,              \
      CONSTRAINTS, 1)->dim = 8)                                                                    \
  R(constraint_reserved, BAD_FILE, "its port or dimension", REC(constraint, CONSTRAINTS,           \
      1)->reserved = 1)                                                                            \
  R(constraint_name, BAD_FILE, "its name does not exist", REC(constraint, CONSTRAINTS,             \
      1)->name = 999)                                                                              \
  R(constraint_least, BAD_FILE, "no size is in its range", REC(constraint, CONSTRAINTS,            \
      1)->min = -1)                                                                              \
  R(constraint_most, BAD_FILE, "no size is in its range", REC(constraint, CONSTRAINTS,             \
      1)->max = 1)                                                                                \
  R(constraint_order, BAD_FILE, "ports and dimensions must be sorted", REC(constraint,             \
      CONSTRAINTS,                                                                                 \
      1)->dim = 0)                                                                                 \
  R(test_method, BAD_FILE, "its method or a constant does not exist", REC(test, TESTS,             \
      0)->method = 1)                                                                              \
  R(test_inputs, BAD_FILE, "inputs must be a tuple of 3", REC(test, TESTS, 0)->inputs = C_TUPLE)   \
  R(test_tolerance, BAD_FILE, "tolerances must not be negative", REC(test, TESTS, 0)->rtol = -1)   \
  R(test_tolerance_nan, BAD_FILE, "tolerances must not be negative", REC(test, TESTS,              \
      0)->atol = (float)(0.0 / zero))                                                              \
  R(meta_string, BAD_FILE, "meta[0] at byte", REC(meta, META, 0)->value = 999)                     \
  R(text_reserved, BAD_FILE, "texts[0] at byte", REC(text, TEXTS, 0)->reserved = 1)                \
  R(traced_test, BAD_FILE, "traced[0] at byte", REC(traced, TRACED, 0)->test = 1)                  \
  R(traced_results, BAD_FILE, "its results must be a tuple", REC(traced, TRACED,                   \
      0)->results = C_TRUE)                                                                        \
  R(traced_handle, BAD_FILE, "it has no handle", REC(traced, TRACED, 0)->handle = 0)               \
  R(measure_test, BAD_FILE, "measures[0] at byte", REC(measure, MEASURES, 0)->test = 1)            \
  R(measure_exact, BAD_FILE, "its constant does not exist", REC(measure, MEASURES,                 \
      0)->exact = 999)                                                                             \
  R(measure_tolerance, BAD_FILE, "tolerances must not be negative", REC(measure, MEASURES,         \
      0)->atol = -1)                                                                               \
  R(exact_traced, BAD_FILE, "its traced node does not exist", REC(exact, EXACT, 0)->traced = 1)    \
  R(exact_results, BAD_FILE, "its results must be a tuple", REC(exact, EXACT,                      \
      0)->results = C_TRUE)                                                                        \
  R(asset_reserved, BAD_FILE, "assets[1] at byte", REC(asset, ASSETS, 1)->reserved = 1)            \
  R(asset_name, BAD_FILE, "must have 1 to 255 bytes", REC(asset, ASSETS, 1)->name = 999)           \
  R(asset_without_name, BAD_FILE, "must have 1 to 255 bytes", name_asset(b, 1, 0))                 \
  R(asset_name_ok, OK, "", name_asset(b, 1, 255))                                                  \
  R(asset_long_name, BAD_FILE, "must have 1 to 255 bytes", name_asset(b, 1, 256))                  \
  R(asset_name_10000, BAD_FILE, "must have 1 to 255 bytes", name_asset(b, 1, 10000))               \
  R(asset_twice, BAD_FILE, "names must be distinct and sorted", REC(asset, ASSETS,                 \
      1)->name = REC(asset, ASSETS, 0)->name)                                                      \
  R(asset_unsorted, BAD_FILE, "names must be distinct and sorted", name_asset(b, 0, 5))            \
  R(asset_alignment, BAD_FILE, "assets[1] at byte", REC(asset, ASSETS, 1)->offset += 8)            \
  R(asset_overlap, BAD_FILE, "overlaps the one before it", REC(asset, ASSETS,                      \
      1)->offset = REC(asset, ASSETS, 0)->offset)                                                  \
  R(asset_over_weights, BAD_FILE, "overlaps the one before it", REC(asset, ASSETS,                 \
      0)->offset = 0)                                                                              \
  R(asset_long, BAD_FILE, "lies outside", REC(asset, ASSETS, 1)->bytes = 65)                       \
  R(asset_huge, BAD_FILE, "lies outside", REC(asset, ASSETS, 1)->bytes = UINT64_MAX)               \
  R(asset_far, BAD_FILE, "lies outside", REC(asset, ASSETS, 1)->offset = (uint64_t)1 << 63)        \
  R(assets_most, OK, "", add_assets(b, 4096))                                                      \
  R(assets_too_many, BAD_FILE, "there must be at most 4096", add_assets(b, 4097))                  \
  R(opcode, BAD_FILE, "opcode 7 is not known", INSTR(I_T)->opcode = 7)                             \
  R(instr_reserved, BAD_FILE, "instructions[1] at byte", INSTR(I_T)->reserved = 1)                 \
  R(instr_operands, BAD_FILE, "its operands lie outside", INSTR(I_T)->operands = 0xFFFFFFFF)       \
  R(instr_source, BAD_FILE, "source 9 does not exist", INSTR(I_T)->source = 9)                     \
  R(instr_target, BAD_FILE, "this instruction must not have a target", INSTR(I_T)->target = 3)     \
  R(instr_op, BAD_FILE, "this instruction must not have an operator", INSTR(I_IF)->op = 0)         \
  R(no_return, BAD_FILE, "the method does not end with RETURN",                                    \
      INSTR(I_RETURN)->opcode = RUSH_OPCODE_OP)                                                    \
  R(return_twice, BAD_FILE, "RETURN before the end of the method",                                 \
      INSTR(I_VIEW_AS)->opcode = RUSH_OPCODE_RETURN;                                               \
    INSTR(I_VIEW_AS)->op = RUSH_NONE)                                                              \
  R(return_values, BAD_FILE, "RETURN must take 1 value", INSTR(I_RETURN)->n_in = 0)                \
  R(return_in_block, BAD_FILE, "END_LOOP gives 0 values", INSTR(I_END_LOOP)->n_in = 0)             \
  R(op_unknown, BAD_FILE, "operator 99 does not exist", INSTR(I_T)->op = 99)                       \
  R(op_arguments, BAD_FILE, "aten::view_as needs 2 arguments, got 1",                              \
      INSTR(I_VIEW_AS)->n_in = 1;                                                                  \
    OPERAND(I_VIEW_AS, 1) = SHAPED)                                                                \
  R(op_too_many, UNSUPPORTED, "passes aten::t 2 arguments, this runtime takes 1",           \
      INSTR(I_T)->op = 0;                                                                          \
    INSTR(I_T)->n_in = 2; INSTR(I_T)->operands = INSTR(I_VIEW_AS)->operands;                       \
    OPERAND(I_VIEW_AS, 0) = X; OPERAND(I_VIEW_AS, 2) = THEN)                                       \
  R(op_results, BAD_FILE, "aten::t has 1 results, but the instruction takes 0",                    \
      INSTR(I_T)->n_out = 0)                                                                       \
  R(op_type, BAD_FILE, "the type of argument 'self' does not fit aten::t", OPERAND(I_T, 0) = N)    \
  R(op_missing, UNSUPPORTED, "needs 1 operator that this runtime lacks: aten::no_such",            \
      rename_op(b, 0))                                                                             \
  R(ops_missing, UNSUPPORTED,                                                                      \
      "needs 2 operators that this runtime lacks: aten::no_such, aten::no_such",                   \
    (rename_op(b, 0), rename_op(b, 1)))                                                            \
  R(read_unset, BAD_FILE, "register 10 is read before it has a value", OPERAND(I_T, 0) = SHAPED)   \
  R(read_other_branch, BAD_FILE, "register 4 is read before it has a value", OPERAND(I_END_IF,     \
      0) = THEN)                                                                                   \
  R(read_after_block, BAD_FILE, "register 9 is read before it has a value", OPERAND(I_VIEW_AS,     \
      0) = TURNED)                                                                                 \
  R(read_before, BAD_FILE, "register 6 is read before it has a value", OPERAND(I_BODY,             \
      0) = LOOPED)                                                                                 \
  R(read_outside, BAD_FILE, "register 77 is read before it has a value", OPERAND(I_T, 0) = 77)     \
  R(read_constant, BAD_FILE, "constant 99 does not exist", OPERAND(I_T, 0) = K(99))                \
  R(write_outside, BAD_FILE, "register 77 does not exist", OPERAND(I_T, 1) = 77)                   \
  R(write_input, BAD_FILE, "register 0 is written a second time", OPERAND(I_T, 1) = X)             \
  R(write_twice, BAD_FILE, "register 4 is written a second time", OPERAND(I_ALIAS, 1) = THEN)      \
  R(write_constant, BAD_FILE, "does not exist", OPERAND(I_T, 1) = K(C_INT))                        \
  R(if_inputs, BAD_FILE, "IF must take 1 value, got 2", INSTR(I_IF)->n_in = 2;                     \
      INSTR(I_IF)->n_out = 0;                                                                      \
    INSTR(I_IF)->operands = INSTR(I_VIEW_AS)->operands; OPERAND(I_VIEW_AS, 0) = X)                 \
  R(if_target, BAD_FILE, "target 3 is not an ELSE", INSTR(I_IF)->target = I_ALIAS)                 \
  R(if_backwards, BAD_FILE, "is not an ELSE", INSTR(I_IF)->target = 0)                             \
  R(if_far, BAD_FILE, "is not an ELSE", INSTR(I_IF)->target = 0xFFFFFFFE)                          \
  R(if_results, BAD_FILE, "its branches do not give 1 values", INSTR(I_ELSE)->n_in = 0)            \
  R(if_results_else, BAD_FILE, "its branches do not give 1 values", INSTR(I_END_IF)->n_in = 0)     \
  R(else_alone, BAD_FILE, "ELSE does not close an IF here",                                        \
      INSTR(I_BODY)->opcode = RUSH_OPCODE_ELSE;                                                    \
    INSTR(I_BODY)->op = RUSH_NONE; INSTR(I_BODY)->target = I_END_LOOP; INSTR(I_BODY)->n_out = 0)   \
  R(end_if_target, BAD_FILE, "is not its IF", INSTR(I_END_IF)->target = I_LOOP)                    \
  R(end_if_other, BAD_FILE, "is not its IF", INSTR(I_END_IF)->target = I_T)                        \
  R(loop_inputs, BAD_FILE, "LOOP with 1 inputs", INSTR(I_LOOP)->n_in = 1;                          \
      INSTR(I_LOOP)->n_out = 0)                                                                    \
  R(loop_outputs, BAD_FILE, "LOOP with 3 inputs cannot have 2 outputs", INSTR(I_LOOP)->n_out = 2)  \
  R(loop_target, BAD_FILE, "is not its END_LOOP", INSTR(I_LOOP)->target = I_BODY)                  \
  R(end_loop_target, BAD_FILE, "is not its END_LOOP", INSTR(I_END_LOOP)->target = I_IF)            \
  R(end_loop_values, BAD_FILE, "END_LOOP gives 1 values", INSTR(I_END_LOOP)->n_in = 1)             \
  R(block_nesting, BAD_FILE, "blocks are nested deeper than 64", nest_blocks(b, 64))               \
  R(block_nesting_ok, OK, "", nest_blocks(b, 62))
/* clang-format on */

static void nest_types(builder *b) {
  uint32_t t = T_INT;
  for (int k = 0; k < 64; k++) t = build_type_n(b, RUSH_TYPE_OPTIONAL, 1, &t);
}

static void nest_constants(builder *b) {
  uint32_t c = C_INT;
  for (int k = 0; k < 64; k++) c = build_items(b, RUSH_CONST_LIST, T_LIST, 1, &c);
}

static void twice(builder *b, bool same_name) {
  rush_file_method m = *REC(method, METHODS, 0);
  if (same_name) {
    build_method(b, "forward", T_TENSOR, 1, U32(T_TENSOR));
    build_return(b, 0);
    return;
  }
  m.name = build_str(b, "other");
  build_add(b, RUSH_SEC_METHODS, sizeof m, &m, 1);
}

static void rename_op_to(builder *b, uint32_t i, const char *name) {
  REC(op, OPS, i)->name = build_str(b, name);
}
static void rename_op(builder *b, uint32_t i) {
  rename_op_to(b, i, "aten::no_such");
}

static void add_ops(builder *b, uint32_t n) {
  rush_file_op op = *REC(op, OPS, 0);
  for (uint32_t have = 4; have < n; have++) build_add(b, RUSH_SEC_OPS, sizeof op, &op, 1);
}

/* Each type and each constant contains the previous one twice, so the expanded size is 2^n. */
static uint32_t double_types(builder *b, int n) {
  uint32_t t = T_INT;
  for (int k = 0; k < n; k++) t = build_type_n(b, RUSH_TYPE_UNION, 2, U32(t, t));
  return t;
}
static uint32_t double_constants(builder *b, int n) {
  uint32_t c = C_INT;
  for (int k = 0; k < n; k++) c = build_items(b, RUSH_CONST_LIST, T_LIST, 2, U32(c, c));
  return c;
}

/* Many types share one list. */
static void widen_types(builder *b) {
  rush_file_type t = *REC(type, TYPES, double_types(b, 11));
  for (int k = 0; k < 2000; k++) build_add(b, RUSH_SEC_TYPES, sizeof t, &t, 1);
}
static void widen_constants(builder *b) {
  rush_file_constant c = *REC(constant, CONSTANTS, double_constants(b, 17));
  for (int k = 0; k < 20; k++) build_add(b, RUSH_SEC_CONSTANTS, sizeof c, &c, 1);
}
static void repeat_attributes(builder *b) {
  rush_file_attribute a = *REC(attribute, ATTRIBUTES, 0);
  a.initial = double_constants(b, 16);
  for (int k = 0; k < 40; k++) build_add(b, RUSH_SEC_ATTRIBUTES, sizeof a, &a, 1);
}

/* Gives an asset a name of n bytes. */
static void name_asset(builder *b, uint32_t i, size_t n) {
  char name[10001] = {0};
  memset(name, 'z', n);
  REC(asset, ASSETS, i)->name = build_str(b, name);
}
static void add_assets(builder *b, uint32_t n) {
  for (uint32_t have = 2; have < n; have++) {
    char name[16];
    snprintf(name, sizeof name, "x%04u", have);
    build_asset(b, name, NULL, 0);
  }
}

/* Adds a method that consists of nested IFs. */
static void nest_blocks(builder *b, int depth) {
  build_method(b, "nested", T_TENSOR, 2, U32(T_TENSOR, T_BOOL));
  for (int k = 0; k < depth; k++) build_if(b, 1, 0, NULL);
  for (int k = 0; k < depth; k++) {
    build_else(b, 0, NULL);
    build_end_if(b, 0, NULL);
  }
  build_return(b, 0);
}

#define STATUS_OK RUSH_OK
#define STATUS_BAD_FILE RUSH_ERR_BAD_FILE
#define STATUS_UNSUPPORTED RUSH_ERR_UNSUPPORTED
#define DAMAGE(name, status, says, ...)   \
  static void damage_##name(builder *b) { \
    __VA_ARGS__;                          \
  }
ROWS(DAMAGE)
#define ROW(name, status, says, ...) {#name, damage_##name, STATUS_##status, says},
static const struct {
  const char *name;
  void (*damage)(builder *b);
  rush_status want;
  const char *says;
} rows[] = {ROWS(ROW)};

static void each_rule_has_its_message(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rig rig_, *r = &rig_;
    builder b;
    rig_open(r);
    build_good(&b);
    rows[i].damage(&b);
    rush_status st = rig_try_load(r, &b);
    if (st != rows[i].want || !strstr(rush_ctx_error(r->ctx), rows[i].says)) {
      print_error("%s: %s: %s; wanted %s: %s\n", rows[i].name, rush_status_name(st),
                  rush_ctx_error(r->ctx), rush_status_name(rows[i].want), rows[i].says);
      wrong++;
    }
    rig_close(r);
  }
  assert_int_equal(wrong, 0);
}

/* Puts one or two bytes of a character at every position of a text of 20 bytes. The check reads
 * eight bytes at a time, so each position matters. */
static void utf8_is_looked_at_in_every_place(void **state) {
  (void)state;
  for (size_t at = 0; at < 20; at++) {
    for (size_t n = 1; n <= 2; n++) {
      rig rig_, *r = &rig_;
      builder b;
      char text[] = "abcdefghijklmnopqrst";
      memcpy(text + at, "\xC3\xA9", at + n <= 20 ? n : 1);
      rig_open(r);
      build_good(&b);
      build_str(&b, text);
      const bool whole = n == 2 && at < 19;
      assert_int_equal(rig_try_load(r, &b), whole ? RUSH_OK : RUSH_ERR_BAD_FILE);
      if (!whole) assert_non_null(strstr(rush_ctx_error(r->ctx), "is not UTF-8"));
      rig_close(r);
    }
  }
}

/* ---- Any byte -------------------------------------------------------------------------------- */

static bool describe_all(rig *r) {
  for (int form = 0; form < 3; form++) {
    char *text;
    size_t n;
    OK(rush_model_describe(r->ctx, r->model, (rush_describe_form)form, &text, &n));
    rush_free(r->ctx, text, n);
  }
  return true;
}

/* A file that still loads must run within its bounds and leak nothing. */
static void try_damaged(const uint8_t *file, size_t size, size_t at) {
  rig rig_, *r = &rig_;
  rig_open(r);
  if (rush_model_load(r->ctx, file, size, &r->model) != RUSH_OK) {
    if (rush_ctx_error(r->ctx)[0] == '\0') fail_msg("byte %zu: no message", at);
  } else if (describe_all(r) && rush_session_create(r->ctx, r->model, &r->session) == RUSH_OK) {
    static const float x[] = {1, 2, 3, 4};
    rush_value v = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(2, 2), x),
               args[] = {v, rush_int(2), rush_bool(true)}, result;
    if (rush_session_begin(r->session, 0, args, 3) == RUSH_OK &&
        rush_session_step(r->session, 1000) == RUSH_OK) {
      OK(rush_session_result(r->session, &result));
      rush_value_release(r->session, &result);
    }
    rush_value_release(r->session, &v);
  }
  rig_close(r);
}

static void a_head_with_any_byte_changed_never_crashes(void **state) {
  (void)state;
  size_t size;
  uint8_t *file = good_file(&size);
  rush_file_header h;
  memcpy(&h, file, sizeof h);
  for (size_t at = 0; at < h.head_bytes; at++) {
    const uint8_t was = file[at], tries[] = {(uint8_t)(was + 1), (uint8_t)(was - 1), 0xFF, 0x80};
    for (int k = 0; k < 4; k++) {
      file[at] = tries[k];
      if (tries[k] != was) try_damaged(file, size, at);
    }
    file[at] = was;
  }
  free(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_file_loads_and_runs),
      cmocka_unit_test(a_stream_of_any_pieces_gives_the_same_model),
      cmocka_unit_test(too_many_bytes_are_refused),
      cmocka_unit_test(a_small_file_cut_anywhere_says_so),
      cmocka_unit_test(a_large_file_cut_at_each_section_says_so),
      cmocka_unit_test(each_header_field_has_its_message),
      cmocka_unit_test(gaps_between_sections_are_zero),
      cmocka_unit_test(an_unknown_optional_section_is_skipped),
      cmocka_unit_test(each_rule_has_its_message),
      cmocka_unit_test(utf8_is_looked_at_in_every_place),
      cmocka_unit_test(a_head_with_any_byte_changed_never_crashes),
  };
  return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
