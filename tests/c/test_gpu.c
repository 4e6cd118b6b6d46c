/* Decisions about a device: which rows run there, what is uploaded and read back. The driver is a
 * recorder. Its buffers are blocks of memory, which no kernel writes, so that the results of rows
 * are whatever a test puts into them. */
#include "exec/session.h"
#include "gpu/device.h"
#include "harness.h"

enum { BUFFERS = 64 };

typedef struct recorder {
  rig rig;
  rush_ctx *ctx;
  rush_gpu *gpu;
  float *buffers[BUFFERS];
  float written[4]; /* the first bytes of the last write */
  size_t bytes[BUFFERS];
  size_t most; /* bytes of a buffer; 0 if there is no limit */
  uint32_t n_buffers, pipelines, dispatches, writes, n_reads;
  struct {
    uint32_t buffer, token;
    size_t bytes;
  } reads[BUFFERS];
} recorder;

static uint32_t make_buffer(void *user, size_t bytes) {
  recorder *r = user;
  if (r->most && bytes > r->most) return 0;
  assert_true(r->n_buffers + 1 < BUFFERS);
  r->buffers[++r->n_buffers] = calloc(1, bytes);
  r->bytes[r->n_buffers] = bytes;
  return r->n_buffers;
}
static void destroy_buffer(void *user, uint32_t buffer) {
  recorder *r = user;
  free(r->buffers[buffer]);
  r->buffers[buffer] = NULL;
}
static void write(void *user, uint32_t buffer, const void *from, size_t bytes) {
  recorder *r = user;
  assert_true(bytes <= r->bytes[buffer]);
  memcpy(r->buffers[buffer], from, bytes);
  memcpy(r->written, from, bytes < sizeof r->written ? bytes : sizeof r->written);
  r->writes++;
}
static uint32_t make_pipeline(void *user, const char *wgsl, size_t size, uint32_t n) {
  recorder *r = user;
  assert_true(size == strlen(wgsl) && n >= 2);
  return ++r->pipelines;
}
static void dispatch(void *user, uint32_t pipeline, const uint32_t *buffers, uint32_t n,
                     const uint32_t *params, uint32_t x, uint32_t y, uint32_t z) {
  recorder *r = user;
  (void)params;
  assert_true(pipeline >= 1 && pipeline <= r->pipelines && x >= 1 && y >= 1 && z >= 1);
  assert_true(x <= RUSH_GPU_GROUPS && y <= RUSH_GPU_GROUPS && z <= RUSH_GPU_GROUPS);
  for (uint32_t k = 0; k + 1 < n; k++) assert_true(buffers[k] != buffers[n - 1]);
  r->dispatches++;
}
static void read(void *user, uint32_t buffer, size_t bytes, uint32_t token) {
  recorder *r = user;
  r->reads[r->n_reads].buffer = buffer;
  r->reads[r->n_reads].token = token;
  r->reads[r->n_reads++].bytes = bytes;
}
static void submit(void *user) {
  (void)user;
}

static const rush_gpu_driver driver = {make_buffer, destroy_buffer, write, make_pipeline,
                                       dispatch,    read,           submit};

/* Writes the bytes of all reads. Returns their number. */
static uint32_t arrive(recorder *r) {
  const uint32_t n = r->n_reads;
  assert_true(rush_gpu_pending(r->gpu) == n);
  for (uint32_t k = 0; k < n; k++) {
    void *place = rush_gpu_place(r->gpu, r->reads[k].token);
    if (place) memcpy(place, r->buffers[r->reads[k].buffer], r->reads[k].bytes);
  }
  r->n_reads = 0;
  rush_gpu_arrived(r->gpu);
  return n;
}

static void open_device(recorder *r) {
  *r = (recorder){0};
  rig_open(&r->rig);
  r->ctx = r->rig.ctx;
  OK(rush_gpu_create(r->ctx, &driver, r, &r->gpu));
  r->ctx->device = rush_gpu_device(r->gpu);
}

static void open(recorder *r, builder *b) {
  open_device(r);
  rig_start(&r->rig, b);
}

