/* Rushlight's C API: it loads a .rush file, runs its methods and reads the results.
 *
 *   rush_ctx *ctx;         rush_ctx_create(NULL, NULL, &ctx);
 *   rush_model *model;     rush_model_load(ctx, bytes, size, &model);
 *   rush_session *session; rush_session_create(ctx, model, &session);
 *   rush_value x; void *data;
 *   rush_tensor_create(session, RUSH_FLOAT32, 4, (int64_t[]){1, 3, 224, 224}, &x, &data);
 *   ... fill data ...
 *   rush_value y;          rush_session_run(session, 0, &x, 1, &y);
 *
 * Every function that can fail returns a status. It first sets its output pointers to NULL and
 * its output values to None, and a failure leaves a message on the context (rush_ctx_error).
 * Each kind of object has one destroy function, which accepts NULL.
 *
 * A shape is an int64_t array of `rank` sizes, outermost first. Strides count elements, as in
 * PyTorch. Sizes of memory are in bytes. Each operator does what ATen's operator of that name
 * does in PyTorch 2.6 (aten/src/ATen/native).
 *
 * A context and everything made with it, except models, belong to one thread at a time. A model
 * never changes after loading. Any number of sessions may use it at once, if each has its own
 * context. */
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

/* The outcome of a call. The values are fixed, because bindings see them. */
typedef enum rush_status {
  RUSH_OK = 0,
  RUSH_ERR_NO_MEMORY = 1,    /* the allocator returned NULL, or a memory limit was reached */
  RUSH_ERR_BAD_FILE = 2,     /* the bytes are not a valid .rush file */
  RUSH_ERR_UNSUPPORTED = 3,  /* the file is valid but needs something that this runtime lacks */
  RUSH_ERR_BAD_ARGUMENT = 4, /* an argument from the caller or the program is invalid */
  RUSH_ERR_BAD_STATE = 5,    /* the function was called at the wrong time */
  RUSH_ERR_RAISED = 6,       /* the program ran `raise` or `assert` */
  RUSH_ERR_MISMATCH = 7,     /* a test vector gave a different answer */
  RUSH_PENDING = 8,          /* no error: the run has paused and can continue */
  RUSH_ERR_INTERRUPTED = 9,  /* the poll function or the step limit ended the call */
  RUSH_ERR_DEVICE_LOST = 10, /* the run needs values of a device, such as a GPU, that was lost */
} rush_status;

/* Returns the status in kebab case, such as "out-of-memory". The string is constant. */
const char *rush_status_name(rush_status status);

/* The allocator. It frees if new_size is 0, allocates if old_size is 0 (ptr is then NULL), and
 * reallocates otherwise. It returns NULL if it has no memory. old_size is always exact, in
 * bytes. The returned memory must be aligned for any C object. */
typedef void *(*rush_alloc_fn)(void *user, void *ptr, size_t old_size, size_t new_size);

/* A context holds the allocator, the last error message and the caller's own operators. */
typedef struct rush_ctx rush_ctx;

/* Creates a context. If `alloc` is NULL, the context uses malloc; otherwise each call of `alloc`
 * receives `user`. The only error is NO_MEMORY. */
rush_status rush_ctx_create(rush_alloc_fn alloc, void *user, rush_ctx **out);
/* Destroys the context. Everything that was made with it must have been destroyed before. */
void rush_ctx_destroy(rush_ctx *ctx);
/* Returns the message of the last failed call, or "" if no call has failed. The string is valid
 * until the next call on the context. */
const char *rush_ctx_error(const rush_ctx *ctx);

/* The place of an instruction in a program. */
typedef struct rush_location {
  const char *method; /* "forward" */
  uint32_t instr;     /* the index within the method */
  const char *op;     /* "aten::add.Tensor"; "" for control flow */
  const char *file;   /* the Python source file; "" if unknown */
  uint32_t line;      /* counted from 1; 0 if unknown */
} rush_location;
/* Stores the location at which the last failed call failed; the message begins with it. Returns
 * false and stores an empty location if the failure was not at an instruction. The texts are
 * valid as long as the message, and are cut off after 255 bytes. */
bool rush_ctx_location(const rush_ctx *ctx, rush_location *out);

