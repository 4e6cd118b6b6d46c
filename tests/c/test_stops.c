/* Tests that every operator on a large tensor polls the host before it ends, and never works for
 * long between two polls. The rows of ops.def are the table, and arguments are generated from their
 * schemas. With --times, which `./dev bench --stops` uses, times are printed and not checked. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include "../stop.h"
#include "call/schema.h"
#include "harness.h"
#include "model/model.h"

/* A build that counts steps tries larger tensors, on which a loop without a poll has more steps
 * than any loop between two polls. */
#ifdef STOP_COUNTS_STEPS
enum { SIDE = 4096 };
#else
enum { SIDE = 2048 };
#endif
enum {
  LARGE = SIDE * SIDE,
  MANY = LARGE / 4
}; /* elements of a tensor that is given; that is a result */

/* ---- Watching -------------------------------------------------------------------------------- */

static bool measures; /* with --times */

static void open_plainly(rig *r) {
  rig_open(r);
  r->counter.plain = true;
}

/* Prints or checks how long a run would have continued. Returns whether that is too long. */
static bool judge(const char *name, const stop_watch *w) {
  const bool endless = w->most_steps > STOP_STEPS;
  if (endless)
    print_error("%s does %llu steps without a poll\n", name, (unsigned long long)w->most_steps);
  if (measures) printf("{\"row\": \"%s\", \"seconds\": %.6f}\n", name, w->worst);
  if (measures || !STOP_IS_JUDGED || w->worst <= STOP_LIMIT) return endless;
  print_error("%s works for %.2f s without a look\n", name, w->worst);
  return true;
}

/* Runs a method whose host stops it at the second poll, or much later if times are measured. `late`
 * counts the calls that take too long. */
static rush_status run_watched(rig *r, const char *name, size_t method, const rush_value *args,
                               size_t n, rush_value *result, size_t *late) {
  stop_watch w = stop_begin(measures ? 16 : 2);
  rush_ctx_set_poll(r->ctx, stop_ask, &w);
  const rush_status st = rush_session_run(r->session, method, args, n, result);
  rush_ctx_set_poll(r->ctx, NULL, NULL);
  stop_see(&w);
  *late += judge(name, &w);
  return st;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* All given tensors have these sizes and this dtype. All ints, also in lists, are `i`. */
typedef struct shape {
  rush_dtype dtype;
  int rank;
  int64_t sizes[5];
} shape;
static const shape full[] = {{RUSH_FLOAT32, 2, {SIDE, SIDE}},
                             {RUSH_FLOAT32, 4, {1, 4, SIDE / 2, SIDE / 2}},
                             {RUSH_FLOAT32, 3, {4, SIDE / 2, SIDE / 2}},
                             {RUSH_FLOAT32, 1, {LARGE}},
                             {RUSH_INT64, 1, {LARGE}},
                             {RUSH_INT64, 2, {SIDE, SIDE}},
                             {RUSH_BOOL, 2, {SIDE, SIDE}},
                             {RUSH_FLOAT32, 4, {LARGE, 1, 1, 1}}};
/* Empty tensors with the greatest possible number of rows, columns or planes. */
static const shape empty[] = {
    {RUSH_FLOAT32, 2, {1 << 27, 0}},
    {RUSH_FLOAT32, 2, {0, 1 << 27}},
    {RUSH_INT64, 2, {1 << 27, 0}},
    {RUSH_FLOAT32, 3, {1 << 13, 0, 1 << 14}},
    {RUSH_FLOAT32, 4, {1 << 13, 1 << 14, 0, 1}},
    {RUSH_FLOAT64, 4, {0, 1 << 9, 1 << 9, 1 << 9}},
    {RUSH_BOOL, 3, {1 << 13, 1 << 14, 0}},
};
enum { INTS = 3, LISTS = 3 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

static size_t bytes_of(const shape *how) {
  size_t bytes = rush_dtype_size(how->dtype);
  for (int d = 0; d < how->rank; d++) bytes *= (size_t)how->sizes[d];
  return bytes;
}

typedef struct given {
  rush_value tensor, ints, tensors;
  int64_t i;
  char words[100]; /* "float32[2,3] and 1" */
} given;

static bool may_be(const rush_schema_arg *a, rush_kind kind) {
  return (a->kinds & RUSH_KIND_BIT(kind)) != 0;
}

/* Makes a value for the argument. Returns false if this test knows none. */
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
    if (s->args[k].written) return false; /* a write would change the input of later operators */
    tensors =
        tensors || may_be(s->args + k, RUSH_KIND_TENSOR) || may_be(s->args + k, RUSH_KIND_LIST);
  }
  return tensors && (s->result_kinds[0] & RUSH_KIND_BIT(RUSH_KIND_TENSOR));
}

/* Builds a method for each operator, which passes its arguments on and returns the first result. */
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

/* Returns whether the result is a tensor with a large amount of its own memory. */
static bool is_much(rig *r, const given *g, const rush_value *result) {
  rush_tensor_info x, y;
  if (result->kind != RUSH_KIND_TENSOR) return false;
  OK(rush_tensor_inspect(r->session, &g->tensor, &x));
  OK(rush_tensor_inspect(r->session, result, &y));
  const char *from = x.data, *at = y.data;
  return y.numel >= MANY && (at < from || at >= from + (size_t)LARGE * 8);
}

static verdict try_one(rig *r, const subject *s, const given *g, size_t *late) {
  rush_value args[RUSH_SCHEMA_MAX_ARGS], result;
  char name[200];
  snprintf(name, sizeof name, "%s of %s", s->name, g->words);
  for (uint32_t k = 0; k < s->schema.n_required; k++) make_up(s->schema.args + k, g, args + k);
  rush_status st = run_watched(r, name, s->method, args, s->schema.n_required, &result, late);
  if (st != RUSH_OK) return st == RUSH_ERR_INTERRUPTED ? STOPPED : NO_MATTER;
  const verdict v = !measures && is_much(r, g, &result) ? WENT_ON : NO_MATTER;
  rush_value_release(r->session, &result);
  return v;
}

