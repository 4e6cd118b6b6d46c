/* Calls the functions of two sessions on one model in the order that the input determines. The
 * sessions share a context or have their own. The model is the file at the start of the input. The
 * calls use new values and results of runs. Limits change, runs stop at any moment, and objects are
 * destroyed in any order. */
#include <rushlight/generator.h>
#include <rushlight/op.h>
#include <rushlight/trace.h>

#include "base/base.h"
#include "fuzz.h"
#include "mutate.h"

enum { VALUES = 16, CALLS = 300, RUN_BYTES = 32 << 20 };

/* A session with its values and state. */
typedef struct world {
  rush_ctx *ctx;
  fuzz_memory *memory;
  const rush_model *model;
  rush_session *session;
  rush_value values[VALUES]; /* owned */
  fuzz_bytes *script;
  double now; /* the profile's clock */
} world;

static void came(world *w, rush_status st) {
  if (st != RUSH_OK && st != RUSH_PENDING) fuzz_failed(w->ctx, st);
}

static rush_value *some(world *w) {
  return w->values + fuzz_u8(w->script) % VALUES;
}

static void put(world *w, rush_value v) {
  rush_value *slot = some(w);
  rush_value_release(w->session, slot);
  *slot = v;
}

static int64_t number(world *w) {
  uint8_t v = fuzz_u8(w->script);
  uint64_t random = v;
  return v < 128 ? v % 8 : hostile_number(&random);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void make_tensor(world *w) {
  static const uint8_t dtypes[] = {0, 3, 4, 6, 7, 11, 1, 9, 255};
  int64_t sizes[RUSH_MAX_RANK], n = 1;
  rush_value v;
  void *data;
  int rank = fuzz_u8(w->script) % (RUSH_MAX_RANK + 2);
  for (int d = 0; d < rank && d < RUSH_MAX_RANK; d++) sizes[d] = number(w);
  rush_dtype dtype = (rush_dtype)dtypes[fuzz_u8(w->script) % sizeof dtypes];
  rush_status st = rush_tensor_create(w->session, dtype, rank, sizes, &v, &data);
  came(w, st);
  if (st != RUSH_OK) return;
  rush_tensor_info info;
  if (rush_tensor_inspect(w->session, &v, &info) == RUSH_OK) n = info.numel;
  memset(data, fuzz_u8(w->script) & 1, (size_t)n); /* at least a byte each */
  put(w, v);
}

static void make_view(world *w) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  rush_value v;
  int rank = fuzz_u8(w->script) % (RUSH_MAX_RANK + 1);
  for (int d = 0; d < rank; d++) sizes[d] = number(w);
  for (int d = 0; d < rank; d++) strides[d] = number(w);
  rush_value *base = some(w);
  if (base->kind != RUSH_KIND_TENSOR) return;
  came(w, rush_tensor_view(w->session, base, rank, sizes, strides, number(w), &v));
  put(w, v);
}

static void make_other(world *w) {
  rush_value v = rush_none(), items[4];
  for (int k = 0; k < 4; k++) items[k] = *some(w);
  size_t n = fuzz_u8(w->script) % 5u;
  switch (fuzz_u8(w->script) % 8) {
    case 0:
      came(w, rush_str_create(w->session, "a text", fuzz_u8(w->script) % 7u, &v));
      break;
    case 1:
      came(w, rush_list_create(w->session, items, n, &v));
      break;
    case 2:
      came(w, rush_tuple_create(w->session, items, n, &v));
      break;
    case 3:
      came(w, rush_dict_create(w->session, items, n, &v));
      break;
    case 4:
      came(w, rush_complex_create(w->session, 1, -2, &v));
      break;
    case 5:
      v = rush_int(number(w));
      break;
    case 6:
      v = rush_bool(n & 1);
      break;
    default:
      v = rush_float((double)number(w));
  }
  put(w, v);
}

