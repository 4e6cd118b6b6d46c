/* The device's memory and commands, for the files of this folder. */
#ifndef RUSH_GPU_DEVICE_H
#define RUSH_GPU_DEVICE_H

#include "base/mt19937.h"
#include "gpu/gpu.h"

enum {
  RUSH_GPU_CLASSES = 160,
  RUSH_GPU_GROUP = 64, /* threads of a workgroup, also in the texts of kernels */
  RUSH_GPU_KEY = 36,
  RUSH_GPU_OPS = 1024,
  RUSH_GPU_COMMANDS = 1 << 14, /* of a batch, at most */
  RUSH_GPU_PIPELINES = 1 << 10 /* of a session, at most */
};

/* A buffer of the pool. */
typedef struct rush_gpu_buffer {
  struct rush_gpu_buffer *next; /* the next free one of its size */
  uint32_t number;
  size_t bytes;
  uint64_t batch; /* the batch of commands that used it last */
  bool counted;   /* in the memory of the context */
} rush_gpu_buffer;

/* The device's record of a storage. */
struct rush_on_device {
  rush_storage *storage;
  rush_gpu_buffer *buffer; /* NULL if the device has no valid bytes */
  bool in_memory;          /* whether the bytes in memory are valid */
  uint32_t token;          /* of the read that is on its way, from 1; 0 if there is none */
  struct rush_device_weight
      *weight; /* the owner of the buffer and of the bytes in memory, or NULL */
};

/* A weight that was moved to the device while its model was loaded. */
struct rush_device_weight {
  rush_gpu_buffer *buffer;
  uint64_t at, sum; /* the place in the file, and a checksum */
  size_t bytes;
  void *data; /* memory for the bytes, if they were needed there */
  void *raw;  /* its allocation */
  size_t raw_bytes;
  bool complete; /* whether they have arrived */
};

/* Returns whether only the device has the bytes of a tensor. */
static inline bool rush_gpu_only_there(const rush_tensor *t) {
  return t->storage->on_device && !t->storage->on_device->in_memory;
}

typedef struct rush_gpu_pipeline {
  uint32_t n_key, number;
  uint32_t key[RUSH_GPU_KEY];
} rush_gpu_pipeline;

struct rush_gpu_row;
struct rush_gpu_program;

struct rush_gpu {
  rush_device device;
  rush_ctx *ctx;
  const rush_gpu_driver *driver;
  void *user;
  uint64_t batch;    /* of commands, since the last submit */
  uint32_t commands; /* recorded in it */
  bool lost, idle;
  bool keeps_results;                  /* on the device, for the host */
  bool keeps_weights;                  /* in memory */
  struct rush_device_weight **weights; /* NULL for those that were dropped */
  size_t n_weights, most_weights;
  rush_random random; /* of the session, when the run began */
  bool refused; /* the current call needs a buffer, a pipeline or a time that it cannot have */
  rush_gpu_buffer *free[RUSH_GPU_CLASSES];
  rush_gpu_pipeline *pipelines;
  size_t n_pipelines, most_pipelines;
  struct rush_on_device **reads; /* by token - 1; NULL if it is no longer needed */
  uint32_t n_reads;
  size_t most_reads;
  struct rush_gpu_program *program; /* the chain that rush::chain is making */
  struct {
    const rush_op *op;
    const struct rush_gpu_row *row;
  } rows[RUSH_GPU_OPS]; /* hashed by op */
};

