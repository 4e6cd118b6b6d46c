// The bytes of tensors in the file, and their order.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace rush {

struct StorageBytes {
  Tensor owner;  // keeps the memory alive
  const uint8_t *data = nullptr;
  uint64_t bytes = 0;
  uint64_t offset = 0;   // in the weights
  bool uniform = false;  // the file has only its first eight bytes, which all others repeat

  uint64_t stored() const { return uniform ? 0 : bytes; }
};

// Gathers the tensors of a program. Tensors on one storage share one storage of the file, which
// has only the part that some tensor reaches. Constants with equal bytes are stored once.
class Storages {
 public:
  // The order is that of first use by instructions, small tensors of an instruction first. Tensors
  // of attributes and tests follow.
  explicit Storages(const Program &program);

  struct Place {
    uint32_t storage;
    uint64_t offset;  // of the tensor's first element, in elements
  };
  Place place(const Tensor &tensor) const;
  const std::vector<StorageBytes> &list() const { return list_; }
  uint64_t total() const { return total_; }  // a multiple of RUSH_ALIGN
  uint64_t of_tests() const { return total_ - program_; }

 private:
  struct Range {
    Tensor owner;
    uint64_t from = UINT64_MAX, to = 0;  // bytes in that storage
    bool mutable_or_test = false;        // it is not shared with others of equal bytes
    uint32_t index = 0;                  // in list_
  };
  void add(const Program &program, const Method &method);
  void add(const Program &program, const Test &test);
  void add(const Const &tensor, bool apart, const std::string &what = "a constant tensor");
  void list_ranges(size_t tests);  // `tests`: the first range that only tests need
  void bound_uniform();
  void lay_out();

  std::map<const void *, size_t> by_storage_;
  std::vector<Range> ranges_;
  std::vector<StorageBytes> list_;
  size_t first_of_tests_ = 0;         // in list_
  uint64_t total_ = 0, program_ = 0;  // program_: the bytes before those of tests
};

}  // namespace rush