/* Stores how many bytes the context's allocator holds now, and the most that it has held. */
void rush_ctx_memory(const rush_ctx *ctx, size_t *live, size_t *peak);

/* Limits the bytes that the context may hold. An allocation above the limit fails with
 * NO_MEMORY. 0, the initial value, means no limit. Loading and describing have another limit, a
 * multiple of the file's size, so that a small file cannot fill a large machine. */
void rush_ctx_set_memory_limit(rush_ctx *ctx, size_t bytes);

/* Returns true if the running call must end. The call then fails with INTERRUPTED. */
typedef bool (*rush_poll_fn)(void *user);
/* Sets the function that decides whether a call must end. It receives `user` and is called every
 * few milliseconds while a function of this header loads, describes, runs or compares, even
 * inside long operators. NULL, the initial value, disables polling. The function must not use
 * the context. To end a call from another thread or a signal handler, set a flag there and let
 * the function read it:
 *
 *   static volatile sig_atomic_t stop;
 *   static bool asked(void *user) { (void)user; return stop; }
 *
 * An interrupted run cannot continue, and tensors that it was writing in place are half written.
 * The session, the model and the context remain usable. */
void rush_ctx_set_poll(rush_ctx *ctx, rush_poll_fn poll, void *user);
/* Returns the work that the context has done so far, in steps of about a nanosecond. Versions
 * may count differently. A limit on this number always bounds the time of a call. */
uint64_t rush_ctx_work(const rush_ctx *ctx);

/* ---- Threads -------------------------------------------------------------------------------- */

enum { RUSH_MAX_THREADS = 64 };

/* The threads that compute for the sessions of a context. */
typedef struct rush_pool rush_pool;
/* Lets long operators run on `threads` threads, including the caller's. The initial value is 1.
 * Results do not depend on the number of threads. No call may be running on the context. Fails
 * with BAD_ARGUMENT if `threads` is not between 1 and RUSH_MAX_THREADS, and with NO_MEMORY. If
 * the system cannot start that many threads, fewer compute. */
rush_status rush_ctx_set_threads(rush_ctx *ctx, unsigned threads);
/* Returns the context's pool, which is NULL if the context has one thread. The context owns it. */
rush_pool *rush_ctx_pool(const rush_ctx *ctx);
/* Lets the calling thread compute for the pool. Returns when the context is destroyed or gets a
 * different number of threads. A wasm module cannot start threads. Its host calls this function
 * in each helper thread, which needs its own instance on the shared memory and its own stack. */
void rush_pool_help(rush_pool *pool);

/* Frees memory that a function of this header allocated for the caller. `size` is the size in
 * bytes that the function reported. */
void rush_free(rush_ctx *ctx, void *ptr, size_t size);

/* Receives the text of one `print` of a program: `size` bytes of UTF-8, including the newline.
 * Values are written as libtorch writes them (aten/src/ATen/core/Formatting.cpp). */
typedef void (*rush_print_fn)(void *user, const char *text, size_t size);
/* Sets the function that receives printed text; its first argument is `user`. NULL, the initial
 * value, discards the text. */
void rush_ctx_set_print(rush_ctx *ctx, rush_print_fn print, void *user);

/* Fills `size` bytes with random ones. Returns false if it cannot. */
typedef bool (*rush_entropy_fn)(void *user, void *to, size_t size);
/* Sets the source of random seeds. NULL, the initial value, selects the system's getentropy, or
 * in a wasm module, which has none, an address. */
void rush_ctx_set_entropy(rush_ctx *ctx, rush_entropy_fn entropy, void *user);

/* ---- Loading -------------------------------------------------------------------------------- */

/* A loaded file with its methods, weights and test vectors. It is immutable. */
typedef struct rush_model rush_model;
/* A file that is being loaded piece by piece. */
typedef struct rush_loader rush_loader;

/* Loads a whole file of `size` bytes from memory. The bytes are copied or packed, so the caller
 * may free them afterwards. The caller owns the model. The errors are those of
 * rush_loader_advance and rush_loader_finish. */
