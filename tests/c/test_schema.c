/* Tests model/schema and ops/registry: every row of ops.def is parsed, and its defaults equal those
 * of torch. */
#include "harness.h"
#include "model/constant.h"

static void every_row_parses(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  assert_true(rush_op_count() > 50);
  for (size_t i = 0; i < rush_op_count(); i++) {
    const rush_op *op = rush_op_at(i);
    rush_schema s;
    rush_value defaults[RUSH_SCHEMA_MAX_ARGS];
    if (rush_schema_parse(r->ctx, op->schema, &s) != RUSH_OK)
      fail_msg("%s", rush_ctx_error(r->ctx));
    assert_true(s.n_required <= s.n_args);
    if ((op->flags & RUSH_OP_INPLACE) &&
        (s.n_args == 0 || s.args[0].kinds != RUSH_KIND_BIT(RUSH_KIND_TENSOR)))
      fail_msg("%s: an in-place form writes its first argument, which is not a tensor", op->schema);
    OK(rush_defaults_make(&heap, &s, defaults));
    for (uint32_t k = 0; k < s.n_args; k++) {
      const rush_schema_arg *a = s.args + k;
      if (k >= s.n_required && !(a->kinds & RUSH_KIND_BIT(defaults[k].kind)))
        fail_msg("%s: the default of '%.*s' is %s", op->schema, (int)a->name_size, a->name,
                 rush_kind_name(defaults[k].kind));
      rush_drop(&heap, defaults + k);
    }
    rush_schema_free(r->ctx, &s);
  }
  rush_heap_trim(&heap);
  rig_close(r);
}

static void every_name_is_found_and_stands_once(void **state) {
  (void)state;
  for (size_t i = 0; i < rush_op_count(); i++) {
    char name[128];
    bool inplace;
    const rush_op *op = rush_op_at(i);
    size_t n = strcspn(op->schema, "(");
    assert_true(n > 0 && n < sizeof name);
    memcpy(name, op->schema, n);
    name[n] = '\0';
    if (rush_op_find(name, &inplace) != op) fail_msg("%s stands twice in ops.def", name);
    assert_false(inplace);
    assert_true(rush_has_op(name));
    assert_ptr_equal(rush_op_schema(name), op->schema);
  }
  assert_null(rush_op_at(rush_op_count()));
  assert_false(rush_has_op("aten::no_such_operator"));
  assert_false(rush_has_op(""));
  assert_false(rush_has_op("_"));
  assert_false(rush_has_op("aten::"));
  assert_null(rush_op_schema("aten::no_such_operator"));
  assert_null(rush_op_schema("aten::relu_.no_such_overload"));
}

/* linalg_matmul uses the function of matmul, so it also packs its weights. */
static void rows_of_one_function_prepare_alike(void **state) {
  (void)state;
  size_t compared = 0;
  for (size_t i = 0; i < rush_op_count(); i++) {
    const rush_op *op = rush_op_at(i);
    for (size_t k = 0; op->prepare && k < rush_op_count(); k++) {
      if (rush_op_at(k)->run != op->run) continue;
      compared += k != i;
      if (rush_op_at(k)->prepare != op->prepare)
        fail_msg("%s packs and %s does not", op->schema, rush_op_at(k)->schema);
    }
  }
  assert_true(compared > 0);
}

static void an_inplace_name_finds_its_row(void **state) {
  (void)state;
  bool inplace;
  for (size_t i = 0; i < rush_op_count(); i++) {
    const rush_op *op = rush_op_at(i);
    char name[128];
    if (!(op->flags & RUSH_OP_INPLACE)) continue;
    size_t head = strcspn(op->schema, ".("), all = strcspn(op->schema, "(");
    snprintf(name, sizeof name, "%.*s_%.*s", (int)head, op->schema, (int)(all - head),
             op->schema + head);
    const rush_op *found = rush_op_find(name, &inplace);
    if (!found) fail_msg("%s is not found", name);
    if (inplace) assert_ptr_equal(found, op); /* otherwise it has its own row */
  }
  assert_null(rush_op_find("aten::view_", &inplace)); /* views have no in-place form */
}

