/* Every operator on a large tensor looks whether the host wants to stop, before it is through. The
 * rows of ops.def themselves are the table: arguments are made up from their schemas. */
#include "call/schema.h"
#include "harness.h"

enum {
  LARGE = 1 << 22,
  MANY = LARGE / 4
}; /* elements of a tensor that is given; that is a result */

/* A host that wants to stop at its second chance. */
static bool ask(void *user) {
  return ++*(int *)user == 2;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* All tensors that are given have these sizes and this dtype, all ints and ints in lists `i`. */
typedef struct shape {
  rush_dtype dtype;
  int rank;
  int64_t sizes[5];
} shape;
static const shape shapes[] = {
    {RUSH_FLOAT32, 2, {2048, 2048}},    {RUSH_FLOAT32, 4, {1, 4, 1024, 1024}},
    {RUSH_FLOAT32, 3, {4, 1024, 1024}}, {RUSH_FLOAT32, 1, {LARGE}},
    {RUSH_INT64, 1, {LARGE}},           {RUSH_INT64, 2, {2048, 2048}},
    {RUSH_BOOL, 2, {2048, 2048}}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, INTS = 3, LISTS = 3 };

typedef struct given {
  rush_value tensor, ints, tensors;
  int64_t i;
} given;

static bool may_be(const rush_schema_arg *a, rush_kind kind) {
  return (a->kinds & RUSH_KIND_BIT(kind)) != 0;
}

/* A value that the argument may be; false where this test knows none. */
static bool make_up(const rush_schema_arg *a, const given *g, rush_value *out) {
  if (may_be(a, RUSH_KIND_TENSOR))
    *out = g->tensor;
  else if (may_be(a, RUSH_KIND_INT))
    *out = rush_int(g->i);
  else if (may_be(a, RUSH_KIND_FLOAT))
    *out = rush_float(0.5);
  else if (may_be(a, RUSH_KIND_BOOL))
    *out = rush_bool(true);
  else if (may_be(a, RUSH_KIND_LIST) && (a->items & RUSH_KIND_BIT(RUSH_KIND_TENSOR)))
    *out = g->tensors;
  else if (may_be(a, RUSH_KIND_LIST))
    *out = g->ints;
  else
    return false;
  return true;
}

/* ---- Models ---------------------------------------------------------------------------------- */

typedef struct subject {
  const char *name; /* of the operator, zero-terminated */
  size_t method;
  rush_schema schema;
  bool ints, lists; /* is given some */
} subject;

static bool is_tried(const rush_op *op, const rush_schema *s) {
  given none = {0};
  rush_value v;
  bool tensors = false;
  if (op->flags & (RUSH_OP_VARIADIC | RUSH_OP_EXTERNAL) || s->n_results == 0) return false;
  for (uint32_t k = 0; k < s->n_required; k++) {
    if (!make_up(s->args + k, &none, &v)) return false;
    if (s->args[k].written) return false; /* it would be another one for those that follow */
    tensors =
        tensors || may_be(s->args + k, RUSH_KIND_TENSOR) || may_be(s->args + k, RUSH_KIND_LIST);
  }
  return tensors && (s->result_kinds[0] & RUSH_KIND_BIT(RUSH_KIND_TENSOR));
}

/* A method per operator, which hands its arguments on and returns the first result. */
static size_t build_all(rig *r, builder *b, subject *subjects) {
  size_t n = 0;
  uint32_t types[RUSH_SCHEMA_MAX_ARGS] = {0}, in[RUSH_SCHEMA_MAX_ARGS],
           out[RUSH_SCHEMA_MAX_RESULTS];
  char name[128], *kept;
  build_type(b, RUSH_TYPE_ANY);
  for (size_t k = 0; k < rush_op_count(); k++) {
    const rush_op *op = rush_op_at(k);
    subject *s = subjects + n;
    OK(rush_schema_parse(r->ctx, op->schema, &s->schema));
    if (!is_tried(op, &s->schema)) {
      rush_schema_free(r->ctx, &s->schema);
      continue;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(op->schema, "("), op->schema);
    kept = malloc(sizeof name);
    memcpy(kept, name, sizeof name);
    s->name = kept;
    s->method = n++;
    for (uint32_t i = 0; i < s->schema.n_required; i++) {
      s->ints = s->ints || !may_be(s->schema.args + i, RUSH_KIND_TENSOR);
      s->lists = s->lists || may_be(s->schema.args + i, RUSH_KIND_LIST);
    }
    build_method(b, name, 0, s->schema.n_required, types);
    for (uint32_t i = 0; i < s->schema.n_required; i++) in[i] = i;
    for (uint32_t i = 0; i < s->schema.n_results; i++) out[i] = build_reg(b, 0);
    build_op(b, name, s->schema.n_required, in, s->schema.n_results, out);
    build_return(b, out[0]);
  }
  return n;
}

/* ---- Trying ---------------------------------------------------------------------------------- */

typedef enum verdict { STOPPED, NO_MATTER, WENT_ON } verdict;

/* Whether the result is a tensor of much memory of its own. */
static bool is_much(rig *r, const given *g, const rush_value *result) {
  rush_tensor_info x, y;
  if (result->kind != RUSH_KIND_TENSOR) return false;
  OK(rush_tensor_inspect(r->session, &g->tensor, &x));
  OK(rush_tensor_inspect(r->session, result, &y));
  const char *from = x.data, *at = y.data;
  return y.numel >= MANY && (at < from || at >= from + (size_t)LARGE * 8);
}

static verdict try_one(rig *r, const subject *s, const given *g) {
  rush_value args[RUSH_SCHEMA_MAX_ARGS], result;
  int asked = 0;
  for (uint32_t k = 0; k < s->schema.n_required; k++) make_up(s->schema.args + k, g, args + k);
  rush_ctx_set_poll(r->ctx, ask, &asked);
  rush_status st = rush_session_run(r->session, s->method, args, s->schema.n_required, &result);
  rush_ctx_set_poll(r->ctx, NULL, NULL);
  if (st != RUSH_OK) return st == RUSH_ERR_INTERRUPTED ? STOPPED : NO_MATTER;
  const verdict v = is_much(r, g, &result) ? WENT_ON : NO_MATTER;
  rush_value_release(r->session, &result);
  return v;
}

static void make_given(rig *r, const shape *how, int64_t i, int length, given *g) {
  void *data;
  rush_value items[4];
  OK(rush_tensor_create(r->session, how->dtype, how->rank, how->sizes, &g->tensor, &data));
  memset(data, 0,
         (size_t)LARGE * (how->dtype == RUSH_FLOAT32 ? 4
                          : how->dtype == RUSH_BOOL  ? 1
                                                     : 8));
  g->i = i;
  for (int k = 0; k < length; k++) items[k] = rush_int(i);
  OK(rush_list_create(r->session, items, (size_t)length, &g->ints));
  items[0] = items[1] = g->tensor;
  OK(rush_list_create(r->session, items, 2, &g->tensors));
}

static void every_operator_looks_whether_to_stop(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  subject *subjects = calloc(rush_op_count(), sizeof *subjects);
  verdict *verdicts = calloc(rush_op_count(), sizeof *verdicts);
  rig_open(r);
  rush_ctx_set_memory_limit(r->ctx, 1 << 30);
  const size_t n = build_all(r, b, subjects);
  rig_start(r, b);
  for (size_t k = 0; k < n; k++) verdicts[k] = NO_MATTER;
  for (int t = 0; t < N_SHAPES * INTS * LISTS; t++) {
    const int lengths[LISTS] = {shapes[t / (INTS * LISTS)].rank, 2, 1};
    given g;
    make_given(r, shapes + t / (INTS * LISTS), t % INTS, lengths[t / INTS % LISTS], &g);
    for (size_t k = 0; k < n; k++) {
      const subject *s = subjects + k;
      const bool again = (t % INTS > 0 && !s->ints) || (t / INTS % LISTS > 0 && !s->lists);
      if (verdicts[k] == NO_MATTER && !again) verdicts[k] = try_one(r, s, &g);
    }
    rush_value_release(r->session, &g.ints);
    rush_value_release(r->session, &g.tensors);
    rush_value_release(r->session, &g.tensor);
  }
  size_t stopped = 0, wrong = 0;
  for (size_t k = 0; k < n; k++) {
    stopped += verdicts[k] == STOPPED;
    wrong += verdicts[k] == WENT_ON;
    if (verdicts[k] == WENT_ON) print_error("%s does not look whether to stop\n", subjects[k].name);
    rush_schema_free(r->ctx, &subjects[k].schema);
    free((void *)(uintptr_t)subjects[k].name);
  }
  assert_int_equal(wrong, 0);
  assert_true(stopped > 400); /* the others are views, or these arguments do not fit them */
  free(verdicts);
  free(subjects);
  rig_close(r);
}

/* ---- Those whose arguments have to fit each other ------------------------------------------------ */

/* Arguments in words: x is a tensor of zeros of these sizes; a tensor of its own is zeros[2,3]. */
typedef struct row {
  const char *op;
  shape x;
  const char *args;
} row;
static const row rows[] = {
    {"aten::zeros", {RUSH_FLOAT32, 0, {0}}, "[2048,2048]"},
    {"aten::rand", {RUSH_FLOAT32, 0, {0}}, "[2048,2048]"},
    {"aten::randn", {RUSH_FLOAT32, 0, {0}}, "[2048,2048]"},
    {"aten::randint", {RUSH_FLOAT32, 0, {0}}, "9 [2048,2048]"},
    {"aten::randperm", {RUSH_FLOAT32, 0, {0}}, "1000000"},
    {"aten::arange", {RUSH_FLOAT32, 0, {0}}, "4000000"},
    {"aten::linspace", {RUSH_FLOAT32, 0, {0}}, "0 1 4000000"},
    {"aten::eye", {RUSH_FLOAT32, 0, {0}}, "2048"},
    {"aten::einsum", {RUSH_FLOAT32, 2, {1024, 1024}}, "'ij,jk->ik' (x,x)"},
    {"aten::searchsorted.Tensor", {RUSH_FLOAT32, 1, {100000}}, "x x"},
    {"aten::embedding", {RUSH_INT64, 2, {1000, 1000}}, "zeros[1,64] x"},
    {"aten::upsample_nearest2d", {RUSH_FLOAT32, 4, {1, 4, 64, 64}}, "x [1024,1024]"},
    {"aten::upsample_bilinear2d", {RUSH_FLOAT32, 4, {1, 1, 64, 64}}, "x [1024,1024] false"},
    {"aten::upsample_bicubic2d", {RUSH_UINT8, 4, {1, 1, 64, 64}}, "x [1024,1024] false"},
    {"aten::_upsample_bicubic2d_aa", {RUSH_FLOAT32, 4, {1, 1, 64, 64}}, "x [1024,1024] false"},
    {"aten::grid_sampler", {RUSH_FLOAT32, 4, {1, 9, 8, 8}}, "x zeros[1,256,128,2] 0 0 false"},
    {"aten::grid_sampler", {RUSH_FLOAT32, 5, {1, 9, 8, 8, 8}}, "x zeros[1,64,64,8,3] 0 0 false"},
    {"aten::layer_norm", {RUSH_FLOAT32, 2, {2048, 1024}}, "x [1024]"},
    {"aten::rms_norm", {RUSH_FLOAT64, 2, {2048, 1024}}, "x [1024]"},
    {"aten::group_norm", {RUSH_FLOAT32, 3, {4, 4, 200000}}, "x 2"},
    {"aten::instance_norm",
     {RUSH_FLOAT32, 3, {4, 4, 200000}},
     "x None None None None true 0.5 0.5 true"},
    {"aten::batch_norm",
     {RUSH_FLOAT32, 3, {40, 4, 20000}},
     "x None None zeros[4] zeros[4] false 0.5 0.5 true"},
    {"aten::reflection_pad2d", {RUSH_FLOAT32, 3, {4, 1024, 1024}}, "x [9,9,9,9]"},
};

/* The numbers of "[2,3]"; where they end in *text. */
static size_t numbers(const char **text, int64_t *out) {
  size_t n = 0;
  char *end;
  for (*text = strchr(*text, '[') + 1; **text != ']'; *text = *end == ',' ? end + 1 : end)
    out[n++] = strtoll(*text, &end, 10);
  return n;
}

enum { VALUE, INT_LIST = 2, TENSOR_LIST = 4 }; /* types of the file */

static uint32_t build_word(builder *b, const char *word) {
  int64_t n[8];
  uint32_t items[8];
  if (*word == 'x') return 0;
  if (*word == 'N') return K(build_none(b));
  if (*word == 't' || *word == 'f') return K(build_bool(b, *word == 't'));
  if (*word == '(') return build_call(b, "prim::ListConstruct", TENSOR_LIST, 2, U32(0, 0));
  if (*word == '\'') {
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(word + 1, "'"), word + 1);
    return K(build_const(b, RUSH_CONST_STR, build_str(b, text), 0, 0));
  }
  if (*word == 'z') {
    const int rank = (int)numbers(&word, n);
    return K(build_tensor(b, RUSH_FLOAT32, rank, n, NULL));
  }
  if (*word == '[') {
    const size_t count = numbers(&word, n);
    for (size_t k = 0; k < count; k++) items[k] = build_int(b, n[k]);
    return K(build_items(b, RUSH_CONST_LIST, INT_LIST, (uint32_t)count, items));
  }
  if (strchr(word, '.') && strchr(word, '.') < word + strcspn(word, " "))
    return K(build_float(b, strtod(word, NULL)));
  return K(build_int(b, strtoll(word, NULL, 10)));
}

