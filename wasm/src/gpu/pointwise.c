/* Pointwise rows as generated WGSL: one row, or several that follow each other (rush::chain). */
#include <math.h>

#include "gpu/pointwise_program.h"

enum {
  /* The words of a program: 8 has the number of elements, and a walk has 16 to 56. */
  ELEMENTS = 8,
  LOW_WORDS = 15,
  HIGH_WORDS = 57,
};

/* Returns the word of parameter i. */
static unsigned word_of(unsigned i) {
  return i < ELEMENTS ? i : i < LOW_WORDS ? i + 1 : HIGH_WORDS + (i - LOW_WORDS);
}

/* ---- The text -------------------------------------------------------------------------------- */

static void write_operand(rush_text *t, char name, uint8_t from, const char *types) {
  const unsigned k = from - RUSH_GPU_OUTSIDE;
  if (from < RUSH_GPU_STEPS)
    rush_text_add(t, "let %c = v%u;\n", name, from);
  else if (from >= RUSH_GPU_NUMBER)
    rush_text_add(t, "let %c = number(%uu);\n", name, word_of(from - RUSH_GPU_NUMBER));
  else if (types[k] == 'u')
    rush_text_add(t, "let %c = ((in%u[a%u >> 2u] >> ((a%u & 3u) * 8u)) & 0xffu) != 0u;\n", name, k,
                  k, k);
  else if (types[k] == 'i')
    rush_text_add(t, "let %c = float_of(in%u[2u * a%u], in%u[2u * a%u + 1u]);\n", name, k, k, k, k);
  else
    rush_text_add(t, "let %c = in%u[a%u];\n", name, k, k);
}

static void write_step(rush_text *t, const rush_gpu_program *p, int k) {
  const rush_gpu_step *s = p->steps + k;
  rush_text_add(t, "var v%d: %s;\n{\n", k, s->tests ? "bool" : "f32");
  for (int i = 0; i < s->n; i++) write_operand(t, "xyzw"[i], s -> in[i], p -> types);
  for (int i = 0; i < 3; i++)
    if (s->params[i]) write_operand(t, "stu"[i], s -> params[i], p -> types);
  rush_text_add(t, "v%d = %s;\n}\n", k, s->text);
}

/* Begins a kernel whose thread i has `each` elements from each * i on. */
static void write_main(rush_text *t, int each) {
  rush_text_add(t,
                "@compute @workgroup_size(%d) fn main(@builtin(workgroup_id) g: vec3<u32>, "
                "@builtin(num_workgroups) ng: vec3<u32>, @builtin(local_invocation_index) l: u32) "
                "{\nlet i = group_of(g, ng) * %du + l;\nif (%du * i >= word(8u)) { return; }\n",
                RUSH_GPU_GROUP, RUSH_GPU_GROUP, each);
}

enum { BYTES = 4 /* of a word: the elements of a thread that computes bool */ };

static bool gives_bool(const rush_gpu_program *p) {
  return p->steps[p->n - 1].tests;
}

/* Writes the function that computes element i. */
static void write_element(rush_text *t, const rush_gpu_program *p) {
  rush_text_add(t, "fn element(i: u32) -> %s {\n", gives_bool(p) ? "bool" : "f32");
  rush_gpu_write_walk(t, &p->walk);
  for (int k = 0; k < p->n; k++) write_step(t, p, k);
  rush_text_add(t, "return v%d;\n}\n", p->n - 1);
}

static void write_program(rush_text *t, const void *what) {
  const rush_gpu_program *p = what;
  const char *texts[RUSH_GPU_STEPS];
  for (int k = 0; k < p->n; k++) texts[k] = p->steps[k].text;
  rush_gpu_functions(t, texts, p->n);
  bool integers = false;
  for (int k = 0; k < p->n_outside; k++) integers = integers || p->types[k] == 'i';
  if (integers) rush_gpu_write_integers(t);
  write_element(t, p);
  write_main(t, gives_bool(p) ? BYTES : 1);
  rush_text_add(t, "%s",
                gives_bool(p) ? "var w = 0u;\n"
                                "for (var k = 0u; k < 4u && 4u * i + k < word(8u); k++) "
                                "{ w |= select(0u, 1u << (8u * k), element(4u * i + k)); }\n"
                                "out[i] = w;\n}\n"
                              : "out[i] = element(i);\n}\n");
}

