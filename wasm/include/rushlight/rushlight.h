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
 * Shapes are int64_t arrays of `rank` sizes, outermost first; strides count elements, as in
 * PyTorch; sizes of memory are in bytes. Each operator means what ATen's of its name means, in
 * PyTorch 2.6 (aten/src/ATen/native).
 *
 * Threads: a context, and all that was made with it but models, belongs to one thread at a time. A
 * model never changes after loading: any number of sessions, each with a context of its own, may
 * use it at once.
 */
#ifndef RUSHLIGHT_H
#define RUSHLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and context -------------------------------------------------------------------- */

/* What a call came to. The values are fixed: bindings see them. */
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
  RUSH_ERR_INTERRUPTED = 9,  /* the host's poll function, or a limit of steps, ended the call */
} rush_status;

/* The status in kebab case, such as "out-of-memory". A constant string. */
const char *rush_status_name(rush_status status);

/* The allocator: new_size 0 frees, old_size 0 (with ptr NULL) allocates, both non-zero reallocate.
 * Returns NULL where it cannot; old_size is always exact; the result is aligned for any C object.
 */
typedef void *(*rush_alloc_fn)(void *user, void *ptr, size_t old_size, size_t new_size);

/* Holds the allocator, the last error message and the operators of the caller's own. */
typedef struct rush_ctx rush_ctx;

/* Makes a context. `alloc` NULL takes malloc; `user` is handed to it. Fails with NO_MEMORY only. */
rush_status rush_ctx_create(rush_alloc_fn alloc, void *user, rush_ctx **out);
/* Destroys the context, after everything that was made with it. */
void rush_ctx_destroy(rush_ctx *ctx);
/* The message of the last failed call, "" where none failed. Valid until the next call. */
const char *rush_ctx_error(const rush_ctx *ctx);

/* An instruction of a program. */
typedef struct rush_location {
  const char *method; /* "forward" */
  uint32_t instr;     /* counts from the method's first */
  const char *op;     /* "aten::add.Tensor"; "" for control flow */
  const char *file;   /* of the Python source; "" where unknown */
  uint32_t line;      /* counted from 1; 0 where unknown */
} rush_location;
/* Where in its program the last failed call failed: what the message begins with. False, and *out
 * empty, where that was at no instruction. Texts are valid as long as the message, and cut off
 * behind 255 bytes. */
bool rush_ctx_location(const rush_ctx *ctx, rush_location *out);

/* Bytes that this context's allocator holds now, and the most it ever held. */
void rush_ctx_memory(const rush_ctx *ctx, size_t *live, size_t *peak);

/* The most bytes that the context may hold: an allocation above that fails with NO_MEMORY. 0, as at
 * first: no limit. Loading and describing have a limit of their own beside it: so many times the
 * file's size, so that a small file cannot fill a large machine. */
void rush_ctx_set_memory_limit(rush_ctx *ctx, size_t bytes);

/* Says whether the call that is at work on the context shall end: it then fails with INTERRUPTED. */
typedef bool (*rush_poll_fn)(void *user);
/* Has `poll` be asked, with `user` for its argument, every few milliseconds while a call of this
 * header works: loading, describing, running, comparing; from inside long operators, too. NULL, as
 * at first: nothing is asked. The function may not use the context. To end a call from another
 * thread or from a signal handler, let that set a flag, and the function read it:
 *
 *   static volatile sig_atomic_t stop;
 *   static bool asked(void *user) { (void)user; return stop; }
 *
 * A run that was interrupted is over; tensors that it was writing in place are half written. The
 * session, the model and the context go on. */
void rush_ctx_set_poll(rush_ctx *ctx, rush_poll_fn poll, void *user);
/* How much work was done on the context so far, in steps of about a nanosecond. What it counts may
 * change between versions; that it grows no faster than what a call is given does not. */
uint64_t rush_ctx_work(const rush_ctx *ctx);

/* ---- Threads -------------------------------------------------------------------------------- */

enum { RUSH_MAX_THREADS = 64 };