static void make_given(rig *r, const shape *how, int64_t i, int length, given *g) {
  void *data;
  rush_value items[4];
  OK(rush_tensor_create(r->session, how->dtype, how->rank, how->sizes, &g->tensor, &data));
  if (bytes_of(how) > 0) memset(data, 0, bytes_of(how));
  g->i = i;
  int at = snprintf(g->words, sizeof g->words, "%s[", rush_dtype_name(how->dtype));
  for (int d = 0; d < how->rank; d++)
    at += snprintf(g->words + at, sizeof g->words - (size_t)at, "%s%lld", d ? "," : "",
                   (long long)how->sizes[d]);
  snprintf(g->words + at, sizeof g->words - (size_t)at, "] and %lld", (long long)i);
  for (int k = 0; k < length; k++) items[k] = rush_int(i);
  OK(rush_list_create(r->session, items, (size_t)length, &g->ints));
  items[0] = items[1] = g->tensor;
  OK(rush_list_create(r->session, items, 2, &g->tensors));
}

static void drop_given(rig *r, given *g) {
  rush_value_release(r->session, &g->ints);
  rush_value_release(r->session, &g->tensors);
  rush_value_release(r->session, &g->tensor);
}

/* Tries all subjects with each of the shapes, and with numbers and lists if they take some, until
 * there is a verdict, or always with `always`. Returns how many took too long. */
static size_t try_all(rig *r, const subject *subjects, size_t n, const shape *shapes,
                      size_t n_shapes, verdict *verdicts, bool always) {
  size_t late = 0;
  for (size_t t = 0; t < n_shapes * INTS * LISTS; t++) {
    const size_t ints = t % INTS, list = t / INTS % LISTS;
    const shape *how = shapes + t / (INTS * LISTS);
    const int lengths[LISTS] = {how->rank, 2, 1};
    given g;
    make_given(r, how, (int64_t)ints, lengths[list], &g);
    for (size_t k = 0; k < n; k++) {
      const subject *s = subjects + k;
      const bool again = (ints > 0 && !s->ints) || (list > 0 && !s->lists);
      if ((always || verdicts[k] == NO_MATTER) && !again) verdicts[k] = try_one(r, s, &g, &late);
    }
    drop_given(r, &g);
  }
  return late;
}

static void free_all(rig *r, subject *subjects, size_t n) {
  for (size_t k = 0; k < n; k++) {
    rush_schema_free(r->ctx, &subjects[k].schema);
    free((void *)(uintptr_t)subjects[k].name);
  }
  free(subjects);
}

static void every_operator_looks_whether_to_stop(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  subject *subjects = calloc(rush_op_count(), sizeof *subjects);
  verdict *verdicts = calloc(rush_op_count(), sizeof *verdicts);
  open_plainly(r);
  rush_ctx_set_memory_limit(r->ctx, 1 << 30);
  const size_t n = build_all(r, b, subjects);
  rig_start(r, b);
  for (size_t k = 0; k < n; k++) verdicts[k] = NO_MATTER;
  const size_t late = try_all(r, subjects, n, full, COUNT(full), verdicts, false);
  size_t stopped = 0, wrong = 0;
  for (size_t k = 0; k < n; k++) {
    stopped += verdicts[k] == STOPPED;
    wrong += verdicts[k] == WENT_ON;
    if (verdicts[k] == WENT_ON) print_error("%s does not look whether to stop\n", subjects[k].name);
  }
  assert_int_equal(wrong, 0);
  assert_int_equal(late, 0);
  /* Other operators are views, or refuse these arguments. */
  assert_true(measures || stopped > 400);
  free(verdicts);
  free_all(r, subjects, n);
  rig_close(r);
}

static void every_operator_on_nothing_ends_soon(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  subject *subjects = calloc(rush_op_count(), sizeof *subjects);
  verdict *verdicts = calloc(rush_op_count(), sizeof *verdicts);
  open_plainly(r);
  rush_ctx_set_memory_limit(r->ctx, 1 << 28);
  const size_t n = build_all(r, b, subjects);
  rig_start(r, b);
  assert_int_equal(try_all(r, subjects, n, empty, COUNT(empty), verdicts, true), 0);
  free(verdicts);
  free_all(r, subjects, n);
  rig_close(r);
}

/* ---- Operators with arguments that depend on each other -------------------------------------- */