static void close(recorder *r) {
  rush_session_destroy(r->rig.session);
  rush_model_destroy(r->ctx, r->rig.model);
  r->rig.session = NULL;
  r->rig.model = NULL;
  rush_gpu_destroy(r->gpu);
  for (uint32_t k = 1; k <= r->n_buffers; k++) assert_null(r->buffers[k]);
  r->ctx->device = NULL;
  rig_close(&r->rig);
}

/* Runs the method on four floats. Returns how often it waited for the device. */
static int run_floats(recorder *r, const float *x) {
  rush_value in = rig_floats(&r->rig, 4, x), out;
  int waits = 0;
  OK(rush_session_begin(r->rig.session, 0, &in, 1));
  rush_value_release(r->rig.session, &in);
  for (;; waits++) {
    const rush_status st = rush_session_step(r->rig.session, 0);
    if (st != RUSH_PENDING) {
      OK(st);
      break;
    }
    assert_true(arrive(r) > 0);
  }
  OK(rush_session_result(r->rig.session, &out));
  rush_value_release(r->rig.session, &out);
  return waits;
}

static const float four[] = {-1, 2, -3, 4};

/* A program of n rows with one operand each. */
/* Opens a device with a program of n rows that follow each other. */
static void open_rows(recorder *r, int n, const char *const *names) {
  builder b_ = {0}, *b = &b_;
  const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
  uint32_t x = build_method(b, "forward", tensor, 1, U32(tensor));
  for (int k = 0; k < n; k++) x = CALL(names[k], tensor, x);
  build_return(b, x);
  open(r, b);
}

static void rows_follow_each_other_on_the_device(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 3, (const char *const[]){"aten::relu", "aten::sigmoid", "aten::relu"});
  assert_int_equal(run_floats(r, four), 1); /* for the result */
  assert_int_equal(r->dispatches, 3);
  assert_int_equal(r->writes, 1);
  assert_int_equal(r->pipelines, 2);
  const uint32_t buffers = r->n_buffers;
  assert_int_equal(run_floats(r, four), 1);
  assert_int_equal(r->n_buffers, buffers);
  assert_int_equal(r->pipelines, 2);
  close(r);
}

static void a_row_without_a_kernel_runs_in_memory(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 3, (const char *const[]){"aten::relu", "aten::lgamma", "aten::relu"});
  assert_int_equal(run_floats(r, four), 2);
  assert_int_equal(r->dispatches, 2);
  assert_int_equal(r->writes, 2);
  close(r);
}

static void a_view_costs_nothing(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 3, (const char *const[]){"aten::relu", "aten::t", "aten::relu"});
  assert_int_equal(run_floats(r, four), 1);
  assert_int_equal(r->dispatches, 2);
  close(r);
}

/* Begins a run on four floats, and steps until the result is on its way. */
static void begin_floats(recorder *r) {
  rush_value in = rig_floats(&r->rig, 4, four);
  OK(rush_session_begin(r->rig.session, 0, &in, 1));
  rush_value_release(r->rig.session, &in);
  assert_int_equal(rush_session_step(r->rig.session, 0), RUSH_PENDING);
}

static void a_run_that_ends_early_needs_no_bytes(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 1, (const char *const[]){"aten::relu"});
  begin_floats(r);
  rush_session_cancel(r->rig.session);
  assert_null(rush_gpu_place(r->gpu, r->reads[0].token));
  arrive(r);
  close(r);
}

static void a_limit_counts_buffers(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 1, (const char *const[]){"aten::relu"});
  const size_t limit = r->ctx->live;
  rush_value in = rig_floats(&r->rig, 4, four);
  OK(rush_session_begin(r->rig.session, 0, &in, 1));
  rush_value_release(r->rig.session, &in);
  rush_ctx_set_memory_limit(r->ctx, limit + 64);
  assert_int_equal(rush_session_step(r->rig.session, 0), RUSH_ERR_NO_MEMORY);
  close(r);
}