/* The threads that compute for a context's sessions. */
typedef struct rush_pool rush_pool;
/* Has long operators run on so many threads, the caller's among them; 1, as at first, on that alone.
 * Results do not depend on the number. Not while a call is at work on the context. Fails with
 * NO_MEMORY, and with BAD_ARGUMENT where it is not 1 to RUSH_MAX_THREADS. Where the system gives no
 * more threads, fewer compute. */
rush_status rush_ctx_set_threads(rush_ctx *ctx, unsigned threads);
/* NULL for one thread. */
rush_pool *rush_ctx_pool(const rush_ctx *ctx);
/* Lets the calling thread compute for the pool; returns when the context is destroyed or given
 * another number of threads. A wasm module cannot start threads: its host calls this in as many as
 * it wants, each in an instance on the same memory, with a stack of its own. */
void rush_pool_help(rush_pool *pool);

/* Frees what a function of this header allocated for the caller (texts, sizes included). */
void rush_free(rush_ctx *ctx, void *ptr, size_t size);

/* Takes the text of one `print` of a program: `size` bytes of UTF-8, the line's end included.
 * Values are written as libtorch writes them (aten/src/ATen/core/Formatting.cpp). */
typedef void (*rush_print_fn)(void *user, const char *text, size_t size);
/* Says where `print` goes, with `user` for its first argument. NULL (as at first): nowhere. */
void rush_ctx_set_print(rush_ctx *ctx, rush_print_fn print, void *user);

/* Fills `size` bytes with random ones; false where it cannot. */
typedef bool (*rush_entropy_fn)(void *user, void *to, size_t size);
/* Says where seeds come from that are to be different each time. NULL (as at first): from the
 * system's getentropy; a wasm module, which has none, from an
 * address. */
void rush_ctx_set_entropy(rush_ctx *ctx, rush_entropy_fn entropy, void *user);

/* ---- Loading -------------------------------------------------------------------------------- */

/* A loaded file: methods, weights, test vectors. Immutable. */
typedef struct rush_model rush_model;
/* A file that is on its way. */
typedef struct rush_loader rush_loader;

/* Loads a whole file from memory. The bytes are copied or packed; they may go afterwards. Fails as
 * rush_loader_advance and rush_loader_finish do. */
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
/* Also in the middle of a file. A model that was handed over stays. */
void rush_loader_destroy(rush_loader *loader);
/* *room is how many bytes of the file may be put at *at now; 0 when the file is complete. BAD_STATE
 * after a failure. */
rush_status rush_loader_window(rush_loader *loader, void **at, size_t *room);
/* Says that `n` bytes (at most the room) were put. BAD_FILE as soon as a rule is broken. */
rush_status rush_loader_advance(rush_loader *loader, size_t n);
/* The size of the file, or 0 while the header has not arrived. */
uint64_t rush_loader_total(const rush_loader *loader);
/* The model's head as soon as it is there, else NULL: good for rush_model_describe only. */
const rush_model *rush_loader_head(const rush_loader *loader);
/* Hands over the model; BAD_FILE where bytes are missing, UNSUPPORTED where the file uses operators
 * that this runtime lacks (all of them are named). */
rush_status rush_loader_finish(rush_loader *loader, rush_model **out);

/* See rush_model_describe. */
typedef enum rush_describe_form {
  RUSH_DESCRIBE_TEXT = 0,
  RUSH_DESCRIBE_JSON = 1,
  RUSH_DESCRIBE_GRAPH = 2,
  RUSH_DESCRIBE_TORCH_GRAPH = 3,
  RUSH_DESCRIBE_TORCH_CODE = 4,
} rush_describe_form;
/* Describes the model, as text for people or as JSON: methods with inputs and outputs ({name,
 * dtype, shape, constraints}; dtype and shape are the examples', unknown sizes null; constraints, where
 * there are any, {name, min, max} or null of each size), operators with counts (those that
 * the host computes also with what their schema says of arguments and results), missing operators,
 * sizes, attributes, meta data, and the program in a form close to TorchScript's. GRAPH is the program as JSON, for
 * tools: registers, instructions, constants, source lines, and PyTorch's own texts. TORCH_GRAPH and
 * TORCH_CODE are those texts: the module as print() shows it, then the `.graph` or `.code` of each
 * method of each submodule, as they were before the export. *text is zero-terminated; free it with
 * rush_free(ctx, *text, *size). */