rush_status rush_model_load(rush_ctx *ctx, const void *bytes, size_t size, rush_model **out);
/* Destroys a model. Its sessions must have been destroyed before. `ctx` may differ from the
 * context that loaded the model if both use the same allocator. */
void rush_model_destroy(rush_ctx *ctx, rush_model *model);

/* Creates a loader, which loads a file in pieces. The loader says where the next bytes of the
 * file belong. The caller writes them there and says how many it wrote:
 *
 *   while ((st = rush_loader_window(loader, &at, &room)) == RUSH_OK && room > 0)
 *     n = read(fd, at, room), st = rush_loader_advance(loader, n);
 *   rush_loader_finish(loader, &model);
 *
 * Weights are written directly to their final place. If a kernel needs them in another order,
 * they are packed as soon as a layer is complete, and the raw bytes are freed. The only error is
 * NO_MEMORY. */
rush_status rush_loader_create(rush_ctx *ctx, rush_loader **out);
/* Destroys a loader, even in the middle of a file. A model that it has handed over stays valid. */
void rush_loader_destroy(rush_loader *loader);
/* Stores where the next bytes of the file must be written and how many fit there. *room is 0 if
 * the file is complete. Fails with BAD_STATE after an earlier failure. */
rush_status rush_loader_window(rush_loader *loader, void **at, size_t *room);
/* Tells the loader that the caller has written `n` bytes, at most *room. Fails with BAD_FILE as
 * soon as the bytes break a rule of the format. */
rush_status rush_loader_advance(rush_loader *loader, size_t n);
/* Returns the size of the file in bytes, or 0 until the header has arrived. */
uint64_t rush_loader_total(const rush_loader *loader);
/* Returns the model's head once it has arrived, otherwise NULL. It may only be passed to
 * rush_model_describe, and the loader owns it. */
const rush_model *rush_loader_head(const rush_loader *loader);
/* Hands the loaded model over to the caller. Fails with BAD_FILE if bytes are missing, and with
 * UNSUPPORTED if the file uses operators that this runtime lacks; the message names all of them. */
rush_status rush_loader_finish(rush_loader *loader, rush_model **out);

/* The forms of rush_model_describe. */
typedef enum rush_describe_form {
  RUSH_DESCRIBE_TEXT = 0,
  RUSH_DESCRIBE_JSON = 1,
  RUSH_DESCRIBE_GRAPH = 2,
  RUSH_DESCRIBE_TORCH_GRAPH = 3,
  RUSH_DESCRIBE_TORCH_CODE = 4,
} rush_describe_form;
/* Describes the model. TEXT is for people, JSON for programs. Both give the methods with their
 * inputs and outputs, the operators with counts, the missing operators, sizes, attributes and
 * metadata, and the program in a form close to TorchScript's. Each input and output has name,
 * dtype, shape and constraints. dtype and shape are those of the examples; unknown sizes are
 * null. A constraint is {name, min, max} or null for each size. Operators that the host computes
 * also have the arguments and results of their schema.
 *
 * GRAPH is the program as JSON for tools: registers, instructions, constants, source lines and
 * PyTorch's own texts. TORCH_GRAPH and TORCH_CODE are these texts. They begin with the module as
 * print() shows it, followed by the `.graph` or `.code` of each method of each submodule before
 * the export.
 *
 * *text ends with a zero byte. The caller frees it with rush_free(ctx, *text, *size). */
rush_status rush_model_describe(rush_ctx *ctx, const rush_model *model, rush_describe_form form,
                                char **text, size_t *size);

/* Returns the number of methods, including forward. Other functions identify a method by its
 * index. */
size_t rush_model_method_count(const rush_model *model);
/* Returns the index of the method with this name, or -1 if the model has none. */
int rush_model_find_method(const rush_model *model, const char *name);
/* Returns the name of a method. The model owns all names that these functions return. If an
 * index is out of range, names are NULL and counts are 0. */
const char *rush_model_method_name(const rush_model *model, size_t method);
/* Returns how many arguments a method takes, including those with defaults. */
size_t rush_model_input_count(const rush_model *model, size_t method);
/* Returns the name of an argument, as in the Python source. */
const char *rush_model_input_name(const rush_model *model, size_t method, size_t input);
/* Stores the type of an argument as TorchScript writes it. *text is as in
 * rush_model_result_type. */
