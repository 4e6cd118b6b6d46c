/* Rushlight's C API: load a .rush file, run its methods, read the results.
 *
 *   rush_ctx *ctx;         rush_ctx_create(NULL, NULL, &ctx);
 *   rush_model *model;     rush_model_load(ctx, bytes, size, &model);
 *   rush_session *session; rush_session_create(ctx, model, &session);
 *   rush_value x; void *data;
 *   rush_tensor_create(session, RUSH_FLOAT32, 4, (int64_t[]){1, 3, 224, 224}, &x, &data);
 *   ... fill data ...
 *   rush_value y;          rush_session_run(session, 0, &x, 1, &y);
 *
 * Every function that can fail returns a status, leaves a message on the context (rush_ctx_error)
 * and sets its output pointers to NULL (values to None) first. Each kind of object has one destroy
 * function, which accepts NULL.
 *
 * Threads: a context, and all that was made with it but models, belongs to one thread at a time. A model never
 * changes after loading: any number of sessions, each with a context of its own, may use it at once.
 */
#ifndef RUSHLIGHT_H
#define RUSHLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and context -------------------------------------------------------------------- */

/* The values are fixed: bindings see them. */
typedef enum rush_status {
  RUSH_OK = 0,
  RUSH_ERR_NO_MEMORY = 1,    /* the allocator refused */
  RUSH_ERR_BAD_FILE = 2,     /* the bytes are not a valid .rush file */
  RUSH_ERR_UNSUPPORTED = 3,  /* valid, and this runtime lacks something it needs */
  RUSH_ERR_BAD_ARGUMENT = 4, /* what the caller or the program passed does not fit */
  RUSH_ERR_BAD_STATE = 5,    /* called at the wrong time */
  RUSH_ERR_RAISED = 6,       /* the program ran `raise` or `assert` */
  RUSH_ERR_MISMATCH = 7,     /* a test vector gave another answer */
  RUSH_PENDING = 8,          /* not an error: the run stopped and can go on */
} rush_status;

/* The status in kebab case, e.g. "out-of-memory". A constant string. */
const char *rush_status_name(rush_status status);

/* The allocator: new_size 0 frees, old_size 0 (with ptr NULL) allocates, both non-zero reallocate.
 * Returns NULL where it cannot; old_size is always exact; the result is aligned for any C object. */
typedef void *(*rush_alloc_fn)(void *user, void *ptr, size_t old_size, size_t new_size);

typedef struct rush_ctx rush_ctx;

/* Makes a context: it holds the allocator and the last error message. `alloc` NULL takes malloc.
 * Fails with NO_MEMORY only. */
rush_status rush_ctx_create(rush_alloc_fn alloc, void *user, rush_ctx **out);
/* Destroys the context, after everything that was made with it. */
void rush_ctx_destroy(rush_ctx *ctx);
/* The message of the last failed call, "" where none failed. Valid until the next call. */
const char *rush_ctx_error(const rush_ctx *ctx);

/* Bytes that this context's allocator holds now, and the most it ever held. */
void rush_ctx_memory(const rush_ctx *ctx, size_t *live, size_t *peak);

/* Frees what a function of this header allocated for the caller (texts, sizes included). */
void rush_free(rush_ctx *ctx, void *ptr, size_t size);

/* Where `print` of a program goes, one call per print, the line's end included. NULL (as at first): nowhere. */
typedef void (*rush_print_fn)(void *user, const char *text, size_t size);
void rush_ctx_set_print(rush_ctx *ctx, rush_print_fn print, void *user);

/* ---- Loading -------------------------------------------------------------------------------- */

typedef struct rush_model rush_model;
typedef struct rush_loader rush_loader;

/* Loads a whole file from memory. The bytes are copied or packed; they may go afterwards. */
rush_status rush_model_load(rush_ctx *ctx, const void *bytes, size_t size, rush_model **out);
/* After all sessions of the model. `ctx` may be another one than it was loaded with if both use
 * the same allocator. */
void rush_model_destroy(rush_ctx *ctx, rush_model *model);

