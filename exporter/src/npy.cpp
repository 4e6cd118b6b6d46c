// Reading .npy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <ATen/ops/from_blob.h>

#include <cstring>
#include <regex>
#include <stdexcept>

#include "base/files.h"
#include "cli.h"

namespace rush {

namespace {

struct Descr {
  const char *name;
  at::ScalarType dtype;
};
constexpr Descr kDescrs[] = {{"<f4", at::kFloat}, {"<f8", at::kDouble}, {"<i8", at::kLong},
                             {"<i4", at::kInt},   {"|u1", at::kByte},   {"|b1", at::kBool},
                             {"<i2", at::kShort}, {"|i1", at::kChar},   {"<f2", at::kHalf}};

}  // namespace

at::Tensor read_npy(const std::string &path) {
  const std::string file = read_file(path);
  auto bad = [&](const std::string &why) { return std::runtime_error(path + ": " + why); };
  if (file.size() < 12 || file.compare(0, 6, "\x93NUMPY") != 0) throw bad("not a .npy file");
  const bool first = file[6] == 1;  // version 1 has a 16-bit length
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, first ? 2 : 4);
  const size_t start = (first ? 10 : 12) + size_t{length};
  if (start > file.size()) throw bad("its header is cut short");
  const std::string header = file.substr(first ? 10 : 12, length);
  std::smatch descr, order, shape;
  if (!std::regex_search(header, descr, std::regex("'descr': *'([^']*)'")) ||
      !std::regex_search(header, order, std::regex("'fortran_order': *(True|False)")) ||
      !std::regex_search(header, shape, std::regex("'shape': *\\(([^)]*)\\)")))
    throw bad("its header is not understood");
  const Descr *found = nullptr;
  for (const Descr &d : kDescrs)
    if (descr[1] == d.name) found = &d;
  if (!found) throw bad("the dtype " + descr[1].str() + " is not supported");
  std::vector<int64_t> sizes;
  const std::string text = shape[1];
  static const std::regex digits("\\d+");
  for (std::sregex_iterator it(text.begin(), text.end(), digits), end; it != end; ++it)
    sizes.push_back(std::stoll(it->str()));
  const bool fortran = order[1] == "True";
  std::vector<int64_t> stored =
      fortran ? std::vector<int64_t>(sizes.rbegin(), sizes.rend()) : sizes;
  size_t bytes = c10::elementSize(found->dtype);
  for (int64_t n : sizes) bytes *= static_cast<size_t>(n);
  if (file.size() - start < bytes) throw bad("it is cut short");
  at::Tensor t = at::from_blob(const_cast<char *>(file.data()) + start, stored,
                               at::TensorOptions().dtype(found->dtype))
                     .clone();
  if (!fortran) return t;
  std::vector<int64_t> back;
  for (int64_t d = t.dim(); d-- > 0;) back.push_back(d);
  return t.permute(back);
}

}  // namespace rush