/* Arguments in words: x is a tensor of zeros with these sizes, and m is where x > 0. zeros[2,3] is
 * another tensor. same[2,3] is one whose elements share one place in memory, and bytes[2,3] is one
 * of int8. */
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
    {"aten::logcumsumexp", {RUSH_FLOAT32, 1, {1 << 26}}, "x 0"},
    {"aten::sort", {RUSH_FLOAT32, 1, {LARGE}}, "x 0 false"},
    {"aten::sort.stable", {RUSH_FLOAT32, 1, {LARGE}}, "x true 0 false"},
    {"aten::topk", {RUSH_FLOAT32, 1, {LARGE}}, "x 100 0 true true"},
    {"aten::kthvalue", {RUSH_FLOAT32, 1, {LARGE}}, "x 100 0 false"},
    {"aten::median.dim", {RUSH_FLOAT32, 1, {LARGE}}, "x 0 false"},
    {"aten::mode", {RUSH_FLOAT32, 1, {LARGE}}, "x 0 false"},
    {"aten::cummax", {RUSH_FLOAT32, 1, {LARGE}}, "x 0"},
    {"aten::_unique2", {RUSH_FLOAT32, 1, {LARGE}}, "x true true true"},
    {"aten::unique_consecutive", {RUSH_FLOAT32, 1, {LARGE}}, "x true true"},
    {"aten::geqrf", {RUSH_FLOAT32, 2, {1000, 1000}}, "x"},
    {"aten::_linalg_eigh", {RUSH_FLOAT32, 2, {1000, 1000}}, "x"},
    {"aten::_linalg_svd", {RUSH_FLOAT32, 2, {1000, 1000}}, "x"},
    {"aten::_fft_r2c", {RUSH_FLOAT32, 1, {LARGE}}, "x [0] 0 true"},
    {"aten::_fft_r2c", {RUSH_FLOAT32, 1, {LARGE - 3}}, "x [0] 0 true"}, /* a prime */
    {"aten::upsample_nearest2d", {RUSH_FLOAT32, 4, {1, 4, 64, 64}}, "x [1024,1024]"},
    {"aten::upsample_bilinear2d", {RUSH_FLOAT32, 4, {1, 1, 64, 64}}, "x [1024,1024] false"},
    {"aten::upsample_bicubic2d", {RUSH_UINT8, 4, {1, 1, 64, 64}}, "x [1024,1024] false"},
    {"aten::_upsample_bicubic2d_aa", {RUSH_FLOAT32, 4, {1, 1, 64, 64}}, "x [1024,1024] false"},
    {"aten::grid_sampler", {RUSH_FLOAT32, 4, {1, 9, 8, 8}}, "x zeros[1,256,128,2] 0 0 false"},
    {"aten::grid_sampler", {RUSH_FLOAT32, 5, {1, 9, 8, 8, 8}}, "x zeros[1,64,64,8,3] 0 0 false"},
    {"aten::grid_sampler", {RUSH_FLOAT32, 4, {1, 1 << 18, 1, 1}}, "x zeros[1,8,8,2] 0 0 false"},
    {"torchvision::roi_align",
     {RUSH_FLOAT32, 4, {1, 1 << 24, 1, 1}},
     "x zeros[1,5] 1.0 1 1 2 true"},
    {"aten::atan2", {RUSH_FLOAT32, 3, {2, 1, 1 << 22}}, "x same[1,2,4194304]"},
    {"aten::scatter_reduce.two", {RUSH_INT64, 1, {1 << 24}}, "x 0 x x 'mean' true"},
    {"aten::lstm_cell", {RUSH_FLOAT32, 2, {1 << 21, 1}}, "x (x,x) zeros[4,1] zeros[4,1]"},
    {"aten::gru_cell", {RUSH_FLOAT32, 2, {1 << 21, 1}}, "x x zeros[3,1] zeros[3,1]"},
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
    {"aten::max_pool1d", {RUSH_FLOAT32, 3, {1, 1, 1 << 26}}, "x [67108864] [1] [0] [1] false"},
    {"aten::max_pool1d", {RUSH_FLOAT64, 3, {1, 1, 1 << 25}}, "x [33554432] [1] [0] [1] false"},
    {"aten::max_pool1d", {RUSH_FLOAT32, 3, {1, 2, 1 << 25}}, "x [33554432] [1] [0] [1] false"},
    {"aten::max_pool2d",
     {RUSH_FLOAT32, 4, {1, 1, 1 << 24, 4}},
     "x [16777216,4] [1,1] [0,0] [1,1] false"},
    {"aten::adaptive_avg_pool1d", {RUSH_FLOAT32, 3, {1, 1, 1 << 26}}, "x [1]"},
    {"aten::adaptive_avg_pool1d", {RUSH_FLOAT32, 3, {1, 2, 1 << 25}}, "x [1]"},
    {"aten::scaled_dot_product_attention",
     {RUSH_FLOAT64, 4, {1, 1, 1 << 21, 4}},
     "x x x None 0.0 false None false"},
    {"aten::scaled_dot_product_attention",
     {RUSH_FLOAT32, 4, {1, 1, 1 << 20, 4}},
     "x x x None 0.0 false None false"},
    {"aten::scaled_dot_product_attention",
     {RUSH_FLOAT32, 4, {1, 1, 1 << 24, 1}},
     "same[1,1,3,1] x x None 0.0 false None false"},
    {"aten::scaled_dot_product_attention",
     {RUSH_FLOAT32, 4, {1, 1, 3, 1 << 23}},
     "x x x None 0.0 false None false"},
    {"rush::linear_weights",
     {RUSH_FLOAT32, 2, {1, 1 << 24}}, /* wasm packs sums of at most 22 million terms */
     "x bytes[1,16777216] same[1,1] None None 8 16777216 16777216 -1.0 1.0 16"},
    {"aten::conv1d", {RUSH_FLOAT32, 3, {1, 1, 1 << 24}}, "x same[1,1,16777216] None [1] [0] [1] 1"},
    {"aten::conv1d", {RUSH_FLOAT32, 3, {1, 1 << 24, 1}}, "x same[1,16777216,1] None [1] [0] [1] 1"},
    {"aten::conv1d",
     {RUSH_FLOAT32, 3, {1, 1 << 21, 3}},
     "x same[2097152,1,3] None [1] [1] [1] 2097152"},
    {"aten::contiguous", {RUSH_FLOAT32, 4, {1, 1 << 22, 9, 1}}, "x 2"},
    {"aten::dot", {RUSH_FLOAT32, 1, {1 << 26}}, "x x"},
    {"aten::repeat_interleave.Tensor", {RUSH_INT64, 1, {1 << 26}}, "x None"},
    {"aten::conv1d", {RUSH_FLOAT32, 3, {1, 64, 1 << 20}}, "x zeros[64,1,3] None [1] [1] [1] 64"},
    {"aten::dot", {RUSH_FLOAT64, 1, {1 << 25}}, "x x"},
    {"aten::mv", {RUSH_FLOAT32, 2, {2, 1 << 25}}, "x same[33554432]"},
    {"torchvision::deform_conv2d",
     {RUSH_FLOAT32, 4, {1, 1, 1, 1 << 22}},
     "x zeros[1,1,1,1] same[1,2,1,4194304] same[1,1,1,4194304] zeros[1] 1 1 0 0 1 1 1 1 true"},
    {"torchvision::deform_conv2d",
     {RUSH_FLOAT32, 4, {1, 0, 1, 1}},
     "x same[67108864,0,1,1] zeros[1,2,1,1] zeros[1,1,1,1] same[67108864] 1 1 0 0 1 1 67108864 1 "
     "true"},
};

/* Reads the numbers of "[2,3]", and moves *text to their end. */
static size_t numbers(const char **text, int64_t *out) {
  size_t n = 0;
  char *end;
  for (*text = strchr(*text, '[') + 1; **text != ']'; *text = *end == ',' ? end + 1 : end)
    out[n++] = strtoll(*text, &end, 10);
  return n;
}

enum { VALUE, INT_LIST = 2, TENSOR_LIST = 4 }; /* types of the file */

static void build_types(builder *b) {
  build_type(b, RUSH_TYPE_ANY);
  build_type(b, RUSH_TYPE_INT);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(1));
  build_type(b, RUSH_TYPE_TENSOR);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(3));
}