/* Streamed loading. The loader says where the next bytes of the file belong; the caller puts them
 * there and says how many it put:
 *
 *   while ((st = rush_loader_window(loader, &at, &room)) == RUSH_OK && room > 0)
 *     n = read(fd, at, room), st = rush_loader_advance(loader, n);
 *   rush_loader_finish(loader, &model);
 *
 * Weights go straight to their last place, or are packed for the kernels as soon as a layer is
 * complete, after which the raw bytes are gone. */
rush_status rush_loader_create(rush_ctx *ctx, rush_loader **out);
void rush_loader_destroy(rush_loader *loader);
/* *room is how many bytes of the file may be put at *at now; 0 when the file is complete. */
rush_status rush_loader_window(rush_loader *loader, void **at, size_t *room);
/* Says that `n` bytes (at most the room) were put. BAD_FILE as soon as a rule is broken. */
rush_status rush_loader_advance(rush_loader *loader, size_t n);
/* The size of the file, or 0 while the header has not arrived. */
uint64_t rush_loader_total(const rush_loader *loader);
/* The model's head as soon as it is there, else NULL: good for rush_model_describe only. */
const rush_model *rush_loader_head(const rush_loader *loader);
/* Hands over the model; BAD_FILE where bytes are missing, UNSUPPORTED where the file uses operators that this
 * runtime lacks (all of them are named). */
rush_status rush_loader_finish(rush_loader *loader, rush_model **out);

typedef enum rush_describe_form { RUSH_DESCRIBE_TEXT = 0, RUSH_DESCRIBE_JSON = 1, RUSH_DESCRIBE_GRAPH = 2 } rush_describe_form;
/* Describes the model, as text for people or as JSON: methods with inputs and outputs ({name, dtype,
 * shape}, unknown sizes null), operators with counts, missing operators, sizes, attributes, meta data, and the
 * program in a form close to TorchScript's. GRAPH is the program as JSON, for tools: registers, instructions,
 * constants, source lines, and PyTorch's own texts. *text is zero-terminated; free it with
 * rush_free(ctx, *text, *size). */
rush_status rush_model_describe(rush_ctx *ctx, const rush_model *model, rush_describe_form form,
                                char **text, size_t *size);

size_t rush_model_method_count(const rush_model *model);
/* The index of a method; -1 where the model has none of that name. */
int rush_model_find_method(const rush_model *model, const char *name);
/* Strings belong to the model. NULL where an index is out of range. */
const char *rush_model_method_name(const rush_model *model, size_t method);
size_t rush_model_input_count(const rush_model *model, size_t method);
const char *rush_model_input_name(const rush_model *model, size_t method, size_t input);
size_t rush_model_output_count(const rush_model *model, size_t method);
const char *rush_model_output_name(const rush_model *model, size_t method, size_t output);

/* Where tensor `index` of the file's tensor table lies. Natively, for tools that give weights back. */
typedef struct rush_weight_info {
  const char *name; /* e.g. "conv1.weight"; "" where the file has none */
  rush_dtype dtype;
  int rank;
  const int64_t *sizes, *strides;
  uint64_t file_offset; /* of the tensor's first element */
} rush_weight_info;
size_t rush_model_weight_count(const rush_model *model);
rush_status rush_model_weight(rush_ctx *ctx, const rush_model *model, size_t index, rush_weight_info *out);

/* ---- Values --------------------------------------------------------------------------------- */

typedef struct rush_session rush_session;

typedef enum rush_kind {
  RUSH_KIND_NONE = 0,
  RUSH_KIND_TENSOR = 1,
  RUSH_KIND_INT = 2,
  RUSH_KIND_FLOAT = 3,
  RUSH_KIND_BOOL = 4,
  RUSH_KIND_COMPLEX = 5,
  RUSH_KIND_STR = 6,
  RUSH_KIND_LIST = 7,
  RUSH_KIND_TUPLE = 8,
  RUSH_KIND_DICT = 9,
  RUSH_KIND_DEVICE = 10,
  RUSH_KIND_GENERATOR = 11, /* reserved, as those below */
  RUSH_KIND_FUTURE = 12,
  RUSH_KIND_OBJECT = 13,
  RUSH_KIND_ENUM = 14,
} rush_kind;