rush_status rush_model_input_type(rush_ctx *ctx, const rush_model *model, size_t method,
                                  size_t input, char **text, size_t *size);
/* Returns how many items the result has: those of a tuple, 0 for None, and 1 for any other type. */
size_t rush_model_output_count(const rush_model *model, size_t method);
/* Returns the name of an item of the result. */
const char *rush_model_output_name(const rush_model *model, size_t method, size_t output);
/* Stores the type of the result as TorchScript writes it, with the fields of named tuples:
 * "Tensor", "(Tensor, Answer(first : Tensor, count : int)[])". *text ends with a zero byte. The
 * caller frees it with rush_free(ctx, *text, *size). */
rush_status rush_model_result_type(rush_ctx *ctx, const rush_model *model, size_t method,
                                   char **text, size_t *size);

/* The place of a tensor in the file. Native tools use it to write weights back. */
typedef struct rush_weight_info {
  const char *name; /* such as "conv1.weight"; "" if the file has none */
  rush_dtype dtype;
  int rank;
  const int64_t *sizes, *strides;
  uint64_t file_offset; /* the first element's offset in the file, in bytes */
  /* The eight bytes that all of the tensor repeats, which then has none in the file. Otherwise
   * NULL. */
  const uint8_t *pattern;
} rush_weight_info;
/* Returns the number of tensors in the file's table. */
size_t rush_model_weight_count(const rush_model *model);
/* Stores the place of tensor `index` in *out, whose pointers belong to the model. Fails with
 * BAD_ARGUMENT if the index is out of range or the tensor only describes a shape. */
rush_status rush_model_weight(rush_ctx *ctx, const rush_model *model, size_t index,
                              rush_weight_info *out);

/* ---- Values --------------------------------------------------------------------------------- */

/* A session holds everything that runs change: values, attributes, and memory for the next run. */
typedef struct rush_session rush_session;

/* The kinds of values. */
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

/* One of PyTorch's values (c10::IValue, aten/src/ATen/core/ivalue.h). TENSOR and the kinds from
 * COMPLEX on hold a counted reference that belongs to a session. The other kinds are plain data.
 * The caller owns one reference of each value that a function creates. */
typedef struct rush_value {
  uint32_t kind, reserved;
  union {
    int64_t i; /* INT, and BOOL as 0 or 1 */
    double f;
    void *ref;
  } u;
} rush_value;

/* Returns None. */
static inline rush_value rush_none(void) {
  rush_value v = {RUSH_KIND_NONE, 0, {0}};
  return v;
}
/* Returns an int, which has 64 bits as in TorchScript. */
static inline rush_value rush_int(int64_t i) {
  rush_value v = {RUSH_KIND_INT, 0, {i}};
  return v;
}
/* Returns a bool. */
static inline rush_value rush_bool(bool b) {
  rush_value v = {RUSH_KIND_BOOL, 0, {b ? 1 : 0}};
  return v;
}
/* Returns a float, which has 64 bits as in Python. */
static inline rush_value rush_float(double f) {
  rush_value v = {RUSH_KIND_FLOAT, 0, {0}};
  v.u.f = f;
  return v;
}

/* Adds a reference to the value. */
void rush_value_retain(rush_session *session, const rush_value *value);
/* Drops a reference and sets *value to None. */
void rush_value_release(rush_session *session, rush_value *value);

/* Creates a contiguous (row-major) tensor of rank 0 to 8, whose elements are not initialized.
 * *data stays valid as long as the value, unless a program resizes the tensor: aten::resize_ may
 * move the elements, so call rush_tensor_inspect again after a run. Fails with UNSUPPORTED if
 * the dtype is reserved, with BAD_ARGUMENT if a size is negative, and with NO_MEMORY. */
rush_status rush_tensor_create(rush_session *session, rush_dtype dtype, int rank,
                               const int64_t *sizes, rush_value *out, void **data);
/* Creates a tensor that shares `base`'s storage, as torch.as_strided does
 * (aten/src/ATen/native/TensorShape.cpp). Strides and offset count elements. Fails with
 * BAD_ARGUMENT if an element would lie outside the storage. */
