#include "gpu_services.h"

#include "base/mt19937.h"
#include "blocks/elements/pointwise.h"
#include "blocks/shape.h"
#include "call/schema.h"
#include "tensor/device_interface.h"
#include "tensor/layout.h"
#include "tensor/padded_block.h"

#define SERVICE(name) (rush_gpu_service *)name,
static rush_gpu_service *const services[] = {
#include "gpu_services.def"
};

rush_gpu_service *const *const rush_optional_gpu = services;

void rush_gpu_set_device(rush_ctx *ctx, const struct rush_device *device) {
  ctx->device = device;
}
