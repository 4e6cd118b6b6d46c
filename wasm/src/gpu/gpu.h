/* Runs rows on a GPU. docs/design/gpu.md has the design.
 *
 * This folder decides: which rows run on the device, with which kernels, sizes and workgroups. A
 * driver executes: it makes buffers and pipelines, and records commands. JavaScript is the driver
 * in wasm (js/src/gpu), and tests supply one of their own.
 *
 * Rows compute float32. Bodies decline whatever else, and the interpreter then runs the row in
 * memory, which also reports all errors. */
#ifndef RUSH_GPU_H
#define RUSH_GPU_H

#include "call/schema.h"
#include "tensor/device_interface.h"
#include "tensor/value.h"

enum {
  RUSH_GPU_WORDS = 64,    /* of parameters of a dispatch, in its uniform buffer */
  RUSH_GPU_BUFFERS = 8,   /* of a dispatch, the result last */
  RUSH_GPU_GROUPS = 65535 /* workgroups of a dispatch, in each dimension */
};

/* Commands run in the order of the calls, but `write` runs before all commands that are not
 * submitted yet. Buffers and pipelines are numbers; 0 says that the driver cannot make one. */
typedef struct rush_gpu_driver {
  uint32_t (*make_buffer)(void *user, size_t bytes);
  void (*destroy_buffer)(void *user, uint32_t buffer);
  void (*write)(void *user, uint32_t buffer, const void *from, size_t bytes);
  uint32_t (*make_pipeline)(void *user, const char *wgsl, size_t size, uint32_t n_buffers);
  void (*dispatch)(void *user, uint32_t pipeline, const uint32_t *buffers, uint32_t n_buffers,
                   const uint32_t *params, uint32_t x, uint32_t y, uint32_t z);
  /* Requests the bytes of a buffer. The host writes them to rush_gpu_place(token) later, and then
   * calls rush_gpu_arrived. */
  void (*read)(void *user, uint32_t buffer, size_t bytes, uint32_t token);
  void (*submit)(void *user);
} rush_gpu_driver;

typedef struct rush_gpu rush_gpu;

rush_status rush_gpu_create(rush_ctx *ctx, const rush_gpu_driver *driver, void *user,
                            rush_gpu **out);
/* Frees the device. The sessions and the models of the context must have ended. Accepts NULL. */
void rush_gpu_destroy(rush_gpu *gpu);
const rush_device *rush_gpu_device(const rush_gpu *gpu);
/* Returns the address for the bytes of a read, or NULL if they are no longer needed. */
void *rush_gpu_place(rush_gpu *gpu, uint32_t token);
/* Reports that the bytes of all requested reads have been written. */
void rush_gpu_arrived(rush_gpu *gpu);
/* Reports that the device is lost. From now on, all rows run in memory. If one needs bytes that
 * only the device had, it fails with RUSH_ERR_DEVICE_LOST. */
void rush_gpu_lose(rush_gpu *gpu);
/* Lets all rows run in memory for some time, or no longer. The bytes on the device stay. */
void rush_gpu_set_idle(rush_gpu *gpu, bool idle);
/* Lets the tensors of results stay on the device, or no longer. */
void rush_gpu_keep_results(rush_gpu *gpu, bool keeps);
/* Lets the models that are loaded from now on keep all weights in memory, too. */
void rush_gpu_keep_weights(rush_gpu *gpu);
/* Submits the recorded commands. */
void rush_gpu_submit(rush_gpu *gpu);

/* Bytes of a file that belong to a weight. */
typedef struct rush_gpu_file_bytes {
  uint64_t at, bytes; /* 0 bytes after the last weight */
  void *to;
} rush_gpu_file_bytes;

/* Returns the place of the next weight that only the device has, from number *k on, and advances
 * *k. After the device was lost, the host copies the file's bytes to all these places. */
rush_status rush_gpu_next_weight(rush_gpu *gpu, uint32_t *k, rush_gpu_file_bytes *out);
/* Lets rows in memory read these weights from now on. Returns false if the bytes of one are not
 * those that the model was loaded with. */
bool rush_gpu_weights_are_back(rush_gpu *gpu);

/* A tensor on the device, in row-major order. */
typedef struct rush_gpu_region {
  uint32_t buffer; /* 0 if its elements are in memory only. The next members are then not set */
  uint32_t dtype, rank;
  uint32_t offset; /* bytes, a multiple of 4 */
  int64_t sizes[RUSH_MAX_RANK];
} rush_gpu_region;

/* Makes a tensor of the session on the device. Then the host copies the elements to *buffer.
 * All commands that use the buffer have been submitted. */
rush_status rush_gpu_make_input(rush_gpu *gpu, struct rush_session *session, rush_dtype dtype,
                                int rank, const int64_t *sizes, rush_value *out, uint32_t *buffer);
/* Returns the place of a tensor of a result. It may replace the tensor by a copy in row-major
 * order. */
rush_status rush_gpu_place_result(rush_gpu *gpu, struct rush_session *session, rush_value *tensor,
                                  rush_gpu_region *region);
/* Keeps the state of the session's random numbers, for a run that begins again. */
void rush_gpu_keep_random(rush_gpu *gpu, const struct rush_session *session);
/* Sets that state back. */
void rush_gpu_return_random(const rush_gpu *gpu, struct rush_session *session);
/* Where a row may run, by its name in ops.def: nowhere if it reads no elements of tensors. */
typedef enum rush_gpu_where {
  RUSH_GPU_IN_MEMORY,
  RUSH_GPU_ON_DEVICE,
  RUSH_GPU_NOWHERE
} rush_gpu_where;
rush_gpu_where rush_gpu_where_of(const char *name);
/* Returns how many reads are on their way. */
uint32_t rush_gpu_pending(const rush_gpu *gpu);

#endif
