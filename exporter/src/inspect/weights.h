// Writes the weights of a file.
#pragma once

#include <string>

namespace rush {

// Writes all named tensors of a .rush file, row-major, as .safetensors. Bits are not changed.
void write_safetensors(const std::string &model_path, const std::string &out_path);

}  // namespace rush
