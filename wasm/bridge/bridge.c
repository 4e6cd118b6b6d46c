/* Adds to rushlight.h what JavaScript needs: 64-bit integers as doubles (a wasm function's i64 is a
 * BigInt in JS), a clock, entropy, and a check of the structs. js/src/engine/engine.js reads them
 * by offset. */
#include <stdarg.h>
#include <stdio.h>

#include "gpu_services.h"
#include "rushlight/op.h"
#include "rushlight/trace.h"

/* js/src/engine/runtime.js provides these imports. */
#define IMPORT(name) __attribute__((import_module("rush"), import_name(name)))
IMPORT("log") void rush_js_log(const char *text, size_t size); /* to the console */
IMPORT("now") double rush_js_now(void);                        /* performance.now() */
IMPORT("poll") int rush_js_poll(void);                         /* 1: end the running call */
IMPORT("pause") int rush_js_pause(void);                       /* also lets other tasks run first */
IMPORT("entropy") void rush_js_entropy(void *to, size_t size); /* crypto.getRandomValues() */

rush_status rush_bridge_ctx_create(rush_ctx **out);
double rush_bridge_total(const rush_loader *loader);
rush_status rush_bridge_step(rush_session *session, double budget);
rush_status rush_bridge_run(rush_ctx *ctx, rush_session *session);
rush_status rush_bridge_profile(rush_session *session, bool on);
void rush_bridge_manual_seed(rush_session *session, uint32_t low, uint32_t high);
void rush_bridge_memory_limit(rush_ctx *ctx, double bytes);
void rush_bridge_step_limit(rush_session *session, double instructions);
const char *rush_bridge_backend(void);
rush_gpu_service *const *rush_bridge_device(rush_ctx *ctx, const struct rush_device *device);

/* Emscripten's printf without long double. It prints a double in the same way: see module.cmake. */
int __small_vsnprintf(char *to, size_t size, const char *fmt, va_list args);
int __wrap_vsnprintf(char *to, size_t size, const char *fmt, va_list args);
int __wrap_vsnprintf(char *to, size_t size, const char *fmt, va_list args) {
  return __small_vsnprintf(to, size, fmt, args);
}

