// A model's weights as .safetensors: https://huggingface.co/docs/safetensors
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rushlight/rushlight.h"

namespace rush {

// All named tensors of `model`, whose whole file is `file`, row-major; bits are not changed. Gives
// the pieces of the new file: its header, then the elements of each tensor. Where several tensors
// have one name, ".1" and so on is put behind it. Strides of 0 make many elements of few bytes:
// throws std::invalid_argument where all of them take more than `most` bytes.
std::vector<std::string> safetensors_of(rush_ctx *ctx, const rush_model *model,
                                        std::string_view file, size_t most);

}  // namespace rush