/* relu, then n of sigmoid, after a chain of all. If `keeps`, lgamma of relu's result follows. */
static void build_chain(builder *b, int n, bool keeps) {
  const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  const uint32_t x = build_method(b, "forward", tensor, 1, U32(tensor));
  build_op(b, "rush::chain", 1, U32(K(build_int(b, n + 1))), 0, NULL);
  const uint32_t first = CALL("aten::relu", tensor, x);
  uint32_t y = first;
  for (int k = 0; k < n; k++) y = CALL("aten::sigmoid", tensor, y);
  if (keeps) y = CALL("aten::lgamma", tensor, first);
  build_return(b, y);
}

static void a_chain_is_one_dispatch(void **state) {
  (void)state;
  builder b = {0};
  recorder recorder_, *r = &recorder_;
  build_chain(&b, 5, false);
  open(r, &b);
  for (int again = 1; again <= 2; again++) {
    assert_int_equal(run_floats(r, four), 1);
    assert_int_equal(r->dispatches, again);
    assert_int_equal(r->pipelines, 1);
  }
  close(r);
}

static void a_chain_of_more_steps_than_a_kernel_has_continues(void **state) {
  (void)state;
  builder b = {0};
  recorder recorder_, *r = &recorder_;
  build_chain(&b, 20, false);
  open(r, &b);
  assert_int_equal(run_floats(r, four), 1);
  assert_int_equal(r->dispatches, 1 + 21 - 16);
  close(r);
}

static void a_result_that_is_needed_later_ends_a_chain(void **state) {
  (void)state;
  builder b = {0};
  recorder recorder_, *r = &recorder_;
  build_chain(&b, 3, true);
  open(r, &b);
  assert_int_equal(run_floats(r, four), 1); /* for lgamma */
  assert_int_equal(r->dispatches, 4);
  close(r);
}

/* Runs on four floats, without waiting for the device. */
static const char *run_in_memory(recorder *r) {
  rush_value in = rig_floats(&r->rig, 4, four);
  const char *text = run(&r->rig, 0, ARGS(in));
  rush_value_release(r->rig.session, &in);
  return text;
}

static void a_lost_device_leaves_all_rows_to_memory(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 2, (const char *const[]){"aten::relu", "aten::neg"});
  begin_floats(r);
  rush_gpu_lose(r->gpu);
  r->n_reads = 0;
  assert_int_equal(rush_gpu_pending(r->gpu), 0);
  assert_int_equal(rush_session_step(r->rig.session, 0), RUSH_ERR_DEVICE_LOST);
  assert_string_equal(run_in_memory(r), "float32[4](-0 -2 -0 -4)");
  assert_int_equal(r->dispatches, 2);
  close(r);
}

static void a_row_runs_in_memory_if_the_device_has_no_buffer_of_its_size(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 2, (const char *const[]){"aten::relu", "aten::neg"});
  r->most = 8;
  assert_string_equal(run_in_memory(r), "float32[4](-0 -2 -0 -4)");
  assert_int_equal(r->dispatches, 0);
  close(r);
}

/* ---- Weights that only the device has -------------------------------------------------------- */

enum { ROWS = 32 };
static float weight[4 * ROWS];

/* Opens a device with the program x + weight, and returns the file. If `also` is not NULL, the
 * program calls that row with the weight, too. */
static uint8_t *open_sum(recorder *r, const char *also, bool keeps) {
  builder b_ = {0}, *b = &b_;
  size_t size;
  for (int i = 0; i < 4 * ROWS; i++) weight[i] = (float)i;
  const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
  const uint32_t x = build_method(b, "forward", tensor, 1, U32(tensor));
  const uint32_t w = K(build_const(
      b, RUSH_CONST_TENSOR, build_tensor(b, RUSH_FLOAT32, 2, (int64_t[]){ROWS, 4}, weight), 0, 0));
  if (also) CALL(also, tensor, w);
  build_return(b,
               CALL("aten::sum", tensor, CALL("aten::add.Tensor", tensor, x, w, K(build_int(b, 1))),
                    K(build_none(b))));
  open_device(r);
  if (keeps) rush_gpu_keep_weights(r->gpu);
  uint8_t *file = build_file(b, &size);
  build_free(b);
  OK(rush_model_load(r->ctx, file, size, &r->rig.model));
  OK(rush_session_create(r->ctx, r->rig.model, &r->rig.session));
  return file;
}