/* The modules of js/src/engine and js/src/gpu use the same numbers. */
#define AT(type, member, at) \
  _Static_assert(offsetof(type, member) == (at), #type "." #member " moved: see js/src")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " changed: see js/src")

SIZE(rush_value, 16);
AT(rush_value, kind, 0);
AT(rush_value, u, 8);

SIZE(rush_tensor_info, 32);
AT(rush_tensor_info, dtype, 0);
AT(rush_tensor_info, rank, 4);
AT(rush_tensor_info, sizes, 8);
AT(rush_tensor_info, strides, 12);
AT(rush_tensor_info, numel, 16);
AT(rush_tensor_info, data, 24);
AT(rush_tensor_info, quant, 28);

SIZE(rush_quant, 16);
AT(rush_quant, axis, 0);
AT(rush_quant, n, 4);
AT(rush_quant, scales, 8);
AT(rush_quant, zero_points, 12);

SIZE(rush_verify_report, 80);
AT(rush_verify_report, max_abs, 0);
AT(rush_verify_report, max_rel, 8);
AT(rush_verify_report, compared, 16);
AT(rush_verify_report, measured, 24);
AT(rush_verify_report, pytorch, 32);
AT(rush_verify_report, rushlight, 48);
AT(rush_verify_report, difference, 64);

SIZE(rush_trace_report, 48);
AT(rush_trace_report, compared, 0);
AT(rush_trace_report, unpaired, 8);
AT(rush_trace_report, max_abs, 16);
AT(rush_trace_report, max_rel, 24);
AT(rush_trace_report, method, 32);
AT(rush_trace_report, instr, 36);
AT(rush_trace_report, iteration, 40);

SIZE(rush_profile_row, 40);
AT(rush_profile_row, op, 0);
AT(rush_profile_row, method, 4);
AT(rush_profile_row, instr, 8);
AT(rush_profile_row, file, 12);
AT(rush_profile_row, line, 16);
AT(rush_profile_row, calls, 24);
AT(rush_profile_row, seconds, 32);

SIZE(rush_next, 28);
AT(rush_next, method, 0);
AT(rush_next, instr, 4);
AT(rush_next, op, 8);
AT(rush_next, args, 12);
AT(rush_next, n_args, 16);
AT(rush_next, n_results, 20);
AT(rush_next, waits, 24);

SIZE(rush_location, 20);
AT(rush_location, op, 8);
AT(rush_location, file, 12);
AT(rush_location, line, 16);

/* JS makes this struct for an operator that it computes. */
SIZE(rush_custom_op, 20);
AT(rush_custom_op, size, 0);
AT(rush_custom_op, schema, 8);

/* Drops the newline at the end, because the console adds one. */
static void print(void *user, const char *text, size_t size) {
  (void)user;
  if (size > 0) rush_js_log(text, size - 1);
}

/* Every long call polls the host every few milliseconds. A host with a deadline, or with memory
 * that another thread writes, can answer without leaving the call. */
static bool poll(void *user) {
  (void)user;
  return rush_js_poll() != 0;
}

static bool entropy(void *user, void *to, size_t size) {
  (void)user;
  rush_js_entropy(to, size);
  return true;
}

/* JS cannot pass a function pointer. So the allocator is malloc, `print` writes to the console, and
 * entropy comes from the page. */
rush_status rush_bridge_ctx_create(rush_ctx **out) {
  rush_status st = rush_ctx_create(NULL, NULL, out);
  if (st != RUSH_OK) return st;
  rush_ctx_set_print(*out, print, NULL);
  rush_ctx_set_poll(*out, poll, NULL);
  rush_ctx_set_entropy(*out, entropy, NULL);
  return RUSH_OK;
}

double rush_bridge_total(const rush_loader *loader) {
  return (double)rush_loader_total(loader);
}

/* Steps the run. `budget` is a number of instructions, and 0 means no limit. */
rush_status rush_bridge_step(rush_session *session, double budget) {
  return rush_session_step(session, (uint64_t)budget);
}

/* With JavaScript Promise Integration, `pause` suspends the stack of this call while other tasks
 * run. Calls of those tasks only use `poll`, because no further stack can be suspended. */
static bool pause(void *user) {
  rush_ctx *ctx = user;
  rush_ctx_set_poll(ctx, poll, NULL);
  const bool ends = rush_js_pause() != 0;
  rush_ctx_set_poll(ctx, pause, ctx);
  return ends;
}

/* Continues the run to its end, or to an operator that waits. */
rush_status rush_bridge_run(rush_ctx *ctx, rush_session *session) {
  rush_ctx_set_poll(ctx, pause, ctx);
  const rush_status st = rush_session_step(session, 0);
  rush_ctx_set_poll(ctx, poll, NULL);
  return st;
}

static double seconds(void *user) {
  (void)user;
  return rush_js_now() * 1e-3;
}

rush_status rush_bridge_profile(rush_session *session, bool on) {
  return rush_session_profile(session, on ? seconds : NULL, NULL);
}

void rush_bridge_manual_seed(rush_session *session, uint32_t low, uint32_t high) {
  rush_session_manual_seed(session, (uint64_t)high << 32 | low);
}

/* Sets the limit of memory in use, in bytes. 0 means no limit. */
void rush_bridge_memory_limit(rush_ctx *ctx, double bytes) {
  rush_ctx_set_memory_limit(ctx, bytes < (double)SIZE_MAX ? (size_t)bytes : 0);
}

/* Sets the limit of instructions in one run. 0 means no limit. */
void rush_bridge_step_limit(rush_session *session, double instructions) {
  rush_session_set_step_limit(session, (uint64_t)instructions);
}

/* Returns which binary this is, because the user may pass any `wasm`. */
const char *rush_bridge_backend(void) {
#ifdef __wasm_relaxed_simd__
  return "relaxed";
#else
  return "simd";
#endif
}

/* Sets the device of a context, before a model is loaded. Returns the functions that its module may
 * call, or NULL if slim has removed them. */
rush_gpu_service *const *rush_bridge_device(rush_ctx *ctx, const struct rush_device *device) {
  rush_gpu_set_device(ctx, device);
  return rush_optional_gpu;
}
