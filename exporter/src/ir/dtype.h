// Dtypes. They have the numbers of rush_dtype, and those of PyTorch where the runtime has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rushlight/format.h"

namespace rush {

constexpr int kDtypeCount = 48;  // all numbers are below

// "float32" for RUSH_FLOAT32, and back. The last throws std::invalid_argument if it is not a dtype.
const char *dtype_name(rush_dtype dtype);
std::optional<rush_dtype> find_dtype(const std::string &name);
rush_dtype dtype_from_name(const std::string &name);

size_t dtype_bytes(rush_dtype dtype);      // of one element; 0 for an unknown dtype
bool is_floating_point(rush_dtype dtype);  // without complex ones
bool is_complex(rush_dtype dtype);
bool is_quantized(rush_dtype dtype);
// Returns the dtype of the parts of a complex one; others are their own.
rush_dtype real_dtype(rush_dtype dtype);

// Halves round to the nearest, and to the even one of two.
uint16_t half_bits(float value);
float from_half_bits(uint16_t bits);
uint16_t bfloat_bits(float value);
float from_bfloat_bits(uint16_t bits);

}  // namespace rush
