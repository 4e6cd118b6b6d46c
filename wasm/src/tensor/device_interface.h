/* A device, such as a GPU, that holds the bytes of storages and runs rows (src/gpu).
 *
 * A storage with `on_device` may have valid bytes in memory, on the device, or in both. Only the
 * device knows. Before the interpreter runs a row in memory, and before code outside sees a tensor,
 * the device brings the bytes to memory. It may need another turn of the host's event loop for
 * that, and the call then gives RUSH_PENDING and is repeated later. */
#ifndef RUSH_DEVICE_INTERFACE_H
#define RUSH_DEVICE_INTERFACE_H

#include "tensor/heap.h"

struct rush_call;
struct rush_op;
struct rush_storage;
struct rush_session;
struct rush_device_weight;

typedef struct rush_device {
  /* Runs the row of a call, also in place, or returns false and leaves the row to the interpreter,
   * which can then read all arguments. Returns true with RUSH_PENDING in *status while bytes are on
   * their way. `schema` is the operator's rush_schema. */
  bool (*run)(struct rush_call *c, const void *schema, rush_status *status);
  /* Brings the bytes of all tensors of a value to memory. Returns RUSH_PENDING until they have
   * arrived. */
  rush_status (*fetch)(rush_heap *heap, const rush_value *v);
  rush_status (*fetch_storage)(rush_heap *heap, struct rush_storage *s);
  /* The same for the result of a run, whose tensors may stay on the device. */
  rush_status (*fetch_result)(rush_heap *heap, const rush_value *v);
  /* Invalidates the device's copy of a storage. The bytes in memory stay. */
  void (*forget)(rush_heap *heap, struct rush_storage *s);
  /* Returns whether the row reads its weights on the device, so that they are not packed. */
  bool (*reads_weights)(const struct rush_op *op);
  /* Returns whether the row reads a weight of this dtype on the device, so that its bytes need not
   * be in memory. */
  bool (*holds_weights)(const struct rush_op *op, rush_dtype dtype);
  /* Moves a weight of a file to the device. Its bytes begin at byte `at` of the file. Returns NULL
   * if they must stay in memory. */
  struct rush_device_weight *(*take_weight)(const struct rush_device *device, const void *data,
                                            size_t bytes, uint64_t at);
  /* Lets a storage without bytes in memory have those of the weight. */
  rush_status (*lend_weight)(rush_heap *heap, struct rush_storage *s, struct rush_device_weight *w);
  void (*drop_weight)(const struct rush_device *device, struct rush_device_weight *w);
  /* Adds the pointwise row of a call as step k of a chain. Step 0 begins a new one. *stand_in
   * becomes a placeholder for the result, without elements, which later steps take as an argument.
   * The stand-ins of a chain are in one array. Returns false if the device cannot run the step. */
  bool (*add_step)(struct rush_call *c, uint32_t k, rush_tensor *stand_in);
  /* Computes the result of step n - 1, and of no other, as result 0 of the call. Returns false if
   * the steps must run one by one. */
  bool (*run_steps)(struct rush_call *c, uint32_t n, rush_status *status);
} rush_device;

rush_heap *rush_session_heap(struct rush_session *session);

#endif