static uint32_t build_word(builder *b, const char *word) {
  int64_t n[8];
  uint32_t items[8];
  if (*word == 'x') return 0;
  if (*word == 'm') return CALL("aten::gt.Scalar", VALUE, 0, K(build_int(b, 0)));
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
  if (*word == 's' || *word == 'b') {
    static const int64_t strides[8] = {0};
    const rush_dtype dtype = *word == 's' ? RUSH_FLOAT32 : RUSH_INT8;
    const int rank = (int)numbers(&word, n);
    const uint32_t view = build_view(b, build_storage(b, NULL, 4), dtype, rank, n, strides, 0);
    return K(build_const(b, RUSH_CONST_TENSOR, view, 0, 0));
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

/* Runs the method, which must be interrupted, and closes everything. */
static void try_on(rig *r, const char *name, rush_value *input, size_t *late) {
  rush_value result;
  const rush_status st = run_watched(r, name, 0, input, 1, &result, late);
  if (st == RUSH_OK) rush_value_release(r->session, &result);
  if (!measures && st != RUSH_ERR_INTERRUPTED)
    fail_msg("%s is not interrupted: %s", name, rush_ctx_error(r->ctx));
  rush_value_release(r->session, input);
  rig_close(r);
}

/* Builds the method and runs it on zeros as try_on does. */
static void try_built(builder *b, const char *name, const shape *x, size_t *late) {
  rig rig_, *r = &rig_;
  rush_value input;
  void *data;
  open_plainly(r);
  rig_start(r, b);
  OK(rush_tensor_create(r->session, x->dtype, x->rank, x->sizes, &input, &data));
  if (bytes_of(x) > 0) memset(data, 0, bytes_of(x));
  try_on(r, name, &input, late);
}

static uint32_t results_of(const char *op) {
  const char *text = rush_op_schema(op);
  assert_non_null(text);
  uint32_t n = 1;
  for (text = strstr(text, "-> "); *text; text++) n += *text == ',';
  return n;
}

static void build_first_result(builder *b, const row *how) {
  uint32_t in[16], out[4], n = 0;
  build_types(b);
  build_method(b, "forward", VALUE, 1, U32(VALUE));
  for (const char *word = how->args; word; word = strchr(word, ' '))
    in[n++] = build_word(b, word += *word == ' ');
  const uint32_t results = results_of(how->op);
  for (uint32_t i = 0; i < results; i++) out[i] = build_reg(b, VALUE);
  build_op(b, how->op, n, in, results, out);
  build_return(b, out[0]);
}

static void each_of_these_looks_whether_to_stop(void **state) {
  (void)state;
  size_t late = 0;
  for (size_t k = 0; k < COUNT(rows); k++) {
    builder b_ = {0}, *b = &b_;
    build_first_result(b, rows + k);
    try_built(b, rows[k].op, &rows[k].x, &late);
  }
  assert_int_equal(late, 0);
}

/* ---- A stop at any poll ---------------------------------------------------------------------- */

/* Rows that are much longer than the work between two polls, so that the host may stop the run in
 * any of their loops. */
enum { ROW = 3 << 19 };
#define ROWS_OF(op, dtype, args) {op, {dtype, 1, {ROW}}, args}
#define COLUMNS_OF(op, dtype, args) {op, {dtype, 2, {ROW, 3}}, args}
static const row long_rows[] = {
    ROWS_OF("aten::softmax.int", RUSH_FLOAT32, "x 0"),
    ROWS_OF("aten::softmax.int", RUSH_FLOAT64, "x 0"),
    ROWS_OF("aten::log_softmax.int", RUSH_FLOAT32, "x 0"),
    ROWS_OF("aten::log_softmax.int", RUSH_FLOAT64, "x 0"),
    COLUMNS_OF("aten::softmax.int", RUSH_FLOAT32, "x 0"),
    COLUMNS_OF("aten::softmax.int", RUSH_FLOAT64, "x 0"),
    COLUMNS_OF("aten::log_softmax.int", RUSH_FLOAT32, "x 0"),
    COLUMNS_OF("aten::log_softmax.int", RUSH_FLOAT64, "x 0"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT32, "x [1572864]"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT32, "x [1572864] x"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT32, "x [1572864] None x"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT32, "x [1572864] x x"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT64, "x [1572864]"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT64, "x [1572864] x"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT64, "x [1572864] None x"),
    ROWS_OF("aten::layer_norm", RUSH_FLOAT64, "x [1572864] x x"),
    ROWS_OF("aten::rms_norm", RUSH_FLOAT32, "x [1572864]"),
    ROWS_OF("aten::rms_norm", RUSH_FLOAT32, "x [1572864] x"),
    ROWS_OF("aten::rms_norm", RUSH_FLOAT64, "x [1572864]"),
    ROWS_OF("aten::rms_norm", RUSH_FLOAT64, "x [1572864] x"),
    ROWS_OF("aten::masked_select", RUSH_FLOAT32, "x m"),
    ROWS_OF("aten::masked_select", RUSH_FLOAT64, "x m"),
    ROWS_OF("aten::masked_select", RUSH_UINT8, "x m"),
    ROWS_OF("aten::masked_scatter", RUSH_FLOAT32, "x m x"),
    ROWS_OF("aten::masked_scatter", RUSH_FLOAT64, "x m x"),
    ROWS_OF("aten::masked_scatter", RUSH_UINT8, "x m x"),
    ROWS_OF("aten::cumsum", RUSH_FLOAT32, "x 0 0"),
    ROWS_OF("aten::cumsum", RUSH_FLOAT32, "x 0 3"),
    ROWS_OF("aten::cumsum", RUSH_FLOAT32, "x 0 4"),
    ROWS_OF("aten::cumsum", RUSH_FLOAT32, "x 0 6"),
    ROWS_OF("aten::cumsum", RUSH_FLOAT32, "x 0 7"),
    ROWS_OF("aten::cumsum", RUSH_FLOAT32, "x 0 9"),
    ROWS_OF("aten::cumsum", RUSH_FLOAT32, "x 0 10"),
    ROWS_OF("aten::cumprod", RUSH_FLOAT32, "x 0 0"),
    ROWS_OF("aten::cumprod", RUSH_FLOAT32, "x 0 3"),
    ROWS_OF("aten::cumprod", RUSH_FLOAT32, "x 0 4"),
    ROWS_OF("aten::cumprod", RUSH_FLOAT32, "x 0 6"),
    ROWS_OF("aten::cumprod", RUSH_FLOAT32, "x 0 7"),
    ROWS_OF("aten::cumprod", RUSH_FLOAT32, "x 0 9"),
    ROWS_OF("aten::cumprod", RUSH_FLOAT32, "x 0 10"),
    COLUMNS_OF("aten::cumsum", RUSH_FLOAT32, "x 1 0"),
    COLUMNS_OF("aten::cumsum", RUSH_FLOAT32, "x 1 3"),
    COLUMNS_OF("aten::cumsum", RUSH_FLOAT32, "x 1 4"),
    COLUMNS_OF("aten::cumsum", RUSH_FLOAT32, "x 1 6"),
    COLUMNS_OF("aten::cumsum", RUSH_FLOAT32, "x 1 7"),
    COLUMNS_OF("aten::cumsum", RUSH_FLOAT32, "x 1 9"),
    COLUMNS_OF("aten::cumsum", RUSH_FLOAT32, "x 1 10"),
    COLUMNS_OF("aten::cumprod", RUSH_FLOAT32, "x 1 0"),
    COLUMNS_OF("aten::cumprod", RUSH_FLOAT32, "x 1 3"),
    COLUMNS_OF("aten::cumprod", RUSH_FLOAT32, "x 1 4"),
    COLUMNS_OF("aten::cumprod", RUSH_FLOAT32, "x 1 6"),
    COLUMNS_OF("aten::cumprod", RUSH_FLOAT32, "x 1 7"),
    COLUMNS_OF("aten::cumprod", RUSH_FLOAT32, "x 1 9"),
    COLUMNS_OF("aten::cumprod", RUSH_FLOAT32, "x 1 10"),
    {"aten::logcumsumexp", {RUSH_FLOAT32, 1, {1 << 16}}, "x 0"},
    {"aten::logcumsumexp", {RUSH_FLOAT64, 1, {1 << 16}}, "x 0"},
    ROWS_OF("aten::cummax", RUSH_FLOAT32, "x 0"),
    ROWS_OF("aten::cummax", RUSH_FLOAT64, "x 0"),
    ROWS_OF("aten::cummax", RUSH_INT32, "x 0"),
    ROWS_OF("aten::cummax", RUSH_INT64, "x 0"),
    ROWS_OF("aten::cummax", RUSH_UINT8, "x 0"),
    ROWS_OF("aten::cummin", RUSH_FLOAT32, "x 0"),
    ROWS_OF("aten::cummin", RUSH_FLOAT64, "x 0"),
    ROWS_OF("aten::cummin", RUSH_INT32, "x 0"),
    ROWS_OF("aten::cummin", RUSH_INT64, "x 0"),
    ROWS_OF("aten::cummin", RUSH_UINT8, "x 0"),
    ROWS_OF("aten::sort", RUSH_FLOAT32, "x 0 false"),
    ROWS_OF("aten::sort", RUSH_BOOL, "x 0 false"),
    ROWS_OF("aten::topk", RUSH_FLOAT32, "x 9 0 true true"),
    ROWS_OF("aten::topk", RUSH_FLOAT64, "x 300000 0 true true"),
    ROWS_OF("aten::topk", RUSH_INT32, "x 20000 0 false true"),
    ROWS_OF("aten::kthvalue", RUSH_FLOAT32, "x 1000 0 false"),
    ROWS_OF("aten::kthvalue", RUSH_UINT8, "x 1000000 0 false"),
    ROWS_OF("aten::median", RUSH_FLOAT32, "x"),
    ROWS_OF("aten::median.dim", RUSH_INT32, "x 0 false"),
    ROWS_OF("aten::mode", RUSH_UINT8, "x 0 false"),
    {"aten::scaled_dot_product_attention",
     {RUSH_FLOAT32, 3, {1, 1500, 8}},
     "x x x zeros[1500,1500] 0.0 false"},
    {"aten::scaled_dot_product_attention",
     {RUSH_FLOAT64, 3, {1, 300, 80}},
     "x x x None 0.0 true None"},
    {"aten::scaled_dot_product_attention",
     {RUSH_FLOAT32, 3, {1, 2000000, 2}},
     "same[1,2,2] x x None 0.0 false"},
    {"rush::linear_weights",
     {RUSH_FLOAT32, 2, {2, ROW}},
     "x bytes[9,1572864] same[9,1] None None 8 1572864 1572864 -1.0 1.0 16"},
    ROWS_OF("rush::linear_weights", RUSH_FLOAT32,
            "x bytes[1,1572864] same[1,1] None None 8 1572864 1572864 -1.0 1.0 16"),
    {"aten::conv1d", {RUSH_FLOAT32, 3, {1, 1, 5 << 20}}, "x same[1,1,5242880] None [1] [0] [1] 1"},
};

/* Numbers from -1 to 1, or bytes from 0 to 99. */
static void draw(const shape *x, void *data) {
  uint32_t seed = 1;
  const size_t bytes = bytes_of(x), item = rush_dtype_size(x->dtype);
  memset(data, 0, bytes);
  for (size_t at = 0; at < bytes; at += item) {
    seed = seed * 1664525 + 1013904223;
    char *to = (char *)data + at;
    const double d = (double)(seed >> 8) / (1 << 23) - 1;
    const float f = (float)d;
    if (x->dtype == RUSH_FLOAT32)
      memcpy(to, &f, sizeof f);
    else if (x->dtype == RUSH_FLOAT64)
      memcpy(to, &d, sizeof d);
    else
      *to = (char)(x->dtype == RUSH_BOOL ? seed >> 31 : (seed >> 16) % 100);
  }
}

/* Returns the number of polls. */
static int run_to_poll(rig *r, const rush_value *x, int at, rush_status expected,
                       rush_value *result) {
  stop_watch w = stop_begin(at);
  rush_ctx_set_poll(r->ctx, stop_ask, &w);
  assert_int_equal(rush_session_run(r->session, 0, x, 1, result), expected);
  rush_ctx_set_poll(r->ctx, NULL, NULL);
  return w.looks;
}

static void it_stops_at_any_poll(const row *how) {
  enum { TRIES = 12 };
  rig rig_, *r = &rig_;
  builder b_ = {0};
  rush_value x, result, again;
  rush_tensor_info a, b;
  void *data;
  build_first_result(&b_, how);
  open_plainly(r);
  rig_start(r, &b_);
  OK(rush_tensor_create(r->session, how->x.dtype, how->x.rank, how->x.sizes, &x, &data));
  draw(&how->x, data);
  const int looks = run_to_poll(r, &x, INT_MAX, RUSH_OK, &result);
  if (looks < 2) fail_msg("%s %s has %d polls", how->op, how->args, looks);
  for (int at = 1; at <= looks; at += looks / TRIES + 1)
    run_to_poll(r, &x, at, RUSH_ERR_INTERRUPTED, &again);
  run_to_poll(r, &x, INT_MAX, RUSH_OK, &again);
  OK(rush_tensor_inspect(r->session, &result, &a));
  OK(rush_tensor_inspect(r->session, &again, &b));
  assert_int_equal(a.numel, b.numel);
  assert_memory_equal(a.data, b.data, (size_t)a.numel * rush_dtype_size(a.dtype));
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &result);
  rush_value_release(r->session, &again);
  rig_close(r);
}

/* The next run has the same answer as before. */
static void a_long_row_stops_at_any_poll(void **state) {
  (void)state;
  for (size_t k = 0; k < COUNT(long_rows) && !measures; k++) it_stops_at_any_poll(long_rows + k);
}

/* ---- Large lists ----------------------------------------------------------------------------- */

/* Calls the operator many times. Each call is short. */
static void build_loop_over(builder *b, const char *op, uint32_t n_out, const char *args) {
  const uint32_t yes = K(build_bool(b, true)), most = K(build_int(b, 1 << 20));
  uint32_t in[8], n = 0;
  build_types(b);
  build_method(b, "forward", VALUE, 1, U32(VALUE));
  const uint32_t i = build_reg(b, VALUE), out = build_reg(b, VALUE);
  build_loop(b, most, yes, 0, NULL, NULL, &i);
  for (const char *word = args; word; word = strchr(word, ' '))
    in[n++] = build_word(b, word += *word == ' ');
  build_op(b, op, n, in, n_out, &out);
  build_end_loop(b, yes, 0, NULL);
  build_return(b, most);
}

/* x is a list of many numbers 1, and the last one is 2. */
static void loops_over_large_lists_look(void **state) {
  (void)state;
  static const struct {
    const char *op;
    uint32_t n_out;
    const char *args;
  } uses[] = {{"aten::sum.int", 1, "x"},          {"aten::any.int", 1, "x"},
              {"aten::all.int", 1, "x"},          {"prim::max.self_int", 1, "x"},
              {"prim::max.int_list", 1, "x x"},   {"aten::count.int", 1, "x 1"},
              {"aten::index.list_int", 1, "x 2"}, {"aten::__contains__.int_list", 1, "x 2"},
              {"aten::eq.int_list", 1, "x x"},    {"aten::copy.t", 1, "x"},
              {"aten::list.t", 1, "x"},           {"aten::add.t", 1, "x x"},
              {"aten::mul.left_t", 1, "x 2"},     {"aten::slice.t", 1, "x 1 N 1"},
              {"aten::sorted.int", 1, "x"},       {"aten::sort.int", 0, "x false"},
              {"aten::reverse.t", 0, "x"},        {"aten::pop.t", 1, "x 0"},
              {"aten::Delete.t", 0, "x 0"},       {"aten::remove.int", 0, "x 1"},
              {"aten::insert.t", 0, "x 0 1"},     {"aten::append.t", 1, "x 1"},
              {"aten::extend.t", 0, "x x"},       {"aten::clear.t", 0, "x"}};
  rush_value *items = malloc(LARGE * sizeof *items), list;
  size_t late = 0;
  for (size_t i = 0; i < LARGE; i++) items[i] = rush_int(i == LARGE - 1 ? 2 : 1);
  for (size_t k = 0; k < COUNT(uses); k++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    char name[64];
    snprintf(name, sizeof name, "%s of a large list", uses[k].op);
    build_loop_over(b, uses[k].op, uses[k].n_out, uses[k].args);
    open_plainly(r);
    rig_start(r, b);
    OK(rush_list_create(r->session, items, LARGE, &list));
    try_on(r, name, &list, &late);
  }
  free(items);
  assert_int_equal(late, 0);
}

/* ---- Large strings and quantized tensors ----------------------------------------------------- */

/* Builds a method that calls the operator with the words as arguments. */
static void build_row(builder *b, const char *op, const char *args) {
  uint32_t in[8], n = 0;
  build_types(b);
  build_method(b, "forward", VALUE, 1, U32(VALUE));
  for (const char *word = args; word; word = strchr(word, ' '))
    in[n++] = build_word(b, word += *word == ' ');
  build_return(b, build_call(b, op, VALUE, n, in));
}

/* x is many letters a. */
static void operators_on_large_strings_look(void **state) {
  (void)state;
  enum { LETTERS = 1 << 26 };
  static const struct {
    const char *op, *args;
  } uses[] = {{"aten::find", "x 'b' 0 -1"},
              {"aten::rfind", "x 'b' 0 -1"},
              {"aten::count", "x 'b' 0 -1"},
              {"aten::replace", "x 'b' 'c' -1"},
              {"aten::split.str", "x 'b' -1"},
              {"aten::rsplit", "x 'b' -1"},
              {"aten::upper", "x"},
              {"aten::isalpha", "x"},
              {"aten::strip", "x 'a'"},
              {"aten::add.str", "x x"},
              {"aten::slice.str", "x 1 N 1"}};
  char *letters = malloc(LETTERS);
  size_t late = 0;
  memset(letters, 'a', LETTERS);
  for (size_t k = 0; k < COUNT(uses); k++) {
    rig rig_, *r = &rig_;
    builder b_ = {0};
    rush_value x;
    build_row(&b_, uses[k].op, uses[k].args);
    open_plainly(r);
    rig_start(r, &b_);
    OK(rush_str_create(r->session, letters, LETTERS, &x));
    try_on(r, uses[k].op, &x, &late);
  }
  free(letters);
  assert_int_equal(late, 0);
}

/* The second method makes the quantized tensor that is the input of the first one. */
static void operators_on_large_quantized_tensors_look(void **state) {
  (void)state;
  static const struct {
    const char *op, *args;
    bool floats;
  } uses[] = {{"aten::quantize_per_tensor", "x 0.5 3 13", true},
              {"aten::dequantize.self", "x", false},
              {"rush::quantized_of", "x 0.5 3", true},
              {"rush::floats_of", "x 0", false},
              {"rush::quantized_add", "x x 0.5 3", false},
              {"rush::quantized_sum", "x x 0.5 3 false", false},
              {"rush::quantized_product", "x x 0.5 3 false", false},
              {"rush::quantized_cat", "(x,x) 0 0.5 3 true", false},
              {"rush::mean_of_quantized", "x", false},
              {"aten::relu", "x", false}};
  size_t late = 0;
  for (size_t k = 0; k < COUNT(uses); k++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    rush_value bytes, x;
    void *data;
    const rush_dtype dtype = uses[k].floats ? RUSH_FLOAT32 : RUSH_UINT8;
    build_row(b, uses[k].op, uses[k].args);
    build_method(b, "make", VALUE, 1, U32(VALUE));
    build_return(b, CALL("aten::_make_per_tensor_quantized_tensor", VALUE, 0,
                         K(build_float(b, 0.5)), K(build_int(b, 0))));
    open_plainly(r);
    rig_start(r, b);
    OK(rush_tensor_create(r->session, dtype, 3, SIZES(1, 4, LARGE), &bytes, &data));
    memset(data, 0, 4 * LARGE * (uses[k].floats ? sizeof(float) : 1));
    if (!uses[k].floats) {
      OK(rush_session_run(r->session, 1, &bytes, 1, &x));
      rush_value_release(r->session, &bytes);
    }
    try_on(r, uses[k].op, uses[k].floats ? &bytes : &x, &late);
  }
  assert_int_equal(late, 0);
}

/* Scales per channel of an empty tensor are many, too. */
static void scales_of_an_empty_tensor_look(void **state) {
  (void)state;
  enum { CHANNELS = 1 << 24 };
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  rush_value x;
  void *data;
  size_t late = 0;
  build_types(b);
  build_method(b, "forward", VALUE, 1, U32(VALUE));
  uint32_t of[2];
  for (int k = 0; k < 2; k++) {
    const uint32_t view = build_view(b, build_storage(b, NULL, 8), k ? RUSH_INT64 : RUSH_FLOAT64, 1,
                                     SIZES(CHANNELS), SIZES(0), 0);
    of[k] = K(build_const(b, RUSH_CONST_TENSOR, view, 0, 0));
  }
  build_return(b, CALL("aten::quantize_per_channel", VALUE, 0, of[0], of[1], K(build_int(b, 0)),
                       K(build_int(b, RUSH_QINT8))));
  ((double *)(void *)b->weights)[0] = 1;
  open_plainly(r);
  rig_start(r, b);
  OK(rush_tensor_create(r->session, RUSH_FLOAT32, 2, SIZES(CHANNELS, 0), &x, &data));
  try_on(r, "quantize_per_channel of nothing", &x, &late);
  assert_int_equal(late, 0);
}

/* ---- Large structures that are freed --------------------------------------------------------- */

enum { STRUCTURE = 1 << 20 }; /* containers */

/* These add one container to the register `all`, in a loop. */
static void add_list(builder *b, uint32_t all) {
  CALL("aten::append.t", VALUE, all, CALL("prim::ListConstruct", VALUE, all));
}
static void add_tuple(builder *b, uint32_t all) {
  CALL("aten::append.t", VALUE, all, CALL("prim::TupleConstruct", VALUE, K(build_int(b, 1))));
}
/* The last item of `all` holds the one before, and so on. */
static void nest(builder *b, uint32_t all) {
  const uint32_t inner = CALL("aten::pop.t", VALUE, all, K(build_int(b, -1)));
  CALL("aten::append.t", VALUE, all, CALL("prim::ListConstruct", VALUE, inner));
}
/* A list in itself, which only the search for cycles frees. */
static void lose_list(builder *b, uint32_t all) {
  const uint32_t list = CALL("prim::ListConstruct", VALUE, all);
  CALL("aten::append.t", VALUE, list, list);
}

/* Builds the structure, prints, and ends. */
static void build_structure(builder *b, void (*add)(builder *b, uint32_t all)) {
  const uint32_t yes = K(build_bool(b, true)), most = K(build_int(b, STRUCTURE));
  build_type(b, RUSH_TYPE_ANY);
  build_method(b, "forward", VALUE, 1, U32(VALUE));
  const uint32_t i = build_reg(b, VALUE), all = CALL("prim::ListConstruct", VALUE, most);
  build_loop(b, most, yes, 0, NULL, NULL, &i);
  add(b, all);
  build_end_loop(b, yes, 0, NULL);
  build_op(b, "prim::Print", 1, U32(most), 0, NULL);
  CALL("aten::len.t", VALUE, all);
  build_return(b, most);
}

/* rush_print_fn: the host asks to stop as soon as the program prints. */
static void ask_from_now_on(void *watch, const char *text, size_t size) {
  (void)text, (void)size;
  *(stop_watch *)watch = stop_begin(1);
}

/* Values that are dropped at the end of a run are freed in pieces. The next run frees what is
 * left. */
static void the_end_of_a_run_can_be_stopped(void **state) {
  (void)state;
  static const struct {
    const char *name;
    void (*add)(builder *b, uint32_t all);
  } uses[] = {{"the end of a run with a ring of lists", add_list},
              {"the end of a run with a list of tuples", add_tuple},
              {"the end of a run with nested lists", nest},
              {"the end of a run with lists in themselves", lose_list}};
  size_t late = 0;
  for (size_t k = 0; k < COUNT(uses); k++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    rush_value x = rush_int(1), result;
    build_structure(b, uses[k].add);
    open_plainly(r);
    rig_start(r, b);
    rush_session_trim(r->session);
    const size_t live = r->counter.live;
    stop_watch w = stop_begin(INT_MAX);
    rush_ctx_set_poll(r->ctx, stop_ask, &w);
    rush_ctx_set_print(r->ctx, ask_from_now_on, &w);
    assert_int_equal(rush_session_run(r->session, 0, &x, 1, &result), RUSH_ERR_INTERRUPTED);
    stop_see(&w);
    late += judge(uses[k].name, &w);
    rush_ctx_set_print(r->ctx, NULL, NULL);
    rush_ctx_set_poll(r->ctx, NULL, NULL);
    OK(rush_session_run(r->session, 0, &x, 1, &result));
    rush_session_trim(r->session);
    assert_int_equal(r->counter.live, live);
    rig_close(r);
  }
  assert_int_equal(late, 0);
}

/* ---- Values that share themselves ------------------------------------------------------------ */

/* v = 1, then LEVELS times v = [v, v]: LEVELS containers, and 2^LEVELS paths to the number. */
enum { ANY, LEVELS = 30 };

static uint32_t build_shared(builder *b, const char *construct) {
  uint32_t v = K(build_int(b, 1));
  for (int k = 0; k < LEVELS; k++) v = build_call(b, construct, ANY, 2, U32(v, v));
  return v;
}
static uint32_t lists(builder *b) {
  return build_shared(b, "prim::ListConstruct");
}
static uint32_t tuples(builder *b) {
  return build_shared(b, "prim::TupleConstruct");
}

static uint32_t in_isinstance(builder *b) {
  uint32_t type = build_type(b, RUSH_TYPE_INT);
  for (int k = 0; k < LEVELS; k++) type = build_type_n(b, RUSH_TYPE_LIST, 1, U32(type));
  type = build_type_n(b, RUSH_TYPE_TUPLE, 1, U32(type));
  type = build_type_n(b, RUSH_TYPE_LIST, 1, U32(type));
  const uint32_t types = K(build_items(b, RUSH_CONST_LIST, type, 0, NULL));
  return CALL("prim::isinstance", ANY, lists(b), types);
}
static uint32_t in_str(builder *b) {
  return CALL("aten::str", ANY, lists(b));
}
static uint32_t in_format(builder *b) {
  const uint32_t text = K(build_const(b, RUSH_CONST_STR, build_str(b, "{}"), 0, 0));
  return CALL("aten::format", ANY, text, lists(b));
}
static uint32_t in_hash(builder *b) {
  return CALL("aten::hash.generic", ANY, tuples(b));
}
static uint32_t in_keys(builder *b) {
  const uint32_t one = K(build_int(b, 1));
  return CALL("prim::DictConstruct", ANY, tuples(b), one, tuples(b), one);
}
static uint32_t in_sorted(builder *b) {
  const uint32_t list = CALL("prim::ListConstruct", ANY, tuples(b), tuples(b));
  return CALL("aten::sorted.any", ANY, list);
}
static uint32_t in_print(builder *b) {
  build_op(b, "prim::Print", 1, U32(lists(b)), 0, NULL);
  return K(build_none(b));
}

static void each_of_these_stops_in_a_value_that_shares_itself(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t (*use)(builder *b);
  } uses[] = {{"isinstance of shared lists", in_isinstance},
              {"str of shared lists", in_str},
              {"format of shared lists", in_format},
              {"hash of shared tuples", in_hash},
              {"shared tuples as keys", in_keys},
              {"sorted shared tuples", in_sorted},
              {"print of shared lists", in_print}};
  size_t late = 0;
  for (size_t k = 0; k < COUNT(uses); k++) {
    builder b_ = {0}, *b = &b_;
    build_type(b, RUSH_TYPE_ANY);
    build_method(b, "forward", ANY, 1, U32(ANY));
    build_return(b, uses[k].use(b));
    try_built(b, uses[k].name, &(shape){RUSH_FLOAT32, 0, {0}}, &late);
  }
  assert_int_equal(late, 0);
}

