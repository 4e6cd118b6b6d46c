#include "base/npy.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <stdexcept>

#include "base/files.h"
#include "cli/command_line.h"

namespace rush {

at::Tensor read_npy(const std::string &path) {
  const std::string file = read_file(path);
  NpyHeader header;
  try {
    header = parse_npy_header(file);
  } catch (const std::invalid_argument &e) {
    throw std::runtime_error(path + ": " + e.what());
  }
  std::vector<int64_t> stored = header.sizes, back;
  if (header.fortran_order) stored.assign(header.sizes.rbegin(), header.sizes.rend());
  at::Tensor t = at::empty(stored, static_cast<at::ScalarType>(header.dtype));
  if (header.bytes) std::memcpy(t.data_ptr(), file.data() + header.start, header.bytes);
  if (!header.fortran_order) return t;
  for (int64_t d = t.dim(); d-- > 0;) back.push_back(d);
  return t.permute(back);
}

}  // namespace rush