/* One of PyTorch's values. Kinds from COMPLEX on and TENSOR hold a counted reference that belongs
 * to a session; the others are plain data. Whoever got a value from a function that makes one owns one reference. */
typedef struct rush_value {
  uint32_t kind, reserved;
  union {
    int64_t i; /* INT, and BOOL as 0 or 1 */
    double f;
    void *ref;
  } u;
} rush_value;

static inline rush_value rush_none(void) {
  rush_value v = {RUSH_KIND_NONE, 0, {0}};
  return v;
}
static inline rush_value rush_int(int64_t i) {
  rush_value v = {RUSH_KIND_INT, 0, {i}};
  return v;
}
static inline rush_value rush_bool(bool b) {
  rush_value v = {RUSH_KIND_BOOL, 0, {b ? 1 : 0}};
  return v;
}
static inline rush_value rush_float(double f) {
  rush_value v = {RUSH_KIND_FLOAT, 0, {0}};
  v.u.f = f;
  return v;
}

/* Adds and drops one reference. Release sets the value to None. */
void rush_value_retain(rush_session *session, const rush_value *value);
void rush_value_release(rush_session *session, rush_value *value);

/* A new contiguous (row-major) tensor, its elements not set; *data stays valid while the value does. */
rush_status rush_tensor_create(rush_session *session, rush_dtype dtype, int rank, const int64_t *sizes,
                               rush_value *out, void **data);
/* A new tensor that shares `base`'s storage: sizes, strides and offset in elements, as
 * torch.as_strided. */
rush_status rush_tensor_view(rush_session *session, const rush_value *base, int rank, const int64_t *sizes,
                             const int64_t *strides, int64_t offset, rush_value *out);

typedef struct rush_tensor_info {
  rush_dtype dtype;
  int rank;
  const int64_t *sizes, *strides; /* strides in elements */
  int64_t numel;
  void *data; /* of the first element */
} rush_tensor_info;
/* What a TENSOR is; pointers stay valid while the value does. BAD_ARGUMENT for other kinds. */
rush_status rush_tensor_inspect(rush_session *session, const rush_value *tensor, rush_tensor_info *out);
/* Replaces *tensor by a contiguous one with the same elements, where it is not contiguous. */
rush_status rush_tensor_make_contiguous(rush_session *session, rush_value *tensor);

/* Strings are UTF-8 with their length; a zero byte follows. */
rush_status rush_str_create(rush_session *session, const char *bytes, size_t size, rush_value *out);
const char *rush_str_bytes(const rush_value *str, size_t *size);

/* LIST and TUPLE hold `n` items; the new one takes a reference of each item for itself. DICT keeps
 * insertion order; its items alternate key and value. */
rush_status rush_list_create(rush_session *session, const rush_value *items, size_t n, rush_value *out);
rush_status rush_tuple_create(rush_session *session, const rush_value *items, size_t n, rush_value *out);
rush_status rush_dict_create(rush_session *session, const rush_value *items, size_t n, rush_value *out);
rush_status rush_complex_create(rush_session *session, double re, double im, rush_value *out);
void rush_complex_get(const rush_value *value, double *re, double *im);
/* Items of a LIST, TUPLE or DICT, borrowed; valid while the container is unchanged. */
const rush_value *rush_items(const rush_value *container, size_t *n);

/* ---- Running -------------------------------------------------------------------------------- */

/* Makes a session: everything of a run that changes. `model` must outlive it. */
rush_status rush_session_create(rush_ctx *ctx, const rush_model *model, rush_session **out);
void rush_session_destroy(rush_session *session);

/* Runs a method to its end. The arguments are borrowed; missing trailing ones take the method's
 * defaults. In-place operators write into the caller's tensors, as in PyTorch. On failure the
 * session is ready for the next run. A custom operator that must wait makes this fail with BAD_STATE: use begin and step. */
rush_status rush_session_run(rush_session *session, size_t method, const rush_value *args, size_t n_args,
                             rush_value *result);

/* The same in pieces: begin; step until it stops returning PENDING; result. `budget` is the greatest
 * number of instructions of one step, 0 for no limit. A begin during a run drops that run. */