/* ---- Which text ------------------------------------------------------------------------------ */

static const char between[] = "limit(x, s, t)";
static const char low[] = "select(x, y, x < y && !isnan(x))";
static const char high[] = "select(x, y, x > y && !isnan(x))";

/* Returns the text for a row whose preparation may have chosen another body, or NULL. */
static const char *text_of(const rush_call *c, const rush_gpu_row *row, const rush_pw_plan *plan) {
  const bool swapped = plan->job.row != c->op->family;
  switch (row->number) {
    case RUSH_GPU_ANY_BODY:
      return row->text;
    case RUSH_GPU_GELU:
      return swapped ? "gelu_tanh(x)" : row->text;
    case RUSH_GPU_CLAMP:
      if (plan->job.n == 1) return between;
      if (plan->job.n == 3) return "smaller(larger(x, y), z)";
      if (c->args[plan->job.arg[1]].kind == RUSH_KIND_TENSOR) return NULL;
      return plan->job.arg[1] == 1 ? low : high;
    case RUSH_GPU_LOW:
      return plan->o.t[1] || isnan(arg_scalar_double(c, 1)) ? "larger(x, y)" : low;
    case RUSH_GPU_HIGH:
      return plan->o.t[1] || isnan(arg_scalar_double(c, 1)) ? "smaller(x, y)" : high;
    case RUSH_GPU_POWER: {
      const double e = arg_scalar_double(c, 1);
      return e == 2      ? "x * x"
             : e == 3    ? "x * x * x"
             : e == 0.5  ? "sqrt_(x)"
             : e == -1   ? "div_(1.0, x)"
             : e == -2   ? "div_(1.0, x * x)"
             : e == -0.5 ? "div_(1.0, sqrt_(x))"
                         : NULL;
    }
    default:
      return swapped ? NULL : row->text;
  }
}

static bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns whether a text names a variable of one letter. */
static bool names(const char *text, char name) {
  for (const char *at = text; *at; at++)
    if (*at == name && (at == text || !is_in_name(at[-1])) && !is_in_name(at[1])) return true;
  return false;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static bool add_number(rush_gpu_program *p, float v, uint8_t *from) {
  if (p->n_numbers == RUSH_GPU_NUMBERS) return false;
  p->numbers[p->n_numbers] = v;
  *from = (uint8_t)(RUSH_GPU_NUMBER + p->n_numbers++);
  return true;
}

static bool add_outside(rush_gpu_program *p, const rush_tensor *t, rush_dtype dtype,
                        uint8_t *from) {
  const bool converts = dtype == RUSH_FLOAT32 && t->dtype == RUSH_INT64;
  const char type = dtype == RUSH_BOOL ? 'u' : converts ? 'i' : 'f';
  int k = 0;
  while (k < p->n_outside && (p->outside[k] != t || p->types[k] != type)) k++;
  *from = (uint8_t)(RUSH_GPU_OUTSIDE + k);
  if (k < p->n_outside) return true;
  if (k == RUSH_GPU_OPERANDS || (t->dtype != dtype && !converts)) return false;
  if (type == 'f' ? !rush_gpu_can_read(t) : !rush_gpu_can_read_bytes(t)) return false;
  p->types[k] = type;
  p->outside[p->n_outside++] = t;
  return true;
}

/* Reads a tensor that is a single number, if memory has its bytes. Returns false otherwise. */
static bool read_number(const rush_tensor *t, float *v) {
  if (t->rank > 0 || !t->storage->data || rush_gpu_only_there(t)) return false;
  double wide;
  switch (t->dtype) {
    case RUSH_FLOAT32:
      memcpy(v, rush_data(t), sizeof *v);
      return true;
    case RUSH_FLOAT64:
      memcpy(&wide, rush_data(t), sizeof wide);
      *v = (float)wide;
      return true;
    default:
      if (!rush_is_int(t->dtype)) return false;
      *v = (float)rush_load_int(t->dtype, rush_data(t));
      return true;
  }
}

/* Stores where operand k comes from. Returns false if the kernel cannot read it. */
static bool add_operand(rush_gpu_program *p, const rush_call *c, const rush_pw_plan *plan, int k,
                        uint8_t *from) {
  const rush_tensor *t = plan->o.t[k];
  const rush_dtype dtype = rush_pw_operand_dtype(plan, k);
  if (t && p->stand_ins && t >= p->stand_ins && t < p->stand_ins + p->n) {
    *from = (uint8_t)(t - p->stand_ins);
    return dtype == t->dtype;
  }
  int64_t element[2] = {0};
  float v;
  if (dtype != RUSH_FLOAT32) return t && add_outside(p, t, dtype, from);
  if (t) return read_number(t, &v) ? add_number(p, v, from) : add_outside(p, t, dtype, from);
  rush_pw_place_scalar(c, plan, k, element);
  memcpy(&v, element, sizeof v);
  return add_number(p, v, from);
}

/* Returns whether the result lies like that of the first step. */
static bool shape_result(rush_gpu_program *p, const rush_call *c, const rush_pw_plan *plan) {
  int64_t memory[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  const size_t bytes = (size_t)plan->o.rank * sizeof *strides;
  rush_pw_result_strides(c, plan, memory, strides);
  if (p->n > 0)
    return p->rank == plan->o.rank && memcmp(p->sizes, plan->o.sizes, bytes) == 0 &&
           memcmp(p->strides, strides, bytes) == 0;
  p->rank = plan->o.rank;
  memcpy(p->sizes, plan->o.sizes, bytes);
  memcpy(p->strides, strides, bytes);
  return true;
}

static bool reads_integers(const rush_gpu_program *p, const rush_gpu_step *s) {
  for (int k = 0; k < s->n; k++)
    if (s->in[k] >= RUSH_GPU_OUTSIDE && s->in[k] < RUSH_GPU_NUMBER &&
        p->types[s->in[k] - RUSH_GPU_OUTSIDE] == 'i')
      return true;
  return false;
}

/* Returns whether a step reads what only the device has. */
static bool reads_device(const rush_gpu_program *p, const rush_gpu_step *s) {
  for (int k = 0; k < s->n; k++) {
    if (s->in[k] < RUSH_GPU_STEPS) return true;
    if (s->in[k] < RUSH_GPU_NUMBER && rush_gpu_only_there(p->outside[s->in[k] - RUSH_GPU_OUTSIDE]))
      return true;
  }
  return false;
}

static bool add_inputs(rush_gpu_program *p, const rush_call *c, const rush_pw_plan *plan,
                       rush_gpu_step *s) {
  for (int k = 0; k < s->n; k++)
    if (!add_operand(p, c, plan, k, &s->in[k])) return false;
  for (int k = 0; k < 3; k++)
    if (names(s->text, "stu"[k]) && !add_number(p, (float)plan->job.p.f[k], &s->params[k]))
      return false;
  return true;
}

/* Adds the row of a call. Returns false, and adds nothing, if the kernel cannot compute it. A row
 * that gives bool or takes integers stays in memory with its operands: masks and positions are made
 * there. */
static bool add_step(rush_gpu_program *p, rush_call *c, const rush_gpu_row *row) {
  rush_pw_plan plan;
  const int n_outside = p->n_outside, n_numbers = p->n_numbers;
  if (p->n == RUSH_GPU_STEPS || rush_pw_plan_call(c, c->op->family, &plan) != RUSH_OK) return false;
  rush_gpu_step s = {.text = text_of(c, row, &plan), .n = (uint8_t)plan.job.n};
  s.tests = row->number == RUSH_GPU_TESTS || row->number == RUSH_GPU_MASKS;
  if (!s.text || plan.result != (s.tests ? RUSH_BOOL : RUSH_FLOAT32) ||
      plan.compute != (row->number == RUSH_GPU_MASKS ? RUSH_BOOL : RUSH_FLOAT32) ||
      !shape_result(p, c, &plan))
    return false;
  if (!add_inputs(p, c, &plan, &s) ||
      ((s.tests || reads_integers(p, &s)) && !reads_device(p, &s))) {
    p->n_outside = n_outside;
    p->n_numbers = n_numbers;
    return false;
  }
  s.n_outside = (uint8_t)p->n_outside;
  p->steps[p->n++] = s;
  return true;
}

/* Plans the kernel of the first n steps. */
static bool plan_steps(rush_gpu_program *p, int n) {
  p->n = n;
  p->n_outside = p->steps[n - 1].n_outside;
  return p->n_outside > 0 &&
         rush_gpu_plan_walk(&p->walk, p->rank, p->sizes, p->strides, p->n_outside, p->outside);
}

static uint32_t make_key(const rush_gpu_program *p, uint32_t *key) {
  uint32_t n = 0;
  key[n++] = 'p' | (uint32_t)p->n << 8;
  for (int k = 0; k < p->n; k++) {
    key[n++] = (uint32_t)(uintptr_t)p->steps[k].text;
    memcpy(key + n++, p->steps[k].in, sizeof *key);
  }
  uint32_t types = 0;
  for (int k = 0; k < p->n_outside; k++) types |= (uint32_t)(p->types[k] - 'f') << (5 * k);
  key[n++] = types;
  key[n++] = rush_gpu_key_walk(&p->walk);
  return n;
}

static rush_status run_steps_into(rush_gpu *g, rush_call *c, const rush_gpu_program *p,
                                  const rush_tensor *out) {
  const uint32_t each = gives_bool(p) ? BYTES : 1;
  rush_gpu_job job = {.g = g, .c = c};
  uint32_t key[RUSH_GPU_KEY];
  char types[RUSH_GPU_BUFFERS + 1] = {0};
  for (int k = 0; k < p->n_outside; k++) types[k] = p->types[k] == 'f' ? 'f' : 'u';
  types[p->n_outside] = gives_bool(p) ? 'u' : 'f';
  for (int k = 0; k < p->n_outside; k++) RUSH_TRY(rush_gpu_bind(&job, p->outside[k]));
  RUSH_TRY(rush_gpu_bind(&job, out));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, make_key(p, key), types, write_program, p));
  for (int k = 0; k < p->n_numbers; k++)
    memcpy(job.params + word_of((unsigned)k), p->numbers + k, sizeof *p->numbers);
  job.params[ELEMENTS] = p->walk.numel;
  rush_gpu_place_walk(&p->walk, job.params);
  return rush_gpu_dispatch_elements(&job, (p->walk.numel + each - 1) / each, (uint64_t)p->n * each);
}