rush_status rush_tensor_view(rush_session *session, const rush_value *base, int rank,
                             const int64_t *sizes, const int64_t *strides, int64_t offset,
                             rush_value *out);

/* The quantization parameters of a tensor of dtype QINT8, QUINT8 or QINT32, where number =
 * (integer - zero point) * scale. */
typedef struct rush_quant {
  int axis; /* the dimension with its own scale for each index; -1: one scale for all elements */
  size_t n; /* the size of that dimension, or 1 */
  double *scales;       /* [n] */
  int64_t *zero_points; /* [n] */
} rush_quant;

/* The shape and elements of a tensor, which owns everything that the pointers refer to. */
typedef struct rush_tensor_info {
  rush_dtype dtype;               /* of the elements */
  int rank;                       /* number of dimensions, 0 to 8 */
  const int64_t *sizes, *strides; /* strides in elements */
  int64_t numel;                  /* number of elements */
  /* The first element; a bool is a byte of 0 or 1. NULL if loading has packed a weight for the
   * kernels. Such a weight appears only among the arguments of rush_session_next. */
  void *data;
  const rush_quant *quant; /* the parameters of a quantized tensor; NULL for others */
} rush_tensor_info;
/* Stores the shape and the elements of a tensor in *out. The pointers stay valid as long as the
 * value, unless a run resizes the tensor. Fails with BAD_ARGUMENT for other kinds, and with
 * NO_MEMORY if elements that a kernel left in another order cannot be put in order. */
rush_status rush_tensor_inspect(rush_session *session, const rush_value *tensor,
                                rush_tensor_info *out);
/* Replaces *tensor by a contiguous tensor with the same elements, unless it is contiguous. Fails
 * with UNSUPPORTED if the tensor is quantized, and with NO_MEMORY. */
rush_status rush_tensor_make_contiguous(rush_session *session, rush_value *tensor);

/* Creates a string from `size` bytes of UTF-8, which are copied. The only error is NO_MEMORY. */
rush_status rush_str_create(rush_session *session, const char *bytes, size_t size, rush_value *out);
/* Returns the bytes of a STR or DEVICE, followed by a zero byte, and stores their number in
 * *size. The bytes are valid as long as the value. For other kinds the result is "". */
const char *rush_str_bytes(const rush_value *str, size_t *size);

/* Creates a list of `n` items and adds a reference to each. The only error is NO_MEMORY. */
rush_status rush_list_create(rush_session *session, const rush_value *items, size_t n,
                             rush_value *out);
/* Creates a tuple in the same way. */
rush_status rush_tuple_create(rush_session *session, const rush_value *items, size_t n,
                              rush_value *out);
/* Creates a dict in the same way. The items alternate keys and values, and `n` counts both. The
 * dict keeps their order. */
rush_status rush_dict_create(rush_session *session, const rush_value *items, size_t n,
                             rush_value *out);
/* Creates a complex number from two doubles. The only error is NO_MEMORY. */
rush_status rush_complex_create(rush_session *session, double re, double im, rush_value *out);
/* Stores the real and imaginary parts of a COMPLEX, or zeros for other kinds. */
void rush_complex_get(const rush_value *value, double *re, double *im);
/* Returns the items of a LIST, TUPLE or DICT, the attributes of an OBJECT, or the qualified name
 * and the value of an ENUM, and stores their number in *n. The items are borrowed and valid
 * until the container changes. */
const rush_value *rush_items(const rush_value *container, size_t *n);

/* ---- Running -------------------------------------------------------------------------------- */

/* Creates a session. `model` must outlive it. The only error is NO_MEMORY. */
rush_status rush_session_create(rush_ctx *ctx, const rush_model *model, rush_session **out);
/* Destroys the session. The caller must have released its values before; otherwise their memory
 * leaks. */
void rush_session_destroy(rush_session *session);

/* Runs a method to its end, as torch/csrc/jit/runtime/interpreter.cpp does. The arguments are
 * borrowed. Missing trailing arguments take the method's defaults. In-place operators write into
 * the caller's tensors, as in PyTorch. The caller owns the result. After a failure the session
 * is ready for the next run. If the run reaches an operator that the host computes, the call
 * fails with BAD_STATE; use begin and step for such programs. */