static void each_of_these_looks_whether_to_stop(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    uint32_t in[16], n = 0;
    int asked = 0;
    build_type(b, RUSH_TYPE_ANY);
    build_type(b, RUSH_TYPE_INT);
    build_type_n(b, RUSH_TYPE_LIST, 1, U32(1));
    build_type(b, RUSH_TYPE_TENSOR);
    build_type_n(b, RUSH_TYPE_LIST, 1, U32(3));
    build_method(b, "forward", VALUE, 1, U32(VALUE));
    for (const char *word = rows[k].args; word; word = strchr(word, ' '))
      in[n++] = build_word(b, word += *word == ' ');
    build_return(b, build_call(b, rows[k].op, VALUE, n, in));
    rig_open(r);
    rig_start(r, b);
    rush_value x;
    void *data;
    rush_tensor_info info;
    OK(rush_tensor_create(r->session, rows[k].x.dtype, rows[k].x.rank, rows[k].x.sizes, &x, &data));
    OK(rush_tensor_inspect(r->session, &x, &info));
    memset(data, 0,
           (size_t)info.numel * (rows[k].x.dtype == RUSH_UINT8     ? 1
                                 : rows[k].x.dtype == RUSH_FLOAT32 ? 4
                                                                   : 8));
    rush_ctx_set_poll(r->ctx, ask, &asked);
    assert_contains(rows[k].op, strtok((char *)(uintptr_t)run(r, 0, 1, &x), "("), "interrupted: ");
    rush_value_release(r->session, &x);
    rig_close(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_of_these_looks_whether_to_stop),
                                     cmocka_unit_test(every_operator_looks_whether_to_stop)};
  return cmocka_run_group_tests_name("stops", tests, NULL, NULL);
}