static void change_value(world *w) {
  rush_value *v = some(w);
  uint64_t hash = 0;
  switch (fuzz_u8(w->script) % 3) {
    case 0:
      if (v->kind == RUSH_KIND_TENSOR) came(w, rush_tensor_make_contiguous(w->session, v));
      break;
    case 1:
      fuzz_read(w->session, v, &hash);
      break;
    default:
      rush_value_release(w->session, v);
  }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void gather(world *w, rush_value *args, size_t n) {
  for (size_t k = 0; k < n; k++) args[k] = *some(w);
}

static void begin(world *w) {
  rush_value args[6];
  size_t methods = rush_model_method_count(w->model), n = fuzz_u8(w->script) % 6u;
  size_t method = fuzz_u8(w->script) % (methods + 1);
  if (fuzz_u8(w->script) % 2) n = rush_model_input_count(w->model, method);
  if (n > 6) n = 6;
  gather(w, args, n);
  came(w, rush_session_begin(w->session, method, args, n));
}

static void take_result(world *w) {
  rush_value v;
  rush_status st = rush_session_result(w->session, &v);
  FUZZ_RULE(st == RUSH_OK || v.kind == RUSH_KIND_NONE, "a failure gives a result");
  came(w, st);
  if (st == RUSH_OK) put(w, v);
}

static void next(world *w) {
  rush_next n;
  uint64_t hash = 0;
  rush_status st = rush_session_next(w->session, &n);
  came(w, st);
  if (st != RUSH_OK) return;
  for (size_t k = 0; k < n.n_args; k++) fuzz_read(w->session, n.args + k, &hash);
  if (n.n_args && n.args[0].kind != RUSH_KIND_NONE) {
    rush_value kept = n.args[fuzz_u8(w->script) % n.n_args];
    rush_value_retain(w->session, &kept);
    put(w, kept);
  }
}

static void provide(world *w) {
  rush_value results[4];
  size_t n = fuzz_u8(w->script) % 4u;
  gather(w, results, n);
  switch (fuzz_u8(w->script) % 4) {
    case 0:
      came(w, rush_session_provide(w->session, results, n));
      break;
    case 1:
      came(w, rush_session_replace(w->session, results, n));
      break;
    case 2:
      came(w, rush_session_write(w->session, (size_t)number(w), some(w)));
      break;
    default:
      came(w, rush_session_fail(w->session, "the host says no"));
  }
}

static void observe(world *w) {
  size_t n;
  uint64_t hash = 0;
  if (fuzz_u8(w->script) % 2)
    came(w, rush_session_observe(w->session, fuzz_u8(w->script) % 4 != 0));
  const rush_value *results = rush_session_results(w->session, &n);
  for (size_t k = 0; k < n; k++) fuzz_read(w->session, results + k, &hash);
}

static void attribute(world *w) {
  rush_value v;
  size_t index = fuzz_u8(w->script) % (rush_model_attribute_count(w->model) + 1);
  switch (fuzz_u8(w->script) % 3) {
    case 0: {
      rush_status st = rush_session_get_attribute(w->session, index, &v);
      came(w, st);
      if (st == RUSH_OK) put(w, v);
      break;
    }
    case 1:
      came(w, rush_session_set_attribute(w->session, index, some(w)));
      break;
    default:
      came(w, rush_session_reset(w->session));
  }
}

static double tick(void *user) {
  return (*(double *)user)++;
}

static void measure(world *w) {
  rush_profile_row *rows;
  size_t n;
  if (fuzz_u8(w->script) % 2) {
    came(w, rush_session_profile(w->session, fuzz_u8(w->script) % 4 ? tick : NULL, &w->now));
  } else if (rush_session_profile_rows(w->session, &rows, &n) == RUSH_OK) {
    rush_free(w->ctx, rows, n * sizeof *rows);
  }
}

static void verify(world *w) {
  rush_verify_report report;
  rush_trace_report traced;
  size_t test = fuzz_u8(w->script) % (rush_model_test_count(w->model) + 1);
  switch (fuzz_u8(w->script) % 4) {
    case 0:
      came(w, rush_session_verify_begin(w->session, test));
      break;
    case 1:
      came(w, rush_session_verify_end(w->session, test, &report));
      break;
    case 2:
      came(w, rush_session_trace_test(w->session, test));
      break;
    default:
      came(w, rush_session_trace_end(w->session, &traced));
  }
}

static void small(world *w) {
  switch (fuzz_u8(w->script) % 4) {
    case 0:
      rush_session_cancel(w->session);
      break;
    case 1:
      rush_session_trim(w->session);
      break;
    case 2:
      rush_session_manual_seed(w->session, fuzz_u8(w->script));
      break;
    default:
      fuzz_inspect(w->ctx, w->model);
  }
}

/* Sets limits of bytes and steps, and makes the host stop after some work. */
static void limit(world *w) {
  size_t live, peak, more = fuzz_u8(w->script);
  rush_ctx_memory(w->ctx, &live, &peak);
  FUZZ_RULE(live <= w->memory->live && live <= peak, "%zu bytes are said to be live", live);
  switch (more % 6) {
    case 0:
      rush_ctx_set_memory_limit(w->ctx, 0);
      break;
    case 1:
      rush_ctx_set_memory_limit(w->ctx, live + more * more);
      break;
    case 2:
      rush_ctx_set_memory_limit(w->ctx, 1 + more);
      break;
    case 3:
      rush_session_set_step_limit(w->session, more / 8);
      break;
    case 4:
      w->memory->polls = w->memory->most_polls;
      w->ctx->next_poll = w->ctx->work + more * 8; /* otherwise this is rare */
      break;
    default:
      w->memory->polls = 0;
  }
}

static void leave(world *w) {
  for (int k = 0; k < VALUES && w->session; k++) rush_value_release(w->session, w->values + k);
  rush_session_destroy(w->session);
  w->session = NULL;
}

static void restart(world *w) {
  leave(w);
  rush_status st = rush_session_create(w->ctx, w->model, &w->session);
  FUZZ_RULE((st == RUSH_OK) == (w->session != NULL), "no session, or one in spite of a failure");
  came(w, st);
}

/* Runs without steps. The poll stops an endless program. */
static void run(world *w) {
  rush_value args[6], v;
  size_t method = fuzz_u8(w->script) % (rush_model_method_count(w->model) + 1);
  size_t n = rush_model_input_count(w->model, method);
  if (n > 6) n = 6;
  gather(w, args, n);
  rush_session_set_step_limit(w->session, FUZZ_RUN_STEPS);
  rush_status st = rush_session_run(w->session, method, args, n, &v);
  FUZZ_RULE(st == RUSH_OK || v.kind == RUSH_KIND_NONE, "a failure gives a result");
  came(w, st);
  if (st == RUSH_OK) put(w, v);
}

static void step(world *w) {
  came(w, rush_session_step(w->session, 1 + fuzz_u8(w->script) % 16u));
}

static void (*const calls[])(world *w) = {
    begin,        begin,   step,    step,      step,        step,      take_result, next,
    provide,      provide, observe, attribute, make_tensor, make_view, make_other,  make_other,
    change_value, measure, verify,  small,     limit,       run};

enum { OTHER = 254, RESTART = 255 }; /* bytes that stand for no call */

static void live(world *two, fuzz_bytes *script) {
  world *w = two;
  restart(w);
  for (int k = 0; k < CALLS && script->at < script->end; k++) {
    uint8_t what = fuzz_u8(script);
    if (what == OTHER) w = w == two ? two + 1 : two;
    if (what == RESTART || !w->session)
      restart(w);
    else if (what != OTHER)
      calls[what % (sizeof calls / sizeof *calls)](w);
  }
  w = two + fuzz_u8(script) % 2;
  leave(w);
  leave(w == two ? two + 1 : two);
}

/* The second session has its own context or shares the first one's. */
static void live_on(rush_ctx *ctx, const rush_model *model, fuzz_memory *memory,
                    fuzz_bytes *script) {
  rush_ctx *own = fuzz_u8(script) % 2 ? fuzz_open(memory) : NULL;
  world two[2] = {{.ctx = ctx, .memory = memory, .model = model, .script = script},
                  {.ctx = own ? own : ctx, .memory = memory, .model = model, .script = script}};
  live(two, script);
  rush_ctx_destroy(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const rush_custom_op wait = {.size = sizeof wait,
                                      .schema = "fuzz::wait(Tensor(a!) x, int n=1) -> Tensor(a!)"};
  uint8_t made[64];
  fuzz_bytes script;
  fuzz_memory memory = {.limit = RUN_BYTES, .fill = 0xA5, .most_polls = FUZZ_POLLS};
  size = fuzz_split(data, size, &script, made);
  uint8_t faults = fuzz_u8(&script);
  rush_ctx *ctx = fuzz_open(&memory);
  rush_model *model = NULL;
  rush_status st = rush_ctx_add_op(ctx, &wait);
  if (st == RUSH_OK) st = rush_model_load(ctx, data, size, &model);
  if (st == RUSH_OK) {
    if (faults >= 224) memory.fail_at = memory.calls + 1 + fuzz_u8(&script);
    live_on(ctx, model, &memory, &script);
  } else {
    fuzz_failed(ctx, st);
  }
  /* Another context may destroy it. */
  memory.fail_at = 0;
  rush_ctx *last = faults % 2 ? fuzz_open(&memory) : ctx;
  rush_model_destroy(last, model);
  size_t left, peak;
  rush_ctx_memory(last, &left, &peak);
  FUZZ_RULE(left <= memory.live, "%zu bytes are said to be left", left);
  if (last != ctx) rush_ctx_destroy(last);
  fuzz_close(ctx, &memory);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return mutate_file_and_script(data, size, max_size, seed);
}