static rush_status run_steps(rush_gpu *g, rush_call *c, const rush_gpu_program *p) {
  const rush_dtype dtype = gives_bool(p) ? RUSH_BOOL : RUSH_FLOAT32;
  rush_tensor *out;
  RUSH_TRY(rush_gpu_tensor(g, c->heap, dtype, p->rank, p->sizes, p->strides, &out));
  ret_tensor(c, 0, out);
  return run_steps_into(g, c, p, out);
}

rush_status rush_gpu_scale(rush_gpu *g, rush_call *c, const rush_tensor *x,
                           const rush_tensor *factor, const int64_t *strides, rush_tensor **out) {
  static const char product[] = "x * y";
  rush_gpu_program p = {.n = 1, .n_outside = 2, .outside = {x, factor}, .types = "ff"};
  p.steps[0] = (rush_gpu_step){.text = product, .n = 2, .n_outside = 2};
  for (uint8_t k = 0; k < 2; k++) p.steps[0].in[k] = (uint8_t)(RUSH_GPU_OUTSIDE + k);
  RUSH_TRY(rush_gpu_tensor(g, c->heap, RUSH_FLOAT32, x->rank, x->sizes, strides, out));
  tmp_take(c, *out);
  const bool planned =
      rush_gpu_plan_walk(&p.walk, x->rank, x->sizes, (*out)->strides, 2, p.outside);
  assert(planned);
  (void)planned;
  return run_steps_into(g, c, &p, *out);
}