rush_status rush_model_describe(rush_ctx *ctx, const rush_model *model, rush_describe_form form,
                                char **text, size_t *size);

/* How many methods there are, forward among them. They are named by their index. */
size_t rush_model_method_count(const rush_model *model);
/* The index of a method; -1 where the model has none of that name. */
int rush_model_find_method(const rush_model *model, const char *name);
/* The name of a method. Names belong to the model; they are NULL, and counts 0, where an index is
 * out of range. */
const char *rush_model_method_name(const rush_model *model, size_t method);
/* How many arguments a method takes, those with defaults included. */
size_t rush_model_input_count(const rush_model *model, size_t method);
/* The name of an argument, as in the Python source. */
const char *rush_model_input_name(const rush_model *model, size_t method, size_t input);
/* Its type as TorchScript writes it; *text as of rush_model_result_type. */
rush_status rush_model_input_type(rush_ctx *ctx, const rush_model *model, size_t method,
                                  size_t input, char **text, size_t *size);
/* How many items the result has: those of a tuple, 0 for None, 1 for anything else. */
size_t rush_model_output_count(const rush_model *model, size_t method);
/* The name of an item of the result. */
const char *rush_model_output_name(const rush_model *model, size_t method, size_t output);
/* The type of the result as TorchScript writes it, with the fields of named tuples: "Tensor",
 * "(Tensor, Answer(first : Tensor, count : int)[])". *text is zero-terminated; free it with
 * rush_free(ctx, *text, *size). */
rush_status rush_model_result_type(rush_ctx *ctx, const rush_model *model, size_t method,
                                   char **text, size_t *size);

/* Where tensor `index` of the file's tensor table lies. Natively, for tools that give weights back.
 */
typedef struct rush_weight_info {
  const char *name; /* e.g. "conv1.weight"; "" where the file has none */
  rush_dtype dtype;
  int rank;
  const int64_t *sizes, *strides;
  uint64_t file_offset; /* of the tensor's first element */
} rush_weight_info;
/* How many tensors the file's table has. */
size_t rush_model_weight_count(const rush_model *model);
/* Fills *out in; what it points to belongs to the model. BAD_ARGUMENT where there is no such
 * tensor, or where it only describes a shape. */
rush_status rush_model_weight(rush_ctx *ctx, const rush_model *model, size_t index,
                              rush_weight_info *out);

/* ---- Values --------------------------------------------------------------------------------- */

/* Everything of a run that changes: values, attributes, memory for the next run. */
typedef struct rush_session rush_session;

/* What a value is. */
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
  RUSH_KIND_GENERATOR = 11, /* reserved, as the next */
  RUSH_KIND_FUTURE = 12,
  RUSH_KIND_OBJECT = 13, /* of a class of the program */
  RUSH_KIND_ENUM = 14,
} rush_kind;

/* One of PyTorch's values (c10::IValue, aten/src/ATen/core/ivalue.h). Kinds from COMPLEX on and
 * TENSOR hold a counted reference that belongs to a session; the others are plain data. Whoever got
 * a value from a function that makes one owns one reference. */
typedef struct rush_value {
  uint32_t kind, reserved;
  union {
    int64_t i; /* INT, and BOOL as 0 or 1 */
    double f;
    void *ref;
  } u;
} rush_value;

/* None. */
static inline rush_value rush_none(void) {
  rush_value v = {RUSH_KIND_NONE, 0, {0}};
  return v;
}
/* An int, of 64 bits as in TorchScript. */
static inline rush_value rush_int(int64_t i) {
  rush_value v = {RUSH_KIND_INT, 0, {i}};
  return v;
}
/* A bool. */
static inline rush_value rush_bool(bool b) {
  rush_value v = {RUSH_KIND_BOOL, 0, {b ? 1 : 0}};
  return v;
}
/* A float, of 64 bits as in Python. */
static inline rush_value rush_float(double f) {
  rush_value v = {RUSH_KIND_FLOAT, 0, {0}};
  v.u.f = f;
  return v;
}

