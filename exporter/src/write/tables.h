// The tables of the file's head: each thing is stored once and named by its index.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "write/class_names.h"
#include "write/storages.h"

namespace rush {

class Tables {
 public:
  explicit Tables(const Storages &storages) : storages_(storages) {}

  uint32_t string(const std::string &s);
  uint32_t string_or_none(const std::string &s) { return s.empty() ? RUSH_NONE : string(s); }
  uint32_t list(const std::vector<uint32_t> &items);
  uint32_t type(const Type &type);
  uint32_t constant(const Const &value);
  uint32_t op(const std::string &name);
  uint32_t source(const Source &source);
  uint32_t hint(const Port &port);  // RUSH_NONE if nothing is known

  ClassNames class_names;
  std::vector<char> string_bytes;
  std::vector<rush_file_string> strings;
  std::vector<uint32_t> lists;
  std::vector<rush_file_type> types;
  std::vector<rush_file_tensor> tensors;
  std::vector<rush_file_constant> constants;
  std::vector<rush_file_op> ops;
  std::vector<rush_file_hint> hints;
  std::vector<rush_file_source> sources;

 private:
  uint32_t tensor(const Const &value, bool with_storage);
  rush_file_constant record(const Const &value);
  void record_items(const Const &value, rush_file_constant *out);

  const Storages &storages_;
  std::map<std::string, uint32_t> string_at_, type_at_, op_at_, tensor_at_, constant_at_,
      source_at_;
  std::map<std::vector<uint32_t>, uint32_t> list_at_;
};

}  // namespace rush