static inline rush_gpu *rush_gpu_of(const rush_heap *heap) {
  return (rush_gpu *)(uintptr_t)heap->ctx->device;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Doubles the capacity of an array, which is `most`. */
rush_status rush_gpu_grow(rush_gpu *g, void **items, size_t *most, size_t item);
void rush_gpu_trim(rush_gpu *g);
/* Makes a tensor whose bytes are on the device only, with PyTorch's strides, or row-major if they
 * are NULL. */
rush_status rush_gpu_tensor(rush_gpu *g, rush_heap *heap, rush_dtype dtype, int rank,
                            const int64_t *sizes, const int64_t *strides, rush_tensor **out);
/* Returns the buffer with the bytes of a storage, which are uploaded if necessary. */
rush_status rush_gpu_bytes(rush_gpu *g, rush_heap *heap, rush_storage *s, rush_gpu_buffer **out);
/* Gives the bytes of `from`, all of whose storage it is, to the storage of `to`. */
void rush_gpu_move(rush_gpu *g, rush_tensor *to, rush_tensor *from);
/* Marks that only the device has the bytes of a storage. */
void rush_gpu_written(rush_gpu *g, rush_storage *s);
/* The functions of rush_device. */
rush_status rush_gpu_fetch(rush_heap *heap, const rush_value *v);
rush_status rush_gpu_fetch_storage(rush_heap *heap, rush_storage *s);
rush_status rush_gpu_fetch_result(rush_heap *heap, const rush_value *v);
/* Returns whether the host can copy the tensor from the device, perhaps after a kernel has. */
bool rush_gpu_can_place(const rush_tensor *t);
void rush_gpu_forget(rush_heap *heap, rush_storage *s);
/* For weights that only the device has: weights.c. */
struct rush_device_weight *rush_gpu_take_weight(const rush_device *device, const void *data,
                                                size_t bytes, uint64_t at);
rush_status rush_gpu_lend_weight(rush_heap *heap, rush_storage *s, struct rush_device_weight *w);
void rush_gpu_drop_weight(const rush_device *device, struct rush_device_weight *w);
/* Gives memory to a weight, for its bytes. */
rush_status rush_gpu_weight_memory(rush_gpu *g, struct rush_device_weight *w, void **out);
/* Lets buffers of weights no longer count as memory, since a lost device has none. */
void rush_gpu_uncount_weights(rush_gpu *g);
/* Makes a buffer that lasts, for a weight, and writes the bytes to it. */
rush_status rush_gpu_make_weight(rush_gpu *g, const void *data, size_t bytes,
                                 rush_gpu_buffer **out);
void rush_gpu_destroy_buffer(rush_gpu *g, rush_gpu_buffer *b);
rush_status rush_gpu_attach(rush_heap *heap, rush_storage *s, bool in_memory);
/* Announces that the bytes in memory will be written. */
rush_status rush_gpu_will_write(rush_heap *heap, const rush_value *v);

/* ---- Commands -------------------------------------------------------------------------------- */

/* A dispatch: a kernel, its operands and its parameters. */
typedef struct rush_gpu_job {
  rush_gpu *g;
  rush_call *c;
  uint32_t pipeline, n_buffers;
  rush_gpu_buffer *buffers[RUSH_GPU_BUFFERS];
  uint32_t params[RUSH_GPU_WORDS];
} rush_gpu_job;

/* The text of a kernel, in parts that follow each other. */
typedef void rush_gpu_text(rush_text *t, const void *what);

/* Finds the pipeline of a job by a key of n words, or makes it from the text. `types` has the type
 * of the elements of each buffer, the result last: f for f32, v for vectors of four f32, u for u32,
 * h for float16. at0(i), at1(i), ... are the elements of all but u. */
rush_status rush_gpu_find_pipeline(rush_gpu_job *job, const uint32_t *key, uint32_t n_key,
                                   const char *types, rush_gpu_text *text, const void *what);
/* Adds the buffer of a tensor. */
rush_status rush_gpu_bind(rush_gpu_job *job, const rush_tensor *t);
/* The work of a dispatch: `each` steps for n elements or threads. */
typedef struct rush_gpu_work {
  uint64_t n, each;
} rush_gpu_work;
/* Records the dispatch of `groups` workgroups, `z` times, and counts their work. Refuses the call,
 * which then runs in memory, if it is more than a device should do without a pause, where nothing
 * can stop it. */
rush_status rush_gpu_dispatch(rush_gpu_job *job, uint64_t groups, uint32_t z, rush_gpu_work work);
/* Records threads for n elements, in workgroups of RUSH_GPU_GROUP, with `each` steps. */
rush_status rush_gpu_dispatch_elements(rush_gpu_job *job, uint64_t n, uint64_t each);
/* Returns the work of `lines` workgroups, each of which shares n steps among its threads. */
static inline rush_gpu_work rush_gpu_work_of_lines(uint64_t lines, uint64_t n) {
  return (rush_gpu_work){lines * RUSH_GPU_GROUP, n / RUSH_GPU_GROUP + 1};
}
/* Writes the beginning of each kernel: its buffers in0, in1, ..., out, and its parameters. */
void rush_gpu_prelude(rush_text *t, const char *types);
/* Writes the functions that n texts use: exp_, expm1_, sigmoid_, tanh_, mish_, erf_, gelu_, log_,
 * log1p_, sin_, div_, sqrt_, hardswish_, rank_, same_, less_, lerp_, softshrink_, floor_, ceil_,
 * trunc_ and round_. */
void rush_gpu_functions(rush_text *t, const char *const *texts, int n);

/* Writes the function float_of(low, high) of the words of an int64, rounded as in C. */
void rush_gpu_write_integers(rush_text *t);

/* ---- Bodies ---------------------------------------------------------------------------------- */

typedef struct rush_gpu_row {
  const char *name;
  /* Runs the row, or returns false and does nothing. If it returns true, either *st is an error, or
   * the results are set. NULL for rows that read no elements of tensors. */
  bool (*run)(rush_gpu *g, rush_call *c, const struct rush_gpu_row *row, rush_status *st);
  const char *text; /* for the body */
  int number;       /* the same */
} rush_gpu_row;

extern const rush_gpu_row rush_gpu_rows[];
const rush_gpu_row *rush_gpu_find_row(rush_gpu *g, const rush_op *op);
/* Returns whether the body reads weights of this dtype on the device. NULL stands for no row. */
bool rush_gpu_holds_weights(const rush_gpu_row *row, rush_dtype dtype);

/* Returns whether a call failed because the device can make no buffer of a size, and drops its
 * results. The row then runs in memory. */
bool rush_gpu_is_refused(const rush_gpu *g, rush_call *c, rush_status st);
/* Makes the program of a device, which its chains use. */
rush_status rush_gpu_make_program(rush_ctx *ctx, struct rush_gpu_program **out);
void rush_gpu_free_program(rush_ctx *ctx, struct rush_gpu_program *program);
/* The functions of rush_device, for rush::chain. */
bool rush_gpu_add_step(rush_call *c, uint32_t k, rush_tensor *stand_in);
bool rush_gpu_run_steps(rush_call *c, uint32_t n, rush_status *st);

typedef bool rush_gpu_body(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st);
rush_gpu_body rush_gpu_pointwise, rush_gpu_linear, rush_gpu_matmul, rush_gpu_addmm,
    rush_gpu_linear_weights, rush_gpu_linear_int8, rush_gpu_attention, rush_gpu_repeated_attention,
    rush_gpu_softmax, rush_gpu_layer_norm, rush_gpu_rms_norm, rush_gpu_group_norm,
    rush_gpu_batch_norm, rush_gpu_reduce, rush_gpu_find_extreme, rush_gpu_adaptive_avg_pool,
    rush_gpu_conv, rush_gpu_scaled_conv, rush_gpu_conv_transpose, rush_gpu_convolution,
    rush_gpu_max_pool, rush_gpu_avg_pool, rush_gpu_resample, rush_gpu_embedding,
    rush_gpu_index_select, rush_gpu_reshape, rush_gpu_contiguous, rush_gpu_clone,
    rush_gpu_copy_into, rush_gpu_cat, rush_gpu_pad, rush_gpu_same, rush_gpu_to,
    rush_gpu_rotate_half, rush_gpu_stack, rush_gpu_glu, rush_gpu_grid_sampler, rush_gpu_index,
    rush_gpu_instance_norm, rush_gpu_norm, rush_gpu_reduce_all, rush_gpu_logsumexp,
    rush_gpu_variance, rush_gpu_take_extreme, rush_gpu_repeat;

/* For pointwise rows, in `number`: how the text depends on the arguments. */
enum {
  RUSH_GPU_ANY_BODY = 1, /* it does not, also if the row chooses between bodies */
  RUSH_GPU_GELU,
  RUSH_GPU_CLAMP,
  RUSH_GPU_LOW,
  RUSH_GPU_HIGH,
  RUSH_GPU_POWER,
  RUSH_GPU_TESTS, /* gives bool */
  RUSH_GPU_MASKS, /* the same, and all operands are bool */
};
/* For rush_gpu_resample: bits of `number`. Without RUSH_GPU_LINEAR, a pixel is the nearest one. */
enum { RUSH_GPU_LINEAR = 1, RUSH_GPU_EXACT = 2, RUSH_GPU_OF_FACTORS = 4 };
/* For rush_gpu_reshape: rows that never copy, and flatten. */
enum { RUSH_GPU_VIEWS = 1, RUSH_GPU_FLATTENS };
/* For rush_gpu_to, beside the number of an argument. */
enum { RUSH_GPU_NO_FORMAT = 16 };

/* Returns whether the tensor has float32 elements that a kernel can read: at most 2^31 of them. */
bool rush_gpu_can_read(const rush_tensor *t);
/* Does the same for float32 and float16, which have these letters among the types of a kernel. */
bool rush_gpu_can_read_real(const rush_tensor *t);
static inline char rush_gpu_letter(const rush_tensor *t) {
  return t->dtype == RUSH_FLOAT16 ? 'h' : 'f';
}
/* Returns whether a kernel can read the tensor's bytes as words: any dtype. */
bool rush_gpu_can_read_bytes(const rush_tensor *t);
/* Returns whether a kernel can write the tensor: it is not a weight, and no two elements are at one
 * place. */
bool rush_gpu_is_writable(const rush_tensor *t);
/* Returns whether the tensor can be read, and copied to any other strides. */
bool rush_gpu_can_rearrange(const rush_tensor *t);
/* Writes the elements of `from`, which broadcasts, into `to`, with any strides. The two share no
 * storage, and rush_gpu_can_copy is true. */
bool rush_gpu_can_copy(const rush_tensor *to, const rush_tensor *from);
rush_status rush_gpu_copy(rush_gpu *g, rush_call *c, const rush_tensor *to,
                          const rush_tensor *from);
/* Does the same from a tensor that nobody else has, and whose storage `to` may take over. */
rush_status rush_gpu_assign(rush_gpu *g, rush_call *c, rush_tensor *to, rush_tensor *from);
/* Returns the tensor itself if it is row-major, and otherwise a copy that ends with the call. */
rush_status rush_gpu_row_major(rush_gpu *g, rush_call *c, rush_tensor *t, rush_tensor **out);
/* Multiplies x with a factor that broadcasts to it. The product has these strides and ends with the
 * call. */
rush_status rush_gpu_scale(rush_gpu *g, rush_call *c, const rush_tensor *x,
                           const rush_tensor *factor, const int64_t *strides, rush_tensor **out);
/* Makes result 0 of a tensor that a kernel can read: bool as float32, or float32 as bool. Returns
 * false if a kernel cannot. */
bool rush_gpu_cast(rush_gpu *g, rush_call *c, const rush_tensor *t, rush_status *st);
/* adaptive_avg_pool2d to this height and width. */
bool rush_gpu_average_parts(rush_gpu *g, rush_call *c, const int64_t *size, rush_status *st);
/* Makes a row-major float32 tensor that ends with the call. */
rush_status rush_gpu_temporary(rush_gpu *g, rush_call *c, int rank, const int64_t *sizes,
                               rush_tensor **out);
/* Makes result 0, float32. Strides may be NULL. */
rush_status rush_gpu_result(rush_gpu *g, rush_call *c, int rank, const int64_t *sizes,
                            const int64_t *strides);

#endif