/* Adds a reference. */
void rush_value_retain(rush_session *session, const rush_value *value);
/* Drops a reference and sets *value to None. */
void rush_value_release(rush_session *session, rush_value *value);

/* A new contiguous (row-major) tensor of rank 0 to 8, its elements not set; *data stays valid while
 * the value does and no program that is given it resizes it (aten::resize_ may move the elements:
 * ask rush_tensor_inspect again after a run). UNSUPPORTED for a dtype that is reserved, BAD_ARGUMENT for a negative size,
 * NO_MEMORY. */
rush_status rush_tensor_create(rush_session *session, rush_dtype dtype, int rank,
                               const int64_t *sizes, rush_value *out, void **data);
/* A new tensor that shares `base`'s storage: sizes, strides and offset in elements, as
 * torch.as_strided (aten/src/ATen/native/TensorShape.cpp). BAD_ARGUMENT where an element would lie
 * outside the storage. */
rush_status rush_tensor_view(rush_session *session, const rush_value *base, int rank,
                             const int64_t *sizes, const int64_t *strides, int64_t offset,
                             rush_value *out);

/* What integers of a quantized tensor (QINT8, QUINT8, QINT32) stand for: number = (integer - zero
 * point) * scale. */
typedef struct rush_quant {
  int axis;             /* -1: one scale for all */
  size_t n;             /* of the axis' size; 1 where there is none */
  double *scales;       /* [n] */
  int64_t *zero_points; /* [n] */
} rush_quant;

/* A tensor's shape and elements. What the pointers name belongs to the tensor. */
typedef struct rush_tensor_info {
  rush_dtype dtype;               /* of the elements */
  int rank;                       /* number of dimensions, 0 to 8 */
  const int64_t *sizes, *strides; /* strides in elements */
  int64_t numel;                  /* number of elements */
  void *data; /* of the first element; bool as bytes 0 and 1. NULL for a weight among the arguments
                 of rush_session_next that loading has packed for the kernels: its elements are not
                 there, and it can be nowhere else an argument or a result */
  const rush_quant *quant; /* of a quantized tensor, whose elements are its integers; else NULL */
} rush_tensor_info;
/* What a TENSOR is; pointers stay valid while the value does and no run resizes it. BAD_ARGUMENT for other kinds. */
rush_status rush_tensor_inspect(rush_session *session, const rush_value *tensor,
                                rush_tensor_info *out);
/* Replaces *tensor by a contiguous one with the same elements, where it is not contiguous. UNSUPPORTED
 * for a quantized one: its integers lie where its strides say. */
rush_status rush_tensor_make_contiguous(rush_session *session, rush_value *tensor);

/* A new string: `size` bytes of UTF-8, which are copied. */
rush_status rush_str_create(rush_session *session, const char *bytes, size_t size, rush_value *out);
/* The bytes of a STR or a DEVICE and, in *size, how many; a zero byte follows. Valid while the
 * value is. "" for other kinds. */
const char *rush_str_bytes(const rush_value *str, size_t *size);

/* A new list of `n` items; it takes a reference of each item for itself. */
rush_status rush_list_create(rush_session *session, const rush_value *items, size_t n,
                             rush_value *out);
/* A new tuple, likewise. */
rush_status rush_tuple_create(rush_session *session, const rush_value *items, size_t n,
                              rush_value *out);
/* A new dict, likewise; its items alternate key and value, `n` counts both, and their order is
 * kept. */
rush_status rush_dict_create(rush_session *session, const rush_value *items, size_t n,
                             rush_value *out);
/* A new complex number of two doubles. */
rush_status rush_complex_create(rush_session *session, double re, double im, rush_value *out);
/* The parts of a COMPLEX; zeros for other kinds. */
void rush_complex_get(const rush_value *value, double *re, double *im);
/* Items of a LIST, TUPLE or DICT, the attributes of an OBJECT, qualified name and value of an ENUM:
 * borrowed; valid while the container is unchanged. */
const rush_value *rush_items(const rush_value *container, size_t *n);

/* ---- Running -------------------------------------------------------------------------------- */