rush_status rush_session_begin(rush_session *session, size_t method, const rush_value *args, size_t n_args);
rush_status rush_session_step(rush_session *session, uint64_t budget);
rush_status rush_session_result(rush_session *session, rush_value *result);

/* Gives up the run that has begun, if any. */
void rush_session_cancel(rush_session *session);

/* The instruction that the next step will run. After PENDING with `waits` set, the operator's
 * implementation is the host's: it computes the results from `args` and calls provide. Providing
 * instead of stepping is allowed before any operator, so a host can replace or watch each of them. */
typedef struct rush_next {
  uint32_t method, instr;  /* instr counts from the method's first */
  const char *op;          /* NULL for control flow, which only step can run */
  const rush_value *args;  /* borrowed until the next call; complete, in schema order */
  size_t n_args, n_results;
  bool waits;
} rush_next;
/* BAD_STATE where nothing runs; BAD_ARGUMENT where the arguments do not fit the operator. */
rush_status rush_session_next(rush_session *session, rush_next *out);
/* Takes these (borrowed) values as the results of the next instruction and goes past it. Results of
 * arguments that the schema marks as written are copied into those. BAD_ARGUMENT where number or kinds do not fit. */
rush_status rush_session_provide(rush_session *session, const rush_value *results, size_t n);
/* Copies the tensor's elements into argument `arg` of the next instruction, which the schema must mark as written:
 * before provide, for an operator that writes an argument and does not return it. */
rush_status rush_session_write(rush_session *session, size_t arg, const rush_value *tensor);
/* Ends the run since the host could not compute the next operator. The context's message becomes `message`, with the
 * instruction and its Python line in front. Returns BAD_ARGUMENT. */
rush_status rush_session_fail(rush_session *session, const char *message);
/* Puts these (borrowed) values in place of the results of the operator that the last step of one instruction ran. */
rush_status rush_session_replace(rush_session *session, const rush_value *results, size_t n);
/* Keeps the results of the last operator that ran, for rush_session_results. */
rush_status rush_session_observe(rush_session *session, bool on);
const rush_value *rush_session_results(const rush_session *session, size_t *n);

/* Attributes that the program may write: "layer.state". get gives a new reference of the value itself, set takes one
 * of its own after checking the type. */
size_t rush_model_attribute_count(const rush_model *model);
const char *rush_model_attribute_name(const rush_model *model, size_t index);
rush_status rush_session_get_attribute(rush_session *session, size_t index, rush_value *out);
rush_status rush_session_set_attribute(rush_session *session, size_t index, const rush_value *value);
/* Sets them all back to the file's values. */
rush_status rush_session_reset(rush_session *session);

/* Gives back the memory that the session keeps for its next run. */
void rush_session_trim(rush_session *session);

/* Replays a test vector of the file, on a program state as in the file. OK where the answer is close enough, MISMATCH where not
 * (the message says where), and the measured differences either way. */
typedef struct rush_verify_report {
  double max_abs, max_rel; /* of floating-point elements; max_rel = |a-b| / |b| where b is not 0 */
  uint64_t compared;       /* elements */
} rush_verify_report;
size_t rush_model_test_count(const rush_model *model);
rush_status rush_session_verify(rush_session *session, size_t test, rush_verify_report *report);

/* Time per instruction. `clock` gives seconds from any start; NULL switches profiling off. */
typedef double (*rush_clock_fn)(void *user);
rush_status rush_session_profile(rush_session *session, rush_clock_fn clock, void *user);
typedef struct rush_profile_row {
  const char *op; /* belongs to the model */
  uint32_t method, instr;
  const char *file; /* "" where unknown */
  uint32_t line;
  uint64_t calls;
  double seconds;
} rush_profile_row;
/* Rows of the operators that ran since profiling began. *n is the number of rows; free with rush_free(ctx, *rows, *n * sizeof **rows). */
rush_status rush_session_profile_rows(rush_session *session, rush_profile_row **rows, size_t *n);

/* Whether this runtime has an operator: "aten::add.Tensor", in-place forms included. */
bool rush_has_op(const char *name);

/* The library's version, "major.minor.patch". */
const char *rush_version(void);

#ifdef __cplusplus
}
#endif
#endif
