/* Tests randomly damaged files that once crashed or hung. Each one loads or gives a message, and
 * its run soon ends with an answer, a message or the host's request to stop. */
#include "harness.h"
#include "model/model.h"

/* The number of polls of the host; there is one about every millisecond of work. */
enum { MOST_LOOKS = 200 };

static bool count_looks(void *user) {
  return ++*(int *)user > MOST_LOOKS;
}

static uint8_t *read_file(const char *name, size_t *size) {
  char path[512];
  snprintf(path, sizeof path, "%s/../fuzz/corpus/files/%s.rush", RUSH_TEST_DIR, name);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("there is no %s", path);
  uint8_t *bytes = malloc(1 << 20);
  assert_non_null(bytes);
  *size = fread(bytes, 1, 1 << 20, f);
  fclose(f);
  return bytes;
}

static void describe_all(rig *r) {
  for (int form = 0; form <= RUSH_DESCRIBE_TORCH_CODE; form++) {
    char *text;
    size_t n;
    if (rush_model_describe(r->ctx, r->model, (rush_describe_form)form, &text, &n) == RUSH_OK)
      rush_free(r->ctx, text, n);
  }
}

/* Makes a value of an input's type. Its sizes are those of the file's hint if they are small. */
static rush_value any_tensor(rig *r, const rush_file_hint *hint) {
  rush_value v;
  void *data;
  rush_tensor_info info;
  int64_t sizes[RUSH_MAX_RANK] = {2, 3, 4, 5};
  int rank = 2;
  rush_dtype dtype = RUSH_FLOAT32;
  if (hint && hint->rank <= 4) {
    rank = hint->rank;
    for (int d = 0; d < rank; d++)
      if (hint->sizes[d] >= 0 && hint->sizes[d] <= 64) sizes[d] = hint->sizes[d];
    if (rush_has_dtype(hint->dtype)) dtype = (rush_dtype)hint->dtype;
  }
  OK(rush_tensor_create(r->session, dtype, rank, sizes, &v, &data));
  OK(rush_tensor_inspect(r->session, &v, &info));
  memset(data, 0, (size_t)info.numel); /* sets some bytes; counter_alloc has set the others */
  return v;
}

static rush_value any_value(rig *r, uint32_t type, const rush_file_hint *hint) {
  const rush_file_type *t = r->model->types + type;
  const uint32_t *children = t->n > 0 ? r->model->lists + t->list : NULL;
  rush_value v = rush_none(), items[8];
  switch (t->kind) {
    case RUSH_TYPE_TENSOR:
      return any_tensor(r, hint);
    case RUSH_TYPE_INT:
      return rush_int(3);
    case RUSH_TYPE_FLOAT:
      return rush_float(0.5);
    case RUSH_TYPE_BOOL:
      return rush_bool(true);
    case RUSH_TYPE_STR:
      OK(rush_str_create(r->session, "text", 4, &v));
      return v;
    case RUSH_TYPE_LIST:
    case RUSH_TYPE_TUPLE:
    case RUSH_TYPE_DICT: {
      size_t n = t->kind == RUSH_TYPE_TUPLE ? t->n : 2;
      for (size_t k = 0; k < n && k < 8; k++)
        items[k] = any_value(r, t->kind == RUSH_TYPE_LIST ? *children : children[k], NULL);
      if (n > 8) n = 8;
      OK((t->kind == RUSH_TYPE_LIST    ? rush_list_create
          : t->kind == RUSH_TYPE_TUPLE ? rush_tuple_create
                                       : rush_dict_create)(r->session, items, n, &v));
      for (size_t k = 0; k < n; k++) rush_value_release(r->session, items + k);
      return v;
    }
    default:
      return v;
  }
}

static void run_all(rig *r, int *looks) {
  for (uint32_t m = 0; m < r->model->n_methods && m < 8; m++) {
    const rush_file_method *f = r->model->methods + m;
    rush_value args[8], result;
    uint32_t n = f->n_inputs < 8 ? f->n_inputs : 8;
    for (uint32_t k = 0; k < n; k++) {
      const rush_file_port *p = r->model->ports + f->inputs + k;
      args[k] = any_value(r, p->type, p->hint == RUSH_NONE ? NULL : r->model->hints + p->hint);
    }
    *looks = 0;
    rush_status st = rush_session_run(r->session, m, args, n, &result);
    if (st != RUSH_OK && rush_ctx_error(r->ctx)[0] == '\0') fail_msg("method %u: no message", m);
    assert_true(*looks <= MOST_LOOKS + 1);
    rush_value_release(r->session, &result);
    for (uint32_t k = 0; k < n; k++) rush_value_release(r->session, args + k);
  }
}

static void try_file(const char *name) {
  rig rig_, *r = &rig_;
  size_t size;
  int looks = 0;
  uint8_t *file = read_file(name, &size);
  rig_open(r);
  rush_ctx_set_poll(r->ctx, count_looks, &looks);
  rush_ctx_set_memory_limit(r->ctx, 256 << 20);
  rush_status st = rush_model_load(r->ctx, file, size, &r->model);
  if (st != RUSH_OK) {
    assert_int_not_equal(rush_ctx_error(r->ctx)[0], '\0');
  } else {
    describe_all(r);
    if (rush_session_create(r->ctx, r->model, &r->session) == RUSH_OK) run_all(r, &looks);
  }
  free(file);
  rig_close(r);
}

static void damaged_files_end(void **state) {
  (void)state;
  static const char *const names[] = {
      "nested-value-1", "nested-value-2", "nested-value-3", "nested-value-4", "nested-value-5",
      "nested-value-6", "endless-load-1", "endless-run-1",  "endless-run-2",  "endless-run-3",
      "endless-run-4",  "endless-run-5",  "endless-run-6",  "endless-run-7",  "endless-run-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) try_file(names[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_files_end)};
  return cmocka_run_group_tests_name("damaged", tests, NULL, NULL);
}