static bool is_in_memory(const recorder *r) {
  return r->rig.model->weights[0].data != NULL;
}

static void a_weight_that_kernels_read_is_on_the_device_only(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  free(open_sum(r, NULL, false));
  assert_false(is_in_memory(r));
  assert_int_equal(r->writes, 1);
  assert_memory_equal(r->buffers[1], weight, sizeof weight);
  assert_int_equal(run_floats(r, four), 1);
  assert_int_equal(r->writes, 2); /* the input */
  assert_int_equal(run_floats(r, four), 1);
  assert_int_equal(r->writes, 3);
  close(r);
}

static void a_weight_stays_in_memory_if_a_row_needs_it_there(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  free(open_sum(r, "aten::erfinv", false));
  assert_true(is_in_memory(r));
  close(r);
  free(open_sum(r, NULL, true)); /* or if the host wants it */
  assert_true(is_in_memory(r));
  assert_int_equal(r->writes, 0);
  close(r);
}

/* Two sessions of a model share the bytes. */
static void a_weight_is_read_back_once_for_rows_in_memory(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  free(open_sum(r, NULL, false));
  for (int k = 0; k < 2; k++) {
    rush_gpu_set_idle(r->gpu, true);
    assert_int_equal(run_floats(r, four), k == 0);
    rush_session_destroy(r->rig.session);
    OK(rush_session_create(r->ctx, r->rig.model, &r->rig.session));
  }
  assert_string_equal(run_in_memory(r), "float32[](8192)");
  assert_int_equal(r->dispatches, 0);
  close(r);
}

static void a_weight_of_a_lost_device_comes_from_the_file_again(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  uint32_t k = 0;
  rush_gpu_file_bytes next;
  uint8_t *file = open_sum(r, NULL, false);
  rush_gpu_lose(r->gpu);
  assert_contains("lost", run_in_memory(r), "the GPU was lost");
  for (int right = 0; right < 2; right++) {
    k = 0;
    OK(rush_gpu_next_weight(r->gpu, &k, &next));
    assert_int_equal(next.bytes, sizeof weight);
    assert_int_equal((uintptr_t)next.to % RUSH_ALIGN, 0); /* as kernels need it */
    memcpy(next.to, file + next.at + !right, sizeof weight - !right);
    assert_int_equal(rush_gpu_weights_are_back(r->gpu), right);
  }
  assert_memory_equal(next.to, weight, sizeof weight);
  k = 0;
  OK(rush_gpu_next_weight(r->gpu, &k, &next));
  assert_int_equal(next.bytes, 0);
  assert_string_equal(run_in_memory(r), "float32[](8192)");
  free(file);
  close(r);
}

static void a_weight_stays_in_memory_without_a_buffer_of_its_size(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  builder b_ = {0}, *b = &b_;
  const int64_t sizes[] = {ROWS, 4};
  const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
  const uint32_t x = build_method(b, "forward", tensor, 1, U32(tensor));
  const uint32_t w =
      K(build_const(b, RUSH_CONST_TENSOR, build_tensor(b, RUSH_FLOAT32, 2, sizes, weight), 0, 0));
  build_return(b, CALL("aten::mul.Tensor", tensor, x, w));
  open_device(r);
  r->most = 64;
  rig_start(&r->rig, b);
  assert_true(is_in_memory(r));
  close(r);
}

/* Returns a constant whose elements are one element of the file. */
static uint32_t expanded(builder *b, int rank, const int64_t *sizes) {
  const int64_t strides[4] = {0};
  const float one = 1;
  const uint32_t w =
      build_view(b, build_storage(b, &one, sizeof one), RUSH_FLOAT32, rank, sizes, strides, 0);
  return K(build_const(b, RUSH_CONST_TENSOR, w, 0, 0));
}

static void check_in_memory(builder *b, const char *want) {
  recorder recorder_, *r = &recorder_;
  open(r, b);
  assert_string_equal(run_in_memory(r), want);
  assert_int_equal(r->dispatches, 0);
  close(r);
}

static uint32_t ints(builder *b, uint32_t one, uint32_t other) {
  const uint32_t type = build_type_n(b, RUSH_TYPE_LIST, 1, U32(build_type(b, RUSH_TYPE_INT)));
  return K(build_items(b, RUSH_CONST_LIST, type, 2, U32(one, other)));
}

