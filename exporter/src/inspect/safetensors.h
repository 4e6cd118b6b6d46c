// Writes a model's weights as .safetensors: https://huggingface.co/docs/safetensors
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rushlight/rushlight.h"

namespace rush {

// Returns the pieces of a new file with all named tensors of `model`, whose whole file is `file`:
// the header, then the elements of each tensor, row-major and bit for bit. Tensors that share a
// name get the suffixes ".1" and so on. Throws std::invalid_argument if all elements take more than
// `most` bytes, because strides of 0 make many elements of few bytes.
std::vector<std::string> safetensors_of(rush_ctx *ctx, const rush_model *model,
                                        std::string_view file, size_t most);

}  // namespace rush