/* A schema, and each argument as "name:kinds=default". A * marks a written argument. */
static const struct {
  const char *schema, *says;
} rows[] = {
    {"a::f() -> ()", "0 args, 0 required, 0 results"},
    {"a::f(Tensor x) -> Tensor", "1 args, 1 required, 1 results; x:Tensor"},
    {"a::f(Tensor(a!) x, *, float y=0.5, int z=-3, bool b=True) -> (Tensor(a!), Tensor)",
     "4 args, 1 required, 2 results; x:Tensor*, y:float=0.5, z:int=-3, b:bool=true"},
    {"a::f(Tensor? w=None, int[] d=[], int[2] s=1, int[1] t=[0, 1]) -> Tensor[]",
     "4 args, 0 required, 1 results; w:None|Tensor=None, d:list=[], s:list=[1], t:list=[0, 1]"},
    {"a::f(Scalar s, Scalar? t=None, number u=1) -> float",
     "3 args, 1 required, 1 results; s:int|float|bool, t:None|int|float|bool=None, "
     "u:int|float|bool=1"},
    {"a::f(float eps=1e-05, float inf=inf, str mode=\"mean\", int r=Mean, ScalarType? d=None) -> "
     "Tensor",
     "5 args, 0 required, 1 results; eps:float=1e-05, inf:float=inf, mode:str='mean', r:int=1, "
     "d:None|int=None"},
    {"a::f(Tensor(a -> *) self, SymInt n, Tensor?[] i) -> Tensor(a)[]",
     "3 args, 3 required, 1 results; self:Tensor, n:int, i:list"},
    {"a::f(Tensor(a!)[] out, t[](b!) l, t el) -> t[](b!)",
     "3 args, 3 required, 1 results; out:list*, l:list*, el:any"},
    {"a::f(Dict(str, t)(a!) self, Future(t) x, (Tensor, int) p) -> (Tensor a, Tensor b, int c)",
     "3 args, 3 required, 3 results; self:dict*, x:any, p:tuple"},
    {"a::f(float f=2, int i=2, Device? device=None) -> str",
     "3 args, 0 required, 1 results; f:float=2, i:int=2, device:None|Device=None"},
    {"a::f(...) -> ...", "0 args, 0 required, 0 results"},
};

static void put_kinds(char *to, size_t room, rush_kinds kinds) {
  size_t at = strlen(to);
  if (kinds == RUSH_KINDS_ANY) {
    snprintf(to + at, room - at, "any");
    return;
  }
  bool first = true;
  for (uint32_t k = 0; k < 15; k++) {
    if (!(kinds & RUSH_KIND_BIT(k))) continue;
    at = strlen(to);
    snprintf(to + at, room - at, "%s%s", first ? "" : "|", rush_kind_name(k));
    first = false;
  }
}

static void schemas_mean_what_torch_means(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rush_schema s;
    char said[1024];
    rush_value defaults[RUSH_SCHEMA_MAX_ARGS];
    OK(rush_schema_parse(r->ctx, rows[i].schema, &s));
    OK(rush_defaults_make(&heap, &s, defaults));
    snprintf(said, sizeof said, "%u args, %u required, %u results", s.n_args, s.n_required,
             s.n_results);
    for (uint32_t k = 0; k < s.n_args; k++) {
      const rush_schema_arg *a = s.args + k;
      size_t at = strlen(said);
      snprintf(said + at, sizeof said - at, "%s%.*s:", k ? ", " : "; ", (int)a->name_size, a->name);
      put_kinds(said, sizeof said, a->kinds);
      at = strlen(said);
      if (a->written) snprintf(said + at, sizeof said - at, "*");
      if (a->otherwise != RUSH_DEFAULT_ABSENT)
        snprintf(said + at, sizeof said - at, "=%s", show(r, defaults + k));
      rush_drop(&heap, defaults + k);
    }
    assert_string_equal(said, rows[i].says);
    rush_schema_free(r->ctx, &s);
  }
  rush_heap_trim(&heap);
  rig_close(r);
}

static void a_broken_schema_is_refused(void **state) {
  (void)state;
  static const char *const broken[] = {"a::f",
                                       "a::f(",
                                       "a::f(Tensor x)",
                                       "a::f(Tensor x = y) -> Tensor",
                                       "a::f(Tensor x) ->",
                                       "a::f(=) -> Tensor"};
  rig rig_, *r = &rig_;
  rig_open(r);
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    rush_schema s;
    if (rush_schema_parse(r->ctx, broken[i], &s) == RUSH_OK)
      fail_msg("'%s' is accepted", broken[i]);
    assert_contains(broken[i], rush_ctx_error(r->ctx), "expected ");
  }
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_parses),
      cmocka_unit_test(every_name_is_found_and_stands_once),
      cmocka_unit_test(rows_of_one_function_prepare_alike),
      cmocka_unit_test(an_inplace_name_finds_its_row),
      cmocka_unit_test(schemas_mean_what_torch_means),
      cmocka_unit_test(a_broken_schema_is_refused),
  };
  return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