/* Nothing can stop a kernel, and elements that a file repeats need no memory. */
static void a_convolution_of_too_many_steps_runs_in_memory(void **state) {
  (void)state;
  builder b_ = {0}, *b = &b_;
  const int64_t sizes[] = {1, 1, 2049, 2049};
  const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
  build_method(b, "forward", tensor, 1, U32(tensor));
  const uint32_t one = build_int(b, 1), zero = build_int(b, 0), ones = ints(b, one, one);
  build_return(b, CALL("aten::conv2d", tensor, expanded(b, 4, sizes), expanded(b, 4, sizes),
                       K(build_none(b)), ones, ints(b, zero, zero), ones, K(one)));
  check_in_memory(b, "float32[1, 1, 1, 1](4.1984e+06)");
}

static void a_product_of_too_many_steps_runs_in_memory(void **state) {
  (void)state;
  builder b_ = {0}, *b = &b_;
  const int64_t most = (1 << 22) + 8, line[] = {1, most}, column[] = {most, 1};
  const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
  build_method(b, "forward", tensor, 1, U32(tensor));
  build_return(b, CALL("aten::mm", tensor, expanded(b, 2, line), expanded(b, 2, column)));
  check_in_memory(b, "float32[1, 1](4.19431e+06)");
}

/* All kernels are dispatched by these two functions. */
static void every_dispatch_counts_its_work(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_device(r);
  rush_gpu_job job = {.g = r->gpu, .pipeline = 1};
  r->pipelines = 1;
  const uint64_t before = r->ctx->work;
  OK(rush_gpu_dispatch_elements(&job, 1 << 20, 1 << 10));
  OK(rush_gpu_dispatch(&job, 16, 2, rush_gpu_work_of_lines(32, 1 << 20)));
  OK(rush_gpu_dispatch_elements(&job, 1, 1));
  assert_in_range(r->ctx->work - before, (1 << 20) + (1 << 15), (1 << 20) + (1 << 15) + 100);
  assert_int_equal(r->dispatches, 3);
  assert_int_equal(rush_gpu_dispatch_elements(&job, 1, (1 << 22) + 1), RUSH_ERR_NO_MEMORY);
  assert_int_equal(rush_gpu_dispatch_elements(&job, (1 << 30) + 1, 1 << 10), RUSH_ERR_NO_MEMORY);
  assert_int_equal(rush_gpu_dispatch(&job, 1, 1, rush_gpu_work_of_lines(1, (uint64_t)1 << 29)),
                   RUSH_ERR_NO_MEMORY);
  assert_int_equal(r->dispatches, 3);
  close(r);
}

static void write_nothing(rush_text *t, const void *what) {
  (void)t, (void)what;
}

static void a_session_has_a_number_of_pipelines(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_device(r);
  rush_gpu_job job = {.g = r->gpu};
  for (uint32_t key = 0; key < RUSH_GPU_PIPELINES; key++)
    OK(rush_gpu_find_pipeline(&job, &key, 1, "ff", write_nothing, NULL));
  const uint32_t one = 5, more = RUSH_GPU_PIPELINES;
  assert_int_equal(rush_gpu_find_pipeline(&job, &more, 1, "ff", write_nothing, NULL),
                   RUSH_ERR_NO_MEMORY);
  assert_true(r->gpu->refused); /* the row runs in memory */
  OK(rush_gpu_find_pipeline(&job, &one, 1, "ff", write_nothing, NULL));
  assert_int_equal(r->pipelines, RUSH_GPU_PIPELINES);
  close(r);
}