bool rush_gpu_cast(rush_gpu *g, rush_call *c, const rush_tensor *t, rush_status *st) {
  static const char of_bool[] = "select(0.0, 1.0, x)", to_bool[] = "!same_(x, 0.0)";
  const bool tests = t->dtype == RUSH_FLOAT32;
  rush_gpu_program p = {.n = 1, .n_outside = 1, .outside = {t}, .rank = t->rank};
  p.types[0] = tests ? 'f' : 'u';
  p.steps[0] = (rush_gpu_step){.text = tests ? to_bool : of_bool, .n = 1, .tests = tests};
  p.steps[0].in[0] = RUSH_GPU_OUTSIDE;
  p.steps[0].n_outside = 1;
  memcpy(p.sizes, t->sizes, sizeof p.sizes);
  rush_strides_of_copy(t, p.strides);
  if (!plan_steps(&p, 1)) return false;
  *st = run_steps(g, c, &p);
  return true;
}

bool rush_gpu_pointwise(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_gpu_program p = {0};
  if (!add_step(&p, c, row) || !plan_steps(&p, 1)) return false;
  *st = run_steps(g, c, &p);
  return true;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

rush_status rush_gpu_make_program(rush_ctx *ctx, rush_gpu_program **out) {
  void *memory;
  RUSH_TRY(rush_calloc(ctx, 1, sizeof **out, &memory));
  *out = memory;
  return RUSH_OK;
}

void rush_gpu_free_program(rush_ctx *ctx, rush_gpu_program *program) {
  rush_release(ctx, program, sizeof *program);
}

bool rush_gpu_add_step(rush_call *c, uint32_t k, rush_tensor *stand_in) {
  rush_gpu *g = rush_gpu_of(c->heap);
  rush_gpu_program *p = g->program;
  const rush_gpu_row *row = g->lost || g->idle ? NULL : rush_gpu_find_row(g, c->op);
  if (k == 0) *p = (rush_gpu_program){.stand_ins = stand_in};
  if (!row || row->run != rush_gpu_pointwise || !add_step(p, c, row)) return false;
  *stand_in = (rush_tensor){.object.refs = 2, .rank = (uint8_t)p->rank};
  stand_in->dtype = p->steps[k].tests ? RUSH_BOOL : RUSH_FLOAT32;
  stand_in->storage = &p->none;
  p->none.refs = 2;
  memcpy(stand_in->sizes, p->sizes, sizeof p->sizes);
  memcpy(stand_in->strides, p->strides, sizeof p->strides);
  memcpy(stand_in->nominal, p->strides, sizeof p->strides);
  return rush_numel(p->rank, p->sizes, &stand_in->numel);
}

bool rush_gpu_run_steps(rush_call *c, uint32_t n, rush_status *st) {
  rush_gpu *g = rush_gpu_of(c->heap);
  if (!plan_steps(g->program, (int)n)) return false;
  g->refused = false;
  *st = run_steps(g, c, g->program);
  return !rush_gpu_is_refused(g, c, *st);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static void write_scatter(rush_text *t, const void *what) {
  write_main(t, 1);
  rush_gpu_write_walk(t, what);
  rush_text_add(t, "out[a1] = in0[a0];\n}\n");
}

bool rush_gpu_can_copy(const rush_tensor *to, const rush_tensor *from) {
  rush_gpu_walk walk;
  const rush_tensor *const both[] = {from, to};
  return rush_gpu_can_read(from) && rush_gpu_can_read(to) &&
         rush_gpu_plan_walk(&walk, to->rank, to->sizes, to->strides, 2, both);
}

rush_status rush_gpu_copy(rush_gpu *g, rush_call *c, const rush_tensor *to,
                          const rush_tensor *from) {
  rush_gpu_walk walk;
  rush_gpu_job job = {.g = g, .c = c};
  const rush_tensor *const both[] = {from, to};
  const bool planned = rush_gpu_plan_walk(&walk, to->rank, to->sizes, to->strides, 2, both);
  assert(planned);
  (void)planned;
  RUSH_TRY(rush_gpu_bind(&job, from));
  RUSH_TRY(rush_gpu_bind(&job, to));
  const uint32_t key[] = {'c', rush_gpu_key_walk(&walk)};
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 2, "ff", write_scatter, &walk));
  job.params[8] = walk.numel;
  rush_gpu_place_walk(&walk, job.params);
  return rush_gpu_dispatch_elements(&job, walk.numel, 1);
}