/* Makes a session. `model` must outlive it. NO_MEMORY. */
rush_status rush_session_create(rush_ctx *ctx, const rush_model *model, rush_session **out);
/* Destroys the session, after the caller's values were released: their memory is lost otherwise. */
void rush_session_destroy(rush_session *session);

/* Runs a method to its end, as torch/csrc/jit/runtime/interpreter.cpp does. The arguments are
 * borrowed; missing trailing ones take the method's defaults. In-place operators write into the
 * caller's tensors, as in PyTorch. On failure the session is ready for the next run. A custom
 * operator that must wait makes this fail with BAD_STATE: use begin and step. */
rush_status rush_session_run(rush_session *session, size_t method, const rush_value *args,
                             size_t n_args, rush_value *result);

/* The same in pieces: begin; step until it stops returning PENDING; result. A begin between two
 * steps of a run drops that run. While a step is at work, begin, run and step fail with BAD_STATE:
 * a function that it calls, such as the print function, may not run the session. */
rush_status rush_session_begin(rush_session *session, size_t method, const rush_value *args,
                               size_t n_args);
/* Runs on. `budget` is the greatest number of instructions of this step, which also ends behind one
 * by which poll is due; 0: no limit. PENDING where the run has not come to its end. */
rush_status rush_session_step(rush_session *session, uint64_t budget);
/* The most instructions that one run may take, over all its steps; one that takes more fails with
 * INTERRUPTED. 0, as at first: no limit. */
void rush_session_set_step_limit(rush_session *session, uint64_t instructions);
/* Hands over the result of a run that has come to its end, once; BAD_STATE before. */
rush_status rush_session_result(rush_session *session, rush_value *result);

/* Gives up the run that has begun, if any. */
void rush_session_cancel(rush_session *session);

/* The instruction that the next step will run. After PENDING with `waits` set, the operator's
 * implementation is the host's: it computes the results from `args` and calls provide. Providing
 * instead of stepping is allowed before any operator, so a host can replace or watch each of them.
 */
typedef struct rush_next {
  uint32_t method, instr; /* instr counts from the method's first */
  const char *op;         /* NULL for control flow, which only step can run */
  const rush_value *args; /* borrowed until the next call; complete, in schema order */
  size_t n_args, n_results;
  bool waits;
} rush_next;
/* BAD_STATE where nothing runs; BAD_ARGUMENT where the arguments do not fit the operator. */
rush_status rush_session_next(rush_session *session, rush_next *out);
/* Takes these (borrowed) values as the results of the next instruction and goes past it. Results of
 * arguments that the schema marks as written are copied into those. BAD_ARGUMENT where number or
 * kinds do not fit. */
rush_status rush_session_provide(rush_session *session, const rush_value *results, size_t n);
/* Copies the tensor's elements into argument `arg` of the next instruction, which the schema must
 * mark as written: before provide, for an operator that writes an argument and does not return it.
 */
rush_status rush_session_write(rush_session *session, size_t arg, const rush_value *tensor);
/* Ends the run since the host could not compute the next operator. The context's message becomes
 * `message`, with the instruction and its Python line in front. Returns BAD_ARGUMENT. */
rush_status rush_session_fail(rush_session *session, const char *message);
/* Puts these (borrowed) values in place of the results of the operator that the last step of one
 * instruction ran. */
rush_status rush_session_replace(rush_session *session, const rush_value *results, size_t n);
/* Keeps the results of the last operator that ran, for rush_session_results. BAD_STATE while they are
 * compared with PyTorch's (trace.h). */
rush_status rush_session_observe(rush_session *session, bool on);
/* Those results, borrowed until the next step; *n is how many. */
const rush_value *rush_session_results(const rush_session *session, size_t *n);

/* How many attributes the program may write. */
size_t rush_model_attribute_count(const rush_model *model);
/* The path of one, "layer.state"; NULL where the index is out of range. */
const char *rush_model_attribute_name(const rush_model *model, size_t index);
/* Gives a new reference of the value itself, not of a copy. */
rush_status rush_session_get_attribute(rush_session *session, size_t index, rush_value *out);
/* Takes a reference of its own. BAD_ARGUMENT where the type is another. */
rush_status rush_session_set_attribute(rush_session *session, size_t index,
                                       const rush_value *value);
