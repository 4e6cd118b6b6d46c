// Constants: plain data, as the file has them (rush_const_kind).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "ir/type.h"

namespace rush {

struct Const {
  rush_const_kind kind = RUSH_CONST_NONE;
  int64_t i = 0;             // INT, BOOL; the seed of RANDOM
  double f = 0, im = 0;      // FLOAT, COMPLEX; the bounds of RANDOM
  std::string s;             // STR, DEVICE; the name of a TENSOR ("conv1.weight"), if any
  std::vector<Const> items;  // LIST, TUPLE, DICT (key, value, ...), OBJECT, ENUM (name, value)
  Tensor tensor;             // TENSOR; the values of a RANDOM
  TypeRef type;              // of a value with items, of the same kind

  bool is_none() const { return kind == RUSH_CONST_NONE; }
  bool is_int() const { return kind == RUSH_CONST_INT; }
  bool is_bool() const { return kind == RUSH_CONST_BOOL; }
  bool is_float() const { return kind == RUSH_CONST_FLOAT; }
  bool is_tensor() const { return kind == RUSH_CONST_TENSOR; }
  bool is_str() const { return kind == RUSH_CONST_STR; }
  bool is_list() const { return kind == RUSH_CONST_LIST; }
  // Returns whether it is an int, float or bool.
  bool is_number() const { return is_int() || is_float() || is_bool(); }
  double number() const { return is_float() ? f : static_cast<double>(i); }
};

Const const_none();
Const const_int(int64_t value);
Const const_float(double value);
Const const_bool(bool value);
Const const_str(std::string value);
Const const_tensor(Tensor value, std::string name = "");
Const const_list(TypeRef item, std::vector<Const> items);
Const const_ints(const std::vector<int64_t> &values);

// Returns the type of a constant as precisely as it is known.
TypeRef type_of(const Const &value);

// Returns whether kind and value are equal. Tensors are equal if they are the same view of the same
// storage.
bool same(const Const &a, const Const &b);

// Reads a list of ints; returns false if `value` is something else.
bool ints_of(const Const &value, std::vector<int64_t> *out);

// Calls f on every tensor inside `value`.
template <class F>
void each_tensor(const Const &value, F f) {
  if (value.is_tensor()) f(value);
  for (const Const &item : value.items) each_tensor(item, f);
}

// Copies every storage once. Views keep their strides and share the same memory as before.
std::vector<Const> snapshot(const std::vector<Const> &values);

// 1, 2.5, True, None, "text", [1, 2], (1, 2), {"a": 1}, device("cpu"), <float32[3, 4] "name">
std::string to_string(const Const &value);

}  // namespace rush
