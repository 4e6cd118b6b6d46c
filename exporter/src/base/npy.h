// The header of a NumPy file:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rushlight/format.h"

namespace rush {

// The elements of a .npy file are its bytes [start, start + bytes).
struct NpyHeader {
  rush_dtype dtype = RUSH_FLOAT32;
  std::vector<int64_t> sizes;  // at most 64; their product, without zeros, is a size in memory
  bool fortran_order = false;  // the first index runs fastest
  size_t start = 0, bytes = 0;
};

// Throws std::invalid_argument with the fault, such as "it is truncated". Its time grows with the
// header, and it allocates only the sizes.
NpyHeader parse_npy_header(std::string_view file);

}  // namespace rush
