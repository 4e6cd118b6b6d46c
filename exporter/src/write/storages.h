// Which bytes the file holds and in which order.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace rush {

struct StorageBytes {
  at::Tensor owner;  // keeps the memory alive
  const uint8_t *data = nullptr;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // in the weights
};

// Gathers the tensors of a program. Tensors on one torch storage share one of the file's; of each
// only the part that some tensor reaches is kept. Constants with equal bytes are stored once.
class Storages {
 public:
  // In the order of first use by instructions, of one instruction the small ones first; then the
  // tensors of attributes and tests.
  explicit Storages(const Program &program);

  struct Place {
    uint32_t storage;
    uint64_t offset;  // of the tensor's first element, in elements
  };
  Place place(const at::Tensor &tensor) const;
  const std::vector<StorageBytes> &list() const { return list_; }
  uint64_t total() const { return total_; }  // a multiple of RUSH_ALIGN
  uint64_t of_tests() const { return total_ - program_; }

 private:
  struct Range {
    at::Tensor owner;
    uint64_t from = UINT64_MAX, to = 0;  // bytes in torch's storage
    bool mutable_or_test = false;        // stays apart from others with equal bytes
    uint32_t index = 0;                  // in list_
  };
  void add(const Const &tensor, bool apart, const std::string &what = "a constant tensor");
  void lay_out(size_t tests);  // the first range that only tests need

  std::map<const void *, size_t> by_storage_;
  std::vector<Range> ranges_;
  std::vector<StorageBytes> list_;
  uint64_t total_ = 0, program_ = 0;  // program_: up to what only tests need
};

}  // namespace rush