/* A row in memory may write whatever is in its arguments. */
static void tensors_in_nested_lists_leave_the_device(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  open_rows(r, 1, (const char *const[]){"aten::relu"});
  rush_heap *heap = &r->rig.session->heap;
  rush_tensor *t;
  rush_value v, inner, outer;
  OK(rush_gpu_tensor(r->gpu, heap, RUSH_FLOAT32, 1, (const int64_t[]){4}, NULL, &t));
  v = rush_of_tensor(t);
  OK(rush_new_list(heap, RUSH_KIND_LIST, 1, &v, 1, &inner));
  OK(rush_new_list(heap, RUSH_KIND_TUPLE, 1, &inner, 1, &outer));
  OK(rush_gpu_will_write(heap, &outer));
  assert_null(t->storage->on_device->buffer);
  rush_drop(heap, &outer);
  rush_drop(heap, &inner);
  rush_drop(heap, &v);
  close(r);
}

/* A kernel walks over six dimensions. Reversed, these seven cannot be joined. */
static void seven_dimensions_are_rearranged_in_memory(void **state) {
  (void)state;
  builder b = {0};
  recorder recorder_, *r = &recorder_;
  const int64_t sizes[] = {2, 2, 2, 2, 2, 2, 2}, strides[] = {1, 2, 4, 8, 16, 32, 64};
  float data[128];
  for (int i = 0; i < 128; i++) data[i] = (float)i;
  const uint32_t tensor = build_type(&b, RUSH_TYPE_TENSOR);
  const uint32_t w =
      build_view(&b, build_storage(&b, data, sizeof data), RUSH_FLOAT32, 7, sizes, strides, 0);
  build_method(&b, "forward", tensor, 1, U32(tensor));
  const uint32_t kept = K(build_const(&b, RUSH_CONST_TENSOR, w, 0, 0)),
                 format = K(build_int(&b, 0));
  build_return(&b, build_call(&b, "aten::contiguous", tensor, 2, U32(kept, format)));
  open_device(r);
  rush_gpu_keep_weights(r->gpu);
  rig_start(&r->rig, &b);
  assert_non_null(strstr(run_in_memory(r), "(0 64 32 96 16 80 48 112"));
  assert_int_equal(r->dispatches, 0);
  close(r);
}

static void an_observer_sees_results_of_the_device_in_memory(void **state) {
  (void)state;
  recorder recorder_, *r = &recorder_;
  size_t n;
  open_rows(r, 2, (const char *const[]){"aten::relu", "aten::neg"});
  OK(rush_session_observe(r->rig.session, true));
  begin_floats(r);
  assert_int_equal(r->dispatches, 1);
  r->buffers[r->reads[0].buffer][1] = 5; /* which no kernel writes here */
  assert_int_equal(arrive(r), 1);
  assert_int_equal(rush_session_step(r->rig.session, 1), RUSH_PENDING);
  assert_int_equal(r->dispatches, 1);
  const rush_value *seen = rush_session_results(r->rig.session, &n);
  assert_int_equal(n, 1);
  assert_string_equal(show(&r->rig, seen), "float32[4](0 5 0 0)");
  assert_int_equal(rush_session_step(r->rig.session, 0), RUSH_PENDING);
  rush_session_cancel(r->rig.session); /* while the results of neg are on their way */
  arrive(r);
  OK(rush_session_observe(r->rig.session, false));
  close(r);
}

/* The host writes a result of the device in memory, itself or by a result that the schema says is
 * the argument, and the next kernel reads what was written. */
static void what_the_host_writes_is_uploaded(void **state) {
  (void)state;
  const char *const schemas[] = {"my_ops::fill(Tensor(a!) x) -> ()",
                                 "my_ops::fill(Tensor(a!) x) -> Tensor(a!)"};
  for (uint32_t results = 0; results < 2; results++) {
    builder b = {0};
    recorder recorder_, *r = &recorder_;
    const rush_custom_op op = {.size = sizeof op, .schema = schemas[results]};
    const uint32_t tensor = build_type(&b, RUSH_TYPE_TENSOR);
    const uint32_t x = build_method(&b, "forward", tensor, 1, U32(tensor));
    const uint32_t y = build_call(&b, "aten::relu", tensor, 1, U32(x));
    const uint32_t out = results ? build_reg(&b, tensor) : 0;
    build_op(&b, "my_ops::fill", 1, U32(y), results, &out);
    build_return(&b, build_call(&b, "aten::neg", tensor, 1, U32(y)));
    open_device(r);
    OK(rush_ctx_add_op(r->ctx, &op));
    rig_start(&r->rig, &b);
    begin_floats(r); /* the operator's argument is on its way */
    assert_int_equal(arrive(r), 1);
    assert_int_equal(rush_session_step(r->rig.session, 0), RUSH_PENDING);
    assert_int_equal(r->n_reads, 0); /* it waits for the host */
    assert_int_equal(r->writes, 1);
    rush_value given = rig_floats(&r->rig, 4, (float[]){5, 6, 7, 8});
    if (!results) OK(rush_session_write(r->rig.session, 0, &given));
    OK(rush_session_provide(r->rig.session, &given, results));
    rush_value_release(r->rig.session, &given);
    assert_int_equal(rush_session_step(r->rig.session, 0), RUSH_PENDING);
    assert_int_equal(r->writes, 2);
    assert_memory_equal(r->written, ((float[]){5, 6, 7, 8}), 4 * sizeof(float));
    rush_session_cancel(r->rig.session);
    arrive(r);
    close(r);
  }
}