/* Sets them all back to the file's values. */
rush_status rush_session_reset(rush_session *session);

/* Random numbers. Each session has a generator of its own, seeded from the system's entropy when
 * the session is made. With the same seed it gives the numbers of torch.manual_seed on torch 2.6's
 * CPU, without MKL (ATen/CPUGeneratorImpl.cpp): integers bit for bit, floats within 1e-6. It is no
 * attribute: reset leaves it as it is. */
void rush_session_manual_seed(rush_session *session, uint64_t seed);

/* Gives back the memory that the session keeps for its next run. */
void rush_session_trim(rush_session *session);

/* Replays a test vector of the file, on a program state as in the file and with RUSH_TEST_SEED as
 * the seed, as the exporter ran PyTorch; the generator's own state stays. OK where the answer is
 * close enough, MISMATCH where not (the message says where), and the measured differences either
 * way. */
enum { RUSH_TEST_SEED = 1 };
/* How far an answer is from the one in the file. */
typedef struct rush_verify_report {
  double max_abs;    /* of floating-point elements: |a-b|, where b is PyTorch's */
  double max_rel;    /* |a-b| / |b|, of elements above a thousandth of the greatest |b| of their
                        tensor: below, it says nothing */
  uint64_t compared; /* elements */
  uint64_t measured; /* tensors and numbers whose answer in float64 is known; of the one of these
                        that is furthest from it: */
  rush_distance pytorch, own, between; /* how far PyTorch's answer is from float64's, how far this
                                          one, and these two from each other; zeros where none is */
} rush_verify_report;
/* How many test vectors the file has. */
size_t rush_model_test_count(const rush_model *model);
/* Replays one. Close enough is what torch.allclose calls so (ATen/native/TensorCompare.cpp), with
 * equal_nan and the vector's own tolerances, or what is as close to float64's answer as PyTorch's,
 * where the file has that (verdict.h); what is no floating-point number must be equal. */
rush_status rush_session_verify(rush_session *session, size_t test, rush_verify_report *report);
/* The same in pieces, for operators that wait: begin, which starts the run; step until it stops
 * returning PENDING; end. */
rush_status rush_session_verify_begin(rush_session *session, size_t test);
/* Takes the result and compares. */
rush_status rush_session_verify_end(rush_session *session, size_t test, rush_verify_report *report);

/* Gives seconds from any start. */
typedef double (*rush_clock_fn)(void *user);
/* Measures the time of each instruction from now on; `clock` NULL switches that off. */
rush_status rush_session_profile(rush_session *session, rush_clock_fn clock, void *user);
/* What one instruction took. Texts belong to the model. */
typedef struct rush_profile_row {
  const char *op;         /* "aten::add.Tensor" */
  uint32_t method, instr; /* as in rush_next */
  const char *file;       /* of the Python source; "" where unknown */
  uint32_t line;          /* counted from 1; 0 where unknown */
  uint64_t calls;         /* how often it ran */
  double seconds;         /* over all calls */
} rush_profile_row;
/* Rows of the operators that ran since profiling began. *n is the number of rows; free with
 * rush_free(ctx, *rows, *n * sizeof **rows). */
rush_status rush_session_profile_rows(rush_session *session, rush_profile_row **rows, size_t *n);

/* Whether this runtime has an operator: "aten::add.Tensor", in-place forms included. */
bool rush_has_op(const char *name);
/* The schema of an operator, as its row has it; NULL where no row is of that name. */
const char *rush_op_schema(const char *name);
/* Whether an operator of this name may stand behind rush::chain: it computes its result element by
 * element, and writes no argument. */
bool rush_may_chain(const char *name);
enum { RUSH_MAX_CHAIN = 64 }; /* so many behind one */
/* Whether tensors may have this dtype (PyTorch's ScalarType number). */
bool rush_has_dtype(int dtype);

/* The library's version, "major.minor.patch". */
const char *rush_version(void);

#ifdef __cplusplus
}
#endif
#endif