/* A value of the host with shared parts is traversed when it becomes an input. */
static void an_input_that_shares_itself_is_interrupted(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  size_t late = 0;
  uint32_t type = build_type(b, RUSH_TYPE_INT);
  for (int k = 0; k < LEVELS; k++) type = build_type_n(b, RUSH_TYPE_LIST, 1, U32(type));
  build_method(b, "forward", type, 1, U32(type));
  build_return(b, 0);
  open_plainly(r);
  rig_start(r, b);
  rush_value v = rush_int(1), result;
  for (int k = 0; k < LEVELS; k++) {
    const rush_value twice[] = {v, v};
    OK(rush_list_create(r->session, twice, 2, &result));
    rush_value_release(r->session, &v);
    v = result;
  }
  const rush_status st = run_watched(r, "an input of shared lists", 0, &v, 1, &result, &late);
  assert_true(measures || st == RUSH_ERR_INTERRUPTED);
  assert_int_equal(late, 0);
  if (st == RUSH_OK) rush_value_release(r->session, &result);
  rush_value_release(r->session, &v);
  rig_close(r);
}

/* ---- Weights that are copied ----------------------------------------------------------------- */

static void a_session_with_large_state_looks(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  const int64_t sizes[] = {1 << 24};
  build_types(b);
  build_attribute(b, "state", 3, build_tensor(b, RUSH_FLOAT32, 1, sizes, NULL));
  build_method(b, "forward", VALUE, 1, U32(VALUE));
  build_return(b, 0);
  open_plainly(r);
  rig_load(r, b);
  stop_watch w = stop_begin(1);
  rush_ctx_set_poll(r->ctx, stop_ask, &w);
  assert_int_equal(rush_session_create(r->ctx, r->model, &r->session), RUSH_ERR_INTERRUPTED);
  rush_ctx_set_poll(r->ctx, NULL, NULL);
  OK(rush_session_create(r->ctx, r->model, &r->session));
  rig_close(r);
}

