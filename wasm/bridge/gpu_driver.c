/* The GPU's part of the runtime as its own module. JavaScript has the driver, and links the
 * module to the memory and the functions of the main module (js/src/gpu/link.js). */
#include "gpu/gpu.h"

#define IMPORT(name) __attribute__((import_module("gpu"), import_name(name)))
IMPORT("makeBuffer") uint32_t rush_js_make_buffer(size_t bytes);
IMPORT("destroyBuffer") void rush_js_destroy_buffer(uint32_t buffer);
IMPORT("write") void rush_js_write(uint32_t buffer, const void *from, size_t bytes);
IMPORT("makePipeline") uint32_t rush_js_make_pipeline(const char *wgsl, size_t size, uint32_t n);
IMPORT("dispatch")
void rush_js_dispatch(uint32_t pipeline, const uint32_t *buffers, uint32_t n,
                      const uint32_t *params, uint32_t x, uint32_t y, uint32_t z);
IMPORT("read") void rush_js_read(uint32_t buffer, size_t bytes, uint32_t token);
IMPORT("submit") void rush_js_submit(void);

static uint32_t make_buffer(void *user, size_t bytes) {
  (void)user;
  return rush_js_make_buffer(bytes);
}
static void destroy_buffer(void *user, uint32_t buffer) {
  (void)user;
  rush_js_destroy_buffer(buffer);
}
static void write(void *user, uint32_t buffer, const void *from, size_t bytes) {
  (void)user;
  rush_js_write(buffer, from, bytes);
}
static uint32_t make_pipeline(void *user, const char *wgsl, size_t size, uint32_t n) {
  (void)user;
  return rush_js_make_pipeline(wgsl, size, n);
}
static void dispatch(void *user, uint32_t pipeline, const uint32_t *buffers, uint32_t n,
                     const uint32_t *params, uint32_t x, uint32_t y, uint32_t z) {
  (void)user;
  rush_js_dispatch(pipeline, buffers, n, params, x, y, z);
}
static void read(void *user, uint32_t buffer, size_t bytes, uint32_t token) {
  (void)user;
  rush_js_read(buffer, bytes, token);
}
static void submit(void *user) {
  (void)user;
  rush_js_submit();
}

#define EXPORT __attribute__((visibility("default"), used))
EXPORT rush_gpu *rush_gpu_begin(rush_ctx *ctx);
EXPORT const rush_device *rush_gpu_device_of(const rush_gpu *gpu);

/* Returns NULL if there is no memory. */
rush_gpu *rush_gpu_begin(rush_ctx *ctx) {
  static const rush_gpu_driver driver = {make_buffer, destroy_buffer, write, make_pipeline,
                                         dispatch,    read,           submit};
  rush_gpu *gpu = NULL;
  return rush_gpu_create(ctx, &driver, NULL, &gpu) == RUSH_OK ? gpu : NULL;
}

const rush_device *rush_gpu_device_of(const rush_gpu *gpu) {
  return rush_gpu_device(gpu);
}