static void every_row_has_a_name_of_ops_def(void **state) {
  (void)state;
  for (const rush_gpu_row *row = rush_gpu_rows; row->name; row++) {
    bool inplace;
    if (!rush_op_find(row->name, &inplace)) fail_msg("%s", row->name);
    assert_false(inplace && strcmp(row->name, "aten::copy_") != 0);
    for (const rush_gpu_row *other = rush_gpu_rows; other < row; other++)
      if (strcmp(other->name, row->name) == 0) fail_msg("%s is there twice", row->name);
  }
}

static void every_view_reads_no_elements(void **state) {
  (void)state;
  for (size_t k = 0; k < rush_op_count(); k++) {
    char name[64];
    const rush_op *op = rush_op_at(k);
    if (!(op->flags & RUSH_OP_VIEW)) continue;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(op->schema, "("), op->schema);
    if (rush_gpu_where_of(name) != RUSH_GPU_NOWHERE) fail_msg("rows.def lacks %s", name);
  }
  assert_int_equal(rush_gpu_where_of("aten::relu"), RUSH_GPU_ON_DEVICE);
  assert_int_equal(rush_gpu_where_of("aten::cumsum"), RUSH_GPU_IN_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_follow_each_other_on_the_device),
      cmocka_unit_test(a_row_without_a_kernel_runs_in_memory),
      cmocka_unit_test(a_view_costs_nothing),
      cmocka_unit_test(a_run_that_ends_early_needs_no_bytes),
      cmocka_unit_test(a_limit_counts_buffers),
      cmocka_unit_test(a_chain_is_one_dispatch),
      cmocka_unit_test(a_chain_of_more_steps_than_a_kernel_has_continues),
      cmocka_unit_test(a_result_that_is_needed_later_ends_a_chain),
      cmocka_unit_test(a_lost_device_leaves_all_rows_to_memory),
      cmocka_unit_test(a_row_runs_in_memory_if_the_device_has_no_buffer_of_its_size),
      cmocka_unit_test(a_weight_that_kernels_read_is_on_the_device_only),
      cmocka_unit_test(a_weight_stays_in_memory_if_a_row_needs_it_there),
      cmocka_unit_test(a_weight_is_read_back_once_for_rows_in_memory),
      cmocka_unit_test(a_weight_of_a_lost_device_comes_from_the_file_again),
      cmocka_unit_test(a_weight_stays_in_memory_without_a_buffer_of_its_size),
      cmocka_unit_test(a_convolution_of_too_many_steps_runs_in_memory),
      cmocka_unit_test(a_product_of_too_many_steps_runs_in_memory),
      cmocka_unit_test(every_dispatch_counts_its_work),
      cmocka_unit_test(a_session_has_a_number_of_pipelines),
      cmocka_unit_test(tensors_in_nested_lists_leave_the_device),
      cmocka_unit_test(seven_dimensions_are_rearranged_in_memory),
      cmocka_unit_test(an_observer_sees_results_of_the_device_in_memory),
      cmocka_unit_test(what_the_host_writes_is_uploaded),
      cmocka_unit_test(every_row_has_a_name_of_ops_def),
      cmocka_unit_test(every_view_reads_no_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