static void a_repeated_pattern_looks(void **state) {
  (void)state;
  enum { MOST = 1 << 26 };
  const uint8_t pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  rig rig_, *r = &rig_;
  rig_open(r);
  uint8_t *data = malloc(MOST);
  for (size_t n = 0; n < 70; n++) {
    memset(data, 0, 80);
    OK(rush_repeat(r->ctx, data, n, pattern));
    for (size_t i = 0; i < 80; i++) assert_int_equal(data[i], i < n ? pattern[i % 8] : 0);
  }
  stop_watch w = stop_begin(1);
  rush_ctx_set_poll(r->ctx, stop_ask, &w);
  assert_int_equal(rush_repeat(r->ctx, data, MOST, pattern), RUSH_ERR_INTERRUPTED);
  free(data);
  rig_close(r);
}

int main(int argc, char **argv) {
  measures = argc > 1 && strcmp(argv[1], "--times") == 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_of_these_looks_whether_to_stop),
      cmocka_unit_test(a_long_row_stops_at_any_poll),
      cmocka_unit_test(loops_over_large_lists_look),
      cmocka_unit_test(operators_on_large_strings_look),
      cmocka_unit_test(operators_on_large_quantized_tensors_look),
      cmocka_unit_test(scales_of_an_empty_tensor_look),
      cmocka_unit_test(the_end_of_a_run_can_be_stopped),
      cmocka_unit_test(each_of_these_stops_in_a_value_that_shares_itself),
      cmocka_unit_test(an_input_that_shares_itself_is_interrupted),
      cmocka_unit_test(a_session_with_large_state_looks),
      cmocka_unit_test(a_repeated_pattern_looks),
      cmocka_unit_test(every_operator_looks_whether_to_stop),
      cmocka_unit_test(every_operator_on_nothing_ends_soon)};
  return cmocka_run_group_tests_name("stops", tests, NULL, NULL);
}