rush_status rush_session_run(rush_session *session, size_t method, const rush_value *args,
                             size_t n_args, rush_value *result);

/* Begins a run in pieces: after begin, call step until it stops returning PENDING, then result.
 * A begin between two steps drops the current run. While a step is running, begin, run and step
 * fail with BAD_STATE. So a function that the step calls, such as the print function, cannot run
 * the session. */
rush_status rush_session_begin(rush_session *session, size_t method, const rush_value *args,
                               size_t n_args);
/* Continues the run. `budget` is the maximum number of instructions of this step; 0 means no
 * limit. A step with a budget also ends after an instruction that made poll due. Returns PENDING
 * if the run has not ended. */
rush_status rush_session_step(rush_session *session, uint64_t budget);
/* Limits the instructions of one run, over all its steps. A run that exceeds the limit fails
 * with INTERRUPTED. 0, the initial value, means no limit. */
void rush_session_set_step_limit(rush_session *session, uint64_t instructions);
/* Hands the result of a run that has ended over to the caller, once. Fails with BAD_STATE if the
 * run has not ended. */
rush_status rush_session_result(rush_session *session, rush_value *result);

/* Cancels the current run, if there is one. */
void rush_session_cancel(rush_session *session);

/* The instruction that the next step will run. If a step returned PENDING and `waits` is true,
 * the host computes the operator: it calculates the results from `args` and calls provide. A
 * host may call provide before any operator instead of stepping, to replace or watch it. */
typedef struct rush_next {
  uint32_t method, instr; /* instr is the index within the method */
  const char *op;         /* NULL for control flow, which only step can run */
  const rush_value *args; /* borrowed until the next call; complete, in schema order */
  size_t n_args, n_results;
  bool waits;
} rush_next;
/* Stores the next instruction. Fails with BAD_STATE if nothing is running, and with BAD_ARGUMENT
 * if the arguments do not fit the operator's schema. */
rush_status rush_session_next(rush_session *session, rush_next *out);
/* Uses these borrowed values as the results of the next instruction and moves past it. Results
 * that the schema marks as written arguments are copied into those arguments. Fails with
 * BAD_ARGUMENT if the number or the kinds do not fit. */
rush_status rush_session_provide(rush_session *session, const rush_value *results, size_t n);
/* Copies the tensor's elements into argument `arg` of the next instruction, which the schema
 * must mark as written. Call it before provide for an operator that writes an argument and does
 * not return it. */
rush_status rush_session_write(rush_session *session, size_t arg, const rush_value *tensor);
/* Ends the run because the host could not compute the next operator. The context's message
 * becomes the location of the instruction followed by `message`. Returns BAD_ARGUMENT. */
rush_status rush_session_fail(rush_session *session, const char *message);
/* Replaces the results of the operator that the last step ran by these borrowed values. That
 * step must have had a budget of one instruction. */
rush_status rush_session_replace(rush_session *session, const rush_value *results, size_t n);
/* Switches on or off whether the session keeps the results of each operator until the next step,
 * for rush_session_results. Fails with BAD_STATE while a trace is compared (trace.h). */
rush_status rush_session_observe(rush_session *session, bool on);
/* Returns the results of the last operator, borrowed until the next step, and stores their
 * number in *n. */
const rush_value *rush_session_results(const rush_session *session, size_t *n);

/* Returns how many attributes the program may write. */
size_t rush_model_attribute_count(const rush_model *model);
/* Returns the path of an attribute, such as "layer.state", or NULL if the index is out of range. */
const char *rush_model_attribute_name(const rush_model *model, size_t index);
/* Stores a new reference to the attribute's value itself, not to a copy. The caller owns the
 * reference. */
rush_status rush_session_get_attribute(rush_session *session, size_t index, rush_value *out);
/* Sets an attribute and adds a reference to the value. Fails with BAD_ARGUMENT if the value does
 * not have the attribute's type. */
rush_status rush_session_set_attribute(rush_session *session, size_t index,
                                       const rush_value *value);
/* Sets all attributes back to the file's values. */
rush_status rush_session_reset(rush_session *session);

