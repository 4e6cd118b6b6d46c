/* The functions of the main module for the module for GPUs, in the order of gpu_services.def.
 * Without --device webgpu, `npx rushlight slim` sets the pointer to NULL (js/bin/slim-rules.js).
 * The compiler must therefore not see its value where it is read. */
#ifndef RUSH_GPU_SERVICES_H
#define RUSH_GPU_SERVICES_H

typedef void rush_gpu_service(void);
extern rush_gpu_service *const *const rush_optional_gpu;

struct rush_ctx;
struct rush_device;
/* Sets the device of a context. It is part of the library, because a user's module is compiled
 * without the headers of wasm/src. */
void rush_gpu_set_device(struct rush_ctx *ctx, const struct rush_device *device);

#endif
