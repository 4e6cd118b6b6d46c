// Values as JSON, with tensors by address.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/json.h"
#include "ir/const.h"

namespace rush {

// null, true, 5, 0.5 and "text" are themselves, and a list is a list. Others are objects of one of
// these fields, in which a type is as in type_from():
//   {"tuple": [...]}, {"dict": [key, value, ...]}, {"complex": [re, im]}, {"device": "cpu"}
//   {"list": [...], "type": ...}, {"object": [...], "type": ...}, {"enum": [...], "type": ...}
//   {"tensor": [dtype, sizes, strides, offset, storage, number], "name": ...}: `offset` counts
//     elements, and `storage` is [id, address, bytes]. Tensors with one id share memory. `number`
//     is Python's of the tensor.
//   {"foreign": [dtype, sizes, form, device, number]}: a tensor without bytes (Foreign). Only its
//     number goes back.
// The memory of a tensor must live as long as the constant. Tensors with one number are the same
// tensor if they are read with the same `known`.
using KnownTensors = std::map<int64_t, Tensor>;
Const const_of(const Json &value, KnownTensors *known = nullptr);

// The same from constants. Storages get handles, which keep their memory alive.
class ValueWriter {
 public:
  std::string text(const Const &value);
  // {"value": ..., "storages": [[handle, address, bytes], ...]}: tensors have the index of their
  // storage.
  std::string answer(const Const &value);
  std::string answer_with(const std::string &value) const;

 private:
  std::string tensor(const Tensor &t);
  size_t storage(const std::shared_ptr<const Storage> &storage);

  std::map<const void *, size_t> indices_;
  std::vector<std::string> storages_;
};

// Returns a type: its text (ir/type.h), or as json_of() gives it. The text of an object's type
// lacks its fields.
TypeRef type_from(const Json &type);

// Returns a copy of bytes at an address.
std::string bytes_at(const Json &address, const Json &size);

// Releases the memory of a storage.
void release_storage(int64_t handle);

// Returns a type as JSON: {"kind": "Tensor", "items": [...], "name": "Point", "fields": ["x"]},
// without empty fields. The kind is the first word of the type's text, "list", "optional" or
// "tuple".
std::string json_of(const Type &type);

}  // namespace rush
