#include "base/npy.h"

#include <algorithm>
#include <stdexcept>

#include "base/files.h"
#include "cli/command_line.h"

namespace rush {

Tensor read_npy(const std::string &path) {
  const std::string file = read_file(path);
  NpyHeader header;
  try {
    header = parse_npy_header(file);
  } catch (const std::invalid_argument &e) {
    throw std::runtime_error(path + ": " + e.what());
  }
  if (!header.fortran_order)
    return Tensor::copy_of(header.dtype, header.sizes, file.data() + header.start);
  const Sizes stored(header.sizes.rbegin(), header.sizes.rend());
  const Tensor memory = Tensor::copy_of(header.dtype, stored, file.data() + header.start);
  Sizes strides = memory.strides();
  std::reverse(strides.begin(), strides.end());
  return {header.dtype, header.sizes, strides, 0, memory.storage()};
}

}  // namespace rush