/* Seeds the session's random number generator. Each session has its own, which is seeded from
 * the system's entropy when the session is created. With the same seed it gives the numbers of
 * torch.manual_seed in PyTorch 2.6 on the CPU, without MKL (ATen/CPUGeneratorImpl.cpp): integers
 * bit for bit, floats within 1e-6. rush_session_reset does not change the generator. */
void rush_session_manual_seed(rush_session *session, uint64_t seed);

/* Frees the memory that the session keeps for its next run. */
void rush_session_trim(rush_session *session);

/* The seed with which test vectors are run. The exporter ran PyTorch with the same seed. */
enum { RUSH_TEST_SEED = 1 };
/* The distance between an answer and PyTorch's answer in the file. */
typedef struct rush_verify_report {
  double max_abs; /* the greatest |a - b| of floating-point elements, where b is PyTorch's */
  /* The greatest |a - b| / |b|, over elements above a thousandth of the tensor's greatest |b|. */
  double max_rel;
  uint64_t compared; /* how many elements were compared */
  uint64_t measured; /* how many tensors and numbers have an answer in float64 */
  /* For the one of these that is furthest from float64: the distance of PyTorch's answer to
   * float64, of this answer to float64, and between the two. Zeros if there is none. */
  rush_distance pytorch, rushlight, difference;
} rush_verify_report;
/* Returns how many test vectors the file has. */
size_t rush_model_test_count(const rush_model *model);
/* Replays a test vector. The run starts from the file's attributes and RUSH_TEST_SEED; the
 * session's own generator keeps its state. Returns OK if the answer is close enough, else
 * MISMATCH with a message that says where it differs. In both cases *report has the measured
 * differences. An answer is close enough if torch.allclose accepts it with equal_nan and the
 * vector's tolerances (ATen/native/TensorCompare.cpp). If the file has the answer in float64, an
 * answer as near to it as PyTorch's is also close enough (verdict.h). Values that are not
 * floating point must be equal. */
rush_status rush_session_verify(rush_session *session, size_t test, rush_verify_report *report);
/* Begins the replay of a test vector in pieces, for operators that the host computes. Call step
 * until it stops returning PENDING, then rush_session_verify_end. */
rush_status rush_session_verify_begin(rush_session *session, size_t test);
/* Takes the result of the replay and compares it, as rush_session_verify does. */
rush_status rush_session_verify_end(rush_session *session, size_t test, rush_verify_report *report);

/* Returns the time in seconds since any fixed start. */
typedef double (*rush_clock_fn)(void *user);
/* Measures the time of each instruction from now on. NULL for `clock` switches profiling off.
 * The only error is NO_MEMORY. */
rush_status rush_session_profile(rush_session *session, rush_clock_fn clock, void *user);
/* The time that one instruction took. The texts belong to the model. */
typedef struct rush_profile_row {
  const char *op;         /* "aten::add.Tensor" */
  uint32_t method, instr; /* as in rush_next */
  const char *file;       /* the Python source file; "" if unknown */
  uint32_t line;          /* counted from 1; 0 if unknown */
  uint64_t calls;         /* how often it ran */
  double seconds;         /* over all calls */
} rush_profile_row;
/* Stores a row for each operator that has run since profiling began, and their number in *n. The
 * caller frees the rows with rush_free(ctx, *rows, *n * sizeof **rows). */
rush_status rush_session_profile_rows(rush_session *session, rush_profile_row **rows, size_t *n);

/* Returns whether this runtime has the operator, such as "aten::add.Tensor", including in-place
 * forms. */
bool rush_has_op(const char *name);
/* Returns the schema of an operator, or NULL if there is no operator of this name. */
const char *rush_op_schema(const char *name);
/* Returns whether rush::chain may contain an operator of this name. Such an operator computes
 * its result element by element and writes no argument. */
bool rush_may_chain(const char *name);
enum { RUSH_MAX_CHAIN = 64 }; /* the most operators of one chain */
/* Returns whether tensors may have this dtype, given as PyTorch's ScalarType number. */
bool rush_has_dtype(int dtype);

/* Returns the library's version, "major.minor.patch". */
const char *rush_version(void);

#ifdef __cplusplus
}
#endif
#endif
